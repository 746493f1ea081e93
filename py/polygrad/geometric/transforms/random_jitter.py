"""A little noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from .base_transform import BaseTransform


class RandomJitter(BaseTransform):
    """Moves each position of pos by random amounts up to translate, a number or one for each axis, either way.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RandomJitter
    >>> moved = RandomJitter(0.1)(Data(pos=Tensor.zeros(4, 2))).pos
    >>> bool((moved.abs() <= 0.1).all().item())
    True
    """

    def __init__(self, translate: Any):
        self.translate = translate

    def forward(self, data: Any) -> Any:
        pos = to_array(needed(data, "pos", self))
        amount = np.broadcast_to(np.abs(np.asarray(self.translate, np.float64)), pos.shape[-1:])
        data.pos = _host.tensor((pos + _host.generator().uniform(-1.0, 1.0, pos.shape) * amount).astype(pos.dtype))
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.translate})"


__all__ = ["RandomJitter"]
