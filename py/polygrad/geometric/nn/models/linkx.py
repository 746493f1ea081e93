"""Features and neighbourhoods apart."""

from __future__ import annotations

import math
from typing import Any

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..conv.message_passing import MessagePassing
from ..inits import kaiming_uniform, reset, uniform
from .mlp import MLP


class SparseLinear(MessagePassing):
    """A W + b: a linear layer on the rows of the adjacency matrix, whose entries are edge weights or 1."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True):
        super().__init__(aggr="add")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.weight = Tensor.empty(in_channels, out_channels, requires_grad=True)
        self.bias = Tensor.empty(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        kaiming_uniform(self.weight, fan=self.in_channels, a=math.sqrt(5))
        uniform(self.in_channels, self.bias)

    def forward(self, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, num_nodes=self.in_channels)
        rows = graph.src(self.weight)
        out = graph.sum(rows if edge_weight is None else edge_weight.reshape(-1, 1) * rows)
        return out if self.bias is None else out + self.bias


class LINKX(nn.Module):
    """Y = MLP_f(relu(W [h_A, h_X] + h_A + h_X)), h_A = MLP_A(A), h_X = MLP_X(X) (Lim et al., 2021). For one graph of num_nodes nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LINKX
    >>> LINKX(3, 4, 8, 2, num_layers=2)(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 2)
    """

    def __init__(
        self, num_nodes: int, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, num_edge_layers: int = 1,
        num_node_layers: int = 1, dropout: float = 0.0,
    ):  # fmt: skip
        self.num_nodes, self.in_channels, self.out_channels, self.num_edge_layers = num_nodes, in_channels, out_channels, num_edge_layers
        h = hidden_channels
        self.edge_lin = SparseLinear(num_nodes, h)
        self.edge_norm = nn.BatchNorm1d(h) if num_edge_layers > 1 else None
        self.edge_mlp = MLP([h] * num_edge_layers, dropout=0.0, act_first=True) if num_edge_layers > 1 else None
        self.node_mlp = MLP([in_channels, *[h] * num_node_layers], dropout=0.0, act_first=True)
        self.cat_lin1, self.cat_lin2 = nn.Linear(h, h), nn.Linear(h, h)
        self.final_mlp = MLP([*[h] * num_layers, out_channels], dropout=dropout, act_first=True)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.edge_lin, self.edge_norm, self.edge_mlp, self.node_mlp, self.cat_lin1, self.cat_lin2, self.final_mlp):
            reset(part)

    def forward(self, x: Tensor | None, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """x may be None: then the edges are all there is."""
        out = self.edge_lin(edge_index, edge_weight)
        if self.edge_norm is not None and self.edge_mlp is not None:
            out = self.edge_mlp(self.edge_norm(out.relu()))
        out = out + self.cat_lin1(out)
        if x is not None:
            x = self.node_mlp(x)
            out = out + x + self.cat_lin2(x)
        return self.final_mlp(out.relu())

    def extra_repr(self) -> str:
        return f"num_nodes={self.num_nodes}, in_channels={self.in_channels}, out_channels={self.out_channels}"


__all__ = ["LINKX", "SparseLinear"]
