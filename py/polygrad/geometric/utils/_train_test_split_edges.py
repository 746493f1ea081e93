"""Edges for training, validation and test."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from . import _host
from ._negative_sampling import negative_sampling
from .undirected import to_undirected


def train_test_split_edges(data: Any, val_ratio: float = 0.05, test_ratio: float = 0.1) -> Any:
    """Splits the edges of an undirected graph into positive and negative edges for validation and test, and the rest for training.

    Deprecated: use transforms.RandomLinkSplit. Sets train_pos_edge_index, val_pos_edge_index, val_neg_edge_index, test_pos_edge_index,
    test_neg_edge_index, the same with ..._edge_attr, and train_neg_adj_mask; edge_index and edge_attr go.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.utils import train_test_split_edges
    >>> ring = Tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    >>> data = train_test_split_edges(Data(edge_index=ring, num_nodes=4), val_ratio=0.25, test_ratio=0.25)
    >>> data.val_pos_edge_index.shape, data.train_pos_edge_index.shape
    ((2, 1), (2, 4))
    """
    warnings.warn("'train_test_split_edges' is deprecated, use 'transforms.RandomLinkSplit' instead", stacklevel=2)
    n = int(data.num_nodes)
    e, attr = _host.edges(data.edge_index), data.edge_attr
    data.edge_index = data.edge_attr = None
    upper = np.flatnonzero(e[0] < e[1])
    n_val, n_test = int(val_ratio * upper.size), int(test_ratio * upper.size)
    order = upper[_host.generator().permutation(upper.size)]
    for name, part in (("val", order[:n_val]), ("test", order[n_val : n_val + n_test])):
        data[f"{name}_pos_edge_index"] = _host.tensor(e[:, part])
        if attr is not None:
            data[f"{name}_pos_edge_attr"] = _host.rows(attr, part)
    rest = order[n_val + n_test :]
    train = _host.tensor(e[:, rest])
    if attr is None:
        data.train_pos_edge_index = to_undirected(train, num_nodes=n)
    else:
        data.train_pos_edge_index, data.train_pos_edge_attr = to_undirected(train, _host.rows(attr, rest), num_nodes=n)
    negative = negative_sampling(_host.tensor(e), n, 2 * (n_val + n_test), force_undirected=True).numpy()
    negative = negative[:, : negative.shape[1] // 2]
    free = np.triu(np.ones((n, n), np.bool_), 1)
    free[tuple(e[:, order])] = False
    free[tuple(negative)] = False
    data.train_neg_adj_mask = _host.tensor(free)
    data.val_neg_edge_index = _host.tensor(negative[:, :n_val])
    data.test_neg_edge_index = _host.tensor(negative[:, n_val : n_val + n_test])
    return data


__all__ = ["train_test_split_edges"]
