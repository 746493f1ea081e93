"""Attention with several heads, with PyTorch's arguments and meanings: PyTorch alone has this name."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import Tensor
from .functional import linear
from .layers import Linear
from .module import Module

# Scores of up to this many keys are stored, with their softmax, rather than computed again in the gradient. Forward and backward pass of 2,000
# batches of 4 heads on one thread: 11.4 ms became 5.0 with 9 keys of 8 features, 29.6 became 14.6 with 14 of 8;
# with 10 to 16 keys of 16 nothing changed.
FEW_KEYS = 32


class MultiheadAttention(Module):
    """Attention with several heads: output, and the heads' weights unless need_weights=False.

    add_bias_kv: a learned key and value behind the others. add_zero_attn: a key and value of zeros behind them. kdim, vdim: features of key and
    value, if they are not embed_dim. batch_first: [batch, time, features] instead of [time, batch, features]; without a batch [time, features].

    >>> from polygrad import Tensor, nn
    >>> x = Tensor.ones(2, 5, 8)
    >>> y, weights = nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> y.shape, weights.shape
    ((2, 5, 8), (2, 5, 5))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False,
        kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
    ):  # fmt: skip
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} must be divisible by num_heads {num_heads}")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim, self.add_zero_attn = kdim or embed_dim, vdim or embed_dim, add_zero_attn

        def weight(*shape: int) -> Tensor:
            return Tensor.glorot_uniform(*shape, requires_grad=True)

        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = weight(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight, self.k_proj_weight = weight(embed_dim, embed_dim), weight(embed_dim, self.kdim)
            self.v_proj_weight = weight(embed_dim, self.vdim)
        self.in_proj_bias = Tensor.zeros(3 * embed_dim, requires_grad=True) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        if self.out_proj.bias is not None:
            self.out_proj.bias = Tensor.zeros(embed_dim, requires_grad=True)
        spread = math.sqrt(2 / (1 + embed_dim))  # Glorot's normal of [1, 1, embed_dim]
        self.bias_k = Tensor.normal(1, 1, embed_dim, std=spread, requires_grad=True) if add_bias_kv else None
        self.bias_v = Tensor.normal(1, 1, embed_dim, std=spread, requires_grad=True) if add_bias_kv else None

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """key_padding_mask [batch, keys] and attn_mask [queries, keys] or [batch * heads, queries, keys] are True where attention is NOT allowed
        (Tensor.scaled_dot_product_attention has it the other way), or numbers that are added to the scores. is_causal: no query sees a later key.
        """
        if query.ndim not in (2, 3):
            raise ValueError(f"query has two axes, or three with a batch, not the shape {query.shape}")
        batched = query.ndim == 3
        if not batched:
            query, key, value = (t.unsqueeze(0) for t in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        q, k, v = self._projected(query, key, value)
        mask = self._mask(q, k, key.shape[1], key_padding_mask, attn_mask, is_causal)
        p = self.dropout if Tensor.training else 0.0
        weights = None
        if need_weights:
            scores = q @ k.transpose(-1, -2) / math.sqrt(self.embed_dim // self.num_heads)
            weights = (scores if mask is None else scores + mask).softmax(-1).dropout(self.dropout)
            y = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights if batched else weights.squeeze(0)
        elif mask is None and not p and int(k.shape[2]) <= FEW_KEYS:
            scores = (q @ k.transpose(-1, -2) / math.sqrt(self.embed_dim // self.num_heads)).contiguous()
            y = scores.softmax(-1).contiguous() @ v
        else:
            y = q.scaled_dot_product_attention(k, v, mask, p)
        y = self.out_proj(y.transpose(1, 2).flatten(2))
        return (y.squeeze(0) if not batched else y if self.batch_first else y.transpose(0, 1)), weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Queries, keys and values [batch, heads, time, features of a head]; what is learned or zero is behind the keys and values."""
        e, heads = self.embed_dim, self.num_heads
        ws: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        ws = ws if self.in_proj_weight is None else self.in_proj_weight.split(e)
        bs: Any = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.split(e)
        q, k, v = (linear(t, w, b) for t, w, b in zip((query, key, value), ws, bs))
        if self.bias_k is not None and self.bias_v is not None:
            k, v = (t.cat(b.expand(t.shape[0], 1, e), dim=1) for t, b in ((k, self.bias_k), (v, self.bias_v)))
        if self.add_zero_attn:
            k, v = (t.cat(Tensor.zeros(t.shape[0], 1, e, dtype=t.dtype), dim=1) for t in (k, v))
        return [t.unflatten(-1, (heads, e // heads)).transpose(1, 2) for t in (q, k, v)]

    def _mask(self, q: Tensor, k: Tensor, keys: Any, padding: Tensor | None, attn: Tensor | None, is_causal: bool) -> Tensor | None:
        """What is added to the scores [batch, heads, queries, keys]; None for nothing."""
        more = k.shape[2] - keys  # what was put behind the keys is always seen
        parts = []
        if padding is not None:
            parts.append(_added(padding, q).unsqueeze(1).unsqueeze(1))
        if attn is not None:
            a = _added(attn, q)
            parts.append(a.unflatten(0, (-1, self.num_heads)) if a.ndim == 3 else a.unsqueeze(0).unsqueeze(0))
        elif is_causal:
            later = Tensor.ones(q.shape[2], keys, dtype="bool").triu(1)
            parts.append(_added(later, q).unsqueeze(0).unsqueeze(0))
        if not parts:
            return None
        out = parts[0] if len(parts) == 1 else parts[0] + parts[1]
        return out.pad(((0, 0), (0, 0), (0, 0), (0, more))) if more else out


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as numbers to add to scores: True becomes minus infinity."""
    if mask.dtype.kind != "b":
        return mask.cast(like.dtype)
    return mask.where(Tensor.full((), -math.inf, dtype=like.dtype), Tensor.full((), 0.0, dtype=like.dtype))


__all__ = ["MultiheadAttention"]
