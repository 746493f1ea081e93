"""Polar coordinates of edges."""

from __future__ import annotations

import math
from typing import Any

from ...tensor import Tensor
from ._positions import end_tensors, set_edge_attr
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
        row, col, pos = end_tensors(data, self)
        if pos.ndim != 2 or pos.shape[1] != 2:
            raise ValueError(f"Polar needs positions [N, 2], not {list(pos.shape)}")
        away = pos[col] - pos[row]
        rho, theta = away.square().sum(-1).sqrt(), away[:, 1].atan2(away[:, 0])
        theta = theta + (theta < 0).cast(theta.dtype) * (2 * math.pi)
        if self.norm and rho.numel():
            rho = rho / (rho.max() if self.max is None else self.max)
            theta = theta / (2 * math.pi)
        return set_edge_attr(data, Tensor.stack(rho, theta, dim=-1).realize(), self.cat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(norm={self.norm}, max_value={self.max})"


__all__ = ["Polar"]
