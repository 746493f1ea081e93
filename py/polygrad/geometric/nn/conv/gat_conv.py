"""Graph attention (Velickovic et al., "Graph attention networks", ICLR 2018)."""

from __future__ import annotations

from typing import Any

from ....nn.functional import linear
from ....tensor import Tensor
from ...utils._softmax import softmax
from ..dense.linear import Linear
from ..inits import glorot, zeros
from ._loops import NoLoopsOfValues, graph_of, weight_of, with_loops
from .message_passing import MessagePassing


def edge_index_of(given: Any, graph: Any) -> Any:
    """What a layer returns beside its attention weights: the kind of thing that it was given, of the same dtype."""
    if given is graph or not isinstance(given, Tensor):
        return graph
    return given if graph is None else graph.edge_index.cast(given.dtype)


class GATConv(NoLoopsOfValues, MessagePassing):
    r"""x'_i = sum over j in N(i) and i of alpha_ij W_s x_j, with alpha_ij = softmax over j of LeakyReLU(a_s . W_s x_j + a_t . W_t x_i).

    With edge features e_ij of edge_dim, a_e . W_e e_ij is added inside the LeakyReLU. Sources and targets share W unless in_channels is
    a pair. There are `heads` of these, side by side (concat) or averaged.

    fill_value: edge features of the self loops; a number, a Tensor, or how those of the edges into the node are reduced ('mean').
    residual: adds a linear map of x_i. dropout: of the attention weights.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, D]; out [V_t, H * F_out], or [V_t, F_out] without
    concat; with return_attention_weights (out, (edge_index [2, E'], alpha [E', H])).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GATConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> out, (loops, alpha) = GATConv(4, 8, heads=2)(Tensor.ones(3, 4), edge_index, return_attention_weights=True)
    >>> out.shape, loops.shape, alpha.shape
    ((3, 16), (2, 6), (6, 2))
    """

    def __init__(
        self, in_channels: Any, out_channels: int, heads: int = 1, concat: bool = True, negative_slope: float = 0.2, dropout: float = 0.0,
        add_self_loops: bool = True, edge_dim: int | None = None, fill_value: Any = "mean", bias: bool = True, residual: bool = False,
        **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(node_dim=0, **kwargs)
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self._fill_value, self.residual = edge_dim, fill_value, residual

        wide, total = heads * out_channels, out_channels * (heads if concat else 1)
        self.lin: Linear | None = None
        self.lin_src: Linear | None = None
        self.lin_dst: Linear | None = None
        if isinstance(in_channels, int):
            self.lin = Linear(in_channels, wide, bias=False, weight_initializer="glorot")
        else:
            self.lin_src = Linear(in_channels[0], wide, bias=False, weight_initializer="glorot")
            self.lin_dst = Linear(in_channels[1], wide, bias=False, weight_initializer="glorot")
        self.att_src = Tensor.zeros(1, heads, out_channels, requires_grad=True)
        self.att_dst = Tensor.zeros(1, heads, out_channels, requires_grad=True)
        self.lin_edge = None if edge_dim is None else Linear(edge_dim, wide, bias=False, weight_initializer="glorot")
        self.att_edge = None if edge_dim is None else Tensor.zeros(1, heads, out_channels, requires_grad=True)
        skip = in_channels if isinstance(in_channels, int) else in_channels[1]
        self.res = Linear(skip, total, bias=False, weight_initializer="glorot") if residual else None
        self.bias = Tensor.zeros(total, requires_grad=True) if bias else None
        self.reset_parameters()

    @property
    def fill_value(self) -> Any:
        return self._fill_value

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin, self.lin_src, self.lin_dst, self.lin_edge, self.res):
            if lin is not None:
                lin.reset_parameters()
        glorot(self.att_src)
        glorot(self.att_dst)
        glorot(self.att_edge)
        zeros(self.bias)

    def forward(
        self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None, return_attention_weights: bool | None = None
    ) -> Any:
        src, dst = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        if src.ndim != 2:
            raise ValueError(f"GATConv takes node features of two axes, not the shape {src.shape}")
        res = None if self.res is None or dst is None else self.res(dst)
        shape = (-1, self.heads, self.out_channels)
        if self.lin is not None:
            x_src = self.lin(src).reshape(shape)
            x_dst = x_src if dst is src else None if dst is None else self.lin(dst).reshape(shape)
        else:
            assert self.lin_src is not None and self.lin_dst is not None
            x_src = self.lin_src(src).reshape(shape)
            x_dst = None if dst is None else self.lin_dst(dst).reshape(shape)

        alpha = ((x_src * self.att_src).sum(-1), None if x_dst is None else (x_dst * self.att_dst).sum(-1))
        graph = edge_index
        if self.add_self_loops:
            counts = size if size is not None else (src.shape[0], src.shape[0] if dst is None else dst.shape[0])
            graph, edge_attr = with_loops(graph_of(edge_index, *counts), edge_attr, self._fill_value)
        weights = self.edge_updater(graph, alpha=alpha, edge_attr=edge_attr, size=size)
        out = self.propagate(graph, x=(x_src, x_dst), alpha=weights, size=size)

        out = out.reshape(-1, self.heads * self.out_channels) if self.concat else out.mean(1)
        out = out if res is None else out + res
        out = out if self.bias is None else out + self.bias
        if return_attention_weights:
            return out, (edge_index_of(edge_index, graph), weights)
        return out

    def edge_update(
        self, alpha_j: Tensor, alpha_i: Tensor | None, edge_attr: Tensor | None, index: Tensor, ptr: Tensor | None, dim_size: Any
    ) -> Tensor:
        alpha = alpha_j if alpha_i is None else alpha_j + alpha_i
        if edge_attr is not None and self.lin_edge is not None and self.att_edge is not None:
            edge_attr = edge_attr.unsqueeze(-1) if edge_attr.ndim == 1 else edge_attr
            # a . (W e) = (W^T a) . e: the parameters are multiplied first, so that edges carry one number per head.
            w = weight_of(self.lin_edge, edge_attr).reshape(self.heads, self.out_channels, -1)
            alpha = alpha + linear(edge_attr, (w * self.att_edge.reshape(self.heads, -1, 1)).sum(1))
        alpha = softmax(alpha.leaky_relu(self.negative_slope), index, ptr, dim_size)
        return alpha.dropout(self.dropout)

    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
        return alpha.unsqueeze(-1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


__all__ = ["GATConv"]
