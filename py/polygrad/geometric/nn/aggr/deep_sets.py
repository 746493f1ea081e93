"""Deep sets."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..inits import reset
from ._mlp import apply, sort_out
from .base import Aggregation


class DeepSetsAggregation(Aggregation):
    """global_nn(sum of local_nn(x_i)) over the items of each row.

    local_nn, global_nn: networks; None is the identity.

    Shapes: x [N, F], index [N] of rows; out [R, F_out] of what global_nn gives.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import DeepSetsAggregation
    >>> DeepSetsAggregation(nn.Linear(4, 8), nn.Linear(8, 2))(Tensor.ones(3, 4), Tensor([0, 0, 1])).shape
    (2, 2)
    """

    def __init__(self, local_nn: Any = None, global_nn: Any = None):
        self.local_mlp, self.local_nn = sort_out(local_nn)
        self.global_mlp, self.global_nn = sort_out(global_nn)

    def reset_parameters(self) -> None:
        for module in (self.local_nn, self.local_mlp, self.global_nn, self.global_mlp):
            reset(module)

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        x = apply(self.local_mlp, self.local_nn, x, index, dim_size)
        x = self.reduce(x, index, ptr, dim_size, dim, "sum")
        return apply(self.global_mlp, self.global_nn, x, index, dim_size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(local_nn={self.local_mlp or self.local_nn}, global_nn={self.global_mlp or self.global_nn})"


__all__ = ["DeepSetsAggregation"]
