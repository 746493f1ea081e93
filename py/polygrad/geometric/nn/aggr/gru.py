"""Rows as sequences, read by a GRU."""

from __future__ import annotations

from typing import Any

from ....nn.recurrent import GRU
from ....tensor import Tensor
from .base import Aggregation


class GRUAggregation(Aggregation):
    """The last output of a GRU over the items of each row, shorter rows being filled up with zeros. It depends on the order of the items.

    in_channels, out_channels: features of an item and of the output. kwargs: those of polygrad.nn.GRU.

    Shapes: x [N, F_in], index [N] of rows; out [R, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GRUAggregation
    >>> GRUAggregation(4, 8)(Tensor.ones(3, 4), Tensor([0, 0, 1])).shape
    (2, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any):
        self.in_channels, self.out_channels = in_channels, out_channels
        self.gru = GRU(in_channels, out_channels, batch_first=True, **kwargs)

    def reset_parameters(self) -> None:
        self.gru.reset_parameters()

    def forward(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:  # fmt: skip
        y, _ = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=max_num_elements)
        if not y.shape[1]:  # no items at all
            y = Tensor.zeros(y.shape[0], 1, y.shape[2], dtype=x.dtype)
        return self.gru(y)[0][:, -1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


__all__ = ["GRUAggregation"]
