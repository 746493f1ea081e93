"""SGFormer: one kind of attention over all nodes beside a GNN (Wu et al., "SGFormer: simplifying and empowering transformers", 2023)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..._rows import rows_of
from ...utils import _host
from ..aggr.dense import DenseRows
from ..attention.sgformer import SGFormerAttention
from ..conv.gcn_conv import GCNConv
from ..inits import reset


def among_all(x: Tensor, batch: Tensor | None, function: Any) -> Tensor:
    """function(values [graphs, nodes, F], mask [graphs, nodes]) of node features, back at the nodes."""
    if batch is None:
        return function(x.unsqueeze(0), None).squeeze(0)
    rows = DenseRows(rows_of(batch))
    out = function(rows.dense(x), rows.mask)
    place = _host.read(rows.items)[_host.read(rows.mask)].argsort(kind="stable")
    return out[rows.mask][Tensor(place)]


class GraphModule(nn.Module):
    """GCN layers, each with normalisation, relu, dropout, and the first features added."""

    def __init__(self, in_channels: int, hidden_channels: int, num_layers: int = 2, dropout: float = 0.5):
        self.convs = nn.ModuleList([GCNConv(hidden_channels, hidden_channels) for _ in range(num_layers)])
        self.fcs = nn.ModuleList([nn.Linear(in_channels, hidden_channels)])
        self.bns = nn.ModuleList([nn.BatchNorm1d(hidden_channels) for _ in range(num_layers + 1)])
        self.dropout = dropout

    def reset_parameters(self) -> None:
        for part in (*self.convs, *self.bns, *self.fcs):
            reset(part)

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        first = x = self.bns[0](self.fcs[0](x)).relu().dropout(self.dropout)
        for conv, norm in zip(self.convs, list(self.bns)[1:]):
            x = norm(conv(x, edge_index)).relu().dropout(self.dropout) + first
        return x


class SGModule(nn.Module):
    """Attention among the nodes of each graph, each layer averaged with its input, normalised, with relu and dropout."""

    def __init__(self, in_channels: int, hidden_channels: int, num_layers: int = 2, num_heads: int = 1, dropout: float = 0.5):
        self.attns = nn.ModuleList([SGFormerAttention(hidden_channels, num_heads, hidden_channels) for _ in range(num_layers)])
        self.fcs = nn.ModuleList([nn.Linear(in_channels, hidden_channels)])
        self.bns = nn.ModuleList([nn.LayerNorm(hidden_channels) for _ in range(num_layers + 1)])
        self.dropout = dropout

    def reset_parameters(self) -> None:
        for part in (*self.attns, *self.bns, *self.fcs):
            reset(part)

    def _layers(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.bns[0](self.fcs[0](x)).relu().dropout(self.dropout)
        for attn, norm in zip(self.attns, list(self.bns)[1:]):
            x = norm((attn(x, mask) + x) / 2.0).relu().dropout(self.dropout)
        return x

    def forward(self, x: Tensor, batch: Tensor | None) -> Tensor:
        return among_all(x, batch, self._layers)


class SGFormer(nn.Module):
    """log_softmax(W (w GNN(x) + (1 - w) attention(x)) + b), or W of both beside each other.

    in_channels, hidden_channels, out_channels: features of a node, hidden ones, and classes. trans_num_layers, trans_num_heads, trans_dropout: of the
    attention. gnn_num_layers, gnn_dropout: of the GCN. graph_weight: w. aggregate: 'add' or 'cat'.
    Shapes: x [V, in_channels], edge_index [2, E], batch [V] or None for one graph; out [V, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SGFormer
    >>> SGFormer(8, 16, 3)(Tensor.rand(3, 8), Tensor([[0, 1], [1, 2]]), Tensor([0, 0, 0])).shape
    (3, 3)
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, trans_num_layers: int = 2, trans_num_heads: int = 1,
        trans_dropout: float = 0.5, gnn_num_layers: int = 3, gnn_dropout: float = 0.5, graph_weight: float = 0.5, aggregate: str = "add",
    ):  # fmt: skip
        if aggregate not in ("add", "cat"):
            raise ValueError(f"aggregate must be 'add' or 'cat', not {aggregate!r}")
        self.trans_conv = SGModule(in_channels, hidden_channels, trans_num_layers, trans_num_heads, trans_dropout)
        self.graph_conv = GraphModule(in_channels, hidden_channels, gnn_num_layers, gnn_dropout)
        self.graph_weight, self.aggregate, self.out_channels = graph_weight, aggregate, out_channels
        self.fc = nn.Linear(hidden_channels * (2 if aggregate == "cat" else 1), out_channels)

    @property
    def params1(self) -> list[Tensor]:
        """Parameters of the attention, for an optimizer that treats them in their own way."""
        return self.trans_conv.parameters()

    @property
    def params2(self) -> list[Tensor]:
        """All other parameters."""
        return [*self.graph_conv.parameters(), *self.fc.parameters()]

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        self.trans_conv.reset_parameters()
        self.graph_conv.reset_parameters()
        reset(self.fc)

    def forward(self, x: Tensor, edge_index: Any, batch: Tensor | None) -> Tensor:
        x1, x2 = self.trans_conv(x, batch), self.graph_conv(x, edge_index)
        w = self.graph_weight
        return self.fc(w * x2 + (1 - w) * x1 if self.aggregate == "add" else Tensor.cat(x1, x2, dim=1)).log_softmax(-1)


__all__ = ["SGFormer"]
