"""Parts of tensors and lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from .mask import mask_select


def select(src: Any, index_or_mask: Tensor, dim: int) -> Any:
    """What a mask or a vector of indices names, of a tensor along dim or of a list.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import select
    >>> select(Tensor([[1, 2], [3, 4]]), Tensor([1, 0]), 0).tolist(), select(["a", "b"], Tensor([False, True]), 0)
    ([[3, 4], [1, 2]], ['b'])
    """
    is_mask = index_or_mask.dtype.kind == "b"
    if isinstance(src, Tensor):
        return mask_select(src, dim, index_or_mask) if is_mask else src.index_select(dim, index_or_mask)
    if isinstance(src, (tuple, list)):
        if dim != 0:
            raise ValueError(f"Cannot select along dimension other than 0 of a list, such as {dim}")
        a = index_or_mask.numpy()
        return [src[i] for i in (np.flatnonzero(a) if is_mask else a).tolist()]
    raise ValueError(f"Encountered invalid input type {type(src).__name__}: a tensor or a list is needed")


def narrow(src: Any, dim: int, start: int, length: int) -> Any:
    """`length` slices from `start` on, of a tensor along dim or of a list.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import narrow
    >>> narrow(Tensor([1, 2, 3, 4]), 0, 1, 2).tolist(), narrow([1, 2, 3], 0, 0, 1)
    ([2, 3], [1])
    """
    if isinstance(src, Tensor):
        dim = dim + src.ndim if dim < 0 else dim
        return src[tuple(slice(start, start + length) if k == dim else slice(None) for k in range(dim + 1))]
    if isinstance(src, list):
        if dim != 0:
            raise ValueError(f"Cannot narrow along dimension other than 0 of a list, such as {dim}")
        return src[start : start + length]
    raise ValueError(f"Encountered invalid input type {type(src).__name__}: a tensor or a list is needed")


__all__ = ["narrow", "select"]
