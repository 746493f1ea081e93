"""Relational graph attention (Busbridge et al., "Relational graph attention networks", 2019)."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..._rows import rows_of
from ...utils._softmax import softmax
from ..dense.linear import Linear
from ..inits import glorot, ones, zeros
from ._loops import weight_of
from .message_passing import MessagePassing
from .rgcn_conv import few_relations, relation_maps

MODS = ("additive", "scaled", "f-additive", "f-scaled")
ADDITIVE, MULTIPLICATIVE = "additive-self-attention", "multiplicative-self-attention"
WITHIN, ACROSS = "within-relation", "across-relation"


class RGATConv(MessagePassing):
    r"""x'_i = sum over edges j -> i of relation r of alpha_ij W_r x_j, with alpha_ij the softmax of a score.

    The score is LeakyReLU(q_ij + k_ij + e_ij) (attention_mode 'additive-self-attention') or q_ij * k_ij * e_ij
    ('multiplicative-self-attention'), with q_ij = (W_r x_i) Q, k_ij = (W_r x_j) K, and e_ij = (W_e a_ij) E where there are edge features.
    attention_mechanism: the softmax is over all edges into a node ('across-relation') or over those of the same relation
    ('within-relation'). num_bases, num_blocks: as in RGCNConv. dim: numbers that a head has for each edge (multiplicative only).
    mod: keeps the number of neighbours visible; 'additive' adds w * W_r x_j to the message, 'scaled' multiplies it with a small network
    of the node's degree, 'f-additive' adds 1 to positive alphas, 'f-scaled' multiplies alphas with the degree.

    Shapes: x [V, F_in], edge_index [2, E], edge_type [E], edge_attr [E, D]; out [V, H * dim * F_out], or [V, dim * F_out] without concat;
    with return_attention_weights (out, (edge_index [2, E], alpha [E, H * dim])).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import RGATConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> RGATConv(4, 8, num_relations=2, heads=2)(Tensor.ones(3, 4), edge_index, Tensor([0, 1, 1])).shape
    (3, 16)
    """

    def __init__(
        self, in_channels: int, out_channels: int, num_relations: int, num_bases: int | None = None, num_blocks: int | None = None,
        mod: str | None = None, attention_mechanism: str = ACROSS, attention_mode: str = ADDITIVE, heads: int = 1, dim: int = 1,
        concat: bool = True, negative_slope: float = 0.2, dropout: float = 0.0, edge_dim: int | None = None, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(node_dim=0, **kwargs)
        if attention_mechanism not in (WITHIN, ACROSS):
            raise ValueError(f"attention_mechanism must be {WITHIN!r} or {ACROSS!r}, not {attention_mechanism!r}")
        if attention_mode not in (ADDITIVE, MULTIPLICATIVE):
            raise ValueError(f"attention_mode must be {ADDITIVE!r} or {MULTIPLICATIVE!r}, not {attention_mode!r}")
        if attention_mode == ADDITIVE and dim > 1:
            raise ValueError(f"dim={dim} needs the attention_mode {MULTIPLICATIVE!r}")
        if dropout > 0 and mod in MODS:
            raise ValueError(f"dropout of the attention weights needs mod=None, not {mod!r}")
        if num_bases is not None and num_blocks is not None:
            raise ValueError("Can not apply both basis-decomposition and block-diagonal-decomposition: give num_bases or num_blocks")
        self.in_channels, self.out_channels, self.num_relations = in_channels, out_channels, num_relations
        self.num_bases, self.num_blocks, self.mod, self.heads, self.dim, self.concat = num_bases, num_blocks, mod, heads, dim, concat
        self.attention_mechanism, self.attention_mode = attention_mechanism, attention_mode
        self.negative_slope, self.dropout, self.edge_dim = negative_slope, dropout, edge_dim
        self._alpha: Tensor | None = None

        def parameter(*shape: int) -> Tensor:
            return Tensor.zeros(*shape, requires_grad=True)

        wide, scores = heads * out_channels, heads * dim
        self.q, self.k = parameter(wide, scores), parameter(wide, scores)
        self.bias = parameter(dim * out_channels * (heads if concat else 1)) if bias else None
        self.lin_edge = None if edge_dim is None else Linear(edge_dim, wide, bias=False, weight_initializer="glorot")
        self.e = None if edge_dim is None else parameter(wide, scores)
        if num_bases is not None:
            self.att = parameter(num_relations, num_bases)
            self.basis = parameter(num_bases, in_channels, wide)
        elif num_blocks is not None:
            if in_channels % num_blocks or wide % num_blocks:
                raise ValueError(f"{num_blocks} blocks do not divide {in_channels} input features and {wide} = heads * out_channels")
            self.weight = parameter(num_relations, num_blocks, in_channels // num_blocks, wide // num_blocks)
        else:
            self.weight = parameter(num_relations, in_channels, wide)
        self.w = Tensor.ones(out_channels, requires_grad=True)
        self.l1, self.b1 = parameter(1, out_channels), parameter(1, out_channels)
        self.l2, self.b2 = parameter(out_channels, out_channels), parameter(1, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for t in (self.basis, self.att) if self.num_bases is not None else (self.weight,):
            glorot(t)
        glorot(self.q)
        glorot(self.k)
        glorot(self.e)
        zeros(self.bias)
        ones(self.l1)
        zeros(self.b1)
        self.l2.assign(Tensor.full(self.l2.shape, 1 / self.out_channels, dtype=self.l2.dtype))
        zeros(self.b2)
        if self.lin_edge is not None:
            self.lin_edge.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Any, edge_type: Tensor | None = None, edge_attr: Tensor | None = None, size: Any = None,
        return_attention_weights: bool | None = None,
    ) -> Any:  # fmt: skip
        if edge_type is None:
            raise ValueError("RGATConv needs edge_type, the relation of each edge")
        if edge_attr is not None and self.lin_edge is None:
            raise ValueError(f"RGATConv was given edge features but made without edge_dim: make it with edge_dim={edge_attr.shape[-1]}")
        maps = self._maps(x) if self.num_blocks is None and few_relations(x.shape[0], self.num_relations, edge_type) else None
        out = self.propagate(edge_index, size=size, x=x, maps=maps, edge_type=edge_type, edge_attr=edge_attr)
        alpha, self._alpha = self._alpha, None
        return (out, (edge_index, alpha)) if isinstance(return_attention_weights, bool) else out

    def _weights(self) -> Tensor:
        """W_r of every relation, [R, F_in, H * F_out], or their blocks."""
        if self.num_bases is None:
            return self.weight
        return (self.att @ self.basis.flatten(1)).reshape(self.num_relations, self.in_channels, -1)

    def _project(self, weight: Tensor, by: Tensor) -> Tensor:
        """W_r Q of every relation: the parameters are multiplied first, so that an edge computes no more than its scores."""
        if self.num_blocks is None:
            return weight @ by
        parts = weight @ by.reshape(self.num_blocks, -1, by.shape[1])  # the blocks of W_r are multiplied with their rows of Q
        return parts.flatten(1, 2)

    def _maps(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values of every node for every relation, where those are fewer than edges."""
        weight = self._weights()
        return tuple(relation_maps(x, w) for w in (self._project(weight, self.q), self._project(weight, self.k), weight))

    def _apply(self, x: Tensor, weight: Tensor, edge_type: Tensor) -> Tensor:
        """Features of edges times the matrix of their relation."""
        w = weight.index_select(0, edge_type)
        if w.ndim == 3:
            return (x.unsqueeze(-1) * w).sum(-2)
        return (x.reshape(x.shape[0], w.shape[1], w.shape[2], 1) * w).sum(-2).flatten(1)

    def _edges(self, x_i: Tensor, x_j: Tensor, maps: Any, edge_type: Tensor, i: Tensor, j: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Query, key and value of each edge."""
        if maps is None:
            weight = self._weights()
            query, key = (self._apply(x, self._project(weight, by), edge_type) for x, by in ((x_i, self.q), (x_j, self.k)))
            return query, key, self._apply(x_j, weight, edge_type)
        at_i, at_j = i * self.num_relations + edge_type, j * self.num_relations + edge_type
        return maps[0].index_select(0, at_i), maps[1].index_select(0, at_j), maps[2].index_select(0, at_j)

    def message(  # type: ignore[override]
        self, x_i: Tensor, x_j: Tensor, maps: Any, edge_type: Tensor, edge_attr: Tensor | None, index: Tensor, ptr: Tensor | None, size_i: Any,
        edge_index_i: Tensor, edge_index_j: Tensor,
    ) -> Tensor:  # fmt: skip
        query, key, value = self._edges(x_i, x_j, maps, edge_type, edge_index_i, edge_index_j)
        if edge_attr is not None and self.lin_edge is not None and self.e is not None:
            edge_attr = edge_attr.unsqueeze(-1) if edge_attr.ndim == 1 else edge_attr
            of_edge = edge_attr @ (weight_of(self.lin_edge, edge_attr).transpose(0, 1) @ self.e)
            alpha = query + key + of_edge if self.attention_mode == ADDITIVE else query * key * of_edge
        else:
            alpha = query + key if self.attention_mode == ADDITIVE else query * key
        if self.attention_mode == ADDITIVE:
            alpha = alpha.leaky_relu(self.negative_slope)
        if self.attention_mechanism == WITHIN:
            alpha = softmax(alpha, index * self.num_relations + edge_type, None, size_i * self.num_relations)
        else:
            alpha = softmax(alpha, index, ptr, size_i)
        self._alpha = alpha

        rows = rows_of(index, size_i)
        out = value.reshape(-1, self.heads, 1, self.out_channels)
        if self.mod == "f-additive":
            alpha = (alpha > 0).where(alpha + 1, alpha)
        elif self.mod == "f-scaled":
            alpha = alpha * rows.spread(rows.count.cast(alpha.dtype)).unsqueeze(-1)
        elif self.mod not in MODS:
            alpha = alpha.dropout(self.dropout)
        message = out * alpha.reshape(-1, self.heads, self.dim, 1)
        if self.mod == "additive":
            message = message + self.w * out
        elif self.mod == "scaled":
            degree = rows.count.cast(alpha.dtype).unsqueeze(-1)
            factor = (degree * self.l1 + self.b1).relu() @ self.l2 + self.b2
            message = message * rows.spread(factor).reshape(-1, 1, 1, self.out_channels)
        return message

    def update(self, aggr_out: Tensor) -> Tensor:
        out = aggr_out.flatten(1) if self.concat else aggr_out.mean(1).flatten(1)
        return out if self.bias is None else out + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


__all__ = ["RGATConv"]
