"""One point a cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..utils import _host
from ._attributes import needed, nodes_of, to_array
from .base_transform import BaseTransform


class GridSampling(BaseTransform):
    """Merges the points pos that lie in one cell of a grid: values become their mean, y the most frequent class.

    size: of the cells, a number or one for each axis. start, end: of the grid, the smallest and largest positions if not given.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import GridSampling
    >>> GridSampling(2.0)(Data(pos=Tensor([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]]))).pos.tolist()
    [[0.5, 0.0], [5.0, 5.0]]
    """

    def __init__(self, size: Any, start: Any = None, end: Any = None):
        self.size, self.start, self.end = size, start, end

    def forward(self, data: Any) -> Any:
        from ..nn.pool import voxel_grid

        n = nodes_of(data, self)
        cell = to_array(voxel_grid(needed(data, "pos", self), self.size, data.batch, self.start, self.end))
        cells, number = np.unique(cell, return_inverse=True)
        number = number.reshape(-1)
        counts = np.bincount(number, minlength=cells.size)
        for key, value in list(data.items()):
            if "edge" in key:
                raise ValueError(f"GridSampling does not support coarsening of edges, and the graph has {key!r}")
            if not isinstance(value, Tensor) or not value.ndim or int(value.shape[0]) != n:
                continue
            a = to_array(value)
            if key == "batch":
                merged = np.zeros(cells.size, a.dtype)
                merged[number] = a
            elif key == "y":
                votes = np.zeros((cells.size, int(a.max(initial=0)) + 1), np.int64)
                np.add.at(votes, (number, a), 1)
                merged = votes.argmax(1)
            else:
                total = np.zeros((cells.size, *a.shape[1:]), np.float64)
                np.add.at(total, number, a)
                merged = (total / counts.reshape(-1, *[1] * (a.ndim - 1))).astype(a.dtype if a.dtype.kind == "f" else np.float32)
            data[key] = _host.tensor(merged)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


__all__ = ["GridSampling"]
