"""Values of attributes: tensors, arrays, lists and what contains them. Nothing here knows about graphs."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Callable

import numpy as np

from ...autograd import current, making
from ...tensor import Tensor
from .._moved import rows


def is_array(value: Any) -> bool:
    """Has the value axes: is it a tensor or a numpy array?"""
    return isinstance(value, (Tensor, np.ndarray))


def to_array(value: Any) -> np.ndarray:
    """The values of a tensor, an array, a number or a list, for work on the host."""
    return value.numpy() if isinstance(value, Tensor) else np.asarray(value)


def like(array: np.ndarray, value: Any) -> Any:
    """An array as the kind of thing that value is."""
    return value._kind(np.asarray(array, order="C")) if isinstance(value, Tensor) else array


def kind_in(*datas: Any) -> Any:
    """The class of the tensors of a graph; None if there are none."""
    kinds = (_kind(v) for data in datas for store in data.stores for v in store.values())
    return next((kind for kind in kinds if kind is not None), None)


def _kind(value: Any) -> Any:
    """The class of the tensors of a value: a tensor, a sparse matrix, or a dict or list with some in it."""
    if isinstance(value, Mapping):
        return next((kind for kind in map(_kind, value.values()) if kind is not None), None)
    if isinstance(value, (list, tuple)):
        return _kind(value[0]) if value else None
    return getattr(value, "_kind", None)


def following(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a graph: tensors that it makes out of nothing are of the class of the graph's."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        kind = kind_in(self)
        if kind is None or kind is current().made:
            return method(self, *args, **kwargs)
        with making(kind):
            return method(self, *args, **kwargs)

    return call


def counted(value: Any, like: Any) -> Any:
    """value, which was made of `like`, with the number of groups that a batch vector carries."""
    if isinstance(value, Tensor) and value is not like and hasattr(like, "_count"):
        value._count = like._count
    return value


def apply(value: Any, function: Callable[[Tensor], Any]) -> Any:
    """The function of every tensor in a value, however deep."""
    if isinstance(value, Tensor):
        return counted(function(value), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(apply(v, function) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(apply(v, function) for v in value)
    if isinstance(value, Mapping):
        return {k: apply(v, function) for k, v in value.items()}
    return value


def positions(index: Any, size: int, what: str = "index", short: bool = False) -> np.ndarray:
    """Positions among `size` things out of a slice, a mask, a list or a tensor of indices; negative ones count from the end.

    short: a mask may end early, and chooses among the first things.
    """
    if isinstance(index, slice):
        return np.arange(size, dtype=np.int64)[index]
    if isinstance(index, range):
        index = list(index)
    a = to_array(index).reshape(-1)
    if a.dtype == np.bool_:
        if a.size > size or (a.size < size and not short):
            raise IndexError(f"{what} is a mask of {a.size} entries for {size}")
        return np.flatnonzero(a)
    if not a.size:
        return np.zeros(0, np.int64)
    if a.dtype.kind not in "iu":
        kind = type(index).__name__ if a.dtype == object else a.dtype
        raise IndexError(f"Only slices, and lists, tensors and arrays of whole numbers or of truth values are valid for {what} (got '{kind}')")
    a = a.astype(np.int64)
    if a.min() < -size or a.max() >= size:
        raise IndexError(f"{what} holds {int(a.min()) if a.min() < -size else int(a.max())}, which is not among {size}")
    return np.where(a < 0, a + size, a)


def select(value: Any, index: np.ndarray, dim: int = 0) -> Any:
    """The entries of a tensor, an array or a list at the positions `index` of one axis."""
    if isinstance(value, Tensor):
        return rows(value, index, dim % value.ndim)
    if isinstance(value, np.ndarray):
        return np.take(value, index, axis=dim)
    if isinstance(value, (list, tuple)):
        return type(value)(value[k] for k in index)
    raise TypeError(f"entries cannot be chosen from a {type(value).__name__}")


def size_repr(key: Any, value: Any, indent: int = 0) -> str:
    """`key=[sizes]`, as an attribute is shown in the text of its object."""
    pad = " " * indent
    if is_array(value):
        text = str(value.item()) if value.ndim == 0 else str([int(s) for s in value.shape])
    elif hasattr(value, "sparse_sizes"):
        count = "" if hasattr(value, "layout") else f", nnz={value.nnz()}"  # a tensor with a layout is shown as tensors are
        text = f"[{', '.join(map(str, value.sizes()))}{count}]"
    elif isinstance(value, str):
        text = f"'{value}'"
    elif isinstance(value, (Sequence, set)):
        text = str([len(value)])
    elif isinstance(value, Mapping):
        nested = any(isinstance(v, Mapping) for v in value.values())
        if not value:
            text = "{}"
        elif len(value) == 1 and not nested:
            text = "{ " + ", ".join(size_repr(k, v) for k, v in value.items()) + " }"
        else:
            text = "{\n" + ",\n".join(size_repr(k, v, indent + 2) for k, v in value.items()) + ",\n" + pad + "}"
    else:
        text = str(value)
    name = str(key).replace("'", "")
    return f"{pad}{name}={text}"


__all__ = ["apply", "counted", "following", "is_array", "kind_in", "like", "positions", "select", "size_repr", "to_array"]
