"""DenseGINConv: GINConv on dense adjacency matrices."""

from __future__ import annotations

from typing import Any

from ....nn import Module
from ....tensor import Tensor
from ..inits import constant, reset
from .dense_gcn_conv import batched, masked


class DenseGINConv(Module):
    """X' = nn((1 + eps) X + A X), for matrices A [graphs, nodes, nodes]; see GINConv.

    train_eps: eps is a parameter. Called with x [graphs, nodes, features], adj, mask [graphs, nodes] of the nodes that are there, and
    add_loop, which says whether (1 + eps) X is added.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import DenseGINConv
    >>> adj = Tensor.ones(2, 5, 5)
    >>> DenseGINConv(nn.Linear(4, 8))(Tensor.ones(2, 5, 4), adj).shape
    (2, 5, 8)
    """

    def __init__(self, nn: Any, eps: float = 0.0, train_eps: bool = False):
        self.nn, self.initial_eps = nn, eps
        self.eps = Tensor.zeros(1, requires_grad=train_eps)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        reset(self.nn)
        constant(self.eps, self.initial_eps)

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None, add_loop: bool = True) -> Tensor:
        x, adj = batched(x, adj)
        out = adj @ x
        if add_loop:
            out = (1 + self.eps) * x + out
        return masked(self.nn(out), mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"
