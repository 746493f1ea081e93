"""GPSConv: messages along edges, and attention between all nodes of a graph."""

from __future__ import annotations

import inspect
from typing import Any

from ....dtypes import dtypes
from ....nn import Dropout, Linear, Module, MultiheadAttention, Sequential
from ....tensor import Tensor
from ..._rows import count_of, rows_of
from ...utils import to_dense_batch
from ..attention.performer import PerformerAttention
from ..inits import glorot, reset, zeros
from ..resolver import activation_resolver, normalization_resolver


class GPSConv(Module):
    """General, powerful, scalable graph transformer (Rampasek et al. 2022).

        h = norm1(x + conv(x, edges)) + norm2(x + attention(x)),     x' = norm3(h + MLP(h))

    conv: any layer of channels to channels, or None. attn_type: 'multihead' or 'performer'; attn_kwargs: further arguments of that.
    batch: the graph of each node; attention stays within a graph.

    Shapes: x [V, F], edge_index [2, E], batch [V]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GINConv, GPSConv
    >>> from polygrad import nn
    >>> GPSConv(4, GINConv(nn.Linear(4, 4)), heads=2)(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 4)
    """

    def __init__(
        self, channels: int, conv: Any, heads: int = 1, dropout: float = 0.0, act: Any = "relu", act_kwargs: dict[str, Any] | None = None,
        norm: Any = "batch_norm", norm_kwargs: dict[str, Any] | None = None, attn_type: str = "multihead",
        attn_kwargs: dict[str, Any] | None = None,
    ):  # fmt: skip
        self.channels, self.conv, self.heads, self.dropout, self.attn_type = channels, conv, heads, dropout, attn_type
        self.attn: Any
        if attn_type == "multihead":
            self.attn = MultiheadAttention(channels, heads, batch_first=True, **(attn_kwargs or {}))
        elif attn_type == "performer":
            self.attn = PerformerAttention(channels=channels, heads=heads, **(attn_kwargs or {}))
        else:
            raise ValueError(f"attn_type must be 'multihead' or 'performer', not {attn_type!r}")
        act = activation_resolver(act, **(act_kwargs or {}))
        self.mlp = Sequential(Linear(channels, channels * 2), act, Dropout(dropout), Linear(channels * 2, channels), Dropout(dropout))
        self.norm1, self.norm2, self.norm3 = (normalization_resolver(norm, channels, **(norm_kwargs or {})) for _ in range(3))
        self.norm_with_batch = self.norm1 is not None and "batch" in inspect.signature(self.norm1.forward).parameters
        if attn_type == "multihead":
            self._reset_attention()

    def _reset_attention(self) -> None:
        if self.attn_type == "performer":
            self.attn.reset_parameters()
            return
        glorot(self.attn.in_proj_weight)
        zeros(self.attn.in_proj_bias)
        reset(self.attn.out_proj)
        zeros(self.attn.out_proj.bias)

    def reset_parameters(self) -> None:
        reset(self.conv)
        self._reset_attention()
        for part in (self.mlp, self.norm1, self.norm2, self.norm3):
            reset(part)

    def forward(self, x: Tensor, edge_index: Any, batch: Tensor | None = None, **kwargs: Any) -> Tensor:
        """kwargs: further arguments of conv."""
        out = self._norm(self.norm2, self._attend(x, batch).dropout(self.dropout) + x, batch)
        if self.conv is not None:
            out = self._norm(self.norm1, self.conv(x, edge_index, **kwargs).dropout(self.dropout) + x, batch) + out
        return self._norm(self.norm3, out + self.mlp(out), batch)

    def _norm(self, norm: Any, x: Tensor, batch: Tensor | None) -> Tensor:
        if norm is None:
            return x
        return norm(x, batch=batch) if self.norm_with_batch else norm(x)

    def _attend(self, x: Tensor, batch: Tensor | None) -> Tensor:
        h, mask = to_dense_batch(x, batch)
        if self.attn_type == "performer":
            h = self.attn(h, mask=mask)
        else:
            h, _ = self.attn(h, h, h, key_padding_mask=None if batch is None else ~mask, need_weights=False)
        if batch is None:
            return h.squeeze(0)
        # back to rows: the place of a node in its graph is its number less that of the graph's first node
        place = Tensor.arange(x.shape[0], dtype=dtypes.int32) - rows_of(batch, count_of(batch)).begin[batch]
        return h.flatten(0, 1)[batch * h.shape[1] + place]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels}, conv={self.conv}, heads={self.heads}, attn_type={self.attn_type})"
