"""DenseGATConv: GATConv on dense adjacency matrices."""

from __future__ import annotations

import math

from ....nn import Module
from ....tensor import Tensor
from ..inits import glorot, zeros
from .dense_gcn_conv import batched, masked, with_loops
from .linear import Linear


class DenseGATConv(Module):
    """x'_i = sum_j alpha_ij W x_j,  alpha_ij = softmax over j of leaky_relu(a_src . W x_j + a_dst . W x_i), for matrices A [graphs, nodes, nodes];
    see GATConv.

    Called with x [graphs, nodes, in_channels], adj, mask [graphs, nodes] of the nodes that are there, and add_loop.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DenseGATConv
    >>> adj = Tensor.ones(2, 5, 5)
    >>> DenseGATConv(4, 8, heads=2)(Tensor.ones(2, 5, 4), adj).shape
    (2, 5, 16)
    """

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, concat: bool = True, negative_slope: float = 0.2, dropout: float = 0.0,
        bias: bool = True,
    ):  # fmt: skip
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout = negative_slope, dropout
        self.lin = Linear(in_channels, heads * out_channels, bias=False, weight_initializer="glorot")
        self.att_src = Tensor.zeros(1, 1, heads, out_channels, requires_grad=True)
        self.att_dst = Tensor.zeros(1, 1, heads, out_channels, requires_grad=True)
        self.bias = Tensor.zeros(heads * out_channels if concat else out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        glorot(self.att_src)
        glorot(self.att_dst)
        zeros(self.bias)

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None, add_loop: bool = True) -> Tensor:
        x, adj = batched(x, adj)
        if add_loop:
            adj = with_loops(adj, 1.0)
        x = self.lin(x).unflatten(-1, (self.heads, self.out_channels))
        alpha_src, alpha_dst = (x * self.att_src).sum(-1), (x * self.att_dst).sum(-1)
        alpha = (alpha_src.unsqueeze(1) + alpha_dst.unsqueeze(2)).leaky_relu(self.negative_slope)
        alpha = (adj.unsqueeze(-1) != 0).where(alpha, -math.inf).softmax(2).dropout(self.dropout)
        out = (alpha.permute(0, 3, 1, 2) @ x.transpose(1, 2)).transpose(1, 2)
        out = out.flatten(2) if self.concat else out.mean(2)
        return masked(out if self.bias is None else out + self.bias, mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"
