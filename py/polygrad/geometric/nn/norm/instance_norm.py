"""Normalisation over the nodes of each graph."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....dtypes import dtypes
from ....tensor import Tensor
from ..._rows import rows_of


class InstanceNorm(nn.Module):
    """y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias, each channel over the nodes of each graph (Ulyanov et al., 2016).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import InstanceNorm
    >>> InstanceNorm(1, eps=0.0)(Tensor([[1.0], [3.0], [5.0], [9.0]]), Tensor([0, 0, 1, 1])).reshape(-1).tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """

    def __init__(
        self, in_channels: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False, track_running_stats: bool = False, device: Any = None
    ):
        self.num_features, self.eps, self.momentum = in_channels, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Tensor.ones(in_channels, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(in_channels, requires_grad=True) if affine else None
        self.running_mean = Tensor.zeros(in_channels, requires_grad=False) if track_running_stats else None
        self.running_var = Tensor.ones(in_channels, requires_grad=False) if track_running_stats else None
        self.num_batches_tracked = Tensor.zeros(dtype=dtypes.int64, requires_grad=False) if track_running_stats else None

    @property
    def in_channels(self) -> int:
        return self.num_features

    def reset_running_stats(self) -> None:
        """Forgets the running statistics."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.assign(self.running_mean.zeros_like())
            self.running_var.assign(self.running_var.ones_like())
            self.num_batches_tracked.assign(self.num_batches_tracked.zeros_like())

    def reset_parameters(self) -> None:
        """Forgets all that was learnt."""
        self.reset_running_stats()
        if self.weight is not None and self.bias is not None:
            self.weight.assign(self.weight.ones_like())
            self.bias.assign(self.bias.zeros_like())

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        if self.running_mean is not None and self.running_var is not None and not Tensor.training:
            out = (x - self.running_mean) / (self.running_var + self.eps).sqrt()
        elif batch is None:
            mean = x.mean(0, keepdim=True)
            var = x.var(0, keepdim=True, correction=0)
            self._track(mean, x.detach().var(0, keepdim=True))
            out = (x - mean) / (var + self.eps).sqrt()
        else:
            rows = rows_of(batch, batch_size)
            count = rows.count.maximum(1).cast(x.dtype).reshape(-1, 1)
            mean = rows.reduce(x, "sum") / count
            out = x - rows.spread(mean)
            squares = rows.reduce(out.square(), "sum")
            self._track(mean, squares / (count - 1).maximum(1))
            out = out / rows.spread((squares / count + self.eps).sqrt())
        return out if self.weight is None else out * self.weight + self.bias

    def _track(self, mean: Tensor, unbiased: Tensor) -> None:
        if self.running_mean is not None and self.running_var is not None:
            m = self.momentum
            self.running_mean.assign((1 - m) * self.running_mean + m * mean.detach().mean(0))
            self.running_var.assign((1 - m) * self.running_var + m * unbiased.detach().mean(0))

    def extra_repr(self) -> str:
        return str(self.num_features)


__all__ = ["InstanceNorm"]
