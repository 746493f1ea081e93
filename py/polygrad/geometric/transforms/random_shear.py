"""A random shear."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed
from .base_transform import BaseTransform
from .linear_transformation import LinearTransformation


class RandomShear(BaseTransform):
    """Shears the positions pos by random factors between -shear and shear.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RandomShear
    >>> RandomShear(0.0)(Data(pos=Tensor([[1.0, 3.0]]))).pos.tolist()
    [[1.0, 3.0]]
    """

    def __init__(self, shear: float):
        self.shear = abs(shear)

    def forward(self, data: Any) -> Any:
        dim = int(needed(data, "pos", self).shape[-1])
        matrix = _host.generator().uniform(-self.shear, self.shear, (dim, dim))
        np.fill_diagonal(matrix, 1.0)
        return LinearTransformation(matrix)(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shear})"


__all__ = ["RandomShear"]
