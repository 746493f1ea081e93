"""PDNConv: edge weights out of edge features."""

from __future__ import annotations

from typing import Any

from ....nn import Linear as Dense
from ....nn import ReLU, Sequential, Sigmoid
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import glorot, zeros
from ._loops import Smoother
from .message_passing import MessagePassing


class PDNConv(Smoother, MessagePassing):
    """Pathfinder discovery network (Rozemberczki et al. 2021).

        x'_i = b + sum_j w_ji / sqrt(deg_i deg_j) W x_j,    w_ji = sigmoid(MLP(e_ji))

    with j over the neighbours and i itself, whose weight is 1. edge_dim: features of an edge, hidden_channels: width of the MLP.

    Shapes: x [V, F_in], edge_index [2, E], edge_attr [E, edge_dim]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PDNConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> PDNConv(4, 8, edge_dim=2, hidden_channels=5)(Tensor.ones(3, 4), edge_index, Tensor.ones(3, 2)).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, edge_dim: int, hidden_channels: int, add_self_loops: bool = True, normalize: bool = True,
        bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.edge_dim, self.hidden_channels = in_channels, out_channels, edge_dim, hidden_channels
        self.add_self_loops, self.normalize = add_self_loops, normalize
        self.lin = Linear(in_channels, out_channels, bias=False)
        self.mlp = Sequential(Dense(edge_dim, hidden_channels), ReLU(), Dense(hidden_channels, 1), Sigmoid())
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin, self.mlp[0], self.mlp[2]):
            glorot(lin.weight)
        for bias in (self.mlp[0].bias, self.mlp[2].bias, self.bias):
            zeros(bias)

    def forward(self, x: Tensor, edge_index: Any, edge_attr: Tensor | None = None) -> Tensor:
        weight = None if edge_attr is None else self._edge_weight(edge_attr)
        x = self.lin(x)
        if self.normalize:
            out = self._smooth(self._scaled(x, edge_index, weight, loops=self.add_self_loops), x)
        else:
            out = self.propagate(edge_index, x=x, edge_weight=weight)
        return out if self.bias is None else out + self.bias

    def _edge_weight(self, edge_attr: Tensor) -> Tensor:
        """self.mlp, whose second map, to one number, is a sum: as a product of matrices it would have its input stored for every edge."""
        first, act, second, gate = self.mlp
        return gate((act(first(edge_attr)) * second.weight).sum(-1) + second.bias)

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j
