"""The edges between nodes that stay."""

from __future__ import annotations

import numpy as np

from .....dtypes import dtypes
from .....tensor import Tensor
from ....data._sizes import like_batch
from ....utils import _host
from ....utils.num_nodes import maybe_num_nodes
from ..select.base import SelectOutput
from .base import Connect, ConnectOutput


def filter_adj(
    edge_index: Tensor, edge_attr: Tensor | None, node_index: Tensor, cluster_index: Tensor | None = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None]:
    """The edges between the nodes of node_index, by their places there (or by cluster_index), and their attributes."""
    nodes = _host.vector(node_index, "node_index")
    place = np.full(int(maybe_num_nodes(edge_index, num_nodes)), -1, np.int64)
    place[nodes] = np.arange(nodes.size) if cluster_index is None else _host.vector(cluster_index, "cluster_index")
    number = _host.tensor(place)
    kept, stays = _host.filter_edges(edge_index, src=number, dst=number)
    return kept.cast(dtypes.int64), None if edge_attr is None else _host.maybe_rows(edge_attr, _host.read(stays))


class FilterEdges(Connect):
    """Keeps the edges whose two ends stay; each cluster is one node.

    Shapes: edge_index [2, E], edge_attr [E, D], batch [V]; out edge_index [2, E'], edge_attr [E', D], batch [C].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.pool.connect import FilterEdges
    >>> from polygrad.geometric.nn.pool.select import SelectOutput
    >>> kept = SelectOutput(Tensor([0, 2]), 3, Tensor([0, 1]), 2)
    >>> FilterEdges()(kept, Tensor([[0, 1, 2], [2, 2, 0]])).edge_index.tolist()
    [[0, 1], [1, 0]]
    """

    def forward(self, select_output: SelectOutput, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None) -> ConnectOutput:
        s = select_output
        if s.num_clusters != s.cluster_index.shape[0]:
            raise ValueError("'FilterEdges' requires each cluster to contain only one node")
        edges, attr = filter_adj(edge_index, edge_attr, s.node_index, s.cluster_index, s.num_nodes)
        if attr is None:
            edges = like_batch(edges, edge_index.shape[1], "kept_edges", 1)
        return ConnectOutput(edges, attr, self.get_pooled_batch(s, batch))


__all__ = ["FilterEdges", "filter_adj"]
