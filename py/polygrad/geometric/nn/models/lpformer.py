"""Links predicted from the nodes around them: LPFormer (Shomer et al., "LPFormer: an adaptive graph transformer for link prediction", KDD 2024)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ...data.collate import gather
from ...sampler._draw import draw_seed
from ...sparse_tensor import SparseTensor
from ...utils import get_ppr, scatter, softmax
from ..conv.message_passing import MessagePassing
from ..dense.linear import Linear
from ..inits import glorot, zeros
from .basic_gnn import GCN


class Around(NamedTuple):
    """Nodes that pairs attend to: (pair, node) of each [2, M], and the PageRank of the node seen from both ends of the pair [M]."""

    pairs: np.ndarray
    src: np.ndarray
    tgt: np.ndarray

    def at(self, chosen: np.ndarray) -> Around:
        return Around(self.pairs[:, chosen], self.src[chosen], self.tgt[chosen])


def _rows(matrix: SparseTensor, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the rows `nodes`, by the keys number of the row * columns + column, ascending; and their values."""
    ptr = matrix.storage.rowptr().numpy()
    counts = np.diff(ptr)[nodes]
    at = gather(ptr[nodes], counts)
    keys = np.repeat(np.arange(nodes.size), counts) * matrix.sparse_size(1) + matrix._col[at]
    value = matrix.storage.value()
    return keys, np.ones(at.size, np.float32) if value is None else value.numpy()[at]


def _at(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Values by keys, 0 where there is none."""
    if not keys.size:
        return np.zeros(wanted.size, np.float32)
    place = np.searchsorted(keys, wanted).clip(max=keys.size - 1)
    return np.where(keys[place] == wanted, values[place], 0.0).astype(np.float32)


def _matrix(edges: Any, n: int) -> SparseTensor:
    """The adjacency matrix of edges, without values and each entry once."""
    if isinstance(edges, SparseTensor):
        return SparseTensor(row=edges._row, col=edges._col, sparse_sizes=edges._sizes).coalesce()
    pairs = edges.edge_index if isinstance(edges, Graph) else edges
    return SparseTensor.from_edge_index(pairs, sparse_sizes=(n, n)).coalesce()


class LPFormer(nn.Module):
    """Scores of pairs of nodes out of their features and of the nodes around them, which a pair attends to.

    h = LayerNorm(GCN(x));  for a pair (a, b) of nodes: s = MLP[MLP(h_a * h_b), MLP[attention over nodes v of (h_v, PE(ppr_av, ppr_bv)), counts]].
    The nodes v are common neighbours, neighbours of one end, and others, each kind with a threshold that their personalised PageRank from both ends
    must reach: ppr_thresholds (three numbers; 1 leaves out a kind). counts: how many of each kind there are.

    Shapes: batch [2, B] pairs of nodes, x [V, F_in], edge_index [2, E] or a sparse matrix, ppr_matrix a sparse matrix [V, V], which calc_sparse_ppr
    makes; out [B].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LPFormer
    >>> edges, x = Tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]), Tensor.ones(4, 5)
    >>> model = LPFormer(5, 8)
    >>> model, model(Tensor([[0, 0], [2, 3]]), x, edges, model.calc_sparse_ppr(edges, 4)).shape
    (LPFormer(5, 8, num_gnn_layers=2, num_transformer_layers=1), (2,))
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, num_gnn_layers: int = 2, gnn_dropout: float = 0.1, num_transformer_layers: int = 1,
        num_heads: int = 1, transformer_dropout: float = 0.1, ppr_thresholds: list[float] | None = None, gcn_cache: bool = False,
    ):  # fmt: skip
        thresholds = [0, 1e-4, 1e-2] if ppr_thresholds is None else ppr_thresholds
        if len(thresholds) != 3:
            raise ValueError("Argument 'ppr_thresholds' must only be length 3!")
        self.thresh_cn, self.thresh_1hop, self.thresh_non1hop = thresholds
        h = hidden_channels
        self.in_dim, self.hid_dim, self.gnn_drop, self.trans_drop = in_channels, h, gnn_dropout, transformer_dropout
        self.gnn = GCN(in_channels, h, num_gnn_layers, dropout=gnn_dropout, norm="layer_norm", cached=gcn_cache)
        self.gnn_norm = nn.LayerNorm(h)
        self.out_dim = h if num_transformer_layers == 1 else 2 * h
        layers = []
        for k in range(num_transformer_layers):
            last = k == num_transformer_layers - 1
            layers.append(LPAttLayer(h, h if last else 2 * h, None, num_heads, transformer_dropout))
        self.att_layers = nn.ModuleList(layers)
        self.elementwise_lin = MLP(h, h, h)
        self.ppr_encoder_cn, self.ppr_encoder_onehop, self.ppr_encoder_non1hop = (MLP(2, h, h) for _ in range(3))
        self.mask = "all" if self.thresh_non1hop != 1 else "1-hop" if self.thresh_1hop != 1 else "cn"
        wide = h * num_heads + 4
        self.pairwise_lin = MLP(wide, wide, h)
        self.score_func = MLP(h * 2, h * 2, 1, norm=None)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        encoders = (self.ppr_encoder_cn, self.ppr_encoder_onehop, self.ppr_encoder_non1hop)
        for part in (self.gnn, self.gnn_norm, self.elementwise_lin, self.pairwise_lin, *encoders, self.score_func, *self.att_layers):
            part.reset_parameters()

    def forward(self, batch: Tensor, x: Tensor, edge_index: Any, ppr_matrix: Any) -> Tensor:
        h = self.propagate(x, edge_index)
        ends = self.elementwise_lin(h[batch[0]] * h[batch[1]])
        pairwise = self.calc_pairwise(batch, h, _matrix(edge_index, ppr_matrix.size(1)), ppr_matrix)
        return self.score_func(ends.cat(pairwise, dim=-1))

    def propagate(self, x: Tensor, adj: Any) -> Tensor:
        """Features of the nodes."""
        return self.gnn_norm(self.gnn(x.dropout(self.gnn_drop), adj))

    def calc_pairwise(self, batch: Tensor, X_node: Tensor, adj_mask: Any, ppr_matrix: Any) -> Tensor:
        """Features of the pairs out of the nodes around them, [B, F]."""
        kinds = self.compute_node_mask(batch, adj_mask, ppr_matrix)
        index = np.concatenate([k.pairs for k in kinds if k is not None], axis=1)
        encoders = (self.ppr_encoder_cn, self.ppr_encoder_onehop, self.ppr_encoder_non1hop)
        encoded = [self._encoded(e, k) for e, k in zip(encoders, kinds) if k is not None]
        pes = encoded[0] if len(encoded) == 1 else Tensor.cat(*encoded, dim=0)
        pairs = X_node[batch[0]].cat(X_node[batch[1]], dim=-1)
        for layer in self.att_layers:
            pairs = layer(Tensor(index), pairs, X_node, pes)
        return self.pairwise_lin(Tensor.cat(pairs, *self.get_structure_cnts(batch, *kinds), dim=-1))

    @staticmethod
    def _encoded(encoder: Any, nodes: Around) -> Tensor:
        """The same for both orders of the ends."""
        a, b = Tensor(nodes.src), Tensor(nodes.tgt)
        return encoder(Tensor.stack(a, b, dim=1)) + encoder(Tensor.stack(b, a, dim=1))

    def compute_node_mask(self, batch: Tensor, adj: Any, ppr_matrix: Any) -> tuple[Around, Around | None, Around | None]:
        """Common neighbours, neighbours of one end, and other nodes of each pair, as far as their PageRanks reach the thresholds."""
        n, pairs = adj.sparse_size(1), batch.numpy()
        a, b = (_rows(adj, end)[0] for end in pairs)
        ranks = [_rows(ppr_matrix, end) for end in pairs]
        both, either = np.intersect1d(a, b, assume_unique=True), np.setxor1d(a, b, assume_unique=True)
        near = self._reaching(both, ranks, self.thresh_cn, n)
        if self.mask == "cn":
            return self._dropped(near), None, None
        one = self._reaching(either, ranks, self.thresh_1hop, n)
        near, one = self._dropped(near), self._dropped(one)
        if self.mask == "1-hop":
            return near, one, None
        if Tensor.training:  # the links of the batch are not among the edges then: their ends are neighbours nevertheless
            ends = np.concatenate([pairs, pairs[::-1]], axis=1)
            whole = SparseTensor(row=np.concatenate([adj._row, ends[0]]), col=np.concatenate([adj._col, ends[1]]), sparse_sizes=adj._sizes).coalesce()
            a, b = (_rows(whole, end)[0] for end in pairs)
        reached = [keys[values > 0] for keys, values in ranks]
        far = np.setdiff1d(np.intersect1d(reached[0], reached[1], assume_unique=True), np.union1d(a, b), assume_unique=True)
        return near, one, self._dropped(self._reaching(far, ranks, self.thresh_non1hop, n))

    @staticmethod
    def _reaching(keys: np.ndarray, ranks: list[tuple[np.ndarray, np.ndarray]], threshold: float, n: int) -> Around:
        src, tgt = (_at(known, values, keys) for known, values in ranks)
        keep = (src >= threshold) & (tgt >= threshold)
        return Around(np.stack([keys // n, keys % n]), src, tgt).at(keep)

    def _dropped(self, nodes: Around) -> Around:
        """In training, a part of the nodes."""
        if not (Tensor.training and self.trans_drop > 0):
            return nodes
        count = nodes.src.size
        order = np.random.default_rng(draw_seed()).permutation(count)
        return nodes.at(order[: math.ceil(count * (1 - self.trans_drop))])

    def get_structure_cnts(self, batch: Tensor, cn: Around, onehop: Around | None, non1hop: Around | None) -> list[Tensor]:
        """How many common neighbours, neighbours of one end, others, and neighbours in all each pair has: four columns [B, 1]."""
        pairs = batch.shape[1]
        counts = [Tensor.zeros(pairs) if k is None else scatter(Tensor.ones(k.src.size), Tensor(k.pairs[0]), 0, pairs) for k in (cn, onehop, non1hop)]
        return [c.reshape(-1, 1) for c in (*counts, counts[0] + counts[1])]

    def calc_sparse_ppr(self, edge_index: Tensor, num_nodes: int, alpha: float = 0.15, eps: float = 5e-5) -> SparseTensor:
        """Personalised PageRank from every node as a sparse matrix; entries below eps times the degree are left out."""
        index, value = get_ppr(edge_index, alpha=alpha, eps=eps, num_nodes=num_nodes)
        return SparseTensor(row=index[0], col=index[1], value=value, sparse_sizes=(num_nodes, num_nodes))

    def __repr__(self) -> str:
        layers = f"num_gnn_layers={self.gnn.num_layers}, num_transformer_layers={len(self.att_layers)}"
        return f"{type(self).__name__}({self.in_dim}, {self.hid_dim}, {layers})"


class LPAttLayer(MessagePassing):
    """Pairs p = (a, b) attend to nodes v: softmax over v of att . leaky_relu(k_v * (W_l h_a + W_l h_b)), times k_v = W_r [h_v, PE].

    edge_index: [2, M], pairs and the nodes that they attend to. edge_feats [B, 2 F], node_feats [V, F], ppr_rpes [M, F]; out [B, heads * F_out].
    """

    def __init__(self, in_channels: int, out_channels: int, node_dim: int | None, num_heads: int, dropout: float, concat: bool = True, **kwargs: Any):
        super().__init__(node_dim=0, **kwargs)
        self.in_channels, self.out_channels, self.heads, self.concat, self.dropout = in_channels, out_channels, num_heads, concat, dropout
        self.negative_slope = 0.2
        self.lin_l = Linear(in_channels, num_heads * out_channels, weight_initializer="glorot")
        self.lin_r = Linear(2 * (in_channels if node_dim is None else node_dim), num_heads * out_channels, weight_initializer="glorot")
        self.att = Tensor.zeros(1, num_heads, out_channels, requires_grad=True)
        self.bias = Tensor.zeros(num_heads * out_channels if concat else out_channels, requires_grad=True)
        self.post_att_norm = nn.LayerNorm(out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for part in (self.lin_l, self.lin_r, self.post_att_norm):
            part.reset_parameters()
        glorot(self.att)
        zeros(self.bias)

    def forward(self, edge_index: Tensor, edge_feats: Tensor, node_feats: Tensor, ppr_rpes: Tensor) -> Tensor:
        a, b = edge_feats.chunk(2, -1)
        asked = (self.lin_l(a) + self.lin_l(b)).reshape(-1, self.heads, self.out_channels)
        out = self.propagate(edge_index.flip(0), x=(node_feats, None), asked=(None, asked), ppr_rpes=ppr_rpes)
        out = out.reshape(-1, self.heads * self.out_channels) if self.concat else out.mean(1)
        return self.post_att_norm(out + self.bias).dropout(self.dropout)

    def message(self, x_j: Tensor, asked_i: Tensor, ppr_rpes: Tensor, index: Tensor, dim_size: Any) -> Tensor:  # type: ignore[override]
        key = self.lin_r(x_j.cat(ppr_rpes, dim=-1)).reshape(-1, self.heads, self.out_channels)
        alpha = ((key * asked_i).leaky_relu(self.negative_slope) * self.att).sum(-1)
        return key * softmax(alpha, index, num_nodes=dim_size).unsqueeze(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


class MLP(nn.Module):
    """Linear layers with one norm ('layer', 'batch' or None) and ReLU between them; a last axis of size 1 is left out."""

    def __init__(self, in_channels: int, hid_channels: int, out_channels: int, num_layers: int = 2, drop: float = 0, norm: str | None = "layer"):
        self.dropout = drop
        self.norm = nn.BatchNorm1d(hid_channels) if norm == "batch" else nn.LayerNorm(hid_channels) if norm == "layer" else None
        sizes = [in_channels, *[hid_channels] * (num_layers - 1), out_channels]
        self.linears = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (*self.linears, *(() if self.norm is None else (self.norm,))):
            part.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        for lin in list(self.linears)[:-1]:
            x = lin(x)
            x = (x if self.norm is None else self.norm(x)).relu().dropout(self.dropout)
        x = self.linears[-1](x)
        return x.squeeze(-1) if x.shape[-1] == 1 else x


__all__ = ["LPAttLayer", "LPFormer", "MLP"]
