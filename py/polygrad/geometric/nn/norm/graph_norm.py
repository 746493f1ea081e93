"""Normalisation over the nodes of each graph, with a learnt part of the mean."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..._rows import rows_of


class GraphNorm(nn.Module):
    """y = (x - a E[x]) / sqrt(Var[x - a E[x]] + eps) * weight + bias over the nodes of each graph, a = mean_scale (Cai et al., 2020).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GraphNorm
    >>> GraphNorm(2)(Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Tensor([0, 0, 1])).shape
    (3, 2)
    """

    def __init__(self, in_channels: int, eps: float = 1e-5, device: Any = None):
        self.in_channels, self.eps = in_channels, eps
        self.weight = Tensor.ones(in_channels, requires_grad=True)
        self.bias = Tensor.zeros(in_channels, requires_grad=True)
        self.mean_scale = Tensor.ones(in_channels, requires_grad=True)

    def reset_parameters(self) -> None:
        """Forgets all that was learnt."""
        self.weight.assign(self.weight.ones_like())
        self.bias.assign(self.bias.zeros_like())
        self.mean_scale.assign(self.mean_scale.ones_like())

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        if batch is None:
            mean = Tensor.mean if int(x.shape[0]) else Tensor.sum  # of nothing, 0
            out = x - mean(x, 0, keepdim=True) * self.mean_scale
            std = (mean(out.square(), 0, keepdim=True) + self.eps).sqrt()
        else:
            rows = rows_of(batch, batch_size)
            out = x - rows.spread(rows.reduce(x, "mean")) * self.mean_scale
            std = rows.spread((rows.reduce(out.square(), "mean") + self.eps).sqrt())
        return self.weight * out / std + self.bias

    def extra_repr(self) -> str:
        return str(self.in_channels)


__all__ = ["GraphNorm"]
