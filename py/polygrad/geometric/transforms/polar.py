"""Polar coordinates of edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._positions import ends, length_of, set_edge_attr
from .base_transform import BaseTransform


class Polar(BaseTransform):
    """Sets edge_attr to length and angle of each edge in the plane. norm: lengths are divided by the largest (or by max_value), angles by a
    full turn. cat: after the edge_attr that is there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Polar
    >>> data = Data(pos=Tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]]), edge_index=Tensor([[0, 1], [1, 2]]))
    >>> Polar(norm=False)(data).edge_attr.shape
    (2, 2)
    """

    def __init__(self, norm: bool = True, max_value: float | None = None, cat: bool = True):
        self.norm, self.max, self.cat = norm, max_value, cat

    def forward(self, data: Any) -> Any:
        row, col, pos = ends(data, self)
        if pos.ndim != 2 or pos.shape[1] != 2:
            raise ValueError(f"Polar needs positions [N, 2], not {list(pos.shape)}")
        away = pos[col] - pos[row]
        rho, theta = length_of(away), np.arctan2(away[:, 1], away[:, 0])
        theta = theta + (theta < 0) * (2 * math.pi)
        if self.norm:
            rho = rho / (rho.max(initial=0) if self.max is None else self.max)
            theta = theta / (2 * math.pi)
        return set_edge_attr(data, np.stack([rho, theta], axis=-1).astype(pos.dtype), self.cat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(norm={self.norm}, max_value={self.max})"


__all__ = ["Polar"]
