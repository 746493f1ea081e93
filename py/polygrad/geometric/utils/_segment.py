"""Reductions of values that lie in order, by row pointers."""

from __future__ import annotations

from ...tensor import Tensor
from .._rows import axis_of, rows_of


def segment(src: Tensor, ptr: Tensor, reduce: str = "sum") -> Tensor:
    """Reduces src[ptr[k]:ptr[k + 1]] to one value for each k. A ptr with more axes (all but the last of size 1) counts along its last one.

    reduce: 'sum', 'mean', 'min' or 'max'. Empty ranges give 0.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import segment
    >>> segment(Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([0, 1, 1, 4]), "sum").tolist()
    [1.0, 0.0, 9.0]
    """
    axis = ptr.ndim - 1
    if any(s != 1 for s in ptr.shape[:-1]):
        raise ValueError(f"row pointers must be the same for all entries, their shape is {ptr.shape}")
    return rows_of(None, None, ptr.reshape(-1), src.shape[axis]).reduce(src, reduce, axis)


def segment_logsumexp(src: Tensor, ptr: Tensor, dim: int) -> Tensor:
    """log(sum(exp(src))) over the ranges of ptr along dim; 0 for empty ones.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import segment_logsumexp
    >>> [round(v, 4) for v in segment_logsumexp(Tensor([0.0, 0.0, 5.0]), Tensor([0, 2, 3]), 0).tolist()]
    [0.6931, 5.0]
    """
    axis = axis_of(src, dim)
    return rows_of(None, None, ptr, src.shape[axis]).reduce(src, "logsumexp", axis)


__all__ = ["segment", "segment_logsumexp"]
