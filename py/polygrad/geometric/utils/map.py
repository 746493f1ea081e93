"""Numbering anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host


def places(index: np.ndarray, size: int) -> np.ndarray:
    """[size]: the place of each number in index, the last one of several, -1 if it is not there."""
    place = np.full(size, -1, np.int64)
    place[index] = np.arange(index.size)
    return place


def relabel(values: np.ndarray, index: np.ndarray, size: int | None = None) -> np.ndarray:
    """The place of each value in index, -1 if it is not there. index has no repeats (of several the last counts). Memory O(size)."""
    n = max(_host.top(values), _host.top(index)) if size is None else int(size)
    return places(index, n)[values].astype(values.dtype, copy=False)


def map_index(src: Tensor, index: Tensor, max_index: Any = None, inclusive: bool = False) -> tuple[Tensor, Tensor | None]:
    """The place of each entry of src in index. Entries that are not there are left out, and a mask says which stayed; with
    inclusive=True all are there, and the mask is None.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils.map import map_index
    >>> out, mask = map_index(Tensor([2, 0, 2, 3]), Tensor([3, 2]))
    >>> out.tolist(), mask.tolist()
    ([1, 1, 0], [True, False, True, True])
    """
    a, b = _host.vector(src, "src"), _host.vector(index)
    place = relabel(a, b, None if max_index is None else max(int(max_index) + 1, _host.top(a), _host.top(b)))
    mask = place >= 0
    if not inclusive:
        return _host.tensor(place[mask]), _host.tensor(mask)
    if not mask.all():
        raise ValueError(
            f"Found invalid entries in 'src', which index does not have, such as {int(a[~mask][0])}: use inclusive=False to leave them out"
        )
    return _host.tensor(place), None


__all__ = ["map_index"]
