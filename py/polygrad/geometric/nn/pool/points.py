"""Neighbours among points. The searches are exact, run in C on all threads, and give the same result every time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._core import C, like, same_graph
from ....dtypes import dtypes
from ....tensor import Tensor
from ..._rows import count_of
from ...utils import _host

FLOWS = ("source_to_target", "target_to_source")


def _points(x: Tensor, what: str) -> Tensor:
    """x as points [N, F] of float32 or float64, without history."""
    if not x.ndim:
        raise ValueError(f"{what} must have the shape [N, F], not {x.shape}")
    x = x.detach().reshape(-1, 1) if x.ndim == 1 else x.detach()
    x = x.flatten(1) if x.ndim > 2 else x
    return x if x.dtype in (dtypes.float32, dtypes.float64) else x.float()


def group_starts(batch: Tensor | None, size: Any, what: str) -> np.ndarray | None:
    """Where the nodes of each graph begin, out of a batch vector, which must be sorted."""
    if batch is None:
        return None
    b = _host.vector(batch, what)
    if b.size and (np.any(b[1:] < b[:-1]) or b[0] < 0):
        raise ValueError(f"{what} must be sorted: nodes of the same graph lie beside each other")
    if b.size and int(b[-1]) >= size:
        raise ValueError(f"{what} names graph {int(b[-1])}, but there are {size}")
    return _host.starts(np.bincount(b, minlength=size))


def _groups(x: Tensor, y: Tensor, batch_x: Tensor | None, batch_y: Tensor | None, size: int | None) -> tuple[Any, Any, int]:
    if batch_x is None and batch_y is None:
        return None, None, 1
    if size is None:
        size = max(int(count_of(b)) for b in (batch_x, batch_y) if b is not None)
    starts = []
    for points, batch, what in ((x, batch_x, "batch_x"), (y, batch_y, "batch_y")):
        s = group_starts(batch, size, what)
        if s is None:  # all in the first graph
            s = np.full(size + 1, int(points.shape[0]), np.int64)
            s[0] = 0
        starts.append(s)
    return starts[0], starts[1], size


def _address(a: np.ndarray | None) -> Any:
    return None if a is None else a.ctypes.data


def _search(x: Tensor, y: Tensor, batch_x: Tensor | None, batch_y: Tensor | None, size: int | None, function: Any, *args: Any) -> Tensor:
    x, y = _points(x, "x"), _points(y, "y")
    same_graph(x, y)
    px, py, groups = _groups(x, y, batch_x, batch_y, size)
    return like(x, function(x._h, y._h, _address(px), _address(py), groups, *args))


def _directed(index: Tensor, flow: str) -> Tensor:
    """Pairs (node, neighbour) as edges."""
    return index.flip(0).contiguous() if flow == "source_to_target" else index


def _check_flow(flow: str) -> None:
    if flow not in FLOWS:
        raise ValueError(f"flow must be one of {', '.join(FLOWS)}, not {flow!r}")


def knn(
    x: Tensor, y: Tensor, k: int, batch_x: Tensor | None = None, batch_y: Tensor | None = None, cosine: bool = False, num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """For each point of y the k nearest points of x in the same graph: int64 [2, pairs], indices of y and of x, nearest first.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import knn
    >>> knn(Tensor([[0.0], [1.0], [5.0]]), Tensor([[0.9]]), 2).tolist()
    [[0, 0], [1, 0]]
    """
    return _search(x, y, batch_x, batch_y, batch_size, C.poly_knn, int(k), bool(cosine), False)


def knn_graph(
    x: Tensor, k: int, batch: Tensor | None = None, loop: bool = False, flow: str = "source_to_target", cosine: bool = False, num_workers: int = 1,
    batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Edges to each point from the k nearest ones of the same graph; with loop=True a point counts among its own neighbours.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import knn_graph
    >>> knn_graph(Tensor([[0.0], [1.0], [5.0]]), k=1).tolist()
    [[1, 0, 1], [0, 1, 2]]
    """
    _check_flow(flow)
    return _directed(_search(x, x, batch, batch, batch_size, C.poly_knn, int(k), bool(cosine), not loop), flow)


def radius(
    x: Tensor, y: Tensor, r: float, batch_x: Tensor | None = None, batch_y: Tensor | None = None, max_num_neighbors: int | None = 32,
    num_workers: int = 1, batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """For each point of y the points of x that are nearer than r: int64 [2, pairs], indices of y and of x.

    Where there are more than max_num_neighbors, those are the nearest; None: all of them.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import radius
    >>> radius(Tensor([[0.0], [1.0], [5.0]]), Tensor([[0.5]]), 2.0).tolist()
    [[0, 0], [0, 1]]
    """
    most = -1 if max_num_neighbors is None else int(max_num_neighbors)
    return _search(x, y, batch_x, batch_y, batch_size, C.poly_radius, float(r), most, False)


def radius_graph(
    x: Tensor, r: float, batch: Tensor | None = None, loop: bool = False, max_num_neighbors: int | None = 32, flow: str = "source_to_target",
    num_workers: int = 1, batch_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Edges to each point from those of the same graph that are nearer than r; see radius.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import radius_graph
    >>> radius_graph(Tensor([[0.0], [1.0], [5.0]]), 2.0).tolist()
    [[1, 0], [0, 1]]
    """
    _check_flow(flow)
    most = -1 if max_num_neighbors is None else int(max_num_neighbors)
    return _directed(_search(x, x, batch, batch, batch_size, C.poly_radius, float(r), most, not loop), flow)


def nearest(x: Tensor, y: Tensor, batch_x: Tensor | None = None, batch_y: Tensor | None = None) -> Tensor:
    """For each point of x the nearest point of y in the same graph: int64 [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import nearest
    >>> nearest(Tensor([[0.0], [1.0], [5.0]]), Tensor([[0.2], [4.0]])).tolist()
    [0, 0, 1]
    """
    pairs = _search(y, x, batch_y, batch_x, None, C.poly_knn, 1, False, False)
    if int(pairs.shape[1]) != int(x.shape[0]):
        raise ValueError("nearest: there is a graph with points in x and none in y")
    return pairs[1]


def fps(x: Tensor, batch: Tensor | None = None, ratio: float = 0.5, random_start: bool = True, batch_size: int | None = None) -> Tensor:
    """ceil(ratio * N) points of each graph, each the farthest from those before it: int64, indices into x (Qi et al., 2017).

    The first one is drawn at random, or is the first of the graph if random_start is False.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import fps
    >>> fps(Tensor([[0.0], [1.0], [3.0], [7.0]]), ratio=0.5, random_start=False).tolist()
    [0, 3]
    """
    x = _points(x, "x")
    size = 1 if batch is None else int(count_of(batch, batch_size))
    ptr = group_starts(batch, size, "batch")
    start = None
    if random_start:
        counts = np.array([int(x.shape[0])]) if ptr is None else np.diff(ptr)
        start = _host.generator().integers(0, np.maximum(counts, 1)).astype(np.int64)
    return like(x, C.poly_fps(x._h, _address(ptr), size, float(ratio), _address(start)))


__all__ = ["fps", "group_starts", "knn", "knn_graph", "nearest", "radius", "radius_graph"]
