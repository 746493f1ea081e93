"""Weights for a graph convolution."""

from __future__ import annotations

from ...dtypes import dtypes
from ...tensor import Tensor
from ._degree import degree
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
    src, dst = edge_index[0], edge_index[1]
    scale = inverse_or_zero(degree(src, n, dtypes.default_float), -0.5 if symmetric else -1.0)
    return edge_index, scale[src] * scale[dst] if symmetric else scale[src]


__all__ = ["normalize_edge_index"]
