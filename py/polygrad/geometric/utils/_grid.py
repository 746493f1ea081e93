"""Grids."""

from __future__ import annotations

import numpy as np

from ...dtypes import DTypeLike, dtypes
from ...tensor import Tensor
from . import _host


def grid(height: int, width: int, dtype: DTypeLike | None = None, device: str | None = None) -> tuple[Tensor, Tensor]:
    """The edges of a grid of height x width nodes, each joined with its up to eight neighbours and itself, and the places of the nodes.

    >>> edge_index, pos = grid(2, 2)
    >>> edge_index.shape, pos.tolist()
    ((2, 16), [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    """
    y, x = (a.reshape(-1) for a in np.mgrid[:height, :width])
    steps = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)])
    to_y, to_x = y[:, None] + steps[:, 0], x[:, None] + steps[:, 1]
    inside = (to_y >= 0) & (to_y < height) & (to_x >= 0) & (to_x < width)
    index = np.stack([np.nonzero(inside)[0], (to_y * width + to_x)[inside]])
    pos = np.stack([x, height - 1 - y], axis=1).astype(np.float64)
    return _host.tensor(index.astype(np.int64)), Tensor(pos, dtype=dtypes.float32 if dtype is None else dtype)


__all__ = ["grid"]
