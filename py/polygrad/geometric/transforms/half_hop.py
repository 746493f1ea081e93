"""Nodes in the middle of edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import edges_of, needed, nodes_of, to_array
from .base_transform import BaseTransform


class HalfHop(BaseTransform):
    """Puts a node into the middle of every edge into some nodes (each with probability p), which slows messages down.

    From "Half-Hop: A graph upsampling approach for slowing down message passing", Azabou et al., 2023. The new nodes have the features
    alpha * source + (1 - alpha) * destination, come after the others, and are marked in slow_node_mask.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import HalfHop
    >>> data = HalfHop()(Data(x=Tensor([[0.0], [2.0]]), edge_index=Tensor([[0], [1]])))
    >>> data.x.tolist(), data.slow_node_mask.tolist()
    ([[0.0], [2.0], [1.0]], [False, False, True])
    """

    def __init__(self, alpha: float = 0.5, p: float = 1.0):
        for what, value in (("Interpolation factor", alpha), ("Ratio of half-hopped edges", p)):
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{what} has to be between 0 and 1 (got {value})")
        self.alpha, self.p = alpha, p

    def forward(self, data: Any) -> Any:
        if data.edge_weight is not None or data.edge_attr is not None:
            raise ValueError("HalfHop augmentation is not supported if the graph contains 'edge_weight' or 'edge_attr'")
        x, e, n = to_array(needed(data, "x", self)), edges_of(data, self), nodes_of(data, self)
        loops = e[0] == e[1]
        slowed = (_host.generator().random(n) < self.p)[e[1]] & ~loops
        src, dst = e[:, slowed]
        middle = np.arange(n, n + src.size, dtype=e.dtype)
        index = [e[:, ~slowed & ~loops], e[:, loops], np.stack([src, middle]), np.stack([middle, dst]), np.stack([dst, middle])]
        between = (self.alpha * x[src] + (1 - self.alpha) * x[dst]).astype(x.dtype)
        data.x, data.edge_index = _host.tensor(np.concatenate([x, between])), _host.tensor(np.concatenate(index, axis=1))
        data.slow_node_mask = _host.tensor(np.arange(n + src.size) >= n)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(alpha={self.alpha}, p={self.p})"


__all__ = ["HalfHop"]
