"""Graph attention with a score that depends on both ends (Brody et al., "How attentive are graph attention networks?", ICLR 2022)."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ...utils._softmax import softmax
from ..dense.linear import Linear
from ..inits import glorot, zeros
from ._loops import NoLoopsOfValues, graph_of, with_loops
from .gat_conv import edge_index_of
from .message_passing import MessagePassing


class GATv2Conv(NoLoopsOfValues, MessagePassing):
    r"""x'_i = sum over j in N(i) and i of alpha_ij W_l x_j, with alpha_ij = softmax over j of a . LeakyReLU(W_r x_i + W_l x_j + W_e e_ij).

    There are `heads` of these, side by side (concat) or averaged. share_weights: W_l = W_r.
    fill_value: edge features of the self loops; a number, a Tensor, or how those of the edges into the node are reduced ('mean').
    residual: adds a linear map of x_i. dropout: of the attention weights.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, D]; out [V_t, H * F_out], or [V_t, F_out] without
    concat; with return_attention_weights (out, (edge_index [2, E'], alpha [E', H])).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GATv2Conv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GATv2Conv(4, 8, heads=2, edge_dim=3)(Tensor.ones(3, 4), edge_index, Tensor.ones(3, 3)).shape
    (3, 16)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, heads: int = 1, concat: bool = True, negative_slope: float = 0.2, dropout: float = 0.0,
        add_self_loops: bool = True, edge_dim: int | None = None, fill_value: Any = "mean", bias: bool = True, share_weights: bool = False,
        residual: bool = False, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(node_dim=0, **kwargs)
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self._fill_value, self.residual, self.share_weights = edge_dim, fill_value, residual, share_weights

        wide, total = heads * out_channels, out_channels * (heads if concat else 1)
        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        self.lin_l = Linear(left, wide, bias=bias, weight_initializer="glorot")
        self.lin_r = self.lin_l if share_weights else Linear(right, wide, bias=bias, weight_initializer="glorot")
        self.att = Tensor.zeros(1, heads, out_channels, requires_grad=True)
        self.lin_edge = None if edge_dim is None else Linear(edge_dim, wide, bias=False, weight_initializer="glorot")
        self.res = Linear(right, total, bias=False, weight_initializer="glorot") if residual else None
        self.bias = Tensor.zeros(total, requires_grad=True) if bias else None
        self.reset_parameters()

    @property
    def fill_value(self) -> Any:
        return self._fill_value

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin_l, self.lin_r, self.lin_edge, self.res):
            if lin is not None:
                lin.reset_parameters()
        glorot(self.att)
        zeros(self.bias)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, return_attention_weights: bool | None = None) -> Any:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        if left.ndim != 2:
            raise ValueError(f"GATv2Conv takes node features of two axes, not the shape {left.shape}")
        if right is None:
            raise ValueError("GATv2Conv needs the features of the target nodes: x must be (x_src, x_dst), both given")
        shape = (-1, self.heads, self.out_channels)
        res = None if self.res is None else self.res(right)
        x_l = self.lin_l(left).reshape(shape)
        x_r = x_l if self.share_weights and right is left else self.lin_r(right).reshape(shape)

        graph = edge_index
        if self.add_self_loops:
            graph, edge_attr = with_loops(graph_of(edge_index, left.shape[0], right.shape[0]), edge_attr, self._fill_value)
        alpha = self.edge_updater(graph, x=(x_l, x_r), edge_attr=edge_attr)
        out = self.propagate(graph, x=(x_l, x_r), alpha=alpha)

        out = out.reshape(-1, self.heads * self.out_channels) if self.concat else out.mean(1)
        out = out if res is None else out + res
        out = out if self.bias is None else out + self.bias
        if return_attention_weights:
            return out, (edge_index_of(edge_index, graph), alpha)
        return out

    def edge_update(self, x_j: Tensor, x_i: Tensor, edge_attr: Tensor | None, index: Tensor, ptr: Tensor | None, dim_size: Any) -> Tensor:
        x = x_i + x_j
        if edge_attr is not None:
            if self.lin_edge is None:
                raise ValueError("GATv2Conv was given edge features but made without edge_dim")
            edge_attr = edge_attr.unsqueeze(-1) if edge_attr.ndim == 1 else edge_attr
            x = x + self.lin_edge(edge_attr).reshape(-1, self.heads, self.out_channels)
        alpha = (x.leaky_relu(self.negative_slope) * self.att).sum(-1)
        return softmax(alpha, index, ptr, dim_size).dropout(self.dropout)

    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
        return x_j * alpha.unsqueeze(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


__all__ = ["GATv2Conv"]
