"""Blocks of the set transformer."""

from __future__ import annotations

import math
from typing import Any

from ....nn import LayerNorm, Linear
from ....nn.attention import MultiheadAttention
from ....nn.functional import linear
from ....nn.module import Module
from ....tensor import Tensor
from ..._rows import Rows
from ..inits import glorot, reset, zeros


def _draw(points: Tensor) -> None:
    """Learned points [1, n, channels], by Glorot as PyTorch counts the sizes of three axes: the last one belongs to both sides."""
    n, channels = points.shape[1], points.shape[2]
    points.assign((points.rand_like() * 2 - 1) * math.sqrt(6.0 / (n * channels + channels)))


def reset_attention(attn: MultiheadAttention) -> None:
    """Draws the parameters of an attention layer anew."""
    glorot(attn.in_proj_weight)
    zeros(attn.in_proj_bias)
    reset(attn.out_proj)
    zeros(attn.out_proj.bias)


def _settings(block: MultiheadAttentionBlock, more: str = "") -> str:
    return f"{block.channels}, {more}heads={block.heads}, layer_norm={block.layer_norm1 is not None}, dropout={block.dropout}"


class MultiheadAttentionBlock(Module):
    """h = norm(x + attention(x, y, y)); norm(h + relu(W h)). Masks are True where there is an item."""

    def __init__(self, channels: int, heads: int = 1, layer_norm: bool = True, dropout: float = 0.0, device: Any = None):
        self.channels, self.heads, self.dropout = channels, heads, dropout
        self.attn = MultiheadAttention(channels, heads, batch_first=True, dropout=dropout)
        self.lin = Linear(channels, channels)
        self.layer_norm1 = LayerNorm(channels) if layer_norm else None
        self.layer_norm2 = LayerNorm(channels) if layer_norm else None

    def reset_parameters(self) -> None:
        reset_attention(self.attn)
        for module in (self.lin, self.layer_norm1, self.layer_norm2):
            reset(module)

    def forward(self, x: Tensor, y: Tensor, x_mask: Tensor | None = None, y_mask: Tensor | None = None) -> Tensor:
        out = self._attend(x, y, y_mask)
        if x_mask is not None:
            out = x_mask.unsqueeze(-1).where(out, 0.0)
        return self._after(x, out)

    def _after(self, x: Tensor, out: Tensor) -> Tensor:
        """What follows attention."""
        out = out + x
        out = out if self.layer_norm1 is None else self.layer_norm1(out)
        out = out + self.lin(out).relu()
        return out if self.layer_norm2 is None else self.layer_norm2(out)

    def _attend(self, x: Tensor, y: Tensor, y_mask: Tensor | None) -> Tensor:
        if y_mask is None:
            return self.attn(x, y, y, need_weights=False)[0]
        # Where there is nothing to see, attention sees 0; it looks at the filling first, so that nothing becomes NaN on the way.
        some = y_mask.any(1, keepdim=True)
        out, _ = self.attn(x, y, y, ~y_mask & some, need_weights=False)
        return some.unsqueeze(-1).where(out, self.attn.out_proj.bias)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_settings(self)})"


class SetAttentionBlock(Module):
    """A block of a set with itself."""

    def __init__(self, channels: int, heads: int = 1, layer_norm: bool = True, dropout: float = 0.0, device: Any = None):
        self.mab = MultiheadAttentionBlock(channels, heads, layer_norm, dropout)

    def reset_parameters(self) -> None:
        self.mab.reset_parameters()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.mab(x, x, mask, mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_settings(self.mab)})"


class InducedSetAttentionBlock(Module):
    """A block of a set with what num_induced_points learned points see of it."""

    def __init__(self, channels: int, num_induced_points: int, heads: int = 1, layer_norm: bool = True, dropout: float = 0.0, device: Any = None):
        self.ind = Tensor.zeros(1, num_induced_points, channels, requires_grad=True)
        self.mab1 = MultiheadAttentionBlock(channels, heads, layer_norm, dropout)
        self.mab2 = MultiheadAttentionBlock(channels, heads, layer_norm, dropout)
        _draw(self.ind)

    def reset_parameters(self) -> None:
        _draw(self.ind)
        self.mab1.reset_parameters()
        self.mab2.reset_parameters()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        h = self.mab1(self.ind.expand(x.shape[0], -1, -1), x, y_mask=mask)
        return self.mab2(x, h, x_mask=mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_settings(self.mab1, f'num_induced_points={self.ind.shape[1]}, ')})"


class PoolingByMultiheadAttention(Module):
    """What num_seed_points learned points see of a set."""

    def __init__(self, channels: int, num_seed_points: int = 1, heads: int = 1, layer_norm: bool = True, dropout: float = 0.0, device: Any = None):
        self.lin = Linear(channels, channels)
        self.seed = Tensor.zeros(1, num_seed_points, channels, requires_grad=True)
        self.mab = MultiheadAttentionBlock(channels, heads, layer_norm, dropout)
        _draw(self.seed)

    def reset_parameters(self) -> None:
        reset(self.lin)
        _draw(self.seed)
        self.mab.reset_parameters()

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.lin(x).relu()
        return self.mab(self.seed.expand(x.shape[0], -1, -1), x, y_mask=mask)

    def packed(self, x: Tensor, rows: Rows) -> Tensor:
        """The same of items [N, channels] that are gathered in rows: [rows, points, channels]. The points are the same for all rows, so keys are
        multiplied with them before items are, and values are summed over a row before they are mapped: W (sum_n a_n x_n) = sum_n a_n (W x_n)."""
        x = self.lin(x).relu()
        attn: Any = self.mab.attn
        points, channels, heads = self.seed.shape[1], self.seed.shape[2], attn.num_heads
        width = channels // heads
        query, key, value = attn.in_proj_weight.split(channels)
        query_bias, key_bias, value_bias = attn.in_proj_bias.split(channels)
        q = (linear(self.seed.squeeze(0), query, query_bias) / math.sqrt(width)).unflatten(1, (heads, width)).transpose(0, 1)
        weight = (q @ key.unflatten(0, (heads, width))).flatten(0, 1)  # [heads * points, channels]
        bias = (q * key_bias.unflatten(0, (heads, 1, width))).sum(-1).flatten()
        a = rows.softmax(linear(x, weight, bias))
        if Tensor.training and attn.dropout:
            a = a.dropout(attn.dropout)
            seen = rows.reduce(a).unflatten(1, (heads, points))
        else:
            seen = (rows.count > 0).cast(x.dtype).reshape(-1, 1, 1)
        z = rows.reduce(a.unsqueeze(-1) * x.unsqueeze(1)).unflatten(1, (heads, points))
        y = (z @ value.unflatten(0, (heads, width)).transpose(1, 2)) + seen.unsqueeze(-1) * value_bias.unflatten(0, (heads, 1, width))
        y = attn.out_proj(y.transpose(1, 2).flatten(2))  # [rows, points, channels]
        return self.mab._after(self.seed.expand(y.shape[0], -1, -1), y)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_settings(self.mab, f'num_seed_points={self.seed.shape[1]}, ')})"


__all__ = ["InducedSetAttentionBlock", "MultiheadAttentionBlock", "PoolingByMultiheadAttention", "SetAttentionBlock"]
