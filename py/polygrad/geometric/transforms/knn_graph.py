"""Edges to the nearest points."""

from __future__ import annotations

from typing import Any

from ..utils import to_undirected
from ._attributes import needed
from .base_transform import BaseTransform


class KNNGraph(BaseTransform):
    """Joins each node with the k nodes whose positions pos are nearest (within its graph, if there is a batch).

    loop: a node may be its own neighbour. force_undirected: edges in both directions. flow: 'source_to_target' leads from the neighbours
    to the node. cosine: by angle instead of distance.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import KNNGraph
    >>> KNNGraph(k=1)(Data(pos=Tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]]))).edge_index.tolist()
    [[1, 0, 1], [0, 1, 2]]
    """

    def __init__(
        self,
        k: int = 6,
        loop: bool = False,
        force_undirected: bool = False,
        flow: str = "source_to_target",
        cosine: bool = False,
        num_workers: int = 1,
    ):
        self.k, self.loop, self.force_undirected, self.flow, self.cosine, self.num_workers = k, loop, force_undirected, flow, cosine, num_workers

    def forward(self, data: Any) -> Any:
        from ..nn.pool import knn_graph

        index = knn_graph(needed(data, "pos", self), self.k, data.batch, loop=self.loop, flow=self.flow, cosine=self.cosine)
        data.edge_index = to_undirected(index, num_nodes=data.num_nodes) if self.force_undirected else index
        data.edge_attr = None
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k})"


__all__ = ["KNNGraph"]
