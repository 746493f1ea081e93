"""Clusters of nodes to single nodes, by the largest value of their features."""

from __future__ import annotations

from typing import Any, Callable

from ....tensor import Tensor
from ._clusters import cluster_graph, cluster_x, neighbor_x


def max_pool_x(cluster: Tensor, x: Tensor, batch: Tensor, batch_size: int | None = None, size: int | None = None) -> tuple[Tensor, Tensor | None]:
    """The largest value of the features of each cluster, and the graph that each cluster belongs to.

    size: the number of clusters of every graph, numbered on from graph to graph; empty ones get 0, and no batch vector is given back.

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

    Shapes: cluster [V] of numbers; data with x [V, F], edge_index [2, E], batch [V].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import max_pool
    >>> data = Data(x=Tensor([[1.0], [3.0], [8.0]]), edge_index=Tensor([[0, 1], [1, 2]]), batch=Tensor([0, 0, 0]))
    >>> pooled = max_pool(Tensor([0, 0, 1]), data)
    >>> pooled.x.tolist(), pooled.edge_index.tolist()
    ([[3.0], [8.0]], [[0], [1]])
    """
    return cluster_graph("max", cluster, data, transform)


def max_pool_neighbor_x(data: Any, flow: str | None = "source_to_target") -> Any:
    """data, with x replaced by the largest value over each node and its neighbours.

    Shapes: data with x [V, F] and edge_index [2, E]; x stays [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.nn import max_pool_neighbor_x
    >>> data = Data(x=Tensor([[1.0], [3.0], [8.0]]), edge_index=Tensor([[0, 1], [1, 2]]))
    >>> max_pool_neighbor_x(data).x.tolist()
    [[1.0], [3.0], [8.0]]
    """
    return neighbor_x("max", data, flow)


__all__ = ["max_pool", "max_pool_neighbor_x", "max_pool_x"]
