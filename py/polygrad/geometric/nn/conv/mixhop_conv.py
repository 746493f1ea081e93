"""MixHopConv: several powers of the adjacency matrix side by side."""

from __future__ import annotations

from typing import Any

from ....nn import Identity, ModuleList
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import zeros
from ._loops import Smoother
from .message_passing import MessagePassing


class MixHopConv(Smoother, MessagePassing):
    """MixHop (Abu-El-Haija et al. 2019).

        X' = concat over p in powers of  (D^-1/2 (A + I) D^-1/2)^p X W_p

    The result has len(powers) * out_channels features.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E]; out [V, F_out * number of powers].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MixHopConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> MixHopConv(4, 8, powers=[0, 1, 2])(Tensor.ones(3, 4), edge_index).shape
    (3, 24)
    """

    def __init__(
        self, in_channels: int, out_channels: int, powers: list[int] | None = None, add_self_loops: bool = True, bias: bool = True, **kwargs: Any
    ):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        powers = [0, 1, 2] if powers is None else list(powers)
        self.in_channels, self.out_channels, self.powers, self.add_self_loops = in_channels, out_channels, powers, add_self_loops
        self.lins = ModuleList([Linear(in_channels, out_channels, bias=False) if p in powers else Identity() for p in range(max(powers) + 1)])
        self.bias = Tensor.zeros(len(powers) * out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in self.lins:
            if isinstance(lin, Linear):
                lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        s = self._scaled(x, edge_index, edge_weight, loops=self.add_self_loops)
        outs = []
        for power, lin in enumerate(self.lins):
            x = x if power == 0 else self._smooth(s, x)
            outs.append(lin(x))
        out = Tensor.cat(*[outs[p] for p in self.powers], dim=-1)
        return out if self.bias is None else out + self.bias

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, powers={self.powers})"
