"""Pooling by a learnt projection."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....tensor import Tensor
from ...utils import _host
from .connect.filter_edges import FilterEdges
from .select.base import SelectOutput
from .select.topk import SelectTopK

Pooled = tuple  # (x, edge_index, edge_attr, batch, perm, score)


def one_graph(x: Tensor) -> Tensor:
    """The batch vector of a single graph."""
    batch = _host.tensor(np.zeros(int(x.shape[0]), np.int64))
    batch._count = 1
    return batch


def pooling_repr(layer: Any) -> str:
    """How a pooling layer shows its ratio and multiplier."""
    what = f"ratio={layer.ratio}" if layer.min_score is None else f"min_score={layer.min_score}"
    return f"{what}, multiplier={layer.multiplier}"


class TopKPooling(nn.Module):
    """Keeps the nodes with the highest scores, and weighs them by their scores (Gao and Ji, 2019; Cangea et al., 2018).

    y = act(X p / |p|);   i = top_k(y);   X' = (X * y)_i;   A' = A_(i, i)
    or, with min_score, y = softmax(X p) over each graph and i = those with y_i > min_score.

    Shapes: x [V, F], edge_index [2, E], edge_attr [E, D], batch [V]; out x [K, F], edge_index [2, E'], edge_attr [E', D], batch [K], and
    the places and scores of the kept nodes [K].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import TopKPooling
    >>> x, edge_index, edge_attr, batch, perm, score = TopKPooling(4, ratio=0.5)(Tensor.rand(6, 4), Tensor([[0, 1, 2], [1, 2, 3]]))
    >>> x.shape, perm.shape
    ((3, 4), (3,))
    """

    def __init__(
        self, in_channels: int, ratio: float | int = 0.5, min_score: float | None = None, multiplier: float = 1.0, nonlinearity: Any = "tanh"
    ):
        self.in_channels, self.ratio, self.min_score, self.multiplier = in_channels, ratio, min_score, multiplier
        self.select = SelectTopK(in_channels, ratio, min_score, nonlinearity)
        self.connect = FilterEdges()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        self.select.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None, attn: Tensor | None = None
    ) -> Pooled:
        """Gives (x, edge_index, edge_attr, batch, perm, score). attn: what the scores are computed from, if that is not x."""
        batch = one_graph(x) if batch is None else batch
        s = self.select(x if attn is None else attn, batch)
        c = self.connect(s, edge_index, edge_attr, batch)
        return self.chosen_rows(x, s), c.edge_index, c.edge_attr, c.batch, s.node_index, s.weight

    def chosen_rows(self, x: Tensor, s: SelectOutput) -> Tensor:
        """The rows of x that stay, weighed by their scores."""
        assert s.weight is not None
        x = x[s.node_index] * s.weight.reshape(-1, 1)
        return x if self.multiplier == 1 else self.multiplier * x

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {pooling_repr(self)}"


__all__ = ["TopKPooling"]
