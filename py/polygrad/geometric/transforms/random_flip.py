"""A mirror, perhaps."""

from __future__ import annotations

from typing import Any

from ..utils import _host
from ._attributes import needed, random_number, to_array
from .base_transform import BaseTransform


class RandomFlip(BaseTransform):
    """Mirrors the positions pos along an axis with probability p.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RandomFlip
    >>> RandomFlip(0, p=1.0)(Data(pos=Tensor([[1.0, 2.0]]))).pos.tolist()
    [[-1.0, 2.0]]
    """

    def __init__(self, axis: int, p: float = 0.5):
        self.axis, self.p = axis, p

    def forward(self, data: Any) -> Any:
        pos = to_array(needed(data, "pos", self)).copy()
        if random_number() < self.p:
            pos[..., self.axis] *= -1
            data.pos = _host.tensor(pos)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(axis={self.axis}, p={self.p})"


__all__ = ["RandomFlip"]
