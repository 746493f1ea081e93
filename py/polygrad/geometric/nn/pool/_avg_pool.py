"""Clusters of nodes to single nodes, by the mean of their features."""

from __future__ import annotations

from typing import Any, Callable

from ....tensor import Tensor
from ._clusters import cluster_graph, cluster_x, neighbor_x


def avg_pool_x(cluster: Tensor, x: Tensor, batch: Tensor, batch_size: int | None = None, size: int | None = None) -> tuple[Tensor, Tensor | None]:
    """The mean of the features of each cluster, and the graph that each cluster belongs to.

    size: the number of clusters of every graph, numbered on from graph to graph; empty ones get 0, and no batch vector is given back.

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

    Shapes: cluster [V] of numbers; data with x [V, F], edge_index [2, E], batch [V].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import avg_pool
    >>> data = Data(x=Tensor([[1.0], [3.0], [8.0]]), edge_index=Tensor([[0, 1], [1, 2]]), batch=Tensor([0, 0, 0]))
    >>> pooled = avg_pool(Tensor([0, 0, 1]), data)
    >>> pooled.x.tolist(), pooled.edge_index.tolist()
    ([[2.0], [8.0]], [[0], [1]])
    """
    return cluster_graph("mean", cluster, data, transform)


def avg_pool_neighbor_x(data: Any, flow: str | None = "source_to_target") -> Any:
    """data, with x replaced by the mean over each node and its neighbours.

    Shapes: data with x [V, F] and edge_index [2, E]; x stays [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import avg_pool_neighbor_x
    >>> data = Data(x=Tensor([[1.0], [3.0], [8.0]]), edge_index=Tensor([[0, 1], [1, 2]]))
    >>> avg_pool_neighbor_x(data).x.tolist()
    [[1.0], [2.0], [5.5]]
    """
    return neighbor_x("mean", data, flow)


__all__ = ["avg_pool", "avg_pool_neighbor_x", "avg_pool_x"]
