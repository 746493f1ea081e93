"""FusedAggregation: several aggregations of the same messages."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..resolver import aggregation_resolver
from .base import Aggregation
from .basic import MaxAggregation, MeanAggregation, MinAggregation, MulAggregation, StdAggregation, SumAggregation, VarAggregation

FUSABLE = (SumAggregation, MeanAggregation, MinAggregation, MaxAggregation, MulAggregation, VarAggregation, StdAggregation)


class FusedAggregation(Aggregation):
    """A list of the results of several aggregations, which the compiler computes in common loops over the messages.

    aggrs: sums, means, minima, maxima, products, variances and standard deviations, as objects or names. x [E, F] and index [E] give a
    tensor [N, F] for each of them.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.aggr.fused import FusedAggregation
    >>> [y.tolist() for y in FusedAggregation(["sum", "max"])(Tensor([[1.0], [2.0], [5.0]]), Tensor([0, 0, 1]))]
    [[[3.0], [5.0]], [[2.0], [5.0]]]
    """

    def __init__(self, aggrs: list[Any]):
        super().__init__()
        if not isinstance(aggrs, (list, tuple)) or not aggrs:
            raise ValueError(f"'aggrs' of '{type(self).__name__}' should be a list or tuple that is not empty (got {aggrs!r})")
        found = [aggregation_resolver(a) for a in aggrs]
        other = next((a for a in found if type(a) not in FUSABLE), None)
        if other is not None:
            raise ValueError(f"Received aggregation '{type(other).__name__}' in '{type(self).__name__}' which is not fusable")
        self._aggrs = tuple(found)

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> list[Tensor]:
        return [a(x, index, ptr, dim_size, dim) for a in self._aggrs]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["FusedAggregation"]
