"""MATLAB's files of version 5: matrices of numbers, dense and sparse, cells, structures and texts, plain or compressed. What else a file has is
passed over."""

from __future__ import annotations

import os
import struct
import zlib
from typing import Any

import numpy as np

from ..data.extract import allowed
from ._arrays import Sparse

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _PACKED = 14, 15
_CELL, _STRUCT, _TEXT, _SPARSE = 1, 2, 4, 5
_DEPTH = 20  # cells inside cells
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}


class _Parts:
    """The elements that lie one after the other in some bytes."""

    def __init__(self, content: bytes, order: str):
        self.content, self.order, self.at = content, order, 0

    def __bool__(self) -> bool:
        return self.at + 8 <= len(self.content)

    def next(self) -> tuple[int, bytes]:
        kind, size = struct.unpack_from(self.order + "II", self.content, self.at)
        if kind >> 16:  # a short one: type and size in four bytes, the content behind them
            kind, size = kind & 0xFFFF, kind >> 16
            start, end = self.at + 4, self.at + 8
            if size > 4:
                raise ValueError("a short element of more than 4 bytes")
        else:
            start = self.at + 8
            end = start + size if kind == _PACKED else start + (size + 7) // 8 * 8
        if start + size > len(self.content):
            raise ValueError(f"an element of {size} bytes, where {len(self.content) - start} are left")
        self.at = end
        return kind, self.content[start : start + size]

    def numbers(self) -> np.ndarray:
        kind, content = self.next()
        if kind not in _TYPES:
            raise ValueError(f"an element of the type {kind} where numbers are needed")
        dtype = np.dtype(self.order + _TYPES[kind])
        if len(content) % dtype.itemsize:
            raise ValueError("numbers that are cut off")
        return np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))


def _inner(parts: _Parts, depth: int) -> Any:
    kind, content = parts.next()
    if kind != _MATRIX:
        raise ValueError(f"an element of the type {kind} inside a cell or a structure")
    return _matrix(content, parts.order, depth + 1)[1] if content else None


def _fields(parts: _Parts, size: int, depth: int) -> list[dict[str, Any]]:
    """The structures of an array, each as a dict."""
    width, names = int(parts.numbers()[0]), parts.next()[1]
    if not 0 < width <= 64 or len(names) % width:
        raise ValueError("the fields of a structure are damaged")
    keys = [names[k : k + width].split(b"\0")[0].decode("latin1") for k in range(0, len(names), width)]
    out = []
    for _ in range(size):
        if not parts and keys:
            raise ValueError("a structure is cut off")
        out.append({key: _inner(parts, depth) for key in keys})
    return out


def _matrix(content: bytes, order: str, depth: int = 0) -> tuple[str, Any]:
    """Name and value: an array, a Sparse, a text, a list of the items of a cell column by column, a list of dicts for structures. None: unknown."""
    if depth > _DEPTH:
        raise ValueError("it is nested too deep")
    parts = _Parts(content, order)
    flags = parts.numbers()
    kind = int(flags[0]) & 0xFF
    shape = [int(s) for s in parts.numbers()]
    name = parts.next()[1].decode("latin1")
    if kind not in _CLASSES and kind not in (_CELL, _STRUCT, _TEXT, _SPARSE):
        return name, None
    size = 1
    for s in shape:
        size *= s
    if min(shape, default=-1) < 0 or len(shape) < 2:
        raise ValueError(f"{name!r} has the shape {shape}")
    if kind == _TEXT:
        code, letters = parts.next()
        return name, letters.decode({4: "utf-16-le" if order == "<" else "utf-16-be", 16: "utf-8", 17: "utf-16"}.get(code, "latin1"), "replace")
    if kind == _STRUCT:
        return name, _fields(parts, size, depth)
    if kind == _CELL:
        if size > len(content) // 8:
            raise ValueError(f"{name!r} of shape {shape} is cut off")
        return name, [_inner(parts, depth) for _ in range(size)]
    if kind == _SPARSE:
        row, start, value = parts.numbers(), parts.numbers(), parts.numbers()
        if start.size != shape[1] + 1 or start[0] != 0 or (np.diff(start) < 0).any() or start[-1] > min(row.size, value.size):
            raise ValueError(f"the columns of {name!r} do not fit")
        count = int(start[-1])
        row, value = row[:count].astype(np.int64), value[:count]
        if count and (row.min() < 0 or row.max() >= shape[0]):
            raise ValueError(f"an entry of {name!r} lies outside of its {shape[0]} rows")
        return name, Sparse(row, np.repeat(np.arange(shape[1]), np.diff(start)), value, (shape[0], shape[1]))
    values = parts.numbers()
    if values.size != size:
        raise ValueError(f"{name!r} of shape {shape} has {values.size} numbers")
    return name, values.astype(_CLASSES[kind]).reshape(shape, order="F")


def load_mat(path: str, names: list[str]) -> dict[str, Any]:
    """The named values of a file: arrays, Sparse, texts, lists (cells) and lists of dicts (structures)."""
    with open(path, "rb") as f:
        head, content = f.read(128), f.read()
    left = allowed(os.path.getsize(path))
    if len(head) < 128 or head[126:128] not in (b"IM", b"MI"):
        raise ValueError(f"{path}: not a MATLAB file of version 5")
    order = "<" if head[126:128] == b"IM" else ">"
    found: dict[str, Any] = {}
    try:
        elements = _Parts(content, order)
        while elements:
            kind, body = elements.next()
            if kind == _PACKED:
                packer = zlib.decompressobj()
                body = packer.decompress(body, left)
                left -= len(body)
                if packer.unconsumed_tail or left <= 0:
                    raise ValueError("its content is much larger than such a file should hold")
                kind, body = _Parts(body, order).next()
            if kind == _MATRIX:
                name, value = _matrix(body, order)
                if value is not None:
                    found[name] = value
    except (ValueError, struct.error, zlib.error, IndexError, OverflowError, MemoryError) as e:
        raise ValueError(f"{path}: damaged: {e}") from None
    missing = [n for n in names if n not in found]
    if missing:
        raise ValueError(f"{path}: there is no matrix {missing[0]!r}")
    return {n: found[n] for n in names}


__all__ = ["load_mat"]
