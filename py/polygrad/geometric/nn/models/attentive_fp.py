"""Attentive FP: molecules by attention among atoms and over them (Xiong et al., "Pushing the boundaries of molecular representation", 2020)."""

from __future__ import annotations

from typing import Any

from .... import dtypes, nn
from ....graphs import Graph
from ....loops import repeated
from ....tensor import Tensor
from ..._rows import rows_of
from ...utils._softmax import softmax
from ..conv.gat_conv import GATConv
from ..conv.message_passing import MessagePassing
from ..inits import glorot, reset, zeros


class GATEConv(MessagePassing):
    r"""x'_i = b + sum over j of alpha_ij W_2 x_j, alpha the softmax of LeakyReLU(l LeakyReLU(W_1 [x_j, e_ij]) + r x_i).

    in_channels, out_channels: features of a node (W_2 needs them to be equal). edge_dim: those of an edge. dropout: of alpha.
    """

    def __init__(self, in_channels: int, out_channels: int, edge_dim: int, dropout: float = 0.0):
        super().__init__(aggr="add", node_dim=0)
        self.in_channels, self.out_channels, self.dropout = in_channels, out_channels, dropout
        self.att_l = Tensor.zeros(1, out_channels, requires_grad=True)
        self.att_r = Tensor.zeros(1, in_channels, requires_grad=True)
        self.lin1 = nn.Linear(in_channels + edge_dim, out_channels, False)
        self.lin2 = nn.Linear(out_channels, out_channels, False)
        self.bias = Tensor.zeros(out_channels, requires_grad=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in (self.att_l, self.att_r, self.lin1.weight, self.lin2.weight):
            glorot(weight)
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Any, edge_attr: Tensor) -> Tensor:
        by_node, by_edge = self.lin1.weight.split([self.in_channels, self.lin1.weight.shape[1] - self.in_channels], 1)
        key, query = x @ by_node.transpose(0, 1), (x * self.att_r).sum(-1)
        return self.propagate(edge_index, key=key, query=query, value=self.lin2(x), edge=edge_attr @ by_edge.transpose(0, 1)) + self.bias

    def message(  # type: ignore[override]
        self, key_j: Tensor, query_i: Tensor, value_j: Tensor, edge: Tensor, index: Tensor, ptr: Tensor | None, size_i: Any
    ) -> Tensor:
        score = ((key_j + edge).leaky_relu() * self.att_l).sum(-1) + query_i
        alpha = softmax(score.leaky_relu(), index, ptr, size_i).dropout(self.dropout)
        return value_j * alpha.unsqueeze(-1)


class AttentiveFP(nn.Module):
    """Atoms attend to their neighbours num_layers times, then the molecule attends to its atoms num_timesteps times; each time a GRU takes what was
    found into what was known.

    in_channels, hidden_channels, out_channels: features of an atom, of all that is hidden, and of the output. edge_dim: features of a bond.
    num_layers, num_timesteps: how often atoms and molecules are updated. dropout: of attention and of the states.
    Shapes: x [V, in_channels], edge_index [2, E], edge_attr [E, edge_dim], batch [V]; out [molecules, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import AttentiveFP
    >>> model = AttentiveFP(8, 16, 2, edge_dim=3, num_layers=2, num_timesteps=2)
    >>> model(Tensor.ones(3, 8), Tensor([[0, 1], [1, 2]]), Tensor.ones(2, 3), Tensor([0, 0, 0])).shape
    (1, 2)
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, edge_dim: int, num_layers: int, num_timesteps: int, dropout: float = 0.0
    ):
        self.in_channels, self.hidden_channels, self.out_channels, self.edge_dim = in_channels, hidden_channels, out_channels, edge_dim
        self.num_layers, self.num_timesteps, self.dropout = num_layers, num_timesteps, dropout

        def attention() -> GATConv:
            return GATConv(hidden_channels, hidden_channels, dropout=dropout, add_self_loops=False, negative_slope=0.01)

        self.lin1 = nn.Linear(in_channels, hidden_channels)
        self.gate_conv = GATEConv(hidden_channels, hidden_channels, edge_dim, dropout)
        self.gru = nn.GRUCell(hidden_channels, hidden_channels)
        self.atom_convs = nn.ModuleList([attention() for _ in range(num_layers - 1)])
        self.atom_grus = nn.ModuleList([nn.GRUCell(hidden_channels, hidden_channels) for _ in range(num_layers - 1)])
        self.mol_conv = attention()
        self.mol_conv.explain = False  # its edges are not those of the molecule
        self.mol_gru = nn.GRUCell(hidden_channels, hidden_channels)
        self.lin2 = nn.Linear(hidden_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.lin1, self.gate_conv, self.gru, *self.atom_convs, *self.atom_grus, self.mol_conv, self.mol_gru, self.lin2):
            reset(part)

    def _update(self, gru: nn.GRUCell, found: Tensor, known: Tensor) -> Tensor:
        return gru(found.elu().dropout(self.dropout), known).relu()

    def forward(self, x: Tensor, edge_index: Any, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x = self.lin1(x).leaky_relu()
        x = self._update(self.gru, self.gate_conv(x, edge_index, edge_attr), x)
        for conv, gru in zip(self.atom_convs, self.atom_grus):
            x = self._update(gru, conv(x, edge_index), x)
        molecules = rows_of(batch)
        atoms = Tensor.stack(Tensor.arange(batch.shape[0], dtype=batch.dtype if batch.dtype in (dtypes.int32, dtypes.int64) else None), batch)
        within = Graph(atoms, num_src=batch.shape[0], num_dst=molecules.num_rows)
        out = molecules.reduce(x, "sum").relu()

        def step(out: Tensor) -> Tensor:
            return self._update(self.mol_gru, self.mol_conv((x, out), within), out)

        if self.dropout and Tensor.training:  # other numbers are drawn in each step
            for _ in range(self.num_timesteps):
                out = step(out)
        else:
            out = repeated(step, out, self.num_timesteps)
        return self.lin2(out.dropout(self.dropout))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(in_channels={self.in_channels}, hidden_channels={self.hidden_channels}, out_channels={self.out_channels}, "
            f"edge_dim={self.edge_dim}, num_layers={self.num_layers}, num_timesteps={self.num_timesteps})"
        )


__all__ = ["AttentiveFP", "GATEConv"]
