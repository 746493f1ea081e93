"""Every edge once."""

from __future__ import annotations

from typing import Any

from ..utils import coalesce
from .base_transform import BaseTransform


class RemoveDuplicatedEdges(BaseTransform):
    """Merges edges that occur several times, and sorts them. key: names of the edge attributes that go along (edge_attr and edge_weight if
    not given), combined by `reduce`.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RemoveDuplicatedEdges
    >>> data = Data(edge_index=Tensor([[0, 0, 1], [1, 1, 0]]), edge_weight=Tensor([1.0, 2.0, 3.0]), num_nodes=2)
    >>> data = RemoveDuplicatedEdges()(data)
    >>> data.edge_index.tolist(), data.edge_weight.tolist()
    ([[0, 1], [1, 0]], [3.0, 3.0])
    """

    def __init__(self, key: str | list[str] | None = None, reduce: str = "add"):
        self.keys = [key] if isinstance(key, str) else key or ["edge_attr", "edge_weight"]
        self.reduce = reduce

    def forward(self, data: Any) -> Any:
        for store in data.edge_stores:
            keys = [key for key in self.keys if key in store]
            sizes = [int(s) for s in store.size() if s is not None]
            store.edge_index, values = coalesce(store.edge_index, [store[key] for key in keys], max(sizes, default=None), self.reduce)
            for key, value in zip(keys, values):
                store[key] = value
        return data


__all__ = ["RemoveDuplicatedEdges"]
