"""Pooling by paths."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..._product import SparseMatrix
from .connect.filter_edges import FilterEdges
from .select.topk import SelectTopK
from .topk_pool import Pooled, one_graph, pooling_repr


class PANPooling(nn.Module):
    """Keeps the nodes with the highest scores out of their features and the paths that lead to them (Ma et al., 2020).

    score = beta_1 X p + beta_2 colsum(M) with the matrix M of PANConv; then as TopKPooling.

    Shapes: x [V, F], M a sparse V x V matrix, batch [V]; out x [K, F], edge_index [2, E'], edge_attr [E'], batch [K], and the places and
    scores of the kept nodes [K].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PANConv, PANPooling
    >>> x, m = PANConv(4, 4, filter_size=2)(Tensor.rand(6, 4), Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> PANPooling(4)(x, m)[0].shape
    (3, 4)
    """

    def __init__(self, in_channels: int, ratio: float = 0.5, min_score: float | None = None, multiplier: float = 1.0, nonlinearity: Any = "tanh"):
        self.in_channels, self.ratio, self.min_score, self.multiplier = in_channels, ratio, min_score, multiplier
        self.p = Tensor.ones(in_channels, requires_grad=True)
        self.beta = Tensor.full((2,), 0.5, requires_grad=True)
        self.select = SelectTopK(1, ratio, min_score, nonlinearity)
        self.connect = FilterEdges()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        self.p.assign(self.p.ones_like())
        self.beta.assign(Tensor.full((2,), 0.5))
        self.select.reset_parameters()

    def forward(self, x: Tensor, M: SparseMatrix, batch: Tensor | None = None) -> Pooled:
        """Gives (x, edge_index, edge_weight, batch, perm, score)."""
        batch = one_graph(x) if batch is None else batch
        score = self.beta[0] * (x * self.p).sum(-1) + self.beta[1] * M.graph.sum(M.value, "out")
        s = self.select(score, batch)
        x = x[s.node_index] * s.weight.reshape(-1, 1)
        x = x if self.multiplier == 1 else self.multiplier * x
        c = self.connect(s, M.graph.edge_index, M.value, batch)
        return x, c.edge_index, c.edge_attr, c.batch, s.node_index, s.weight

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {pooling_repr(self)}"


__all__ = ["PANPooling"]
