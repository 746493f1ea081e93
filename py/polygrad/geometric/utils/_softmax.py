"""Softmax over the values of each row."""

from __future__ import annotations

from ...tensor import Tensor
from .._rows import axis_of, rows_of


def softmax(src: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, num_nodes: int | None = None, dim: int = 0) -> Tensor:
    """exp(src), divided by its sum over the values with the same index along dim. Stable: the largest of a row is subtracted.

    index: the row of each value; or ptr, row pointers of values that lie in order.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import softmax
    >>> softmax(Tensor([1.0, 1.0, 1.0, 1.0]), Tensor([0, 0, 1, 2])).tolist()
    [0.5, 0.5, 1.0, 1.0]
    >>> softmax(Tensor([1.0, 1.0, 1.0, 1.0]), ptr=Tensor([0, 2, 3, 4])).tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    if index is None and ptr is None:
        raise NotImplementedError("'softmax' requires 'index' to be specified")
    axis = axis_of(src, dim)
    if index is not None:
        return rows_of(index, num_nodes).softmax(src, axis)
    return rows_of(None, None, ptr, src.shape[axis]).softmax(src, axis)


__all__ = ["softmax"]
