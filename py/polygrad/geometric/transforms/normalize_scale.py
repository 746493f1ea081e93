"""Positions between -1 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from .base_transform import BaseTransform
from .center import Center


class NormalizeScale(BaseTransform):
    """Centers the positions pos and scales them into (-1, 1).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import NormalizeScale
    >>> [round(v, 4) for (v,) in NormalizeScale()(Data(pos=Tensor([[0.0], [6.0]]))).pos.tolist()]
    [-1.0, 1.0]
    """

    def __init__(self) -> None:
        self.center = Center()

    def forward(self, data: Any) -> Any:
        needed(data, "pos", self)
        data = self.center(data)
        pos = to_array(data.pos)
        with np.errstate(divide="ignore", invalid="ignore"):
            data.pos = _host.tensor((pos * (1.0 / np.abs(pos).max(initial=0) * 0.999999)).astype(pos.dtype))
        return data


__all__ = ["NormalizeScale"]
