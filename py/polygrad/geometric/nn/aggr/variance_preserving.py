"""Sums whose variance does not grow with the number of items."""

from __future__ import annotations

from ....tensor import Tensor
from .base import Aggregation


class VariancePreservingAggregation(Aggregation):
    """1/sqrt(n) * sum of x_i.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import VariancePreservingAggregation
    >>> VariancePreservingAggregation()(Tensor.ones(4, 1), Tensor([0, 0, 0, 0])).tolist()
    [[2.0]]
    """

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        rows = self.rows(x, index, ptr, dim_size, dim)
        out = rows.reduce(x, "sum", dim)
        shape = [1] * out.ndim
        shape[dim] = -1
        return out / rows.count.cast(out.dtype).sqrt().maximum(1.0).reshape(*shape)


__all__ = ["VariancePreservingAggregation"]
