"""FiLMConv: messages scaled and shifted by what the receiver says."""

from __future__ import annotations

import copy
from typing import Any

from ....nn import ModuleList, ReLU
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import reset
from ._loops import graph_of
from ._pairs import Relations, pair
from .message_passing import MessagePassing


class FiLMConv(MessagePassing):
    """Feature-wise linear modulation (Brockschmidt 2020).

        x'_i = act(gamma_0,i * W_0 x_i + beta_0,i) + sum_r aggr_j act(gamma_r,i * W_r x_j + beta_r,i),    (beta_r,i, gamma_r,i) = g_r(x_i)

    with j over the neighbours of relation r. nn: the network g, from in_channels to 2 out_channels (a linear map if it is left out), copied for
    each relation. With several relations, edge_type [E] says which one an edge belongs to.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_type [E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import FiLMConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> FiLMConv(4, 8, num_relations=2)(Tensor.ones(3, 4), edge_index, Tensor([0, 1, 1])).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, num_relations: int = 1, nn: Any = None, act: Any = ReLU(), aggr: Any = "mean", **kwargs: Any  # noqa: B008
    ):  # fmt: skip
        super().__init__(aggr=aggr, **kwargs)
        self.in_channels, self.out_channels, self.num_relations, self.act = in_channels, out_channels, max(num_relations, 1), act
        sources, destinations = pair(in_channels)

        def film(bias: bool) -> Any:
            return Linear(destinations, 2 * out_channels, bias=bias) if nn is None else copy.deepcopy(nn)

        self.lins = ModuleList([Linear(sources, out_channels, bias=False) for _ in range(num_relations)])
        self.films = ModuleList([film(True) for _ in range(num_relations)])
        self.lin_skip = Linear(destinations, out_channels, bias=False)
        self.film_skip = film(False)
        self._relations = Relations(self.num_relations)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin, film in zip(self.lins, self.films):
            lin.reset_parameters()
            reset(film)
        self.lin_skip.reset_parameters()
        reset(self.film_skip)

    def forward(self, x: Any, edge_index: Any, edge_type: Tensor | None = None) -> Tensor:
        x_l, x_r = pair(x)
        beta, gamma = self.film_skip(x_r).split(self.out_channels, dim=-1)
        out = self._act(gamma * self.lin_skip(x_r) + beta)
        graph = graph_of(edge_index, x_l.shape[0], x_r.shape[0])
        films = [film(x_r).split(self.out_channels, dim=-1) for film in self.films]
        if self.num_relations == 1:
            beta, gamma = films[0]
            return out + self.propagate(graph, x=self.lins[0](x_l), beta=beta, gamma=gamma)
        if edge_type is None:
            raise ValueError(f"edge_type is needed for {self.num_relations} relations")
        r = self._relations
        beta, gamma = (r.rows([film[k] for film in films]) for k in (0, 1))
        x_all = r.rows([lin(x_l) for lin in self.lins])
        return out + r.total(self.propagate(r.graph(graph, edge_type), x=x_all, beta=beta, gamma=gamma))

    def _act(self, x: Tensor) -> Tensor:
        return x if self.act is None else self.act(x)

    def message(self, x_j: Tensor, beta_i: Tensor, gamma_i: Tensor) -> Tensor:
        return self._act(gamma_i * x_j + beta_i)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_relations={self.num_relations})"
