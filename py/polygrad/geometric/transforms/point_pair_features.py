"""Angles between surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._attributes import needed, to_array
from ._positions import ends, length_of, set_edge_attr
from .base_transform import BaseTransform


class PointPairFeatures(BaseTransform):
    r"""Sets edge_attr to the rotation-invariant features of each edge: its length, its angles to the normals data.norm of both ends, and the
    angle between these: :math:`(\|d\|, \angle(n_i, d), \angle(n_j, d), \angle(n_i, n_j))`. cat: after the edge_attr that is there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import PointPairFeatures
    >>> data = Data(pos=Tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), norm=Tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), edge_index=Tensor([[0], [1]]))
    >>> [round(v, 4) for v in PointPairFeatures()(data).edge_attr[0].tolist()]
    [2.0, 1.5708, 1.5708, 0.0]
    """

    def __init__(self, cat: bool = True):
        self.cat = cat

    def forward(self, data: Any) -> Any:
        row, col, pos = ends(data, self)
        normal = to_array(needed(data, "norm", self))
        if pos.shape[-1] != 3 or pos.shape != normal.shape:
            raise ValueError(f"PointPairFeatures needs positions and normals [N, 3], not {list(pos.shape)} and {list(normal.shape)}")
        away, ni, nj = pos[col] - pos[row], normal[row], normal[col]
        angles = [np.arctan2(length_of(np.cross(a, b)), (a * b).sum(1)) for a, b in ((ni, away), (nj, away), (ni, nj))]
        return set_edge_attr(data, np.stack([length_of(away), *angles], axis=1).astype(pos.dtype), self.cat)


__all__ = ["PointPairFeatures"]
