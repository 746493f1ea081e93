"""PointNetConv: a set of points around each point."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..inits import reset
from ._loops import graph_of, with_loops
from ._pairs import pair
from .message_passing import MessagePassing


class PointNetConv(MessagePassing):
    """The set layer of PointNet and PointNet++ (Qi et al. 2017).

        x'_i = global_nn(max_j local_nn([x_j, p_j - p_i]))

    with j over the neighbours and i itself, and positions p. Both networks may be None, and so may x; x and pos may be pairs (sources,
    destinations).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PointNetConv
    >>> pos = Tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> PointNetConv()(None, pos, Tensor([[1, 2], [0, 0]])).tolist()
    [[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    """

    def __init__(self, local_nn: Any = None, global_nn: Any = None, add_self_loops: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "max")
        super().__init__(**kwargs)
        self.local_nn, self.global_nn, self.add_self_loops = local_nn, global_nn, add_self_loops
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.local_nn)
        reset(self.global_nn)

    def forward(self, x: Any, pos: Any, edge_index: Any) -> Tensor:
        x = tuple(x) if isinstance(x, (tuple, list)) else (x, None)
        pos = pair(pos)
        if self.add_self_loops:
            edge_index, _ = with_loops(graph_of(edge_index, pos[0].shape[0], pos[1].shape[0]))
        out = self.propagate(edge_index, x=x, pos=pos)
        return out if self.global_nn is None else self.global_nn(out)

    def message(self, x_j: Tensor | None, pos_i: Tensor, pos_j: Tensor) -> Tensor:  # type: ignore[override]
        out = pos_j - pos_i
        if x_j is not None:
            out = Tensor.cat(x_j, out, dim=1)
        return out if self.local_nn is None else self.local_nn(out)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(local_nn={self.local_nn}, global_nn={self.global_nn})"


PointConv = PointNetConv

__all__ = ["PointConv", "PointNetConv"]
