"""Positions times a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import to_array
from .base_transform import BaseTransform


class LinearTransformation(BaseTransform):
    """Applies a square matrix [D, D] to the positions pos.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import LinearTransformation
    >>> LinearTransformation([[0.0, 1.0], [2.0, 0.0]])(Data(pos=Tensor([[1.0, 3.0]]))).pos.tolist()
    [[3.0, 2.0]]
    """

    def __init__(self, matrix: Any):
        a = to_array(matrix)
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError(f"a transformation matrix is square, not {list(a.shape)}")
        self.matrix = np.array(a.T, np.float32 if a.dtype.kind != "f" else a.dtype)

    def forward(self, data: Any) -> Any:
        for store in data.node_stores:
            if not hasattr(store, "pos"):
                continue
            pos = to_array(store.pos)
            pos = pos.reshape(-1, 1) if pos.ndim == 1 else pos
            if pos.shape[-1] != self.matrix.shape[0]:
                raise ValueError(f"positions of shape {list(pos.shape)} do not fit a transformation matrix of shape {list(self.matrix.shape)}")
            store.pos = _host.tensor(pos @ self.matrix.astype(pos.dtype))
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n{self.matrix}\n)"


__all__ = ["LinearTransformation"]
