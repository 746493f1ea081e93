"""SignedConv: friends and foes."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ..dense.linear import Linear
from ._pairs import pair
from .message_passing import MessagePassing


class SignedConv(MessagePassing):
    """Signed graph convolution (Derr et al. 2018). The result is [positive part | negative part], 2 out_channels wide.

        first_aggr      pos_i = W_pl mean over N+ of x_j + W_pr x_i                             neg_i = W_nl mean over N- of x_j + W_nr x_i
        otherwise       pos_i = W_pl [mean over N+ of pos_j | mean over N- of neg_j] + W_pr pos_i
                        neg_i = W_nl [mean over N+ of neg_j | mean over N- of pos_j] + W_nr neg_i

    In the second case x holds the positive part in its first in_channels columns, and the negative one behind.

    Shapes: x [V, F_in] (first_aggr) or [V, 2 F_in], or a pair of them, pos_edge_index [2, E+], neg_edge_index [2, E-]; out [V_t, 2 F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SignedConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> SignedConv(4, 8, first_aggr=True)(Tensor.ones(3, 4), edge_index, edge_index.flip(0)).shape
    (3, 16)
    """

    def __init__(self, in_channels: int, out_channels: int, first_aggr: bool, bias: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "mean")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.first_aggr = in_channels, out_channels, first_aggr
        wide = in_channels if first_aggr else 2 * in_channels
        self.lin_pos_l = Linear(wide, out_channels, False)
        self.lin_pos_r = Linear(in_channels, out_channels, bias)
        self.lin_neg_l = Linear(wide, out_channels, False)
        self.lin_neg_r = Linear(in_channels, out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin_pos_l, self.lin_pos_r, self.lin_neg_l, self.lin_neg_r):
            lin.reset_parameters()

    def forward(self, x: Any, pos_edge_index: Any, neg_edge_index: Any) -> Tensor:
        x = pair(x)
        if self.first_aggr:
            pos, neg = x, x
            around_pos, around_neg = self.propagate(pos_edge_index, x=x), self.propagate(neg_edge_index, x=x)
        else:
            pos, neg = (tuple(t[..., part] for t in x) for part in (slice(None, self.in_channels), slice(self.in_channels, None)))
            around_pos = Tensor.cat(self.propagate(pos_edge_index, x=pos), self.propagate(neg_edge_index, x=neg), dim=-1)
            around_neg = Tensor.cat(self.propagate(pos_edge_index, x=neg), self.propagate(neg_edge_index, x=pos), dim=-1)
        out_pos = self.lin_pos_l(around_pos) + self.lin_pos_r(pos[1])
        out_neg = self.lin_neg_l(around_neg) + self.lin_neg_r(neg[1])
        return Tensor.cat(out_pos, out_neg, dim=-1)

    def message(self, x_j: Tensor) -> Tensor:
        return x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, first_aggr={self.first_aggr})"
