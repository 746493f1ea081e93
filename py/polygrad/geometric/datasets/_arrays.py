"""Files that many datasets share, read without trusting them: npy arrays, sparse matrices in npz archives, JSON, rows of text, masks."""

from __future__ import annotations

import csv
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...tensor import Tensor
from ._pickles import _read_npy, check_npz, check_rows, load_npz

PARTS = ("train_mask", "val_mask", "test_mask")


class Sparse(NamedTuple):
    """A sparse matrix by its entries, in the order of the file."""

    row: np.ndarray
    col: np.ndarray
    value: np.ndarray
    shape: tuple[int, int]

    def dense(self, path: str) -> np.ndarray:
        """As float32; entries that are there twice add up."""
        rows, cols = self.shape
        try:
            out = np.zeros(rows * cols if rows * cols <= 1 << 30 else -1, np.float32)
        except (ValueError, MemoryError):
            raise ValueError(f"{path}: a matrix of {rows} x {cols} is too large to be read densely") from None
        np.add.at(out, self.row * cols + self.col, float32(self.value))
        return out.reshape(rows, cols)


def load_npy(path: str, ndim: int | None = None, kinds: str = "biuf") -> np.ndarray:
    """An array of numbers in numpy's format; no objects, and not less content than the header says."""
    with open(path, "rb") as f:
        try:
            array = _read_npy(f, os.path.getsize(path))
        except (ValueError, EOFError, MemoryError, OverflowError) as e:
            raise ValueError(f"{path}: not an array that can be read: {e}") from None
    if (ndim is not None and array.ndim != ndim) or array.dtype.kind not in kinds:
        raise ValueError(f"{path}: an array of {array.dtype} {array.shape}, where {ndim} axes of the kind {kinds!r} are needed")
    return array


def names_in(path: str) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an npz archive by name."""
    check_npz(path)
    with zipfile.ZipFile(path) as z:
        return {i.filename[:-4]: i for i in z.infolist() if i.filename.endswith(".npy")}


def load_sparse(path: str) -> Sparse:
    """A sparse matrix as scipy's save_npz writes it: compressed rows or columns, or coordinates. Archives without a format hold rows."""
    found = names_in(path)
    kind = _format(path) if "format" in found else "csr"
    if kind == "coo":
        f = load_npz(path, ["row", "col", "data", "shape"])
        row, col, value, size = f["row"], f["col"], f["data"], f["shape"]
        ok = row.ndim == 1 and row.shape == col.shape == value.shape and size.shape == (2,) and row.dtype.kind in "iu" and col.dtype.kind in "iu"
        if not ok or (row.size and (row.min() < 0 or col.min() < 0 or row.max() >= size[0] or col.max() >= size[1])):
            raise ValueError(f"{path}: the entries of a sparse matrix do not fit its shape")
        return Sparse(row.astype(np.int64), col.astype(np.int64), value, (int(size[0]), int(size[1])))
    if kind not in ("csr", "csc"):
        raise ValueError(f"{path}: a sparse matrix in the format {kind!r} is not read")
    f = load_npz(path, ["data", "indices", "indptr", "shape"])
    size = f["shape"] if kind == "csr" else f["shape"][::-1]
    try:
        rows, cols = check_rows(f["data"], f["indices"], f["indptr"], size)
    except ValueError as e:
        raise ValueError(f"{path}: {e}") from None
    major, minor = np.repeat(np.arange(rows), np.diff(f["indptr"])), f["indices"].astype(np.int64)
    if kind == "csr":
        return Sparse(major, minor, f["data"], (rows, cols))
    return Sparse(minor, major, f["data"], (cols, rows))


def _format(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as z, z.open("format.npy") as f:
            return f.read(4096)[-3:].decode("ascii", "replace").strip("\x00")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as e:
        raise ValueError(f"{path}: cannot be read: {e}") from None


def load_json(path: str, *keys: str) -> Any:
    """What a JSON file holds; with keys, an object that has them."""
    try:
        with open(path, encoding="utf-8") as f:
            value = json.load(f)
    except (ValueError, RecursionError) as e:
        raise ValueError(f"{path}: not JSON: {e}") from None
    missing = [k for k in keys if not isinstance(value, dict) or k not in value]
    if missing:
        raise ValueError(f"{path}: there is no entry {missing[0]!r}")
    return value


def read_lines(path: str, encoding: str = "utf-8") -> list[str]:
    """The lines of a text that are not empty."""
    with open(path, encoding=encoding, errors="replace", newline="") as f:
        return [line.rstrip("\r\n") for line in f if line.strip()]


def read_rows(path: str, sep: str, width: int | None = None, encoding: str = "utf-8", skip: int = 0) -> list[list[str]]:
    """The words of each line. width: how many a line must have at least."""
    rows = [line.split(sep) for line in read_lines(path, encoding)[skip:]]
    for k, row in enumerate(rows):
        if width is not None and len(row) < width:
            raise ValueError(f"{path}: line {k + 1 + skip} has {len(row)} columns, {width} are needed")
    return rows


def read_csv(path: str, columns: Sequence[str] = (), encoding: str = "utf-8") -> tuple[list[str], list[list[str]]]:
    """The names of the first line and the rows below it, of a file with commas and quotes."""
    with open(path, encoding=encoding, errors="replace", newline="") as f:
        try:
            rows = [row for row in csv.reader(f) if row]
        except csv.Error as e:
            raise ValueError(f"{path}: {e}") from None
    head = rows[0] if rows else []
    missing = [c for c in columns if c not in head]
    if missing:
        raise ValueError(f"{path}: there is no column {missing[0]!r} among {head[:10]}")
    for k, row in enumerate(rows):
        if len(row) != len(head):
            raise ValueError(f"{path}: line {k + 1} has {len(row)} columns, the first has {len(head)}")
    return head, rows[1:]


def numbers(words: Iterable[Any], dtype: Any, path: str) -> np.ndarray:
    """Texts or values of a JSON file as numbers; an error names the file."""
    words = list(words)
    try:
        return np.array(words, dtype=np.dtype(dtype))
    except (ValueError, TypeError, OverflowError) as e:
        raise ValueError(f"{path}: numbers are needed: {e}") from None


def number_of(names: Iterable[str], table: dict[str, int], path: str, what: str = "node") -> np.ndarray:
    """The numbers of names that must be known."""
    names = list(names)
    unknown = next((n for n in names if n not in table), None)
    if unknown is not None:
        raise ValueError(f"{path}: the {what} {str(unknown)[:60]!r} is not known")
    return np.fromiter((table[n] for n in names), np.int64, len(names))


def one_hot(words: Sequence[str] | np.ndarray) -> np.ndarray:
    """A column of 0 and 1 for each different text or number, in their order."""
    kinds, place = np.unique(words if isinstance(words, np.ndarray) else np.array(words, dtype=str), return_inverse=True)
    if kinds.size * len(words) > 1 << 30:
        raise ValueError(f"{kinds.size} different values of {len(words)} rows are too many to be one-hot")
    out = np.zeros((len(words), kinds.size), np.float32)
    out[np.arange(len(words)), place.reshape(-1)] = 1
    return out


def mask_of(index: Any, n: int, path: str) -> Tensor:
    """A mask of n nodes out of their numbers."""
    at = numbers(index, np.int64, path).reshape(-1) if not isinstance(index, np.ndarray) else index.reshape(-1)
    if at.dtype.kind not in "iu" or (at.size and (at.min() < 0 or at.max() >= n)):
        raise ValueError(f"{path}: it names a node beyond the {n} that there are")
    out = np.zeros(n, bool)
    out[at] = True
    return Tensor(out)


def float32(array: np.ndarray) -> np.ndarray:
    """What float32 cannot hold becomes infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def tensor(array: np.ndarray, dtype: Any = None) -> Tensor:
    """A tensor of its own memory. What a narrower dtype cannot hold becomes infinite, as in a cast."""
    with np.errstate(over="ignore"):
        return Tensor(np.ascontiguousarray(array, dtype))


def same_rows(path: str, n: int, **arrays: np.ndarray) -> None:
    """All must have n rows."""
    for name, a in arrays.items():
        if a.ndim == 0 or a.shape[0] != n:
            raise ValueError(f"{path}: {name} has the shape {list(a.shape)}, {n} rows are needed")


__all__ = [
    "PARTS", "Sparse", "load_json", "load_npy", "load_sparse", "mask_of", "names_in", "number_of", "numbers", "one_hot", "read_csv", "read_lines",
    "read_rows", "same_rows", "tensor",
]  # fmt: skip
