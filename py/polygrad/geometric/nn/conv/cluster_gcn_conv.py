"""ClusterGCNConv: the mean over neighbours with a stronger diagonal."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..dense.linear import Linear
from ._loops import graph_of, with_loops
from .message_passing import MessagePassing


class ClusterGCNConv(MessagePassing):
    """Cluster-GCN (Chiang et al. 2019).

        X' = (A' + lambda diag(A')) X W1 + X W2 + b,    A' = (D + I)^-1 (A + I)

    diag_lambda: lambda. Self loops that are there already count once.

    Shapes: x [V, F_in], edge_index [2, E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ClusterGCNConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> ClusterGCNConv(4, 8, diag_lambda=1.0)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, diag_lambda: float = 0.0, add_self_loops: bool = True, bias: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.diag_lambda, self.add_self_loops = diag_lambda, add_self_loops
        self.lin_out = Linear(in_channels, out_channels, bias=bias, weight_initializer="glorot")
        self.lin_root = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin_out.reset_parameters()
        self.lin_root.reset_parameters()

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        graph = graph_of(edge_index, x.shape[-2])
        if self.add_self_loops:
            graph, _ = with_loops(graph)
        share = graph.dst(1 / graph.in_degree.maximum(1).cast(x.dtype))
        if self.diag_lambda:
            share = (graph.src_index == graph.dst_index).where(share * (1 + self.diag_lambda), share)
        out = self.propagate(graph, x=x, edge_weight=share)
        return self.lin_out(out) + self.lin_root(x)

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        return edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, diag_lambda={self.diag_lambda})"
