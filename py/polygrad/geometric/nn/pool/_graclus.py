"""Pairs of neighbours."""

from __future__ import annotations

from typing import Any

from ...._core import C, like
from ....graphs import Graph
from ....tensor import Tensor
from ...utils import _host
from ...utils.num_nodes import maybe_num_nodes


def graclus(edge_index: Any, weight: Tensor | None = None, num_nodes: int | None = None) -> Tensor:
    """Pairs each node with a neighbour that has none yet, in a random order: the one of largest weight, or any (Dhillon et al., 2007).

    int64 [num_nodes]: the smaller of the two nodes, or the node itself where none was left.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import graclus
    >>> graclus(Tensor([[0, 1, 2, 3], [1, 0, 3, 2]])).tolist()
    [0, 0, 2, 2]
    """
    graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, num_nodes=maybe_num_nodes(edge_index, num_nodes))
    seed = int(_host.generator().integers(0, 1 << 63))
    values = None if weight is None else weight.detach().reshape(-1) if weight.is_floating_point() else weight.float().reshape(-1)
    return like(graph, C.poly_graph_match(graph._p, values, seed))


__all__ = ["graclus"]
