"""torch.finfo and torch.iinfo."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import dtypes, to_dtype
from .types import named


class finfo:
    """Limits of a floating-point dtype: eps, max, min, tiny, bits, dtype.

    >>> import polygrad.torch as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, dtype: Any = dtypes.float32):
        d = to_dtype(dtype)
        if d.kind != "f":
            raise TypeError(f"finfo is about floating point, not {d}")
        self.dtype, self.bits = repr(named(d)).removeprefix("torch."), d.bitsize
        exponent, mantissa = dtypes.finfo(d)
        self.eps = 2.0**-mantissa
        top = 2 ** (exponent - 1) - 1
        self.max = 448.0 if d == dtypes.fp8e4m3 else (2.0 - self.eps) * 2.0**top  # which has no infinity, and uses its bits
        self.min, self.tiny = -self.max, 2.0 ** (1 - top)
        self.smallest_normal, self.resolution = self.tiny, 10.0 ** -int(mantissa * np.log10(2.0))

    def __repr__(self) -> str:
        least = f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}"
        return f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, {least}, dtype={self.dtype})"


class iinfo:
    """Limits of a dtype of whole numbers: max, min, bits, dtype.

    >>> import polygrad.torch as torch
    >>> torch.iinfo(torch.int8).max
    127
    """

    def __init__(self, dtype: Any):
        d = to_dtype(dtype)
        if d.kind not in "iu":
            raise TypeError(f"iinfo is about whole numbers, not {d}")
        self.dtype, self.bits, self.max, self.min = d.name, d.bitsize, d.max, d.min

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


__all__ = ["finfo", "iinfo"]
