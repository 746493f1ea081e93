"""Loads libpolygrad and binds its functions as `C.poly_...`, with the types of _signatures.py.

Every argument that is not a pointer is checked on its way into C: ctypes alone would cut integers to their lowest bits and take an
object's address for a number. Pointers are checked behind the boundary: the library knows its live handles.

Which library: POLYGRAD_LIB if it is set, else the one inside the package (a wheel), else build/libpolygrad.so beside the
repository (an editable install).
"""

from __future__ import annotations

import ctypes
import operator
import os
import struct
import sys
from typing import Any

from . import _signatures as sig

_TYPES: dict[str, Any] = {
    "v": None,
    "b": ctypes.c_bool,
    "c": ctypes.c_char,
    "i": ctypes.c_int,
    "l": ctypes.c_int64,
    "L": ctypes.c_uint64,
    "z": ctypes.c_size_t,
    "d": ctypes.c_double,
    "s": ctypes.c_char_p,
    "p": ctypes.c_void_p,
}


# Smallest and largest value of an integer code.
_RANGES = {"i": (-(1 << 31), (1 << 31) - 1), "l": (-(1 << 63), (1 << 63) - 1), "L": (0, (1 << 64) - 1), "z": (0, (1 << 64) - 1)}
_AXES = frozenset(("axis", "axes", "order", "first", "last", "index", "start", "stop"))  # too large is out of range, as for a list


def describe(value: Any) -> str:
    """An object as the text of an error names it."""
    shape = getattr(value, "shape", None)
    kind = type(value).__name__
    if isinstance(shape, tuple) and kind != "function":
        return f"a {kind} of shape {shape}"
    return f"{value!r}" if isinstance(value, (float, str, bytes, complex)) else f"a {kind}"


def integer(value: Any, name: str) -> int:
    """value as an integer of any size; raises if it is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {describe(value)}") from None


def whole(value: Any, code: str, name: str) -> int:
    """value as an integer that its C type can hold; raises if it is none."""
    number = integer(value, name)
    low, high = _RANGES[code]
    if low <= number <= high:
        return number
    if name in _AXES:
        raise IndexError(f"{name} {number} is out of range")
    raise OverflowError(f"{name}: {number} is not between {low} and {high}")


def real(value: Any, name: str) -> float:
    """value as a double."""
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} must be a number, not {describe(value)}")


def text(value: Any, name: str) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    raise TypeError(f"{name} must be a text, not {describe(value)}")


def _check(code: str, at: str, name: str) -> str:
    """The statement that checks one argument; nothing for codes that ctypes checks itself."""
    if code in _RANGES:
        low, high = _RANGES[code]
        return f"    if {at}.__class__ is not int or not {low} <= {at} <= {high}: {at} = whole({at}, {code!r}, {name!r})\n"
    if code == "d":
        return f"    if {at}.__class__ is not float: {at} = real({at}, {name!r})\n"
    if code == "b":
        return f"    if {at}.__class__ is not bool: {at} = bool({at})\n"
    return f"    if {at}.__class__ is not bytes: {at} = text({at}, {name!r})\n" if code == "s" else ""


def _checked(function: Any, codes: str, names: list[str]) -> Any:
    """function behind the checks of its arguments."""
    given = ", ".join(f"a{k}" for k in range(len(codes)))
    body = "".join(_check(code, f"a{k}", name) for k, (code, name) in enumerate(zip(codes, names)))
    if not body:
        return function
    scope = {"call": function, "whole": whole, "real": real, "text": text}
    exec(f"def checked({given}):\n{body}    return call({given})\n", scope)
    return scope["checked"]


class Functions:
    """The functions of the C API, an attribute each, bound when it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name not in sig.FUNCTIONS:
            raise AttributeError(name)
        _, codes, names = sig.FUNCTIONS[name]
        function = _checked(raw(name), codes, names.split())
        setattr(self, name, function)
        return function


def raw(name: str) -> Any:
    """A function of the library without the checks: for calls whose numbers are constants of this package."""
    result, codes, _ = sig.FUNCTIONS[name]
    try:
        function = getattr(_library, name)
    except AttributeError:
        raise NotImplementedError(f"{library_path} has no function {name}: it is older than the package") from None
    function.restype = _TYPES[result]
    function.argtypes = [_TYPES[code] for code in codes]
    return function


def _candidates() -> list[str]:
    given = os.environ.get("POLYGRAD_LIB")
    if given:
        return [given]
    here = os.path.dirname(os.path.abspath(__file__))
    suffix = "dylib" if sys.platform == "darwin" else "so"
    name = f"libpolygrad.{suffix}"
    return [os.path.join(here, name), os.path.join(here, "..", "..", "build", name)]


def _open(path: str) -> ctypes.CDLL:
    """Loads the library. Between parallel regions GNU OpenMP's threads wait actively for milliseconds, which slows down what runs on
    one thread meanwhile; it reads how long when it is loaded. Unless the user has chosen, that is made short, for this library alone."""
    chosen = "OMP_WAIT_POLICY" in os.environ or "GOMP_SPINCOUNT" in os.environ
    if chosen:
        return ctypes.CDLL(path)
    os.environ["GOMP_SPINCOUNT"] = "3000"
    try:
        return ctypes.CDLL(path)
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def _load() -> tuple[ctypes.CDLL, str]:
    paths = _candidates()
    for path in paths:
        if os.path.exists(path):
            return _open(path), os.path.abspath(path)
    raise ImportError("libpolygrad was not found in " + " or ".join(paths) + ": build it with `make`, or set POLYGRAD_LIB to its path")


class _Struct(ctypes.Structure):
    """A struct of the C API whose integers are checked when they are set."""

    _integers: dict[str, str]

    def __setattr__(self, name: str, value: Any) -> None:
        code = self._integers.get(name)
        super().__setattr__(name, value if code is None else whole(value, code, name))


def struct_type(name: str) -> Any:
    """The ctypes class of a struct of the C API."""
    fields = []
    for field, code in sig.STRUCTS[name]:
        ctype = _TYPES[code[0]]
        fields.append((field, ctype * int(code[1:]) if len(code) > 1 else ctype))
    integers = {field: code for field, code in sig.STRUCTS[name] if code in _RANGES}
    return type(name, (_Struct,), {"_fields_": fields, "_integers": integers})


_library, library_path = _load()
C: Any = Functions()

PolyIndex: Any = struct_type("PolyIndex")
PolyKernelStat: Any = struct_type("PolyKernelStat")
PolyStoredStat: Any = struct_type("PolyStoredStat")
PolyOptimOptions: Any = struct_type("PolyOptimOptions")

# Array types by length, so that a call does not make a type.
INT64: list[Any] = [ctypes.c_int64 * n for n in range(33)]
_PACK = {code: [struct.Struct(f"{n}{kind}") for n in range(33)] for code, kind in (("l", "q"), ("i", "i"))}
Release: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class ShapeError(ValueError, RuntimeError, AssertionError):
    """Shapes or values that do not fit. A ValueError; PyTorch raises RuntimeError here and tinygrad asserts, and a script written for one of them may
    catch that."""


class KindError(TypeError, RuntimeError, ValueError):
    """Dtypes that do not fit. A TypeError; PyTorch raises RuntimeError here and tinygrad ValueError, and a script written for one of them may catch
    that."""


ERRORS: dict[int, type[Exception]] = {
    sig.POLY_ERROR_VALUE: ShapeError,
    sig.POLY_ERROR_TYPE: KindError,
    sig.POLY_ERROR_INDEX: IndexError,
    sig.POLY_ERROR_MEMORY: MemoryError,
    sig.POLY_ERROR_RUNTIME: RuntimeError,
    sig.POLY_ERROR_IO: OSError,
}


def _pack(values: Any, code: str, name: str) -> bytes:
    n = len(values)
    try:
        return (_PACK[code][n] if n < 33 else struct.Struct(f"{n}{'q' if code == 'l' else 'i'}")).pack(*values)
    except struct.error:
        return _pack([whole(v, code, name) for v in values], code, name)


def int64_array(values: Any, name: str = "size") -> bytes:
    """A C array of int64, to be read."""
    return _pack(values, "l", name)


def int_array(values: Any, name: str = "axis") -> bytes:
    """A C array of int, to be read."""
    return _pack(values, "i", name)


def handle_array(handles: Any) -> Any:
    """A C array of pointers."""
    return (ctypes.c_void_p * len(handles))(*handles)
