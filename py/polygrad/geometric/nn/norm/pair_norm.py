"""Normalisation of distances between nodes."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ..._length import norm
from ..._rows import rows_of


class PairNorm(nn.Module):
    """Keeps the total distance of pairs of nodes the same from layer to layer (Zhao and Akoglu, 2020).

    xc = x - mean(x);   y = scale * xc / sqrt(eps + mean |xc|^2), or scale * xc / (eps + |xc|) if scale_individually

    Shapes: x [V, F], batch [V]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PairNorm
    >>> PairNorm(eps=0.0)(Tensor([[1.0], [3.0]])).reshape(-1).tolist()
    [-1.0, 1.0]
    """

    def __init__(self, scale: float = 1.0, scale_individually: bool = False, eps: float = 1e-5):
        self.scale, self.scale_individually, self.eps = scale, scale_individually, eps

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        rows = None if batch is None else rows_of(batch, batch_size)
        x = x - (x.mean(0, keepdim=True) if rows is None else rows.spread(rows.reduce(x, "mean")))
        if self.scale_individually:
            return self.scale * x / (self.eps + norm(x, 2.0, -1, True))
        squares = x.square().sum(-1, keepdim=True)
        mean = squares.mean() if rows is None else rows.spread(rows.reduce(squares, "mean"))
        return self.scale * x / (self.eps + mean).sqrt()

    def reset_parameters(self) -> None:
        """Nothing was learnt."""


__all__ = ["PairNorm"]
