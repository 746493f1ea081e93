"""The set transformer."""

from __future__ import annotations

from ....nn.containers import ModuleList
from ....tensor import Tensor
from .base import Aggregation
from .utils import PoolingByMultiheadAttention, SetAttentionBlock


class SetTransformerAggregation(Aggregation):
    """Attention among the items of each row, then by num_seed_points learned points, then among those.

    channels: features of an item. num_encoder_blocks, num_decoder_blocks: attention blocks before and after the seed points. heads:
    of each attention. concat: the results of the seed points beside each other, else their mean. layer_norm, dropout: in the blocks.

    Shapes: x [N, F], index [N] of rows; out [R, num_seed_points * F], or [R, F] without concat.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SetTransformerAggregation
    >>> SetTransformerAggregation(4, num_seed_points=2, heads=2)(Tensor.ones(3, 4), Tensor([0, 0, 1])).shape
    (2, 8)
    """

    def __init__(
        self, channels: int, num_seed_points: int = 1, num_encoder_blocks: int = 1, num_decoder_blocks: int = 1, heads: int = 1,
        concat: bool = True, layer_norm: bool = False, dropout: float = 0.0,
    ):  # fmt: skip
        self.channels, self.num_seed_points, self.heads = channels, num_seed_points, heads
        self.concat, self.layer_norm, self.dropout = concat, layer_norm, dropout
        self.encoders = ModuleList([SetAttentionBlock(channels, heads, layer_norm, dropout) for _ in range(num_encoder_blocks)])
        self.pma = PoolingByMultiheadAttention(channels, num_seed_points, heads, layer_norm, dropout)
        self.decoders = ModuleList([SetAttentionBlock(channels, heads, layer_norm, dropout) for _ in range(num_decoder_blocks)])

    def reset_parameters(self) -> None:
        for module in (*self.encoders, self.pma, *self.decoders):
            module.reset_parameters()

    def forward(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:  # fmt: skip
        y, mask = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=max_num_elements)
        for encoder in self.encoders:
            y = encoder(y, mask)
        y = self.pma(y, mask)
        for decoder in self.decoders:
            y = decoder(y)
        return y.flatten(1, 2) if self.concat else y.mean(1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.channels}, num_seed_points={self.num_seed_points}, heads={self.heads}, "
            f"layer_norm={self.layer_norm}, dropout={self.dropout})"
        )


__all__ = ["SetTransformerAggregation"]
