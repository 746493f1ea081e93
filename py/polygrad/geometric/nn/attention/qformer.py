"""QFormer: a transformer that translates between the features of two models (Li et al., "BLIP-2", 2023)."""

from __future__ import annotations

from typing import Any

from ....nn import Dropout, LayerNorm, Linear, Module, ModuleList, MultiheadAttention, ReLU
from ....tensor import Tensor


class EncoderLayer(Module):
    """h = norm1(x + attention(x)); norm2(h + W_2 act(W_1 h)), with the parameters of torch.nn.TransformerEncoderLayer under its names."""

    def __init__(self, channels: int, heads: int, hidden_channels: int, dropout: float, activation: Any):
        self.self_attn = MultiheadAttention(channels, heads, dropout=dropout, batch_first=True)
        self.linear1, self.linear2 = Linear(channels, hidden_channels), Linear(hidden_channels, channels)
        self.norm1, self.norm2 = LayerNorm(channels), LayerNorm(channels)
        self.dropout, self.activation = Dropout(dropout), activation

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(x + self.dropout(self.self_attn(x, x, x, need_weights=False)[0]))
        return self.norm2(x + self.dropout(self.linear2(self.dropout(self.activation(self.linear1(x))))))


class Encoder(Module):
    """Layers after each other, that begin as copies of a given one."""

    def __init__(self, layers: list[EncoderLayer], first: EncoderLayer):
        self.layers = ModuleList(layers)
        for layer in self.layers:
            layer.load_state_dict(first.state_dict())

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class QFormer(Module):
    """out = W encoder(norm(x)) + b, with num_layers transformer layers.

    input_dim, hidden_dim, output_dim: features of the input, of the layers' networks, and of the output. num_heads, dropout: of the layers.
    activation: in the layers' networks. Shapes: x [batch, items, input_dim]; out [batch, items, output_dim].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import QFormer
    >>> QFormer(8, 16, 4, num_heads=2, num_layers=2)(Tensor.rand(3, 5, 8)).shape
    (3, 5, 4)
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, output_dim: int, num_heads: int, num_layers: int, dropout: float = 0.0,
        activation: Any = ReLU(),  # noqa: B008
    ):  # fmt: skip
        self.num_layers, self.num_heads = num_layers, num_heads

        def layer() -> EncoderLayer:
            return EncoderLayer(input_dim, num_heads, hidden_dim, dropout, activation)

        self.layer_norm = LayerNorm(input_dim)
        self.encoder_layer = layer()
        self.encoder = Encoder([layer() for _ in range(num_layers)], self.encoder_layer)
        self.project = Linear(input_dim, output_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.project(self.encoder(self.layer_norm(x)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_heads={self.num_heads}, num_layers={self.num_layers})"


__all__ = ["QFormer"]
