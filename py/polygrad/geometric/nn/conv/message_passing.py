"""MessagePassing: what a layer does on each edge, gathered at the nodes.

propagate makes a Graph of the edge list, lifts what the layer's functions ask for to the edges (x_j: the sender's, x_i: the receiver's),
calls message, reduces by the graph, and calls update. All of that is lazy, so the compiler sees one loop over each node's edges:
messages are not stored, in layers written by users as little as in those of the library.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....graphs import Graph
from ....nn.module import Module
from ....symbolic import Dim
from ....tensor import Tensor
from ..._rows import axis_of, mark
from ...edge_index import EdgeIndex
from ..resolver import aggregation_resolver
from ._loops import same_size

SPECIAL = frozenset({"edge_index", "adj_t", "edge_index_i", "edge_index_j", "size", "size_i", "size_j", "ptr", "index", "dim_size"})
FUSABLE = frozenset({"add", "sum", "mean", "min", "max"})
_EMPTY = inspect.Parameter.empty
_HOOKS = ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update")


class _Function:
    """What one of a layer's functions asks for."""

    __slots__ = ("name", "defaults")

    def __init__(self, name: str, function: Callable[..., Any], skip: int):
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        params = [p for p in inspect.signature(function).parameters.values() if p.kind not in kinds]
        self.name, self.defaults = name, {p.name: p.default for p in params[skip:]}

    def pick(self, values: dict[str, Any], layer: Any) -> dict[str, Any]:
        """The arguments, out of what was collected."""
        out = {}
        for name, default in self.defaults.items():
            value = values.get(name, _EMPTY)
            if value is _EMPTY:
                if default is _EMPTY:
                    raise TypeError(f"{type(layer).__name__}.{self.name} needs '{name}', which was not given to propagate or edge_updater")
                value = default
            out[name] = value
        return out


class _Signatures:
    """The functions of a class, looked at once: every layer of the class, and every call, uses the same."""

    def __init__(self, cls: type):
        self.message = _Function("message", cls.message, 1)  # type: ignore[attr-defined]
        self.aggregate = _Function("aggregate", cls.aggregate, 2)  # type: ignore[attr-defined]
        self.fused = _Function("message_and_aggregate", cls.message_and_aggregate, 2)  # type: ignore[attr-defined]
        self.update = _Function("update", cls.update, 2)  # type: ignore[attr-defined]
        self.edge_update = _Function("edge_update", cls.edge_update, 1)  # type: ignore[attr-defined]
        self.separate = _wanted(self.message, self.aggregate, self.update)
        self.together = _wanted(self.fused, self.update)
        self.on_edges = _wanted(self.edge_update)
        self.fuse = cls.message_and_aggregate is not MessagePassing.message_and_aggregate  # type: ignore[attr-defined]


class _Wanted:
    """Names that functions ask for: those of both ends of an edge, those that are handed on, and special ones."""

    __slots__ = ("ends", "plain", "special")

    def __init__(self, names: dict[str, None]):
        users = [n for n in names if n not in SPECIAL]
        self.ends = [(n, n[:-2], n[-1] == "j") for n in users if n[-2:] in ("_i", "_j")]
        self.plain = [n for n in users if n[-2:] not in ("_i", "_j")]
        self.special = frozenset(n for n in names if n in SPECIAL)


def _wanted(*functions: _Function) -> _Wanted:
    return _Wanted({name: None for f in functions for name in f.defaults})


class Hook:
    """Removes a hook: `handle.remove()`."""

    def __init__(self, table: list[Any], function: Any):
        self._table, self._entry = table, (self, function)
        table.append(self._entry)

    def remove(self) -> None:
        if self._entry in self._table:
            self._table.remove(self._entry)


def _any_sparse(values: Any) -> bool:
    for v in values:
        if v is not None and not isinstance(v, (Tensor, Graph)) and hasattr(v, "sparse_sizes"):
            return True
    return False


def _plain_graph(edge_index: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """A graph in the place of a sparse matrix, for a layer that was called with matrices by type; the values belong to what was not given."""
    if not _any_sparse((edge_index,)):
        return edge_index, kwargs
    value = edge_index.storage.value()
    missing = {n: value for n in ("edge_weight", "edge_attr", "edge_type") if value is not None and kwargs.get(n) is None}
    return edge_index.graph, {**kwargs, **missing}


class MessagePassing(Module):
    r"""Base of layers in which nodes send messages along edges:

    x_i' = update(x_i, aggregate over edges j -> i of message(x_i, x_j, e_ji))

    aggr: 'sum', 'mean', 'max' and so on, a list of them, an Aggregation, or None if the layer has its own `aggregate`.
    aggr_kwargs: arguments for an aggregation given by name. flow: 'source_to_target' (messages go from edge_index[0] to edge_index[1]) or
    'target_to_source'. node_dim: the axis of the nodes. decomposed_layers: features are propagated in that many parts.

    A layer calls `self.propagate(edge_index, x=x, ...)`. What it passes by name can be asked for by `message`, `aggregate` and `update`:
    under its name as it is, and with `_i` or `_j` behind it as the receiver's or the sender's values on each edge. They can also ask for
    `index` (the receiver of each edge), `edge_index`, `size`, `size_i`, `size_j`, `dim_size` and `ptr`.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MessagePassing
    >>> class Difference(MessagePassing):
    ...     def forward(self, x, edge_index):
    ...         return self.propagate(edge_index, x=x)
    ...     def message(self, x_i, x_j):
    ...         return (x_j - x_i).abs()
    >>> Difference(aggr="max")(Tensor([[1.0], [5.0], [2.0]]), Tensor([[0, 2], [1, 1]])).tolist()
    [[0.0], [4.0], [0.0]]
    """

    special_args = SPECIAL
    SUPPORTS_FUSED_EDGE_INDEX = False
    _signatures: _Signatures

    def __init__(
        self, aggr: Any = "sum", *, aggr_kwargs: dict[str, Any] | None = None, flow: str = "source_to_target", node_dim: int = -2,
        decomposed_layers: int = 1,
    ):  # fmt: skip
        if flow not in ("source_to_target", "target_to_source"):
            raise ValueError(f"Expected 'flow' to be either 'source_to_target' or 'target_to_source' (got {flow!r})")
        self.aggr = None if aggr is None else [str(a) for a in aggr] if isinstance(aggr, (tuple, list)) else str(aggr)
        self.aggr_module = aggregation_resolver(aggr, **(aggr_kwargs or {}))
        self.flow, self.node_dim = flow, node_dim
        signatures = self._inspect()
        self.fuse = signatures.fuse and (aggr is None or self.aggr in FUSABLE if not isinstance(self.aggr, list) else False)
        self._before: dict[str, list[Any]] = {}  # hooks, by the function that they belong to
        self._after: dict[str, list[Any]] = {}
        self._explain: bool | None = None
        self._edge_mask: Tensor | None = None
        self._loop_mask: Tensor | None = None  # edges that are no loops: for explain_message of subclasses
        self._apply_sigmoid = True
        self._explain_message: _Function | None = None
        self._explained: Graph | None = None  # the graph of the messages that explain_message gets
        self._own_loops = False  # the layer adds what self loops bring beside the edges: loops among them are not to be masked
        self._decomposed_layers = decomposed_layers

    @classmethod
    def _inspect(cls) -> _Signatures:
        if "_signatures" not in cls.__dict__:
            cls._signatures = _Signatures(cls)
        return cls._signatures

    @property
    def inspector(self) -> Any:
        """What the layer's functions take, as PyTorch Geometric's layers tell it: a `torch_geometric.inspector.Inspector` of the class."""
        from ....torch_geometric.inspector import Inspector  # its types are PyTorch's

        inspector = Inspector(type(self))
        for name, skipped in (("message", 0), ("aggregate", 1), ("message_and_aggregate", 1), ("update", 1), ("edge_update", 0)):
            inspector.inspect_signature(name, exclude=list(range(skipped)))
        return inspector

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        if self.aggr_module is not None:
            self.aggr_module.reset_parameters()

    def __repr__(self) -> str:
        if hasattr(self, "in_channels") and hasattr(self, "out_channels"):
            return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"
        return f"{type(self).__name__}({getattr(self, 'channels', '')})"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """forward; a SparseTensor in the place of edge_index (`adj_t`) is taken as its graph, its values as the edge weights or attributes."""
        if _any_sparse(args) or (kwargs and _any_sparse(kwargs.values())):
            from ...sparse_tensor import repacked, unpacked

            if self.flow == "target_to_source":
                raise ValueError("Flow direction 'target_to_source' is invalid with a sparse matrix: pass the transposed matrix, or edge_index")
            self._check_matrix(args, kwargs)
            plain, named = unpacked(type(self).forward, self, args, kwargs)
            outer, given = self.__dict__.get("_given", ()), (*args, *kwargs.values())
            self.__dict__["_given"] = given
            try:
                return repacked(super().__call__(*plain, **named), given)
            finally:
                self.__dict__["_given"] = outer
        return super().__call__(*args, **kwargs)

    def _check_matrix(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """An error if the layer does not take these arguments, among which is a sparse matrix."""

    def jittable(self, typing: str | None = None) -> MessagePassing:
        """The layer itself: everything is compiled in any case."""
        return self

    # ---- collecting arguments ----

    def _sizes(self, edge_index: Any, size: Any) -> list[Any]:
        """Numbers of source and destination nodes as far as they are known before any values are seen."""
        if isinstance(edge_index, Graph):
            return [edge_index.num_src, edge_index.num_dst]
        if not isinstance(edge_index, Tensor):
            raise ValueError(
                f"MessagePassing.propagate only supports a Tensor of shape [2, edges], a sparse matrix or a Graph, not {type(edge_index).__name__}"
            )
        if edge_index.dtype.kind not in "iu":
            raise ValueError(f"Expected 'edge_index' to be of integer type (got '{edge_index.dtype}')")
        shape = edge_index.shape
        if len(shape) != 2:
            raise ValueError(f"Expected 'edge_index' to be two-dimensional, [2, edges] (got {len(shape)} dimensions)")
        if shape[0] != 2:
            raise ValueError(f"Expected 'edge_index' to have size '2' in the first dimension, [2, edges] (got '{shape[0]}')")
        if isinstance(edge_index, EdgeIndex):  # the sizes that it knows
            return list(edge_index.sparse_size()) if size is None else [a if a is not None else b for a, b in zip(edge_index.sparse_size(), size)]
        return [None, None] if size is None else list(size)

    def _set_size(self, size: list[Any], dim: int, name: str, x: Tensor) -> None:
        shape = x.shape
        if not -len(shape) <= self.node_dim < len(shape):
            raise ValueError(f"'{name}' of shape {shape} has no axis {self.node_dim} (node_dim) for the nodes")
        n = shape[self.node_dim]
        if size[dim] is None:
            size[dim] = n
        elif size[dim] != n:
            raise ValueError(f"'{name}' of shape {shape} has size {n} along axis {self.node_dim}, but there are {size[dim]} nodes")

    def _one_set(self, pair: Any) -> bool:
        """May both of a pair be values of the same nodes?"""
        a, b = pair
        return not (isinstance(a, Tensor) and isinstance(b, Tensor)) or a.shape[self.node_dim] == b.shape[self.node_dim]

    def _lift(self, x: Tensor, graph: Graph, dim: int) -> Tensor:
        """Node values seen from the edges, at their sources (dim 0) or destinations (1)."""
        move = graph.src if dim == 0 else graph.dst
        axis = axis_of(x, self.node_dim)
        return move(x) if axis == 0 else move(x.transpose(0, axis)).transpose(0, axis)

    def _collect(self, wanted: _Wanted, edge_index: Any, size: list[Any], kwargs: dict[str, Any]) -> tuple[dict[str, Any], Graph]:
        """The values of all that is asked for, and the graph."""
        i, j = (1, 0) if self.flow == "source_to_target" else (0, 1)
        out = {name: kwargs[name] for name in wanted.plain if name in kwargs}
        lifts = []
        for name, base, sender in wanted.ends:
            if base not in kwargs:
                if name in kwargs:
                    out[name] = kwargs[name]
                continue
            dim, data = j if sender else i, kwargs[base]
            if isinstance(data, (tuple, list)):
                if len(data) != 2:
                    raise ValueError(f"'{base}' must be a pair of source and destination values, not {len(data)} values")
                # The first of a pair belongs to the senders, also where messages go from target to source, unless the sizes say otherwise.
                at = dim if self.flow == "source_to_target" or not self._one_set(data) else 1 - dim
                other, data = data[1 - at], data[at]
                if other is data and isinstance(data, Tensor) and size[0] is None and size[1] is None:
                    self._set_size(size, 1 - dim, base, data)
                    size[dim] = size[1 - dim]
                    lifts.append((name, data, dim))
                    continue
                if isinstance(other, Tensor):
                    self._set_size(size, 1 - dim, base, other)
            if isinstance(data, Tensor):
                self._set_size(size, dim, base, data)
                lifts.append((name, data, dim))
            else:
                out[name] = data
        graph = _graph_of(edge_index, size)
        for name, data, dim in lifts:
            out[name] = self._lift(data, graph, dim)
        special = wanted.special
        size_i, size_j = size[i] if size[i] is not None else size[j], size[j] if size[j] is not None else size[i]
        out["size"], out["size_i"], out["size_j"], out["dim_size"], out["ptr"] = size, size_i, size_j, size_i, None
        if "index" in special or "edge_index_i" in special:
            out["index"] = out["edge_index_i"] = _end(graph, i)
        if "edge_index_j" in special:
            out["edge_index_j"] = _end(graph, j)
        if "edge_index" in special:
            out["edge_index"] = edge_index if isinstance(edge_index, Tensor) else graph.edge_index
        out["adj_t"] = edge_index if isinstance(edge_index, Graph) else None
        return out, graph

    # ---- message passing ----

    def propagate(self, edge_index: Any, size: Any = None, **kwargs: Any) -> Any:
        """Sends messages along the edges and gathers them at the nodes.

        edge_index: a Tensor [2, E] or a Graph. size: (sources, destinations), where it cannot be seen from the values. kwargs: all that
        `message`, `aggregate` and `update` ask for.
        """
        signatures = self._inspect()
        edge_index, kwargs = _plain_graph(edge_index, kwargs)
        if self._before.get("propagate"):
            edge_index, size, kwargs = self._run_before("propagate", (edge_index, size, kwargs))
        sizes = self._sizes(edge_index, size)
        whole = self._whole(signatures, edge_index, kwargs) if self.fuse and not self._explain and isinstance(edge_index, Graph) else None
        if whole is not None:
            values, _ = self._collect(signatures.together, edge_index, sizes, kwargs)
            args = signatures.fused.pick(values, self)
            whole, args = self._run_before("message_and_aggregate", (whole, args))
            out = self.message_and_aggregate(whole, **args)
            out = self._run_after("message_and_aggregate", (whole, args), out)
            out = self.update(out, **signatures.update.pick(values, self))
        elif self._decomposed_layers > 1 and not self._explain:
            split = {base for _, base, sender in signatures.separate.ends if sender}
            parts = {name: _parts(kwargs[name], self._decomposed_layers) for name in split if name in kwargs}
            outs = []
            for k in range(self._decomposed_layers):
                outs.append(self._pass(signatures, edge_index, sizes, {**kwargs, **{name: p[k] for name, p in parts.items()}}))
            out = Tensor.cat(*outs, dim=-1)
        else:
            out = self._pass(signatures, edge_index, sizes, kwargs)
        return self._run_after("propagate", (edge_index, sizes, kwargs), out) if self._after.get("propagate") else out

    def _pass(self, signatures: _Signatures, edge_index: Any, sizes: list[Any], kwargs: dict[str, Any]) -> Any:
        """message, aggregate and update, one after the other."""
        wanted = signatures.separate
        if self._explain and self._explain_message is not None:
            wanted = _wanted(signatures.message, self._explain_message, signatures.aggregate, signatures.update)
        values, graph = self._collect(wanted, edge_index, sizes, kwargs)
        args = signatures.message.pick(values, self)
        hooked = bool(self._before or self._after)
        if hooked:
            (args,) = self._run_before("message", (args,))
        out = self.message(**args)
        if hooked:
            out = self._run_after("message", (args,), out)
        if self._explain and self._explain_message is not None:
            self._explained = graph
            out = self.explain_message(out, **self._explain_message.pick(values, self))
        args = signatures.aggregate.pick(values, self)
        if hooked:
            (args,) = self._run_before("aggregate", (args,))
        out = self.aggregate(out, **args)
        if hooked:
            out = self._run_after("aggregate", (args,), out)
        return self.update(out, **signatures.update.pick(values, self))

    def _whole(self, signatures: _Signatures, graph: Graph, kwargs: dict[str, Any]) -> Any:
        """What message_and_aggregate is called with: the graph, if it asks for all that message would be given; the sparse matrix that the layer was
        called with, if the values of its edges are all that would be left out; else None."""
        asked = {n[:-2] if n[-2:] in ("_i", "_j") else n for n in signatures.fused.defaults}
        needed = {n[:-2] if n[-2:] in ("_i", "_j") else n for n in signatures.message.defaults}
        left = [n for n in needed if n not in asked and kwargs.get(n) is not None]
        if not left:
            return graph
        matrix = next((m for m in self.__dict__.get("_given", ()) if getattr(m, "_graph", None) is graph), None)
        return matrix if matrix is not None and all(kwargs[n] is matrix._value for n in left) else None

    # What layers put their own in place of, with whatever arguments they need.

    if TYPE_CHECKING:

        def message(self, *args: Any, **kwargs: Any) -> Any: ...

        def aggregate(self, *args: Any, **kwargs: Any) -> Any: ...

        def message_and_aggregate(self, *args: Any, **kwargs: Any) -> Any: ...

        def update(self, *args: Any, **kwargs: Any) -> Any: ...

        def edge_update(self, *args: Any, **kwargs: Any) -> Any: ...

    else:

        def message(self, x_j: Tensor) -> Tensor:
            """What an edge brings to its receiver; asks for anything that propagate was given."""
            return x_j

        def aggregate(self, inputs: Tensor, index: Tensor, ptr: Tensor | None = None, dim_size: int | None = None) -> Tensor:
            """What a node makes of the messages that it gets; `index` is the receiver of each."""
            if self.aggr_module is None:
                raise NotImplementedError(f"{type(self).__name__} was made with aggr=None and has no aggregate of its own")
            return self.aggr_module(inputs, index, ptr=ptr, dim_size=dim_size, dim=self.node_dim)

        def message_and_aggregate(self, edge_index: Any) -> Tensor:
            """Both in one; called where propagate is given a Graph, if the layer has it. Not needed for speed: messages are not stored."""
            raise NotImplementedError

        def update(self, inputs: Any) -> Any:
            """What becomes of the aggregated messages."""
            return inputs

        def edge_update(self) -> Any:
            """The value of an edge; asks for anything that edge_updater was given."""
            raise NotImplementedError

    def edge_updater(self, edge_index: Any, size: Any = None, **kwargs: Any) -> Any:
        """Values of edges by `edge_update`, out of what is given here; arguments as for propagate."""
        signatures = self._inspect()
        edge_index, kwargs = _plain_graph(edge_index, kwargs)
        if self._before.get("edge_update"):
            edge_index, size, kwargs = self._run_before("edge_update", (edge_index, size, kwargs))
        values, _ = self._collect(signatures.on_edges, edge_index, self._sizes(edge_index, size), kwargs)
        out = self.edge_update(**signatures.edge_update.pick(values, self))
        return self._run_after("edge_update", (edge_index, size, kwargs), out) if self._after.get("edge_update") else out

    # ---- features in parts ----

    @property
    def decomposed_layers(self) -> int:
        """In how many parts the features are propagated."""
        return self._decomposed_layers

    @decomposed_layers.setter
    def decomposed_layers(self, count: int) -> None:
        self._decomposed_layers = count

    # ---- explaining ----

    @property
    def explain(self) -> bool | None:
        """Are messages passed through explain_message?"""
        return self._explain

    @explain.setter
    def explain(self, on: bool | None) -> None:
        if on and self._decomposed_layers != 1:
            raise ValueError("a layer with decomposed_layers cannot be explained")
        self._explain = on
        self._explain_message = _Function("explain_message", self.explain_message, 1) if on else None

    @property
    def _watched(self) -> bool:
        """Does anything look at single messages, so that they must be those of the formula? A mask that they are multiplied with does not."""
        if self._explain and getattr(self.explain_message, "__func__", None) is not MessagePassing.explain_message:
            return True
        return any(self._before.values()) or any(self._after.values())

    def explain_message(self, inputs: Tensor, dim_size: int | None) -> Tensor:
        """Messages times the edge mask (its sigmoid, if apply_sigmoid was set). Self loops are not masked in layers that add them."""
        mask = self._edge_mask
        if mask is None:
            raise ValueError("Could not find a pre-defined 'edge_mask' to explain: set one with explain.set_masks or layer._edge_mask")
        if self._apply_sigmoid:
            mask = mask.sigmoid()
        mask = self._on_graph(mask)
        edges = inputs.shape[self.node_dim]
        if mask.shape[0] != edges:
            raise ValueError(f"a mask of {mask.shape[0]} edges does not fit messages of {edges} edges")
        shape = [1] * inputs.ndim
        shape[axis_of(inputs, self.node_dim)] = -1
        return inputs * mask.reshape(*shape)

    def _on_graph(self, mask: Tensor) -> Tensor:
        """A mask of the edges that the model was given, on the edges of the layer's graph, which may have been made from them."""
        graph = self._explained
        chain = []  # graphs from the layer's up to the first of all
        while graph is not None:
            chain.append(graph)
            graph = graph._parent
        while chain and not same_size(chain[-1].num_edges, mask.shape[0]):
            chain.pop()
        if not chain:
            return mask
        for parent, g in zip(chain[::-1], chain[-2::-1]):
            mask = _follow(parent, g, mask)
        if self._own_loops or any(g._added_loops for g in chain[:-1]):
            last = chain[0]
            mask = (last.src_index == last.dst_index).where(1.0, mask)
        return mask

    # ---- hooks ----

    def _run_before(self, name: str, inputs: Any) -> Any:
        for _, hook in self._before.get(name, ()):
            result = hook(self, inputs)
            if result is not None:
                inputs = result if isinstance(result, tuple) else (result,)
        return inputs

    def _run_after(self, name: str, inputs: Any, out: Any) -> Any:
        for _, hook in self._after.get(name, ()):
            result = hook(self, inputs, out)
            if result is not None:
                out = result
        return out

    def register_propagate_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (edge_index, size, kwargs)) before propagate; what it returns takes the place of the arguments."""
        return Hook(self._before.setdefault("propagate", []), hook)

    def register_propagate_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (edge_index, size, kwargs), output) after propagate; what it returns takes the output's place."""
        return Hook(self._after.setdefault("propagate", []), hook)

    def register_message_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (kwargs,)) before message."""
        return Hook(self._before.setdefault("message", []), hook)

    def register_message_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (kwargs,), messages) after message."""
        return Hook(self._after.setdefault("message", []), hook)

    def register_aggregate_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (kwargs,)) before aggregate."""
        return Hook(self._before.setdefault("aggregate", []), hook)

    def register_aggregate_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (kwargs,), output) after aggregate."""
        return Hook(self._after.setdefault("aggregate", []), hook)

    def register_message_and_aggregate_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (edge_index, kwargs)) before message_and_aggregate."""
        return Hook(self._before.setdefault("message_and_aggregate", []), hook)

    def register_message_and_aggregate_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (edge_index, kwargs), output) after message_and_aggregate."""
        return Hook(self._after.setdefault("message_and_aggregate", []), hook)

    def register_edge_update_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (edge_index, size, kwargs)) before edge_update."""
        return Hook(self._before.setdefault("edge_update", []), hook)

    def register_edge_update_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(layer, (edge_index, size, kwargs), output) after edge_update."""
        return Hook(self._after.setdefault("edge_update", []), hook)


def _hooks_of(table: str, name: str) -> property:
    return property(lambda self: getattr(self, table).get(name, []))


for _name in ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update"):  # the hooks that are set, by PyTorch Geometric's names
    setattr(MessagePassing, f"_{_name}_forward_pre_hooks", _hooks_of("_before", _name))
    setattr(MessagePassing, f"_{_name}_forward_hooks", _hooks_of("_after", _name))


def _graph_of(edge_index: Any, size: list[Any]) -> Graph:
    if isinstance(edge_index, Graph):
        return edge_index
    sources, targets = size
    sources, targets = (targets if sources is None else sources), (sources if targets is None else targets)
    if sources is None:
        return Graph(edge_index)
    try:
        return Graph(edge_index, sources) if sources == targets else Graph(edge_index, num_src=sources, num_dst=targets)
    except IndexError as e:
        limit = f"[0, {sources})" if sources == targets else f"[0, {sources}) and [0, {targets})"
        found = "negative indices" if "negative" in str(e) else "indices that are too large"
        raise IndexError(f"Found {found}: {e}: 'edge_index' must hold valid indices in the interval {limit}") from None


def _follow(parent: Graph, graph: Graph, mask: Tensor) -> Tensor:
    """A mask of parent's edges on those of a graph made from it. Edges keep their order, and added ones come last: only where some were
    removed are they looked up."""
    if not graph._added_loops and same_size(parent.num_edges, graph.num_edges):
        return mask
    if graph._added_loops and not isinstance(graph.num_edges, Dim) and graph.num_edges - parent.num_edges == graph.num_dst:
        return Tensor.cat(mask, Tensor.ones(graph.num_dst, dtype=mask.dtype))
    return graph.carry(mask, 1.0)


def _end(graph: Graph, dim: int) -> Tensor:
    return mark(graph.dst_index, graph, "in") if dim == 1 else mark(graph.src_index, graph, "out")


def _parts(x: Any, count: int) -> list[Any]:
    """Values, or a pair of them, cut along the features."""
    if isinstance(x, (tuple, list)):
        return list(zip(*[_parts(v, count) for v in x]))
    return [None] * count if x is None else list(x.chunk(count, -1))


__all__ = ["MessagePassing"]
