"""GeneralConv: one layer with many switches."""

from __future__ import annotations

import math
from typing import Any

from ....nn import Identity
from ....tensor import Tensor
from ...utils import softmax
from ..dense.linear import Linear
from ..inits import glorot
from ._pairs import pair
from .message_passing import MessagePassing


class GeneralConv(MessagePassing):
    """The general layer of "Design Space for Graph Neural Networks" (You et al. 2020).

        m_ji = W_msg x_j [+ W_i x_i] [+ W_edge e_ji],     x'_i = W_self x_i + mean over heads of aggr_j [alpha_ji] m_ji

    in_edge_channels: features of an edge. directed_msg=False adds the receiver's own part. attention: weights that are a softmax over j
    of a function of the message ('additive') or of the product of the messages in both directions ('dot_product'). skip_linear
    forces W_self also where input and output have the same size. l2_normalize: results of length 1.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GeneralConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GeneralConv(4, 8, attention=True, heads=2)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, in_edge_channels: int | None = None, aggr: Any = "add", skip_linear: bool = False,
        directed_msg: bool = True, heads: int = 1, attention: bool = False, attention_type: str = "additive", l2_normalize: bool = False,
        bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", aggr)
        super().__init__(node_dim=0, **kwargs)
        self.in_channels, self.out_channels, self.in_edge_channels = in_channels, out_channels, in_edge_channels
        self.skip_linear, self.directed_msg, self.heads = skip_linear, directed_msg, heads
        self.attention, self.attention_type, self.normalize_l2 = attention, attention_type, l2_normalize
        sources, destinations = pair(in_channels)
        self.lin_msg = Linear(sources, out_channels * heads, bias=bias)
        if not directed_msg:
            self.lin_msg_i = Linear(sources, out_channels * heads, bias=bias)
        self.lin_self: Any = Identity()
        if skip_linear or in_channels != out_channels:
            self.lin_self = Linear(destinations, out_channels, bias=bias)
        if in_edge_channels is not None:
            self.lin_edge = Linear(in_edge_channels, out_channels * heads, bias=bias)
        if attention:
            if attention_type == "additive":
                self.att_msg = Tensor.zeros(1, heads, out_channels, requires_grad=True)
            elif attention_type == "dot_product":
                self.scaler = Tensor(math.sqrt(out_channels))
            else:
                raise ValueError(f"attention_type must be 'additive' or 'dot_product', not {attention_type!r}")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for name in ("lin_msg", "lin_msg_i", "lin_self", "lin_edge"):
            lin = getattr(self, name, None)
            if isinstance(lin, Linear):
                lin.reset_parameters()
        if self.attention and self.attention_type == "additive":
            glorot(self.att_msg)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None) -> Tensor:
        x_l, x_r = pair(x)
        # every map is applied to nodes, and edges only add what they see
        msg: list[Any] = [self.lin_msg(x_l), None]
        other: list[Any] = [None, None]
        both = self.attention and self.attention_type == "dot_product"
        if both:
            msg[1] = msg[0] if x_l is x_r else self.lin_msg(x_r)
        if not self.directed_msg:
            other[1] = self.lin_msg_i(x_r)
            if both:
                other[0] = other[1] if x_l is x_r else self.lin_msg_i(x_l)
        edge = None if edge_attr is None else self.lin_edge(edge_attr)
        sizes = list(size) if size is not None else [x_l.shape[0], None if x_r is None else x_r.shape[0]]
        out = self.propagate(edge_index, msg=tuple(msg), other=tuple(other), edge=edge, size=sizes).mean(1)
        out = out + self.lin_self(x_r)
        return out.normalize(p=2, dim=-1) if self.normalize_l2 else out

    def _heads(self, *parts: Tensor | None) -> Tensor:
        first, *rest = [p for p in parts if p is not None]
        for p in rest:
            first = first + p
        return first.unflatten(-1, (self.heads, self.out_channels))

    def message(  # type: ignore[override]
        self, msg_j: Tensor, msg_i: Any, other_j: Any, other_i: Any, edge: Tensor | None, index: Tensor, ptr: Any, size_i: Any
    ) -> Tensor:
        out = self._heads(msg_j, other_i, edge)
        if not self.attention:
            return out
        if self.attention_type == "dot_product":
            alpha = (self._heads(msg_i, other_j, edge) * out).sum(-1) / self.scaler
        else:
            alpha = (out * self.att_msg).sum(-1)
        return out * softmax(alpha.leaky_relu(0.2), index, ptr, size_i).unsqueeze(-1)
