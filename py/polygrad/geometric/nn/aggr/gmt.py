"""The graph multiset transformer (Baek et al., "Accurate learning of graph representations with graph multiset pooling", 2021)."""

from __future__ import annotations

from ....nn import ModuleList
from ....tensor import Tensor
from .base import Aggregation
from .utils import PoolingByMultiheadAttention, SetAttentionBlock


class GraphMultisetTransformer(Aggregation):
    """k learned points look at the items of each row, attend to one another, and one learned point looks at them.

    channels: features of an item. k: number of points. num_encoder_blocks: attention blocks among the points. heads: of each attention.
    layer_norm, dropout: in the blocks. Shapes: x [N, channels], index [N]; out [rows, channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GraphMultisetTransformer
    >>> GraphMultisetTransformer(8, k=2, heads=2)(Tensor.ones(5, 8), Tensor([0, 0, 1, 1, 1])).shape
    (2, 8)
    """

    def __init__(
        self, channels: int, k: int, num_encoder_blocks: int = 1, heads: int = 1, layer_norm: bool = False, dropout: float = 0.0
    ):  # fmt: skip
        self.channels, self.k, self.heads, self.layer_norm, self.dropout = channels, k, heads, layer_norm, dropout
        self.pma1 = PoolingByMultiheadAttention(channels, k, heads, layer_norm, dropout)
        self.encoders = ModuleList([SetAttentionBlock(channels, heads, layer_norm, dropout) for _ in range(num_encoder_blocks)])
        self.pma2 = PoolingByMultiheadAttention(channels, 1, heads, layer_norm, dropout)

    def reset_parameters(self) -> None:
        for module in (self.pma1, *self.encoders, self.pma2):
            module.reset_parameters()

    def forward(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:  # fmt: skip
        self.assert_two_dimensional_input(x, dim)
        if max_num_elements is None:
            y = self.pma1.packed(x, self.rows(x, index, ptr, dim_size, dim))
        else:
            y = self.pma1(*self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=max_num_elements))
        for encoder in self.encoders:
            y = encoder(y)
        return self.pma2(y).squeeze(1)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.channels}, k={self.k}, heads={self.heads}, layer_norm={self.layer_norm}, dropout={self.dropout})"
        )  # fmt: skip


__all__ = ["GraphMultisetTransformer"]
