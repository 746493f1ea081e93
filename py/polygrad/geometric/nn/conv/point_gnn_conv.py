"""PointGNNConv: points that may move their centre (Shi and Rajkumar, "Point-GNN: graph neural network for 3D object detection", 2020)."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..inits import reset
from .message_passing import MessagePassing


class PointGNNConv(MessagePassing):
    r"""x'_i = x_i + mlp_g(max over j in N(i) of mlp_f([p_j - p_i + mlp_h(x_i), x_j])).

    mlp_h: maps features [V, F] to offsets [V, 3]; mlp_f: [E, 3 + F] to messages; mlp_g: their maximum to [V, F]. mlp_h is applied to nodes,
    not to edges.

    Shapes: x [V, F], pos [V, 3], edge_index [2, E]; out [V, F].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import PointGNNConv
    >>> layer = PointGNNConv(nn.Linear(8, 3), nn.Linear(3 + 8, 5), nn.Linear(5, 8))
    >>> layer(Tensor.ones(3, 8), Tensor.rand(3, 3), Tensor([[0, 1], [1, 2]])).shape
    (3, 8)
    """

    def __init__(self, mlp_h: Any, mlp_f: Any, mlp_g: Any, **kwargs: Any):
        kwargs.setdefault("aggr", "max")
        super().__init__(**kwargs)
        self.mlp_h, self.mlp_f, self.mlp_g = mlp_h, mlp_f, mlp_g
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for part in (self.mlp_h, self.mlp_f, self.mlp_g):
            reset(part)

    def forward(self, x: Tensor, pos: Tensor, edge_index: Any) -> Tensor:
        return x + self.mlp_g(self.propagate(edge_index, x=x, pos=pos, centre=pos - self.mlp_h(x)))

    def message(self, pos_j: Tensor, centre_i: Tensor, x_j: Tensor) -> Tensor:  # type: ignore[override]
        return self.mlp_f(Tensor.cat(pos_j - centre_i, x_j, dim=-1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n  mlp_h={self.mlp_h},\n  mlp_f={self.mlp_f},\n  mlp_g={self.mlp_g},\n)"


__all__ = ["PointGNNConv"]
