"""Clusters of nodes to single nodes, by the mean of their features."""

from __future__ import annotations

from typing import Any, Callable

from ....graphs import Graph
from ....tensor import Tensor
from ..._rows import count_of, rows_of
from .consecutive import consecutive_cluster
from .pool import pool_batch, pool_edge, pool_pos


def avg_pool_x(cluster: Tensor, x: Tensor, batch: Tensor, batch_size: int | None = None, size: int | None = None) -> tuple[Tensor, Tensor | None]:
    """The mean of the features of each cluster, and the graph that each cluster belongs to.

    size: every graph has so many clusters, numbered on from graph to graph; empty ones get 0, and no batch vector is given back.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import avg_pool_x
    >>> x, batch = avg_pool_x(Tensor([0, 0, 5]), Tensor([[1.0], [3.0], [4.0]]), Tensor([0, 0, 1]))
    >>> x.tolist(), batch.tolist()
    ([[2.0], [4.0]], [0, 1])
    """
    if size is not None:
        return rows_of(cluster, count_of(batch, batch_size) * size).reduce(x, "mean"), None
    cluster, perm = consecutive_cluster(cluster)
    return rows_of(cluster).reduce(x, "mean"), pool_batch(perm, batch)


def avg_pool(cluster: Tensor, data: Any, transform: Callable[[Any], Any] | None = None) -> Any:
    """The graph of the clusters: features by their mean, positions by their mean, edges between clusters with the sums of their attributes.

    transform: applied to the result.
    """
    from ...data import Batch

    cluster, perm = consecutive_cluster(cluster)
    index, attr = pool_edge(cluster, data.edge_index, getattr(data, "edge_attr", None))
    x, batch, pos = (getattr(data, name, None) for name in ("x", "batch", "pos"))
    out = Batch(
        batch=None if batch is None else pool_batch(perm, batch), x=None if x is None else rows_of(cluster).reduce(x, "mean"),
        edge_index=index, edge_attr=attr, pos=None if pos is None else pool_pos(cluster, pos),
    )  # fmt: skip
    return out if transform is None else transform(out)


def avg_pool_neighbor_x(data: Any, flow: str | None = "source_to_target") -> Any:
    """data, with x replaced by the mean over each node and its neighbours."""
    graph = Graph(data.edge_index, num_nodes=data.num_nodes).with_self_loops()
    if flow == "source_to_target":
        data.x = graph.mean(graph.src(data.x))
    else:
        data.x = graph.mean(graph.dst(data.x), "out")
    return data


__all__ = ["avg_pool", "avg_pool_neighbor_x", "avg_pool_x"]
