"""The same value everywhere."""

from __future__ import annotations

from typing import Any

from ._attributes import with_constant
from .base_transform import BaseTransform


class Constant(BaseTransform):
    """Appends a column with one value to x; replaces x with cat=False. node_types: only these types of a HeteroData.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Constant
    >>> Constant(2.0)(Data(edge_index=Tensor([[0], [1]]), num_nodes=2)).x.tolist()
    [[2.0], [2.0]]
    """

    def __init__(self, value: float = 1.0, cat: bool = True, node_types: str | list[str] | None = None):
        self.value, self.cat = value, cat
        self.node_types = [node_types] if isinstance(node_types, str) else node_types

    def forward(self, data: Any) -> Any:
        for store in data.node_stores:
            if self.node_types is None or store._key in self.node_types:
                store.x = with_constant(store.get("x") if self.cat else None, int(store.num_nodes), self.value)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(value={self.value})"


__all__ = ["Constant"]
