"""torch.dtype, torch.Size and torch.device."""

from __future__ import annotations

import math
from typing import Any, Union

from ..device import Device as _Places
from ..device import computing
from ..dtypes import BY_CODE, DType, to_dtype


class _AnyDType(type):
    """The library's own dtypes are instances of torch.dtype too."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, DType)


class dtype(DType, metaclass=_AnyDType):
    """An element type that prints as PyTorch's. Equal to the library's own of the same name.

    >>> import polygrad.torch as torch
    >>> torch.ones(2).dtype, torch.float32.is_floating_point, torch.int64.itemsize
    (torch.float32, True, 8)
    """

    __slots__ = ()

    @property
    def is_floating_point(self) -> bool:
        """Is it a type of floating-point numbers?"""
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        """No: there are no complex numbers."""
        return False

    @property
    def is_signed(self) -> bool:
        """Can it hold negative numbers?"""
        return self.kind in "if"

    def __repr__(self) -> str:
        return f"torch.{_FP8.get(self.name, self.name)}"

    def __reduce__(self) -> Any:
        return named, (self.name,)


_FP8 = {"fp8e4m3": "float8_e4m3fn", "fp8e5m2": "float8_e5m2"}
DTYPES = [dtype(d.code, d.name, d.alias, d.itemsize, d.fmt, d.kind) for d in BY_CODE]  # by code


def named(d: Any) -> dtype:
    """The dtype of this namespace for one of the library's, or for a name."""
    return DTYPES[to_dtype(d).code]


class Size(tuple):
    """The shape of a tensor: a tuple that prints as PyTorch's and knows its product.

    >>> import polygrad.torch as torch
    >>> torch.ones(2, 3).size(), torch.ones(2, 3).shape.numel()
    (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(int(n) for n in self)

    def __getitem__(self, key: Any) -> Any:
        out = super().__getitem__(key)
        return Size(out) if isinstance(key, slice) else out

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(str(n) for n in self)}])"


class device(str):
    """The name of a device: `device("cpu")`, `device("cuda:0")`, `device("cuda", 0)`. Compares equal to the name.

    A graph of tensors runs on one device, polygrad._Places.DEFAULT: another one is an error when tensors are moved to it.

    >>> import polygrad.torch as torch
    >>> d = torch.device("cpu"); d.type, d.index, d == "cpu"
    ('cpu', None, True)
    """

    type: str
    index: int | None  # type: ignore[assignment]

    def __new__(cls, type: Any, index: int | None = None) -> device:
        name, _, number = str(type).lower().partition(":")
        if index is None and number:
            index = int(number)
        self = super().__new__(cls, name if index is None else f"{name}:{index}")
        self.type, self.index = name, index
        return self

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + ("" if self.index is None else f", index={self.index}") + ")"

    def __getnewargs__(self) -> Any:
        return (self.type, self.index)

    __hash__ = str.__hash__


def device_name(name: Any) -> str:
    """polygrad's name of a device: the interpreter and the compiled code share PyTorch's "cpu"."""
    here, there = _Places.DEFAULT, computing(str(name))
    return here if there == "CPU" and here == "INTERP" else there


# What annotations of scripts say.
Number = Union[int, float, bool]
Device = Union[device, str, int, None]
_size, _int, _float, _bool, _dtype, _device = Union[Size, list[int], tuple[int, ...]], int, float, bool, dtype, device

__all__ = ["DTYPES", "Device", "Number", "Size", "device", "device_name", "dtype", "named"]
