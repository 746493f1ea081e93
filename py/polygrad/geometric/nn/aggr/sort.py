"""The first items of each row, in order."""

from __future__ import annotations

import math

from ....tensor import Tensor
from .base import Aggregation
from .dense import DenseRows


class SortAggregation(Aggregation):
    """The k items of each row with the largest last feature, largest first, beside each other; zeros where a row has fewer.

    k: number of items.

    Shapes: x [N, F], index [N] of rows; out [R, k * F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SortAggregation
    >>> SortAggregation(k=2)(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[3.0, 1.0], [5.0, 0.0]]
    """

    def __init__(self, k: int):
        self.k = k

    def forward(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:  # fmt: skip
        self.assert_two_dimensional_input(x, dim)
        self.assert_sorted_index(index)
        rows, features = self.rows(x, index, ptr, dim_size, dim), x.shape[-1]
        d = DenseRows(rows, max_num_elements, index is None)
        count, longest = d.mask.shape
        if not d.num_items:
            return Tensor.zeros(count, self.k * features, dtype=x.dtype)
        order = d.dense(x.detach()[:, -1], -math.inf).argsort(1, descending=True)[:, : min(self.k, longest)]
        d.items, d.mask = d.items.gather(1, order), d.mask.gather(1, order)
        out = d.dense(x)
        if longest < self.k:
            out = Tensor.cat(out, Tensor.zeros(count, self.k - longest, features, dtype=x.dtype), dim=1)
        return out.reshape(-1, self.k * features)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(k={self.k})"


__all__ = ["SortAggregation"]
