"""Normalisation over all nodes, or over all nodes of each type."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....dtypes import dtypes
from ....tensor import Tensor
from ..._rows import rows_of


class BatchNorm(nn.Module):
    """y = (x - E[x]) / sqrt(Var[x] + eps) * weight + bias, each channel over all nodes; running statistics when not training.

    allow_single_element: a single node is normalised by the running statistics, in training too.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import BatchNorm
    >>> BatchNorm(16)(Tensor.ones(5, 16)).shape
    (5, 16)
    """

    def __init__(
        self, in_channels: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        allow_single_element: bool = False, device: Any = None,
    ):  # fmt: skip
        if allow_single_element and not track_running_stats:
            raise ValueError("'allow_single_element' requires 'track_running_stats' to be set to `True`")
        self.module = nn.BatchNorm1d(in_channels, eps, momentum, affine, track_running_stats)
        self.in_channels, self.allow_single_element = in_channels, allow_single_element

    def reset_running_stats(self) -> None:
        """Forgets the running statistics."""
        m = self.module
        if m.running_mean is not None and m.running_var is not None and m.num_batches_tracked is not None:
            m.running_mean.assign(m.running_mean.zeros_like())
            m.running_var.assign(m.running_var.ones_like())
            m.num_batches_tracked.assign(m.num_batches_tracked.zeros_like())

    def reset_parameters(self) -> None:
        """Forgets all that was learnt."""
        self.reset_running_stats()
        if self.module.weight is not None and self.module.bias is not None:
            self.module.weight.assign(self.module.weight.ones_like())
            self.module.bias.assign(self.module.bias.zeros_like())

    def forward(self, x: Tensor) -> Tensor:
        m = self.module
        if self.allow_single_element and m.running_mean is not None and m.running_var is not None and x.shape[0] <= 1:
            return x.batchnorm(m.weight, m.bias, m.running_mean, (m.running_var + m.eps).rsqrt())
        if x._kind is not Tensor and x.shape[0] == 1 and (Tensor.training or m.running_mean is None):  # as PyTorch's own layer
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {tuple(x.shape)}")
        return m(x)

    def extra_repr(self) -> str:
        m = self.module
        return f"{self.in_channels}, eps={m.eps}, momentum={m.momentum}, affine={m.weight is not None}, track_running_stats={m.track_running_stats}"


class HeteroBatchNorm(nn.Module):
    """BatchNorm with statistics, weight and bias of their own for each of num_types types of nodes.

    The statistics count as constants in the backward pass, as in PyG.

    Shapes: x [V, F], type_vec [V]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HeteroBatchNorm
    >>> HeteroBatchNorm(4, num_types=2)(Tensor.ones(3, 4), Tensor([0, 1, 1])).shape
    (3, 4)
    """

    def __init__(
        self, in_channels: int, num_types: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None,
    ):  # fmt: skip
        self.in_channels, self.num_types, self.eps, self.momentum = in_channels, num_types, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        shape = (num_types, in_channels)
        self.weight = Tensor.ones(*shape, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(*shape, requires_grad=True) if affine else None
        self.running_mean = Tensor.zeros(*shape, requires_grad=False) if track_running_stats else None
        self.running_var = Tensor.ones(*shape, requires_grad=False) if track_running_stats else None
        self.num_batches_tracked = Tensor.zeros(dtype=dtypes.int64, requires_grad=False) if track_running_stats else None

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

    def forward(self, x: Tensor, type_vec: Tensor) -> Tensor:
        rows = rows_of(type_vec, self.num_types)
        if self.running_mean is not None and self.running_var is not None and not Tensor.training:
            mean, var = self.running_mean, self.running_var
        else:
            mean = rows.reduce(x.detach(), "mean")
            var = rows.reduce(x.detach().square(), "mean") - mean.square()
            if self.track_running_stats:
                self._track(mean, var, rows.count)
        out = (x - rows.spread(mean)) / rows.spread(var.maximum(self.eps).sqrt())
        if self.weight is None or self.bias is None:
            return out
        return out * rows.spread(self.weight) + rows.spread(self.bias)

    def _track(self, mean: Tensor, var: Tensor, count: Tensor) -> None:
        """Moves the running statistics of the types that there are."""
        assert self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None
        m: Any = self.momentum
        if m is None:
            self.num_batches_tracked.assign(self.num_batches_tracked + 1)
            m = 1.0 / self.num_batches_tracked.cast(dtypes.float32)
        seen = (count > 0).reshape(-1, 1)
        for running, new in ((self.running_mean, mean), (self.running_var, var)):
            running.assign(seen.where((1.0 - m) * running + m * new, running))

    def extra_repr(self) -> str:
        return f"{self.in_channels}, num_types={self.num_types}"


__all__ = ["BatchNorm", "HeteroBatchNorm"]
