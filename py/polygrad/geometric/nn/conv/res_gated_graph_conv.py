"""Residual gated graph convolution (Bresson and Laurent, "Residual gated graph ConvNets", 2017)."""

from __future__ import annotations

from typing import Any, Callable

from .... import nn
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import zeros
from .message_passing import MessagePassing


class ResGatedGraphConv(MessagePassing):
    r"""x'_i = W_1 x_i + sum over j in N(i) of act(W_3 x_i + W_4 x_j) * W_2 x_j, with act the sigmoid.

    edge_dim: features of an edge, which are appended to what each of W_2, W_3, W_4 is applied to. root_weight: False leaves W_1 x_i out.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, D]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ResGatedGraphConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> ResGatedGraphConv(4, 8)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, act: Callable[[Tensor], Tensor] | None = nn.Sigmoid(), edge_dim: int | None = None,
        root_weight: bool = True, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.act, self.edge_dim, self.root_weight = in_channels, out_channels, act, edge_dim, root_weight
        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        more = edge_dim if edge_dim is not None else 0
        self.lin_key = Linear(right + more, out_channels)
        self.lin_query = Linear(left + more, out_channels)
        self.lin_value = Linear(left + more, out_channels)
        self.lin_skip = Linear(right, out_channels, bias=False) if root_weight else None
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin_key, self.lin_query, self.lin_value, self.lin_skip):
            if lin is not None:
                lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None) -> Tensor:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        if (edge_attr is not None) != (self.edge_dim is not None):
            raise ValueError(f"ResGatedGraphConv was made with edge_dim={self.edge_dim} and given {'no ' if edge_attr is None else ''}edge_attr")
        k, q, v = (right, left, left) if self.edge_dim is not None else (self.lin_key(right), self.lin_query(left), self.lin_value(left))
        out = self.propagate(edge_index, k=k, q=q, v=v, edge_attr=edge_attr)
        out = out if self.lin_skip is None else out + self.lin_skip(right)
        return out if self.bias is None else out + self.bias

    def message(self, k_i: Tensor, q_j: Tensor, v_j: Tensor, edge_attr: Tensor | None) -> Tensor:
        if edge_attr is not None:
            k_i = self.lin_key(Tensor.cat(k_i, edge_attr, dim=-1))
            q_j = self.lin_query(Tensor.cat(q_j, edge_attr, dim=-1))
            v_j = self.lin_value(Tensor.cat(v_j, edge_attr, dim=-1))
        gate = k_i + q_j
        return (gate if self.act is None else self.act(gate)) * v_j


__all__ = ["ResGatedGraphConv"]
