"""Edges in lexicographic order."""

from __future__ import annotations

from typing import Any

from ...dtypes import dtypes
from ...tensor import Tensor
from . import _host
from ._host import MISSING
from .num_nodes import maybe_num_nodes


def sort_edge_index(edge_index: Tensor, edge_attr: Any = MISSING, num_nodes: int | None = None, sort_by_row: bool = True) -> Any:
    """edge_index sorted by source and then destination, or the other way with sort_by_row=False.

    Gives edge_index, or (edge_index, edge_attr) when edge_attr (a tensor, a list of them, or None) was passed. O(E log E).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import sort_edge_index
    >>> e, w = sort_edge_index(Tensor([[2, 1, 1, 0], [1, 2, 0, 1]]), Tensor([1, 2, 3, 4]))
    >>> e.tolist(), w.tolist()
    ([[0, 1, 1, 2], [1, 0, 2, 1]], [4, 3, 2, 1])
    """
    if _host.traced(edge_index):
        return _sorted_lazily(edge_index, edge_attr, num_nodes, sort_by_row)
    e = _host.edges(edge_index)
    n = int(maybe_num_nodes(e, num_nodes))
    found = _host.sort_edges(edge_index, n, sort_by_row, False, isinstance(edge_attr, (Tensor, list, tuple)))
    if found is not None:
        edge_index, order, _ = found
        edge_attr = edge_attr if order is None else take(edge_attr, order)
    elif not isinstance(edge_index, Tensor):
        edge_index = _host.tensor(e)
    if isinstance(edge_attr, str):
        return edge_index
    return edge_index, list(edge_attr) if isinstance(edge_attr, tuple) else edge_attr


def _sorted_lazily(edge_index: Tensor, edge_attr: Any, num_nodes: Any, sort_by_row: bool) -> Any:
    first, second = (edge_index[k].cast(dtypes.int64) for k in ((0, 1) if sort_by_row else (1, 0)))
    width: Any = edge_index.max().cast(dtypes.int64) + 1 if num_nodes is None else num_nodes
    order = (first * width + second).argsort()
    out = edge_index.index_select(1, order)
    if isinstance(edge_attr, str):
        return out
    if isinstance(edge_attr, (list, tuple)):
        return out, [a.index_select(0, order) for a in edge_attr]
    return out, None if edge_attr is None else edge_attr.index_select(0, order)


def take(edge_attr: Any, which: Any) -> Any:
    """Rows of a tensor, of each tensor of a list, or nothing."""
    if isinstance(edge_attr, Tensor):
        return _host.rows(edge_attr, which)
    if isinstance(edge_attr, (list, tuple)):
        return [_host.rows(a, which) for a in edge_attr]
    return edge_attr


__all__ = ["sort_edge_index"]
