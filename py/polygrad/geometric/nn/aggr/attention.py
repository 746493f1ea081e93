"""Attention over the items of each row."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..inits import reset
from ._mlp import apply, sort_out
from .base import Aggregation


class AttentionalAggregation(Aggregation):
    """sum of softmax(gate_nn(x))_i * nn(x)_i, the softmax over each row.

    gate_nn: maps features to one score, or to one for each output feature. nn: what is summed, x itself if None.

    Shapes: x [N, F], index [N] of rows; out [R, F], or [R, F_out] of what nn gives.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import AttentionalAggregation
    >>> AttentionalAggregation(nn.Linear(4, 1), nn.Linear(4, 8))(Tensor.ones(3, 4), Tensor([0, 0, 1])).shape
    (2, 8)
    """

    def __init__(self, gate_nn: Any, nn: Any = None):
        self.gate_mlp, self.gate_nn = sort_out(gate_nn)
        self.mlp, self.nn = sort_out(nn)

    def reset_parameters(self) -> None:
        for module in (self.gate_nn, self.gate_mlp, self.nn, self.mlp):
            reset(module)

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        rows = self.rows(x, index, ptr, dim_size, dim)
        gate = apply(self.gate_mlp, self.gate_nn, x, index, dim_size)
        x = apply(self.mlp, self.nn, x, index, dim_size)
        return rows.reduce(rows.softmax(gate, dim) * x, "sum", dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(gate_nn={self.gate_mlp or self.gate_nn}, nn={self.mlp or self.nn})"


__all__ = ["AttentionalAggregation"]
