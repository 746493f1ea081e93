"""Weights for a graph convolution."""

from __future__ import annotations

from ...dtypes import dtypes
from ...graphs import Graph
from ...tensor import Tensor
from .laplacian import inverse_or_zero
from .loop import add_self_loops as with_self_loops
from .num_nodes import maybe_num_nodes


def normalize_edge_index(
    edge_index: Tensor, num_nodes: int | None = None, add_self_loops: bool = True, symmetric: bool = True
) -> tuple[Tensor, Tensor]:
    r"""The edges (with self loops) and their weights :math:`D^{-1/2} A D^{-1/2}`, or :math:`D^{-1} A` with symmetric=False.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import normalize_edge_index
    >>> e, w = normalize_edge_index(Tensor([[0, 1], [1, 0]]))
    >>> [round(v, 4) for v in w.tolist()]
    [0.5, 0.5, 0.5, 0.5]
    """
    n = maybe_num_nodes(edge_index, num_nodes)
    if add_self_loops:
        edge_index, _ = with_self_loops(edge_index, num_nodes=n)
    graph = Graph(edge_index, n)
    degree = graph.out_degree.cast(dtypes.default_float)
    if symmetric:
        root = inverse_or_zero(degree, -0.5)
        return edge_index, graph.src(root) * graph.dst(root)
    return edge_index, graph.src(inverse_or_zero(degree))


__all__ = ["normalize_edge_index"]
