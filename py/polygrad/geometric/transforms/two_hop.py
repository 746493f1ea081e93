"""Edges to the neighbours' neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host, coalesce
from ._attributes import append, edges_of, nodes_of
from .base_transform import BaseTransform
from .line_graph import neighbour_pairs


class TwoHop(BaseTransform):
    """Adds an edge from each node to those that two edges lead to; new edges have the edge_attr 0.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import TwoHop
    >>> TwoHop()(Data(edge_index=Tensor([[0, 1], [1, 2]]), num_nodes=3)).edge_index.tolist()
    [[0, 0, 1], [1, 2, 2]]
    """

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        far = two_steps(e, e, n)
        far = far[:, far[0] != far[1]]
        attr = None if data.edge_attr is None else append(data.edge_attr, far.shape[1], 0, 0)
        data.edge_index, data.edge_attr = coalesce(_host.tensor(np.concatenate([e, far], axis=1).astype(e.dtype)), attr, n)
        return data


def two_steps(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """The pairs that an edge of a and then one of b lead to, each once, sorted. n: nodes in the middle."""
    b = b[:, np.argsort(b[0], kind="stable")]
    ptr = _host.starts(_host.count(b[0], n))
    first, second = neighbour_pairs(a[0], ptr[a[1]], ptr[a[1] + 1] - ptr[a[1]])
    return coalesce(_host.tensor(np.stack([first, b[1][second]]))).numpy()


__all__ = ["TwoHop", "two_steps"]
