"""Positions around the origin."""

from __future__ import annotations

from typing import Any

from ..utils import _host
from ._attributes import to_array
from .base_transform import BaseTransform


class Center(BaseTransform):
    """Subtracts the mean of the positions pos.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Center
    >>> Center()(Data(pos=Tensor([[0.0], [2.0]]))).pos.tolist()
    [[-1.0], [1.0]]
    """

    def forward(self, data: Any) -> Any:
        for store in data.node_stores:
            if hasattr(store, "pos"):
                pos = to_array(store.pos)
                store.pos = _host.tensor(pos - pos.mean(-2, keepdims=True))
        return data


__all__ = ["Center"]
