"""Features that add up to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import to_array
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
                a = to_array(value)
                if a.size:
                    a = a - a.min()
                    store[key] = _host.tensor(a / np.maximum(a.sum(-1, keepdims=True), 1).astype(a.dtype if a.dtype.kind == "f" else np.float32))
        return data


__all__ = ["NormalizeFeatures"]
