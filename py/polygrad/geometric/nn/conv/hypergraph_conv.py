"""HypergraphConv: from nodes to hyperedges and back."""

from __future__ import annotations

from typing import Any

from ....graphs import Graph
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import glorot, zeros
from .message_passing import MessagePassing


class HypergraphConv(MessagePassing):
    """Hypergraph convolution and attention (Bai et al. 2021).

        X' = D^-1 H W B^-1 H^T X Theta + b

    with the incidence matrix H, hyperedge weights W, degrees of nodes D and of hyperedges B. hyperedge_index [2, n]: node hyperedge_index[0, k]
    belongs to hyperedge hyperedge_index[1, k]. use_attention replaces the entries of H by weights, a softmax over the nodes of
    a hyperedge (attention_mode 'node') or over the hyperedges of a node ('edge'), out of node values and hyperedge_attr.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HypergraphConv
    >>> HypergraphConv(4, 8)(Tensor.ones(4, 4), Tensor([[0, 1, 2, 1, 2, 3], [0, 0, 0, 1, 1, 1]])).shape
    (4, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, use_attention: bool = False, attention_mode: str = "node", heads: int = 1, concat: bool = True,
        negative_slope: float = 0.2, dropout: float = 0, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(flow="source_to_target", node_dim=0, **kwargs)
        if attention_mode not in ("node", "edge"):
            raise ValueError(f"attention_mode must be 'node' or 'edge', not {attention_mode!r}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.use_attention, self.attention_mode = use_attention, attention_mode
        self.heads, self.concat = (heads, concat) if use_attention else (1, True)
        self.negative_slope, self.dropout = negative_slope, dropout
        self.lin = Linear(in_channels, self.heads * out_channels, bias=False, weight_initializer="glorot")
        if use_attention:
            self.att = Tensor.zeros(1, heads, 2 * out_channels, requires_grad=True)
        self.bias = Tensor.zeros(heads * out_channels if concat else out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin.reset_parameters()
        if self.use_attention:
            glorot(self.att)
        zeros(self.bias)

    def forward(
        self, x: Tensor, hyperedge_index: Any, hyperedge_weight: Tensor | None = None, hyperedge_attr: Tensor | None = None, num_edges: Any = None
    ) -> Tensor:
        incidence = self._incidence(x, hyperedge_index, [v for v in (hyperedge_weight, hyperedge_attr) if v is not None], num_edges)
        count = incidence.num_dst
        x = self.lin(x).unflatten(-1, (self.heads, self.out_channels))
        alpha = None
        if self.use_attention:
            if hyperedge_attr is None:
                raise ValueError("hyperedge_attr is needed for attention")
            alpha = self._attention(incidence, x, self.lin(hyperedge_attr[:count]).unflatten(-1, (self.heads, self.out_channels)))
        weight = Tensor.ones(count, dtype=x.dtype) if hyperedge_weight is None else hyperedge_weight[:count]
        by_node = _inverse(incidence.sum(incidence.dst(weight), side="out"))
        by_edge = _inverse(incidence.in_degree.cast(x.dtype))
        out = self.propagate(incidence, x=x, norm=by_edge, alpha=alpha)
        out = self.propagate(incidence.reversed(), x=out, norm=by_node, alpha=alpha)
        out = out.flatten(1) if self.concat else out.mean(1)
        return out if self.bias is None else out + self.bias

    def _incidence(self, x: Tensor, index: Any, values: list[Tensor], num_edges: Any) -> Graph:
        """The graph from nodes to hyperedges; there are as many of these as have values, or else the index must be read."""
        if isinstance(index, Graph):
            return index
        if num_edges is None:
            known = [v.shape[0] for v in values]
            num_edges = min(known) if known else int(index[1].max().item()) + 1 if index.shape[1] else 0
        return Graph(index, num_src=x.shape[0], num_dst=num_edges)

    def _attention(self, incidence: Graph, x: Tensor, edges: Tensor) -> Tensor:
        of_node, of_edge = self.att.split(self.out_channels, dim=-1)
        alpha = incidence.src((x * of_node).sum(-1)) + incidence.dst((edges * of_edge).sum(-1))
        alpha = incidence.softmax(alpha.leaky_relu(self.negative_slope), "in" if self.attention_mode == "node" else "out")
        return alpha.dropout(self.dropout)

    def message(self, x_j: Tensor, norm_i: Tensor, alpha: Tensor | None) -> Tensor:
        out = norm_i.reshape(-1, 1, 1) * x_j
        return out if alpha is None else alpha.unsqueeze(-1) * out


def _inverse(x: Tensor) -> Tensor:
    """1 / x, and 0 where x is 0."""
    some = x != 0
    return some.where(1 / some.where(x, 1.0), 0.0)
