"""Normals of a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from ._positions import length_of
from .base_transform import BaseTransform


class GenerateMeshNormals(BaseTransform):
    """Sets norm to the normals of the nodes of a mesh: the mean direction of those of their faces.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import GenerateMeshNormals
    >>> data = Data(pos=Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), face=Tensor([[0], [1], [2]]))
    >>> GenerateMeshNormals()(data).norm.tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """

    def forward(self, data: Any) -> Any:
        pos, face = to_array(needed(data, "pos", self)), to_array(needed(data, "face", self))
        normal = _unit(np.cross(pos[face[1]] - pos[face[0]], pos[face[2]] - pos[face[0]]))
        out = np.zeros(pos.shape, np.float64)
        np.add.at(out, face.reshape(-1), np.tile(normal, (3, 1)))
        data.norm = _host.tensor(_unit(out).astype(pos.dtype))
        return data


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.maximum(length_of(v), 1e-12)[:, None]


__all__ = ["GenerateMeshNormals"]
