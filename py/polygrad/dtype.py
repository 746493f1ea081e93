"""tinygrad's place of dtypes: polygrad.dtype.DType, dtypes, least_upper_dtype and their like.

>>> from polygrad.dtype import can_lossless_cast, dtypes, least_upper_dtype
>>> least_upper_dtype(dtypes.int8, dtypes.float16), can_lossless_cast(dtypes.int32, dtypes.float32)
(dtypes.half, False)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

import numpy as np

from .dtypes import BY_CODE, DType, DTypeLike, dtypes, least_upper_dtype, to_dtype

ConstType = Union[float, int, bool]


def __getattr__(name: str) -> object:
    if name == "AddrSpace":  # what custom kernels need is loaded with them
        from .uop.ops import AddrSpace

        return AddrSpace
    raise AttributeError(f"module 'polygrad.dtype' has no attribute {name!r}")


def _to_np_dtype(dtype: DType) -> type | None:
    """numpy's class of numbers; float32 for the floats that numpy does not have."""
    return np.dtype(dtype.np).type if dtype.np is not None else np.float32


def _from_np_dtype(npdtype: np.dtype) -> DType:
    """The dtype of an array's numbers."""
    return to_dtype(npdtype)


def _to_torch_dtype(dtype: DType) -> Any:
    """PyTorch's dtype of this name, for scripts that use PyTorch beside; that of the bytes for floats of 8 bits, as in tinygrad."""
    import importlib

    return getattr(importlib.import_module("torch"), "uint8" if dtype in dtypes.fp8s else dtype.name)


def _from_torch_dtype(torchdtype: Any) -> DType:
    """The dtype of PyTorch's name."""
    return to_dtype(str(torchdtype).rpartition(".")[2])


def float_to_bf16(x: float) -> float:
    """The nearest bfloat16, as a float."""
    return truncate[dtypes.bfloat16](x)


def float_to_fp16(x: float) -> float:
    """The nearest float16, as a float; infinity if it is too large."""
    return truncate[dtypes.float16](x)


def _truncated(dtype: DType) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        from .tensor import Tensor

        if dtypes.is_int(dtype):
            bits = 8 * dtype.itemsize
            x = int(x) & ((1 << bits) - 1)
            return x - (1 << bits) if not dtypes.is_unsigned(dtype) and x >> (bits - 1) else x
        return Tensor([x], dtype=dtypes.float64).cast(dtype).item()

    return call


DTYPES_DICT = {d.name: d for d in BY_CODE}
INVERSE_DTYPES_DICT = {d.name: name for name, d in DTYPES_DICT.items()}
truncate: dict[DType, Callable[[Any], Any]] = {
    d: bool if d == dtypes.bool else _truncated(d) for d in BY_CODE
}  # the value that a dtype keeps of a number
_DIGITS = {"fp8e4m3": 4, "fp8e5m2": 3, "float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # bits of a float's mantissa


def least_upper_float(d: DType) -> DType:
    """The dtype itself if it is a float, else the default float.

    >>> least_upper_float(dtypes.int32)
    dtypes.float
    """
    return d if dtypes.is_float(d) else dtypes.default_float


def sum_acc_dtype(d: DType) -> DType:
    """In what a sum of this dtype is accumulated.

    >>> sum_acc_dtype(dtypes.int8), sum_acc_dtype(dtypes.float16)
    (dtypes.int, dtypes.float)
    """
    least = dtypes.uint32 if dtypes.is_unsigned(d) else dtypes.float32 if dtypes.is_float(d) else dtypes.int32
    return least_upper_dtype(d, least)


def can_lossless_cast(a: DType, b: DType) -> bool:
    """Does every value of a have the same value in b?

    >>> can_lossless_cast(dtypes.uint8, dtypes.int16), can_lossless_cast(dtypes.int8, dtypes.uint16)
    (True, False)
    """
    if a == b or a == dtypes.bool:
        return True
    if b == dtypes.bool or dtypes.is_float(a) and not dtypes.is_float(b):
        return False
    bits = 8 * a.itemsize - (not dtypes.is_unsigned(a))
    if dtypes.is_float(b):
        if dtypes.is_float(a):
            return a.itemsize < b.itemsize
        return bits <= _DIGITS[b.name]
    wide = 8 * b.itemsize - (not dtypes.is_unsigned(b))
    return bits <= wide and not (dtypes.is_unsigned(b) and not dtypes.is_unsigned(a))


def float_to_fp8(x: float, dtype: DType) -> int:
    """The byte of the float of 8 bits that is nearest.

    >>> hex(float_to_fp8(448.0, dtypes.fp8e4m3)), hex(float_to_fp8(-1.0, dtypes.fp8e5m2))
    ('0x7e', '0xbc')
    """
    from .tensor import Tensor

    if dtype not in dtypes.fp8s:
        raise AssertionError("Only for fp8s")
    return int(Tensor([float(x)], dtype=dtypes.float64).cast(dtype).bitcast(dtypes.uint8).item())


def fp8_to_float(x: int, dtype: DType) -> float:
    """The value of a byte as a float of 8 bits.

    >>> fp8_to_float(0x7E, dtypes.fp8e4m3), fp8_to_float(0xBC, dtypes.fp8e5m2)
    (448.0, -1.0)
    """
    from .tensor import Tensor

    if dtype not in dtypes.fp8s:
        raise AssertionError("Only for fp8s")
    return float(Tensor([int(x)], dtype=dtypes.uint8).bitcast(dtype).item())


def to_storage_scalar(x: Any, dtype: DType) -> Any:
    """A number as Python's buffers hold it: the bits of those floats that they lack."""
    from .tensor import Tensor

    if dtype == dtypes.bfloat16:
        return int(Tensor([float(x)], dtype=dtypes.float64).cast(dtype).bitcast(dtypes.uint16).item())
    return float_to_fp8(float(x), dtype) if dtype in dtypes.fp8s else x


def from_storage_scalar(x: Any, dtype: DType) -> Any:
    """The other way round.

    >>> from_storage_scalar(to_storage_scalar(1.5, dtypes.bfloat16), dtypes.bfloat16)
    1.5
    """
    from .tensor import Tensor

    if dtype == dtypes.bfloat16:
        return float(Tensor([int(x) & 0xFFFF], dtype=dtypes.uint16).bitcast(dtype).item())
    return fp8_to_float(int(x), dtype) if dtype in dtypes.fp8s else x


__all__ = [
    "ConstType", "DTYPES_DICT", "DType", "DTypeLike", "INVERSE_DTYPES_DICT", "can_lossless_cast", "dtypes",
    "float_to_fp8", "fp8_to_float", "least_upper_dtype", "least_upper_float",
    "from_storage_scalar", "sum_acc_dtype", "to_dtype", "to_storage_scalar", "truncate", "float_to_bf16", "float_to_fp16",
]  # fmt: skip
