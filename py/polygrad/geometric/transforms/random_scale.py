"""A random size."""

from __future__ import annotations

from typing import Any

from ..utils import _host
from ._attributes import needed, random_number, to_array
from .base_transform import BaseTransform


class RandomScale(BaseTransform):
    """Multiplies the positions pos by a random factor between scales[0] and scales[1].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RandomScale
    >>> RandomScale((2.0, 2.0))(Data(pos=Tensor([[1.0, 3.0]]))).pos.tolist()
    [[2.0, 6.0]]
    """

    def __init__(self, scales: tuple[float, float]):
        if not isinstance(scales, (tuple, list)) or len(scales) != 2:
            raise ValueError(f"scales must be a pair, not {scales!r}")
        self.scales = scales

    def forward(self, data: Any) -> Any:
        low, high = self.scales
        pos = to_array(needed(data, "pos", self))
        data.pos = _host.tensor((pos * (low + (high - low) * random_number())).astype(pos.dtype))
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.scales})"


__all__ = ["RandomScale"]
