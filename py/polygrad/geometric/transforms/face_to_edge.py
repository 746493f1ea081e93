"""The edges of a mesh."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host, to_undirected
from ._attributes import to_array
from .base_transform import BaseTransform


class FaceToEdge(BaseTransform):
    """Makes edge_index of the faces, triangles [3, F] or tetrahedra [4, F]; remove_faces drops face.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import FaceToEdge
    >>> FaceToEdge()(Data(face=Tensor([[0], [1], [2]]), num_nodes=3)).edge_index.tolist()
    [[0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]]
    """

    def __init__(self, remove_faces: bool = True):
        self.remove_faces = remove_faces

    def forward(self, data: Any) -> Any:
        if getattr(data, "face", None) is None:
            return data
        face = to_array(data.face)
        if face.shape[0] not in (3, 4):
            raise RuntimeError(f"Expected 'face' tensor with shape [3, num_faces] or [4, num_faces], not {list(face.shape)}")
        pairs = [(0, 1), (1, 2), (0, 2)] if face.shape[0] == 3 else [(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 3)]
        index = np.concatenate([face[[a, b]] for a, b in pairs], axis=1)
        data.edge_index = to_undirected(_host.tensor(index), num_nodes=data.num_nodes)
        if self.remove_faces:
            data.face = None
        return data


__all__ = ["FaceToEdge"]
