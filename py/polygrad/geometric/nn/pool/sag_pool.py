"""Pooling by scores out of a graph layer."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ...utils import _host
from ..conv.graph_conv import GraphConv
from ..inits import reset
from .connect.filter_edges import FilterEdges
from .select.topk import SelectTopK
from .topk_pool import Pooled, one_graph, pooling_repr


class SAGPooling(nn.Module):
    """Keeps the nodes that a graph layer gives the highest scores, and weighs them by their scores (Lee et al., 2019).

    y = act(GNN(X, A));   i = top_k(y);   X' = (X * y)_i;   A' = A_(i, i)
    or, with min_score, y = softmax(GNN(X, A)) over each graph and i = those with y_i > min_score.

    GNN: class of the layer, called with in_channels, 1 and further keywords.

    Shapes: x [V, F], edge_index [2, E], edge_attr [E, D], batch [V]; out x [K, F], edge_index [2, E'], edge_attr [E', D], batch [K], and
    the places and scores of the kept nodes [K].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SAGPooling
    >>> SAGPooling(4, ratio=2)(Tensor.rand(6, 4), Tensor([[0, 1, 2], [1, 2, 3]]))[0].shape
    (2, 4)
    """

    def __init__(
        self, in_channels: int, ratio: float | int = 0.5, GNN: Any = GraphConv, min_score: float | None = None, multiplier: float = 1.0,
        nonlinearity: Any = "tanh", **kwargs: Any,
    ):  # fmt: skip
        self.in_channels, self.ratio, self.min_score, self.multiplier = in_channels, ratio, min_score, multiplier
        self.gnn = GNN(in_channels, 1, **kwargs)
        self.select = SelectTopK(1, ratio, min_score, nonlinearity)
        self.connect = FilterEdges()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.gnn)
        self.select.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None, attn: Tensor | None = None
    ) -> Pooled:
        """Gives (x, edge_index, edge_attr, batch, perm, score). attn: what the scores are computed from, if that is not x."""
        batch = one_graph(x) if batch is None else batch
        attn = x if attn is None else attn
        scores = self.gnn(attn.reshape(-1, 1) if attn.ndim == 1 else attn, edge_index)
        _host.compute(scores, x)
        s = self.select(scores, batch)
        x = x[s.node_index] * s.weight.reshape(-1, 1)
        x = x if self.multiplier == 1 else self.multiplier * x
        c = self.connect(s, edge_index, edge_attr, batch)
        return x, c.edge_index, c.edge_attr, c.batch, s.node_index, s.weight

    def extra_repr(self) -> str:
        return f"{type(self.gnn).__name__}, {self.in_channels}, {pooling_repr(self)}"


__all__ = ["SAGPooling"]
