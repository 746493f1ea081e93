"""Links by embeddings of which some attract and others repel (Peysakhovich et al., "Attract-repel decoders", 2021)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..inits import reset


class ARLinkPredictor(nn.Module):
    """sigmoid(a_i a_j - r_i r_j) of pairs of nodes, a and r being parts of what an MLP makes of their features.

    in_channels, hidden_channels, out_channels: features of a node, hidden ones, and of a and r together (hidden_channels by default). num_layers,
    dropout: of the MLP. attract_ratio: which part of out_channels is a. Shapes: x [V, in_channels], edge_index [2, L]; out [L].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ARLinkPredictor
    >>> ARLinkPredictor(8, 16)(Tensor.rand(3, 8), Tensor([[0, 1], [1, 2]])).shape
    (2,)
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int | None = None, num_layers: int = 2, dropout: float = 0.0,
        attract_ratio: float = 0.5,
    ):  # fmt: skip
        if not 0 <= attract_ratio <= 1:
            raise ValueError(f"attract_ratio must be between 0 and 1, not {attract_ratio}")
        out_channels = hidden_channels if out_channels is None else out_channels
        self.in_channels, self.hidden_channels, self.out_channels = in_channels, hidden_channels, out_channels
        self.num_layers, self.dropout, self.attract_ratio = num_layers, dropout, attract_ratio
        self.attract_dim = int(out_channels * attract_ratio)
        self.repel_dim = out_channels - self.attract_dim
        sizes = [in_channels, *[hidden_channels] * max(num_layers - 1, 1)]
        self.lins = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.lin_attract = nn.Linear(hidden_channels, self.attract_dim)
        self.lin_repel = nn.Linear(hidden_channels, self.repel_dim)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for lin in (*self.lins, self.lin_attract, self.lin_repel):
            reset(lin)

    def encode(self, x: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """a and r of every node."""
        for lin in self.lins:
            x = lin(x).relu().dropout(self.dropout)
        return self.lin_attract(x), self.lin_repel(x)

    def decode(self, attract_z: Tensor, repel_z: Tensor, edge_index: Tensor) -> Tensor:
        """a_i a_j - r_i r_j of pairs of nodes."""
        row, col = edge_index[0], edge_index[1]
        return (attract_z[row] * attract_z[col]).sum(1) - (repel_z[row] * repel_z[col]).sum(1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.decode(*self.encode(x), edge_index).sigmoid()

    def calculate_r_fraction(self, attract_z: Tensor, repel_z: Tensor) -> float:
        """The part of all squares that belongs to r."""
        repel = repel_z.square().sum()
        return float((repel / (attract_z.square().sum() + repel + 1e-10)).item())


__all__ = ["ARLinkPredictor"]
