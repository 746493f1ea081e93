"""PMLP: trained as an MLP, used as a GNN (Yang et al., "Graph neural networks are inherently good generalizers", 2023)."""

from __future__ import annotations

import math
from typing import Any

from .... import nn
from ....tensor import Tensor
from ..conv.simple_conv import SimpleConv
from ..dense.linear import Linear
from ..inits import zeros


class PMLP(nn.Module):
    """Linear layers with normalisation, relu and dropout between them. When not training, the mean over a node and its neighbours is taken after
    each linear map, before its bias.

    in_channels, hidden_channels, out_channels, num_layers: sizes and number of the layers. dropout: between them. norm: whether hidden features are
    normalised over the batch, without learned factors or running statistics. bias: of the layers.
    Shapes: x [V, in_channels], edge_index [2, E] (not needed in training); out [V, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PMLP
    >>> PMLP(8, 16, 3, num_layers=2)(Tensor.rand(3, 8), Tensor([[0, 1], [1, 2]])).shape
    (3, 3)
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int, dropout: float = 0.0, norm: bool = True, bias: bool = True
    ):
        self.in_channels, self.hidden_channels, self.out_channels = in_channels, hidden_channels, out_channels
        self.num_layers, self.dropout, self.bias = num_layers, dropout, bias
        sizes = [in_channels, *[hidden_channels] * (num_layers - 1), out_channels]
        self.lins = nn.ModuleList([Linear(a, b, bias) for a, b in zip(sizes, sizes[1:])])
        self.norm = nn.BatchNorm1d(hidden_channels, affine=False, track_running_stats=False) if norm else None
        self.conv = SimpleConv(aggr="mean", combine_root="self_loop")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for lin in self.lins:
            bound = 1.414 * math.sqrt(6.0 / sum(int(s) for s in lin.weight.shape))
            lin.weight.assign(Tensor.uniform(*lin.weight.shape, low=-bound, high=bound).cast(lin.weight.dtype))
            zeros(lin.bias)

    def forward(self, x: Tensor, edge_index: Any = None) -> Tensor:
        if not self.training and edge_index is None:
            raise ValueError("'edge_index' needs to be present during inference in PMLP")
        for k, lin in enumerate(self.lins):
            x = x @ lin.weight.transpose(0, 1)
            x = x if self.training else self.conv(x, edge_index)
            x = x if lin.bias is None else x + lin.bias
            if k + 1 < self.num_layers:
                x = x if self.norm is None else self.norm(x)
                x = x.relu().dropout(self.dropout)
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_layers={self.num_layers})"


__all__ = ["PMLP"]
