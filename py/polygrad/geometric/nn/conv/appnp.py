"""Personalised propagation (Gasteiger et al., "Predict then propagate: graph neural networks meet personalized PageRank", ICLR 2019)."""

from __future__ import annotations

from typing import Any

from ....loops import repeated
from ....tensor import Tensor
from ._loops import CachingSmoother, Scaled, edge_weights, graph_of
from .message_passing import MessagePassing


class APPNP(CachingSmoother, MessagePassing):
    r"""X_0 = X, X_k = (1 - alpha) D^-1/2 (A + I) D^-1/2 X_(k-1) + alpha X; the result is X_K.

    alpha: the share that stays at the node. dropout: of the edges, in every step, while training. cached: keep the normalised graph of
    the first call. normalize: False takes A as it is, with the given weights.

    Shapes: x [V, F], edge_index [2, E], edge_weight [E]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import APPNP
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> APPNP(K=10, alpha=0.1)(Tensor.ones(3, 4), edge_index).shape
    (3, 4)
    """

    def __init__(
        self, K: int, alpha: float, dropout: float = 0.0, cached: bool = False, add_self_loops: bool = True, normalize: bool = True, **kwargs: Any
    ):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.K, self.alpha, self.dropout = K, alpha, dropout
        self.cached, self.add_self_loops, self.normalize = cached, add_self_loops, normalize

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._cached = None

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        drop = self.dropout > 0 and Tensor.training  # of edges, so that they must have weights
        if self.normalize:
            s = self._scaled(x, edge_index, edge_weight, loops=self.add_self_loops, cached=self.cached, by_edge=self.dropout > 0)
        else:
            s = Scaled(graph_of(edge_index, x.shape[self.node_dim]), None, edge_weight)
        if drop:
            s = Scaled(s.graph, None, edge_weights(s, x.dtype))
        h = x
        if not drop:
            return repeated(lambda x: self._smooth(s, x) * (1 - self.alpha) + self.alpha * h, x, self.K)
        for _ in range(self.K):
            if s.weight is not None:
                s = Scaled(s.graph, None, s.weight.dropout(self.dropout))
            x = self._smooth(s, x) * (1 - self.alpha) + self.alpha * h
        return x

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K}, alpha={self.alpha})"


__all__ = ["APPNP"]
