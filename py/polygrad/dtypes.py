"""Element types: `dtypes.float32` and friends, with tinygrad's names."""

from __future__ import annotations

import builtins
import math
import os
from typing import Any, ClassVar, Union

import numpy as np

from . import _signatures as sig
from . import autograd
from ._ffi import C, KindError
from .autograd import current

DTypeLike = Union["DType", str, np.dtype, type]


class DType:
    """An element type. Prints as `dtypes.float`; compares equal to its names ('float32', 'float') as well."""

    __slots__ = ("code", "name", "alias", "itemsize", "np", "fmt", "kind", "priority")

    def __init__(self, code: int, name: str, alias: str, itemsize: int, fmt: str | None, kind: str):
        self.code, self.name, self.alias, self.itemsize, self.fmt, self.kind = code, name, alias, itemsize, fmt, kind
        self.np = np.dtype(name) if fmt else None  # None: numpy has no such type
        self.priority = code

    @property
    def base(self) -> DType:
        """The type itself, as tinygrad's pointers and vectors have another one."""
        return self

    def scalar(self) -> DType:
        """The type itself: there are no vector types."""
        return self

    @property
    def bitsize(self) -> int:
        return 1 if self.kind == "b" else 8 * self.itemsize

    @property
    def min(self) -> Any:
        """Smallest value."""
        return False if self.kind == "b" else -math.inf if self.kind == "f" else int(np.iinfo(self.np).min)

    @property
    def max(self) -> Any:
        """Largest value."""
        return True if self.kind == "b" else math.inf if self.kind == "f" else int(np.iinfo(self.np).max)

    def __repr__(self) -> str:
        return f"dtypes.{self.alias}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other in (self.name, self.alias, repr(self))
        return self is other or (isinstance(other, DType) and self.code == other.code)

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: DType) -> bool:
        return self.code < other.code

    def __reduce__(self) -> Any:
        return to_dtype, (self.name,)


def _make(name: str, alias: str, itemsize: int, fmt: str | None, kind: str) -> DType:
    return DType(getattr(sig, f"POLY_{name.upper()}"), name, alias, itemsize, fmt, kind)


class _DTypesMeta(type):
    """Lets `dtypes.default_float = dtypes.float64` check what it is given. The default of whole numbers depends on the class of tensors that
    is being made: PyTorch's has int64."""

    _whole: DType

    @property
    def default_int(cls) -> DType:
        made = current().made
        return cls._whole if made is None or made._default_int is None else made._default_int

    def __setattr__(cls, key: str, value: Any) -> None:
        if key not in ("default_float", "default_int"):
            raise AttributeError(f"dtypes.{key} cannot be set")
        d = to_dtype(value)
        if d.kind not in ("f" if key == "default_float" else "iu"):
            raise TypeError(f"dtypes.{key} cannot be {d}")
        if key == "default_float":
            autograd.set_default_float(d.code)
        super().__setattr__("_whole" if key == "default_int" else key, d)


class dtypes(metaclass=_DTypesMeta):
    """The element types.

    >>> from polygrad import Tensor, dtypes
    >>> Tensor([1.0, 2.0]).dtype
    dtypes.float
    >>> Tensor([1.0, 2.0]).dtype == 'float32'
    True
    >>> Tensor([1, 2]).cast(dtypes.int8).dtype
    dtypes.char
    """

    bool: ClassVar[DType] = _make("bool", "bool", 1, "?", "b")
    int8: ClassVar[DType] = _make("int8", "char", 1, "b", "i")
    uint8: ClassVar[DType] = _make("uint8", "uchar", 1, "B", "u")
    int16: ClassVar[DType] = _make("int16", "short", 2, "h", "i")
    uint16: ClassVar[DType] = _make("uint16", "ushort", 2, "H", "u")
    int32: ClassVar[DType] = _make("int32", "int", 4, "i", "i")
    uint32: ClassVar[DType] = _make("uint32", "uint", 4, "I", "u")
    int64: ClassVar[DType] = _make("int64", "long", 8, "q", "i")
    uint64: ClassVar[DType] = _make("uint64", "ulong", 8, "Q", "u")
    fp8e4m3: ClassVar[DType] = _make("fp8e4m3", "fp8e4m3", 1, None, "f")
    fp8e5m2: ClassVar[DType] = _make("fp8e5m2", "fp8e5m2", 1, None, "f")
    float16: ClassVar[DType] = _make("float16", "half", 2, "e", "f")
    bfloat16: ClassVar[DType] = _make("bfloat16", "bfloat16", 2, None, "f")
    float32: ClassVar[DType] = _make("float32", "float", 4, "f", "f")
    float64: ClassVar[DType] = _make("float64", "double", 8, "d", "f")

    char, uchar, short, ushort, int, uint, long, ulong = int8, uint8, int16, uint16, int32, uint32, int64, uint64
    half, float, double = float16, float32, float64

    # What numbers in Python become, and integers where a result is floating point. Both can be set; the environment's DEFAULT_FLOAT and
    # DEFAULT_INT are their first values.
    default_float: ClassVar[DType] = float32
    _whole: ClassVar[DType] = int32  # default_int

    fp8s = (fp8e4m3, fp8e5m2)
    floats = (*fp8s, float16, bfloat16, float32, float64)
    uints = (uint8, uint16, uint32, uint64)
    sints = (int8, int16, int32, int64)
    ints = uints + sints
    all = (bool, int8, uint8, int16, uint16, int32, uint32, int64, uint64, fp8e4m3, fp8e5m2, float16, bfloat16, float32, float64)

    @staticmethod
    def is_float(d: DType) -> bool:  # type: ignore[valid-type]
        return d.kind == "f"

    @staticmethod
    def is_int(d: DType) -> bool:  # type: ignore[valid-type]
        return d.kind in "iu"

    @staticmethod
    def is_unsigned(d: DType) -> bool:  # type: ignore[valid-type]
        return d.kind == "u"

    @staticmethod
    def is_bool(d: DType) -> bool:  # type: ignore[valid-type]
        return d.kind == "b"

    @staticmethod
    def min(d: DType) -> Any:
        return d.min

    @staticmethod
    def max(d: DType) -> Any:
        return d.max

    @staticmethod
    def finfo(d: DType) -> tuple[Any, Any]:
        """Bits of the exponent and of the mantissa."""
        if d.kind != "f":
            raise ValueError(f"{d} is not a floating-point dtype")
        return {"fp8e4m3": (4, 3), "fp8e5m2": (5, 2), "float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}[d.name]

    @staticmethod
    def fields() -> dict[str, DType]:
        """All element types by their names, of which most have two.

        >>> dtypes.fields()["int8"], dtypes.fields()["char"]
        (dtypes.char, dtypes.char)
        """
        return {name: d for d in dtypes.all for name in (d.name, d.alias)}

    @staticmethod
    def as_const(val: Any, dtype: DType) -> Any:
        """A number as Python has it in a dtype; the tuple of several.

        >>> dtypes.as_const(2.7, dtypes.int32)
        2
        """
        if isinstance(val, tuple):
            return tuple(dtypes.as_const(v, dtype) for v in val)
        return _int(val) if dtype.kind in "iu" else _float(val) if dtype.kind == "f" else _bool(val)

    @staticmethod
    def from_py(x: Any) -> DType:
        """The type that a Python value, or a nested list of them, gets."""
        if isinstance(x, (list, tuple)):
            kinds = [dtypes.from_py(v) for v in x]
            return max(kinds, key=lambda d: d.code) if kinds else dtypes.default_float
        if x.__class__ is _bool:
            return dtypes.bool
        if isinstance(x, _int):
            return dtypes.default_int
        if isinstance(x, _float):
            return dtypes.default_float
        raise KindError(f"no dtype for {x!r} of type {type(x).__name__}")


_bool, _int, _float = builtins.bool, builtins.int, builtins.float

BY_CODE: list[DType] = sorted(dtypes.all, key=lambda d: d.code)
_BY_NAME: dict[str, DType] = {n: d for d in BY_CODE for n in (d.name, d.alias, repr(d))}
_BY_NAME |= {"float8_e4m3fn": dtypes.fp8e4m3, "float8_e5m2": dtypes.fp8e5m2}  # as PyTorch calls them
_BY_NUMPY: dict[Any, DType] = {d.np: d for d in BY_CODE if d.np is not None}


class UnknownDType(ValueError, AttributeError):
    """There is no dtype of this name. An AttributeError as well, because tinygrad looks names up as attributes of dtypes."""


class NoDType(TypeError, AttributeError):
    """Something that names no dtype at all. An AttributeError as well, as in tinygrad."""


def to_dtype(d: Any) -> DType:
    """DType out of a DType, a name, a numpy dtype or a Python type."""
    if isinstance(d, DType):
        return d
    if isinstance(d, np.dtype) and d in _BY_NUMPY:
        return _BY_NUMPY[d]
    if isinstance(d, str):
        found = _BY_NAME.get(d.lower())
        if found is None:
            raise UnknownDType(f"{d!r} is not a dtype: {', '.join(x.name for x in BY_CODE)} are")
        return found
    if d is _bool:
        return dtypes.bool
    if d is _int:
        return dtypes.default_int
    if d is _float:
        return dtypes.default_float
    try:
        found = _BY_NUMPY.get(np.dtype(d).newbyteorder("="))
    except TypeError:
        found = None
    if found is None:
        raise NoDType(f"{d} is not a dtype of tensors")
    return found


def least_upper_dtype(*ds: DType) -> DType:
    """Smallest dtype that all of them convert to."""
    code = ds[0].code
    for d in ds[1:]:
        code = C.poly_promote(code, d.code)
    return BY_CODE[code]


for _default in ("default_float", "default_int"):
    if os.environ.get(_default.upper()):
        setattr(dtypes, _default, os.environ[_default.upper()])
