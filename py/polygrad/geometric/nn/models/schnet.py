"""Energies of molecules out of the positions of their atoms."""

from __future__ import annotations

import math
from typing import Any, Callable

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..._length import norm
from ..._rows import rows_of
from ..conv.message_passing import MessagePassing
from ..inits import glorot, zeros
from ..pool.points import radius_graph


class ShiftedSoftplus(nn.Module):
    """log(1 + e^x) - log 2: 0 at 0."""

    def forward(self, x: Tensor) -> Tensor:
        return x.softplus() - math.log(2.0)


class GaussianSmearing(nn.Module):
    """A distance as values of num_gaussians Gaussian curves from start to stop."""

    def __init__(self, start: float = 0.0, stop: float = 5.0, num_gaussians: int = 50):
        self.offset = Tensor.linspace(start, stop, num_gaussians).realize()
        self.offset.requires_grad = False
        self.coeff = -0.5 * ((num_gaussians - 1) / (stop - start)) ** 2

    def forward(self, dist: Tensor) -> Tensor:
        return (self.coeff * (dist.reshape(-1, 1) - self.offset.reshape(1, -1)).square()).exp()


class RadiusInteractionGraph(nn.Module):
    """Edges between atoms of the same molecule that are nearer than cutoff, and their lengths."""

    def __init__(self, cutoff: float = 10.0, max_num_neighbors: int = 32):
        self.cutoff, self.max_num_neighbors = cutoff, max_num_neighbors

    def forward(self, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        edge_index = radius_graph(pos, r=self.cutoff, batch=batch, max_num_neighbors=self.max_num_neighbors)
        graph = Graph(edge_index, num_nodes=pos.shape[0])
        return edge_index, norm(graph.src(pos) - graph.dst(pos), 2.0, -1)


class CFConv(MessagePassing):
    """x_i' = W_2 sum_j (W_1 x_j) * nn(edge_attr) * 0.5 (cos(d_ij pi / cutoff) + 1)"""

    def __init__(self, in_channels: int, out_channels: int, num_filters: int, nn: Any, cutoff: float):
        super().__init__(aggr="add")
        self.lin1 = _linear(in_channels, num_filters, bias=False)
        self.lin2 = _linear(num_filters, out_channels)
        self.nn, self.cutoff = nn, cutoff
        self.reset_parameters()

    def reset_parameters(self) -> None:
        glorot(self.lin1.weight)
        _reset(self.lin2)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor, edge_attr: Tensor) -> Tensor:
        near = 0.5 * ((edge_weight * (math.pi / self.cutoff)).cos() + 1.0)
        w = self.nn(edge_attr) * near.reshape(-1, 1)
        return self.lin2(self.propagate(edge_index, x=self.lin1(x), W=w))

    def message(self, x_j: Tensor, W: Tensor) -> Tensor:
        return x_j * W


class InteractionBlock(nn.Module):
    """CFConv, activation and a linear layer."""

    def __init__(self, hidden_channels: int, num_gaussians: int, num_filters: int, cutoff: float):
        self.mlp = nn.Sequential(nn.Linear(num_gaussians, num_filters), ShiftedSoftplus(), nn.Linear(num_filters, num_filters))
        self.conv = CFConv(hidden_channels, hidden_channels, num_filters, self.mlp, cutoff)
        self.act = ShiftedSoftplus()
        self.lin = nn.Linear(hidden_channels, hidden_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for lin in (self.mlp[0], self.mlp[2], self.lin):
            _reset(lin)
        self.conv.reset_parameters()

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor, edge_attr: Tensor) -> Tensor:
        return self.lin(self.act(self.conv(x, edge_index, edge_weight, edge_attr)))


def _linear(a: int, b: int, bias: bool = True) -> nn.Linear:
    return nn.Linear(a, b, bias)


def _reset(lin: nn.Linear) -> None:
    glorot(lin.weight)
    zeros(lin.bias)


class SchNet(nn.Module):
    """Continuous-filter convolutions over atoms (Schuett et al., 2017).

    h_i = Embedding(z_i);   h_i += Interaction(h, d_ij) several times;   out = readout over the atoms of each molecule of W_2 ssp(W_1 h_i)

    interaction_graph: (pos, batch) -> (edge_index, distances), by default all atoms nearer than cutoff. mean, std, atomref: added to each
    atom's value. dipole: the length of the dipole moment instead; needs the package ase for atomic masses.

    Shapes: z [N] of atomic numbers, pos [N, 3], batch [N]; out [G, 1].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SchNet
    >>> SchNet(hidden_channels=16, num_filters=16, num_interactions=1)(Tensor([6, 1, 1]), Tensor.rand(3, 3)).shape
    (1, 1)
    """

    def __init__(
        self, hidden_channels: int = 128, num_filters: int = 128, num_interactions: int = 6, num_gaussians: int = 50, cutoff: float = 10.0,
        interaction_graph: Callable[..., Any] | None = None, max_num_neighbors: int = 32, readout: str = "add", dipole: bool = False,
        mean: float | None = None, std: float | None = None, atomref: Tensor | None = None,
    ):  # fmt: skip
        from ..resolver import aggregation_resolver

        self.hidden_channels, self.num_filters, self.num_interactions = hidden_channels, num_filters, num_interactions
        self.num_gaussians, self.cutoff, self.dipole, self.mean, self.std = num_gaussians, cutoff, dipole, mean, std
        self.scale: float | None = None
        self.readout = aggregation_resolver("sum" if dipole else readout)
        if dipole:
            import ase.data  # type: ignore[import-untyped, import-not-found, unused-ignore]

            self.atomic_mass = Tensor(ase.data.atomic_masses.copy(), requires_grad=False)
        self.embedding = nn.Embedding(100, hidden_channels)
        self.interaction_graph = RadiusInteractionGraph(cutoff, max_num_neighbors) if interaction_graph is None else interaction_graph
        self.distance_expansion = GaussianSmearing(0.0, cutoff, num_gaussians)
        self.interactions = nn.ModuleList([InteractionBlock(hidden_channels, num_gaussians, num_filters, cutoff) for _ in range(num_interactions)])
        self.lin1 = nn.Linear(hidden_channels, hidden_channels // 2)
        self.act = ShiftedSoftplus()
        self.lin2 = nn.Linear(hidden_channels // 2, 1)
        self.initial_atomref = atomref
        self.atomref = None
        if atomref is not None:
            self.atomref = nn.Embedding(100, 1)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        weight = self.embedding.weight
        real = Tensor.arange(100).reshape(-1, 1) > 0  # z = 0 is padding: its row stays 0
        weight.assign(real.where(weight.randn_like(), 0.0))
        for block in self.interactions:
            block.reset_parameters()
        _reset(self.lin1)
        _reset(self.lin2)
        if self.atomref is not None and self.initial_atomref is not None:
            self.atomref.weight.assign(self.initial_atomref.cast(self.atomref.weight.dtype))

    def forward(self, z: Tensor, pos: Tensor, batch: Tensor | None = None) -> Tensor:
        """z: atomic numbers [N]; pos: [N, 3]; batch: the molecule of each atom. Gives [molecules, 1]."""
        if batch is None:
            batch = z.zeros_like()
            batch._count = 1
        rows = self.embedding(z)
        h = (z != 0).reshape(-1, 1).where(rows, rows.detach())  # the row of padding does not learn
        edge_index, edge_weight = self.interaction_graph(pos, batch)
        edge_attr = self.distance_expansion(edge_weight)
        for interaction in self.interactions:
            h = h + interaction(h, edge_index, edge_weight, edge_attr)
        h = self.lin2(self.act(self.lin1(h)))
        if self.dipole:
            molecules = rows_of(batch)
            mass = self.atomic_mass[z].reshape(-1, 1).cast(pos.dtype)
            center = molecules.reduce(mass * pos, "sum") / molecules.reduce(mass, "sum")
            h = h * (pos - molecules.spread(center))
        else:
            h = h * self.std + self.mean if self.mean is not None and self.std is not None else h
            h = h if self.atomref is None else h + self.atomref(z)
        out = self.readout(h, batch, dim=0)
        out = norm(out, 2.0, -1, True) if self.dipole else out
        return out if self.scale is None else self.scale * out

    def extra_repr(self) -> str:
        return (
            f"hidden_channels={self.hidden_channels}, num_filters={self.num_filters}, num_interactions={self.num_interactions}, "
            f"num_gaussians={self.num_gaussians}, cutoff={self.cutoff}"
        )


__all__ = ["SchNet"]
