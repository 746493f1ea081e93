"""Topology adaptive graph convolution (Du et al., "Topology adaptive graph convolutional networks", 2017)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import zeros
from ._loops import Scaled, Smoother, graph_of, is_linear
from .message_passing import MessagePassing


class TAGConv(Smoother, MessagePassing):
    r"""X' = sum over k = 0..K of (D^-1/2 A D^-1/2)^k X W_k + b.

    normalize: False takes A as it is, with the given weights.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import TAGConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> TAGConv(4, 8, K=2)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, K: int = 3, bias: bool = True, normalize: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.K, self.normalize = in_channels, out_channels, K, normalize
        self.lins = nn.ModuleList([Linear(in_channels, out_channels, bias=False) for _ in range(K + 1)])
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in self.lins:
            lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if self.normalize:
            s = self._scaled(x, edge_index, edge_weight, loops=False)
        else:
            s = Scaled(graph_of(edge_index, x.shape[self.node_dim]), None, edge_weight)
        if is_linear(self) and self.out_channels < x.shape[-1]:  # Horner's rule: fewer features to carry around
            out = self.lins[self.K](x)
            for k in range(self.K - 1, -1, -1):
                out = self._smooth(s, out) + self.lins[k](x)
        else:
            out = self.lins[0](x)
            for k in range(1, self.K + 1):
                x = self._smooth(s, x)
                out = out + self.lins[k](x)
        return out if self.bias is None else out + self.bias

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={self.K})"


__all__ = ["TAGConv"]
