"""Generalised graph convolution (Li et al., "DeeperGCN: all you need to train deeper GCNs", 2020)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..aggr import MultiAggregation
from ..dense.linear import Linear
from ..inits import reset
from .message_passing import MessagePassing


class _RowNorm(nn.Module):
    """Each row normalised over its features: what an instance norm does to a matrix."""

    def forward(self, x: Tensor) -> Tensor:
        return x.layernorm(-1, 1e-5)


NORMS: dict[str, Any] = {"batch": nn.BatchNorm1d, "layer": nn.LayerNorm, "instance": lambda n: _RowNorm()}


class MLP(nn.Sequential):
    """Linear layers of the given widths, with a norm, ReLU and dropout between them."""

    def __init__(self, channels: list[int], norm: str | None = None, bias: bool = True, dropout: float = 0.0):
        if norm and norm not in NORMS:
            raise NotImplementedError(f"norm must be one of {', '.join(NORMS)} or None, not {norm!r}")
        made: list[Any] = []
        for k in range(1, len(channels)):
            made.append(Linear(channels[k - 1], channels[k], bias=bias))
            if k < len(channels) - 1:
                made += [NORMS[norm](channels[k])] if norm else []
                made += [nn.ReLU(), nn.Dropout(dropout)]
        super().__init__(*made)


class GENConv(MessagePassing):
    r"""x'_i = MLP(x_i + AGG over j in N(i) of relu(x_j + e_ji) + eps).

    aggr: 'softmax' (with the inverse temperature t, a parameter if learn_t), 'softmax_sg' (the same, without a gradient through the
    softmax), 'powermean' or 'power' (with the exponent p, a parameter if learn_p), or any other. msg_norm: the aggregated message gets
    the length of x_i, times a factor, which is a parameter if learn_msg_scale. norm, num_layers, expansion: of the MLP. edge_dim:
    features of an edge.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, D]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GENConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GENConv(4, 8, learn_t=True)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, aggr: Any = "softmax", t: float = 1.0, learn_t: bool = False, p: float = 1.0,
        learn_p: bool = False, msg_norm: bool = False, learn_msg_scale: bool = False, norm: str = "batch", num_layers: int = 2,
        expansion: int = 2, eps: float = 1e-7, bias: bool = False, edge_dim: int | None = None, **kwargs: Any,
    ):  # fmt: skip
        semi_grad = aggr == "softmax_sg"
        aggr = "softmax" if semi_grad else "powermean" if aggr == "power" else aggr
        if "aggr_kwargs" not in kwargs:
            if aggr == "softmax":
                kwargs["aggr_kwargs"] = {"t": t, "learn": learn_t, "semi_grad": semi_grad}
            elif aggr == "powermean":
                kwargs["aggr_kwargs"] = {"p": p, "learn": learn_p}
        super().__init__(aggr=aggr, **kwargs)
        self.in_channels, self.out_channels, self.eps = in_channels, out_channels, eps
        left, right = (in_channels, in_channels) if isinstance(in_channels, int) else in_channels
        gathered = self.aggr_module.get_out_channels(out_channels) if isinstance(self.aggr_module, MultiAggregation) else out_channels
        self.lin_src = Linear(left, out_channels, bias=bias) if left != out_channels else None
        self.lin_edge = Linear(edge_dim, out_channels, bias=bias) if edge_dim is not None and edge_dim != out_channels else None
        self.lin_aggr_out = Linear(gathered, out_channels, bias=bias) if gathered != out_channels else None
        self.lin_dst = Linear(right, out_channels, bias=bias) if right != out_channels else None
        self.mlp = MLP([out_channels] + [out_channels * expansion] * (num_layers - 1) + [out_channels], norm=norm, bias=bias)
        self.msg_norm = None
        if msg_norm:
            from ..norm import MessageNorm

            self.msg_norm = MessageNorm(learn_msg_scale)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.mlp)
        for part in (self.msg_norm, self.lin_src, self.lin_edge, self.lin_aggr_out, self.lin_dst):
            reset(part)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None) -> Tensor:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        left = left if self.lin_src is None else self.lin_src(left)
        out = self.propagate(edge_index, x=(left, right), edge_attr=edge_attr, size=size)
        out = out if self.lin_aggr_out is None else self.lin_aggr_out(out)
        if self.msg_norm is not None:
            out = self.msg_norm(left if right is None else right, out)
        if right is not None:
            out = out + (right if self.lin_dst is None else self.lin_dst(right))
        return self.mlp(out)

    def message(self, x_j: Tensor, edge_attr: Tensor | None) -> Tensor:
        if edge_attr is not None:
            edge_attr = edge_attr if self.lin_edge is None else self.lin_edge(edge_attr)
            if x_j.shape[-1] != edge_attr.shape[-1]:
                raise ValueError(f"nodes have {x_j.shape[-1]} features and edges {edge_attr.shape[-1]}: give GENConv edge_dim={edge_attr.shape[-1]}")
            x_j = x_j + edge_attr
        return x_j.relu() + self.eps

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr})"


__all__ = ["GENConv"]
