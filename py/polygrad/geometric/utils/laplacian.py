"""The graph Laplacian."""

from __future__ import annotations

from ...dtypes import DTypeLike, dtypes
from ...tensor import Tensor
from .._rows import rows_of
from . import _host
from .loop import add_self_loops, remove_self_loops
from .num_nodes import maybe_num_nodes


def inverse_or_zero(x: Tensor, power: float = -1.0) -> Tensor:
    """x ** power, 0 where x is 0, with a gradient that is 0 there."""
    there = x != 0
    safe = there.where(x, 1.0)
    return there.where(safe.rsqrt() if power == -0.5 else safe.reciprocal(), 0.0)


def get_laplacian(
    edge_index: Tensor,
    edge_weight: Tensor | None = None,
    normalization: str | None = None,
    dtype: DTypeLike | None = None,
    num_nodes: int | None = None,
) -> tuple[Tensor, Tensor]:
    r"""The Laplacian as edges with weights: the graph without self loops, then a loop at every node for the diagonal.

    normalization None: :math:`L = D - A`; 'sym': :math:`I - D^{-1/2} A D^{-1/2}`; 'rw': :math:`I - D^{-1} A`.
    dtype: of the weights if edge_weight is not given. Gradients flow to edge_weight.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import get_laplacian
    >>> e, w = get_laplacian(Tensor([[0, 1], [1, 0]]))
    >>> e.tolist(), w.tolist()
    ([[0, 1, 0, 1], [1, 0, 0, 1]], [-1.0, -1.0, 1.0, 1.0])
    """
    if normalization not in (None, "sym", "rw"):
        raise ValueError(f"normalization must be None, 'sym' or 'rw', not {normalization!r}")
    edge_index, edge_weight = remove_self_loops(edge_index, edge_weight)
    n = maybe_num_nodes(edge_index, num_nodes)
    weight = _host.ones(edge_index.shape[1], dtype) if edge_weight is None else edge_weight
    if normalization is not None and not weight.is_floating_point():
        weight = weight.cast(dtypes.default_float)
    src, dst = edge_index[0], edge_index[1]
    degree = rows_of(src, n).reduce(weight, "sum")
    if normalization is None:
        diagonal = degree
    else:
        diagonal = degree.ones_like()
        scale = inverse_or_zero(degree, -0.5 if normalization == "sym" else -1.0)
        weight = scale[src] * weight * scale[dst] if normalization == "sym" else scale[src] * weight
    return add_self_loops(edge_index, num_nodes=n)[0], _host.join(-weight, diagonal)


__all__ = ["get_laplacian"]
