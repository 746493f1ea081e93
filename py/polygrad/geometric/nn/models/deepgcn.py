"""Residual blocks for deep networks."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..inits import reset


class DeepGCNLayer(nn.Module):
    """A layer with normalisation, activation and a skip connection (Li et al., 2019 and 2020).

    block: 'res+' norm, act, dropout, conv, + x; 'res' conv, norm, act, + x, dropout; 'dense' the same joined to x; 'plain' without x.
    ckpt_grad is accepted and has no effect: what is cheap to compute again is not stored anyway.

    Shapes: those of conv; x [V, F] and out [V, F] where there is a residual.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import DeepGCNLayer, GCNConv, LayerNorm
    >>> layer = DeepGCNLayer(GCNConv(8, 8), LayerNorm(8), nn.ReLU(), block="res+", dropout=0.1)
    >>> layer(Tensor.ones(3, 8), Tensor([[0, 1], [1, 2]])).shape
    (3, 8)
    """

    def __init__(self, conv: Any = None, norm: Any = None, act: Any = None, block: str = "res+", dropout: float = 0.0, ckpt_grad: bool = False):
        self.conv, self.norm, self.act, self.block, self.dropout, self.ckpt_grad = conv, norm, act, block.lower(), dropout, ckpt_grad
        if self.block not in ("res+", "res", "dense", "plain"):
            raise ValueError(f"block must be 'res+', 'res', 'dense' or 'plain', not {block!r}")

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.conv)
        reset(self.norm)

    def _norm_act(self, h: Tensor) -> Tensor:
        h = h if self.norm is None else self.norm(h)
        return h if self.act is None else self.act(h)

    def _drop(self, h: Tensor) -> Tensor:
        return h.dropout(self.dropout) if self.dropout else h

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """x and further arguments of the layer."""
        x, *rest = args
        if self.block == "res+":
            return x + self.conv(self._drop(self._norm_act(x)), *rest, **kwargs)
        h = self._norm_act(self.conv(x, *rest, **kwargs))
        if self.block == "res":
            h = x + h
        elif self.block == "dense":
            h = Tensor.cat(x, h, dim=-1)
        return self._drop(h)

    def extra_repr(self) -> str:
        return f"block={self.block}"


__all__ = ["DeepGCNLayer"]
