"""Graphs with random parts left out."""

from __future__ import annotations

import warnings

import numpy as np

from ...tensor import Tensor
from . import _host
from ._subgraph import subgraph
from .num_nodes import maybe_num_nodes


def _check(p: float, what: str = "Dropout probability") -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{what} has to be between 0 and 1 (got {p})")


def _all(n: int) -> Tensor:
    return Tensor(np.ones(int(n), np.bool_))


def _num_edges(edge_index: Tensor) -> int:
    return int(edge_index.shape[1])


def filter_adj(row: Tensor, col: Tensor, edge_attr: Tensor | None, mask: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """The sources, destinations and attributes of the edges of a mask.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils.dropout import filter_adj
    >>> [t.tolist() for t in filter_adj(Tensor([0, 1]), Tensor([1, 0]), Tensor([5, 6]), Tensor([False, True]))]
    [[1], [0], [6]]
    """
    kept = _host.read(mask)
    return _host.rows(row, kept), _host.rows(col, kept), None if edge_attr is None else _host.rows(edge_attr, kept)


def dropout_adj(
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    p: float = 0.5,
    force_undirected: bool = False,
    num_nodes: int | None = None,
    training: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Leaves out edges with probability p. Deprecated: use dropout_edge.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import dropout_adj
    >>> dropout_adj(Tensor([[0, 1], [1, 0]]), p=0.0)[0].tolist()
    [[0, 1], [1, 0]]
    """
    warnings.warn("'dropout_adj' is deprecated, use 'dropout_edge' instead", stacklevel=2)
    edge_index_, kept = dropout_edge(edge_index, p, force_undirected, training)
    if not training or p == 0.0 or edge_attr is None:
        return edge_index_, edge_attr
    return edge_index_, _host.rows(edge_attr, _host.read(kept))


def dropout_node(
    edge_index: Tensor, p: float = 0.5, num_nodes: int | None = None, training: bool = True, relabel_nodes: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Leaves out nodes with probability p, and their edges.

    Gives the edges that stay, the mask of those edges, and the mask of the nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import dropout_node
    >>> e, edge_mask, node_mask = dropout_node(Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), p=0.0)
    >>> e.shape, node_mask.tolist()
    ((2, 4), [True, True, True])
    """
    _check(p)
    n = int(maybe_num_nodes(edge_index, num_nodes))
    if not training or p == 0.0:
        return edge_index, _all(_num_edges(edge_index)), _all(n)
    mask = _host.random_mask(n, 1.0 - p)
    out, _, edge_mask = subgraph(mask, edge_index, relabel_nodes=relabel_nodes, num_nodes=n, return_edge_mask=True)
    return out, edge_mask, mask


def dropout_edge(edge_index: Tensor, p: float = 0.5, force_undirected: bool = False, training: bool = True) -> tuple[Tensor, Tensor]:
    """Leaves out edges with probability p.

    Gives the edges that stay, and the mask of them. With force_undirected an edge and its way back stay or go together, and the second
    value is the indices of the edges in the result's order.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import dropout_edge
    >>> e, mask = dropout_edge(Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), p=1.0)
    >>> e.shape, mask.tolist()
    ((2, 0), [False, False, False, False])
    """
    _check(p)
    if not training or p == 0.0:
        return edge_index, _all(_num_edges(edge_index))
    e = _host.edges(edge_index)
    mask = _host.random_mask(_num_edges(edge_index), 1.0 - p)
    if not force_undirected:
        return _host.filter_edges(edge_index, mask)
    stays = _host.read(mask) & (e[0] <= e[1])
    out, where = _host.read(_host.filter_edges(edge_index, stays)[0]), np.flatnonzero(stays)
    return _host.tensor(np.concatenate([out, out[::-1]], axis=1)), _host.tensor(np.concatenate([where, where]))


def dropout_path(
    edge_index: Tensor,
    p: float = 0.2,
    walks_per_node: int = 1,
    walk_length: int = 3,
    num_nodes: int | None = None,
    is_sorted: bool = False,
    training: bool = True,
) -> tuple[Tensor, Tensor]:
    """Leaves out the edges of random walks, which begin at the source of each edge with probability p.

    Gives the edges that stay, and the mask of them. is_sorted: the edges are sorted by source.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import dropout_path
    >>> e, mask = dropout_path(Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), p=1.0, walk_length=20)
    >>> e.shape[1] < 4
    True
    """
    _check(p, "Sample probability")
    if not training or p == 0.0:
        return edge_index, _all(_num_edges(edge_index))
    e = _host.edges(edge_index)
    n = int(maybe_num_nodes(edge_index, num_nodes))
    order = np.arange(e.shape[1]) if is_sorted else np.lexsort((e[1], e[0]))
    row, col = e[0][order], e[1][order].astype(np.int64)
    ptr = _host.starts(_host.count(row, n))
    degree = np.diff(ptr)
    rng = _host.generator()
    at = np.tile(row[rng.random(row.size) <= p].astype(np.int64), walks_per_node)
    walked = []
    for _ in range(walk_length):
        at = at[degree[at] > 0]  # who cannot go on stays where it is, and takes no edge
        to = col[ptr[at] + (rng.random(at.size) * degree[at]).astype(np.int64)]
        walked.append(at * n + to)
        at = to
    keep = np.ones(e.shape[1], np.bool_)
    if walked:
        keep = ~np.isin(e[0].astype(np.int64) * n + e[1], np.concatenate(walked))
    return _host.tensor(e[:, keep]), _host.tensor(keep)


__all__ = ["dropout_adj", "dropout_edge", "dropout_node", "dropout_path", "filter_adj"]
