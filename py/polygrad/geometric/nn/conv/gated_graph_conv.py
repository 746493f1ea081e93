"""Gated graph networks (Li et al., "Gated graph sequence neural networks", ICLR 2016)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....loops import scan
from ....tensor import Tensor
from ..inits import reset, uniform
from .message_passing import MessagePassing


class GatedGraphConv(MessagePassing):
    r"""h_i^(0) = [x_i, 0], m_i = sum over j in N(i) of e_ji W_l h_j^(l), h_i^(l+1) = GRU(m_i, h_i^(l)), for num_layers steps.

    Shapes: x [V, F_in] with F_in <= F_out, edge_index [2, E], edge_weight [E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GatedGraphConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GatedGraphConv(8, num_layers=3)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, out_channels: int, num_layers: int, aggr: Any = "add", bias: bool = True, **kwargs: Any):
        super().__init__(aggr=aggr, **kwargs)
        self.out_channels, self.num_layers = out_channels, num_layers
        self.weight = Tensor.zeros(num_layers, out_channels, out_channels, requires_grad=True)
        self.rnn = nn.GRUCell(out_channels, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        uniform(self.out_channels, self.weight)
        reset(self.rnn)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        missing = self.out_channels - x.shape[-1]
        if missing < 0:
            raise ValueError(
                f"the number of input channels is not allowed to be larger than the number of output channels: {x.shape[-1]} and {self.out_channels}"
            )
        if missing:
            x = x.pad((0, missing))

        def step(x: Tensor, weight: Tensor) -> tuple[Tensor, None]:
            return self.rnn(self.propagate(edge_index, x=x @ weight, edge_weight=edge_weight), x), None

        return scan(step, x, self.weight)[0]

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_channels}, num_layers={self.num_layers})"


__all__ = ["GatedGraphConv"]
