"""Encodings: positions and times as features."""

from __future__ import annotations

import math
from typing import Any

from ...nn.module import Module
from ...tensor import Tensor


class PositionalEncoding(Module):
    """Positions as sines and cosines (Vaswani et al., "Attention is all you need", 2017).

        out = [sin(x f_k / granularity), cos(x f_k / granularity)],     f_k = base_freq^(k / (out_channels / 2 - 1))

    out_channels: an even number. Shapes: x [N]; out [N, out_channels]. device is accepted and has no effect.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PositionalEncoding
    >>> PositionalEncoding(4)(Tensor([0.0, 1.0])).shape
    (2, 4)
    """

    def __init__(self, out_channels: int, base_freq: float = 1e-4, granularity: float = 1.0, device: Any = None):
        if out_channels % 2:
            raise ValueError(f"sinusoidal positional encoding cannot have an odd 'out_channels': {out_channels}")
        self.out_channels, self.base_freq, self.granularity = out_channels, base_freq, granularity
        half = out_channels // 2
        self.frequency = Tensor([base_freq ** (k / max(half - 1, 1)) for k in range(half)], requires_grad=False)

    def reset_parameters(self) -> None:
        """Nothing is learned."""

    def forward(self, x: Tensor) -> Tensor:
        out = (x / self.granularity if self.granularity != 1.0 else x).reshape(-1, 1) * self.frequency
        return Tensor.cat(out.sin(), out.cos(), dim=-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_channels})"


class TemporalEncoding(Module):
    """Times as cosines of fixed frequencies (Cong et al., "Do we really need complicated model architectures for temporal networks?", 2023).

        out_k = cos(x s^(-k s / (out_channels - 1))),     s = sqrt(out_channels)

    Shapes: x [N]; out [N, out_channels]. device is accepted and has no effect.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import TemporalEncoding
    >>> TemporalEncoding(4)(Tensor([0.0, 1.0]))[0].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(self, out_channels: int, device: Any = None):
        self.out_channels = out_channels
        s = math.sqrt(out_channels)
        self.weight = Tensor([[s ** (-k * s / max(out_channels - 1, 1)) for k in range(out_channels)]], requires_grad=False)

    def reset_parameters(self) -> None:
        """Nothing is learned."""

    def forward(self, x: Tensor) -> Tensor:
        return (x.reshape(-1, 1) * self.weight).cos()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_channels})"


__all__ = ["PositionalEncoding", "TemporalEncoding"]
