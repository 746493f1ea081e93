"""Clusters of nodes to single nodes, by the mean of their features."""

from __future__ import annotations

from typing import Any, Callable

from ....tensor import Tensor
from ._clusters import cluster_graph, cluster_x, neighbor_x


def avg_pool_x(cluster: Tensor, x: Tensor, batch: Tensor, batch_size: int | None = None, size: int | None = None) -> tuple[Tensor, Tensor | None]:
    """The mean of the features of each cluster, and the graph that each cluster belongs to.

    size: every graph has so many clusters, numbered on from graph to graph; empty ones get 0, and no batch vector is given back.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import avg_pool_x
    >>> x, batch = avg_pool_x(Tensor([0, 0, 5]), Tensor([[1.0], [3.0], [4.0]]), Tensor([0, 0, 1]))
    >>> x.tolist(), batch.tolist()
    ([[2.0], [4.0]], [0, 1])
    """
    return cluster_x("mean", cluster, x, batch, batch_size, size)


def avg_pool(cluster: Tensor, data: Any, transform: Callable[[Any], Any] | None = None) -> Any:
    """The graph of the clusters: features by their mean, positions by their mean, edges between clusters with the sums of their attributes.

    transform: applied to the result.
    """
    return cluster_graph("mean", cluster, data, transform)


def avg_pool_neighbor_x(data: Any, flow: str | None = "source_to_target") -> Any:
    """data, with x replaced by the mean over each node and its neighbours."""
    return neighbor_x("mean", data, flow)


__all__ = ["avg_pool", "avg_pool_neighbor_x", "avg_pool_x"]
