"""What the files of the Tensor class share: handles in and out of the C core, conversion of arguments.

A Tensor is a handle `_h` (an address) and its graph `_g`. Every method is a call that gives a new handle, wrapped by `wrap`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _signatures as sig
from ._ffi import C, KindError, Release, describe, handle_array, int64_array, int_array, raw, whole
from .autograd import AutogradGraph, current
from .dtypes import DType, dtypes, to_dtype
from .symbolic import Dim, Variable, dim_code

if TYPE_CHECKING:
    from .tensor import Tensor
else:
    Tensor = None  # set by tensor.py

_new = object.__new__
# Their operations are constants; the number of a scalar is checked where it is given.
_unary, _binary_scalar = raw("poly_unary"), raw("poly_binary_scalar")
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


def wrap(g: AutogradGraph, h: int | None) -> Tensor:
    """A tensor out of nothing that owns handle h, of the class that g makes; raises the core's error if there is no handle."""
    if h is None:
        g.fail()
    t = _new(g.made)
    t._h = h
    t._g = g
    return t


def like(x: Any, h: int | None, *others: Any) -> Tensor:
    """A result that owns handle h. Its class is that of the operands: x and others, of which those that are no tensors do not count."""
    if h is None:
        x._g.fail()
    kind = x._kind
    for other in others:
        if other is not None and other.__class__ is not kind:
            kind = kind_of(x, *others)
            break
    t = _new(kind)
    t._h = h
    t._g = x._g
    return t


def kind_of(*operands: Any) -> Any:
    """The class of what is computed from operands: that of the tensors among them, and the derived one of a class and its subclass."""
    kind: Any = None
    for x in operands:
        k = getattr(x, "_kind", None)
        if k is not None and k is not kind and (kind is None or issubclass(k, kind)):
            kind = k
    return kind


# ---- arguments ----


def argfix(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """f(1, 2) and f((1, 2)) are the same."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        return tuple(args[0])
    return args


def sizes(g: AutogradGraph, values: Iterable[Any]) -> Any:
    """Sizes as a C array; they may be symbolic."""
    return int64_array([v if v.__class__ is int and -2 < v <= INT64_MAX else dim_code(v, g) for v in values])


def axes(axis: Any) -> tuple[int, Any]:
    """Number and C array of the axes of a reduction; (0, None) means all."""
    if axis is None:
        return 0, None
    if axis.__class__ is int:
        return 1, int_array((axis,))
    values = tuple(axis) if isinstance(axis, (tuple, list)) else (whole(axis, "i", "axis"),)
    return len(values), int_array(values)


def make_tuple(x: Any, n: int) -> tuple[Any, ...]:
    """n numbers out of one number or n of them."""
    if isinstance(x, (tuple, list)):
        if len(x) != n:
            raise ValueError(f"{n} numbers are needed, got {tuple(x)}")
        return tuple(x)
    return (x,) * n


def handles(tensors: Iterable[Any]) -> Any:
    return handle_array([t._h for t in tensors])


def reduction_code(name: str) -> bytes:
    try:
        return {"mean": b"m", "sum": b"s", "none": b"n"}[name]
    except KeyError:
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', not {name!r}") from None


# ---- values of other kinds ----


def scalar_kind(x: Any) -> Any:
    """A Python number out of one of Python's or numpy's; None if x is none."""
    if isinstance(x, (bool, int, float)):
        return x
    if isinstance(x, np.generic) and x.dtype.kind in "biuf":
        return x.item()
    return None


def same_graph(a: Any, b: Any) -> None:
    if a._g is not b._g:
        raise RuntimeError(
            "tensors of two graphs cannot be mixed: one was made inside another with_autograd_graph() or thread; pass its values with .numpy()"
        )


def operand(like: Any, x: Any, dtype: DType | None = None) -> Tensor:
    """x as a tensor of like's graph; numbers take like's dtype where that can hold them."""
    if isinstance(x, Tensor):
        same_graph(like, x)
        return x
    number = scalar_kind(x)
    if number is not None:
        return scalar(like._g, number, dtype or number_dtype(like.dtype, number))
    if isinstance(x, (np.ndarray, list, tuple)):
        return from_values(like._g, x, dtype)
    raise KindError(f"a tensor or a number is needed, not {describe(x)}")


def number_dtype(d: DType, number: Any) -> DType:
    """The dtype of a number combined with a tensor of dtype d."""
    if number.__class__ is bool or d.kind == "f":
        return d
    if isinstance(number, (int, np.integer)):
        return dtypes.default_int if d.kind == "b" else d
    return dtypes.default_float


def int_bits(number: int, d: DType) -> int:
    """An integer as the core takes it for dtype d: the upper half of uint64 is passed as the negative number of the same bits."""
    if number > INT64_MAX and d == dtypes.uint64:
        return whole(number, "L", "a uint64") - (1 << 64)
    return whole(number, "l", f"a number with {d.name}")


def int_value(number: int, d: DType) -> int:
    """An integer that is to be the value of a tensor of dtype d, as the core takes it; OverflowError if it does not fit."""
    bits = 8 * d.itemsize
    low, high = (0, (1 << bits) - 1) if d.kind == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if d.kind != "b" and not low <= number <= high:
        raise OverflowError(f"{number} does not fit {d.name}, which holds {low} to {high}")
    return int(number != 0) if d.kind == "b" else int_bits(number, d)


def past_double(number: Any, d: DType) -> bool:
    """Whether a number beside integers of dtype d is one that a double does not hold exactly: functions that take a double have another way then."""
    return d.kind in "iu" and isinstance(number, (int, np.integer)) and abs(int(number)) > 1 << 53


def scalar(g: AutogradGraph, number: Any, d: DType) -> Tensor:
    """A tensor without axes."""
    if number.__class__ is Dim and number.graph is g and d.kind != "b":
        return binary_other(sig.POLY_ADD, wrap(g, C.poly_scalar(g.ptr, d.code, 0.0)), number, False)
    if isinstance(number, int) and d.kind != "f":
        return wrap(g, C.poly_full_int(g.ptr, d.code, 0, None, int_value(number, d)))
    return wrap(g, C.poly_scalar(g.ptr, d.code, float(number)))


_borrowed: dict[int, Any] = {}  # numpy arrays whose memory tensors use, by a number of ours


@Release
def _release(key: Any, pop: Any = _borrowed.pop) -> None:
    pop(key, None)


# Never freed: tensors that outlive this module, at the end of the interpreter, still call it.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_release))

_key = 0


def from_numpy(g: AutogradGraph, a: np.ndarray, copy: bool = False) -> Tensor:
    """A tensor on the array's own memory where that is possible, else on a copy: always on a GPU."""
    global _key
    d = to_dtype(a.dtype)
    shape = int64_array(a.shape)
    flags = a.flags
    if copy or not (flags.c_contiguous and flags.aligned and flags.writeable and a.dtype.isnative):
        a = np.array(a, dtype=d.np, order="C")
    if a.size == 0 or not g.borrows:
        return wrap(g, C.poly_from_data(g.ptr, a.ctypes.data, d.code, a.ndim, shape))
    _key += 1
    _borrowed[_key] = a
    h = C.poly_from_borrowed(g.ptr, a.ctypes.data, d.code, a.ndim, shape, _release, _key)
    if h is None:
        _borrowed.pop(_key, None)
    return wrap(g, h)


def copied(g: AutogradGraph, a: np.ndarray) -> Tensor:
    """A tensor with the values of a contiguous array, in memory of its own."""
    return wrap(g, C.poly_from_data(g.ptr, a.ctypes.data, to_dtype(a.dtype).code, a.ndim, int64_array(a.shape)))


def _contains_tensor(x: Any) -> bool:
    return any(isinstance(v, Tensor) or (isinstance(v, (list, tuple)) and _contains_tensor(v)) for v in x)


def from_values(g: AutogradGraph, data: Any, dtype: DType | None = None) -> Tensor:
    """A tensor out of a number, a nested list, bytes or an array."""
    if isinstance(data, np.ndarray):
        if dtype is None or dtype.np == data.dtype:
            return from_numpy(g, data)
        return wrap(g, C.poly_cast(from_numpy(g, data, copy=True), dtype.code))
    if isinstance(data, (list, tuple)):
        if _contains_tensor(data):
            parts = [v if isinstance(v, Tensor) else from_values(g, v) for v in data]
            t = like(parts[0], C.poly_stack(handles(parts), len(parts), 0), *parts)
            return t if dtype is None else like(t, C.poly_cast(t._h, dtype.code))
        d = dtype or _list_dtype(data)
        try:
            a = np.array(data, dtype=d.np or np.float32)
        except OverflowError:  # whole numbers that the dtype does not hold keep their lower bits
            a = np.array(data).astype(d.np)
        except ValueError:
            raise ValueError("the rows of a nested list must have the same length") from None
        t = from_numpy(g, a)
        return t if d.np is not None else wrap(g, C.poly_cast(t._h, d.code))
    if isinstance(data, (bytes, bytearray, memoryview)):
        a = np.frombuffer(data, dtype=(dtype or dtypes.uint8).np)
        return from_numpy(g, a, copy=True)
    if isinstance(data, np.generic):
        return scalar(g, data.item(), dtype or to_dtype(data.dtype))
    number = scalar_kind(data)
    if number is None:
        raise KindError(f"a tensor cannot be made out of a {type(data).__name__}")
    return scalar(g, number, dtype or dtypes.from_py(number))


def _list_dtype(data: Any) -> DType:
    """Bools give bool, whole numbers int32, anything with a float float32; numpy's own types stay."""
    a = np.array(data)
    if a.dtype.kind == "O":
        if any(isinstance(v, int) and not INT64_MIN <= v < 1 << 64 for v in a.flat):
            raise OverflowError("a whole number in a list does not fit 64 bits")
        raise ValueError("the rows of a nested list must have the same length and hold numbers")
    flat = data
    while isinstance(flat, (list, tuple)) and flat:
        flat = flat[0]
    if isinstance(flat, (np.ndarray, np.generic)):
        return to_dtype(a.dtype)
    if a.size == 0 or a.dtype.kind == "f":
        return dtypes.default_float
    return dtypes.bool if a.dtype.kind == "b" else dtypes.default_int


# ---- calls ----


def unary(op: int, x: Any) -> Tensor:
    h = _unary(op, x._h)
    if h is None:
        x._g.fail()
    t = _new(x._kind)
    t._h = h
    t._g = x._g
    return t


def binary(op: int, a: Any, b: Any) -> Tensor:
    """a OP b where a is a tensor and b a tensor, a number or an array."""
    g = a._g
    kind = a._kind
    if isinstance(b, Tensor):
        if b._g is not g:
            same_graph(a, b)
        if b._kind is not kind:
            kind = kind_of(a, b)
        h = kind._binary(op, a._h, b._h)
    elif b.__class__ is float:
        h = _binary_scalar(op, a._h, b"f", 0, b, False)
    elif b.__class__ is int and INT64_MIN <= b <= INT64_MAX:
        h = _binary_scalar(op, a._h, kind._whole, b, 0.0, False)
    else:
        return binary_other(op, a, b, False)
    if h is None:
        g.fail()
    t = _new(kind)
    t._h = h
    t._g = g
    return t


def binary_other(op: int, a: Any, b: Any, reverse: bool) -> Tensor:
    """The rarer cases of binary: other kinds of numbers, arrays, subclasses, the number on the left."""
    number = scalar_kind(b)
    if number is not None:
        if number.__class__ is Dim and number.graph is a._g:
            h = _binary_scalar(op, a._h, b"s", number.code, 0.0, reverse)
        elif number.__class__ is bool:
            h = _binary_scalar(op, a._h, b"b", int(number), 0.0, reverse)
        elif isinstance(number, int) and (a.dtype.kind != "f" or INT64_MIN <= number <= INT64_MAX):
            h = _binary_scalar(op, a._h, a._whole if number <= INT64_MAX else b"u", int_bits(number, a.dtype), 0.0, reverse)
        else:
            h = _binary_scalar(op, a._h, b"f", 0, float(number), reverse)
        return like(a, h)
    other = operand(a, b)
    kind = kind_of(a, other)
    return like(a, kind._binary(op, other._h, a._h) if reverse else kind._binary(op, a._h, other._h), b)


def operator(op: int) -> Any:
    """The function behind `a + b`; NotImplemented for what is neither tensor, number nor array."""

    def method(self: Any, other: Any) -> Any:
        g = self._g
        kind = self._kind
        if other.__class__ is kind:
            if other._g is not g:
                same_graph(self, other)
            h = kind._binary(op, self._h, other._h)
            if h is None:
                g.fail()
            t = _new(kind)
            t._h = h
            t._g = g
            return t
        return binary(op, self, other) if accepted(other) else NotImplemented

    return method


def reflected(op: int) -> Any:
    """The function behind `2 + a`."""

    def method(self: Any, other: Any) -> Any:
        if other.__class__ is float:
            return like(self, _binary_scalar(op, self._h, b"f", 0, other, True))
        if other.__class__ is int and INT64_MIN <= other <= INT64_MAX:
            return like(self, _binary_scalar(op, self._h, self._kind._whole, other, 0.0, True))
        return binary_other(op, self, other, True) if accepted(other) else NotImplemented

    return method


_KINDS = {"b": 0, "i": 1, "u": 1, "f": 2}


def in_place(op: int) -> Any:
    """The function behind `a += b`: a's own memory gets the result. One that a's kind of numbers does not hold is an error, not rounded."""

    def method(self: Any, other: Any) -> Any:
        if not accepted(other):
            return NotImplemented
        result = binary(op, self, other)
        if _KINDS[result.dtype.kind] > _KINDS[self.dtype.kind]:
            raise KindError(f"the result is {result.dtype.name}, which {self.dtype.name} in place does not hold: write x = x + y for x += y")
        return self.assign(result)

    return method


def accepted(x: Any) -> bool:
    return isinstance(x, (Tensor, int, float, np.ndarray, np.generic, list, tuple))


__all__ = [
    "C", "Dim", "DType", "AutogradGraph", "Tensor", "Variable", "argfix", "axes", "binary", "current", "dtypes", "handles",
    "kind_of", "like", "make_tuple", "operand", "reduction_code", "same_graph", "sig", "sizes", "to_dtype", "unary", "wrap",
]  # fmt: skip
