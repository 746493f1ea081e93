"""Weights for clustering."""

from __future__ import annotations

from ...graphs import Graph
from ...tensor import Tensor
from .num_nodes import maybe_num_nodes


def normalized_cut(edge_index: Tensor, edge_attr: Tensor, num_nodes: int | None = None) -> Tensor:
    r"""The normalized cut of each edge: :math:`e_{ij} (1/d_i + 1/d_j)` with the in-degrees d.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import normalized_cut
    >>> normalized_cut(Tensor([[1, 1, 2, 3], [3, 3, 1, 2]]), Tensor([1.0, 1.0, 1.0, 1.0])).tolist()
    [1.5, 1.5, 2.0, 1.5]
    """
    graph = Graph(edge_index, maybe_num_nodes(edge_index, num_nodes))
    inverse = 1.0 / graph.in_degree.cast(edge_attr.dtype)
    return edge_attr * (graph.src(inverse) + graph.dst(inverse))


__all__ = ["normalized_cut"]
