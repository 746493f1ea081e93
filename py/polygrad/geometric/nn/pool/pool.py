"""Edges, graphs and positions of clusters."""

from __future__ import annotations

from ....tensor import Tensor
from ..._rows import rows_of
from ...utils import _host
from ...utils._coalesce import coalesce


def pool_edge(cluster: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, reduce: str | None = "sum") -> tuple[Tensor, Tensor | None]:
    """The edges between clusters, each once and none within one; edge_attr are combined by `reduce`."""
    number, e = _host.vector(cluster, "cluster"), _host.edges(edge_index)
    new = number[e]
    keep = new[0] != new[1]
    new, edge_attr = new[:, keep], _host.maybe_rows(edge_attr, keep)
    if not new.size:
        return _host.tensor(new), edge_attr
    return coalesce(_host.tensor(new), edge_attr, number.size, reduce or "sum")


def pool_batch(perm: Tensor, batch: Tensor) -> Tensor:
    """The graphs of the clusters; perm: a node of each."""
    out = _host.rows(batch, _host.vector(perm, "perm"))
    if getattr(batch, "_count", None) is not None:
        out._count = batch._count
    return out


def pool_pos(cluster: Tensor, pos: Tensor) -> Tensor:
    """The mean position of each cluster."""
    return rows_of(cluster).reduce(pos, "mean")


__all__ = ["pool_batch", "pool_edge", "pool_pos"]
