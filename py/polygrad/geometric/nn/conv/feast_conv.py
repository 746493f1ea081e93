"""FeaStConv: weights steered by features."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import normal
from ._loops import graph_of, with_loops
from ._pairs import pair
from .message_passing import MessagePassing


class FeaStConv(MessagePassing):
    """Feature-steered convolution (Verma et al. 2018), which does not change when all features are shifted.

        x'_i = b + mean_j sum_h q_h(x_i, x_j) W_h x_j,     q(x_i, x_j) = softmax over h of u_h (x_j - x_i) + c_h

    with j over the neighbours and i itself. heads: number of weights W_h.

    Shapes: x [V, F_in] or ([V_s, F_in], [V_t, F_in]), edge_index [2, E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import FeaStConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> FeaStConv(4, 8, heads=3)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int = 1, add_self_loops: bool = True, bias: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "mean")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.heads, self.add_self_loops = in_channels, out_channels, heads, add_self_loops
        self.lin = Linear(in_channels, heads * out_channels, bias=False, weight_initializer="uniform")
        self.u = Linear(in_channels, heads, bias=False, weight_initializer="uniform")
        self.c = Tensor.zeros(heads, requires_grad=True)
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin.reset_parameters()
        self.u.reset_parameters()
        normal(self.c, mean=0, std=0.1)
        normal(self.bias, mean=0, std=0.1)

    def forward(self, x: Any, edge_index: Any) -> Tensor:
        x_l, x_r = pair(x)
        if self.add_self_loops:
            edge_index, _ = with_loops(graph_of(edge_index, x_l.shape[0], x_r.shape[0]))
        # all products are taken to the nodes, that of the difference u (x_j - x_i) in two parts
        u_l, value = self.u(x_l), self.lin(x_l)
        u_r, unread = (u_l, value) if x_l is x_r else (self.u(x_r), self.lin(x_r))
        out = self.propagate(edge_index, x=(value, unread), u=(u_l, u_r))
        return out if self.bias is None else out + self.bias

    def message(self, x_j: Tensor, u_j: Tensor, u_i: Tensor) -> Tensor:
        q = (u_j - u_i + self.c).softmax(-1)
        return (x_j.unflatten(-1, (self.heads, self.out_channels)) * q.unsqueeze(-1)).sum(-2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"
