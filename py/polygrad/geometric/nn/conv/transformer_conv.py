"""Graph transformer (Shi et al., "Masked label prediction: unified message passing model for semi-supervised classification", IJCAI 2021)."""

from __future__ import annotations

import math
from typing import Any

from ....tensor import Tensor
from ...utils._softmax import softmax
from ..dense.linear import Linear
from .message_passing import MessagePassing


class TransformerConv(MessagePassing):
    r"""x'_i = W_1 x_i + sum over j in N(i) of alpha_ij (W_2 x_j + W_6 e_ij), alpha_ij = softmax over j of (W_3 x_i) . (W_4 x_j + W_6 e_ij) / sqrt(d).

    There are `heads` of these, of d = out_channels features, side by side (concat) or averaged. The terms with e_ij need edge_dim.
    beta: instead of the sum, b_i W_1 x_i + (1 - b_i) m_i with b_i = sigmoid(w . [W_1 x_i, m_i, W_1 x_i - m_i]), where m_i is what the
    neighbours bring. root_weight: False leaves W_1 x_i out. dropout: of the attention weights.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, D]; out [V_t, H * F_out], or [V_t, F_out] without
    concat; with return_attention_weights (out, (edge_index [2, E], alpha [E, H])).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import TransformerConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> TransformerConv(4, 8, heads=2, beta=True)(Tensor.ones(3, 4), edge_index).shape
    (3, 16)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, heads: int = 1, concat: bool = True, beta: bool = False, dropout: float = 0.0,
        edge_dim: int | None = None, bias: bool = True, root_weight: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(node_dim=0, **kwargs)
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.beta, self.root_weight, self.concat, self.dropout, self.edge_dim = beta and root_weight, root_weight, concat, dropout, edge_dim
        self._alpha: Tensor | None = None

        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        wide, total = heads * out_channels, out_channels * (heads if concat else 1)
        self.lin_key = Linear(left, wide, bias=bias)
        self.lin_query = Linear(right, wide, bias=bias)
        self.lin_value = Linear(left, wide, bias=bias)
        self.lin_edge = None if edge_dim is None else Linear(edge_dim, wide, bias=False)
        self.lin_skip = Linear(right, total, bias=bias)
        self.lin_beta = Linear(3 * total, 1, bias=False) if self.beta else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin_key, self.lin_query, self.lin_value, self.lin_edge, self.lin_skip, self.lin_beta):
            if lin is not None:
                lin.reset_parameters()

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, return_attention_weights: bool | None = None) -> Any:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        shape = (-1, self.heads, self.out_channels)
        query = self.lin_query(right).reshape(shape)
        key = self.lin_key(left).reshape(shape)
        value = self.lin_value(left).reshape(shape)
        out = self.propagate(edge_index, query=query, key=key, value=value, edge_attr=edge_attr)
        alpha, self._alpha = self._alpha, None

        out = out.reshape(-1, self.heads * self.out_channels) if self.concat else out.mean(1)
        if self.root_weight:
            skip = self.lin_skip(right)
            if self.lin_beta is not None:
                b = self.lin_beta(Tensor.cat(out, skip, out - skip, dim=-1)).sigmoid()
                out = b * skip + (1 - b) * out
            else:
                out = out + skip
        return (out, (edge_index, alpha)) if isinstance(return_attention_weights, bool) else out

    def message(
        self, query_i: Tensor, key_j: Tensor, value_j: Tensor, edge_attr: Tensor | None, index: Tensor, ptr: Tensor | None, size_i: Any
    ) -> Tensor:
        if self.lin_edge is not None:
            if edge_attr is None:
                raise ValueError("TransformerConv was made with edge_dim and needs edge_attr")
            edge_attr = self.lin_edge(edge_attr).reshape(-1, self.heads, self.out_channels)
            key_j = key_j + edge_attr
        alpha = (query_i * key_j).sum(-1) / math.sqrt(self.out_channels)
        self._alpha = alpha = softmax(alpha, index, ptr, size_i)
        out = value_j if edge_attr is None else value_j + edge_attr
        return out * alpha.dropout(self.dropout).unsqueeze(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


__all__ = ["TransformerConv"]
