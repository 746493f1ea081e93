"""The items of each row, beside each other, through a network."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from .base import Aggregation


class MLPAggregation(Aggregation):
    """MLP([x_1, ..., x_n, 0, ...]) over the items of each row. It depends on the order of the items.

    in_channels, out_channels: features of an item and of the output. max_num_elements: how many items a row may have; what is beyond is
    left out. kwargs: those of MLP.

    Shapes: x [N, F_in], index [N] of rows; out [R, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MLPAggregation
    >>> MLPAggregation(4, 8, max_num_elements=3, num_layers=1)(Tensor.ones(3, 4), Tensor([0, 0, 1])).shape
    (2, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, max_num_elements: int, **kwargs: Any):
        from ..models.mlp import MLP

        self.in_channels, self.out_channels, self.max_num_elements = in_channels, out_channels, max_num_elements
        self.mlp = MLP(in_channels=in_channels * max_num_elements, out_channels=out_channels, **kwargs)

    def reset_parameters(self) -> None:
        self.mlp.reset_parameters()

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        y, _ = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=self.max_num_elements)
        return self.mlp(y.reshape(-1, y.shape[1] * y.shape[2]), index, dim_size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, max_num_elements={self.max_num_elements})"


__all__ = ["MLPAggregation"]
