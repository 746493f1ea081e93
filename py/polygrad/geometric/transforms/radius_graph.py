"""Edges to the points nearby."""

from __future__ import annotations

from typing import Any

from ._attributes import needed
from .base_transform import BaseTransform


class RadiusGraph(BaseTransform):
    """Joins each node with those whose positions pos are within the distance r (within its graph, if there is a batch), at most
    max_num_neighbors of them. See KNNGraph for the rest.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RadiusGraph
    >>> RadiusGraph(r=1.5)(Data(pos=Tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]]))).edge_index.tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, r: float, loop: bool = False, max_num_neighbors: int = 32, flow: str = "source_to_target", num_workers: int = 1):
        self.r, self.loop, self.max_num_neighbors, self.flow, self.num_workers = r, loop, max_num_neighbors, flow, num_workers

    def forward(self, data: Any) -> Any:
        from ..nn.pool import radius_graph

        pos = needed(data, "pos", self)
        data.edge_index = radius_graph(pos, self.r, data.batch, self.loop, max_num_neighbors=self.max_num_neighbors, flow=self.flow)
        data.edge_attr = None
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(r={self.r})"


__all__ = ["RadiusGraph"]
