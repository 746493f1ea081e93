"""Spherical coordinates of edges."""

from __future__ import annotations

import math
from typing import Any

from ...tensor import Tensor
from ._positions import end_tensors, set_edge_attr
from .base_transform import BaseTransform


class Spherical(BaseTransform):
    """Sets edge_attr to length and the two angles of each edge in space. norm: lengths are divided by the largest (or by max_value), angles by
    a full and a half turn. cat: after the edge_attr that is there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Spherical
    >>> data = Data(pos=Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), edge_index=Tensor([[0], [1]]))
    >>> Spherical()(data).edge_attr.tolist()
    [[1.0, 0.0, 0.5]]
    """

    def __init__(self, norm: bool = True, max_value: float | None = None, cat: bool = True):
        self.norm, self.max, self.cat = norm, max_value, cat

    def forward(self, data: Any) -> Any:
        row, col, pos = end_tensors(data, self)
        if pos.ndim != 2 or pos.shape[1] != 3:
            raise ValueError(f"Spherical needs positions [N, 3], not {list(pos.shape)}")
        away = pos[col] - pos[row]
        rho, theta = away.square().sum(-1).sqrt(), away[:, 1].atan2(away[:, 0])
        theta, phi = theta + (theta < 0).cast(theta.dtype) * (2 * math.pi), (away[:, 2] / rho).acos()
        if self.norm and rho.numel():
            rho = rho / (rho.max() if self.max is None else self.max)
            theta, phi = theta / (2 * math.pi), phi / math.pi
        return set_edge_attr(data, Tensor.stack(rho, theta, phi, dim=-1).realize(), self.cat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(norm={self.norm}, max_value={self.max})"


__all__ = ["Spherical"]
