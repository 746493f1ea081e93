"""SuperGATConv: attention that is also taught which edges there are."""

from __future__ import annotations

import math
from typing import Any

from ....graphs import Graph
from ....tensor import Tensor
from ...utils import softmax
from ..dense.linear import Linear
from ..inits import glorot, zeros
from ._loops import graph_of, with_loops
from .message_passing import MessagePassing


class SuperGATConv(MessagePassing):
    """Self-supervised graph attention (Kim and Oh 2021).

        x'_i = sum_j alpha_ij W x_j,     alpha_ij = softmax over j of leaky_relu(e_ij)
        MX      e_ij = (a_l . W x_j + a_r . W x_i) sigmoid(W x_i . W x_j)
        SD      e_ij = W x_i . W x_j / sqrt(out_channels)

    with j over the neighbours and i itself. While Tensor.training is set, the products W x_i . W x_j of edges and of as many sampled pairs
    that are none are kept, and get_attention_loss() says how well they tell them apart: add it to the loss.
    neg_sample_ratio: pairs for an edge. edge_sample_ratio: share of the edges taken. is_undirected: no need to look.

    Shapes: x [V, F_in], edge_index [2, E]; out [V, H * F_out], or [V, F_out] without concat.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SuperGATConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> SuperGATConv(4, 8, heads=2, attention_type="SD")(Tensor.ones(3, 4), edge_index).shape
    (3, 16)
    """

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, concat: bool = True, negative_slope: float = 0.2, dropout: float = 0.0,
        add_self_loops: bool = True, bias: bool = True, attention_type: str = "MX", neg_sample_ratio: float = 0.5,
        edge_sample_ratio: float = 1.0, is_undirected: bool = False, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(node_dim=0, **kwargs)
        if attention_type not in ("MX", "SD"):
            raise ValueError(f"attention_type must be 'MX' or 'SD', not {attention_type!r}")
        if not (neg_sample_ratio > 0 and 0 < edge_sample_ratio <= 1):
            raise ValueError(f"sample ratios must be positive, and that of edges at most 1; got {neg_sample_ratio} and {edge_sample_ratio}")
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.attention_type, self.neg_sample_ratio, self.edge_sample_ratio = attention_type, neg_sample_ratio, edge_sample_ratio
        self.is_undirected = is_undirected
        self.lin = Linear(in_channels, heads * out_channels, bias=False, weight_initializer="glorot")
        mixed = attention_type == "MX"
        self.att_l = Tensor.zeros(1, heads, out_channels, requires_grad=True) if mixed else None
        self.att_r = Tensor.zeros(1, heads, out_channels, requires_grad=True) if mixed else None
        self.bias = Tensor.zeros(heads * out_channels if concat else out_channels, requires_grad=True) if bias else None
        self._att_x: Tensor | None = None  # of the last call: kept out of the state dict
        self._att_y: Tensor | None = None
        self.reset_parameters()

    @property
    def att_x(self) -> Tensor | None:
        """[edges + pairs, heads]: the products of the last call while training."""
        return self._att_x

    @property
    def att_y(self) -> Tensor | None:
        """[edges + pairs]: 1 for an edge, 0 for a pair that is none."""
        return self._att_y

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin.reset_parameters()
        glorot(self.att_l)
        glorot(self.att_r)
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Any, neg_edge_index: Any = None, batch: Tensor | None = None) -> Tensor:
        graph = graph_of(edge_index, x.shape[0])
        if self.add_self_loops:
            graph, _ = with_loops(graph)
        x = self.lin(x).unflatten(-1, (self.heads, self.out_channels))
        out = self.propagate(graph, x=x)
        if Tensor.training:
            self._keep(x, graph, neg_edge_index, batch)
        out = out.flatten(1) if self.concat else out.mean(1)
        return out if self.bias is None else out + self.bias

    def _keep(self, x: Tensor, graph: Graph, neg_edge_index: Any, batch: Tensor | None) -> None:
        """The products on edges and on pairs that are none."""
        pos = graph if self.edge_sample_ratio == 1 else graph_of(self.positive_sampling(graph.edge_index), x.shape[0])
        if neg_edge_index is None:
            neg_edge_index = self.negative_sampling(graph.edge_index, x.shape[0], batch)
        neg = graph_of(neg_edge_index, x.shape[0])
        both = [self.get_attention(g.dst_index, g.dst(x), g.src(x), x.shape[0], return_logits=True) for g in (pos, neg)]
        self._att_x = Tensor.cat(*both)
        self._att_y = Tensor.cat(Tensor.ones(pos.num_edges, dtype=x.dtype), Tensor.zeros(neg.num_edges, dtype=x.dtype))

    def message(self, x_i: Tensor, x_j: Tensor, index: Tensor, size_i: Any) -> Tensor:  # type: ignore[override]
        alpha = self.get_attention(index, x_i, x_j, num_nodes=size_i)
        return x_j * alpha.dropout(self.dropout).unsqueeze(-1)

    def negative_sampling(self, edge_index: Tensor, num_nodes: int, batch: Tensor | None = None) -> Tensor:
        """Pairs of nodes that no edge joins in either direction, of the same graph if there is a batch vector."""
        from ... import utils

        count = int(self.neg_sample_ratio * self.edge_sample_ratio * edge_index.shape[1])
        if not self.is_undirected and not utils.is_undirected(edge_index, num_nodes=num_nodes):
            edge_index = utils.to_undirected(edge_index, num_nodes=num_nodes)
        if batch is None:
            return utils.negative_sampling(edge_index, num_nodes, num_neg_samples=count)
        return utils.batched_negative_sampling(edge_index, batch, num_neg_samples=count)

    def positive_sampling(self, edge_index: Tensor) -> Tensor:
        """Some of the edges."""
        from ...utils import dropout_edge

        return dropout_edge(edge_index, p=1 - self.edge_sample_ratio, training=Tensor.training)[0]

    def get_attention(self, edge_index_i: Tensor, x_i: Tensor, x_j: Tensor, num_nodes: Any, return_logits: bool = False) -> Tensor:
        """The weight of each edge, or the products that say whether there is one."""
        logits = (x_i * x_j).sum(-1)
        if self.attention_type == "MX":
            if return_logits:
                return logits
            alpha = (x_j * self.att_l).sum(-1) + (x_i * self.att_r).sum(-1)
            alpha = alpha * logits.sigmoid()
        else:
            alpha = logits / math.sqrt(self.out_channels)
            if return_logits:
                return alpha
        return softmax(alpha.leaky_relu(self.negative_slope), edge_index_i, num_nodes=num_nodes)

    def get_attention_loss(self) -> Tensor:
        """Binary cross entropy of the products kept by the last call; 0 when not training."""
        if not Tensor.training or self._att_x is None or self._att_y is None:
            return Tensor([0.0])
        return self._att_x.mean(-1).binary_crossentropy_logits(self._att_y)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads}, type={self.attention_type})"
