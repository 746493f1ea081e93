"""Principal neighbourhood aggregation (Corso et al., "Principal neighbourhood aggregation for graph nets", NeurIPS 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....tensor import Tensor
from ..aggr import DegreeScalerAggregation
from ..dense.linear import Linear
from ..inits import reset
from ..resolver import activation_resolver
from ._loops import weight_of
from .message_passing import MessagePassing


class PNAConv(MessagePassing):
    r"""x'_i = post([x_i, scalers x aggregators over j in N(i) of pre([x_i, x_j])]).

    aggregators: names, such as 'mean', 'min', 'max', 'std'. scalers: 'identity', 'amplification', 'attenuation', 'linear',
    'inverse_linear'; functions of a node's degree, relative to the degrees of the training set, whose histogram is deg. towers: the
    features are treated in that many groups, each with its own networks. divide_input: a tower gets its share of the input, else all of it.
    pre_layers, post_layers: depth of the networks, with act between their layers. edge_dim: edge features, encoded and appended to what
    pre gets. train_norm: are the means of the degrees parameters?

    Shapes: x [V, F_in], edge_index [2, E], edge_attr [E, D]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PNAConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> PNAConv(4, 8, ["mean", "max"], ["identity", "amplification"], deg=Tensor([0, 3]))(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, aggregators: list[str], scalers: list[str], deg: Tensor, edge_dim: int | None = None,
        towers: int = 1, pre_layers: int = 1, post_layers: int = 1, divide_input: bool = False, act: Any = "relu",
        act_kwargs: dict[str, Any] | None = None, train_norm: bool = False, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(aggr=DegreeScalerAggregation(aggregators, scalers, deg, train_norm), node_dim=0, **kwargs)
        if divide_input and in_channels % towers:
            raise ValueError(f"{towers} towers do not divide {in_channels} input features")
        if out_channels % towers:
            raise ValueError(f"{towers} towers do not divide {out_channels} output features")
        self.in_channels, self.out_channels, self.edge_dim, self.towers, self.divide_input = in_channels, out_channels, edge_dim, towers, divide_input
        self.F_in = in_channels // towers if divide_input else in_channels
        self.F_out = out_channels // towers
        if edge_dim is not None:
            self.edge_encoder = Linear(edge_dim, self.F_in)

        def network(first: int, width: int, layers: int) -> nn.Sequential:
            made: list[Any] = [Linear(first, width)]
            for _ in range(layers - 1):
                made += [activation_resolver(act, **(act_kwargs or {})), Linear(width, width)]
            return nn.Sequential(*made)

        gathered = (len(aggregators) * len(scalers) + 1) * self.F_in
        self.pre_nns = nn.ModuleList([network((3 if edge_dim else 2) * self.F_in, self.F_in, pre_layers) for _ in range(towers)])
        self.post_nns = nn.ModuleList([network(gathered, self.F_out, post_layers) for _ in range(towers)])
        self.lin = Linear(out_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.edge_dim is not None:
            self.edge_encoder.reset_parameters()
        reset(self.pre_nns)
        reset(self.post_nns)
        self.lin.reset_parameters()

    def forward(self, x: Tensor, edge_index: Any, edge_attr: Tensor | None = None) -> Tensor:
        if (edge_attr is None) != (self.edge_dim is None):
            raise ValueError(f"PNAConv was made with edge_dim={self.edge_dim} and given {'no ' if edge_attr is None else ''}edge_attr")
        x = x.reshape(-1, self.towers, self.F_in) if self.divide_input else x.unsqueeze(1)
        # The first layer of every pre network is split into what it does to x_i, x_j and e_ij: nodes go through it once, not once per edge.
        first = [pre[0] for pre in self.pre_nns]
        weight = Tensor.stack(*[lin.weight for lin in first]).reshape(self.towers, self.F_in, -1, self.F_in).permute(2, 0, 3, 1)
        bias = Tensor.stack(*[lin.bias for lin in first])
        per_edge = None
        if edge_attr is not None:  # and the encoder of edge features is one linear map with its part
            per_edge = weight_of(self.edge_encoder, edge_attr).transpose(0, 1) @ weight[2]
            bias = bias + (self.edge_encoder.bias @ weight[2])
        own, near = (x.unsqueeze(-2) @ weight[0]).squeeze(-2) + bias, (x.unsqueeze(-2) @ weight[1]).squeeze(-2)
        near_edge = None if per_edge is None or edge_attr is None else edge_attr @ per_edge.transpose(0, 1).flatten(1)
        got = self.propagate(edge_index, own=own, near=near, edge=near_edge)
        x = x.expand(x.shape[0], self.towers, self.F_in)
        out = Tensor.cat(x, got, dim=-1)
        outs = [post(out[:, k]) for k, post in enumerate(self.post_nns)]
        return self.lin(outs[0] if len(outs) == 1 else Tensor.cat(*outs, dim=1))

    def message(self, own_i: Tensor, near_j: Tensor, edge: Tensor | None) -> Tensor:
        h = own_i + near_j
        h = h if edge is None else h + edge.reshape(-1, self.towers, self.F_in)
        if len(self.pre_nns[0]) == 1:
            return h
        hs = [nn.Sequential(*list(pre)[1:])(h[:, k]) for k, pre in enumerate(self.pre_nns)]
        return hs[0].unsqueeze(1) if len(hs) == 1 else Tensor.stack(*hs, dim=1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, towers={self.towers}, edge_dim={self.edge_dim})"

    @staticmethod
    def get_degree_histogram(loader: Any) -> Tensor:
        """How many nodes of the data have no edge into them, one, two, and so on: the deg of a PNAConv.

        >>> from types import SimpleNamespace
        >>> from polygrad import Tensor
        >>> from polygrad.geometric.nn import PNAConv
        >>> data = SimpleNamespace(edge_index=Tensor([[0, 1, 2], [1, 2, 2]]), num_nodes=3)
        >>> PNAConv.get_degree_histogram([data]).tolist()
        [1, 1, 1]
        """
        total = np.zeros(1, np.int64)
        for data in loader:
            into = np.bincount(np.asarray(data.edge_index.numpy()[1]), minlength=int(data.num_nodes))
            more = np.bincount(into, minlength=total.size)
            more[: total.size] += total
            total = more
        return Tensor(total)


__all__ = ["PNAConv"]
