"""WLConvContinuous: refinement of continuous node values."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ._loops import graph_of
from ._pairs import pair
from .message_passing import MessagePassing


class WLConvContinuous(MessagePassing):
    """Weisfeiler-Lehman for continuous values (Togninalli et al. 2019), without parameters.

        x'_i = 1/2 (x_i + 1/deg_i sum_j e_ji x_j),     deg_i = sum_j e_ji

    Values of the destinations may be None: x'_i is then the weighted mean alone.

    Shapes: x [V, F] or ([V_s, F], [V_t, F] or None), edge_index [2, E], edge_weight [E]; out [V_t, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import WLConvContinuous
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> WLConvContinuous()(Tensor([[1.0], [2.0], [4.0]]), edge_index).tolist()
    [[2.5], [1.5], [3.0]]
    """

    def __init__(self, **kwargs: Any):
        super().__init__(aggr="add", **kwargs)

    def forward(self, x: Any, edge_index: Any, edge_weight: Tensor | None = None, size: Any = None) -> Tensor:
        x_l, x_r = pair(x)
        destinations = x_r.shape[0] if x_r is not None else size[1] if size is not None else x_l.shape[0]
        graph = graph_of(edge_index, x_l.shape[0], destinations)
        out = self.propagate(graph, x=(x_l, x_r), edge_weight=edge_weight)
        degree = graph.in_degree.cast(x_l.dtype) if edge_weight is None else graph.sum(edge_weight)
        some = degree != 0
        out = some.where(1 / some.where(degree, 1.0), 0.0).unsqueeze(-1) * out
        return out if x_r is None else 0.5 * (x_r + out)

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j
