"""Sizes of batches. They change from batch to batch; as variables, one compiled program serves them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...symbolic import Variable
from ...tensor import Tensor

LIMIT = 1 << 30


def size(name: str, n: int, least: int = 0) -> Any:
    """n as the value of the variable `name`. least: no value is smaller, which is worth saying where divisions by the size are to be left out."""
    return Variable(name, least, LIMIT).bind(n)


def sized(array: np.ndarray, dim: int, rows: Any) -> Tensor:
    """A tensor on an array whose axis `dim` has the size `rows`, a number or what `size` gave."""
    t = Tensor(array if array.flags.c_contiguous else np.ascontiguousarray(array))
    if rows.__class__ is int:
        return t
    shape: list[Any] = list(array.shape)
    shape[dim] = rows
    return t.sized(*shape)


__all__ = ["size", "sized"]
