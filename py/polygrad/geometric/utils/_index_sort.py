"""Sorting whole numbers."""

from __future__ import annotations

import numpy as np

from ...dtypes import dtypes
from ...tensor import Tensor
from . import _host

_FEW = 1 << 20  # up to here kernels that move the values are not worth compiling for sizes that come once


def index_sort(inputs: Tensor, max_value: int | None = None, stable: bool = False) -> tuple[Tensor, Tensor]:
    """A vector of indices in ascending order, and where each came from. Equal ones keep their order, whatever `stable` says.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import index_sort
    >>> [t.tolist() for t in index_sort(Tensor([3, 1, 2, 1]))]
    [[1, 1, 2, 3], [1, 3, 2, 0]]
    """
    if _host.known(inputs) and inputs.ndim == 1 and inputs.numel() < _FEW:
        order = _host.array(inputs.argsort().realize()).astype(np.int64)
        return _host.rows(inputs, order), _host.tensor(order)
    values, order_ = inputs.sort()
    return values, order_.cast(dtypes.int64)


__all__ = ["index_sort"]
