"""GNNFF: forces on atoms without an energy (Park et al., "Accurate and scalable graph neural network force field", 2021)."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ..._length import norm
from ..inits import reset
from ..pool.points import radius_graph
from ._triplets import Triplets
from .schnet import GaussianSmearing, ShiftedSoftplus


def _gated(x: Tensor) -> Tensor:
    """sigmoid of the first half of the features times tanh of the second."""
    gate, core = x.chunk(2, 1)
    return gate.sigmoid() * core.tanh()


class GaussianFilter(GaussianSmearing):
    """A distance as values of Gaussian curves."""

    def reset_parameters(self) -> None:
        """Nothing is learned."""


class NodeBlock(nn.Module):
    """Atoms see the bonds into them: tanh(h_i + norm(sum_j gate(norm(W [h_i, e_ji]))))."""

    def __init__(self, hidden_node_channels: int, hidden_edge_channels: int):
        self.lin_c1 = nn.Linear(hidden_node_channels + hidden_edge_channels, 2 * hidden_node_channels)
        self.bn_c1 = nn.BatchNorm1d(2 * hidden_node_channels)
        self.bn = nn.BatchNorm1d(hidden_node_channels)

    def reset_parameters(self) -> None:
        for part in (self.lin_c1, self.bn_c1, self.bn):
            reset(part)

    def forward(self, h: Tensor, e: Tensor, edges: Triplets) -> Tensor:
        of_node, of_edge = (w.transpose(0, 1) for w in self.lin_c1.weight.split([h.shape[1], e.shape[1]], 1))
        c1 = edges.graph.dst(h @ of_node) + e @ of_edge + self.lin_c1.bias
        return (h + self.bn(edges.graph.sum(_gated(self.bn_c1(c1))))).tanh()


class EdgeBlock(nn.Module):
    """Bonds see their atoms and the bonds k -> j before them: tanh(e_ji + norm(gate(norm(W (h_i * h_j)))) + norm(sum_k gate(norm(W' [...]))))."""

    def __init__(self, hidden_node_channels: int, hidden_edge_channels: int):
        self.lin_c2 = nn.Linear(hidden_node_channels, 2 * hidden_edge_channels)
        self.lin_c3 = nn.Linear(3 * hidden_node_channels + 2 * hidden_edge_channels, 2 * hidden_edge_channels)
        self.bn_c2 = nn.BatchNorm1d(2 * hidden_edge_channels)
        self.bn_c3 = nn.BatchNorm1d(2 * hidden_edge_channels)
        self.bn_c2_2 = nn.BatchNorm1d(hidden_edge_channels)
        self.bn_c3_2 = nn.BatchNorm1d(hidden_edge_channels)

    def reset_parameters(self) -> None:
        for part in (self.lin_c2, self.lin_c3, self.bn_c2, self.bn_c3, self.bn_c2_2, self.bn_c3_2):
            reset(part)

    def forward(self, h: Tensor, e: Tensor, edges: Triplets) -> Tensor:
        graph, pairs = edges.graph, edges.pairs
        c2 = self.bn_c2_2(_gated(self.bn_c2(self.lin_c2(graph.dst(h) * graph.src(h)))))
        # W' is applied to atoms and bonds, not to triplets: what belongs to j -> i and what belongs to k -> j is added there.
        n, m = h.shape[1], e.shape[1]
        of_i, of_j, of_k, of_ji, of_kj = (w.transpose(0, 1) for w in self.lin_c3.weight.split([n, n, n, m, m], 1))
        second = (graph.dst(h @ of_i) + graph.src(h @ of_j) + e @ of_ji + self.lin_c3.bias).contiguous()
        first = (graph.src(h @ of_k) + e @ of_kj).contiguous()
        c3 = pairs.sum(_gated(self.bn_c3(pairs.dst(second) + pairs.src(first))))
        return (e + c2 + self.bn_c3_2(c3)).tanh()


class GNNFF(nn.Module):
    """Forces f_i = sum over j of F(e_ji) (p_i - p_j) / |p_i - p_j|, with states e of bonds that num_layers blocks of atoms and bonds made.

    hidden_node_channels, hidden_edge_channels: sizes of the states. cutoff: bonds are pairs of atoms that are nearer, at most max_num_neighbors of
    an atom. Shapes: z [N], atomic numbers below 95; pos [N, 3]; batch [N]; out [N, 3].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GNNFF
    >>> GNNFF(16, 8, num_layers=1)(Tensor([6, 1, 1]), Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.1, 0.0]])).shape
    (3, 3)
    """

    def __init__(self, hidden_node_channels: int, hidden_edge_channels: int, num_layers: int, cutoff: float = 5.0, max_num_neighbors: int = 32):
        self.cutoff, self.max_num_neighbors = cutoff, max_num_neighbors
        n, m = hidden_node_channels, hidden_edge_channels
        self.node_emb = nn.Sequential(nn.Embedding(95, n), ShiftedSoftplus(), nn.Linear(n, n), ShiftedSoftplus(), nn.Linear(n, n))
        reset(self.node_emb[0])
        self.edge_emb = GaussianFilter(0.0, 5.0, m)
        self.node_blocks = nn.ModuleList([NodeBlock(n, m) for _ in range(num_layers)])
        self.edge_blocks = nn.ModuleList([EdgeBlock(n, m) for _ in range(num_layers)])
        self.force_predictor = nn.Sequential(nn.Linear(m, m), ShiftedSoftplus(), nn.Linear(m, m), ShiftedSoftplus(), nn.Linear(m, 1))

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.node_emb, *self.node_blocks, *self.edge_blocks, self.force_predictor):
            reset(part)

    def forward(self, z: Tensor, pos: Tensor, batch: Tensor | None = None) -> Tensor:
        edge_index = radius_graph(pos, r=self.cutoff, batch=batch, max_num_neighbors=self.max_num_neighbors)
        edges = Triplets(edge_index, int(z.shape[0]))
        away = -edges.vectors(pos)
        dist = norm(away, 2.0, -1).contiguous()
        h, e = self.node_emb(z), self.edge_emb(dist)
        for nodes, bonds in zip(self.node_blocks, self.edge_blocks):
            h = nodes(h, e, edges).contiguous()
            e = bonds(h, e, edges).contiguous()
        return edges.graph.sum(self.force_predictor(e) * (away / dist.unsqueeze(-1)))


__all__ = ["GNNFF"]
