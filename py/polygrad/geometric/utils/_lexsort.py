"""Sorting by several keys."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import dtypes
from ...tensor import Tensor
from . import _host


def lexsort(keys: Sequence[Tensor], dim: int = -1, descending: bool = False) -> Tensor:
    """The order that sorts by the last key, ties by the one before it, and so on, as numpy's lexsort.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import lexsort
    >>> lexsort([Tensor([1, 0, 1, 0]), Tensor([5, 5, 3, 3])]).tolist()
    [3, 2, 1, 0]
    """
    if not len(keys):
        raise ValueError("lexsort needs at least one key")
    if not all(_host.known(key) for key in keys):
        place: Tensor | None = None
        for key in keys:
            found_ = (key if place is None else key.gather(dim, place)).argsort(dim, descending)
            place = found_ if place is None else place.gather(dim, found_)
        assert place is not None
        return place.cast(dtypes.int64)
    order: np.ndarray | None = None
    for key in keys:
        a = key.numpy()
        found = _stable(a if order is None else np.take_along_axis(a, order, dim), dim, descending)
        order = found if order is None else np.take_along_axis(order, found, dim)
    assert order is not None
    return _host.tensor(order)


def _stable(a: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(a, axis=dim, kind="stable")
    # equal values must keep their order: sort the reversed values upwards, and read the result backwards
    return a.shape[dim] - 1 - np.flip(np.argsort(np.flip(a, dim), axis=dim, kind="stable"), dim)


__all__ = ["lexsort"]
