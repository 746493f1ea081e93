"""Graph convolution with a weight for the node itself (Morris et al., "Weisfeiler and Leman go neural", AAAI 2019)."""

from __future__ import annotations

from typing import Any

from ....nn.functional import linear
from ....tensor import Tensor
from ..dense.linear import Linear
from ._loops import is_linear, weight_of
from .message_passing import MessagePassing


class GraphConv(MessagePassing):
    r"""x'_i = W_1 x_i + W_2 sum over j in N(i) of e_ji x_j, where e_ji is the weight of the edge (1 without weights).

    aggr: what stands for the sum.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_weight [E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GraphConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GraphConv(4, 8, aggr="max")(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, in_channels: Any, out_channels: int, aggr: Any = "add", bias: bool = True, **kwargs: Any):
        super().__init__(aggr=aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        self.lin_rel = Linear(left, out_channels, bias=bias)
        self.lin_root = Linear(right, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin_rel.reset_parameters()
        self.lin_root.reset_parameters()

    def forward(self, x: Any, edge_index: Any, edge_weight: Tensor | None = None, size: Any = None) -> Tensor:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        # Sums and linear maps change places where that leaves fewer features to carry around.
        if is_linear(self) and self.out_channels < left.shape[-1] and self.flow == "source_to_target":
            near = linear(left, weight_of(self.lin_rel, left))
            out = self.propagate(edge_index, x=(near, right), edge_weight=edge_weight, size=size)
            out = out if self.lin_rel.bias is None else out + self.lin_rel.bias
        else:
            out = self.lin_rel(self.propagate(edge_index, x=(left, right), edge_weight=edge_weight, size=size))
        return out if right is None else out + self.lin_root(right)

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j


__all__ = ["GraphConv"]
