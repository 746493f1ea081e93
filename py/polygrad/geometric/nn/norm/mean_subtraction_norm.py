"""Subtraction of the mean."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ..._rows import rows_of


class MeanSubtractionNorm(nn.Module):
    """y = x - mean of x over the nodes of the same graph (Yang et al., 2020).

    Shapes: x [V, F], batch [V]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MeanSubtractionNorm
    >>> MeanSubtractionNorm()(Tensor([[1.0], [3.0], [5.0]]), Tensor([0, 0, 1])).reshape(-1).tolist()
    [-1.0, 1.0, 0.0]
    """

    def forward(self, x: Tensor, batch: Tensor | None = None, dim_size: int | None = None) -> Tensor:
        if batch is None:
            return x - x.mean(0, keepdim=True)
        rows = rows_of(batch, dim_size)
        return x - rows.spread(rows.reduce(x, "mean"))

    def reset_parameters(self) -> None:
        """Nothing was learnt."""


__all__ = ["MeanSubtractionNorm"]
