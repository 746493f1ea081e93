"""Quantiles of each row."""

from __future__ import annotations

from typing import Any

from .... import dtypes
from ....tensor import Tensor
from ..._rows import axis_of
from .base import Aggregation

_EXACT = 1 << 22  # places up to here, with a fraction, fit into float32


class QuantileAggregation(Aggregation):
    """The q-th quantile of each feature: with the n items of a row in order, the one at place q * (n - 1).

    q: between 0 and 1, or a list of such (the results are put beside each other). interpolation: what to do between two items, 'linear',
    'lower', 'higher', 'nearest' or 'midpoint'. fill_value: for rows without items.

    Shapes: x [N, F], index [N] of rows; out [R, quantiles * F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import QuantileAggregation
    >>> QuantileAggregation(0.5)(Tensor([[1.0], [4.0], [2.0]]), Tensor([0, 0, 1])).tolist()
    [[2.5], [2.0]]
    """

    interpolations = ("linear", "lower", "higher", "nearest", "midpoint")

    def __init__(self, q: Any, interpolation: str = "linear", fill_value: float = 0.0):
        qs = list(q) if isinstance(q, (list, tuple)) else [q]
        if not qs:
            raise ValueError("at least one quantile value is needed for 'q'")
        if not all(0.0 <= v <= 1.0 for v in qs):
            raise ValueError(f"'q' must be in the range [0, 1], got {qs}")
        if interpolation not in self.interpolations:
            raise ValueError(f"interpolation must be one of {', '.join(self.interpolations)}, not {interpolation!r}")
        self._q, self.interpolation, self.fill_value = q, interpolation, fill_value
        self.q = Tensor([[float(v)] for v in qs], requires_grad=False)

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        axis = axis_of(x, dim)
        rows = self.rows(x, index, ptr, dim_size, dim)
        x = x.transpose(0, axis)
        out = self._quantiles(x, rows)
        out = out.transpose(0, axis)
        many = self.q.shape[0]
        if many == 1:
            return out
        shape = out.shape  # [..., rows * quantiles, features, ...] to [..., rows, quantiles * features, ...]
        return out.reshape(*shape[:axis], shape[axis] // many, -1, *shape[axis + 2 :])

    def _quantiles(self, x: Tensor, rows: Any) -> Tensor:
        """[rows * quantiles, ...]"""
        n, many = x.shape[0], self.q.shape[0]
        ones = [1] * (x.ndim - 1)
        if not n or not rows.num_rows:
            return Tensor.full((rows.num_rows * many, *x.shape[1:]), self.fill_value, dtype=x.dtype)
        # The items in the order of their values, and then, the sort being stable, of their rows.
        order = x.detach().argsort(0)
        at = rows.index.reshape(-1, *ones).expand(x.shape)
        order = order.gather(0, at.gather(0, order).argsort(0))
        count = rows.count
        start, empty = count.cumsum(0) - count, count == 0
        q = self.q.detach() if n < _EXACT else self.q.detach().cast(dtypes.float64)
        point = empty.where(0.0, q * (count - 1).cast(q.dtype) + start.cast(q.dtype)).transpose(0, 1).reshape(-1)

        def item(place: Tensor) -> Tensor:
            return x.gather(0, order.index_select(0, place.cast(dtypes.int32)))

        if self.interpolation == "lower":
            out = item(point.floor())
        elif self.interpolation == "higher":
            out = item(point.ceil())
        elif self.interpolation == "nearest":
            out = item(point.round())
        else:
            low, high = item(point.floor()), item(point.ceil())
            if self.interpolation == "midpoint":
                out = 0.5 * low + 0.5 * high
            else:
                out = low + (high - low) * (point - point.floor()).cast(x.dtype).reshape(-1, *ones)
        return empty.reshape(-1, 1).expand(-1, many).reshape(-1, *ones).where(self.fill_value, out)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(q={self._q})"


class MedianAggregation(QuantileAggregation):
    """The median of each feature; the lower one of two.

    fill_value: for rows without items.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MedianAggregation
    >>> MedianAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[1.0], [5.0]]
    """

    def __init__(self, fill_value: float = 0.0):
        super().__init__(0.5, "lower", fill_value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["MedianAggregation", "QuantileAggregation"]
