"""Clusters of nodes to single nodes, whatever the reduction: what avg_pool and max_pool share."""

from __future__ import annotations

from typing import Any, Callable

from ....graphs import Graph
from ....tensor import Tensor
from ..._rows import count_of, rows_of
from .consecutive import consecutive_cluster
from .pool import pool_batch, pool_edge, pool_pos


def cluster_x(op: str, cluster: Tensor, x: Tensor, batch: Tensor, batch_size: int | None, size: int | None) -> tuple[Tensor, Tensor | None]:
    """Features of each cluster, and the graph that each cluster belongs to."""
    if size is not None:
        return rows_of(cluster, count_of(batch, batch_size) * size).reduce(x, op), None
    cluster, perm = consecutive_cluster(cluster)
    return rows_of(cluster).reduce(x, op), pool_batch(perm, batch)


def cluster_graph(op: str, cluster: Tensor, data: Any, transform: Callable[[Any], Any] | None) -> Any:
    """The graph of the clusters; positions by their mean, edges between clusters with the sums of their attributes."""
    from ...data import Batch

    cluster, perm = consecutive_cluster(cluster)
    index, attr = pool_edge(cluster, data.edge_index, getattr(data, "edge_attr", None))
    x, batch, pos = (getattr(data, name, None) for name in ("x", "batch", "pos"))
    out = Batch(
        batch=None if batch is None else pool_batch(perm, batch), x=None if x is None else rows_of(cluster).reduce(x, op),
        edge_index=index, edge_attr=attr, pos=None if pos is None else pool_pos(cluster, pos),
    )  # fmt: skip
    return out if transform is None else transform(out)


def neighbor_x(op: str, data: Any, flow: str | None) -> Any:
    """data, with x reduced over each node and its neighbours."""
    graph = Graph(data.edge_index, num_nodes=data.num_nodes).with_self_loops()
    if flow == "source_to_target":
        data.x = graph.reduce(graph.src(data.x), op)
    else:
        data.x = graph.reduce(graph.dst(data.x), op, "out")
    return data


__all__ = ["cluster_graph", "cluster_x", "neighbor_x"]
