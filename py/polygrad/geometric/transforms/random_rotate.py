"""A random rotation."""

from __future__ import annotations

import math
from typing import Any

from ._attributes import needed, random_number
from .base_transform import BaseTransform
from .linear_transformation import LinearTransformation


class RandomRotate(BaseTransform):
    """Rotates the positions pos by a random angle from `degrees` (a pair, or a number for both signs) around an axis (0, 1 or 2 in space).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RandomRotate
    >>> turned = RandomRotate(180)(Data(pos=Tensor([[3.0, 4.0]]))).pos
    >>> round((turned * turned).sum().item(), 3)
    25.0
    """

    def __init__(self, degrees: Any, axis: int = 0):
        self.degrees = (-abs(degrees), abs(degrees)) if isinstance(degrees, (int, float)) else degrees
        if not isinstance(self.degrees, (tuple, list)) or len(self.degrees) != 2:
            raise ValueError(f"degrees must be a number or a pair, not {degrees!r}")
        self.axis = axis

    def forward(self, data: Any) -> Any:
        low, high = self.degrees
        angle = math.radians(low + (high - low) * random_number())
        sin, cos = math.sin(angle), math.cos(angle)
        if int(needed(data, "pos", self).shape[-1]) == 2:
            matrix = [[cos, sin], [-sin, cos]]
        elif self.axis == 0:
            matrix = [[1.0, 0.0, 0.0], [0.0, cos, sin], [0.0, -sin, cos]]
        elif self.axis == 1:
            matrix = [[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]]
        else:
            matrix = [[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]]
        return LinearTransformation(matrix)(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.degrees}, axis={self.axis})"


__all__ = ["RandomRotate"]
