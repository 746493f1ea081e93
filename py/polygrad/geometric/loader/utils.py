"""What loaders share: rows by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor


def index_select(value: Any, index: Tensor, dim: int = 0) -> Tensor:
    """The rows of a tensor or an array along dim, by their numbers [K]. IndexError for numbers that are out of range.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.loader.utils import index_select
    >>> index_select(Tensor([[1, 2], [3, 4]]), Tensor([1])).tolist()
    [[3, 4]]
    """
    if not isinstance(value, (Tensor, np.ndarray)):
        raise ValueError(f"a tensor or an array is needed, not a {type(value).__name__}")
    at, size = index.numpy(), value.shape[dim]
    if at.size and (at.min() < -size or at.max() >= size):
        raise IndexError(f"index {int(at.max() if at.max() >= size else at.min())} is out of range for {size} rows")
    if isinstance(value, np.ndarray):
        return Tensor(np.ascontiguousarray(np.take(value, at, axis=dim)))
    return value[(slice(None),) * (dim % value.ndim) + (index,)]


__all__ = ["index_select"]
