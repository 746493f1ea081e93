"""Fewer features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from .base_transform import BaseTransform


class SVDFeatureReduction(BaseTransform):
    """Reduces x to out_channels columns: its first singular vectors, times the singular values. Narrower features stay as they are.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import SVDFeatureReduction
    >>> SVDFeatureReduction(2)(Data(x=Tensor.rand(5, 3))).x.shape
    (5, 2)
    """

    def __init__(self, out_channels: int):
        self.out_channels = out_channels

    def forward(self, data: Any) -> Any:
        x = to_array(needed(data, "x", self))
        if x.shape[-1] > self.out_channels:
            u, s, _ = np.linalg.svd(x, full_matrices=False)
            data.x = _host.tensor(u[:, : self.out_channels] * s[: self.out_channels])
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_channels})"


__all__ = ["SVDFeatureReduction"]
