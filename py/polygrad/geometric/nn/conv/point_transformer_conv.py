"""PointTransformerConv: attention with a weight for each feature."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ...utils import softmax
from ..dense.linear import Linear
from ..inits import reset
from ._loops import graph_of, with_loops
from ._pairs import pair
from .message_passing import MessagePassing


class PointTransformerConv(MessagePassing):
    """Point Transformer (Zhao et al. 2021).

        x'_i = sum_j alpha_ij * (W x_j + delta_ij),    alpha_ij = softmax over j of attn_nn(W_dst x_i - W_src x_j + delta_ij),
        delta_ij = pos_nn(p_i - p_j)

    with j over the neighbours and i itself, each feature on its own. pos_nn: from positions (3) to out_channels, a linear map if it is
    left out; attn_nn: from out_channels to out_channels, nothing if it is left out.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), pos [V, 3] or a pair of them, edge_index [2, E]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PointTransformerConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> PointTransformerConv(4, 8)(Tensor.ones(3, 4), Tensor.rand(3, 3), edge_index).shape
    (3, 8)
    """

    def __init__(self, in_channels: Any, out_channels: int, pos_nn: Any = None, attn_nn: Any = None, add_self_loops: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.add_self_loops = in_channels, out_channels, add_self_loops
        sources, destinations = pair(in_channels)
        self.pos_nn = Linear(3, out_channels) if pos_nn is None else pos_nn
        self.attn_nn = attn_nn
        self.lin = Linear(sources, out_channels, bias=False)
        self.lin_src = Linear(sources, out_channels, bias=False)
        self.lin_dst = Linear(destinations, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for part in (self.pos_nn, self.attn_nn, self.lin, self.lin_src, self.lin_dst):
            reset(part)

    def forward(self, x: Any, pos: Any, edge_index: Any) -> Tensor:
        x_l, x_r = pair(x)
        pos = pair(pos)
        if self.add_self_loops:
            edge_index, _ = with_loops(graph_of(edge_index, pos[0].shape[0], pos[1].shape[0]))
        return self.propagate(edge_index, x=(self.lin(x_l), x_r), pos=pos, alpha=(self.lin_src(x_l), self.lin_dst(x_r)))

    def message(  # type: ignore[override]
        self, x_j: Tensor, pos_i: Tensor, pos_j: Tensor, alpha_i: Tensor, alpha_j: Tensor, index: Tensor, ptr: Any, size_i: Any
    ) -> Tensor:
        delta = self.pos_nn(pos_i - pos_j)
        alpha = alpha_i - alpha_j + delta
        if self.attn_nn is not None:
            alpha = self.attn_nn(alpha)
        return softmax(alpha, index, ptr, size_i) * (x_j + delta)
