"""Masks and indices."""

from __future__ import annotations

import numpy as np

from ...tensor import Tensor
from . import _host


def mask_select(src: Tensor, dim: int, mask: Tensor) -> Tensor:
    """The slices of src along dim where mask is true.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import mask_select
    >>> mask_select(Tensor([[1, 2, 3], [4, 5, 6]]), 1, Tensor([True, False, True])).tolist()
    [[1, 3], [4, 6]]
    """
    if mask.ndim != 1 or not -src.ndim <= dim < src.ndim or int(src.shape[dim]) != int(mask.shape[0]):
        raise ValueError(f"a mask of shape {mask.shape} does not fit axis {dim} of a tensor of shape {src.shape}")
    return _host.rows(src, _host.read(mask).astype(np.bool_), dim % src.ndim)


def index_to_mask(index: Tensor, size: int | None = None) -> Tensor:
    """A mask of the given size (the largest index + 1 without one), true at index.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import index_to_mask
    >>> index_to_mask(Tensor([1, 3]), size=5).tolist()
    [False, True, False, True, False]
    """
    index = index.reshape(-1)
    if size is not None and not _host.known(index):
        from .._rows import rows_of

        return rows_of(index, size).count > 0
    a = _host.read(index)
    n = _host.top(a) if size is None else int(size)
    mask = np.zeros(n, np.bool_)
    mask[a] = True
    return _host.tensor(mask)


def mask_to_index(mask: Tensor) -> Tensor:
    """Where mask is true.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import mask_to_index
    >>> mask_to_index(Tensor([False, True, False, True])).tolist()
    [1, 3]
    """
    return _host.tensor(np.flatnonzero(_host.read(mask)))


__all__ = ["index_to_mask", "mask_select", "mask_to_index"]
