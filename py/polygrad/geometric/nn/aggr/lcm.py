"""Learnable commutative monoids (Ong and Velickovic, "Learnable commutative monoids for graph neural networks", 2022)."""

from __future__ import annotations

from typing import Any

from ....nn import GRUCell, Linear
from ....tensor import Tensor
from ..inits import reset
from .base import Aggregation


class LCMAggregation(Aggregation):
    """The items of a row joined two by two by a learned operation until one is left, in as many steps as the logarithm of the longest row:

        a * b = (GRU(a, b) + GRU(b, a)) / 2

    in_channels, out_channels: features of an item and of the result. project: whether items go through relu(W x + b) first; needed where the
    two differ. Rows are filled up with zeros. Shapes: x [N, in_channels], index [N]; out [rows, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LCMAggregation
    >>> LCMAggregation(8, 4)(Tensor.ones(5, 8), Tensor([0, 0, 1, 1, 1])).shape
    (2, 4)
    """

    def __init__(self, in_channels: int, out_channels: int, project: bool = True):
        if in_channels != out_channels and not project:
            raise ValueError(f"items of {in_channels} features must be projected to have {out_channels} of them: use project=True")
        self.in_channels, self.out_channels, self.project = in_channels, out_channels, project
        self.lin = Linear(in_channels, out_channels) if project else None
        self.gru_cell = GRUCell(out_channels, out_channels)

    def reset_parameters(self) -> None:
        reset(self.lin)
        reset(self.gru_cell)

    def _join(self, a: Tensor, b: Tensor) -> Tensor:
        """Both orders in one product: [2, pairs * rows, F]."""
        each, other = Tensor.stack(a, b).flatten(0, 2), Tensor.stack(b, a).flatten(0, 2)
        return self.gru_cell(each, other).reshape(2, *a.shape).mean(0)

    def forward(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:  # fmt: skip
        x = x if self.lin is None else self.lin(x).relu()
        y: Any = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=max_num_elements)[0].transpose(0, 1)
        if not y.shape[0]:  # no items at all
            return Tensor.zeros(y.shape[1], y.shape[2], dtype=x.dtype)
        while y.shape[0] > 1:
            even = y.shape[0] // 2 * 2
            joined = self._join(y[0:even:2], y[1:even:2])
            y = joined if even == y.shape[0] else Tensor.cat(joined, y[even:])
        return y.squeeze(0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, project={self.project})"


__all__ = ["LCMAggregation"]
