"""HGTConv: a transformer on heterogeneous graphs."""

from __future__ import annotations

import math
from typing import Any

from ....graphs import Graph
from ....tensor import Tensor
from ..dense.linear import HeteroDictLinear, HeteroLinear
from ..inits import ones
from ..module_dict import ModuleDict
from ._loops import graph_of
from .message_passing import MessagePassing


class HGTConv(MessagePassing):
    """Heterogeneous graph transformer (Hu et al. 2020).

        out_i = sum_r sum_j alpha_r,ij V_r v_j,     alpha = softmax over all r and j of p_r (q_i . K_r k_j) / sqrt(d)
        x'_i = s A gelu(out_i) + (1 - s) x_i,       s = sigmoid(skip of the type)

    with k, q, v linear in x by node type, and K_r, V_r by edge type r and head; the second term only where input and output are
    equally wide. metadata: (node types, edge types); in_channels: a number, or {node type: number}, -1 for what the first input has.

    Shapes: x_dict {type: [V_type, F_type]}, edge_index_dict {(type, relation, type): [2, E]}; out {type: [V_type, F_out]}.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import HGTConv
    >>> metadata = ["author", "paper"], [("author", "writes", "paper"), ("paper", "by", "author")]
    >>> x = {"author": Tensor.ones(2, 4), "paper": Tensor.ones(3, 6)}
    >>> edges = {("author", "writes", "paper"): Tensor([[0, 1], [2, 0]]), ("paper", "by", "author"): Tensor([[2, 0], [0, 1]])}
    >>> out = HGTConv({"author": 4, "paper": 6}, 8, metadata, heads=2)(x, edges)
    >>> out["author"].shape, out["paper"].shape
    ((2, 8), (3, 8))
    """

    def __init__(self, in_channels: Any, out_channels: int, metadata: Any, heads: int = 1, **kwargs: Any):
        super().__init__(aggr="add", node_dim=0, **kwargs)
        if out_channels % heads:
            raise ValueError(f"'out_channels' (got {out_channels}) must be divisible by the number of heads (got {heads})")
        if not isinstance(in_channels, dict):
            in_channels = dict.fromkeys(metadata[0], in_channels)
        self.out_channels, self.heads = out_channels, heads
        self.node_types, self.edge_types = list(metadata[0]), [tuple(t) for t in metadata[1]]
        self._in_channels = in_channels
        self.kqv_lin = HeteroDictLinear(in_channels, 3 * out_channels)
        self.out_lin = HeteroDictLinear(out_channels, out_channels, types=self.node_types)
        dim, kinds = out_channels // heads, heads * len(self.edge_types)
        self.k_rel = HeteroLinear(dim, dim, kinds, bias=False, is_sorted=True)
        self.v_rel = HeteroLinear(dim, dim, kinds, bias=False, is_sorted=True)
        self.skip = ModuleDict({kind: Tensor.ones(1, requires_grad=True) for kind in self.node_types})
        self.p_rel = ModuleDict({"__".join(t): Tensor.ones(1, heads, requires_grad=True) for t in self.edge_types})
        self.reset_parameters()

    @property
    def in_channels(self) -> dict[str, int]:
        """Features of each type of nodes."""
        return self._in_channels

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for part in (self.kqv_lin, self.out_lin, self.k_rel, self.v_rel):
            part.reset_parameters()
        for p in (*self.skip.values(), *self.p_rel.values()):
            ones(p)

    def forward(self, x_dict: dict[str, Tensor], edge_index_dict: dict[Any, Any]) -> dict[str, Tensor]:
        """Values of the node types to which edge types lead."""
        shape = (3, self.heads, self.out_channels // self.heads)
        kqv = {kind: t.unflatten(-1, shape) for kind, t in self.kqv_lin(x_dict).items()}
        arriving: dict[str, list[Any]] = {kind: [] for kind in kqv}
        for edge_type, edge_index in edge_index_dict.items():
            source, _, destination = edge_type
            graph = graph_of(edge_index, x_dict[source].shape[0], x_dict[destination].shape[0])
            arriving[destination].append(self._relation(edge_type, graph, kqv[source], kqv[destination]))
        reached = {t[-1] for t in self.edge_types}
        gathered = {kind: self._attend(parts, kqv[kind]) for kind, parts in arriving.items() if kind in reached}
        out = self.out_lin({kind: x.gelu(approximate="none") for kind, x in gathered.items()})
        for kind, x in out.items():
            if x.shape[-1] == x_dict[kind].shape[-1]:
                share = self.skip[kind].sigmoid()
                out[kind] = share * x + (1 - share) * x_dict[kind]
        return {kind: out[kind] for kind in gathered}

    def _relation(self, edge_type: Any, graph: Graph, source: Tensor, destination: Tensor) -> tuple[Graph, Tensor, Tensor]:
        """The graph, score [E, heads] of its edges and values [V, heads, dim] of their sources."""
        number = self.edge_types.index(tuple(edge_type))
        k_rel, v_rel = (_weight(lin).unflatten(0, (self.heads, len(self.edge_types)))[:, number] for lin in (self.k_rel, self.v_rel))
        key, value = ((source[:, part].unsqueeze(-2) @ weight).squeeze(-2) for part, weight in ((0, k_rel), (2, v_rel)))
        score = (graph.dst(destination[:, 1]) * graph.src(key)).sum(-1) * self.p_rel["__".join(edge_type)]
        return graph, score / math.sqrt(key.shape[-1]), value

    def _attend(self, parts: list[Any], kqv: Tensor) -> Tensor:
        """One softmax over the edges of all relations: each relation has its own loops, and they share the largest score."""
        if not parts:
            return Tensor.zeros(kqv.shape[0], self.out_channels, dtype=kqv.dtype)
        tops = [(g.in_degree > 0).unsqueeze(-1).where(g.max(score.detach()), -math.inf) for g, score, _ in parts]
        top = tops[0]
        for t in tops[1:]:
            top = top.maximum(t)
        top = (top == -math.inf).where(0.0, top)
        total = above = None
        for g, score, value in parts:
            weight = (score - g.dst(top)).exp()
            one, many = g.sum(weight), g.sum(weight.unsqueeze(-1) * g.src(value))
            total, above = (one, many) if total is None else (total + one, above + many)
        assert total is not None and above is not None
        return (above / (total + 1e-16).unsqueeze(-1)).flatten(1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(-1, {self.out_channels}, heads={self.heads})"


def _weight(lin: HeteroLinear) -> Tensor:
    assert lin.weight is not None
    return lin.weight
