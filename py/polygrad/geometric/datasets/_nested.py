"""Pickles of nested lists, tuples and dicts of arrays, tensors, sparse matrices, numbers and texts, without running what is in them.

Adds to `_pickles` what sets of graphs hold: numpy scalars, arrays of objects, tensors of PyTorch, matrices by coordinates, and torch.save's files.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import zipfile
import zlib
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data.extract import allowed
from ._arrays import Sparse
from ._pickles import _DAMAGE, LIMIT, _Array, _DType, _Matrix, _Unpickler, check_rows, npy_header


class _Bytes:
    """The storage of a tensor that was pickled without torch.save: a file of torch.save inside the pickle, whose last bytes are the numbers."""

    def __init__(self, content: Any = b""):
        from ...nn.torch_file import torch_load

        if not isinstance(content, bytes):
            raise pickle.UnpicklingError("the storage of a tensor is not one")
        found = torch_load(io.BytesIO(content))
        dtype, size = getattr(getattr(found, "type", None), "dtype", None), getattr(found, "bytes", -1)
        if dtype is None or dtype.np is None or not 0 <= size <= len(content):
            raise pickle.UnpicklingError("the storage of a tensor is not one")
        self.values = np.frombuffer(content[len(content) - size :], dtype.np)


def _tensor(storage: Any = None, offset: Any = None, shape: Any = None, strides: Any = None, *ignored: Any) -> np.ndarray:
    lists = isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)
    if not isinstance(storage, _Bytes) or not lists or not all(type(v) is int and v >= 0 for v in (offset, *shape, *strides)):
        raise pickle.UnpicklingError("a tensor is damaged")
    values = storage.values
    last = offset + sum((s - 1) * t for s, t in zip(shape, strides))
    count = math.prod(shape)
    if count and (last >= values.size or count * values.itemsize > LIMIT):
        raise pickle.UnpicklingError(f"a tensor of shape {shape} lies beyond its {values.size} numbers")
    if not count:
        return np.zeros(shape, values.dtype)
    return np.lib.stride_tricks.as_strided(values[offset:], shape, [t * values.itemsize for t in strides]).copy()


def _scalar(dtype: Any = None, content: Any = None) -> Any:
    if isinstance(content, str):
        content = content.encode("latin1")
    if not isinstance(dtype, _DType) or not isinstance(content, bytes) or len(content) != dtype.numpy().itemsize:
        raise pickle.UnpicklingError("a number is damaged")
    return np.frombuffer(content, dtype.numpy())[0]


class _AnyArray(_Array):
    """Also arrays of objects, as lists."""

    items: list[Any] | None = None

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, tuple) and len(state) == 5 and isinstance(state[4], list):
            self.items = state[4]
        else:
            super().__setstate__(state)


class _AnyMatrix(_Matrix):
    """Rows or coordinates, not made dense."""

    def entries(self) -> Sparse:
        parts, shape = self.parts, self.parts.get("_shape", self.parts.get("shape"))
        data = getattr(parts.get("data"), "array", None)
        coords = parts.get("coords", (parts.get("row"), parts.get("col")))
        if data is not None and isinstance(coords, tuple) and len(coords) == 2 and all(hasattr(c, "array") for c in coords):
            row, col = (c.array for c in coords)
            bad = row is None or col is None or row.shape != data.shape or col.shape != data.shape or row.ndim != 1
            if bad or not isinstance(shape, tuple) or len(shape) != 2 or row.dtype.kind not in "iu" or col.dtype.kind not in "iu":
                raise pickle.UnpicklingError("a sparse matrix is damaged")
            size = tuple(int(s) for s in shape)
            if row.size and (row.min() < 0 or col.min() < 0 or row.max() >= size[0] or col.max() >= size[1]):
                raise pickle.UnpicklingError(f"an entry of a sparse matrix lies outside of its shape {size}")
            return Sparse(row.astype(np.int64), col.astype(np.int64), data, (size[0], size[1]))
        indices, indptr = (getattr(parts.get(name), "array", None) for name in ("indices", "indptr"))
        if data is None or indices is None or indptr is None:
            raise pickle.UnpicklingError("a sparse matrix without data or places")
        rows, cols = check_rows(data, indices, indptr, shape)
        return Sparse(np.repeat(np.arange(rows), np.diff(indptr)), indices.astype(np.int64), data, (rows, cols))


_MORE: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch.storage", "_load_from_bytes"): _Bytes,
    **{(m, "scalar"): _scalar for m in ("numpy.core.multiarray", "numpy._core.multiarray")},
    **{(m, "_reconstruct"): lambda *ignored: _AnyArray() for m in ("numpy.core.multiarray", "numpy._core.multiarray")},
    **{(m, "csr_matrix"): _AnyMatrix for m in ("scipy.sparse.csr", "scipy.sparse._csr")},
    **{(m, "coo_matrix"): _AnyMatrix for m in ("scipy.sparse.coo", "scipy.sparse._coo")},
}


class _NestedUnpickler(_Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _MORE[module, name] if (module, name) in _MORE else super().find_class(module, name)


def _plain(x: Any, depth: int = 0) -> Any:
    if depth > 20:
        raise pickle.UnpicklingError("it is nested too deep")
    if isinstance(x, _AnyArray):
        if x.items is not None:
            return [_plain(v, depth + 1) for v in x.items]
        if x.array is None:
            raise pickle.UnpicklingError("an array without content")
        return x.array
    if isinstance(x, _AnyMatrix):
        return x.entries()
    if isinstance(x, dict):
        return {k: _plain(v, depth + 1) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        values = [_plain(v, depth + 1) for v in x]
        return values if isinstance(x, list) else tuple(values)
    if x is None or isinstance(x, (bool, int, float, str, bytes, np.generic, np.ndarray)):
        return x
    raise pickle.UnpicklingError(f"it holds a {type(x).__name__.strip('_')}")


def load_nested(path: str, skip: int = 0) -> Any:
    """What a pickle holds, tensors as arrays. skip: bytes of another header before it. What is unknown or damaged is a ValueError."""
    with open(path, "rb") as f:
        f.seek(skip)
        content = f.read()
    try:
        return _plain(_NestedUnpickler(io.BytesIO(content), encoding="latin1").load())
    except _DAMAGE as e:
        raise ValueError(f"{path}: not a file that can be read: {e or type(e).__name__}") from None


def load_objects(path: str) -> Any:
    """An npy file of objects: a pickle behind the header."""
    with open(path, "rb") as f:
        try:
            version = np.lib.format.read_magic(f)
            npy_header(f, version)
        except (ValueError, EOFError) as e:
            raise ValueError(f"{path}: not an npy file: {e}") from None
        return load_nested(path, f.tell())


def load_torch(path: str) -> Any:
    """What torch.save wrote, with tensors of this library; of a file without tensors also numpy's arrays."""
    from ...nn.torch_file import torch_load

    try:
        return torch_load(path)
    except ValueError as e:
        content = _pickle_of(path)
        if content is None or b"numpy" not in content:
            raise
        try:
            return _plain(_NestedUnpickler(io.BytesIO(content), encoding="latin1").load())
        except _DAMAGE:
            raise e from None


def _pickle_of(path: str) -> bytes | None:
    """The pickle inside a file of torch.save."""
    try:
        with zipfile.ZipFile(path) as z:
            entry = next(i for i in z.infolist() if i.filename.endswith("/data.pkl"))
            return z.read(entry) if entry.file_size <= allowed(os.path.getsize(path)) else None
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, StopIteration):
        return None


def arrays(x: Any) -> Any:
    """Tensors in nested lists and dicts as arrays."""
    if isinstance(x, Tensor):
        return x.numpy()
    if isinstance(x, dict):
        return {k: arrays(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(arrays(v) for v in x)
    return x


__all__ = ["arrays", "load_nested", "load_objects", "load_torch"]
