"""Lengths of edges."""

from __future__ import annotations

from typing import Any

from ._positions import end_tensors, set_edge_attr
from .base_transform import BaseTransform


class Distance(BaseTransform):
    """Sets edge_attr to the distance between the ends of each edge.

    norm: scaled by the largest one (or by max_value) into `interval`. cat: after the edge_attr that is there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Distance
    >>> Distance(norm=False)(Data(pos=Tensor([[0.0, 0.0], [3.0, 4.0]]), edge_index=Tensor([[0], [1]]))).edge_attr.tolist()
    [[5.0]]
    """

    def __init__(self, norm: bool = True, max_value: float | None = None, cat: bool = True, interval: tuple[float, float] = (0.0, 1.0)):
        self.norm, self.max, self.cat, self.interval = norm, max_value, cat, interval

    def forward(self, data: Any) -> Any:
        row, col, pos = end_tensors(data, self)
        length = (pos[col] - pos[row]).square().sum(-1).sqrt().reshape(-1, 1)
        if self.norm and length.shape[0]:
            low, high = self.interval
            length = (high - low) * (length / (length.max() if self.max is None else self.max)) + low
        return set_edge_attr(data, length.realize(), self.cat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(norm={self.norm}, max_value={self.max})"


__all__ = ["Distance"]
