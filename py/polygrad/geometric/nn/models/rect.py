"""RECT: embeddings for classes that training never saw (Wang et al., "Network embedding with completely-imbalanced labels", 2020)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..._rows import rows_of
from ..conv.gcn_conv import GCNConv
from ..inits import glorot, reset


class RECT_L(nn.Module):
    """W (GCN(x) with dropout) + b, trained to give the mean features of a node's class (get_semantic_labels); embed gives GCN(x) alone.

    in_channels, hidden_channels: features of a node and of its embedding. normalize: of GCNConv. dropout: of the embedding in training.
    Shapes: x [V, F], edge_index [2, E], edge_weight [E]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import RECT_L
    >>> model, x, edges = RECT_L(4, 3), Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])
    >>> model(x, edges).shape, model.embed(x, edges).shape
    ((3, 4), (3, 3))
    """

    def __init__(self, in_channels: int, hidden_channels: int, normalize: bool = True, dropout: float = 0.0):
        self.in_channels, self.hidden_channels, self.dropout = in_channels, hidden_channels, dropout
        self.conv = GCNConv(in_channels, hidden_channels, normalize=normalize)
        self.lin = nn.Linear(hidden_channels, in_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        self.conv.reset_parameters()
        reset(self.lin)
        glorot(self.lin.weight)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        return self.lin(self.conv(x, edge_index, edge_weight).dropout(self.dropout))

    def embed(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """The embeddings, without a gradient."""
        return self.conv(x, edge_index, edge_weight).detach()

    def get_semantic_labels(self, x: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        """For each node of the mask the mean features of the nodes of its class in the mask."""
        x, y = x.detach()[mask], y[mask]
        classes = rows_of(y)
        return classes.spread(classes.reduce(x, "mean"))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.hidden_channels})"


__all__ = ["RECT_L"]
