"""DenseSAGEConv: SAGEConv on dense adjacency matrices."""

from __future__ import annotations

from ....nn import Linear, Module
from ....tensor import Tensor
from ..inits import reset
from .dense_gcn_conv import batched, masked


class DenseSAGEConv(Module):
    """x'_i = W_rel mean_j x_j + W_root x_i + b, for matrices A [graphs, nodes, nodes] of zeros and ones; see SAGEConv.

    normalize: results of length 1. Called with x [graphs, nodes, in_channels], adj, and mask [graphs, nodes] of the nodes that are there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DenseSAGEConv
    >>> adj = Tensor.ones(2, 5, 5)
    >>> DenseSAGEConv(4, 8)(Tensor.ones(2, 5, 4), adj).shape
    (2, 5, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, normalize: bool = False, bias: bool = True):
        self.in_channels, self.out_channels, self.normalize = in_channels, out_channels, normalize
        self.lin_rel = Linear(in_channels, out_channels, bias=False)
        self.lin_root = Linear(in_channels, out_channels, bias=bias)

    def reset_parameters(self) -> None:
        reset(self.lin_rel)
        reset(self.lin_root)

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None) -> Tensor:
        x, adj = batched(x, adj)
        out = adj @ x / adj.sum(-1, keepdim=True).clamp(1.0)
        out = self.lin_rel(out) + self.lin_root(x)
        if self.normalize:
            out = out.normalize(p=2.0, dim=-1)
        return masked(out, mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"
