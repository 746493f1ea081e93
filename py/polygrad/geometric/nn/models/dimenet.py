"""DimeNet and DimeNet++: messages between the bonds of a molecule that see the angles between them."""

from __future__ import annotations

import math
from typing import Any

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..._length import norm
from ..._rows import rows_of
from ..inits import glorot_orthogonal, reset, zeros
from ..pool.points import radius_graph
from ..resolver import activation_resolver
from ._bessel import bessel, legendre, scales
from ._bessel import zeros as bessel_zeros
from ._dimenet_pretrained import from_qm9_pretrained
from ._triplets import Triplets, triplets


def _orthogonal(*layers: nn.Linear) -> None:
    for lin in layers:
        glorot_orthogonal(lin.weight, scale=2.0)
        zeros(lin.bias)


class Envelope(nn.Module):
    """u(x) = 1/x + a x^(p-1) + b x^p + c x^(p+1), which reaches 0 at x = 1 with two derivatives, and 0 beyond."""

    def __init__(self, exponent: int):
        self.p = exponent + 1
        self.a, self.b, self.c = -(self.p + 1) * (self.p + 2) / 2, self.p * (self.p + 2), -self.p * (self.p + 1) / 2

    def forward(self, x: Tensor) -> Tensor:
        first = x ** (self.p - 1)
        return (x < 1.0).where(x.reciprocal() + first * (self.a + x * (self.b + x * self.c)), 0.0)


class BesselBasisLayer(nn.Module):
    """u(d) sin(f_k d) of a distance d, in units of the cutoff, with learned frequencies that begin as k pi."""

    def __init__(self, num_radial: int, cutoff: float = 5.0, envelope_exponent: int = 5):
        self.cutoff, self.envelope = cutoff, Envelope(envelope_exponent)
        self.freq = Tensor.zeros(num_radial, requires_grad=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.freq.assign((Tensor.arange(1, self.freq.shape[0] + 1) * math.pi).cast(self.freq.dtype))

    def forward(self, dist: Tensor) -> Tensor:
        d = dist.unsqueeze(-1) / self.cutoff
        return self.envelope(d) * (self.freq * d).sin()


class SphericalBasisLayer(nn.Module):
    """u(d_kj) j_l(z_lk d_kj) Y_l0(angle), by its two factors: one belongs to the edge k -> j, the other to the triplet."""

    def __init__(self, num_spherical: int, num_radial: int, cutoff: float = 5.0, envelope_exponent: int = 5):
        if num_radial > 64:
            raise ValueError(f"num_radial must be at most 64, not {num_radial}")
        self.num_spherical, self.num_radial, self.cutoff, self.envelope = num_spherical, num_radial, cutoff, Envelope(envelope_exponent)

    def radial(self, dist: Tensor) -> Tensor:
        """[E, num_spherical, num_radial]"""
        d = dist.unsqueeze(-1) / self.cutoff
        z, scale = bessel_zeros(self.num_spherical, self.num_radial), scales(self.num_spherical, self.num_radial)
        out = [Tensor(scale[n], dtype=d.dtype) * bessel(n, d * Tensor(z[n], dtype=d.dtype)) for n in range(self.num_spherical)]
        return self.envelope(d).unsqueeze(-1) * Tensor.stack(*out, dim=1)

    def angular(self, cosine: Tensor) -> Tensor:
        """[T, num_spherical]"""
        return Tensor.stack(*legendre(self.num_spherical, cosine), dim=1)


class Bases:
    """What all blocks read: the bases of a batch of molecules, and its triplets."""

    def __init__(self, model: Any, pos: Tensor, edges: Triplets, between: bool):
        vec = edges.vectors(pos)
        dist = norm(vec, 2.0, -1).contiguous()
        kj, ji = edges.pairs.src(vec), edges.pairs.dst(vec)
        other = kj if between else kj + ji  # p_k - p_j, or p_k - p_i
        cosine = (ji * other).sum(-1) / (norm(ji, 2.0, -1) * norm(other, 2.0, -1)).maximum(1e-12)
        self.graph, self.pairs = edges.graph, edges.pairs
        self.rbf, self.radial, self.angular = model.rbf(dist).contiguous(), model.sbf.radial(dist).contiguous(), model.sbf.angular(cosine)

    def spherical(self, weight: Tensor) -> Tensor:
        """W sbf of each triplet, [T, B], for W [B, num_spherical * num_radial]: the radial factors are summed once per edge."""
        w = weight.reshape(weight.shape[0], *self.radial.shape[1:])
        of_edge = (self.radial.unsqueeze(1) * w).sum(-1).contiguous()  # [E, B, num_spherical]
        return (self.pairs.src(of_edge) * self.angular.unsqueeze(1)).sum(-1)

    def gather(self, x: Tensor, by: Tensor) -> Tensor:
        """sum over the triplets of an edge of by[b] x_kj[f]: [E, B, F]."""
        return self.pairs.sum(by.unsqueeze(-1) * self.pairs.src(x).unsqueeze(1))


class EmbeddingBlock(nn.Module):
    """First messages, act(W [e_i, e_j, act(W_r rbf)]), of the embeddings of both atoms and their distance."""

    def __init__(self, num_radial: int, hidden_channels: int, act: Any):
        self.act = act
        self.emb = nn.Embedding(95, hidden_channels)
        self.lin_rbf = nn.Linear(num_radial, hidden_channels)
        self.lin = nn.Linear(3 * hidden_channels, hidden_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound, weight = math.sqrt(3), self.emb.weight
        weight.assign(Tensor.uniform(*weight.shape, low=-bound, high=bound).cast(weight.dtype))
        reset(self.lin_rbf)
        reset(self.lin)

    def forward(self, z: Tensor, rbf: Tensor, graph: Graph) -> Tensor:
        x = self.emb(z)
        of_i, of_j, of_edge = self.lin.weight.chunk(3, 1)
        out = graph.dst(x @ of_i.transpose(0, 1)) + graph.src(x @ of_j.transpose(0, 1))
        return self.act(out + self.act(self.lin_rbf(rbf)) @ of_edge.transpose(0, 1) + self.lin.bias)


class ResidualLayer(nn.Module):
    """x + act(W_2 act(W_1 x))"""

    def __init__(self, hidden_channels: int, act: Any):
        self.act = act
        self.lin1, self.lin2 = nn.Linear(hidden_channels, hidden_channels), nn.Linear(hidden_channels, hidden_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _orthogonal(self.lin1, self.lin2)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.act(self.lin2(self.act(self.lin1(x))))


class _Interaction(nn.Module):
    """The part that the interactions of both models share: what an edge gets, added to its own message, through residual layers."""

    lin: nn.Linear
    lin_ji: nn.Linear

    def _residual(self, hidden_channels: int, before: int, after: int, act: Any) -> None:
        self.layers_before_skip = nn.ModuleList([ResidualLayer(hidden_channels, act) for _ in range(before)])
        self.lin = nn.Linear(hidden_channels, hidden_channels)
        self.layers_after_skip = nn.ModuleList([ResidualLayer(hidden_channels, act) for _ in range(after)])

    def _reset(self) -> None:
        for layer in (*self.layers_before_skip, *self.layers_after_skip):
            layer.reset_parameters()
        _orthogonal(self.lin)

    def _update(self, x: Tensor, got: Tensor, act: Any) -> Tensor:
        h = act(self.lin_ji(x)) + got
        for layer in self.layers_before_skip:
            h = layer(h)
        h = act(self.lin(h)) + x
        for layer in self.layers_after_skip:
            h = layer(h)
        return h


class InteractionBlock(_Interaction):
    """What an edge j -> i gets of the edges k -> j: sum_k W (sbf, x_kj * rbf), W being bilinear."""

    def __init__(
        self, hidden_channels: int, num_bilinear: int, num_spherical: int, num_radial: int, num_before_skip: int, num_after_skip: int, act: Any
    ):
        self.act = act
        self.lin_rbf = nn.Linear(num_radial, hidden_channels, bias=False)
        self.lin_sbf = nn.Linear(num_spherical * num_radial, num_bilinear, bias=False)
        self.lin_kj, self.lin_ji = nn.Linear(hidden_channels, hidden_channels), nn.Linear(hidden_channels, hidden_channels)
        self.W = Tensor.zeros(hidden_channels, num_bilinear, hidden_channels, requires_grad=True)
        self._residual(hidden_channels, num_before_skip, num_after_skip, act)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _orthogonal(self.lin_rbf, self.lin_sbf, self.lin_kj, self.lin_ji)
        self.W.assign(Tensor.normal(*self.W.shape, mean=0.0, std=2 / self.W.shape[0]).cast(self.W.dtype))
        self._reset()

    def forward(self, x: Tensor, bases: Bases) -> Tensor:
        x_kj = (self.act(self.lin_kj(x)) * self.lin_rbf(bases.rbf)).contiguous()
        # Triplets are summed before W: it is applied to edges, of which there are fewer.
        got = bases.gather(x_kj, bases.spherical(self.lin_sbf.weight)).flatten(1) @ self.W.flatten(1).transpose(0, 1)
        return self._update(x, got, self.act)


class InteractionPPBlock(_Interaction):
    """What an edge j -> i gets of the edges k -> j: W_up sum_k (W_2 W_1 sbf) * act(W_down (x_kj * rbf))."""

    def __init__(
        self, hidden_channels: int, int_emb_size: int, basis_emb_size: int, num_spherical: int, num_radial: int, num_before_skip: int,
        num_after_skip: int, act: Any,
    ):  # fmt: skip
        self.act = act
        self.lin_rbf1 = nn.Linear(num_radial, basis_emb_size, bias=False)
        self.lin_rbf2 = nn.Linear(basis_emb_size, hidden_channels, bias=False)
        self.lin_sbf1 = nn.Linear(num_spherical * num_radial, basis_emb_size, bias=False)
        self.lin_sbf2 = nn.Linear(basis_emb_size, int_emb_size, bias=False)
        self.lin_kj, self.lin_ji = nn.Linear(hidden_channels, hidden_channels), nn.Linear(hidden_channels, hidden_channels)
        self.lin_down = nn.Linear(hidden_channels, int_emb_size, bias=False)
        self.lin_up = nn.Linear(int_emb_size, hidden_channels, bias=False)
        self._residual(hidden_channels, num_before_skip, num_after_skip, act)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _orthogonal(self.lin_rbf1, self.lin_rbf2, self.lin_sbf1, self.lin_sbf2, self.lin_kj, self.lin_ji, self.lin_down, self.lin_up)
        self._reset()

    def forward(self, x: Tensor, bases: Bases) -> Tensor:
        x_kj = self.act(self.lin_kj(x)) * self.lin_rbf2(self.lin_rbf1(bases.rbf))
        x_kj = self.act(self.lin_down(x_kj)).contiguous()
        each = bases.gather(x_kj, bases.spherical(self.lin_sbf1.weight))  # [E, basis_emb_size, int_emb_size]
        got = (each * self.lin_sbf2.weight.transpose(0, 1)).sum(1)
        return self._update(x, self.act(self.lin_up(got)), self.act)


class OutputBlock(nn.Module):
    """What the atoms make of the messages into them: W act(W_n ... act(W_1 sum_j rbf * x_ji))."""

    def __init__(
        self, num_radial: int, hidden_channels: int, out_channels: int, num_layers: int, act: Any, output_initializer: str = "zeros",
        out_emb_channels: int | None = None,
    ):  # fmt: skip
        if output_initializer not in ("zeros", "glorot_orthogonal"):
            raise ValueError(f"output_initializer must be 'zeros' or 'glorot_orthogonal', not {output_initializer!r}")
        self.act, self.output_initializer = act, output_initializer
        wide = hidden_channels if out_emb_channels is None else out_emb_channels
        self.lin_rbf = nn.Linear(num_radial, hidden_channels, bias=False)
        self.lin_up = None if out_emb_channels is None else nn.Linear(hidden_channels, wide, bias=False)
        self.lins = nn.ModuleList([nn.Linear(wide, wide) for _ in range(num_layers)])
        self.lin = nn.Linear(wide, out_channels, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _orthogonal(self.lin_rbf, *self.lins, *([] if self.lin_up is None else [self.lin_up]))
        if self.output_initializer == "zeros":
            zeros(self.lin.weight)
        else:
            _orthogonal(self.lin)

    def forward(self, x: Tensor, rbf: Tensor, graph: Graph) -> Tensor:
        x = graph.sum(self.lin_rbf(rbf) * x)
        x = x if self.lin_up is None else self.lin_up(x)
        for lin in self.lins:
            x = self.act(lin(x))
        return self.lin(x)


class DimeNet(nn.Module):
    r"""Directional message passing (Gasteiger et al., "Directional message passing for molecular graphs", 2020).

    Messages belong to bonds: m_ji += f(m_ji, sum over k of W(sbf(d_kj, angle kji), m_kj)), with distances in sines under an envelope (rbf), and
    distances with angles in spherical Bessel functions and harmonics (sbf). After the first messages and after each block, atoms sum what
    reaches them; out is the sum of that over the atoms of a molecule.

    hidden_channels: size of a message. out_channels: size of the output. num_blocks: number of interactions. num_bilinear: size of sbf in them.
    num_spherical, num_radial: number of harmonics and of radial functions. cutoff: bonds are pairs of atoms that are nearer, at most
    max_num_neighbors of an atom. envelope_exponent: shape of the envelope. num_before_skip, num_after_skip, num_output_layers: layers of the
    blocks. act: the activation. output_initializer: 'zeros' or 'glorot_orthogonal', for the last map of the output blocks.

    Shapes: z [N], atomic numbers below 95; pos [N, 3]; batch [N]; out [molecules, out_channels], or [out_channels] without batch.
    Gradients by pos are forces; they can be differentiated again.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DimeNet
    >>> model = DimeNet(16, 1, num_blocks=1, num_bilinear=2, num_spherical=3, num_radial=2)
    >>> model(Tensor([6, 1, 1]), Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.1, 0.0]])).shape
    (1,)
    """

    url = "https://github.com/klicperajo/dimenet/raw/master/pretrained/dimenet"
    _folder, _published = "pretrained_dimenet", {
        "hidden_channels": 128, "out_channels": 1, "num_blocks": 6, "num_bilinear": 8, "num_spherical": 7, "num_radial": 6,
    }  # fmt: skip
    _between = False  # angles are those at i between j and k

    def __init__(
        self, hidden_channels: int, out_channels: int, num_blocks: int, num_bilinear: int, num_spherical: int, num_radial: int,
        cutoff: float = 5.0, max_num_neighbors: int = 32, envelope_exponent: int = 5, num_before_skip: int = 1, num_after_skip: int = 2,
        num_output_layers: int = 3, act: Any = "swish", output_initializer: str = "zeros",
    ):  # fmt: skip
        act = self._shared(num_spherical, num_radial, hidden_channels, cutoff, envelope_exponent, max_num_neighbors, num_blocks, act)
        self.output_blocks = nn.ModuleList(
            [OutputBlock(num_radial, hidden_channels, out_channels, num_output_layers, act, output_initializer) for _ in range(num_blocks + 1)]
        )
        self.interaction_blocks = nn.ModuleList(
            [
                InteractionBlock(hidden_channels, num_bilinear, num_spherical, num_radial, num_before_skip, num_after_skip, act)
                for _ in range(num_blocks)
            ]
        )

    def _shared(
        self, num_spherical: int, num_radial: int, hidden_channels: int, cutoff: float, exponent: int, most: int, num_blocks: int, act: Any
    ) -> Any:
        """What both models have; gives the activation."""
        if num_spherical < 2:
            raise ValueError(f"'num_spherical' should be greater than 1, not {num_spherical}")
        act = activation_resolver(act)
        self.cutoff, self.max_num_neighbors, self.num_blocks = cutoff, most, num_blocks
        self.rbf = BesselBasisLayer(num_radial, cutoff, exponent)
        self.sbf = SphericalBasisLayer(num_spherical, num_radial, cutoff, exponent)
        self.emb = EmbeddingBlock(num_radial, hidden_channels, act)
        return act

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.rbf, self.emb, *self.output_blocks, *self.interaction_blocks):
            part.reset_parameters()

    from_qm9_pretrained = classmethod(from_qm9_pretrained)

    def forward(self, z: Tensor, pos: Tensor, batch: Tensor | None = None) -> Tensor:
        edge_index = radius_graph(pos, r=self.cutoff, batch=batch, max_num_neighbors=self.max_num_neighbors)
        bases = Bases(self, pos, Triplets(edge_index, int(z.shape[0])), self._between)
        x = self.emb(z, bases.rbf, bases.graph).contiguous()
        out = self.output_blocks[0](x, bases.rbf, bases.graph)
        for interaction, output in zip(self.interaction_blocks, list(self.output_blocks)[1:]):
            x = interaction(x, bases).contiguous()
            out = out + output(x, bases.rbf, bases.graph)
        return out.sum(0) if batch is None else rows_of(batch).reduce(out, "sum")


class DimeNetPlusPlus(DimeNet):
    r"""DimeNet++, a faster DimeNet (Gasteiger et al., "Fast and uncertainty-aware directional message passing", 2020).

    As DimeNet, but messages meet the angles elementwise and in fewer features, and angles are those at j between k and i.

    int_emb_size: features in which triplets interact. basis_emb_size: size of rbf and sbf there. out_emb_channels: features of the atoms in the
    output blocks. The others as in DimeNet, and so are the shapes.

    Shapes: z [N] of atomic numbers, pos [N, 3], batch [N]; out [G, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DimeNetPlusPlus
    >>> model = DimeNetPlusPlus(16, 1, 1, int_emb_size=8, basis_emb_size=4, out_emb_channels=16, num_spherical=3, num_radial=2)
    >>> model(Tensor([6, 1, 1]), Tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.1, 0.0]]), Tensor([0, 0, 0])).shape
    (1, 1)
    """

    url = "https://raw.githubusercontent.com/gasteigerjo/dimenet/master/pretrained/dimenet_pp"
    _folder, _published = "pretrained_dimenet_pp", {
        "hidden_channels": 128, "out_channels": 1, "num_blocks": 4, "int_emb_size": 64, "basis_emb_size": 8, "out_emb_channels": 256,
        "num_spherical": 7, "num_radial": 6,
    }  # fmt: skip
    _between = True

    def __init__(
        self, hidden_channels: int, out_channels: int, num_blocks: int, int_emb_size: int, basis_emb_size: int, out_emb_channels: int,
        num_spherical: int, num_radial: int, cutoff: float = 5.0, max_num_neighbors: int = 32, envelope_exponent: int = 5,
        num_before_skip: int = 1, num_after_skip: int = 2, num_output_layers: int = 3, act: Any = "swish", output_initializer: str = "zeros",
    ):  # fmt: skip
        act = self._shared(num_spherical, num_radial, hidden_channels, cutoff, envelope_exponent, max_num_neighbors, num_blocks, act)
        self.output_blocks = nn.ModuleList(
            [
                OutputBlock(num_radial, hidden_channels, out_channels, num_output_layers, act, output_initializer, out_emb_channels)
                for _ in range(num_blocks + 1)
            ]
        )
        self.interaction_blocks = nn.ModuleList(
            [
                InteractionPPBlock(
                    hidden_channels, int_emb_size, basis_emb_size, num_spherical, num_radial, num_before_skip, num_after_skip, act
                )
                for _ in range(num_blocks)
            ]
        )  # fmt: skip


__all__ = ["DimeNet", "DimeNetPlusPlus", "triplets"]
