"""Points on a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from ._positions import length_of
from .base_transform import BaseTransform


class SamplePoints(BaseTransform):
    """Replaces the nodes of a mesh by num points on its faces, spread evenly. include_normals sets normal; remove_faces drops face.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import SamplePoints
    >>> data = Data(pos=Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), face=Tensor([[0], [1], [2]]))
    >>> SamplePoints(16, include_normals=True)(data).normal.shape
    (16, 3)
    """

    def __init__(self, num: int, remove_faces: bool = True, include_normals: bool = False):
        self.num, self.remove_faces, self.include_normals = num, remove_faces, include_normals

    def forward(self, data: Any) -> Any:
        pos, face = to_array(needed(data, "pos", self)), to_array(needed(data, "face", self))
        if pos.shape[1] != 3 or face.shape[0] != 3:
            raise ValueError(f"SamplePoints needs positions [N, 3] and faces [3, F], not {list(pos.shape)} and {list(face.shape)}")
        rng = _host.generator()
        area = length_of(np.cross(pos[face[1]] - pos[face[0]], pos[face[2]] - pos[face[0]])).astype(np.float64)
        chosen = face[:, rng.choice(face.shape[1], self.num, p=area / area.sum())]
        first = pos[chosen[0]]
        one, two = pos[chosen[1]] - first, pos[chosen[2]] - first
        part = rng.random((self.num, 2))
        part = np.where(part.sum(1, keepdims=True) > 1, 1 - part, part)  # the other half of the parallelogram folds back
        data.pos = _host.tensor((first + part[:, :1] * one + part[:, 1:] * two).astype(pos.dtype))
        if self.include_normals:
            normal = np.cross(one, two)
            data.normal = _host.tensor((normal / np.maximum(length_of(normal), 1e-12)[:, None]).astype(pos.dtype))
        if self.remove_faces:
            data.face = None
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num})"


__all__ = ["SamplePoints"]
