"""Arrays of many graphs that lie on a device with memory of its own: joined, chosen from and raised there, by programs whose inputs are as long as
the list of graphs. The results are those of the host's arrays."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..._core import C, copied, current, handles, wrap
from ..._core import like as made_like
from ...dtypes import dtypes
from ...tensor import Tensor
from .._moved import plain


def there(t: Any) -> bool:
    """Whether t is a tensor of known values that the current device alone has."""
    return plain(t) and bool(C.poly_on_device(t._h))


def join(tensors: list[Any], dim: int) -> Tensor:
    """Realized tensors one after another."""
    return made_like(tensors[0], C.poly_join(handles(tensors), len(tensors), dim), *tensors[1:])


def upload(a: np.ndarray) -> Tensor:
    return copied(current(), np.ascontiguousarray(a))


class Runs:
    """Runs of positions start[k], start[k] + 1 ... of size[k] entries, one after the other, as tensors. start None: they are all positions."""

    def __init__(self, start: np.ndarray | None, size: np.ndarray):
        self.start, self.size = start, size
        self.ends = size.cumsum()
        self.total = int(self.ends[-1]) if size.size else 0

    @functools.cached_property
    def _place(self) -> Tensor:
        g = current()
        return wrap(g, C.poly_iota(g.ptr, dtypes.int64.code, self.total))

    @functools.cached_property
    def number(self) -> Tensor:
        """For each position the run that it is in, int64."""
        ends = upload(self.ends)
        return wrap(ends._g, C.poly_searchsorted(ends._h, self._place._h, True)).cast(dtypes.int64)

    @functools.cached_property
    def rows(self) -> Tensor:
        """The positions."""
        assert self.start is not None
        if (self.size == 1).all():
            return upload(self.start)
        return self._place + upload(self.start - (self.ends - self.size)).index_select(0, self.number)

    def take(self, values: Tensor, dim: int) -> Tensor:
        """The values at the positions."""
        return values.index_select(dim, self.rows) if self.total else values.shrink(tuple((0, 0) if k == dim else None for k in range(values.ndim)))

    def spread(self, values: np.ndarray, dim: int) -> Tensor:
        """Each of the values, which are along `dim`, as often as its run is long. There is at least one position."""
        return upload(values).index_select(dim, self.number)


class KnownRuns:
    """The runs of one choice of graphs, by where graphs begin: attributes that are divided alike share theirs."""

    def __init__(self, index: np.ndarray):
        self.index = index
        self._known: list[tuple[np.ndarray, Runs]] = []

    def __call__(self, ptr: np.ndarray) -> Runs:
        for other, runs in self._known:
            if other is ptr or np.array_equal(other, ptr):
                return runs
        made = Runs(ptr[self.index], ptr[self.index + 1] - ptr[self.index])
        self._known.append((ptr, made))
        return made


__all__ = ["KnownRuns", "Runs", "join", "there"]
