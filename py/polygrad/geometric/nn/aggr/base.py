"""The base of all aggregations."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import dtypes
from ....nn.module import Module
from ....tensor import Tensor
from ..._moved import plain
from ..._rows import OPS, Rows, axis_of, count_of, reduce_edges, rows_of
from ...experimental import need_sizes


def _check_size(index: Tensor, dim_size: Any) -> None:
    """An error if values that are known name rows beyond dim_size: items of such rows would be lost."""
    if type(dim_size) is not int or not index.is_realized or hasattr(index, "_rows") or type(index.shape[0]) is not int or not index.shape[0]:
        return
    largest = int(index.numpy().max())
    if largest >= dim_size:
        raise ValueError(f"Encountered invalid 'dim_size' (got '{dim_size}' but expected >= '{largest + 1}')")


class Aggregation(Module):
    """Gathers items in rows: `aggr(x, index)` with the row of every item, or `aggr(x, ptr=ptr)` with the boundaries of the rows.

    A subclass has `forward(self, x, index=None, ptr=None, dim_size=None, dim=-2)`; with neither index nor ptr, everything is one row.
    dim_size: the number of rows, if it is not to be found from the index. dim: the axis of the items.

    Shapes: x [N, F], index [N] of rows or ptr [R + 1]; out [R, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SumAggregation
    >>> SumAggregation()(Tensor([[1.0], [2.0], [4.0]]), Tensor([0, 1, 1])).tolist()
    [[1.0], [6.0]]
    """

    def __call__(  # type: ignore[override]
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2, **kwargs: Any
    ) -> Tensor:
        need_sizes(dim_size=dim_size)
        if not -x.ndim <= dim < x.ndim:
            raise ValueError(f"Encountered invalid dimension '{dim}' of source tensor with shape {list(x.shape)}")
        if index is None and ptr is None:
            index = Tensor.zeros(x.shape[dim], dtype=dtypes.int32)
            index._count = 1 if x.shape[dim] else 0
        if ptr is not None:
            rows = ptr.shape[-1] - 1
            if dim_size is not None and dim_size != rows:
                raise ValueError(f"Encountered invalid 'dim_size' (got '{dim_size}' but expected '{rows}')")
            dim_size = rows
        if index is not None and dim_size is None:
            dim_size = count_of(index)
        elif index is not None and ptr is None:
            _check_size(index, dim_size)
        return super().__call__(x, index=index, ptr=ptr, dim_size=dim_size, dim=dim, **kwargs)

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # ---- what aggregations need ----

    def assert_index_present(self, index: Tensor | None) -> None:
        """An error if there are only row pointers."""
        if index is None:
            raise NotImplementedError(f"Aggregation requires 'index' to be specified: {type(self).__name__} does not take row pointers alone")

    def assert_sorted_index(self, index: Tensor | None) -> None:
        """An error if an index of PyTorch's class is not sorted, as in PyTorch Geometric. Other items are put in order here."""
        if index is None or index._kind is Tensor or type(index.shape[0]) is not int or not plain(index):
            return
        if (np.diff(index.numpy()) < 0).any():
            raise ValueError(
                "Can not perform aggregation since the 'index' tensor is not sorted. In a layer, sort 'edge_index' by destination, for example"
                " with data.sort(sort_by_row=False)"
            )

    def assert_two_dimensional_input(self, x: Tensor, dim: int) -> None:
        """An error unless x is [items, features]."""
        if x.ndim != 2:
            raise ValueError(f"{type(self).__name__} needs a two-dimensional input, not one of shape {x.shape}")
        if dim not in (-2, 0):
            raise ValueError(f"{type(self).__name__} needs the items along the first axis, not along {dim}")

    def rows(self, x: Tensor, index: Tensor | None, ptr: Tensor | None, dim_size: int | None, dim: int) -> Rows:
        """The rows of x along dim."""
        axis = axis_of(x, dim)
        return rows_of(index, dim_size, ptr, x.shape[axis] if index is None else None)

    def reduce(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2, reduce: str = "sum"
    ) -> Tensor:
        """A plain reduction ('sum', 'mean', 'max', 'min', 'mul', ...) of each row."""
        found = getattr(index, "_rows", None)
        if found is not None and ptr is None and dim in (0, -x.ndim):  # by far the most: all messages of a layer, by the graph that it knows
            graph, side = found
            if dim_size is None or dim_size == (graph.num_dst if side == "in" else graph.num_src):
                return reduce_edges(x, graph, OPS.get(reduce, reduce), side)
        return self.rows(x, index, ptr, dim_size, dim).reduce(x, reduce, dim)

    def to_dense_batch(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        fill_value: float = 0.0, max_num_elements: int | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """The rows as [rows, longest, features], filled up with fill_value, and the mask of what is not filling."""
        from .dense import dense_rows

        need_sizes(max_num_elements=max_num_elements)
        self.assert_two_dimensional_input(x, dim)
        self.assert_sorted_index(index)
        return dense_rows(x, self.rows(x, index, ptr, dim_size, dim), fill_value, max_num_elements)


def expand_left(ptr: Tensor, dim: int, dims: int) -> Tensor:
    """ptr with axes of size 1 before it, so that its own axis is number dim of dims."""
    return ptr.reshape(*(1,) * (dims + dim if dim < 0 else dim), *ptr.shape)


__all__ = ["Aggregation", "expand_left"]
