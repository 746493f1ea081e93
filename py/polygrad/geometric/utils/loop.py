"""Self loops: edges from a node to itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from .._rows import rows_of
from ..sparse_tensor import SparseTensor
from . import _host
from .num_nodes import maybe_num_nodes


def contains_self_loops(edge_index: Tensor) -> bool:
    """Whether a node has an edge to itself.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import contains_self_loops
    >>> contains_self_loops(Tensor([[0, 1], [1, 1]])), contains_self_loops(Tensor([[0, 1], [1, 0]]))
    (True, False)
    """
    return _host.any_loop(edge_index)


def remove_self_loops(edge_index: Any, edge_attr: Tensor | None = None) -> tuple[Any, Tensor | None]:
    """Without the self loops; the other edges keep their order. Of a sparse matrix, the matrix without its diagonal.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import remove_self_loops
    >>> remove_self_loops(Tensor([[0, 1, 0], [1, 1, 2]]))[0].tolist()
    [[0, 0], [1, 2]]
    """
    if isinstance(edge_index, SparseTensor):
        return edge_index.remove_diag(), None
    out, keep = _host.filter_edges(edge_index, loops="n")
    if isinstance(edge_index, Tensor) and out.shape[1] == edge_index.shape[1]:
        return edge_index, edge_attr
    return out, _host.maybe_rows(edge_attr, keep)


def segregate_self_loops(edge_index: Tensor, edge_attr: Tensor | None = None) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
    """The edges that are no self loops with their edge_attr, and the self loops with theirs.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import segregate_self_loops
    >>> e, _, loops, _ = segregate_self_loops(Tensor([[0, 0, 1], [0, 1, 0]]))
    >>> e.tolist(), loops.tolist()
    ([[0, 1], [1, 0]], [[0], [0]])
    """
    rest, keep = _host.filter_edges(edge_index, loops="n")
    loops, own = _host.filter_edges(edge_index, loops="l")
    return rest, _host.maybe_rows(edge_attr, keep), loops, _host.maybe_rows(edge_attr, own)


def _loop_attr(edge_index: Tensor, edge_attr: Tensor, n: Any, fill_value: Any) -> Tensor:
    shape = (n, *edge_attr.shape[1:])
    if fill_value is None or isinstance(fill_value, (int, float)):
        value = 1 if fill_value is None else fill_value
        if edge_attr.dtype.np is not None and all(type(s) is int for s in shape) and not edge_attr._g.tracing:
            return Tensor(np.full(shape, value, edge_attr.dtype.np))
        return Tensor.full(shape, value, dtype=edge_attr.dtype)
    if isinstance(fill_value, Tensor):
        fill = fill_value.cast(edge_attr.dtype)
        return (fill if fill.ndim == edge_attr.ndim else fill.unsqueeze(0)).expand(shape)
    if isinstance(fill_value, str):
        from ._scatter import scatter

        return scatter(edge_attr, edge_index[1], 0, n, fill_value)
    raise AttributeError(f"No valid 'fill_value': a number, a tensor or the name of a reduction is needed, not {type(fill_value).__name__}")


def add_self_loops(
    edge_index: Any, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | tuple[int, int] | None = None
) -> tuple[Any, Tensor | None]:
    """With an edge from each node to itself after the others; of a sparse matrix, the matrix with more on its diagonal.

    fill_value: what the new edges have in edge_attr: a number (1 if it is not given), a tensor, or a reduction ('add', 'mean', 'min',
    'max', 'mul') over the edges into the node. num_nodes: a pair for a bipartite graph, which gets the smaller number of loops.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import add_self_loops
    >>> e, w = add_self_loops(Tensor([[0, 1], [1, 0]]), Tensor([5.0, 6.0]), fill_value=2.0)
    >>> e.tolist(), w.tolist()
    ([[0, 1, 0, 1], [1, 0, 0, 1]], [5.0, 6.0, 2.0, 2.0])
    """
    if isinstance(edge_index, SparseTensor):
        row, col, value = edge_index.coo()
        pairs, value = add_self_loops(Tensor.stack(row, col), value, fill_value, num_nodes or edge_index.sparse_sizes())
        return edge_index._made(row=pairs[0], col=pairs[1], value=value, sparse_sizes=edge_index.sparse_sizes()).coalesce("sum"), None
    n = min(num_nodes) if isinstance(num_nodes, (tuple, list)) else maybe_num_nodes(edge_index, num_nodes)
    if edge_attr is not None:
        edge_attr = _host.join(edge_attr, _loop_attr(edge_index, edge_attr, n, fill_value))
    if _host.traced(edge_index):
        loops = Tensor.arange(n, dtype=edge_index.dtype).unsqueeze(0).expand(2, n)
        return Tensor.cat(edge_index, loops, dim=1), edge_attr
    return _host.with_loops(edge_index, n), edge_attr


def add_remaining_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None, fill_value: Any = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """Every node has exactly one self loop, after the other edges. One that was there keeps its edge_attr; see add_self_loops.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import add_remaining_self_loops
    >>> e, w = add_remaining_self_loops(Tensor([[0, 0, 1], [0, 1, 0]]), Tensor([5.0, 6.0, 7.0]))
    >>> e.tolist(), w.tolist()
    ([[0, 1, 0, 1], [1, 0, 0, 1]], [6.0, 7.0, 5.0, 1.0])
    """
    n = maybe_num_nodes(edge_index, num_nodes)
    rest, keep = _host.filter_edges(edge_index, loops="n")
    if edge_attr is not None:
        own, which = _host.filter_edges(edge_index, loops="l")
        loops = _place(_loop_attr(edge_index, edge_attr, n, fill_value), _host.read(own)[0], _host.rows(edge_attr, which))
        edge_attr = _host.join(_host.rows(edge_attr, keep), loops)
    return _host.with_loops(rest, n), edge_attr


def _place(values: Tensor, where: np.ndarray, new: Tensor) -> Tensor:
    """values with rows of new at `where`; of several for one place the last counts."""
    if not where.size:
        return values
    n = int(values.shape[0])
    source = np.full(n, -1, np.int64)
    source[where] = np.arange(where.size)

    def lazy() -> Tensor:
        found = _host.tensor(source >= 0).reshape(-1, *[1] * (values.ndim - 1))
        return found.where(new[_host.tensor(np.maximum(source, 0))], values)

    def now() -> np.ndarray:
        a = values.numpy()
        a[source >= 0] = _host.array(new)[source[source >= 0]]
        return a

    return _host.moved(lazy, now, values, new)


def get_self_loop_attr(edge_index: Tensor, edge_attr: Tensor | None = None, num_nodes: int | None = None) -> Tensor:
    """The edge_attr of each node's self loop (1 without edge_attr), 0 for nodes that have none.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import get_self_loop_attr
    >>> get_self_loop_attr(Tensor([[0, 0, 1], [0, 1, 0]]), Tensor([0.2, 0.3, 0.5])).tolist()[1]
    0.0
    """
    if _host.traced(edge_index):
        return _loop_attr_traced(edge_index, edge_attr, maybe_num_nodes(edge_index, num_nodes))
    n = int(maybe_num_nodes(edge_index, num_nodes))
    loops, which = _host.filter_edges(edge_index, loops="l")
    at = _host.read(loops)[0]
    attr = _host.ones(at.size) if edge_attr is None else _host.rows(edge_attr, which)
    if attr.dtype.np is None:
        return _place(Tensor.zeros(n, *attr.shape[1:], dtype=attr.dtype), at, attr)
    return _place(Tensor(np.zeros((n, *attr.shape[1:]), attr.dtype.np)), at, attr)


def _loop_attr_traced(edge_index: Tensor, edge_attr: Tensor | None, n: Any) -> Tensor:
    """get_self_loop_attr without reading edges: of several loops at a node the last counts."""
    attr = Tensor.ones(edge_index.shape[1]) if edge_attr is None else edge_attr
    places = (edge_index[0] == edge_index[1]).where(Tensor.arange(1, attr.shape[0] + 1), 0)
    last = rows_of(edge_index[0], n).reduce(places, "max")
    found = (last > 0).reshape(-1, *[1] * (attr.ndim - 1))
    return Tensor.where(found, attr[(last - 1).maximum(0)], 0)


__all__ = [
    "add_remaining_self_loops",
    "add_self_loops",
    "contains_self_loops",
    "get_self_loop_attr",
    "remove_self_loops",
    "segregate_self_loops",
]
