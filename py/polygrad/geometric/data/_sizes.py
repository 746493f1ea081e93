"""Sizes of batches. They change from batch to batch; as variables, one compiled program serves them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import copied, current, from_numpy
from ...symbolic import Dim, Variable
from ...tensor import Tensor

LIMIT = 1 << 30
# Bytes up to which values are copied to memory of the library. Nobody else can write there, so a graph that is made of them is known again without
# looking at its edges; a layer that does look costs more than the copy.
COPIED = 1 << 20


def size(name: str, n: int, least: int = 0) -> Any:
    """n as the value of the variable `name`. least: no value is smaller, which is worth saying where divisions by the size are to be left out."""
    return Variable(name, least, LIMIT).bind(n)


def sized(array: Any, dim: int, rows: Any) -> Tensor:
    """A tensor on an array, or the realized one given, whose axis `dim` has the size `rows`, a number or what `size` gave."""
    if isinstance(array, Tensor):
        t = array
    else:
        array = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        g = current()
        t = copied(g, array) if array.nbytes <= COPIED else from_numpy(g, array)
    if rows.__class__ is int:
        return t
    shape: list[Any] = list(array.shape)
    shape[dim] = rows
    return t.sized(shape)


def like_batch(t: Tensor, rows: Any, name: str, dim: int = 0) -> Tensor:
    """t, which was chosen of `rows` rows along `dim`: where their number is a variable, that of t is one, too."""
    n = t.shape[dim]
    if not isinstance(rows, Dim) or isinstance(n, Dim) or not n:
        return t
    shape = list(t.shape)
    shape[dim] = size(name, n, 1)
    return t.sized(*shape)


__all__ = ["like_batch", "size", "sized"]
