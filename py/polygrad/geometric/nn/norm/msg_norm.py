"""Normalisation of messages."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..._length import norm, normalize


class MessageNorm(nn.Module):
    """y = scale * |x|_p * m / |m|_p: messages as long as the features of their node (Li et al., 2020).

    Shapes: x [V, F], msg [V, F]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MessageNorm
    >>> MessageNorm()(Tensor([[3.0, 4.0]]), Tensor([[1.0, 0.0]])).tolist()
    [[5.0, 0.0]]
    """

    def __init__(self, learn_scale: bool = False, device: Any = None):
        self.scale = Tensor.ones(1, requires_grad=learn_scale)

    def reset_parameters(self) -> None:
        """Forgets what was learnt."""
        self.scale.assign(self.scale.ones_like())

    def forward(self, x: Tensor, msg: Tensor, p: float = 2.0) -> Tensor:
        return normalize(msg, p) * norm(x, p, -1, True) * self.scale

    def extra_repr(self) -> str:
        return f"learn_scale={self.scale.requires_grad}"


__all__ = ["MessageNorm"]
