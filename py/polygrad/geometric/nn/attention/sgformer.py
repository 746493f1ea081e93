"""SGFormerAttention: all nodes with all, without a softmax (Wu et al., "SGFormer: simplifying and empowering transformers", 2023)."""

from __future__ import annotations

from ....nn import Linear, Module
from ....tensor import Tensor
from ..inits import reset


class SGFormerAttention(Module):
    """Linear attention, averaged over heads:

        out = (N v + q (k^T v)) / (N + q (k^T 1)),     q, k of length 1

    channels: features of a node. heads, head_channels: number and size of the heads. qkv_bias: whether queries, keys and values have a bias.
    Shapes: x [graphs, nodes, channels], mask [graphs, nodes]; out [graphs, nodes, head_channels]. Its cost grows with the number N of nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SGFormerAttention
    >>> SGFormerAttention(8, heads=2, head_channels=4)(Tensor.rand(1, 5, 8)).shape
    (1, 5, 4)
    """

    def __init__(self, channels: int, heads: int = 1, head_channels: int = 64, qkv_bias: bool = False):
        if channels % heads:
            raise ValueError(f"channels {channels} must be divisible by heads {heads}")
        self.heads, self.head_channels = heads, channels // heads if head_channels is None else head_channels
        inner = self.head_channels * heads
        self.q = Linear(channels, inner, bias=qkv_bias)
        self.k = Linear(channels, inner, bias=qkv_bias)
        self.v = Linear(channels, inner, bias=qkv_bias)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = (lin(x).unflatten(-1, (self.heads, self.head_channels)).transpose(1, 2) for lin in (self.q, self.k, self.v))
        if mask is not None:
            v = mask.unsqueeze(1).unsqueeze(-1).where(v, 0.0)
        q, k = ((t == 0).where(1e-6, t) for t in (q, k))
        q, k = (t * t.square().sum(-1, keepdim=True).rsqrt() for t in (q, k))
        count = Tensor.ones(1, 1, x.shape[1], 1, dtype=x.dtype).sum(2, keepdim=True)
        top = q @ (k.transpose(-1, -2) @ v) + count * v
        return (top / (q @ k.sum(-2).unsqueeze(-1) + count)).mean(1)

    def reset_parameters(self) -> None:
        for lin in (self.q, self.k, self.v):
            reset(lin)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(heads={self.heads}, head_channels={self.head_channels})"


__all__ = ["SGFormerAttention"]
