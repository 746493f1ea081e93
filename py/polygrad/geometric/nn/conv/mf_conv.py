"""MFConv: a weight for every degree."""

from __future__ import annotations

from typing import Any

from ....nn import ModuleList
from ....nn.functional import linear
from ....tensor import Tensor
from ..dense._by_type import Types, worth_sorting
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
        destinations = x_r.shape[-2] if x_r is not None else size[1] if size is not None else x_l.shape[-2]
        graph = graph_of(edge_index, x_l.shape[-2], destinations)
        side = "in" if self.flow == "source_to_target" else "out"
        degree = graph.degree(side).minimum(self.max_degree)
        h = self.propagate(graph, x=(x_l, x_r))
        if x_r is None:
            return self._by_degree([self.lins_l], [h], degree)
        return self._by_degree([self.lins_l, self.lins_r], [h, x_r], degree)

    def _by_degree(self, lins: list[ModuleList], xs: list[Tensor], degree: Tensor) -> Tensor:
        """One product of all inputs side by side with the weights of a node's degree."""
        for x, each in zip(xs, lins):
            if each[0].in_channels <= 0:
                for lin in each:
                    lin(x)  # which gives it its size
        many = self.max_degree + 1
        x = xs[0] if len(xs) == 1 else Tensor.cat(*xs, dim=-1)
        bias = None if lins[0][0].bias is None else Tensor.stack(*[lin.bias for lin in lins[0]]).index_select(0, degree)
        if x.ndim == 2 and worth_sorting(x.shape[0], many):
            weight = Tensor.cat(*[Tensor.stack(*[lin.weight for lin in each]) for each in lins], dim=-1).transpose(1, 2)
            out = Types(degree, many).product(x, weight)
        else:  # a product for all degrees, of which every node takes the columns of its own
            weight = Tensor.cat(*[Tensor.cat(*[lin.weight for lin in each]) for each in lins], dim=-1)
            mine = degree.unsqueeze(-1) == Tensor.arange(many)
            out = mine.unsqueeze(-1).where(linear(x, weight).unflatten(-1, (many, self.out_channels)), 0.0).sum(-2)
        return out if bias is None else out + bias

    def message(self, x_j: Tensor) -> Tensor:
        return x_j
