"""Set2Set: attention that is refined step by step."""

from __future__ import annotations

from typing import Any

from ....nn.recurrent import LSTM
from ....tensor import Tensor
from .base import Aggregation


class Set2Set(Aggregation):
    """q_t = LSTM(q*_{t-1}); a_i = softmax(x_i · q_t) over each row; r_t = sum of a_i x_i; q*_t = [q_t, r_t], the last of which is the output.

    in_channels: features of an item; the output has twice as many. processing_steps: number of steps. kwargs: those of polygrad.nn.LSTM.

    Shapes: x [N, F], index [N] of rows; out [R, 2 F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import Set2Set
    >>> Set2Set(4, processing_steps=3)(Tensor.ones(3, 4), Tensor([0, 0, 1])).shape
    (2, 8)
    """

    def __init__(self, in_channels: int, processing_steps: int, **kwargs: Any):
        self.in_channels, self.out_channels, self.processing_steps = in_channels, 2 * in_channels, processing_steps
        self.lstm = LSTM(self.out_channels, in_channels, **kwargs)

    def reset_parameters(self) -> None:
        self.lstm.reset_parameters()

    def forward(self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2) -> Tensor:
        self.assert_two_dimensional_input(x, dim)
        rows = self.rows(x, index, ptr, dim_size, dim)
        state = None
        q_star = Tensor.zeros(rows.num_rows, self.out_channels, dtype=x.dtype)
        for _ in range(self.processing_steps):
            q, state = self.lstm(q_star.unsqueeze(0), state)
            q = q.reshape(-1, self.in_channels)
            weight = rows.softmax((x * rows.spread(q)).sum(-1, keepdim=True))
            q_star = Tensor.cat(q, rows.reduce(weight * x, "sum"), dim=-1)
        return q_star

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


__all__ = ["Set2Set"]
