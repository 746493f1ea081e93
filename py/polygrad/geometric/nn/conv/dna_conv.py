"""DNAConv: neighbours choose among the results of all layers before."""

from __future__ import annotations

import math
from typing import Any

from ....nn import Module
from ....tensor import Tensor
from ..inits import kaiming_uniform, uniform
from ._loops import edge_weights, graph_of, kept, scaled
from .message_passing import MessagePassing


class Linear(Module):
    """A linear map in groups: weight [groups, in / groups, out / groups], each group of features on its own."""

    def __init__(self, in_channels: int, out_channels: int, groups: int = 1, bias: bool = True):
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"channels {in_channels} and {out_channels} must be divisible by groups {groups}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.weight = Tensor.zeros(groups, in_channels // groups, out_channels // groups, requires_grad=True)
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        fan = self.in_channels // self.groups
        kaiming_uniform(self.weight, fan=fan, a=math.sqrt(5))
        uniform(fan, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        if self.groups > 1:
            parts = x.unflatten(-1, (self.groups, 1, self.in_channels // self.groups))
            out = (parts @ self.weight).flatten(-3)
        else:
            out = x @ self.weight.squeeze(0)
        return out if self.bias is None else out + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, groups={self.groups})"


class MultiHead(Module):
    """The maps of an attention with several heads; the attention itself is the layer's message."""

    def __init__(self, in_channels: int, out_channels: int, heads: int = 1, groups: int = 1, dropout: float = 0, bias: bool = True):
        if in_channels % heads or out_channels % heads or max(groups, heads) % min(groups, heads):
            raise ValueError(f"channels {in_channels} and {out_channels}, heads {heads} and groups {groups} do not fit: one must divide the other")
        self.in_channels, self.out_channels, self.heads, self.groups, self.dropout = in_channels, out_channels, heads, groups, dropout
        self.lin_q = Linear(in_channels, out_channels, groups, bias)
        self.lin_k = Linear(in_channels, out_channels, groups, bias)
        self.lin_v = Linear(in_channels, out_channels, groups, bias)

    def reset_parameters(self) -> None:
        self.lin_q.reset_parameters()
        self.lin_k.reset_parameters()
        self.lin_v.reset_parameters()

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """query [E, C], key and value [E, L, C]: for every edge and head the values, weighted by how well keys fit the query.

        The softmax has one more entry, 0, so that none of them needs to be chosen.
        """
        shape = (self.heads, self.out_channels // self.heads)
        query, key, value = (t.unflatten(-1, shape) for t in (query, key, value))
        score = (query.unsqueeze(1) * key).sum(-1) / math.sqrt(shape[1])  # [E, L, heads]
        top = score.detach().amax(1, keepdim=True).maximum(0.0)
        part = (score - top).exp()
        part = (part / (part.sum(1, keepdim=True) + (-top).exp())).dropout(self.dropout)
        return (part.unsqueeze(-1) * value).sum(1).flatten(1)


class DNAConv(MessagePassing):
    """Dynamic neighbourhood aggregation (Fey 2019).

        x'_v = sum_w norm_vw Attention(x_v^(t) W_Q, [x_w^(1) .. x_w^(t)] W_K, [x_w^(1) .. x_w^(t)] W_V)

    with w over the neighbours and v itself, and GCN's weights norm. x is [V, layers, channels]: the results of all layers so far. groups: the
    maps W are linear in groups of features.

    Shapes: x [V, L, F], edge_index [2, E], edge_weight [E]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DNAConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> DNAConv(4, heads=2)(Tensor.ones(3, 5, 4), edge_index).shape
    (3, 4)
    """

    def __init__(
        self, channels: int, heads: int = 1, groups: int = 1, dropout: float = 0.0, cached: bool = False, normalize: bool = True,
        add_self_loops: bool = True, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(node_dim=0, **kwargs)
        self.bias, self.cached, self.normalize, self.add_self_loops = bias, cached, normalize, add_self_loops
        self.multi_head = MultiHead(channels, channels, heads, groups, dropout, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.multi_head.reset_parameters()
        self._cached_edge_index: Any = None

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if x.ndim != 3:
            raise ValueError(f"Feature shape must be [num_nodes, num_layers, channels], not {x.shape}")
        if self.normalize:
            if self._cached_edge_index is not None:
                edge_index, edge_weight = self._cached_edge_index
            else:
                s = scaled(graph_of(edge_index, x.shape[0]), edge_weight, False, self.add_self_loops, self.flow, x.dtype)
                edge_index, edge_weight = s.graph, edge_weights(s, x.dtype)
                if self.cached:
                    self._cached_edge_index = (edge_index, kept(edge_weight))
        m = self.multi_head
        return self.propagate(edge_index, query=m.lin_q(x[:, -1]), key=m.lin_k(x), value=m.lin_v(x), edge_weight=edge_weight)

    def message(self, query_i: Tensor, key_j: Tensor, value_j: Tensor, edge_weight: Tensor | None) -> Tensor:  # type: ignore[override]
        out = self.multi_head.attend(query_i, key_j, value_j)
        return out if edge_weight is None else edge_weight.unsqueeze(-1) * out

    def __repr__(self) -> str:
        m = self.multi_head
        return f"{type(self).__name__}({m.in_channels}, heads={m.heads}, groups={m.groups})"
