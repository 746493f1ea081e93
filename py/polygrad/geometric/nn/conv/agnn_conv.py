"""Attention by cosine similarity (Thekumparampil et al., "Attention-based graph neural network for semi-supervised learning", 2018)."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ...utils._softmax import softmax
from ._loops import graph_of, unit, with_loops
from .message_passing import MessagePassing


class AGNNConv(MessagePassing):
    r"""x'_i = sum over j in N(i) and i of p_ij x_j, with p_ij = softmax over j of beta cos(x_i, x_j).

    requires_grad: is beta a parameter? Else it stays 1.

    Shapes: x [V, F], edge_index [2, E]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import AGNNConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> AGNNConv()(Tensor.ones(3, 4), edge_index).shape
    (3, 4)
    """

    def __init__(self, requires_grad: bool = True, add_self_loops: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.requires_grad, self.add_self_loops = requires_grad, add_self_loops
        self.beta = Tensor.ones(1, requires_grad=requires_grad)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.requires_grad:
            self.beta.assign(Tensor.ones(1, dtype=self.beta.dtype))

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        if self.add_self_loops:
            edge_index, _ = with_loops(graph_of(edge_index, x.shape[self.node_dim]))
        return self.propagate(edge_index, x=x, x_norm=unit(x))

    def message(self, x_j: Tensor, x_norm_i: Tensor, x_norm_j: Tensor, index: Tensor, ptr: Tensor | None, size_i: Any) -> Tensor:
        alpha = softmax(self.beta * (x_norm_i * x_norm_j).sum(-1), index, ptr, size_i)
        return x_j * alpha.unsqueeze(-1)


__all__ = ["AGNNConv"]
