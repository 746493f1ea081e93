"""Aggregations that are one loop over the items of each row."""

from __future__ import annotations

import math
from typing import Any

from ....tensor import Tensor
from .base import Aggregation


class _Plain(Aggregation):
    op = "sum"

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        return self.reduce(x, index, ptr, dim_size, dim, self.op)


class SumAggregation(_Plain):
    """sum of x_i.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SumAggregation
    >>> SumAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[4.0], [5.0]]
    """

    op = "sum"


class MeanAggregation(_Plain):
    """1/n * sum of x_i.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MeanAggregation
    >>> MeanAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[2.0], [5.0]]
    """

    op = "mean"


class MaxAggregation(_Plain):
    """Largest x_i of each feature.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MaxAggregation
    >>> MaxAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[3.0], [5.0]]
    """

    op = "max"


class MinAggregation(_Plain):
    """Smallest x_i of each feature.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MinAggregation
    >>> MinAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[1.0], [5.0]]
    """

    op = "min"


class MulAggregation(_Plain):
    """Product of the x_i. Rows are given by an index, not by row pointers, as in PyG.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MulAggregation
    >>> MulAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[3.0], [5.0]]
    """

    op = "mul"

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        self.assert_index_present(index)
        return super().forward(x, index, None, dim_size, dim)


class VarAggregation(Aggregation):
    """mean(x²) - mean(x)².

    semi_grad: no gradient through mean(x²).

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import VarAggregation
    >>> VarAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[1.0], [0.0]]
    """

    def __init__(self, semi_grad: bool = False):
        self.semi_grad = semi_grad

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        if not self.semi_grad:
            return self.reduce(x, index, ptr, dim_size, dim, "var")
        mean = self.reduce(x, index, ptr, dim_size, dim, "mean")
        return self.reduce((x * x).detach(), index, ptr, dim_size, dim, "mean") - mean * mean


class StdAggregation(Aggregation):
    """sqrt(var(x)); 0, with no gradient, where the variance is at most 1e-5.

    semi_grad: as for VarAggregation.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import StdAggregation
    >>> StdAggregation()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[1.0], [0.0]]
    """

    def __init__(self, semi_grad: bool = False):
        self.var_aggr = VarAggregation(semi_grad)

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        var = self.var_aggr(x, index, ptr, dim_size, dim)
        return (var > 1e-5).where(var.maximum(1e-5).sqrt(), 0.0)


def _learned(value: Any, learn: bool, channels: int, who: Any) -> Any:
    if not learn and channels != 1:
        raise ValueError(f"Cannot set 'channels' greater than '1' in {type(who).__name__}, which learns nothing: got {channels}")
    return Tensor.full((channels,), float(value), requires_grad=True) if learn else value


class SoftmaxAggregation(Aggregation):
    """sum of softmax(t * x)_i * x_i, the softmax over each row.

    t: inverse temperature; learn: it is a parameter; channels: one for each feature; semi_grad: no gradient through the softmax.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SoftmaxAggregation
    >>> SoftmaxAggregation(t=0.0)(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[2.0], [5.0]]
    """

    def __init__(self, t: float = 1.0, learn: bool = False, semi_grad: bool = False, channels: int = 1):
        if learn and semi_grad:
            raise ValueError("Cannot enable 'semi_grad' in SoftmaxAggregation: the temperature is learnable")
        self._init_t, self.learn, self.semi_grad, self.channels = t, learn, semi_grad, channels
        self.t = _learned(t, learn, channels, self)

    def reset_parameters(self) -> None:
        if isinstance(self.t, Tensor):
            self.t.assign(Tensor.full((self.channels,), float(self._init_t), dtype=self.t.dtype))

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        t = self.t
        if self.channels != 1:
            self.assert_two_dimensional_input(x, dim)
            t = t.reshape(-1, self.channels)
        rows = self.rows(x, index, ptr, dim_size, dim)
        alpha = x if isinstance(t, (int, float)) and t == 1 else x * t
        alpha = rows.softmax(alpha, dim)
        if self.semi_grad:
            alpha = alpha.detach()
        return rows.reduce(x * alpha, "sum", dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(learn={self.learn})"


class PowerMeanAggregation(Aggregation):
    """(mean of x_i^p)^(1/p), with x and the mean held between clamp_min and clamp_max.

    p: the power; learn: it is a parameter; channels: one for each feature.

    Shapes: x [N, F], index [N] of rows; out [R, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PowerMeanAggregation
    >>> PowerMeanAggregation(p=1.0)(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).tolist()
    [[2.0], [5.0]]
    """

    def __init__(self, p: float = 1.0, learn: bool = False, channels: int = 1, clamp_min: float | None = 1e-4, clamp_max: float | None = 100.0):
        self._init_p, self.learn, self.channels = p, learn, channels
        self.p = _learned(p, learn, channels, self)
        self.min_value, self.max_value = clamp_min, clamp_max

    def reset_parameters(self) -> None:
        if isinstance(self.p, Tensor):
            self.p.assign(Tensor.full((self.channels,), float(self._init_p), dtype=self.p.dtype))

    def _clamp(self, x: Tensor) -> Tensor:
        low = -math.inf if self.min_value is None else self.min_value
        high = math.inf if self.max_value is None else self.max_value
        return x if self.min_value is None and self.max_value is None else x.clamp(low, high)

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        p = self.p
        if self.channels != 1:
            self.assert_two_dimensional_input(x, dim)
            p = p.reshape(-1, self.channels)
        if isinstance(p, (int, float)) and p == 1:
            return self.reduce(x, index, ptr, dim_size, dim, "mean")
        out = self.reduce(self._clamp(x).pow(p), index, ptr, dim_size, dim, "mean")
        return self._clamp(out).pow(1.0 / p)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(learn={self.learn})"


__all__ = [
    "MaxAggregation", "MeanAggregation", "MinAggregation", "MulAggregation", "PowerMeanAggregation", "SoftmaxAggregation", "StdAggregation",
    "SumAggregation", "VarAggregation",
]  # fmt: skip
