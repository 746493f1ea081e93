"""MFConv: a weight for every degree."""

from __future__ import annotations

from typing import Any

from ....nn import ModuleList
from ....nn.functional import linear
from ....tensor import Tensor
from ..dense.linear import Linear
from ._loops import graph_of
from ._pairs import pair
from .message_passing import MessagePassing


class MFConv(MessagePassing):
    """Molecular fingerprints (Duvenaud et al. 2015): nodes of different degree have different weights.

        x'_i = W1[deg i] sum_j x_j + W2[deg i] x_i + b[deg i]

    Degrees above max_degree share the last weight. in_channels may be a pair (sources, destinations).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MFConv
    >>> MFConv(4, 8, max_degree=3)(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 8)
    """

    def __init__(self, in_channels: Any, out_channels: int, max_degree: int = 10, bias: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.max_degree = in_channels, out_channels, max_degree
        sources, destinations = pair(in_channels)
        self.lins_l = ModuleList([Linear(sources, out_channels, bias=bias) for _ in range(max_degree + 1)])
        self.lins_r = ModuleList([Linear(destinations, out_channels, bias=False) for _ in range(max_degree + 1)])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (*self.lins_l, *self.lins_r):
            lin.reset_parameters()

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> Tensor:
        x_l, x_r = pair(x)
        destinations = x_r.shape[0] if x_r is not None else size[1] if size is not None else x_l.shape[0]
        graph = graph_of(edge_index, x_l.shape[0], destinations)
        side = "in" if self.flow == "source_to_target" else "out"
        degree = graph.degree(side).minimum(self.max_degree)
        h = self.propagate(graph, x=(x_l, x_r))
        out = self._by_degree(self.lins_l, h, degree)
        return out if x_r is None else out + self._by_degree(self.lins_r, x_r, degree)

    def _by_degree(self, lins: ModuleList, x: Tensor, degree: Tensor) -> Tensor:
        """One product for all degrees; every node then takes the columns of its own."""
        if lins[0].in_channels <= 0:
            for lin in lins:
                lin(x)  # which gives it its size
        weight = Tensor.cat(*[lin.weight for lin in lins])
        bias = None if lins[0].bias is None else Tensor.cat(*[lin.bias for lin in lins])
        each = linear(x, weight, bias).unflatten(-1, (len(lins), self.out_channels))
        mine = degree.unsqueeze(-1) == Tensor.arange(len(lins))
        return mine.unsqueeze(-1).where(each, 0.0).sum(-2)

    def message(self, x_j: Tensor) -> Tensor:
        return x_j
