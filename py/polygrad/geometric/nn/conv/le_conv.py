"""LEConv: differences to the neighbours."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..dense.linear import Linear
from ._pairs import pair
from .message_passing import MessagePassing


class LEConv(MessagePassing):
    """Local extrema (Ranjan et al. 2020): how a node stands out among its neighbours.

        x'_i = W3 x_i + b3 + sum_j e_ji (W1 x_j + b1 - W2 x_i)

    with edge weights e, 1 if there are none.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_weight [E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LEConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> LEConv(4, 8)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, in_channels: Any, out_channels: int, bias: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        sources, destinations = pair(in_channels)
        self.lin1 = Linear(sources, out_channels, bias=bias)
        self.lin2 = Linear(destinations, out_channels, bias=False)
        self.lin3 = Linear(destinations, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin1.reset_parameters()
        self.lin2.reset_parameters()
        self.lin3.reset_parameters()

    def forward(self, x: Any, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        x_l, x_r = pair(x)
        out = self.propagate(edge_index, a=self.lin1(x_l), b=self.lin2(x_r), edge_weight=edge_weight)
        return out + self.lin3(x_r)

    def message(self, a_j: Tensor, b_i: Tensor, edge_weight: Tensor | None) -> Tensor:
        out = a_j - b_i
        return out if edge_weight is None else out * edge_weight.reshape(-1, 1)
