"""PolynormerAttention: linear attention times a gate (Deng et al., "Polynormer: polynomial-expressive graph transformer", 2024)."""

from __future__ import annotations

from ....nn import Dropout, LayerNorm, Linear, Module
from ....tensor import Tensor
from ..inits import reset


class PolynormerAttention(Module):
    """Linear attention, normalised and multiplied with a linear map of the input:

        out = relu(W (norm(q (k^T v) / (q (k^T 1))) * (H x + beta))),     q = sigmoid(Q x),  k = sigmoid(K x)

    channels: features of a node. heads, head_channels: number and size of the heads. beta: added to the gate. qkv_bias: whether queries, keys and
    values have a bias. qk_shared: queries are the keys. dropout: of the result.
    Shapes: x [graphs, nodes, channels], mask [graphs, nodes]; out [graphs, nodes, heads * head_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PolynormerAttention
    >>> PolynormerAttention(8, heads=2, head_channels=4)(Tensor.rand(1, 5, 8)).shape
    (1, 5, 8)
    """

    def __init__(
        self, channels: int, heads: int, head_channels: int = 64, beta: float = 0.9, qkv_bias: bool = False, qk_shared: bool = True,
        dropout: float = 0.0,
    ):  # fmt: skip
        self.head_channels, self.heads, self.beta, self.qk_shared = head_channels, heads, beta, qk_shared
        inner = heads * head_channels
        self.h_lins = Linear(channels, inner)
        self.q = None if qk_shared else Linear(channels, inner, bias=qkv_bias)
        self.k = Linear(channels, inner, bias=qkv_bias)
        self.v = Linear(channels, inner, bias=qkv_bias)
        self.lns = LayerNorm(inner)
        self.lin_out = Linear(inner, inner)
        self.dropout = Dropout(dropout)

    def _by_head(self, x: Tensor) -> Tensor:
        """[graphs, nodes, size * heads], heads being the inner of the two, as [graphs, heads, nodes, size]."""
        return x.unflatten(-1, (self.head_channels, self.heads)).permute(0, 3, 1, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        k, v = self._by_head(self.k(x).sigmoid()), self._by_head(self.v(x))
        q = k if self.q is None else self._by_head(self.q(x).sigmoid())
        if mask is not None:
            v = mask.unsqueeze(1).unsqueeze(-1).where(v, 0.0)
        out = q @ (k.transpose(-1, -2) @ v) / (q @ k.sum(-2).unsqueeze(-1) + 1e-6)
        out = out.permute(0, 2, 3, 1).flatten(2)
        return self.dropout(self.lin_out(self.lns(out) * (self.h_lins(x) + self.beta)).relu())

    def reset_parameters(self) -> None:
        for part in (self.h_lins, self.q, self.k, self.v, self.lns, self.lin_out):
            reset(part)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(heads={self.heads}, head_channels={self.head_channels})"


__all__ = ["PolynormerAttention"]
