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
    if is_sorted:
        _host.check_range(e, n)
    carried = isinstance(edge_attr, (Tensor, list, tuple))
    if is_sorted:  # whatever the order is: runs of equal edges are merged
        new = np.ones(e.shape[1], np.bool_)
        new[1:] = (e[:, 1:] != e[:, :-1]).any(0)
        merged = None if new.all() else (_host.tensor(e[:, new]), None, np.flatnonzero(new))
    else:
        merged = _host.sort_edges(edge_index, n, sort_by_row, True, carried)
    if merged is None:
        out = edge_index if isinstance(edge_index, Tensor) else _host.tensor(e)
    else:
        out, order, begin = merged
        if carried:
            edge_attr = edge_attr if order is None else take(edge_attr, order)
            edge_attr = edge_attr if begin is None or begin.size == e.shape[1] else _merge(edge_attr, begin, e.shape[1], reduce)
    return out if isinstance(edge_attr, str) else (out, edge_attr)


def _merge(edge_attr: Any, begin: np.ndarray, rows: int, reduce: str) -> Any:
    """Rows of sorted values, joined from where each run begins."""
    if isinstance(edge_attr, (list, tuple)):
        return [_merge(a, begin, rows, reduce) for a in edge_attr]
    if not isinstance(edge_attr, Tensor):
        return edge_attr
    if reduce == "any":
        return _host.rows(edge_attr, np.append(begin[1:], rows) - 1)
    if reduce not in _OPS:
        raise ValueError(f"reduce must be one of {', '.join([*_OPS, 'any'])}, not {reduce!r}")

    def lazy() -> Tensor:
        from ._scatter import scatter

        return scatter(edge_attr, _host.tensor(np.repeat(np.arange(begin.size), np.diff(begin, append=rows))), 0, int(begin.size), reduce)

    def now() -> Tensor:
        starts = begin.astype(np.int64, copy=False)
        return like(edge_attr, C.poly_reduce_runs(edge_attr._h, starts.ctypes.data, starts.size, _OPS[reduce]))

    if edge_attr.dtype.kind == "b" or (reduce == "mean" and edge_attr.dtype.kind != "f"):
        return lazy()
    return _host.moved(lazy, now, edge_attr)


__all__ = ["coalesce"]
