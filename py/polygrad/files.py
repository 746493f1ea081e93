"""Tensors in files: `device="DISK:path"`, as in tinygrad.

Such a tensor is the file mapped into memory: only pages that are used are read, and its parts are read like those of any other tensor. What is
assigned to it, or to a part of it, is written to the file at once. Graphs that compute on a GPU have a copy there, which is written back.
"""

from __future__ import annotations

import math
import os
import weakref
from typing import Any

import numpy as np

from ._core import AutogradGraph, C, from_numpy
from .dtypes import DType

opened: list[weakref.ref[Any]] = []  # the tensors that are files and can be written to


def path_of(device: Any) -> str | None:
    """The path in "DISK:path"; None: another device."""
    return device[5:] if isinstance(device, str) and device[:5].upper() == "DISK:" else None


def file_tensor(g: AutogradGraph, path: str, shape: tuple[int, ...], d: DType) -> Any:
    """The first elements of a file, which is made or made longer if need be."""
    size = math.prod(shape) * d.itemsize
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as f:
        if os.fstat(f.fileno()).st_size < size:
            f.truncate(size)
    whole = d.np if d.np is not None else np.dtype(f"u{d.itemsize}")  # numpy lacks some floats
    memory = np.memmap(path, whole, "r+", shape=shape) if size else np.empty(shape, whole)
    base = from_numpy(g, memory)
    t = base if d.np is not None else base.bitcast(d)
    is_file(t, (path, memory, base))
    return t


def is_file(t: Any, file: tuple[Any, ...]) -> None:
    """t is a file from now on: its path; the memory it is mapped to and the tensor on that, if it can be written to."""
    t._file = file
    if len(file) > 1:
        opened.append(weakref.ref(t, opened.remove))


def copy_to_file(x: Any, path: str) -> Any:
    """x in a file, where it takes the place of what is there."""
    if os.path.exists(path):
        os.truncate(path, x.dtype.itemsize * math.prod(x.shape))
    t = file_tensor(x._g, path, tuple(int(n) for n in x.shape), x.dtype)
    t.assign(x)
    return t


def write_out(t: Any) -> None:
    """Called after an assignment: if t shows a part of a file, that is written now."""
    for held in tuple(opened):
        whole = held()
        if whole is None or whole._g is not t._g or (whole is not t and not C.poly_depends_on(t._h, whole._h)):
            continue
        _, memory, base = whole._file
        base.realize(t)
        if not t._g.borrows or C.poly_data(base._h) != memory.ctypes.data:  # realize copies memory that a view shares
            memory[...] = base.numpy()
