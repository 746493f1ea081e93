"""PerformerAttention: attention whose cost grows with the number of nodes, not with its square."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....nn import Dropout, Linear, Module, ReLU
from ....tensor import Tensor
from ..inits import reset


def orthogonal_matrix(num_rows: int, num_cols: int) -> Tensor:
    """Blocks of random orthogonal matrices below each other, cut to num_rows rows."""
    blocks = max(1, -(-num_rows // num_cols))
    qs = [np.linalg.qr(m)[0].T for m in Tensor.randn(blocks, num_cols, num_cols).numpy()]
    return Tensor(np.ascontiguousarray(np.concatenate(qs)[:num_rows], np.float32))


class PerformerProjection(Module):
    """Queries and keys by random features; kernel makes them positive."""

    def __init__(self, num_cols: int, kernel: Any = ReLU()):  # noqa: B008
        self.num_rows, self.num_cols, self.kernel = int(num_cols * math.log(num_cols)), num_cols, kernel
        self.projection_matrix = orthogonal_matrix(self.num_rows, num_cols)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k = (self.kernel(t @ self.projection_matrix.transpose(-1, -2)) + 0.001 for t in (q, k))
        total = q @ k.sum(-2).unsqueeze(-1)
        return q @ (k.transpose(-1, -2) @ v) / total


class PerformerAttention(Module):
    """Linear attention (Choromanski et al. 2021).

        out = D^-1 Q' (K'^T V),     Q' = kernel(Q P^T) + 0.001,  K' = kernel(K P^T) + 0.001,  D = diag(Q' K'^T 1)

    with random orthogonal P, a buffer that redraw_projection_matrix() replaces. x [graphs, nodes, channels], mask [graphs, nodes].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PerformerAttention
    >>> PerformerAttention(8, heads=2)(Tensor.ones(2, 5, 8)).shape
    (2, 5, 8)
    """

    def __init__(
        self, channels: int, heads: int, head_channels: int | None = 64, kernel: Any = ReLU(), qkv_bias: bool = False,  # noqa: B008
        attn_out_bias: bool = True, dropout: float = 0.0,
    ):  # fmt: skip
        if channels % heads:
            raise ValueError(f"channels {channels} must be divisible by heads {heads}")
        self.heads, self.head_channels, self.kernel = heads, channels // heads if head_channels is None else head_channels, kernel
        self.fast_attn = PerformerProjection(self.head_channels, kernel)
        inner = self.head_channels * heads
        self.q = Linear(channels, inner, bias=qkv_bias)
        self.k = Linear(channels, inner, bias=qkv_bias)
        self.v = Linear(channels, inner, bias=qkv_bias)
        self.attn_out = Linear(inner, channels, bias=attn_out_bias)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (lin(x).unflatten(-1, (self.heads, self.head_channels)).transpose(1, 2) for lin in (self.q, self.k, self.v))
        if mask is not None:
            v = mask.unsqueeze(1).unsqueeze(-1).where(v, 0.0)
        out = self.fast_attn(q, k, v).transpose(1, 2).flatten(2)
        return self.dropout(self.attn_out(out))

    def redraw_projection_matrix(self) -> None:
        """New random features."""
        f = self.fast_attn
        f.projection_matrix.assign(orthogonal_matrix(f.num_rows, f.num_cols).cast(f.projection_matrix.dtype))

    def reset_parameters(self) -> None:
        for lin in (self.q, self.k, self.v, self.attn_out):
            reset(lin)
        self.redraw_projection_matrix()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(heads={self.heads}, head_channels={self.head_channels} kernel={self.kernel})"


__all__ = ["PerformerAttention", "PerformerProjection", "orthogonal_matrix"]
