"""DenseGraphConv: GraphConv on dense adjacency matrices."""

from __future__ import annotations

import math

from ....nn import Linear, Module
from ....tensor import Tensor
from ..inits import reset
from .dense_gcn_conv import batched, masked


class DenseGraphConv(Module):
    """x'_i = W_rel aggr_j x_j + b + W_root x_i, for matrices A [graphs, nodes, nodes]; see GraphConv.

    aggr: 'add' (weighted by A), 'mean' (the same over the row's sum) or 'max' (over the nodes j with A_ji not 0). Called with x [graphs,
    nodes, in_channels], adj, and mask [graphs, nodes] of the nodes that are there.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DenseGraphConv
    >>> adj = Tensor.ones(2, 5, 5)
    >>> DenseGraphConv(4, 8, aggr="mean")(Tensor.ones(2, 5, 4), adj).shape
    (2, 5, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, aggr: str = "add", bias: bool = True):
        if aggr not in ("add", "mean", "max"):
            raise ValueError(f"aggr must be 'add', 'mean' or 'max', not {aggr!r}")
        self.in_channels, self.out_channels, self.aggr = in_channels, out_channels, aggr
        self.lin_rel = Linear(in_channels, out_channels, bias=bias)
        self.lin_root = Linear(in_channels, out_channels, bias=False)

    def reset_parameters(self) -> None:
        reset(self.lin_rel)
        reset(self.lin_root)

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None) -> Tensor:
        x, adj = batched(x, adj)
        if self.aggr == "max":
            out = (adj.unsqueeze(-1) != 0).where(x.unsqueeze(-2), -math.inf).amax(-3)
            out = (out == -math.inf).where(0.0, out)
        else:
            out = adj @ x
            if self.aggr == "mean":
                out = out / adj.sum(-1, keepdim=True).clamp(1.0)
        return masked(self.lin_rel(out) + self.lin_root(x), mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"
