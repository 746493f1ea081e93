"""Self loops and symmetric scaling, which many convolutions begin with. The graphs are derived once and kept by the library; values of
edges follow them lazily."""

from __future__ import annotations

from typing import Any

from ....dtypes import DType, dtypes
from ....graphs import Graph
from ....nn.later import is_lazy
from ....symbolic import Dim
from ....tensor import Tensor
from ..._rows import OPS
from ...sparse_tensor import SparseTensor

Fill = Any  # a number, a Tensor, or the name of a reduction over the edges into the node


def same_size(a: Any, b: Any) -> bool:
    """Are two sizes always the same? Symbolic ones may be so in this run and not in the next."""
    if isinstance(a, Dim) or isinstance(b, Dim):
        return isinstance(a, Dim) and isinstance(b, Dim) and a.code == b.code
    return a == b


class NoLoopsOfValues:
    """A layer that, as in PyTorch Geometric, does not add loops to the values of a SparseTensor where its inputs are of PyTorch's class."""

    add_self_loops: bool
    edge_dim: int | None

    def _check_matrix(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = (*args, *kwargs.values())
        x = next((v for v in (*given, *(v for pair in given if isinstance(pair, tuple) for v in pair)) if isinstance(v, Tensor)), None)
        if not self.add_self_loops or self.edge_dim is None or x is None or x._kind is Tensor:
            return
        if any(isinstance(v, SparseTensor) and not hasattr(v, "layout") for v in given):
            raise NotImplementedError("edge attributes and add_self_loops=True together are not supported for a SparseTensor: pass edge_index")


def graph_of(edge_index: Any, num_src: Any, num_dst: Any = None) -> Graph:
    """edge_index as a graph between num_src and num_dst nodes (None: the same nodes)."""
    if isinstance(edge_index, Graph):
        return edge_index
    if isinstance(edge_index, SparseTensor):  # adj_t, one of several in a dict
        return edge_index.graph
    if num_dst is None or same_size(num_src, num_dst):
        return Graph(edge_index, num_src)
    return Graph(edge_index, num_src=num_src, num_dst=num_dst)


def _without(graph: Graph, values: Tensor) -> tuple[Graph, Tensor]:
    """The graph without self loops, and values of its edges."""
    bare = graph.without_self_loops()
    return bare, values if same_size(bare.num_edges, graph.num_edges) else bare.carry(values)


def append_loops(bare: Graph, looped: Graph, values: Tensor, loops: Any) -> Tensor:
    """Values of edges, and behind them those of the loops: a number, or values of nodes."""
    if not isinstance(looped.num_edges, Dim):
        count = looped.num_edges - bare.num_edges
        if not isinstance(loops, Tensor):
            loops = Tensor.full((count, *values.shape[1:]), loops, dtype=values.dtype)
        return Tensor.cat(values, loops if loops.shape[0] == count else loops[:count])
    if not isinstance(loops, Tensor):
        return looped.carry(values, loops)
    origin = looped.origin
    assert origin is not None
    return (origin < 0).reshape(-1, *[1] * (values.ndim - 1)).where(looped.dst(loops), looped.carry(values, 0.0))


def with_loops(graph: Graph, edge_attr: Tensor | None = None, fill_value: Fill = None) -> tuple[Graph, Tensor | None]:
    """Every self loop is dropped, and each node gets one; these come last. fill_value: what they carry (1 if None)."""
    if edge_attr is None:
        return graph.with_own_loops(), None
    bare, values = _without(graph, edge_attr)
    looped = bare.with_self_loops()
    if fill_value is None or isinstance(fill_value, (int, float)):
        return looped, append_loops(bare, looped, values, 1.0 if fill_value is None else float(fill_value))
    if isinstance(fill_value, str):
        if fill_value not in OPS:
            raise ValueError(f"fill_value must be a number, a Tensor or one of {', '.join(OPS)}, not {fill_value!r}")
        return looped, append_loops(bare, looped, values, bare.reduce(values, OPS[fill_value]))
    if not isinstance(fill_value, Tensor):
        raise TypeError(f"fill_value must be a number, a Tensor or the name of a reduction, not {type(fill_value).__name__}")
    loops = fill_value.cast(values.dtype)
    loops = loops.unsqueeze(0) if loops.ndim != values.ndim else loops
    return looped, append_loops(bare, looped, values, loops.expand(graph.num_dst, *values.shape[1:]))


def with_remaining_loops(graph: Graph, edge_weight: Tensor | None, fill_value: float) -> tuple[Graph, Tensor | None]:
    """As with_loops, but a loop that was there keeps its weight: of several at one node, the last."""
    bare = graph.without_self_loops()
    if edge_weight is None or same_size(bare.num_edges, graph.num_edges):
        return with_loops(graph, edge_weight, fill_value)
    loop = graph.src_index == graph.dst_index
    last = graph.max(loop.where(Tensor.arange(1, graph.num_edges + 1), 0))  # 1 + the last loop of each node
    own = Tensor.cat(Tensor.zeros(1, dtype=edge_weight.dtype), edge_weight.detach())[last]
    every = graph.sum(loop.where(edge_weight, 0.0))  # the gradient goes to all loops of a node, as it does where this is an assignment
    own = (last > 0).where(every + (own - every).detach(), fill_value)
    looped = bare.with_self_loops()
    return looped, append_loops(bare, looped, bare.carry(edge_weight), own)


def inverse_sqrt(degree: Tensor) -> Tensor:
    """degree ** -1/2, and 0 where there is none."""
    some = degree > 0
    return some.where(some.where(degree, 1.0).rsqrt(), 0.0)


def _float(dtype: DType) -> DType:
    return dtype if dtype.kind == "f" else dtypes.float32


class Scaled:
    """A graph, what node values are multiplied with before and after a sum over neighbours ([V, 1], or None), weights of edges, and how
    often a node's own value counts beside what the edges bring ([V, 1], or None for not at all)."""

    __slots__ = ("graph", "_scale", "weight", "_own")
    symmetric: str | None = None  # a side: factors are those of the graph with own loops, by the edges on this side

    def __init__(self, graph: Graph, scale: Tensor | None, weight: Tensor | None, own: Tensor | None = None):
        self.graph, self._scale, self.weight, self._own = graph, scale, weight, own

    @property
    def scale(self) -> Tensor | None:
        return self._scale

    @property
    def own(self) -> Tensor | None:
        return self._own


class ScaledWithOwn(Scaled):
    """D^-1/2 (A + I) D^-1/2 of a graph without weights, on the graph as it is: what a node's loop would bring is added to the sum. Loops that
    are there already are taken off again. The factors are made when somebody asks for them: Graph.smooth does without."""

    __slots__ = ("symmetric", "_x")

    def __init__(self, graph: Graph, flow: str, x: Tensor):
        self.graph, self._scale, self.weight, self._own = graph, None, None, None
        self.symmetric: str = "in" if flow == "source_to_target" else "out"
        self._x = x  # whose dtype the factors have

    @property
    def scale(self) -> Tensor:
        return self.graph._norm(self.symmetric, True, _float(self._x.dtype))

    @property
    def own(self) -> Tensor:
        return self.graph._own(_float(self._x.dtype))


def scaled(graph: Graph, edge_weight: Tensor | None, improved: bool, add_self_loops: bool, flow: str, dtype: DType) -> Scaled:
    """D^-1/2 A D^-1/2, with self loops if asked for, as factors of nodes around the sum: nothing is computed for edges."""
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow must be 'source_to_target' or 'target_to_source', not {flow!r}")
    side = "in" if flow == "source_to_target" else "out"
    if add_self_loops:
        graph, edge_weight = with_remaining_loops(graph, edge_weight, 2.0 if improved else 1.0)
    if edge_weight is None:
        return Scaled(graph, graph._norm(side, False, _float(dtype)), None)
    return Scaled(graph, inverse_sqrt(graph.sum(edge_weight, side)).unsqueeze(-1), edge_weight)


def edge_weights(s: Scaled, dtype: DType) -> Tensor:
    """The entries of D^-1/2 A D^-1/2, [E]."""
    if s.scale is None:
        return s.weight if s.weight is not None else Tensor.ones(s.graph.num_edges, dtype=dtype)
    scale = s.scale.squeeze(-1)
    both = s.graph.src(scale) * s.graph.dst(scale)
    return both if s.weight is None else both * s.weight


def kept(t: Any) -> Any:
    """t, computed now, also while a step is traced: for layers that keep it from call to call. One that gradients flow through stays lazy."""
    if t is None or t.requires_grad:
        return t
    tracing = t._g.tracing
    held = tracing[:]
    tracing.clear()
    try:
        return t.detach().realize()
    finally:
        tracing[:] = held


_LINEAR = {"add": "sum", "sum": "sum", "mean": "mean"}


def is_linear(conv: Any) -> bool:
    """Is propagate linear in x, so that factors of nodes and linear maps may change places with it? Not if a subclass changed something, or if
    hooks are to see the messages of the formula."""
    if conv.aggr.__class__ is not str or conv.aggr not in _LINEAR or ((conv._explain or conv._before or conv._after) and conv._watched):
        return False
    cls = type(conv)
    own = cls.__dict__.get("_own_functions")
    if own is None:
        own = all(getattr(cls, name).__module__.startswith(__package__ + ".") for name in ("message", "aggregate", "update"))
        cls._own_functions = own
    return own


def weight_of(lin: Any, x: Tensor) -> Tensor:
    """The weight of a linear map that will be applied to x: one of unknown width takes it from there."""
    if is_lazy(lin.weight):
        lin.initialize_parameters(x.shape[-1])
    return lin.weight


def unit(x: Tensor) -> Tensor:
    """Rows divided by their length; a row of zeros stays one, and so does its gradient stay finite."""
    return x * x.square().sum(-1, keepdim=True).maximum(1e-24).rsqrt()


class Smoother:
    """What convolutions with D^-1/2 A D^-1/2 share; mixed into a MessagePassing whose message is edge_weight * x_j."""

    _cached: Scaled | None = None
    _cached_of_graph = False  # the kept graph was given as a Graph or a sparse matrix, not as edge_index

    def _scaled(
        self, x: Tensor, edge_index: Any, edge_weight: Tensor | None, improved: bool = False, loops: bool = True, cached: bool = False,
        by_edge: bool = False,
    ) -> Scaled:  # fmt: skip
        """by_edge: self loops must be edges, because the layer does something to each of them."""
        cached = cached and not self._watched  # type: ignore[attr-defined]
        linear = is_linear(self)
        if cached and self._cached is not None:
            return self._keep_loops(self._cached)
        graph = edge_index if isinstance(edge_index, Graph) else graph_of(edge_index, x.size(self.node_dim))  # type: ignore[attr-defined]
        if loops and edge_weight is None and not by_edge and linear and self.aggr != "mean":  # type: ignore[attr-defined]
            s: Scaled = ScaledWithOwn(graph, self.flow, x)  # type: ignore[attr-defined]
        else:
            s = scaled(graph, edge_weight, improved, loops, self.flow, x.dtype)  # type: ignore[attr-defined]
        if not linear:
            s = Scaled(s.graph, None, edge_weights(s, x.dtype))
        if cached:
            s = self._cached = Scaled(s.graph, kept(s.scale), kept(s.weight), kept(s.own))
            self._cached_of_graph = isinstance(edge_index, Graph)
        return self._keep_loops(s)

    def _keep_loops(self, s: Scaled) -> Scaled:
        """Where loops count beside the edges, an edge mask leaves those among the edges alone."""
        self._own_loops = s.symmetric is not None or s.own is not None
        return s

    def _smooth(self, s: Scaled, x: Tensor) -> Tensor:
        """One step: what the neighbours bring to each node."""
        if s.symmetric is not None and self._unwatched(x):
            return s.graph._smooth(x, s.symmetric, True)
        scale, own = s.scale, s.own
        if scale is None:
            return self.propagate(s.graph, x=x, edge_weight=s.weight)  # type: ignore[attr-defined]
        x = x * scale
        out = self._gathered(s, x)
        return (out if own is None else out + x * own) * scale

    def _unwatched(self, x: Tensor) -> bool:
        """Does nobody look at what happens inside propagate, and is it about rows of x?"""
        conv: Any = self
        return not (conv._explain or conv._before or conv._after) and conv._decomposed_layers < 2 and conv.node_dim in (-2, 0) and x.ndim == 2

    def _gathered(self, s: Scaled, x: Tensor) -> Tensor:
        """propagate, where nobody looks at what happens in between: the sum or mean of edge_weight * x_j, said in two moves."""
        conv: Any = self
        if not self._unwatched(x):
            return conv.propagate(s.graph, x=x, edge_weight=s.weight)
        there = conv.flow == "source_to_target"
        m = s.graph.src(x) if there else s.graph.dst(x)
        m = m if s.weight is None else s.weight.reshape(-1, 1) * m
        return s.graph.reduce(m, _LINEAR[conv.aggr], "in" if there else "out")

    def _cached_edges(self) -> tuple[Tensor, Tensor] | None:
        """The edges of the kept graph, with the loops that the layer adds, and their weights."""
        s = self._cached
        if s is None or s.scale is None:
            return None if s is None or s.weight is None else (s.graph.edge_index, s.weight)
        whole = s if s.own is None else Scaled(s.graph.with_own_loops(), s.scale, s.weight)
        return whole.graph.edge_index, edge_weights(whole, s.scale.dtype)


class CachingSmoother(Smoother):
    """A Smoother whose kept graph is looked at under the names that PyTorch Geometric has for it."""

    @property
    def _cached_edge_index(self) -> tuple[Tensor, Tensor] | None:
        return None if self._cached_of_graph else self._cached_edges()

    @property
    def _cached_adj_t(self) -> Any:
        edges = self._cached_edges() if self._cached_of_graph else None
        if edges is None or self._cached is None:
            return None
        from ...sparse_tensor import SparseTensor

        return SparseTensor(row=edges[0][1], col=edges[0][0], value=edges[1], sparse_sizes=(self._cached.graph.num_dst, self._cached.graph.num_src))
