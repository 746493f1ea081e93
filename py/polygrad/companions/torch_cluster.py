"""torch_cluster's functions: neighbours in space, samples of points, clusters, random walks.

>>> import polygrad.torch as torch
>>> from polygrad.companions.torch_cluster import knn
>>> knn(torch.tensor([[0.0], [1.0], [5.0]]), torch.tensor([[4.0]]), 1).tolist()
[[0], [2]]
"""

from __future__ import annotations

from typing import Any

from .. import torch
from ..torch_geometric import sampler as _sampler
from ..torch_geometric.nn import pool as _pool
from ..torch_geometric.nn.pool import fps, knn, knn_graph, nearest, radius, radius_graph


def graclus_cluster(row: Any, col: Any, weight: Any = None, num_nodes: int | None = None) -> Any:
    """Clusters of up to two nodes, matched greedily along the heaviest edges."""
    return _pool.graclus(torch.stack([row, col], dim=0), weight, num_nodes)


def grid_cluster(pos: Any, size: Any, start: Any = None, end: Any = None) -> Any:
    """The cell of a grid of the given size in which each point is."""
    return _pool.voxel_grid(pos, size, None, start, end)


def random_walk(
    row: Any, col: Any, start: Any, walk_length: int, p: float = 1.0, q: float = 1.0, coalesced: bool = True, num_nodes: int | None = None,
    return_edge_indices: bool = False,
) -> Any:  # fmt: skip
    """Random walks along the edges (row, col), one from each node of start: [n, walk_length + 1].

    >>> import polygrad.torch as torch
    >>> from polygrad.companions.torch_cluster import random_walk
    >>> random_walk(torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0]), torch.tensor([0]), 3).tolist()
    [[0, 1, 2, 0]]
    """
    return _sampler.random_walk(torch.stack([row, col], dim=0), start, walk_length, p, q, num_nodes, return_edge_indices)


__all__ = ["fps", "graclus_cluster", "grid_cluster", "knn", "knn_graph", "nearest", "radius", "radius_graph", "random_walk"]
