"""Reductions by an index vector."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .._rows import axis_of, count_of, rows_of

_REDUCTIONS = ("sum", "add", "mean", "min", "amin", "max", "amax", "mul", "any")


def scatter(src: Tensor, index: Tensor, dim: int = 0, dim_size: int | None = None, reduce: str = "sum") -> Tensor:
    """Gathers the values of src that have the same index along dim.

    reduce: 'sum' or 'add', 'mean', 'mul', 'min', 'max', or 'any' (one of them). Rows that no index names are 0, for 'mul' 1.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import scatter
    >>> scatter(Tensor([1.0, 2.0, 3.0]), Tensor([0, 2, 0]), reduce="sum").tolist()
    [4.0, 0.0, 2.0]
    """
    if index.ndim != 1:
        raise ValueError(f"The `index` argument must be one-dimensional, not of the shape {tuple(index.shape)}")
    axis = axis_of(src, dim)
    if reduce not in _REDUCTIONS:
        raise ValueError(f"invalid `reduce` argument {reduce!r}: use one of {', '.join(_REDUCTIONS)}")
    if reduce == "any":
        at = index.reshape(*[1] * axis, -1, *[1] * (src.ndim - axis - 1)).expand(src.shape)
        size = (*src.shape[:axis], count_of(index, dim_size), *src.shape[axis + 1 :])
        return Tensor.zeros(*size, dtype=src.dtype).scatter(axis, at, src)
    return rows_of(index, dim_size).reduce(src, reduce, axis)


def scatter_argmax(src: Tensor, index: Tensor, dim: int = 0, dim_size: int | None = None) -> Tensor:
    """The place of the largest value of each row, the last one if there are several; dim_size - 1 for rows without values.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import scatter_argmax
    >>> scatter_argmax(Tensor([1.0, 5.0, 3.0]), Tensor([0, 0, 1])).tolist()
    [1, 2]
    """
    if src.ndim != 1 or dim not in (0, -1):
        raise ValueError(f"scatter_argmax needs values with one axis, not the shape {src.shape}")
    rows = rows_of(index, dim_size)
    best = rows.spread(rows.reduce(src.detach(), "max"))
    place = Tensor.arange(src.shape[0])
    found = rows.reduce((src == best).where(place, -1), "max")
    return (rows.count > 0).where(found, rows.num_rows - 1)


def group_argsort(
    src: Tensor, index: Tensor, dim: int = 0, num_groups: int | None = None, descending: bool = False, return_consecutive: bool = False,
    stable: bool = False,
) -> Tensor:  # fmt: skip
    """The place of each value among those with the same index, sorted.

    return_consecutive: places among all values, groups one after the other.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import group_argsort
    >>> group_argsort(Tensor([0, 1, 5, 4, 3]), Tensor([0, 0, 1, 1, 1])).tolist()
    [0, 1, 2, 1, 0]
    """
    if src.ndim != 1 or index.ndim != 1 or dim not in (0, -1):
        raise ValueError(f"group_argsort needs values and an index with one axis, not the shapes {src.shape} and {index.shape}")
    if src.shape[0] != index.shape[0]:
        raise ValueError(f"{src.shape[0]} values do not fit an index of {index.shape[0]} entries")
    if not src.numel():
        return src.zeros_like()
    order = src.argsort(0, descending=descending)
    order = order[index[order].argsort(0)]  # sorts are stable: by value within each group
    place = Tensor.arange(src.shape[0], dtype=index.dtype)
    out = Tensor.zeros(src.shape[0], dtype=index.dtype).scatter(0, order, place)
    if return_consecutive:
        return out
    rows = rows_of(index, num_groups)
    count = rows.count.cast(index.dtype)
    return out - rows.spread(count.cumsum(0) - count)


def group_cat(tensors: Any, indices: Any, dim: int = 0, return_index: bool = False) -> Any:
    """Joins tensors along dim, with the values of equal index beside each other.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import group_cat
    >>> group_cat([Tensor([1, 2]), Tensor([3, 4])], [Tensor([0, 2]), Tensor([0, 1])]).tolist()
    [1, 3, 4, 2]
    """
    if len(tensors) != len(indices):
        raise ValueError(f"group_cat needs as many tensors as indices, got {len(tensors)} and {len(indices)}")
    index, order = Tensor.cat(*indices).sort(0)
    out = Tensor.cat(*tensors, dim=dim).index_select(dim, order)
    return (out, index) if return_index else out


__all__ = ["group_argsort", "group_cat", "scatter", "scatter_argmax"]
