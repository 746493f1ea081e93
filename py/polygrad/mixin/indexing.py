"""Indexing: x[...], x[...] = v, gather, scatter, sort and what depends on values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import files
from .._core import INT64_MAX, C, from_values, like, number_dtype, operand, same_graph
from .._ffi import KindError, PolyIndex, handle_array
from .._meaning import pair_warning
from ..dtypes import dtypes
from ..symbolic import DIM_LIMIT, Dim, dim_code
from .elementwise import Elementwise

if TYPE_CHECKING:
    from ..tensor import Tensor


# Past the checks of a struct, for what was checked here.
_set_kind, _set_has_start, _set_has_stop, _set_start, _set_stop, _set_step, _set_tensor = (
    getattr(PolyIndex, name).__set__ for name in ("kind", "has_start", "has_stop", "start", "stop", "step", "tensor")
)


def _entry(x: Any, entry: Any, key: Any, keep: list[Any]) -> None:
    """Fills one PolyIndex. Tensors made on the way go into keep, so that they outlive the call."""
    if key.__class__ is int:
        _set_kind(entry, b"i")
        _set_start(entry, _place(key))
    elif key.__class__ is slice:
        _set_kind(entry, b"s")
        if key.start is not None:
            _set_has_start(entry, True)
            _set_start(entry, dim_code(_whole(key.start), x._g))
        if key.stop is not None:
            _set_has_stop(entry, True)
            _set_stop(entry, dim_code(_whole(key.stop), x._g))
        step = 1 if key.step is None else int(_whole(key.step))
        if step == 0:
            raise ValueError("a slice step cannot be zero")
        _set_step(entry, step)
    elif key is None:
        _set_kind(entry, b"n")
    elif key is Ellipsis:
        _set_kind(entry, b".")
    elif isinstance(key, Dim):
        entry.kind, entry.start = b"i", dim_code(key, x._g)
    elif isinstance(key, np.integer):
        entry.kind, entry.start = b"i", _place(int(key))
    else:
        t = _index_tensor(x, key)
        keep.append(t)
        _set_kind(entry, b"t")
        _set_tensor(entry, t._h)


def _place(key: int) -> int:
    """A number as an index; none is so large, or it would be taken for the code of a symbolic size."""
    if not DIM_LIMIT <= key <= INT64_MAX:
        raise IndexError(f"index {key} is out of range")
    return key


def _whole(v: Any) -> Any:
    """Slice bounds may be numpy integers, sizes or tensors of one element. Bounds beyond every size mean the end, as in Python."""
    if isinstance(v, Dim):
        return v
    if hasattr(v, "__index__"):
        return min(max(v.__index__(), DIM_LIMIT), -DIM_LIMIT)
    raise TypeError(f"slice bounds must be whole numbers, not {v!r}")


def _index_tensor(x: Any, key: Any) -> Any:
    from .._core import Tensor as T

    if isinstance(key, T):
        same_graph(x, key)
    elif isinstance(key, (list, tuple)) and len(key) == 0:
        key = from_values(x._g, np.zeros((0,), np.int32))
    elif isinstance(key, (list, tuple, np.ndarray, bool, np.bool_, range)):
        key = from_values(x._g, list(key) if isinstance(key, range) else key)
    else:
        raise IndexError(f"a tensor cannot be indexed with {key!r} of type {type(key).__name__}")
    if key.dtype.kind not in "iub":
        raise IndexError(f"tensors used as indices must be whole numbers or bools, not {key.dtype}")
    return key


def _index(x: Any, key: Any) -> tuple[int, Any, list[Any]]:
    if key.__class__ is list and not all(isinstance(k, (int, float, np.generic)) for k in key):
        key = tuple(key)  # tinygrad and PyTorch take a list with more than numbers in it for one entry an axis
    keys = key if key.__class__ is tuple else (key,)
    keep: list[Any] = []
    array = (PolyIndex * max(1, len(keys)))()
    for entry, k in zip(array, keys):
        _entry(x, entry, k, keep)
    return len(keys), array, keep


def _same_dtype(x: Any, src: Any) -> None:
    if x.dtype != src.dtype:
        raise KindError(f"scatter: what is written must be of the tensor's dtype {x.dtype}, not {src.dtype}")


class Indexing:
    """numpy's rules; `dim` names an axis."""

    __slots__ = ()

    def __getitem__(self: Any, key: Any) -> Tensor:
        if key.__class__ is int and 0 <= key <= 1 and getattr(self, "_pair", None) is not None:
            pair_warning(self)
        n, array, keep = _index(self, key)
        return like(self, C.poly_getitem(self._h, n, array), *keep)

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        n, array, keep = _index(self, key)
        v = operand(self, value)
        self._g.check(C.poly_setitem(self._h, n, array, v._h))
        self._changed()
        if files.opened:
            files.write_out(self)

    def __delitem__(self, key: Any) -> None:
        raise TypeError("elements of a tensor cannot be deleted")

    def gather(self: Any, dim: int, index: Any) -> Tensor:
        """out[i][j] = self[index[i][j]][j] for dim 0, and so on.

        >>> Tensor([[1, 2], [3, 4]]).gather(1, Tensor([[0, 0], [1, 0]])).tolist()
        [[1, 1], [4, 3]]
        """
        return like(self, C.poly_gather(self._h, dim, operand(self, index)), index)

    def index_select(self: Any, dim: int, index: Any) -> Tensor:
        """Rows along an axis.

        >>> Tensor([[1, 2], [3, 4]]).index_select(0, Tensor([1, 1])).tolist()
        [[3, 4], [3, 4]]
        """
        return like(self, C.poly_index_select(self._h, dim, operand(self, index)), index)

    def scatter(self: Any, dim: int, index: Any, src: Any, reduce: str | None = None) -> Tensor:
        """self with src written at index; reduce 'add' or 'multiply' combines instead.

        >>> Tensor([0, 0, 0]).scatter(0, Tensor([2, 0]), Tensor([5, 6])).tolist()
        [6, 0, 5]
        """
        if reduce not in (None, "add", "multiply"):
            raise TypeError(f"reduce must be None, 'add' or 'multiply', not {reduce!r}")
        index = operand(self, index)
        src = operand(self, src)
        if src.ndim == 0 and index.ndim:
            src = src.cast(self.dtype).reshape((1,) * index.ndim).expand(index.shape)
        if reduce is not None:
            return self.scatter_reduce(dim, index, src, {"add": "sum", "multiply": "prod"}[reduce])
        _same_dtype(self, src)
        return like(self, C.poly_scatter(self._h, dim, index._h, src._h), index, src)

    def scatter_reduce(self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Tensor:
        """self combined with src at index by 'sum', 'prod', 'mean', 'amax' or 'amin'.

        >>> Tensor([1, 1, 1]).scatter_reduce(0, Tensor([0, 0, 2]), Tensor([5, 6, 7]), "sum").tolist()
        [12, 1, 8]
        """
        index, src = operand(self, index), operand(self, src)
        _same_dtype(self, src)
        return like(self, C.poly_scatter_reduce(self._h, dim, index._h, src._h, reduce.encode(), include_self), index, src)

    def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Tensor:
        """self with src added at index.

        >>> Tensor([1, 1]).scatter_add(0, Tensor([0, 0]), Tensor([5, 6])).tolist()
        [12, 1]
        """
        return self.scatter_reduce(dim, index, src, "sum")

    def index_add(self: Any, dim: int, index: Any, src: Any) -> Tensor:
        """self with rows of src added at index along an axis.

        >>> Tensor([[1, 1], [1, 1]]).index_add(0, Tensor([1, 1]), Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 1], [5, 7]]
        """
        return like(self, C.poly_index_add(self._h, dim, operand(self, index), operand(self, src)), index, src)

    def sort(self: Any, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
        """Sorted values and their places; equal values keep their order.

        >>> [t.tolist() for t in Tensor([3, 1, 2]).sort()]
        [[1, 2, 3], [1, 2, 0]]
        """
        values, indices = handle_array([None]), handle_array([None])
        self._g.check(C.poly_sort(self._h, dim, descending, values, indices))
        return like(self, values[0]), like(self, indices[0])

    def argsort(self: Any, dim: int = -1, descending: bool = False) -> Tensor:
        """The places that sort.

        >>> Tensor([3, 1, 2]).argsort().tolist()
        [1, 2, 0]
        """
        return like(self, C.poly_argsort(self._h, dim, descending))

    def topk(self: Any, k: int, dim: int = -1, largest: bool = True, sorted_: bool = True) -> tuple[Tensor, Tensor]:
        """The k largest (or smallest) values and their places.

        >>> [t.tolist() for t in Tensor([3, 1, 2]).topk(2)]
        [[3, 2], [0, 2]]
        """
        values, indices = handle_array([None]), handle_array([None])
        self._g.check(C.poly_topk(self._h, k, dim, largest, sorted_, values, indices))
        return like(self, values[0]), like(self, indices[0])

    def masked_select(self: Any, mask: Any, size: int | None = None, fill_value: Any = 0) -> Tensor:
        """The values where mask is true, as a vector; with size, cut or filled up to that length, so that it works in a compiled step too.

        >>> Tensor([1, 2, 3]).masked_select(Tensor([True, False, True])).tolist()
        [1, 3]
        """
        if size is None:
            return like(self, C.poly_masked_select(self._h, operand(self, mask)), mask)
        mask = operand(self, mask)
        if mask.dtype is not dtypes.bool:
            raise KindError(f"masked_select: the mask must be bool, not {mask.dtype.name}")
        shape = np.broadcast_shapes(self.shape, mask.shape)
        return _first(self.expand(*shape).flatten(), mask.expand(*shape).flatten(), size, fill_value)

    def masked_fill(self: Any, mask: Any, value: Any) -> Tensor:
        """value where mask is true, else self.

        >>> Tensor([1, 2, 3]).masked_fill(Tensor([True, False, True]), -1).tolist()
        [-1, 2, -1]
        """
        mask = operand(self, mask)
        if isinstance(value, (int, float)) and number_dtype(self.dtype, value) is self.dtype and self.dtype.kind not in "iu":
            return like(self, C.poly_masked_fill(self._h, mask._h, float(value)), mask)
        return Elementwise.where(mask, value, self)  # both may be bools, where a subclass reads its method where as PyTorch does

    def nonzero(self: Any, size: int | None = None, fill_value: Any = 0) -> Tensor:
        """Places of the elements that are not zero, one row each; with size, cut or filled up to that many rows, also in a compiled step.

        >>> Tensor([[0, 5], [6, 0]]).nonzero().tolist()
        [[0, 1], [1, 0]]
        """
        if size is None:
            return like(self, C.poly_nonzero(self._h))
        flat = (self != 0).flatten()
        place = _first(type(self).arange(flat.shape[0], dtype=dtypes.int32), flat, size, -1)
        columns, step = [], 1
        for n in reversed(self.shape):
            columns.append((place < 0).where(fill_value, place // step % n))
            step *= n
        return columns[0].stack(*columns[1:], dim=1).flip(1) if columns else type(self).zeros(size, 0, dtype=dtypes.int32)


def _first(values: Any, keep: Any, size: int, fill_value: Any) -> Any:
    """The first of the values that are kept, size of them: what is left out, and what is too many, goes to one more place that is cut off."""
    place = keep.cast(dtypes.int32).cumsum(0) - 1
    place = (keep & (place < size)).where(place, size)
    return type(values).full((size + 1,), fill_value, dtype=values.dtype).scatter(0, place, values).shrink(((0, size),))
