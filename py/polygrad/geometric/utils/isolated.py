"""Nodes without edges to other nodes."""

from __future__ import annotations

import numpy as np

from ...tensor import Tensor
from . import _host
from .num_nodes import maybe_num_nodes


def _connected(e: np.ndarray, n: int) -> np.ndarray:
    """[n]: whether the node has an edge to or from another one."""
    mask = np.zeros(n, np.bool_)
    mask[e[:, e[0] != e[1]].reshape(-1)] = True
    return mask


def contains_isolated_nodes(edge_index: Tensor, num_nodes: int | None = None) -> bool:
    """Whether a node has no edge but self loops.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import contains_isolated_nodes
    >>> contains_isolated_nodes(Tensor([[0, 1], [1, 0]])), contains_isolated_nodes(Tensor([[0, 1], [1, 0]]), num_nodes=3)
    (False, True)
    """
    return not _connected(_host.edges(edge_index), int(maybe_num_nodes(edge_index, num_nodes))).all()


def remove_isolated_nodes(edge_index: Tensor, edge_attr: Tensor | None = None, num_nodes: int | None = None) -> tuple[Tensor, Tensor | None, Tensor]:
    """Without the nodes that have no edge but self loops; the rest are numbered anew.

    Gives edge_index (self loops last, one a node), edge_attr, and a mask of the nodes that stay.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import remove_isolated_nodes
    >>> e, _, mask = remove_isolated_nodes(Tensor([[0, 2, 0], [2, 0, 0]]))
    >>> e.tolist(), mask.tolist()
    ([[0, 1, 0], [1, 0, 0]], [True, False, True])
    """
    e = _host.edges(edge_index)
    n = int(maybe_num_nodes(edge_index, num_nodes))
    mask = _connected(e, n)
    number = np.full(n, -1, e.dtype)
    number[mask] = np.arange(int(mask.sum()))
    loops = np.flatnonzero(e[0] == e[1])
    last = np.full(n, -1, np.int64)  # of several loops at a node the last one stays
    last[e[0][loops]] = loops
    order = np.concatenate([np.flatnonzero(e[0] != e[1]), last[mask & (last >= 0)]])
    return _host.tensor(number[e[:, order]]), _host.maybe_rows(edge_attr, order), _host.tensor(mask)


__all__ = ["contains_isolated_nodes", "remove_isolated_nodes"]
