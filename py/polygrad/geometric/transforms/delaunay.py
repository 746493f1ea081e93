"""Triangles between points."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from .base_transform import BaseTransform


class Delaunay(BaseTransform):
    """Sets face to the Delaunay triangulation of the positions pos in the plane [N, 2]. Needs scipy for more than three points.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Delaunay
    >>> Delaunay()(Data(pos=Tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))).face.tolist()
    [[0], [1], [2]]
    """

    def forward(self, data: Any) -> Any:
        pos = to_array(needed(data, "pos", self))
        n = pos.shape[0]
        if n > 3:
            face = _host.library("scipy.spatial", "Delaunay").Delaunay(pos, qhull_options="QJ").simplices.T
            data.face = _host.tensor(face.astype(np.int64))
        elif n == 3:
            data.face = _host.tensor(np.array([[0], [1], [2]]))
        elif n == 2:
            data.edge_index = _host.tensor(np.array([[0, 1], [1, 0]]))
        else:
            data.edge_index = _host.tensor(np.zeros((2, 0), np.int64))
        return data


__all__ = ["Delaunay"]
