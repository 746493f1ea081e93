"""A dense adjacency matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..utils import _host
from ._attributes import append, edges_of, nodes_of, to_array
from .base_transform import BaseTransform


class ToDense(BaseTransform):
    """Replaces edge_index (and edge_attr) by the adjacency matrix adj, filled up to num_nodes nodes; mask says which nodes are real.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import ToDense
    >>> data = ToDense(num_nodes=3)(Data(x=Tensor.ones(2, 1), edge_index=Tensor([[0], [1]])))
    >>> data.adj.tolist(), data.mask.tolist()
    ([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [True, True, False])
    """

    def __init__(self, num_nodes: int | None = None):
        self.num_nodes = num_nodes

    def forward(self, data: Any) -> Any:
        e, real = edges_of(data, self), nodes_of(data, self)
        n = real if self.num_nodes is None else self.num_nodes
        if n < real:
            raise ValueError(f"ToDense(num_nodes={n}) is too small for a graph of {real} nodes")
        attr = np.ones(e.shape[1], np.float32) if data.edge_attr is None else to_array(data.edge_attr)
        adj = np.zeros((n, n, *attr.shape[1:]), attr.dtype)
        np.add.at(adj, (e[0], e[1]), attr)
        for key in ("x", "pos", "y"):
            value = data.get(key)
            if isinstance(value, Tensor) and value.ndim and int(value.shape[0]) == real:
                data[key] = append(value, n - real, 0, 0)
        data.edge_index = data.edge_attr = None
        data.adj, data.mask = _host.tensor(adj), _host.tensor(np.arange(n) < real)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}()" if self.num_nodes is None else f"{type(self).__name__}(num_nodes={self.num_nodes})"


__all__ = ["ToDense"]
