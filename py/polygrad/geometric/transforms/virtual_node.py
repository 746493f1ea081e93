"""A node that is joined with all others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..utils import _host
from ._attributes import append, edges_of, nodes_of, to_array
from .base_transform import BaseTransform


class VirtualNode(BaseTransform):
    """Adds a node that has edges from and to all others. edge_type tells them: with types 0 ... m so far, edges to the new node have the type
    m + 1, edges from it m + 2. Its features, and those of its edges, are 0 (edge_weight 1).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import VirtualNode
    >>> data = VirtualNode()(Data(x=Tensor([[5.0], [6.0]]), edge_index=Tensor([[0], [1]])))
    >>> data.edge_index.tolist(), data.edge_type.tolist(), data.x.tolist()
    ([[0, 0, 1, 2, 2], [1, 2, 2, 0, 1]], [0, 1, 1, 2, 2], [[5.0], [6.0], [0.0]])
    """

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        kinds = to_array(data.edge_type) if "edge_type" in data else np.zeros(e.shape[1], e.dtype)
        nodes, new = np.arange(n, dtype=e.dtype), np.full(n, n, e.dtype)
        added: dict[str, tuple[int, float]] = {}
        for key, value in data.items():
            if key in ("edge_index", "edge_type") or not isinstance(value, Tensor) or not value.ndim:
                continue
            if key == "edge_weight":
                added[key] = 2 * n, 1.0
            elif key == "batch":
                added[key] = 1, int(to_array(value)[0])
            elif data.is_edge_attr(key):
                added[key] = 2 * n, 0.0
            elif data.is_node_attr(key):
                added[key] = 1, 0.0
        for key, (more, fill) in added.items():
            data[key] = append(data[key], more, data.__cat_dim__(key, data[key]), fill)
        data.edge_index = _host.tensor(np.concatenate([e, np.stack([nodes, new]), np.stack([new, nodes])], axis=1))
        top = np.full(n, int(kinds.max(initial=0)) + 1, kinds.dtype)
        data.edge_type = _host.tensor(np.concatenate([kinds, top, top + 1]))
        if "num_nodes" in data:
            data.num_nodes = n + 1
        return data


__all__ = ["VirtualNode"]
