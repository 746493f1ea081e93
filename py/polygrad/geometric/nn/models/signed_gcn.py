"""Graphs of friends and foes (Derr et al., "Signed graph convolutional network", 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....tensor import Tensor
from ...utils import _host
from ..conv.signed_conv import SignedConv
from ..inits import reset


def _apart(z: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return (z[i] - z[j]).square().sum(1)


class SignedGCN(nn.Module):
    """SignedConv layers with relu between them, and losses that tell positive links, negative links and none from each other.

    in_channels, hidden_channels: features of a node and of its embedding. num_layers: number of layers. lamb: weight of the losses of distances.
    bias: accepted; layers have one. Shapes: x [V, in_channels], pos_edge_index and neg_edge_index [2, E]; out [V, hidden_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SignedGCN
    >>> SignedGCN(8, 16, num_layers=2)(Tensor.ones(3, 8), Tensor([[0, 1], [1, 2]]), Tensor([[0], [2]])).shape
    (3, 16)
    """

    def __init__(self, in_channels: int, hidden_channels: int, num_layers: int, lamb: float = 5, bias: bool = True):
        self.in_channels, self.hidden_channels, self.num_layers, self.lamb = in_channels, hidden_channels, num_layers, lamb
        half = hidden_channels // 2
        self.conv1 = SignedConv(in_channels, half, first_aggr=True)
        self.convs = nn.ModuleList([SignedConv(half, half, first_aggr=False) for _ in range(num_layers - 1)])
        self.lin = nn.Linear(2 * hidden_channels, 3)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.conv1, *self.convs, self.lin):
            reset(part)

    def split_edges(self, edge_index: Tensor, test_ratio: float = 0.2) -> tuple[Tensor, Tensor]:
        """The edges in two parts drawn at random, for training and for test."""
        count = int(edge_index.shape[1])
        test = np.zeros(count, bool)
        test[_host.generator().permutation(count)[: int(test_ratio * count)]] = True
        return edge_index[:, Tensor(np.flatnonzero(~test))], edge_index[:, Tensor(np.flatnonzero(test))]

    def create_spectral_features(self, pos_edge_index: Tensor, neg_edge_index: Tensor, num_nodes: int | None = None) -> Tensor:
        """The first in_channels right singular vectors of the matrix of signs, 1 and -1, as features of the nodes; needs scipy."""
        sparse = _host.library("scipy.sparse", "create_spectral_features")
        linalg = _host.library("scipy.sparse.linalg", "create_spectral_features")
        pos, neg = _host.edges(pos_edge_index), _host.edges(neg_edge_index)
        both = np.concatenate([pos, neg], 1)
        n = (int(both.max()) + 1 if both.size else 0) if num_nodes is None else num_nodes
        value = np.concatenate([np.full(pos.shape[1], 2.0), np.zeros(neg.shape[1])])
        there = sparse.coo_matrix((np.tile(value, 2), np.concatenate([both, both[::-1]], 1)), shape=(n, n)).tocsr()
        there.data -= 1  # a pair that is there more than once is counted as often, less one
        if self.in_channels >= n:
            v = np.zeros((n, self.in_channels))
            v[:, :n] = np.linalg.svd(there.toarray())[2].T
        else:
            v = linalg.svds(there, k=self.in_channels, random_state=_host.generator())[2][::-1].T
        return Tensor(np.ascontiguousarray(v, np.float32))

    def forward(self, x: Tensor, pos_edge_index: Any, neg_edge_index: Any) -> Tensor:
        """Embeddings z of the nodes."""
        z = self.conv1(x, pos_edge_index, neg_edge_index).relu()
        for conv in self.convs:
            z = conv(z, pos_edge_index, neg_edge_index).relu()
        return z

    def discriminate(self, z: Tensor, edge_index: Tensor) -> Tensor:
        """Logarithms of the probabilities that pairs of nodes are positive links, negative links, or none: [E, 3]."""
        return self.lin(Tensor.cat(z[edge_index[0]], z[edge_index[1]], dim=1)).log_softmax(1)

    def nll_loss(self, z: Tensor, pos_edge_index: Tensor, neg_edge_index: Tensor) -> Tensor:
        """How badly discriminate tells the three kinds apart; pairs without a link are drawn at random."""
        from ...utils import negative_sampling

        none = negative_sampling(Tensor.cat(pos_edge_index, neg_edge_index, dim=1), z.shape[0])
        kinds = (pos_edge_index, neg_edge_index, none)
        losses = [-self.discriminate(z, edges)[:, kind].mean() for kind, edges in enumerate(kinds)]
        return (losses[0] + losses[1] + losses[2]) / 3.0

    def pos_embedding_loss(self, z: Tensor, pos_edge_index: Tensor) -> Tensor:
        """Positive links are to be nearer than pairs without a link."""
        from ...utils import structured_negative_sampling

        i, j, k = structured_negative_sampling(pos_edge_index, z.shape[0])
        return (_apart(z, i, j) - _apart(z, i, k)).relu().mean()

    def neg_embedding_loss(self, z: Tensor, neg_edge_index: Tensor) -> Tensor:
        """Negative links are to be farther than pairs without a link."""
        from ...utils import structured_negative_sampling

        i, j, k = structured_negative_sampling(neg_edge_index, z.shape[0])
        return (_apart(z, i, k) - _apart(z, i, j)).relu().mean()

    def loss(self, z: Tensor, pos_edge_index: Tensor, neg_edge_index: Tensor) -> Tensor:
        """nll_loss + lamb (pos_embedding_loss + neg_embedding_loss)"""
        near = self.pos_embedding_loss(z, pos_edge_index) + self.neg_embedding_loss(z, neg_edge_index)
        return self.nll_loss(z, pos_edge_index, neg_edge_index) + self.lamb * near

    def test(self, z: Tensor, pos_edge_index: Tensor, neg_edge_index: Tensor) -> tuple[float, float]:
        """Area under the ROC curve, and F1, of positive against negative links (with scikit-learn)."""
        from sklearn.metrics import f1_score, roc_auc_score  # type: ignore[import-untyped, import-not-found, unused-ignore]

        parts = [1 - self.discriminate(z, e)[:, :2].argmax(1).numpy() for e in (pos_edge_index, neg_edge_index)]
        y = np.concatenate([np.ones(parts[0].size, int), np.zeros(parts[1].size, int)])
        found = np.concatenate(parts)
        return roc_auc_score(y, found), f1_score(y, found, average="binary") if found.sum() > 0 else 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.hidden_channels}, num_layers={self.num_layers})"


__all__ = ["SignedGCN"]
