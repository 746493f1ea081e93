"""Graphs: Graph, the edges of one kind, and HeteroGraph, several kinds of nodes and edges.

A Graph is made and checked once. Values of nodes are tensors [V, ...], values of edges tensors [E, ...] in the order in which the
edges were given. `src` and `dst` show node values to the edges; `sum`, `mean`, `max` ... gather what the edges bring to each
node. These are lazy like any other operation, and compiled into loops over the neighbourhood: what lies between them is not stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core import C, current, like, same_graph
from .dtypes import DType, to_dtype
from .symbolic import Dim, dim, dim_code
from .tensor import Tensor

if TYPE_CHECKING:
    from .autograd import AutogradGraph

_SIDES = {"in": b"i", "out": b"o"}
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "var", "std", "logsumexp")


def _side(side: str) -> bytes:
    if side not in _SIDES:
        raise ValueError(f"side must be 'in' or 'out', not {side!r}")
    return _SIDES[side]


def _indices(x: Any, what: str) -> np.ndarray:
    """x as a contiguous array of int32 or int64."""
    if isinstance(x, Tensor):
        x = x.numpy()
    try:
        a = np.asarray(x)
    except ValueError:
        raise ValueError(f"{what} must be one array: its rows differ in length") from None
    if a.dtype.kind == "O":
        raise ValueError(f"{what} must be one array of whole numbers: its rows differ in length or hold something else")
    if a.size == 0 and not isinstance(x, np.ndarray):
        a = a.astype(np.int64)  # an empty list has no dtype of its own
    if a.dtype.newbyteorder("=") not in (np.int32, np.int64):
        raise TypeError(f"{what} must be int32 or int64, not {a.dtype}")
    return np.ascontiguousarray(a, a.dtype.newbyteorder("="))


def _vector(x: Any, what: str) -> np.ndarray:
    a = _indices(x, what)
    if a.ndim != 1:
        raise ValueError(f"{what} must have one axis, not the shape {a.shape}")
    return a


def _count(n: Any, what: str) -> int:
    if n is None:
        return -1
    n = n if isinstance(n, int) else int(n)
    if n < 0:
        raise ValueError(f"{what} must not be negative, got {n}")
    return n


def _counts(num_nodes: Any, num_src: Any, num_dst: Any) -> tuple[tuple[int, int], bool]:
    """Numbers of sources and destinations (-1: to be found), and whether they are two sets."""
    if num_src is None and num_dst is None:
        n = _count(num_nodes, "num_nodes")
        return (n, n), False
    if num_nodes is not None:
        raise ValueError("give num_nodes, or num_src and num_dst of a bipartite graph, not both")
    return (_count(num_src, "num_src"), _count(num_dst, "num_dst")), True


class Graph:
    """The directed edges `edge_index[0][k] -> edge_index[1][k]` between num_nodes nodes.

    edge_index: [2, E], int32 or int64, an array or a Tensor; the same tensor gives the same graph again, with all that was built
    for it. num_nodes: the largest index + 1 if it is not given. A bipartite graph has num_src source nodes and num_dst destination
    nodes instead.

    >>> from polygrad import Graph, Tensor
    >>> g = Graph([[0, 1, 2], [2, 2, 0]], num_nodes=3)
    >>> g.sum(g.src(Tensor([1.0, 10.0, 100.0]))).tolist()
    [100.0, 0.0, 11.0]
    """

    __slots__ = ("_p", "_g", "_bipartite", "_edge_index", "_parent", "_added_loops", "_kind", "__weakref__")

    def __init__(self, edge_index: Any, num_nodes: int | None = None, *, num_src: int | None = None, num_dst: int | None = None):
        self._p, self._edge_index = 0, None
        if num_nodes.__class__ is int and num_nodes >= 0 and num_src is None and num_dst is None:  # type: ignore[operator]
            counts, bipartite = (num_nodes, num_nodes), False
        else:
            counts, bipartite = _counts(num_nodes, num_src, num_dst)
        if isinstance(edge_index, Tensor):
            g = edge_index._g
            if g.tracing:
                g.tracing[-1].check_graph(edge_index)
            p = C.poly_graph_of(edge_index._h, *_codes(g, counts))
            self._edge_index = edge_index
            if p is not None and g.tracing:
                self._p, self._g = p, g
                g.tracing[-1].made_graph(edge_index, counts, self)
        else:
            g = current()
            a = _indices(edge_index, "edge_index")
            if a.ndim != 2 or a.shape[0] != 2:
                raise ValueError(f"edge_index must have the shape [2, E], not {list(a.shape)}")
            p = _from_coo(g, a[0], a[1], counts)
        self._set(g, p, bipartite)

    def _set(self, g: AutogradGraph, p: int | None, bipartite: bool, parent: Graph | None = None) -> Graph:
        self._p = 0
        if p is None:
            g.fail()
        self._p, self._g, self._bipartite, self._parent, self._added_loops = p, g, bipartite, parent, False
        of: Any = self._edge_index if self._edge_index is not None else parent
        self._kind: Any = g.made if of is None else of._kind  # the class of its index vectors
        return self

    @classmethod
    def _make(cls, g: AutogradGraph, p: int | None, bipartite: bool, parent: Graph | None = None) -> Graph:
        graph = object.__new__(cls)
        graph._edge_index = None
        return graph._set(g, p, bipartite, parent)

    def __del__(self, free: Any = C.poly_graph_free) -> None:
        if getattr(self, "_p", 0) and self._g.ptr:
            free(self._p)
            self._p = 0

    # ---- other ways to make one ----

    @classmethod
    def from_coo(cls, src: Any, dst: Any, num_nodes: int | None = None, *, num_src: int | None = None, num_dst: int | None = None) -> Graph:
        """From the sources and the destinations of the edges, one vector each.

        >>> Graph.from_coo([0, 1], [1, 0]).num_edges
        2
        """
        s, d = _vector(src, "src"), _vector(dst, "dst")
        if s.shape != d.shape:
            raise ValueError(f"src and dst must have the same length, got {s.shape[0]} and {d.shape[0]}")
        if s.dtype != d.dtype:
            s, d = s.astype(np.int64), d.astype(np.int64)
        counts, bipartite = _counts(num_nodes, num_src, num_dst)
        return cls._make(current(), _from_coo(current(), s, d, counts), bipartite)

    @classmethod
    def from_csr(cls, rowptr: Any, col: Any, num_src: int | None = None) -> Graph:
        """From rows by destination: the sources of the edges into node i are col[rowptr[i]:rowptr[i + 1]].

        num_src makes it bipartite; without it the sources are among the len(rowptr) - 1 nodes.

        >>> Graph.from_csr([0, 2, 2], [0, 1]).edge_index.tolist()
        [[0, 1], [0, 0]]
        """
        r, c = _vector(rowptr, "rowptr"), _vector(col, "col")
        if not r.size:
            raise ValueError("rowptr must have one entry more than there are nodes, got none")
        if int(r[-1]) != c.size:
            raise ValueError(f"rowptr must end with the number of edges: it ends with {int(r[-1])}, and col has {c.size} entries")
        if r.dtype != c.dtype:
            r, c = r.astype(np.int64), c.astype(np.int64)
        g, rows = current(), r.size - 1
        sources = rows if num_src is None else _count(num_src, "num_src")
        p = C.poly_graph_from_csr(g.ptr, r.ctypes.data, c.ctypes.data, to_dtype(c.dtype).code, rows, dim_code(sources, g))
        return cls._make(g, p, num_src is not None)

    @classmethod
    def from_scipy(cls, matrix: Any, weights: bool = False) -> Any:
        """From a sparse matrix: an entry (i, j) is an edge from i to j. A matrix that is not square gives a bipartite graph.

        With weights=True the pair of the graph and its entries, a tensor [E].
        """
        a = matrix.tocoo()
        rows, cols = a.shape
        s, d = (x if x.dtype in (np.int32, np.int64) else x.astype(np.int64) for x in (a.row, a.col))
        graph = cls.from_coo(s, d, rows) if rows == cols else cls.from_coo(s, d, num_src=rows, num_dst=cols)
        return (graph, Tensor(np.array(a.data))) if weights else graph

    @classmethod
    def from_networkx(cls, graph: Any, weight: str | None = None) -> Any:
        """From a networkx graph; nodes are numbered in the order of graph.nodes, an undirected edge becomes two.

        With the name of an edge attribute in weight, the pair of the graph and that attribute, a tensor [E] (1.0 where it is missing).
        """
        number = {node: k for k, node in enumerate(graph.nodes)}
        edges = [(number[a], number[b], 1.0 if weight is None else data.get(weight, 1.0)) for a, b, data in graph.edges(data=True)]
        if not graph.is_directed():
            edges += [(b, a, w) for a, b, w in edges if a != b]
        index = np.array([e[:2] for e in edges], np.int64).reshape(-1, 2).T
        made = cls(np.ascontiguousarray(index), len(number))
        return made if weight is None else (made, Tensor(np.array([e[2] for e in edges], np.float32)))

    @classmethod
    def bipartite(cls, edge_index: Any, num_src: int, num_dst: int) -> Graph:
        """Edges from one set of nodes to another.

        >>> Graph.bipartite([[0, 1, 2], [0, 1, 1]], num_src=3, num_dst=2).is_bipartite
        True
        """
        return cls(edge_index, num_src=num_src, num_dst=num_dst)

    # ---- what it is ----

    @property
    def num_edges(self) -> int:
        """Number of edges; symbolic where it was so when the graph was made, as are the numbers of nodes."""
        return dim(self._g, C.poly_graph_num_edges(self._p))

    @property
    def num_src(self) -> int:
        return dim(self._g, C.poly_graph_num_src(self._p))

    @property
    def num_dst(self) -> int:
        return dim(self._g, C.poly_graph_num_dst(self._p))

    @property
    def num_nodes(self) -> int:
        """Number of nodes; a bipartite graph has two of them, num_src and num_dst."""
        if self._bipartite and self.num_src != self.num_dst:
            raise ValueError(f"a bipartite graph has {self.num_src} source and {self.num_dst} destination nodes: use num_src or num_dst")
        return self.num_dst

    @property
    def is_bipartite(self) -> bool:
        return self._bipartite

    @property
    def edge_index(self) -> Tensor:
        """[2, E]: source and destination of each edge."""
        if self._edge_index is None:
            self._edge_index = Tensor.stack(self.src_index, self.dst_index)
        return self._edge_index

    @property
    def src_index(self) -> Tensor:
        """int32 [E]."""
        return like(self, C.poly_graph_src_index(self._p))

    @property
    def dst_index(self) -> Tensor:
        """int32 [E]."""
        return like(self, C.poly_graph_dst_index(self._p))

    @property
    def in_degree(self) -> Tensor:
        """int32 [num_dst]: edges into each node."""
        return self.degree("in")

    @property
    def out_degree(self) -> Tensor:
        """int32 [num_src]: edges out of each node."""
        return self.degree("out")

    def degree(self, side: str = "in") -> Tensor:
        """int32: number of edges of each node.

        >>> Graph([[0, 1], [1, 1]]).degree("in").tolist()
        [0, 2]
        """
        return like(self, C.poly_graph_degree(self._p, _side(side)))

    @property
    def loop_count(self) -> Tensor:
        """int32 [num_dst]: edges from each node to itself.

        >>> Graph([[0, 1, 1], [0, 0, 1]]).loop_count.tolist()
        [1, 1]
        """
        return like(self, C.poly_graph_loops(self._p))

    def _norm(self, side: str, own_loops: bool, dtype: DType) -> Tensor:
        """[V, 1]: degree ** -1/2, and 0 where there are no edges; own_loops: as if each node had one self loop. The graph keeps it."""
        return like(self, C.poly_graph_norm(self._p, _side(side), own_loops, dtype.code))

    def _own(self, dtype: DType) -> Tensor:
        """[V, 1]: 1 - loop_count. The graph keeps it."""
        return like(self, C.poly_graph_own(self._p, dtype.code))

    def _smooth(self, x: Tensor, side: str, own_loops: bool) -> Tensor:
        """D^-1/2 A D^-1/2 x, with own_loops (A + I) in the place of A: rows of x [V, F] scaled, summed over the edges of a side, scaled again."""
        return self._moved(x, C.poly_graph_smooth(self._p, self._handle(x), _side(side), own_loops))

    def rowptr(self, side: str = "in") -> Tensor:
        """int32 [V + 1]: the edges of node v are order(side)[rowptr[v]:rowptr[v + 1]]."""
        return like(self, C.poly_graph_rowptr(self._p, _side(side)))

    def order(self, side: str = "in") -> Tensor:
        """int32 [E]: edges sorted by destination (in) or source (out); equal ones keep their order."""
        return like(self, C.poly_graph_order(self._p, _side(side)))

    def other(self, side: str = "in") -> Tensor:
        """int32 [E]: the other end of each edge of order(side)."""
        return like(self, C.poly_graph_other(self._p, _side(side)))

    def __repr__(self) -> str:
        nodes = f"{self.num_src} to {self.num_dst} nodes" if self._bipartite else f"{self.num_dst} nodes"
        return f"<Graph of {nodes}, {self.num_edges} edges>"

    def __reduce__(self) -> Any:
        index = np.stack([self.src_index.numpy(), self.dst_index.numpy()])
        counts = {"num_src": self.num_src, "num_dst": self.num_dst} if self._bipartite else {"num_nodes": self.num_dst}
        return _rebuild, (index, counts)

    # ---- other graphs ----

    def _derive(self, p: int | None, loops: bool = False) -> Graph:
        """loops: it has self loops that were added."""
        made = Graph._make(self._g, p, self._bipartite, self)
        made._added_loops = loops
        return made

    def with_self_loops(self, only_missing: bool = False) -> Graph:
        """With an edge from each node to itself, after the others; or only where there is none.

        >>> Graph([[0, 1], [0, 0]]).with_self_loops(only_missing=True).edge_index.tolist()
        [[0, 1, 1], [0, 0, 1]]
        """
        return self._derive(C.poly_graph_with_self_loops(self._p, only_missing), loops=True)

    def with_own_loops(self) -> Graph:
        """Without the loops that are there, and then one at each node, behind the others; it comes from the last one that the node had.

        >>> Graph([[0, 1, 1], [0, 0, 1]]).with_own_loops().edge_index.tolist()
        [[1, 0, 1], [0, 0, 1]]
        """
        return self._derive(C.poly_graph_with_own_loops(self._p), loops=True)

    def without_self_loops(self) -> Graph:
        """Without the edges from a node to itself."""
        return self._derive(C.poly_graph_without_self_loops(self._p))

    def reversed(self) -> Graph:
        """Every edge the other way round, in the same order."""
        return self._derive(C.poly_graph_reversed(self._p))

    def undirected(self) -> Graph:
        """With the opposite of every edge."""
        return self._derive(C.poly_graph_undirected(self._p))

    def coalesced(self) -> Graph:
        """Edges that occur several times once."""
        return self._derive(C.poly_graph_coalesced(self._p))

    @property
    def origin(self) -> Tensor | None:
        """Of a graph made from another one: int32 [E], the edge that each edge came from, -1 for an added one."""
        if self._parent is None:
            return None
        return like(self, C.poly_graph_origin(self._p))

    def carry(self, values: Tensor, fill: float = 1.0) -> Tensor:
        """Edge values of the graph that this one was made from, on the edges of this one; `fill` on added edges.

        >>> g = Graph([[0, 1], [1, 0]])
        >>> g.with_self_loops().carry(Tensor([5.0, 6.0]), fill=1.0).tolist()
        [5.0, 6.0, 1.0, 1.0]
        """
        if self._parent is None:
            raise ValueError("carry needs a graph that was made from another one, as by with_self_loops()")
        edges = self._parent.num_edges
        if not values.ndim or int(values.shape[0]) != edges:
            raise ValueError(f"edge values of shape {values.shape} do not fit a graph of {edges} edges")
        origin = self.origin
        assert origin is not None
        if isinstance(edges, Dim):  # there may be none in another run: a row before the others, for edges that come from none
            return Tensor.cat(Tensor.full((1, *values.shape[1:]), fill, dtype=values.dtype), values)[origin + 1]
        if not edges:
            return Tensor.full((self.num_edges, *values.shape[1:]), fill, dtype=values.dtype)
        found = (origin >= 0).reshape(-1, *[1] * (values.ndim - 1))
        return Tensor.where(found, values[origin.maximum(0)], fill)

    # ---- the moves ----

    def _moved(self, x: Tensor, h: int | None) -> Tensor:
        """What a move made of x, a tensor that owns handle h."""
        return like(x, h) if x._kind is self._kind else like(x, h, self)

    def _handle(self, x: Any) -> int:
        if not isinstance(x, Tensor):
            raise TypeError(f"a Tensor is needed, not {type(x).__name__}")
        if x._g is not self._g:
            same_graph(self, x)
        return x._h

    def src(self, x: Tensor) -> Tensor:
        """Node values [num_src, ...] seen from the edges, [E, ...]: the value of each edge's source.

        >>> Graph([[0, 1], [1, 1]]).src(Tensor([5.0, 6.0])).tolist()
        [5.0, 6.0]
        """
        return self._moved(x, C.poly_graph_src(self._p, self._handle(x)))

    def dst(self, x: Tensor) -> Tensor:
        """Node values [num_dst, ...] seen from the edges, [E, ...]: the value of each edge's destination.

        >>> Graph([[0, 1], [1, 1]]).dst(Tensor([5.0, 6.0])).tolist()
        [6.0, 6.0]
        """
        return self._moved(x, C.poly_graph_dst(self._p, self._handle(x)))

    def reduce(self, m: Tensor, op: str, side: str = "in") -> Tensor:
        """Edge values [E, ...] to node values [V, ...], over the in-edges (or out-edges) of each node. A node without edges gets 0,
        for 'prod' 1.

        op: 'sum', 'mean', 'max', 'min', 'prod', 'var', 'std' (both divide by the count) or 'logsumexp'.
        """
        if op not in REDUCTIONS:
            raise ValueError(f"op must be one of {', '.join(REDUCTIONS)}, not {op!r}")
        return self._moved(m, C.poly_graph_reduce(self._p, self._handle(m), op.encode(), _side(side)))

    def softmax(self, m: Tensor, side: str = "in") -> Tensor:
        """exp(m) divided by its sum over the edges of the same node, [E, ...]; stable.

        >>> g = Graph([[0, 1, 2], [2, 2, 0]])
        >>> g.softmax(Tensor([0.0, 0.0, 5.0])).tolist()
        [0.5, 0.5, 1.0]
        """
        return self._moved(m, C.poly_graph_softmax(self._p, self._handle(m), _side(side)))

    def sum(self, m: Tensor, side: str = "in") -> Tensor:
        """Sum over the edges of each node."""
        return self.reduce(m, "sum", side)

    def mean(self, m: Tensor, side: str = "in") -> Tensor:
        """Mean over the edges of each node."""
        return self.reduce(m, "mean", side)

    def max(self, m: Tensor, side: str = "in") -> Tensor:
        """Largest over the edges of each node."""
        return self.reduce(m, "max", side)

    def min(self, m: Tensor, side: str = "in") -> Tensor:
        """Smallest over the edges of each node."""
        return self.reduce(m, "min", side)

    def prod(self, m: Tensor, side: str = "in") -> Tensor:
        """Product over the edges of each node."""
        return self.reduce(m, "prod", side)

    def var(self, m: Tensor, side: str = "in") -> Tensor:
        """Variance over the edges of each node."""
        return self.reduce(m, "var", side)

    def std(self, m: Tensor, side: str = "in") -> Tensor:
        """Standard deviation over the edges of each node."""
        return self.reduce(m, "std", side)

    def logsumexp(self, m: Tensor, side: str = "in") -> Tensor:
        """log(sum(exp(m))) over the edges of each node."""
        return self.reduce(m, "logsumexp", side)


def _from_coo(g: AutogradGraph, src: np.ndarray, dst: np.ndarray, counts: tuple[int, int]) -> int | None:
    return C.poly_graph_from_coo(g.ptr, src.ctypes.data, dst.ctypes.data, to_dtype(src.dtype).code, src.size, *_codes(g, counts))


def _codes(g: AutogradGraph, counts: tuple[int, int]) -> tuple[int, int]:
    if counts[0].__class__ is int and counts[0] >= 0 and counts[1] is counts[0]:
        return counts
    return dim_code(counts[0], g), dim_code(counts[1], g)


def _rebuild(index: np.ndarray, counts: dict[str, int]) -> Graph:
    return Graph(index, **counts)


Relation = Any  # (source type, name, destination type)


class HeteroGraph(Mapping):
    """Several types of nodes and edges: {(source type, name, destination type): Graph or edge_index}.

    num_nodes: {type: count}. A type that is missing there is as large as the graphs given for it say.

    >>> from polygrad.graphs import HeteroGraph
    >>> g = HeteroGraph({("author", "writes", "paper"): [[0, 1], [0, 2]], ("paper", "cites", "paper"): [[0], [1]]},
    ...                 num_nodes={"author": 2, "paper": 3})
    >>> g["cites"].num_nodes, g["writes"].num_src
    (3, 2)
    """

    def __init__(self, edges: Mapping[Relation, Any], num_nodes: Mapping[str, int] | None = None):
        self.num_nodes: dict[str, int] = {t: _count(n, f"num_nodes[{t!r}]") for t, n in (num_nodes or {}).items()}
        for relation, value in edges.items():
            if not (isinstance(relation, tuple) and len(relation) == 3 and all(isinstance(name, str) for name in relation)):
                raise TypeError(f"a relation is (source type, name, destination type), not {relation!r}")
            if isinstance(value, Graph):
                self._note(relation, relation[0], value.num_src)
                self._note(relation, relation[2], value.num_dst)
        self.relations: dict[Relation, Graph] = {r: self._graph(r, value) for r, value in edges.items()}

    def _note(self, relation: Relation, kind: str, count: int) -> None:
        if self.num_nodes.setdefault(kind, count) != count:
            raise ValueError(f"{relation} has {count} nodes of type {kind!r}, but there are {self.num_nodes[kind]}")

    def _graph(self, relation: Relation, value: Any) -> Graph:
        if isinstance(value, Graph):
            return value
        for kind in (relation[0], relation[2]):
            if kind not in self.num_nodes:
                raise ValueError(f"num_nodes has no count for nodes of type {kind!r}")
        if relation[0] == relation[2]:
            return Graph(value, self.num_nodes[relation[0]])
        return Graph(value, num_src=self.num_nodes[relation[0]], num_dst=self.num_nodes[relation[2]])

    @property
    def node_types(self) -> list[str]:
        return list(self.num_nodes)

    @property
    def edge_types(self) -> list[Relation]:
        return list(self.relations)

    def find(self, key: Any) -> Relation:
        """The relation of a triple, or of a name that only one has."""
        if key in self.relations:
            return key
        found = [r for r in self.relations if r[1] == key]
        if len(found) == 1:
            return found[0]
        known = ", ".join(map(str, self.relations)) or "none"
        raise KeyError(f"{'several relations have' if found else 'there is no relation with'} the name {key!r}; relations: {known}")

    def __getitem__(self, key: Any) -> Graph:
        return self.relations[self.find(key)]

    def __iter__(self) -> Iterator[Relation]:
        return iter(self.relations)

    def __len__(self) -> int:
        return len(self.relations)

    def __repr__(self) -> str:
        nodes = ", ".join(f"{n} {t}" for t, n in self.num_nodes.items())
        edges = ", ".join(f"{g.num_edges} {r[1]}" for r, g in self.relations.items())
        return f"<HeteroGraph of {nodes}; {edges}>"


__all__ = ["REDUCTIONS", "Graph", "HeteroGraph"]
