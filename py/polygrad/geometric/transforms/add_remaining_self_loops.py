"""Self loops where there are none."""

from __future__ import annotations

from typing import Any

from ..utils import add_remaining_self_loops
from .base_transform import BaseTransform


class AddRemainingSelfLoops(BaseTransform):
    """Adds an edge from every node to itself where there is none.

    attr: the name of the edge attribute that goes along. fill_value: its value on new edges: a number, a tensor, or a reduction over the
    edges into the node ('add', 'mean', 'min', 'max', 'mul'). Edges between two types of nodes are left alone.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import AddRemainingSelfLoops
    >>> AddRemainingSelfLoops()(Data(edge_index=Tensor([[0, 0], [0, 1]]), num_nodes=2)).edge_index.tolist()
    [[0, 0, 1], [1, 0, 1]]
    """

    def __init__(self, attr: str = "edge_weight", fill_value: Any = 1.0):
        self.attr, self.fill_value = attr, fill_value

    def forward(self, data: Any) -> Any:
        for store in data.edge_stores:
            if not store.is_bipartite() and "edge_index" in store:
                store.edge_index, store[self.attr] = add_remaining_self_loops(store.edge_index, store.get(self.attr), self.fill_value, store.size(0))
        return data


__all__ = ["AddRemainingSelfLoops"]
