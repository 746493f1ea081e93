"""No self loops."""

from __future__ import annotations

from typing import Any

from ..utils import remove_self_loops
from .base_transform import BaseTransform


class RemoveSelfLoops(BaseTransform):
    """Removes the edges from a node to itself, and their entries of the edge attribute `attr`.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RemoveSelfLoops
    >>> RemoveSelfLoops()(Data(edge_index=Tensor([[0, 0, 1], [0, 1, 1]]), num_nodes=2)).edge_index.tolist()
    [[0], [1]]
    """

    def __init__(self, attr: str = "edge_weight"):
        self.attr = attr

    def forward(self, data: Any) -> Any:
        for store in data.edge_stores:
            if not store.is_bipartite() and "edge_index" in store:
                store.edge_index, store[self.attr] = remove_self_loops(store.edge_index, store.get(self.attr))
        return data


__all__ = ["RemoveSelfLoops"]
