"""Energies and forces of molecules out of scalars and vectors at their atoms: ViSNet (Wang et al., "Enhancing geometric representations for molecules
with equivariant vector-scalar interactive message passing", 2024)."""

from __future__ import annotations

import math
from typing import Any

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..._rows import rows_of
from ..conv._loops import graph_of
from ..conv.message_passing import MessagePassing
from ..inits import glorot, reset, zeros
from ..pool.points import radius_graph


def _drawn(*layers: Any) -> None:
    """Glorot weights and no bias."""
    for layer in layers:
        glorot(layer.weight)
        zeros(layer.bias)


def _length(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """The length of vectors, whose derivatives of any order are 0 for the vector of zeros."""
    square = x.square().sum(dim, keepdim=keepdim)
    some = square > 0
    return some.where(some.where(square, 1.0).sqrt(), 0.0)


class CosineCutoff(nn.Module):
    """0.5 (cos(pi d / cutoff) + 1) for distances d below the cutoff, and 0 beyond it."""

    def __init__(self, cutoff: float):
        self.cutoff = cutoff

    def forward(self, distances: Tensor) -> Tensor:
        near = 0.5 * ((distances * (math.pi / self.cutoff)).cos() + 1.0)
        return (distances < self.cutoff).where(near, 0.0)


class ExpNormalSmearing(nn.Module):
    """A distance d as num_rbf values CosineCutoff(d) exp(-beta (exp(-alpha d) - mean)^2), alpha = 5 / cutoff. [E] becomes [E, num_rbf]."""

    means: Tensor
    betas: Tensor

    def __init__(self, cutoff: float = 5.0, num_rbf: int = 128, trainable: bool = True):
        self.cutoff, self.num_rbf, self.trainable = cutoff, num_rbf, trainable
        self.cutoff_fn, self.alpha = CosineCutoff(cutoff), 5.0 / cutoff
        for name, value in zip(("means", "betas"), self._initial()):
            self.register_parameter(name, value.requires_grad_(True)) if trainable else self.register_buffer(name, value)

    def _initial(self) -> tuple[Tensor, Tensor]:
        start = math.exp(-self.cutoff)
        return Tensor.linspace(start, 1, self.num_rbf).realize(), Tensor.full((self.num_rbf,), (2 / self.num_rbf * (1 - start)) ** -2).realize()

    def reset_parameters(self) -> None:
        for mine, value in zip((self.means, self.betas), self._initial()):
            mine.assign(value).realize()

    def forward(self, dist: Tensor) -> Tensor:
        dist = dist.unsqueeze(-1)
        return self.cutoff_fn(dist) * (-self.betas * ((dist * -self.alpha).exp() - self.means).square()).exp()


class Sphere(nn.Module):
    """Real spherical harmonics of the degrees 1 to lmax of vectors [..., 3]: 3 values, or 8 with lmax 2."""

    def __init__(self, lmax: int = 2):
        self.lmax = lmax

    def forward(self, edge_vec: Tensor) -> Tensor:
        x, y, z = edge_vec[..., 0], edge_vec[..., 1], edge_vec[..., 2]
        if self.lmax == 1:
            return Tensor.stack(x, y, z, dim=-1)
        if self.lmax != 2:
            raise ValueError(f"'lmax' needs to be 1 or 2 (got {self.lmax})")
        r = math.sqrt(3.0)
        second = (r * x * z, r * x * y, y.square() - 0.5 * (x.square() + z.square()), r * y * z, r / 2.0 * (z.square() - x.square()))
        return Tensor.stack(x, y, z, *second, dim=-1)


class VecLayerNorm(nn.Module):
    """Weights for vector features [V, 3 or 8, F]. norm_type 'max_min' first maps the lengths of a node's vectors to 0 ... 1, degree by degree."""

    weight: Tensor

    def __init__(self, hidden_channels: int, trainable: bool, norm_type: str | None = "max_min"):
        self.hidden_channels, self.norm_type, self.eps = hidden_channels, norm_type, 1e-12
        weight = Tensor.ones(hidden_channels).realize()
        self.register_parameter("weight", weight.requires_grad_(True)) if trainable else self.register_buffer("weight", weight)

    def reset_parameters(self) -> None:
        self.weight.assign(Tensor.ones(self.hidden_channels)).realize()

    def max_min_norm(self, vec: Tensor) -> Tensor:
        dist = _length(vec, 1, keepdim=True)
        some = dist > self.eps
        direct = some.where(vec / some.where(dist, 1.0), 0.0)
        dist = dist.maximum(self.eps)
        top, low = dist.amax(-1, keepdim=True), dist.amin(-1, keepdim=True)
        delta = top - low
        return ((dist - low) / (delta == 0).where(1.0, delta)).relu() * direct

    def forward(self, vec: Tensor) -> Tensor:
        if vec.shape[1] not in (3, 8):
            raise ValueError(f"'{type(self).__name__}' only support 3 or 8 channels (got {vec.shape[1]})")
        if self.norm_type == "max_min":
            parts = [vec] if vec.shape[1] == 3 else [vec[:, :3], vec[:, 3:]]
            done = [self.max_min_norm(part) for part in parts]
            vec = done[0] if len(done) == 1 else done[0].cat(done[1], dim=1)
        return vec * self.weight


class Distance(nn.Module):
    """Pairs of atoms of a molecule that are nearer than the cutoff: (edge_index [2, E], distances [E], differences of positions [E, 3])."""

    def __init__(self, cutoff: float, max_num_neighbors: int = 32, add_self_loops: bool = True):
        self.cutoff, self.max_num_neighbors, self.add_self_loops = cutoff, max_num_neighbors, add_self_loops

    def forward(self, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        edge_index = radius_graph(pos, r=self.cutoff, batch=batch, loop=self.add_self_loops, max_num_neighbors=self.max_num_neighbors)
        graph = Graph(edge_index, num_nodes=pos.shape[0])
        edge_vec = graph.src(pos) - graph.dst(pos)
        return edge_index, _length(edge_vec, -1), edge_vec


class NeighborEmbedding(MessagePassing):
    """x_i' = W_c [x_i, sum over other atoms j of Embedding(z_j) * W_d edge_attr * CosineCutoff(d_ij)]"""

    def __init__(self, hidden_channels: int, num_rbf: int, cutoff: float, max_z: int = 100):
        super().__init__(aggr="add")
        self.embedding = nn.Embedding(max_z, hidden_channels)
        self.distance_proj = nn.Linear(num_rbf, hidden_channels)
        self.combine = nn.Linear(hidden_channels * 2, hidden_channels)
        self.cutoff = CosineCutoff(cutoff)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.embedding)
        _drawn(self.distance_proj, self.combine)

    def forward(self, z: Tensor, x: Tensor, edge_index: Any, edge_weight: Tensor, edge_attr: Tensor) -> Tensor:
        graph = graph_of(edge_index, x.shape[0])
        near = (graph.src_index == graph.dst_index).where(0.0, self.cutoff(edge_weight))
        w = self.distance_proj(edge_attr) * near.reshape(-1, 1)
        return self.combine(x.cat(self.propagate(edge_index, x=self.embedding(z), W=w), dim=1))

    def message(self, x_j: Tensor, W: Tensor) -> Tensor:
        return x_j * W


class EdgeEmbedding(nn.Module):
    """f_ij = (x_i + x_j) * W edge_attr"""

    def __init__(self, num_rbf: int, hidden_channels: int):
        self.edge_proj = nn.Linear(num_rbf, hidden_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _drawn(self.edge_proj)

    def forward(self, edge_index: Any, edge_attr: Tensor, x: Tensor) -> Tensor:
        graph = graph_of(edge_index, x.shape[0])
        return (graph.dst(x) + graph.src(x)) * self.edge_proj(edge_attr)


class ViS_MP(MessagePassing):
    """One layer of ViSNet: (dx, dvec, df) from scalars x [V, F], vectors vec [V, 3 or 8, F], and of each edge its length r_ij, features f_ij [E, F]
    and direction d_ij [E, 3 or 8].

    m_ij = v_j * dv_ij * silu(sum over the head of q_i k_j dk_ij) cutoff(r_ij);   [s1, s2] = silu(W_s m_ij)
    vec_i' = sum_j vec_j s1 + d_ij s2;   [o1, o2, o3] = W_o sum_j m_ij;   dx = <vec1, vec2> o2 + o3;   dvec = vec3 o1 + vec_i'
    df_ij = silu(W_f f_ij) <Rej(W_t vec_i, d_ij), Rej(W_s vec_j, -d_ij)>, where Rej leaves out the part along the edge; not in the last layer.
    """

    def __init__(
        self, num_heads: int, hidden_channels: int, cutoff: float, vecnorm_type: str | None, trainable_vecnorm: bool, last_layer: bool = False
    ):
        super().__init__(aggr="add", node_dim=0)
        if hidden_channels % num_heads:
            raise ValueError(
                f"The number of hidden channels (got {hidden_channels}) must be evenly divisible by the number of attention heads (got {num_heads})"
            )
        h = hidden_channels
        self.num_heads, self.hidden_channels, self.head_dim, self.last_layer = num_heads, h, h // num_heads, last_layer
        self.layernorm = nn.LayerNorm(h)
        self.vec_layernorm = VecLayerNorm(h, trainable_vecnorm, vecnorm_type)
        self.act, self.attn_activation, self.cutoff = nn.SiLU(), nn.SiLU(), CosineCutoff(cutoff)
        self.vec_proj = nn.Linear(h, h * 3, bias=False)
        self.q_proj, self.k_proj, self.v_proj, self.dk_proj, self.dv_proj = (nn.Linear(h, h) for _ in range(5))
        self.s_proj = nn.Linear(h, h * 2)
        if not last_layer:
            self.f_proj = nn.Linear(h, h)
            self.w_src_proj, self.w_trg_proj = nn.Linear(h, h, bias=False), nn.Linear(h, h, bias=False)
        self.o_proj = nn.Linear(h, h * 3)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.layernorm.reset_parameters()
        self.vec_layernorm.reset_parameters()
        _drawn(self.q_proj, self.k_proj, self.v_proj, self.dk_proj, self.dv_proj, self.s_proj, self.o_proj, self.vec_proj)
        if not self.last_layer:
            _drawn(self.f_proj, self.w_src_proj, self.w_trg_proj)

    @staticmethod
    def vector_rejection(vec: Tensor, d_ij: Tensor) -> Tensor:
        """What is left of vectors without their parts along d_ij."""
        d = d_ij.unsqueeze(2)
        return vec - (vec * d).sum(1, keepdim=True) * d

    def forward(self, x: Tensor, vec: Tensor, edge_index: Any, r_ij: Tensor, f_ij: Tensor, d_ij: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        h, heads = self.hidden_channels, (-1, self.num_heads, self.head_dim)
        x, vec = self.layernorm(x), self.vec_layernorm(vec)
        q, k, v = (p(x).reshape(heads) for p in (self.q_proj, self.k_proj, self.v_proj))
        dk, dv = (self.act(p(f_ij)).reshape(heads) for p in (self.dk_proj, self.dv_proj))
        vec1, vec2, vec3 = self.vec_proj(vec).split(h, dim=-1)
        x, vec_out = self.propagate(edge_index, q=q, k=k, v=v, dk=dk, dv=dv, vec=vec, r_ij=r_ij, d_ij=d_ij)
        o1, o2, o3 = self.o_proj(x).split(h, dim=1)
        dx, dvec = (vec1 * vec2).sum(1) * o2 + o3, vec3 * o1.unsqueeze(1) + vec_out
        return dx, dvec, None if self.last_layer else self.edge_updater(edge_index, vec=vec, d_ij=d_ij, f_ij=f_ij)

    def message(  # type: ignore[override]
        self, q_i: Tensor, k_j: Tensor, v_j: Tensor, vec_j: Tensor, dk: Tensor, dv: Tensor, r_ij: Tensor, d_ij: Tensor
    ) -> tuple[Tensor, Tensor]:
        attn = self.attn_activation((q_i * k_j * dk).sum(-1)) * self.cutoff(r_ij).unsqueeze(1)
        v_j = (v_j * dv * attn.unsqueeze(2)).reshape(-1, self.hidden_channels)
        s1, s2 = self.act(self.s_proj(v_j)).split(self.hidden_channels, dim=1)
        return v_j, vec_j * s1.unsqueeze(1) + s2.unsqueeze(1) * d_ij.unsqueeze(2)

    def _bend(self, target: Any, source: Any, vec_i: Tensor, vec_j: Tensor, d_ij: Tensor) -> Tensor:
        return (self.vector_rejection(target(vec_i), d_ij) * self.vector_rejection(source(vec_j), -d_ij)).sum(1)

    def edge_update(self, vec_i: Tensor, vec_j: Tensor, d_ij: Tensor, f_ij: Tensor) -> Tensor:  # type: ignore[override]
        return self.act(self.f_proj(f_ij)) * self._bend(self.w_trg_proj, self.w_src_proj, vec_i, vec_j, d_ij)

    def aggregate(self, features: tuple[Tensor, Tensor], index: Tensor, dim_size: Any) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        rows = rows_of(index, dim_size, None)
        return rows.reduce(features[0], "sum"), rows.reduce(features[1], "sum")


class ViS_MP_Vertex(ViS_MP):
    """ViS_MP in which the edges also see the angles at their receiver: df_ij gains silu(W_f2 f_ij) <Rej(T_t vec_i, d_ij), Rej(T_s vec_i, -d_ij)>."""

    def __init__(
        self, num_heads: int, hidden_channels: int, cutoff: float, vecnorm_type: str | None, trainable_vecnorm: bool, last_layer: bool = False
    ):
        super().__init__(num_heads, hidden_channels, cutoff, vecnorm_type, trainable_vecnorm, last_layer)
        if not last_layer:
            h = hidden_channels
            self.f_proj = nn.Linear(h, h * 2)
            self.t_src_proj, self.t_trg_proj = nn.Linear(h, h, bias=False), nn.Linear(h, h, bias=False)
            self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if hasattr(self, "t_src_proj"):
            _drawn(self.t_src_proj, self.t_trg_proj)

    def edge_update(self, vec_i: Tensor, vec_j: Tensor, d_ij: Tensor, f_ij: Tensor) -> Tensor:  # type: ignore[override]
        f1, f2 = self.act(self.f_proj(f_ij)).split(self.hidden_channels, dim=-1)
        own = self._bend(self.t_trg_proj, self.t_src_proj, vec_i, vec_i, d_ij)
        return f1 * self._bend(self.w_trg_proj, self.w_src_proj, vec_i, vec_j, d_ij) + f2 * own


class ViSNetBlock(nn.Module):
    """Scalars [V, F] and vectors [V, 3 or 8, F] of atoms, from their numbers and positions. Arguments as in ViSNet."""

    def __init__(
        self, lmax: int = 1, vecnorm_type: str | None = None, trainable_vecnorm: bool = False, num_heads: int = 8, num_layers: int = 6,
        hidden_channels: int = 128, num_rbf: int = 32, trainable_rbf: bool = False, max_z: int = 100, cutoff: float = 5.0,
        max_num_neighbors: int = 32, vertex: bool = False,
    ):  # fmt: skip
        self.lmax, self.vecnorm_type, self.trainable_vecnorm, self.num_heads = lmax, vecnorm_type, trainable_vecnorm, num_heads
        self.num_layers, self.hidden_channels, self.num_rbf, self.trainable_rbf = num_layers, hidden_channels, num_rbf, trainable_rbf
        self.max_z, self.cutoff, self.max_num_neighbors = max_z, cutoff, max_num_neighbors
        self.embedding = nn.Embedding(max_z, hidden_channels)
        self.distance = Distance(cutoff, max_num_neighbors=max_num_neighbors)
        self.sphere = Sphere(lmax=lmax)
        self.distance_expansion = ExpNormalSmearing(cutoff, num_rbf, trainable_rbf)
        self.neighbor_embedding = NeighborEmbedding(hidden_channels, num_rbf, cutoff, max_z)
        self.edge_embedding = EdgeEmbedding(num_rbf, hidden_channels)
        kind = ViS_MP_Vertex if vertex else ViS_MP
        self.vis_mp_layers = nn.ModuleList(
            [kind(num_heads, hidden_channels, cutoff, vecnorm_type, trainable_vecnorm, k == num_layers - 1) for k in range(num_layers)]
        )
        self.out_norm = nn.LayerNorm(hidden_channels)
        self.vec_out_norm = VecLayerNorm(hidden_channels, trainable_vecnorm, vecnorm_type)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.embedding, self.distance_expansion, self.neighbor_embedding, self.edge_embedding, *self.vis_mp_layers, self.out_norm):
            reset(part)
        self.vec_out_norm.reset_parameters()

    def forward(self, z: Tensor, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embedding(z)
        edge_index, edge_weight, edge_vec = self.distance(pos, batch)
        graph = Graph(edge_index, num_nodes=pos.shape[0])
        edge_attr = self.distance_expansion(edge_weight)
        loop = graph.src_index == graph.dst_index
        edge_vec = self.sphere(edge_vec / loop.where(1.0, edge_weight).unsqueeze(1))
        x = self.neighbor_embedding(z, x, graph, edge_weight, edge_attr)
        vec = Tensor.zeros(x.shape[0], (self.lmax + 1) ** 2 - 1, x.shape[1], dtype=x.dtype)
        edge_attr = self.edge_embedding(graph, edge_attr, x)
        for layer in self.vis_mp_layers:
            dx, dvec, df = layer(x, vec, graph, edge_weight, edge_attr, edge_vec)
            x, vec = x + dx, vec + dvec
            edge_attr = edge_attr if df is None else edge_attr + df
        return self.out_norm(x), self.vec_out_norm(vec)


class GatedEquivariantBlock(nn.Module):
    """Scalars and vectors to others of out_channels: [x', g] = MLP[x, |W_1 v|], v' = g * W_2 v."""

    def __init__(self, hidden_channels: int, out_channels: int, intermediate_channels: int | None = None, scalar_activation: bool = False):
        self.out_channels = out_channels
        middle = hidden_channels if intermediate_channels is None else intermediate_channels
        self.vec1_proj = nn.Linear(hidden_channels, hidden_channels, bias=False)
        self.vec2_proj = nn.Linear(hidden_channels, out_channels, bias=False)
        self.update_net = nn.Sequential(nn.Linear(hidden_channels * 2, middle), nn.SiLU(), nn.Linear(middle, out_channels * 2))
        self.act = nn.SiLU() if scalar_activation else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        _drawn(self.vec1_proj, self.vec2_proj, self.update_net[0], self.update_net[2])

    def forward(self, x: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        mixed = self.update_net(x.cat(_length(self.vec1_proj(v), -2), dim=-1))
        x, gate = mixed.split(self.out_channels, dim=-1)
        return (x if self.act is None else self.act(x)), gate.unsqueeze(1) * self.vec2_proj(v)


class EquivariantScalar(nn.Module):
    """One value of each atom out of its scalars and vectors."""

    def __init__(self, hidden_channels: int):
        half = hidden_channels // 2
        self.output_network = nn.ModuleList([GatedEquivariantBlock(hidden_channels, half, scalar_activation=True), GatedEquivariantBlock(half, 1)])

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for layer in self.output_network:
            layer.reset_parameters()

    def pre_reduce(self, x: Tensor, v: Tensor) -> Tensor:
        """[V, F] and [V, 3 or 8, F] to [V, 1]."""
        for layer in self.output_network:
            x, v = layer(x, v)
        return x


class Atomref(nn.Module):
    """Adds a value of each atom's element, which is learned; its first values are atomref [Z] or [Z, 1], or 0."""

    initial_atomref: Tensor

    def __init__(self, atomref: Tensor | None = None, max_z: int = 100):
        first = Tensor.zeros(max_z, 1).realize() if atomref is None else atomref if isinstance(atomref, Tensor) else Tensor(atomref)
        first = first.reshape(-1, 1) if first.ndim == 1 else first
        self.register_buffer("initial_atomref", first)
        self.atomref = nn.Embedding(int(first.shape[0]), 1)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.atomref.weight.assign(self.initial_atomref).realize()

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        return x + self.atomref(z)


class ViSNet(nn.Module):
    """A value of each molecule, and the forces on its atoms, out of scalars and vectors that atoms send to each other.

    x_i = Embedding(z_i), vec_i = 0, f_ij = (x_i + x_j) * W rbf(d_ij);  layers (see ViS_MP) add dx, dvec and df;  out = readout over atoms of
    std * EquivariantScalar(x, vec) + atomref(z), + mean

    lmax: 1 or 2, the highest degree of the spherical harmonics. vecnorm_type: None or 'max_min'. vertex: edges also see the angles at their receiver.
    cutoff, max_num_neighbors: which atoms see each other. reduce_op: 'sum' or 'mean' over atoms. derivative: also gives the forces.

    Shapes: z [V], pos [V, 3], batch [V]; out (y [molecules, 1], None or the negative derivative of y by pos [V, 3]).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ViSNet
    >>> model = ViSNet(num_heads=2, num_layers=1, hidden_channels=8, num_rbf=4, derivative=True)
    >>> y, force = model(Tensor([6, 1, 1]), Tensor.rand(3, 3), Tensor([0, 0, 0]))
    >>> y.shape, force.shape
    ((1, 1), (3, 3))
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, lmax: int = 1, vecnorm_type: str | None = None, trainable_vecnorm: bool = False, num_heads: int = 8, num_layers: int = 6,
        hidden_channels: int = 128, num_rbf: int = 32, trainable_rbf: bool = False, max_z: int = 100, cutoff: float = 5.0,
        max_num_neighbors: int = 32, vertex: bool = False, atomref: Tensor | None = None, reduce_op: str = "sum", mean: float = 0.0, std: float = 1.0,
        derivative: bool = False,
    ):  # fmt: skip
        self.representation_model = ViSNetBlock(
            lmax,
            vecnorm_type,
            trainable_vecnorm,
            num_heads,
            num_layers,
            hidden_channels,
            num_rbf,
            trainable_rbf,
            max_z,
            cutoff,
            max_num_neighbors,
            vertex,
        )
        self.output_model = EquivariantScalar(hidden_channels=hidden_channels)
        self.prior_model = Atomref(atomref=atomref, max_z=max_z)
        self.reduce_op, self.derivative = reduce_op, derivative
        self.register_buffer("mean", Tensor(float(mean)))
        self.register_buffer("std", Tensor(float(std)))

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.representation_model, self.output_model, self.prior_model):
            part.reset_parameters()

    def forward(self, z: Tensor, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor | None]:
        x, v = self.representation_model(z, pos, batch)
        x = self.prior_model(self.output_model.pre_reduce(x, v) * self.std, z)
        y = rows_of(batch, None, None).reduce(x, self.reduce_op) + self.mean
        return y, -y.sum().gradient(pos)[0] if self.derivative else None


__all__ = [
    "Atomref", "CosineCutoff", "Distance", "EdgeEmbedding", "EquivariantScalar", "ExpNormalSmearing", "GatedEquivariantBlock", "NeighborEmbedding",
    "Sphere", "VecLayerNorm", "ViSNet", "ViSNetBlock", "ViS_MP", "ViS_MP_Vertex",
]  # fmt: skip
