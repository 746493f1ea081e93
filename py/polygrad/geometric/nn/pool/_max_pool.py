"""Clusters of nodes to single nodes, by the largest value of their features."""

from __future__ import annotations

from typing import Any, Callable

from ....tensor import Tensor
from ._clusters import cluster_graph, cluster_x, neighbor_x


def max_pool_x(cluster: Tensor, x: Tensor, batch: Tensor, batch_size: int | None = None, size: int | None = None) -> tuple[Tensor, Tensor | None]:
    """The largest value of the features of each cluster, and the graph that each cluster belongs to.

    size: every graph has so many clusters, numbered on from graph to graph; empty ones get 0, and no batch vector is given back.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import max_pool_x
    >>> x, batch = max_pool_x(Tensor([0, 0, 5]), Tensor([[1.0], [3.0], [4.0]]), Tensor([0, 0, 1]))
    >>> x.tolist(), batch.tolist()
    ([[3.0], [4.0]], [0, 1])
    """
    return cluster_x("max", cluster, x, batch, batch_size, size)


def max_pool(cluster: Tensor, data: Any, transform: Callable[[Any], Any] | None = None) -> Any:
    """The graph of the clusters: features by their largest value, positions by their mean, edges between clusters with the sums of their attributes.

    transform: applied to the result.
    """
    return cluster_graph("max", cluster, data, transform)


def max_pool_neighbor_x(data: Any, flow: str | None = "source_to_target") -> Any:
    """data, with x replaced by the largest value over each node and its neighbours."""
    return neighbor_x("max", data, flow)


__all__ = ["max_pool", "max_pool_neighbor_x", "max_pool_x"]
