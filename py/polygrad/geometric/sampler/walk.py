"""Random walks along the edges of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data._values import to_array
from ._draw import Relations, draw_seed, thread_count


def relations_along(edge_index: np.ndarray, num_nodes: int) -> Relations:
    """Rows by source, each sorted by destination, for walks along the edges."""
    row, col = edge_index
    order = np.lexsort((col, row))
    out = Relations([num_nodes])
    out.add(0, 0, col[order], row[order], ids=order)
    return out


def random_walk(
    edge_index: Any,
    start: Any,
    walk_length: int,
    p: float = 1.0,
    q: float = 1.0,
    num_nodes: int | None = None,
    return_edge_indices: bool = False,
) -> Any:
    """Random walks of walk_length steps along the edges, one from each node of `start`: [n, walk_length + 1].

    p, q: as in node2vec, a step back to where the walk came from is 1 / p, a step away from its neighbourhood 1 / q times as likely as
    others. A walk that cannot go on stays. With return_edge_indices also the edges taken, -1 for a walk that stays.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.sampler import random_walk
    >>> random_walk(Tensor([[0, 1, 2], [1, 2, 0]]), Tensor([0, 2]), 3).tolist()
    [[0, 1, 2, 0], [2, 0, 1, 2]]
    """
    pairs = to_array(edge_index)
    n = int(num_nodes) if num_nodes is not None else int(pairs.max(initial=-1)) + 1
    nodes, edges = relations_along(pairs, n).walk(0, to_array(start), walk_length, p, q, draw_seed(), thread_count())
    return (Tensor(nodes), Tensor(edges)) if return_edge_indices else Tensor(nodes)


__all__ = ["random_walk"]
