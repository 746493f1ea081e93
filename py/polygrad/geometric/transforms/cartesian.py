"""Relative positions."""

from __future__ import annotations

from typing import Any

from ._positions import end_tensors, set_edge_attr
from .base_transform import BaseTransform


class Cartesian(BaseTransform):
    r"""Sets edge_attr to the relative positions :math:`p_j - p_i` of the edges' ends (source minus destination).

    norm: scaled by the largest entry (or by max_value) into `interval`. cat: after the edge_attr that is there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Cartesian
    >>> Cartesian()(Data(pos=Tensor([[0.0, 0.0], [2.0, 1.0]]), edge_index=Tensor([[0, 1], [1, 0]]))).edge_attr.tolist()
    [[0.0, 0.25], [1.0, 0.75]]
    """

    def __init__(self, norm: bool = True, max_value: float | None = None, cat: bool = True, interval: tuple[float, float] = (0.0, 1.0)):
        self.norm, self.max, self.cat, self.interval = norm, max_value, cat, interval

    def forward(self, data: Any) -> Any:
        row, col, pos = end_tensors(data, self)
        away = pos[row] - pos[col]
        away = away.reshape(-1, 1) if away.ndim == 1 else away
        if self.norm and away.numel():
            low, high = self.interval
            away = (high - low) * away / (2 * (away.abs().max() if self.max is None else self.max)) + (low + high) / 2
        return set_edge_attr(data, away.realize(), self.cat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(norm={self.norm}, max_value={self.max})"


__all__ = ["Cartesian"]
