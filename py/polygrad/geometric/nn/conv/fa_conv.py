"""FAConv: neighbours that may count negatively."""

from __future__ import annotations

from typing import Any

from ....graphs import Graph
from ....tensor import Tensor
from ..dense.linear import Linear
from ._loops import edge_weights, graph_of, kept, scaled
from .message_passing import MessagePassing


class FAConv(MessagePassing):
    """Frequency adaptive graph convolution (Bo et al. 2021).

        x'_i = eps x0_i + sum_j alpha_ij / sqrt(d_i d_j) x_j,     alpha_ij = tanh(a_l x_j + a_r x_i)

    with j over the neighbours and i itself. normalize=False takes the given edge_weight instead of 1 / sqrt(d_i d_j).

    Shapes: x and x_0 [V, F], edge_index [2, E], edge_weight [E]; out [V, F]; with return_attention_weights (out, (edge_index [2, E'], alpha
    [E'])).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import FAConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> FAConv(4, eps=0.2)(Tensor.ones(3, 4), Tensor.zeros(3, 4), edge_index).shape
    (3, 4)
    """

    def __init__(
        self, channels: int, eps: float = 0.1, dropout: float = 0.0, cached: bool = False, add_self_loops: bool = True, normalize: bool = True,
        **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.channels, self.eps, self.dropout = channels, eps, dropout
        self.cached, self.add_self_loops, self.normalize = cached, add_self_loops, normalize
        self.att_l = Linear(channels, 1, bias=False)
        self.att_r = Linear(channels, 1, bias=False)
        self._alpha: Tensor | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.att_l.reset_parameters()
        self.att_r.reset_parameters()
        self._cached_edge_index: Any = None

    def _edges(self, x: Tensor, edge_index: Any, weight: Tensor | None) -> tuple[Graph, Tensor]:
        if self._cached_edge_index is not None:
            return self._cached_edge_index
        s = scaled(graph_of(edge_index, x.shape[self.node_dim]), weight, False, self.add_self_loops, self.flow, x.dtype)
        found = (s.graph, edge_weights(s, x.dtype))
        if self.cached:
            self._cached_edge_index = (s.graph, kept(found[1]))
        return found

    def forward(
        self, x: Tensor, x_0: Tensor, edge_index: Any, edge_weight: Tensor | None = None, return_attention_weights: bool | None = None
    ) -> Any:
        """return_attention_weights: any value but None also gives (edge_index, alpha [E]), self loops included."""
        graph = edge_index
        if self.normalize:
            if edge_weight is not None and not self.__dict__.get("_given"):  # the values of a sparse matrix are scaled too
                raise ValueError("FAConv computes its own edge weights; give edge_weight with normalize=False")
            graph, edge_weight = self._edges(x, edge_index, edge_weight)
        elif edge_weight is None:
            raise ValueError("edge_weight is needed with normalize=False")
        out = self.propagate(graph, x=x, alpha=(self.att_l(x), self.att_r(x)), edge_weight=edge_weight)
        alpha, self._alpha = self._alpha, None
        if self.eps:
            out = out + self.eps * x_0
        if isinstance(return_attention_weights, bool):
            return out, (graph.edge_index if isinstance(graph, Graph) and not isinstance(edge_index, Graph) else graph, alpha)
        return out

    def message(self, x_j: Tensor, alpha_j: Tensor, alpha_i: Tensor, edge_weight: Tensor) -> Tensor:
        self._alpha = alpha = (alpha_j + alpha_i).tanh().squeeze(-1)
        return x_j * (alpha.dropout(self.dropout) * edge_weight).unsqueeze(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels}, eps={self.eps})"
