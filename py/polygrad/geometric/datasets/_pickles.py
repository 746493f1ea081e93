"""Pickles of arrays, sparse matrices and dicts, without running what is in them.

Only a few names are known, and each stands for a class of this file that takes its state as data and checks it: neither numpy's nor scipy's
own unpickling code is called, and any other name is an error.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from typing import Any

import numpy as np

LIMIT = 4 << 30  # bytes of an array, once it is dense


class _DType:
    def __init__(self, code: Any = "", align: Any = False, copy: Any = False):
        self.code = code if isinstance(code, str) else ""
        self.order = "|"

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">", "|", "="):
            self.order = state[1]

    def numpy(self) -> Any:
        if len(self.code) < 2 or self.code[0] not in "biuf" or not self.code[1:].isdigit() or int(self.code[1:]) not in (1, 2, 4, 8):
            raise pickle.UnpicklingError(f"arrays of the type {self.code!r} are not read")
        order: Any = self.order
        return np.dtype(self.code).newbyteorder(order)


class _Array:
    def __init__(self, *ignored: Any):
        self.array: np.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[2], _DType):
            raise pickle.UnpicklingError("the state of an array is not one")
        _, shape, dtype, fortran, content = state
        if isinstance(content, str):
            content = content.encode("latin1")
        if not isinstance(content, bytes) or not isinstance(shape, tuple) or not all(isinstance(s, int) and s >= 0 for s in shape):
            raise pickle.UnpicklingError("the state of an array is not one")
        d = dtype.numpy()
        size = d.itemsize
        for s in shape:
            size *= s
        if size != len(content):
            raise pickle.UnpicklingError(f"an array of shape {shape} needs {size} bytes, and has {len(content)}")
        self.array = np.frombuffer(content, d).reshape(shape, order="F" if fortran else "C").astype(d.newbyteorder("="), order="C")


class _Matrix:
    """A matrix in compressed rows."""

    def __init__(self, *ignored: Any):
        self.parts: dict[str, Any] = {}

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, dict):
            raise pickle.UnpicklingError("the state of a sparse matrix is not one")
        self.parts = state

    def dense(self) -> np.ndarray:
        shape = self.parts.get("_shape", self.parts.get("shape"))
        data, indices, indptr = (getattr(self.parts.get(name), "array", None) for name in ("data", "indices", "indptr"))
        if data is None or indices is None or indptr is None:
            raise pickle.UnpicklingError("a sparse matrix without data, indices or indptr")
        return dense_rows(data, indices, indptr, shape)


def dense_rows(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any, ones: bool = False) -> np.ndarray:
    """float32 matrix out of compressed rows, which are checked. ones: with 1 for all that is above 0."""
    rows, cols = check_rows(data, indices, indptr, shape)
    if rows * cols * 4 > LIMIT:
        raise ValueError(f"a matrix of {rows} x {cols} is too large to be read densely")
    out = np.zeros(rows * cols, np.float32)
    places = np.repeat(np.arange(rows) * cols, np.diff(indptr)) + indices
    out[places] = data
    seen = np.zeros(rows * cols, bool)
    seen[places] = True
    if np.count_nonzero(seen) != places.size:  # entries that are there twice add up
        out[places] = 0
        np.add.at(out, places, data.astype(np.float32))
    if ones:
        values = out[places]
        out[places] = np.where(values > 0, np.float32(1), values)
    return out.reshape(rows, cols)


def check_rows(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any) -> tuple[int, int]:
    """Numbers of rows and columns of a matrix in compressed rows; an error if its parts do not fit."""
    shape = tuple(int(s) for s in shape) if isinstance(shape, (tuple, list, np.ndarray)) and len(shape) == 2 else (-1, -1)
    if min(shape) < 0:
        raise ValueError("a sparse matrix needs two sizes")
    rows, cols = shape
    for name, a, kinds in (("data", data, "biuf"), ("indices", indices, "iu"), ("indptr", indptr, "iu")):
        if a.ndim != 1 or a.dtype.kind not in kinds:
            raise ValueError(f"{name} of a sparse matrix must be a vector of numbers, not {a.dtype} {a.shape}")
    if indptr.size != rows + 1 or indptr[0] != 0 or indptr[-1] != indices.size or data.size != indices.size or (np.diff(indptr) < 0).any():
        raise ValueError(f"the rows of a sparse matrix of {rows} x {cols} do not fit its {indices.size} entries")
    if indices.size and (indices.min() < 0 or indices.max() >= cols):
        raise ValueError(f"a sparse matrix of {cols} columns has an entry in column {int(indices.max() if indices.max() >= cols else indices.min())}")
    return rows, cols


class _Dict(dict):
    """A defaultdict, as data."""

    def __init__(self, *ignored: Any):
        super().__init__()


def _reconstruct(*ignored: Any) -> _Array:
    return _Array()


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """How older protocols write bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("bytes that are not written as such")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """How older protocols write bytes of length 0."""
    return b""


class _Known:
    """A name that may occur, but is not to be called."""


_NAMES: dict[tuple[str, str], Any] = {("numpy", "ndarray"): _Known, ("numpy", "dtype"): _DType}
_NAMES |= {(m, "_reconstruct"): _reconstruct for m in ("numpy.core.multiarray", "numpy._core.multiarray")}
_NAMES |= {(m, "csr_matrix"): _Matrix for m in ("scipy.sparse.csr", "scipy.sparse._csr")}
_NAMES |= {("collections", "defaultdict"): _Dict, ("collections", "OrderedDict"): _Dict}
_NAMES |= {(m, "list"): _Known for m in ("__builtin__", "builtins")}
_NAMES |= {(m, "bytes"): _no_bytes for m in ("__builtin__", "builtins")}
_NAMES["_codecs", "encode"] = _encode


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _NAMES[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not among what such a file may hold") from None

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to something outside")


_DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError, MemoryError, OverflowError, RecursionError,
    ImportError, struct.error,
)  # fmt: skip


def load_pickle(path: str) -> Any:
    """An array (sparse matrices are made dense), a tuple of arrays, or a dict of lists of numbers. Anything else is an error that names the file."""
    with open(path, "rb") as f:
        content = f.read()
    try:
        value = _Unpickler(io.BytesIO(content), encoding="latin1").load()
        if isinstance(value, _Matrix):
            return value.dense()
        if isinstance(value, _Array) and value.array is not None:
            return value.array
        if isinstance(value, (tuple, list)) and value and all(isinstance(v, _Array) and v.array is not None for v in value):
            return tuple(v.array for v in value)
        if isinstance(value, dict):
            return _lists(value)
        raise pickle.UnpicklingError(f"it holds a {type(value).__name__.strip('_')}")
    except _DAMAGE as e:
        raise ValueError(f"{path}: not a file that can be read: {e or type(e).__name__}") from None


def _lists(value: dict[Any, Any]) -> dict[int, list[int]]:
    for k, v in value.items():
        if type(k) is not int or type(v) is not list or not all(type(x) is int for x in v):
            raise pickle.UnpicklingError("a graph must be a dict of lists of node numbers")
    return dict(value)


def check_npz(path: str) -> None:
    """An error for an archive that is none, or that would swell beyond measure."""
    import zipfile

    from ..data.extract import allowed

    try:
        with zipfile.ZipFile(path) as z:
            total = sum(entry.file_size for entry in z.infolist())
    except (zipfile.BadZipFile, NotImplementedError) as e:
        raise ValueError(f"{path}: not an npz archive: {e}") from None
    if total > allowed(os.path.getsize(path)):
        raise ValueError(f"{path}: its {total} bytes of content are much more than such a file should hold")


def load_npz(path: str, names: list[str], limit: int = LIMIT) -> dict[str, np.ndarray]:
    """Arrays of an npz archive by name. Arrays of objects, and headers that promise more than there is, are errors."""
    import zipfile
    import zlib

    check_npz(path)
    out = {}
    try:
        with zipfile.ZipFile(path) as z:
            for name in names:
                entry = z.getinfo(f"{name}.npy")
                with z.open(entry) as f:
                    out[name] = _read_npy(f, entry.file_size)
    except KeyError as e:
        raise ValueError(f"{path}: {e.args[0] if e.args else e}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error, OSError, MemoryError, NotImplementedError, RuntimeError) as e:
        raise ValueError(f"{path}: cannot be read: {e}") from None
    return out


def npy_header(f: Any, version: tuple[int, int]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an array; what numpy's parser of the header stumbles over is a ValueError."""
    import tokenize

    try:
        return np.lib.format.read_array_header_1_0(f) if version == (1, 0) else np.lib.format.read_array_header_2_0(f)
    except (tokenize.TokenError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError, OverflowError) as e:
        raise ValueError(f"the header of an array is damaged: {e}") from None


def _read_npy(f: Any, size: int) -> np.ndarray:
    version = np.lib.format.read_magic(f)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array in version {version} of the format")
    shape, fortran, dtype = npy_header(f, version)
    if dtype.hasobject or dtype.kind not in "biuf":
        raise ValueError(f"an array of {dtype} is not read")
    need = dtype.itemsize
    if any(s < 0 for s in shape):
        raise ValueError(f"an array of shape {shape}")
    for s in shape:
        need *= s
    if need > size:
        raise ValueError(f"an array of shape {shape} needs {need} bytes, and there are less than {size}")
    content = f.read(need)
    if len(content) != need:
        raise ValueError(f"an array of shape {shape} is cut off after {len(content)} of {need} bytes")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


__all__ = ["check_rows", "dense_rows", "load_npz", "load_pickle"]
