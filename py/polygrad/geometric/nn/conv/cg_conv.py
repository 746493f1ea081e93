"""CGConv: gated messages between the atoms of a crystal."""

from __future__ import annotations

from typing import Any

from ....nn import BatchNorm1d, Linear
from ....nn.functional import linear
from ....tensor import Tensor
from ..inits import reset
from ._pairs import pair
from .message_passing import MessagePassing


class CGConv(MessagePassing):
    """Crystal graph convolution (Xie and Grossman 2018).

        x'_i = x_i + aggr_j sigmoid(W_f z_ij + b_f) * softplus(W_s z_ij + b_s),     z_ij = [x_i, x_j, e_ij]

    channels: features of a node, or a pair (sources, destinations); dim: features of an edge. batch_norm: of the aggregated messages.

    Shapes: x [V, F] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, dim]; out [V_t, F_t].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import CGConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> CGConv(4, dim=2)(Tensor.ones(3, 4), edge_index, Tensor.ones(3, 2)).shape
    (3, 4)
    """

    def __init__(self, channels: Any, dim: int = 0, aggr: Any = "add", batch_norm: bool = False, bias: bool = True, **kwargs: Any):
        super().__init__(aggr=aggr, **kwargs)
        self.channels, self.dim, self.batch_norm = channels, dim, batch_norm
        self._widths = pair(channels)
        self.lin_f = Linear(sum(self._widths) + dim, self._widths[1], bias=bias)
        self.lin_s = Linear(sum(self._widths) + dim, self._widths[1], bias=bias)
        self.bn = BatchNorm1d(self._widths[1]) if batch_norm else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for part in (self.lin_f, self.lin_s, self.bn):
            reset(part)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None) -> Tensor:
        x_l, x_r = pair(x)
        # the maps of z are taken apart: those of the ends cost one product a node
        parts = {}
        for name, lin in (("f", self.lin_f), ("s", self.lin_s)):
            of_i, of_j = lin.weight[:, : x_r.shape[-1]], lin.weight[:, x_r.shape[-1] : sum(self._widths)]
            parts[name] = (linear(x_l, of_j), linear(x_r, of_i, lin.bias))
        out = self.propagate(edge_index, edge_attr=edge_attr, **parts)
        out = out if self.bn is None else self.bn(out)
        return out + x_r

    def message(self, f_i: Tensor, f_j: Tensor, s_i: Tensor, s_j: Tensor, edge_attr: Tensor | None) -> Tensor:  # type: ignore[override]
        gate, value = f_i + f_j, s_i + s_j
        if edge_attr is not None:
            start = sum(self._widths)
            gate = gate + linear(edge_attr, self.lin_f.weight[:, start:])
            value = value + linear(edge_attr, self.lin_s.weight[:, start:])
        return gate.sigmoid() * value.softplus()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels}, dim={self.dim})"
