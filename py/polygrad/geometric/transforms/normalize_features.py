"""Features that add up to one."""

from __future__ import annotations

from typing import Any

from ..utils import _host
from .base_transform import BaseTransform


class NormalizeFeatures(BaseTransform):
    """Subtracts the smallest value of an attribute, then divides each row by its sum (if that is above 1).

    attrs: names of the attributes, ['x'] if not given.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import NormalizeFeatures
    >>> NormalizeFeatures()(Data(x=Tensor([[1.0, 0.0, 3.0], [0.0, 0.0, 2.0]]))).x.tolist()
    [[0.25, 0.0, 0.75], [0.0, 0.0, 1.0]]
    """

    def __init__(self, attrs: list[str] | None = None):
        self.attrs = attrs or ["x"]

    def forward(self, data: Any) -> Any:
        for store in data.stores:
            for key, value in list(store.items(*self.attrs)):
                x = _host.as_tensor(value)
                if x.numel():
                    x = x - x.min()
                    store[key] = (x / x.sum(-1, keepdim=True).maximum(1)).realize()
        return data


__all__ = ["NormalizeFeatures"]
