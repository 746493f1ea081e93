"""Rows of different lengths as one dense tensor."""

from __future__ import annotations

from typing import Any

from .... import dtypes
from ....tensor import Tensor
from ..._rows import GraphRows, Rows


class DenseRows:
    """For each of B rows and L places the item there (`items`, int32 [B, L]), and whether there is one (`mask`).

    Items keep their order within a row. L is the length of the longest row, which must be read, unless it is given.
    """

    def __init__(self, rows: Rows, longest: int | None = None, in_order: bool = False):
        count = rows.count
        if longest is None:
            longest = rows.longest
        n = rows.index.shape[0]
        self.count, self.num_items = count, n
        place = Tensor.arange(longest, dtype=dtypes.int32).reshape(1, -1)
        self.mask = place < count.reshape(-1, 1)
        start = rows.begin if rows.num_rows else count
        at = self.mask.where(start.reshape(-1, 1) + place, 0)
        if in_order:
            self.items = at
        else:
            order = rows.graph.order(rows.side) if isinstance(rows, GraphRows) else rows.index.argsort(0)
            self.items = order[at] if n else at

    def dense(self, x: Tensor, fill_value: Any = 0.0) -> Tensor:
        """Values of the items, [B, L, ...]; fill_value where there is none."""
        mask = self.mask.reshape(*self.mask.shape, *[1] * (x.ndim - 1))
        if not self.num_items:
            return Tensor.full((*self.mask.shape, *x.shape[1:]), fill_value, dtype=x.dtype)
        return mask.where(x[self.items], fill_value)


def dense_rows(x: Tensor, rows: Rows, fill_value: Any = 0.0, longest: int | None = None, in_order: bool = False) -> tuple[Tensor, Tensor]:
    """x as [B, L, ...], and the mask [B, L]."""
    d = DenseRows(rows, longest, in_order)
    return d.dense(x, fill_value), d.mask


__all__ = ["DenseRows", "dense_rows"]
