"""Relative positions, scaled at each node."""

from __future__ import annotations

from typing import Any

from ..utils import scatter
from ._positions import end_tensors, set_edge_attr
from .base_transform import BaseTransform


class LocalCartesian(BaseTransform):
    """Like Cartesian, but scaled by the largest entry among the edges into the same node.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import LocalCartesian
    >>> data = Data(pos=Tensor([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]]), edge_index=Tensor([[0, 1], [1, 2]]))
    >>> LocalCartesian()(data).edge_attr.tolist()
    [[0.0, 0.5], [0.25, 0.0]]
    """

    def __init__(self, norm: bool = True, cat: bool = True, interval: tuple[float, float] = (0.0, 1.0)):
        self.norm, self.cat, self.interval = norm, cat, interval

    def forward(self, data: Any) -> Any:
        row, col, pos = end_tensors(data, self)
        away = pos[row] - pos[col]
        away = away.reshape(-1, 1) if away.ndim == 1 else away
        if self.norm and away.numel():
            top = scatter(away.abs().amax(-1), col, 0, int(pos.shape[0]), "max")[col].reshape(-1, 1)
            low, high = self.interval
            away = (high - low) * away / (2 * top) + (low + high) / 2
        return set_edge_attr(data, away.realize(), self.cat)


__all__ = ["LocalCartesian"]
