"""Distances along the edges of a mesh."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host


def geodesic_distance(
    pos: Tensor, face: Tensor, src: Tensor | None = None, dst: Tensor | None = None, norm: bool = True, max_distance: float | None = None,
    num_workers: int = 0, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """The length of the shortest path along the edges of a mesh, from each of the vertices src (all by default) to all, or, if dst is given, to
    the vertex
    of dst beside it; infinite beyond max_distance. norm: in units of the square root of the mesh's area. O(sources * E log V), on the host.

    pos: [V, 3]. face: [3, N]. PyTorch Geometric's goes across the faces as well (it needs `gdist`), and finds somewhat shorter ways.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import geodesic_distance
    >>> pos = Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    >>> geodesic_distance(pos, Tensor([[0], [1], [2]]), src=Tensor([0]), norm=False)[0, 1].item()
    1.0
    """
    points, faces = _host.read(pos).astype(np.float64), _host.read(face)
    n = len(points)
    pairs = np.concatenate([faces[[0, 1]], faces[[1, 2]], faces[[2, 0]]], axis=1)
    pairs = np.unique(np.concatenate([pairs, pairs[::-1]], axis=1), axis=1)
    length = np.linalg.norm(points[pairs[0]] - points[pairs[1]], axis=1)
    if norm:
        a, b, c = (points[faces[k]] for k in range(3))
        area = float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
        length = length / np.sqrt(area) if area else length
    ptr = np.searchsorted(pairs[0], np.arange(n + 1)).tolist()
    limit = np.inf if max_distance is None else float(max_distance)
    targets, lengths = pairs[1].tolist(), length.tolist()
    starts = range(n) if src is None else [int(v) for v in _host.read(src).reshape(-1)]
    out = np.stack([_distances(s, n, ptr, targets, lengths, limit) for s in starts]) if len(starts) else np.zeros((0, n))
    if dst is not None:
        ends = _host.read(dst).reshape(-1)
        out = out[np.arange(len(starts)), ends] if src is not None else out[:, ends]
    return Tensor(out.astype(np.float32))


def _distances(start: int, n: int, ptr: list[int], targets: list[int], lengths: list[float], limit: float) -> np.ndarray:
    """Dijkstra's algorithm from one vertex."""
    best = np.full(n, np.inf)
    best[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        d, v = heapq.heappop(heap)
        if d > best[v]:
            continue
        for k in range(ptr[v], ptr[v + 1]):
            new, w = d + lengths[k], targets[k]
            if new < best[w] and new <= limit:
                best[w] = new
                heapq.heappush(heap, (new, w))
    return best


__all__ = ["geodesic_distance"]
