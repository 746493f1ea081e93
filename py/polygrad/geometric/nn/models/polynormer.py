"""Polynormer: local and global attention multiplied with gates (Deng et al., "Polynormer: polynomial-expressive graph transformer", 2024)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..attention.polynormer import PolynormerAttention
from ..conv.gat_conv import GATConv
from ..conv.gcn_conv import GCNConv
from ..inits import reset
from .sgformer import among_all


class Polynormer(nn.Module):
    """local_layers layers on the edges, whose outputs are added up, and after them global_layers layers of attention among all nodes:

        h = relu(H x),   x' = relu(norm(conv(x) + W x)),   x'' = (1 - beta) layer_norm(h * x') + beta x'

    The global layers are used once `_global` is True: first the local ones are trained alone. in_channels, hidden_channels, out_channels: features
    of a node, of a head, and classes. in_dropout, dropout, global_dropout: of the input, of the local and of the global layers. heads, beta,
    qk_shared: as in PolynormerAttention. pre_ln: normalises before each local layer. post_bn: normalises x' over the batch. local_attn: GATConv
    instead of GCNConv. Shapes: x [V, in_channels], edge_index [2, E], batch [V] or None for one graph; out [V, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import Polynormer
    >>> Polynormer(8, 16, 3, local_layers=2)(Tensor.rand(3, 8), Tensor([[0, 1], [1, 2]]), Tensor([0, 0, 0])).shape
    (3, 3)
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, local_layers: int = 7, global_layers: int = 2, in_dropout: float = 0.15,
        dropout: float = 0.5, global_dropout: float = 0.5, heads: int = 1, beta: float = 0.9, qk_shared: bool = False, pre_ln: bool = False,
        post_bn: bool = True, local_attn: bool = False,
    ):  # fmt: skip
        self._global = False
        self.in_drop, self.dropout, self.pre_ln, self.post_bn, self.beta = in_dropout, dropout, pre_ln, post_bn, beta
        inner = heads * hidden_channels
        sizes = [in_channels, *[inner] * (local_layers - 1)]

        def conv(size: int) -> Any:
            if local_attn:
                return GATConv(size, hidden_channels, heads=heads, concat=True, add_self_loops=False, bias=False)
            return GCNConv(size, inner, cached=False, normalize=True)

        self.h_lins = nn.ModuleList([nn.Linear(size, inner) for size in sizes])
        self.local_convs = nn.ModuleList([conv(size) for size in sizes])
        self.lins = nn.ModuleList([nn.Linear(size, inner) for size in sizes])
        self.lns = nn.ModuleList([nn.LayerNorm(inner) for _ in sizes])
        self.pre_lns = nn.ModuleList([nn.LayerNorm(size) for size in sizes] if pre_ln else [])
        self.post_bns = nn.ModuleList([nn.BatchNorm1d(inner) for _ in sizes] if post_bn else [])
        self.lin_in = nn.Linear(in_channels, inner)
        self.ln = nn.LayerNorm(inner)
        self.global_attn = nn.ModuleList(
            [
                PolynormerAttention(hidden_channels, heads, hidden_channels, beta, qk_shared=qk_shared, dropout=global_dropout)
                for _ in range(global_layers)
            ]
        )
        self.pred_local = nn.Linear(inner, out_channels)
        self.pred_global = nn.Linear(inner, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        lists = (self.local_convs, self.global_attn, self.lins, self.h_lins, self.lns, self.pre_lns, self.post_bns)
        for part in (*[m for each in lists for m in each], self.lin_in, self.ln, self.pred_local, self.pred_global):
            reset(part)

    def _attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for attn in self.global_attn:
            x = attn(x, mask)
        return x

    def forward(self, x: Tensor, edge_index: Any, batch: Tensor | None) -> Tensor:
        x = x.dropout(self.in_drop)
        total: Any = None
        for k, conv in enumerate(self.local_convs):
            x = self.pre_lns[k](x) if self.pre_ln else x
            h = self.h_lins[k](x).relu()
            x = conv(x, edge_index) + self.lins[k](x)
            x = (self.post_bns[k](x) if self.post_bn else x).relu().dropout(self.dropout)
            x = (1 - self.beta) * self.lns[k](h * x) + self.beta * x
            total = x if total is None else total + x
        if not self._global:
            return self.pred_local(total).log_softmax(-1)
        return self.pred_global(among_all(self.ln(total), batch, self._attend)).log_softmax(-1)


__all__ = ["Polynormer"]
