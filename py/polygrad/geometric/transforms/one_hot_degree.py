"""Degrees as features."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import beside, edges_of, nodes_of
from .base_transform import BaseTransform


class OneHotDegree(BaseTransform):
    """Appends each node's out-degree (or in-degree), one-hot in max_degree + 1 columns, to x; replaces x with cat=False.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import OneHotDegree
    >>> OneHotDegree(2)(Data(edge_index=Tensor([[0, 0], [1, 0]]), num_nodes=2)).x.tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    def __init__(self, max_degree: int, in_degree: bool = False, cat: bool = True):
        self.max_degree, self.in_degree, self.cat = max_degree, in_degree, cat

    def forward(self, data: Any) -> Any:
        n = nodes_of(data, self)
        degree = _host.count(edges_of(data, self)[1 if self.in_degree else 0], n)
        if n and int(degree.max()) > self.max_degree:
            raise ValueError(f"node {int(degree.argmax())} has the degree {int(degree.max())}, more than max_degree={self.max_degree}")
        data.x = beside(data.x if self.cat else None, np.eye(self.max_degree + 1, dtype=np.float32)[degree])
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.max_degree})"


__all__ = ["OneHotDegree"]
