"""Convolution with a matrix for each edge (Gilmer et al., "Neural message passing for quantum chemistry", ICML 2017; Simonovsky and
Komodakis, "Dynamic edge-conditioned filters in convolutional neural networks on graphs", CVPR 2017)."""

from __future__ import annotations

from typing import Any, Callable

from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import reset, zeros
from .message_passing import MessagePassing


class NNConv(MessagePassing):
    r"""x'_i = W x_i + sum over j in N(i) of x_j nn(e_ji), where nn gives a matrix of F_in rows and F_out columns.

    nn: a network that maps edge features [E, D] to [E, F_in * F_out]. aggr: what stands for the sum. root_weight: False leaves W x_i out.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, D]; out [V_t, F_out].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import ECConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> ECConv(4, 8, nn.Linear(2, 4 * 8))(Tensor.ones(3, 4), edge_index, Tensor.ones(3, 2)).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, nn: Callable[..., Tensor], aggr: Any = "add", root_weight: bool = True, bias: bool = True,
        **kwargs: Any,
    ):  # fmt: skip
        super().__init__(aggr=aggr, **kwargs)
        self.in_channels, self.out_channels, self.nn, self.root_weight = in_channels, out_channels, nn, root_weight
        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        self.in_channels_l = left
        if root_weight:
            self.lin = Linear(right, out_channels, bias=False, weight_initializer="uniform")
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.nn)
        if self.root_weight:
            self.lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None) -> Tensor:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        out = self.propagate(edge_index, x=(left, right), edge_attr=edge_attr, size=size)
        out = out if right is None or not self.root_weight else out + self.lin(right)
        return out if self.bias is None else out + self.bias

    def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:
        weight = self.nn(edge_attr).reshape(-1, self.in_channels_l, self.out_channels)
        return (x_j.unsqueeze(-1) * weight).sum(-2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr}, nn={self.nn})"


ECConv = NNConv

__all__ = ["ECConv", "NNConv"]
