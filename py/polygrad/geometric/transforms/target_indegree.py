"""In-degrees on the edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import edges_of, nodes_of
from ._positions import set_edge_attr
from .base_transform import BaseTransform


class TargetIndegree(BaseTransform):
    """Sets edge_attr to the in-degree of each edge's destination. norm: divided by the largest (or by max_value). cat: after the edge_attr that
    is there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import TargetIndegree
    >>> TargetIndegree(norm=False)(Data(edge_index=Tensor([[0, 1, 2], [2, 2, 0]]), num_nodes=3)).edge_attr.tolist()
    [[2.0], [2.0], [1.0]]
    """

    def __init__(self, norm: bool = True, max_value: float | None = None, cat: bool = True):
        self.norm, self.max, self.cat = norm, max_value, cat

    def forward(self, data: Any) -> Any:
        col = edges_of(data, self)[1]
        degree = _host.count(col, nodes_of(data, self)).astype(np.float32)
        if self.norm:
            degree = degree / (degree.max(initial=0) if self.max is None else np.float32(self.max))
        return set_edge_attr(data, degree[col].reshape(-1, 1), self.cat)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(norm={self.norm}, max_value={self.max})"


__all__ = ["TargetIndegree"]
