"""One-hot rows."""

from __future__ import annotations

from ...dtypes import DTypeLike, dtypes
from ...tensor import Tensor
from . import _host


def one_hot(index: Tensor, num_classes: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """[n, num_classes] with a one in each row, at index. num_classes: the largest index + 1 if it is not given.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import one_hot
    >>> one_hot(Tensor([0, 2])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if index.ndim != 1:
        raise ValueError(f"'index' tensor needs to be one-dimensional, not of the shape {index.shape}")
    if num_classes is None:
        num_classes = _host.top(_host.read(index))
    d = dtypes.float32 if dtype is None else dtype
    if not num_classes or not index.numel():
        return Tensor.zeros(index.shape[0], num_classes, dtype=d)
    return (index.unsqueeze(1) == Tensor.arange(num_classes, dtype=index.dtype)).cast(d)


__all__ = ["one_hot"]
