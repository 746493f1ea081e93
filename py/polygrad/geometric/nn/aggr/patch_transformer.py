"""Patches of the items of a row, and attention among them (in the manner of Cong et al., "Do we really need complicated model architectures
for temporal networks?", 2023)."""

from __future__ import annotations

from typing import Any

from .... import dtypes
from ....nn import Linear, ModuleList
from ....tensor import Tensor
from ..encoding import PositionalEncoding
from ..inits import reset
from .base import Aggregation
from .utils import MultiheadAttentionBlock

AGGRS = ("sum", "mean", "min", "max", "var", "std")
_METHODS = {"min": "amin", "max": "amax"}  # values alone, whatever the class of the tensor


class PatchTransformerAggregation(Aggregation):
    """The items of a row in their order, patch_size of them a patch; attention among the patches of a row, and a reduction over them.

    in_channels, hidden_channels, out_channels: features of an item, of a patch, and of the result. num_transformer_blocks, heads, dropout: of the
    attention. aggr: 'sum', 'mean', 'min', 'max', 'var', 'std', or several of them, whose results lie beside each other before the last map.
    max_num_elements, given to forward: how many items of a row are looked at, one more than the longest has by default; whole patches of them
    are taken, so that the last items of long rows are left out. device is accepted and has no effect.

    Shapes: x [N, in_channels], index [N]; out [rows, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PatchTransformerAggregation
    >>> aggr = PatchTransformerAggregation(8, 4, patch_size=2, hidden_channels=6, heads=2)
    >>> aggr(Tensor.ones(5, 8), Tensor([0, 0, 1, 1, 1])).shape
    (2, 4)
    """

    def __init__(
        self, in_channels: int, out_channels: int, patch_size: int, hidden_channels: int, num_transformer_blocks: int = 1, heads: int = 1,
        dropout: float = 0.0, aggr: Any = "mean", device: Any = None,
    ):  # fmt: skip
        self.in_channels, self.out_channels, self.patch_size = in_channels, out_channels, patch_size
        self.aggrs = [aggr] if isinstance(aggr, str) else list(aggr)
        if not self.aggrs or any(a not in AGGRS for a in self.aggrs):
            raise ValueError(f"aggr must be one or several of {', '.join(AGGRS)}, not {aggr!r}")
        self.lin = Linear(in_channels, hidden_channels)
        self.pad_projector = Linear(patch_size * hidden_channels, hidden_channels)
        self.pe = PositionalEncoding(hidden_channels)
        self.blocks = ModuleList([MultiheadAttentionBlock(hidden_channels, heads, True, dropout) for _ in range(num_transformer_blocks)])
        self.fc = Linear(hidden_channels * len(self.aggrs), out_channels)

    def reset_parameters(self) -> None:
        for module in (self.lin, self.pad_projector, *self.blocks, self.fc):
            reset(module)

    def forward(  # type: ignore[override]
        self, x: Tensor, index: Tensor | None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:  # fmt: skip
        rows = self.rows(x, index, ptr, dim_size, dim)
        if max_num_elements is None:
            max_num_elements = (int(rows.count.max().item()) if rows.num_rows else 0) + 1
        patches = max(max_num_elements // self.patch_size, 1)
        y, _ = self.to_dense_batch(self.lin(x), index, ptr, dim_size, dim, max_num_elements=patches * self.patch_size)
        y = self.pad_projector(y.reshape(y.shape[0], patches, self.patch_size * y.shape[-1]))
        y = y + self.pe(Tensor.arange(patches, dtype=dtypes.int32)).cast(y.dtype)
        for block in self.blocks:
            y = block(y, y)
        return self.fc(Tensor.cat(*[getattr(y, _METHODS.get(a, a))(dim=1) for a in self.aggrs], dim=1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, patch_size={self.patch_size})"


__all__ = ["PatchTransformerAggregation"]
