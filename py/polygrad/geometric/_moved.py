"""Tensors whose values are those of others at other places: rows taken, parts joined, rows merged.

Such a tensor is a program, which gradients flow through and which a traced step runs. Outside a trace, where the values are there, they are moved
at once as well: sizes of graphs come once, and a kernel for each of them would take a thousand times longer to compile than to run.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .._core import C, kind_of
from .._core import like as made_like
from ..device import HOST
from ..tensor import Tensor


def known(t: Tensor) -> bool:
    """Whether t's values can be read without computing anything."""
    return t.is_realized and not t._g.tracing


def plain(t: Any) -> bool:
    """Whether t is a tensor of known values that no gradient is asked for: memory that may as well be an array."""
    return isinstance(t, Tensor) and not t.requires_grad and t.dtype.np is not None and known(t)


def tensor(a: np.ndarray) -> Tensor:
    """A tensor on the array's own memory; on a copy of an array that may only be read, which is the memory of another tensor."""
    a = np.asarray(a, order="C")  # ascontiguousarray would give a number an axis
    return Tensor(a if a.flags.writeable else a.copy())


def array(t: Tensor) -> np.ndarray:
    """t's own memory, for reading; a copy where it is not on the host."""
    memory = t._data if t.ndim and t.numel() and t._g.device in HOST else t.numpy()
    return array(memory) if isinstance(memory, Tensor) else memory  # indices that know their sizes are about a tensor


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else tensor(x)


def like(a: np.ndarray, *sources: Any) -> Tensor:
    """A tensor on the array's own memory, of the class of the tensors that it was made of."""
    kind = kind_of(*sources)
    return tensor(a) if kind is None else kind(np.asarray(a, order="C"))


def moved(lazy: Callable[[], Tensor], now: Callable[[], Any], *sources: Tensor) -> Tensor:
    """What lazy() makes of the sources, and now() of their memory, as an array or a tensor: with its values if those of the sources are known."""
    if not all(known(t) and t.dtype.np is not None for t in sources):
        return lazy()
    if not any(t.is_floating_point() for t in sources):  # no gradient flows through whole numbers
        made = now()
        return made if isinstance(made, Tensor) else like(made, *sources)
    out = lazy()
    if not out.is_realized:
        value = _tensor(now())
        out._g.check(C.poly_give(out._h, value._h))
    return out


def rows(values: Tensor, which: Any, dim: int = 0) -> Tensor:
    """The rows of values that a mask or a vector of indices names; a mask may be a tensor of known values."""
    if isinstance(which, Tensor) or which.dtype == np.bool_:
        return _rows_of_mask(values, which, dim)

    def lazy() -> Tensor:
        return _at(values, which, dim)

    return moved(lazy, lambda: np.take(array(values), which, axis=dim), values)


def _at(values: Tensor, index: np.ndarray, dim: int) -> Tensor:
    if not index.size:
        return values.shrink(tuple((0, 0) if k == dim else None for k in range(values.ndim)))
    return values.index_select(dim, tensor(index))


def _rows_of_mask(values: Tensor, mask: Any, dim: int) -> Tensor:
    if not known(values):
        return _at(values, np.flatnonzero(array(mask) if isinstance(mask, Tensor) else mask), dim)
    stays = mask if isinstance(mask, Tensor) else Tensor(np.ascontiguousarray(mask))
    return made_like(values, C.poly_compress(values._h, stays._h, dim))


def join(a: Tensor, b: Tensor, dim: int = 0) -> Tensor:
    """a, then b."""

    def lazy() -> Tensor:
        return b if not a.shape[dim] else a if not b.shape[dim] else Tensor.cat(a, b, dim=dim)

    if a.dtype != b.dtype:
        return lazy()
    return moved(lazy, lambda: np.concatenate([array(a), array(b)], axis=dim), a, b)


__all__ = ["array", "join", "known", "like", "moved", "plain", "rows", "tensor"]
