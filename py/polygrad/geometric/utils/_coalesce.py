"""Edges that occur several times, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import C, like
from ...tensor import Tensor
from . import _host
from ._host import MISSING
from ._sort_edge_index import take
from .num_nodes import maybe_num_nodes

_OPS = {"sum": b"s", "add": b"s", "mean": b"m", "min": b"i", "max": b"a", "mul": b"p"}  # of poly_reduce_runs


def coalesce(
    edge_index: Any, edge_attr: Any = MISSING, num_nodes: int | None = None, reduce: str = "sum", is_sorted: bool = False, sort_by_row: bool = True
) -> Any:
    """Sorts the edges, and merges those that occur several times: their edge_attr are combined by `reduce`.

    edge_index: [2, E], or a pair (row, col), which gives a pair. edge_attr: a tensor, a list of them, or None; if it was passed, the result is
    (edge_index, edge_attr). reduce: 'sum' ('add'), 'mean',
    'min', 'max', 'mul' or 'any'. is_sorted: the edges are in order. sort_by_row=False sorts by destination. O(E log E).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import coalesce
    >>> e, w = coalesce(Tensor([[1, 1, 0], [0, 0, 1]]), Tensor([1.0, 2.0, 3.0]))
    >>> e.tolist(), w.tolist()
    ([[0, 1], [1, 0]], [3.0, 3.0])
    """
    if isinstance(edge_index, tuple):  # a pair of sources and destinations gives a pair
        joined = Tensor.stack(*edge_index) if all(isinstance(v, Tensor) for v in edge_index) else np.stack(edge_index)
        result = coalesce(joined, edge_attr, num_nodes, reduce, is_sorted, sort_by_row)
        alone = isinstance(edge_attr, str)
        merged = result if alone else result[0]
        return (merged[0], merged[1]) if alone else ((merged[0], merged[1]), result[1])
    e = _host.edges(edge_index)
    n = int(maybe_num_nodes(e, num_nodes))
    _host.check_range(e, n)
    first, second = (e[0], e[1]) if sort_by_row else (e[1], e[0])
    if not is_sorted and not isinstance(edge_attr, (Tensor, list, tuple)) and 0 < n <= 3037000499:  # pairs as numbers: nothing to carry along
        key = _host.distinct(first.astype(np.int64) * n + second)
        both = np.stack([key // n, key % n]).astype(e.dtype)
        out = _host.tensor(both if sort_by_row else both[::-1])
        return out if isinstance(edge_attr, str) else (out, edge_attr)
    order = None if is_sorted else _host.sort_order(first, second, n)
    if order is not None:
        e, first, second = e[:, order], first[order], second[order]
        edge_attr = take(edge_attr, order)
    new = np.ones(e.shape[1], np.bool_)
    if e.shape[1] > 1:
        new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    if not new.all():
        edge_attr = _merge(edge_attr, new, reduce)
        out = _host.tensor(e[:, new])
    else:
        out = edge_index if order is None and isinstance(edge_index, Tensor) else _host.tensor(e)
    return out if isinstance(edge_attr, str) else (out, edge_attr)


def _merge(edge_attr: Any, new: np.ndarray, reduce: str) -> Any:
    """Rows of sorted values, joined where a row is not new."""
    if isinstance(edge_attr, (list, tuple)):
        return [_merge(a, new, reduce) for a in edge_attr]
    if not isinstance(edge_attr, Tensor):
        return edge_attr
    begin = np.flatnonzero(new)
    if reduce == "any":
        return _host.rows(edge_attr, np.append(begin[1:], new.size) - 1)
    if reduce not in _OPS:
        raise ValueError(f"reduce must be one of {', '.join([*_OPS, 'any'])}, not {reduce!r}")

    def lazy() -> Tensor:
        from ._scatter import scatter

        return scatter(edge_attr, _host.tensor(np.cumsum(new) - 1), 0, int(begin.size), reduce)

    def now() -> Tensor:
        starts = begin.astype(np.int64, copy=False)
        return like(edge_attr, C.poly_reduce_runs(edge_attr._h, starts.ctypes.data, starts.size, _OPS[reduce]))

    if edge_attr.dtype.kind == "b" or (reduce == "mean" and edge_attr.dtype.kind != "f"):
        return lazy()
    return _host.moved(lazy, now, edge_attr)


__all__ = ["coalesce"]
