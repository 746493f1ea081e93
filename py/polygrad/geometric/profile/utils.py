"""Sizes of models and data, in bytes."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..._ffi import C
from ...nn.state import get_parameters, get_state_dict, safe_save
from ...tensor import Tensor


def count_parameters(model: Any) -> int:
    """How many numbers of a model are trained.

    >>> from polygrad.geometric.nn import GCNConv
    >>> from polygrad.geometric.profile import count_parameters
    >>> count_parameters(GCNConv(4, 8))
    40
    """
    return sum(int(np.prod(p.shape)) for p in get_parameters(model) if p.requires_grad)


def get_model_size(model: Any) -> int:
    """Bytes of a safetensors file of a model's state.

    >>> from polygrad.geometric.nn import GCNConv
    >>> from polygrad.geometric.profile import get_model_size
    >>> get_model_size(GCNConv(4, 8)) > 40 * 4
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.safetensors")
        safe_save(get_state_dict(model), path)
        return os.path.getsize(path)


def _bytes(value: Any, seen: set[int]) -> int:
    if isinstance(value, (Tensor, np.ndarray)):
        place = (C.poly_memory_id(value._h) if isinstance(value, Tensor) else value.ctypes.data) or id(value)
        if place in seen:
            return 0
        seen.add(place)
        return tensor_bytes(value) if isinstance(value, Tensor) else int(value.nbytes)
    if hasattr(value, "sparse_sizes"):  # in compressed rows: where each begins, columns, values
        if id(value) in seen:
            return 0
        seen.add(id(value))
        rowptr, col, entries = value.csr()
        return tensor_bytes(rowptr) + tensor_bytes(col) + _bytes(entries, seen)
    if isinstance(value, Mapping):
        return sum(_bytes(v, seen) for v in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return sum(_bytes(v, seen) for v in value)
    return 0


def tensor_bytes(t: Tensor) -> int:
    """Bytes of a tensor's values."""
    return int(np.prod([int(n) for n in t.shape], dtype=np.int64)) * t.dtype.itemsize


def get_data_size(data: Any) -> int:
    """Bytes of all tensors of a Data or HeteroData; memory that several share counts once.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.profile import get_data_size
    >>> x = Tensor.ones(10, 8).contiguous().realize()
    >>> get_data_size(Data(x=x, y=x))
    320
    """
    seen: set[int] = set()
    return sum(_bytes(store._mapping, seen) for store in data.stores)


def get_cpu_memory_from_gc() -> int:
    """Bytes of all tensors with values in memory that are alive.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.profile import get_cpu_memory_from_gc
    >>> before = get_cpu_memory_from_gc()
    >>> x = Tensor.rand(100, 10).realize()
    >>> get_cpu_memory_from_gc() - before >= 4000
    True
    """
    # Tensors have no references that the collector follows, so it does not track them: they are found in what it does track.
    seen: set[int] = set()
    total = 0
    for t in _tensors():
        if t._h and t._g.ptr and t.is_realized:
            total += _bytes(t, seen)
    return total


def _tensors() -> list[Tensor]:
    found = {id(o): o for o in gc.get_objects() if isinstance(o, Tensor)}
    return list(found.values())


__all__ = ["count_parameters", "get_cpu_memory_from_gc", "get_data_size", "get_model_size", "tensor_bytes"]
