"""Loads libpolygrad and binds its functions as `C.poly_...`, with the types of _signatures.py.

Which library: POLYGRAD_LIB if it is set, else the one inside the package (a wheel), else build/libpolygrad.so beside the
repository (an editable install).
"""

from __future__ import annotations

import ctypes
import os
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


class Functions:
    """The functions of the C API, an attribute each."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("poly_"):
            raise AttributeError(name)
        raise NotImplementedError(f"{library_path} has no function {name}: it is older than the package")


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


def _bind(library: ctypes.CDLL) -> Any:
    table = Functions()
    for name, (result, arguments) in sig.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            continue  # an older library: a call to it says so
        function.restype = _TYPES[result]
        function.argtypes = [_TYPES[a] for a in arguments]
        setattr(table, name, function)
    return table


def _struct(name: str) -> Any:
    fields = []
    for field, code in sig.STRUCTS[name]:
        ctype = _TYPES[code[0]]
        fields.append((field, ctype * int(code[1:]) if len(code) > 1 else ctype))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


_library, library_path = _load()
C: Any = _bind(_library)

PolyIndex: Any = _struct("PolyIndex")
PolyKernelStat: Any = _struct("PolyKernelStat")
PolyStoredStat: Any = _struct("PolyStoredStat")

# Array types by length, so that a call does not make a type.
INT64: list[Any] = [ctypes.c_int64 * n for n in range(33)]
INT: list[Any] = [ctypes.c_int * n for n in range(33)]
Release: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

ERRORS: dict[int, type[Exception]] = {
    sig.POLY_ERROR_VALUE: ValueError,
    sig.POLY_ERROR_TYPE: TypeError,
    sig.POLY_ERROR_INDEX: IndexError,
    sig.POLY_ERROR_MEMORY: MemoryError,
    sig.POLY_ERROR_RUNTIME: RuntimeError,
    sig.POLY_ERROR_IO: OSError,
}


def int64_array(values: Any) -> Any:
    """A C array of int64."""
    n = len(values)
    return (INT64[n] if n < 33 else ctypes.c_int64 * n)(*values)


def int_array(values: Any) -> Any:
    """A C array of int."""
    n = len(values)
    return (INT[n] if n < 33 else ctypes.c_int * n)(*values)


def handle_array(handles: Any) -> Any:
    """A C array of pointers."""
    return (ctypes.c_void_p * len(handles))(*handles)
