"""Normalisation by the number of nodes of each graph."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ..._rows import rows_of


class GraphSizeNorm(nn.Module):
    """y = x / sqrt(number of nodes of the node's graph) (Dwivedi et al., 2020).

    Shapes: x [V, F], batch [V]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GraphSizeNorm
    >>> GraphSizeNorm()(Tensor.ones(5, 1), Tensor([0, 0, 0, 0, 1])).reshape(-1).tolist()
    [0.5, 0.5, 0.5, 0.5, 1.0]
    """

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        if batch is None:
            return x * Tensor.ones(x.shape[0], 1, dtype=x.dtype).sum().rsqrt()
        rows = rows_of(batch, batch_size)
        scale = rows.count.maximum(1).cast(x.dtype).rsqrt()
        return x * rows.spread(scale).reshape(-1, 1)

    def reset_parameters(self) -> None:
        """Nothing was learnt."""


__all__ = ["GraphSizeNorm"]
