"""Positions along their own axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from .base_transform import BaseTransform


class NormalizeRotation(BaseTransform):
    """Rotates the positions pos (and the normals, if there are any) along the eigenvectors of their covariance.

    max_points: the eigenvectors are those of this many random points. sort: the largest eigenvalue first.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import NormalizeRotation
    >>> data = Data(pos=Tensor([[0.0, -1.0], [0.0, 1.0], [0.5, 0.0], [-0.5, 0.0]]))
    >>> NormalizeRotation(sort=True)(data).pos.abs().tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, 0.5]]
    """

    def __init__(self, max_points: int = -1, sort: bool = False):
        self.max_points, self.sort = max_points, sort

    def forward(self, data: Any) -> Any:
        whole = pos = to_array(needed(data, "pos", self))
        if 0 < self.max_points < pos.shape[0]:
            pos = pos[_host.generator().permutation(pos.shape[0])[: self.max_points]]
        pos = pos - pos.mean(0, keepdims=True)
        values, vectors = np.linalg.eig(pos.T @ pos)
        values, vectors = np.real(values), np.real(vectors)
        if self.sort:
            vectors = vectors[:, np.argsort(-values, kind="stable")]
        data.pos = _host.tensor((whole @ vectors).astype(whole.dtype))
        if "normal" in data:
            normal = to_array(data.normal) @ vectors
            length = np.maximum(np.sqrt((normal * normal).sum(1, keepdims=True)), 1e-12)
            data.normal = _host.tensor((normal / length).astype(whole.dtype))
        return data


__all__ = ["NormalizeRotation"]
