"""Edges and their way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host
from ._coalesce import coalesce
from ._host import MISSING
from ._sort_edge_index import sort_edge_index
from .num_nodes import maybe_num_nodes


def is_undirected(edge_index: Tensor, edge_attr: Any = None, num_nodes: int | None = None) -> bool:
    """Whether every edge has its opposite, with the same edge_attr (a tensor or a list of them).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import is_undirected
    >>> is_undirected(Tensor([[0, 1], [1, 0]])), is_undirected(Tensor([[0, 1], [1, 0]]), Tensor([1.0, 2.0]))
    (True, False)
    """
    attrs = [edge_attr] if isinstance(edge_attr, Tensor) else list(edge_attr or ())
    n = maybe_num_nodes(edge_index, num_nodes)
    by_row, attrs1 = sort_edge_index(edge_index, attrs, num_nodes=n, sort_by_row=True)
    by_col, attrs2 = sort_edge_index(edge_index, attrs, num_nodes=n, sort_by_row=False)
    if not np.array_equal(by_row.numpy(), by_col.numpy()[::-1]):
        return False
    return all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(attrs1, attrs2))


def to_undirected(edge_index: Tensor, edge_attr: Any = MISSING, num_nodes: int | None = None, reduce: str = "add") -> Any:
    """Adds the opposite of every edge, sorts, and merges what occurs several times; edge_attr is combined by `reduce`.

    edge_attr: a tensor, a list of them, or None; if it was passed, the result is (edge_index, edge_attr).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import to_undirected
    >>> e, w = to_undirected(Tensor([[0, 1, 1], [1, 0, 2]]), Tensor([1.0, 1.0, 1.0]))
    >>> e.tolist(), w.tolist()
    ([[0, 1, 1, 2], [1, 0, 2, 1]], [2.0, 2.0, 1.0, 1.0])
    """
    if isinstance(edge_attr, int):  # an older order of arguments
        edge_attr, num_nodes = MISSING, edge_attr
    e = _host.edges(edge_index)
    both = _host.tensor(np.concatenate([e, e[::-1]], axis=1))
    if isinstance(edge_attr, Tensor):
        edge_attr = _host.join(edge_attr, edge_attr)
    elif isinstance(edge_attr, (list, tuple)):
        edge_attr = [_host.join(a, a) for a in edge_attr]
    return coalesce(both, edge_attr, num_nodes, reduce)


__all__ = ["is_undirected", "to_undirected"]
