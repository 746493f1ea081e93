"""HEATConv: attention with types of nodes and edges, and with edge features (Mo et al., "Heterogeneous edge-enhanced graph attention", 2021)."""

from __future__ import annotations

from typing import Any

from ....nn import Embedding
from ....tensor import Tensor
from ..._rows import OPS
from ...utils._softmax import softmax
from ..dense.linear import HeteroLinear, Linear
from ..inits import reset
from ._loops import graph_of, is_linear
from .message_passing import MessagePassing


class HEATConv(MessagePassing):
    r"""x'_i = h_i + sum over j of alpha_ij (W [h_j, e_ij] + b),   h_i = W_t(i) x_i,   e_ij = LeakyReLU(W_e a_ij)

    with alpha_ij the softmax over the edges into i of LeakyReLU(A [h_i, h_j, LeakyReLU(T_r(ij)), e_ij]), one for each head.

    in_channels, out_channels: features of a node. num_node_types, num_edge_types: how many t and r there are. edge_type_emb_dim: size of T_r.
    edge_dim, edge_attr_emb_dim: sizes of a_ij and e_ij. concat: heads beside each other, else their mean. negative_slope: of LeakyReLU.
    dropout: of alpha. root_weight: whether h_i is added. A and W are applied to the parts of what they get, those of nodes once per node.

    Shapes: x [V, F_in], edge_index [2, E], node_type [V], edge_type [E], edge_attr [E, D]; out [V, H * F_out], or [V, F_out] without concat.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HEATConv
    >>> layer = HEATConv(8, 4, num_node_types=2, num_edge_types=3, edge_type_emb_dim=5, edge_dim=2, edge_attr_emb_dim=5, heads=2)
    >>> layer(Tensor.ones(3, 8), Tensor([[0, 1], [1, 2]]), Tensor([0, 1, 0]), Tensor([2, 0]), Tensor.ones(2, 2)).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, num_node_types: int, num_edge_types: int, edge_type_emb_dim: int, edge_dim: int,
        edge_attr_emb_dim: int, heads: int = 1, concat: bool = True, negative_slope: float = 0.2, dropout: float = 0.0, root_weight: bool = True,
        bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(node_dim=0, **kwargs)
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.root_weight = negative_slope, dropout, root_weight
        self._parts = [out_channels, out_channels, edge_type_emb_dim, edge_attr_emb_dim]
        self.hetero_lin = HeteroLinear(in_channels, out_channels, num_node_types, bias=bias)
        self.edge_type_emb = Embedding(num_edge_types, edge_type_emb_dim)
        self.edge_attr_emb = Linear(edge_dim, edge_attr_emb_dim, bias=False)
        self.att = Linear(sum(self._parts), heads, bias=False)
        self.lin = Linear(out_channels + edge_attr_emb_dim, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.hetero_lin.reset_parameters()
        reset(self.edge_type_emb)
        for lin in (self.edge_attr_emb, self.att, self.lin):
            lin.reset_parameters()

    def forward(self, x: Tensor, edge_index: Any, node_type: Tensor, edge_type: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        if edge_attr is None:
            raise ValueError("HEATConv needs edge_attr, features of each edge")
        assert self.att.weight is not None and self.lin.weight is not None
        x = self.hetero_lin(x, node_type).contiguous()
        to, of, kind, attr = (w.transpose(0, 1) for w in self.att.weight.split(self._parts, 1))
        by_node, by_edge = (w.transpose(0, 1) for w in self.lin.weight.split([self.out_channels, self._parts[3]], 1))
        e = self.edge_attr_emb(edge_attr).leaky_relu(self.negative_slope).contiguous()
        types = self.edge_type_emb.weight.leaky_relu(self.negative_slope) @ kind
        score = types.index_select(0, edge_type) + e @ attr
        value = x @ by_node
        value = value if self.lin.bias is None else value + self.lin.bias
        if is_linear(self) and self.flow == "source_to_target":
            # W_e is applied to sums of edge features, not to each edge's.
            graph, op = graph_of(edge_index, x.shape[0]), OPS[str(self.aggr)]
            alpha = graph.softmax((graph.dst(x @ to) + graph.src(x @ of) + score).leaky_relu(self.negative_slope)).dropout(self.dropout).unsqueeze(-1)
            edges = graph.reduce(alpha * e.unsqueeze(1), op)
            out = graph.reduce(alpha * graph.src(value).unsqueeze(1), op) + edges @ by_edge
        else:
            out = self.propagate(edge_index, query=x @ to, key=x @ of, value=value, edge_score=score, edge_value=e @ by_edge)
        if not self.concat:
            return out.mean(1) + x if self.root_weight else out.mean(1)
        return (out + x.unsqueeze(1) if self.root_weight else out).flatten(1)

    def message(  # type: ignore[override]
        self, query_i: Tensor, key_j: Tensor, value_j: Tensor, edge_score: Tensor, edge_value: Tensor, index: Tensor, ptr: Tensor | None, size_i: Any
    ) -> Tensor:
        alpha = softmax((query_i + key_j + edge_score).leaky_relu(self.negative_slope), index, ptr, size_i).dropout(self.dropout)
        return (value_j + edge_value).unsqueeze(-2) * alpha.unsqueeze(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


__all__ = ["HEATConv"]
