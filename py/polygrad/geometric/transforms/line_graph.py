"""Edges become nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host, coalesce
from ._attributes import edges_of, nodes_of, to_array
from .base_transform import BaseTransform


class LineGraph(BaseTransform):
    r"""The line graph: a node for each edge, with edge_attr as features x. In a directed graph (u, v) leads to (v, w); in an undirected one
    edges that share a node are joined both ways. force_directed: takes an undirected graph as a directed one.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import LineGraph
    >>> LineGraph()(Data(edge_index=Tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3)).edge_index.tolist()
    [[0, 1, 2], [1, 2, 0]]
    """

    def __init__(self, force_directed: bool = False):
        self.force_directed = force_directed

    def forward(self, data: Any) -> Any:
        edges_of(data, self)
        n = nodes_of(data, self)
        directed = self.force_directed or data.is_directed()
        index, attr = coalesce(data.edge_index, data.edge_attr, num_nodes=n)
        row, col = e = _host.edges(index)
        if directed:
            ptr = _host.starts(_host.count(row, n))
            pairs = neighbour_pairs(np.arange(row.size), ptr[col], ptr[col + 1] - ptr[col])
            data.x, count = attr, row.size
        else:
            proper = row != col
            attr = None if attr is None else to_array(attr)[proper]
            row, col = row[proper], col[proper]
            low, high = np.minimum(row, col).astype(np.int64), np.maximum(row, col)
            number = np.unique(low * n + high, return_inverse=True)[1].reshape(-1)  # of the undirected edge, in the order of (low, high)
            ptr = _host.starts(_host.count(row, n))
            place = neighbour_pairs(np.arange(row.size), ptr[row], ptr[row + 1] - ptr[row])
            pairs = number[place]
            pairs = pairs[:, pairs[0] != pairs[1]]
            count = row.size // 2
            pairs = coalesce(_host.tensor(pairs), num_nodes=count).numpy()
            if attr is not None:
                x = np.zeros((count, *attr.shape[1:]), attr.dtype)
                np.add.at(x, number, attr)
                data.x = _host.tensor(x)
            count = e.shape[1] // 2
        data.edge_index, data.edge_attr, data.num_nodes = _host.tensor(pairs.astype(e.dtype)), None, count
        return data


def neighbour_pairs(items: np.ndarray, begin: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Each item beside begin, begin + 1 ... of its own, `counts` of them."""
    total = int(counts.sum())
    first = np.repeat(_host.starts(counts)[:-1], counts)
    return np.stack([np.repeat(items, counts), np.arange(total) - first + np.repeat(begin, counts)])


__all__ = ["LineGraph", "neighbour_pairs"]
