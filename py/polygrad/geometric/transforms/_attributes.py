"""What transforms share: attributes as arrays, and new columns beside old ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..utils import _host

MANY = 1 << 20  # elements from which on a kernel that moves them is worth compiling: numpy takes a millisecond for as many


def to_array(value: Any) -> np.ndarray:
    """The values of a tensor, an array, a number or a list, for reading: the memory of a tensor whose values are known."""
    return _host.read(value)


def needed(data: Any, name: str, transform: Any) -> Any:
    """An attribute that a transform cannot do without."""
    value = data.get(name) if hasattr(data, "get") else getattr(data, name, None)
    if value is None:
        raise ValueError(f"{type(transform).__name__} needs a graph with {name!r}, which {data!r} does not have")
    return value


def edges_of(data: Any, transform: Any) -> np.ndarray:
    return _host.edges(needed(data, "edge_index", transform))


def nodes_of(data: Any, transform: Any) -> int:
    n = data.num_nodes
    if n is None:
        raise ValueError(f"{type(transform).__name__} needs to know the number of nodes: set 'num_nodes'")
    return int(n)


def beside(old: Any, new: Any) -> Tensor:
    """The columns of `new`, an array or a tensor, after those of `old` (if there are any), in the dtype of `old`."""
    if new.ndim == 1:
        new = new.reshape(-1, 1)
    if old is None:
        return new if isinstance(new, Tensor) else _host.tensor(new)
    old = old if isinstance(old, Tensor) else _host.tensor(old)
    old = old.reshape(-1, 1) if old.ndim == 1 else old
    t: Tensor = old

    def lazy() -> Tensor:
        return Tensor.cat(t, (new if isinstance(new, Tensor) else _host.tensor(new)).cast(t.dtype), dim=-1)

    def now() -> Tensor:
        columns = _host.array(new) if isinstance(new, Tensor) else new
        width = t.shape[-1]
        out, memory = _host.room((*t.shape[:-1], width + new.shape[-1]), t.dtype)
        memory[..., :width] = _host.array(t)
        memory[..., width:] = columns
        return out

    if t.numel() > MANY:
        return lazy().realize()
    return _host.moved(lazy, now, t, *([new] if isinstance(new, Tensor) else []))


def with_constant(old: Any, rows: int, value: float) -> Tensor:
    """A column that holds one value after those of `old`, if there are any. A kernel writes the value, which needs no memory of its own."""
    if not isinstance(old, Tensor) or old.ndim != 2 or old.numel() <= MANY:
        return beside(old, np.full((rows, 1), value, np.float32))
    return old.pad(((0, 0), (0, 1)), value=value).realize()


def take(value: Any, index: np.ndarray, dim: int = 0) -> Any:
    """The entries of a tensor or an array at index."""
    return _host.rows(value, index, dim % value.ndim) if isinstance(value, Tensor) else np.take(value, index, axis=dim)


def append(value: Tensor, more: Any, dim: int, fill: Any) -> Tensor:
    """value with `more` further entries along an axis."""
    dim %= value.ndim

    def lazy() -> Tensor:
        return value.pad(tuple((0, more) if k == dim else None for k in range(value.ndim)), value=fill)

    def now() -> np.ndarray:
        a = _host.array(value)
        return np.concatenate([a, np.full((*a.shape[:dim], more, *a.shape[dim + 1 :]), fill, a.dtype)], axis=dim)

    return _host.moved(lazy, now, value)


def node_features(data: Any, value: np.ndarray, name: str | None) -> Any:
    """Sets the attribute `name`, or appends to the features x if it is None."""
    if name is None:
        data.x = beside(data.x, value)
    else:
        data[name] = _host.tensor(value)
    return data


def random_number() -> float:
    """One number in [0, 1)."""
    return float(_host.generator().random())


__all__ = ["append", "beside", "edges_of", "needed", "node_features", "nodes_of", "random_number", "take", "to_array", "with_constant"]
