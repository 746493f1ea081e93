"""DirGNNConv: a layer along the edges and one against them."""

from __future__ import annotations

import copy
from typing import Any

from ....graphs import Graph
from ....nn import Linear, Module
from ....tensor import Tensor
from ..inits import reset


class DirGNNConv(Module):
    """Directed graphs (Rossi et al. 2023): any layer, once in the direction of the edges and once against it.

        X' = (1 - alpha) conv_in(X, A) + alpha conv_out(X, A^T) [+ W X + b]

    conv is copied for both; the copies add neither self loops nor the node's own value, which root_weight takes over.

    Shapes: x [V, F_in], edge_index [2, E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DirGNNConv, SAGEConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> DirGNNConv(SAGEConv(4, 8), alpha=0.3)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, conv: Any, alpha: float = 0.5, root_weight: bool = True):
        self.alpha, self.root_weight = alpha, root_weight
        self.conv_in, self.conv_out = copy.deepcopy(conv), copy.deepcopy(conv)
        for switch in ("add_self_loops", "root_weight"):
            if hasattr(conv, switch):
                setattr(self.conv_in, switch, False)
                setattr(self.conv_out, switch, False)
        self.lin = Linear(conv.in_channels, conv.out_channels) if root_weight else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.conv_in.reset_parameters()
        self.conv_out.reset_parameters()
        reset(self.lin)

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        edge_index = edge_index if isinstance(edge_index, Tensor) else getattr(edge_index, "graph", edge_index)  # of a SparseTensor
        graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, x.shape[-2])  # nodes lie there in static graphs [batch, V, F] too
        out = self.alpha * self.conv_out(x, graph.reversed()) + (1 - self.alpha) * self.conv_in(x, graph)
        return out if self.lin is None else out + self.lin(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.conv_in}, alpha={self.alpha})"
