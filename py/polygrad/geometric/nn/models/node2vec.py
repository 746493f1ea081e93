"""Embeddings by random walks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ...utils import _host
from ...utils.num_nodes import maybe_num_nodes
from .._index_loader import IndexLoader
from .deep_graph_infomax import classify

EPS = 1e-15


def windows(walks: np.ndarray, size: int) -> Tensor:
    """All parts of `size` nodes of each walk: those that begin with its first node, then those that begin with its second ..."""
    parts = [walks[:, k : k + size] for k in range(walks.shape[1] + 1 - size)]
    return _host.tensor(np.concatenate(parts))


def skip_gram_loss(embedding: Tensor, pos_rw: Tensor, neg_rw: Tensor) -> Tensor:
    """-log sigmoid(z_0 . z_k) over the nodes k of walks that begin at node 0, and -log(1 - sigmoid) over those of other walks."""

    def scores(walks: Tensor) -> Tensor:
        return (embedding[walks[:, :1]] * embedding[walks[:, 1:]]).sum(-1).sigmoid()

    return -(scores(pos_rw) + EPS).log().mean() - (1 - scores(neg_rw) + EPS).log().mean()


class Node2Vec(nn.Module):
    """Embeddings of nodes that occur together in random walks (Grover and Leskovec, 2016).

    walk_length: nodes of a walk. context_size: of the parts that count as positive samples. p, q: steps back are 1 / p, steps away 1 / q times
    as likely as others. Walks are drawn in C, by all threads, and depend on Tensor.manual_seed alone. sparse has no effect.

    Shapes: batch [N] of nodes, or all; out [N, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import Node2Vec
    >>> model = Node2Vec(Tensor([[0, 1, 2], [1, 2, 0]]), embedding_dim=8, walk_length=4, context_size=3)
    >>> pos, neg = next(iter(model.loader(batch_size=3, shuffle=True)))
    >>> pos.shape, model.loss(pos, neg).shape
    ((6, 3), ())
    """

    def __init__(
        self, edge_index: Any, embedding_dim: int, walk_length: int, context_size: int, walks_per_node: int = 1, p: float = 1.0, q: float = 1.0,
        num_negative_samples: int = 1, num_nodes: int | None = None, sparse: bool = False,
    ):  # fmt: skip
        from ...sampler.walk import relations_along

        if walk_length < context_size:
            raise ValueError(f"walk_length {walk_length} is less than context_size {context_size}")
        self.num_nodes = edge_index.num_nodes if isinstance(edge_index, Graph) else int(maybe_num_nodes(edge_index, num_nodes))
        self._edges = _host.edges(edge_index)
        self._walks = relations_along(self._edges, self.num_nodes)
        self.EPS, self.embedding_dim, self.walk_length, self.context_size = EPS, embedding_dim, walk_length - 1, context_size
        self.walks_per_node, self.p, self.q, self.num_negative_samples = walks_per_node, p, q, num_negative_samples
        self.embedding = nn.Embedding(self.num_nodes, embedding_dim)
        self.reset_parameters()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_walks"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from ...sampler.walk import relations_along

        self.__dict__.update(state)
        self._walks = relations_along(self._edges, self.num_nodes)

    def reset_parameters(self) -> None:
        """Draws new embeddings."""
        self.embedding.weight.assign(self.embedding.weight.randn_like())

    def forward(self, batch: Tensor | None = None) -> Tensor:
        """The embeddings of the nodes in batch, or of all."""
        return self.embedding.weight if batch is None else self.embedding.weight[batch]

    def loader(self, **kwargs: Any) -> IndexLoader:
        """Batches (pos_rw, neg_rw) of walks from all nodes; batch_size, shuffle and drop_last as in PyTorch's DataLoader."""
        return IndexLoader(self.num_nodes, self.sample, **kwargs)

    def pos_sample(self, batch: Any) -> Tensor:
        """Parts of random walks from these nodes: [n, context_size]."""
        from ...sampler._draw import draw_seed, thread_count

        start = np.tile(_host.vector(batch, "batch").astype(np.int64), self.walks_per_node)
        walks, _ = self._walks.walk(0, start, self.walk_length, self.p, self.q, draw_seed(), thread_count())
        return windows(walks, self.context_size)

    def neg_sample(self, batch: Any) -> Tensor:
        """The same of walks whose further nodes are drawn at random."""
        start = np.tile(_host.vector(batch, "batch").astype(np.int64), self.walks_per_node * self.num_negative_samples)
        rest = _host.generator().integers(0, self.num_nodes, (start.size, self.walk_length))
        return windows(np.concatenate([start[:, None], rest], 1), self.context_size)

    def sample(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Positive and negative samples for these nodes."""
        return self.pos_sample(batch), self.neg_sample(batch)

    def loss(self, pos_rw: Tensor, neg_rw: Tensor) -> Tensor:
        """The loss of positive and negative samples."""
        return skip_gram_loss(self.embedding.weight, pos_rw, neg_rw)

    def test(self, train_z: Tensor, train_y: Tensor, test_z: Tensor, test_y: Tensor, solver: str = "lbfgs", *args: Any, **kwargs: Any) -> float:
        """Accuracy of a logistic regression on the embeddings (with scikit-learn)."""
        return classify(train_z, train_y, test_z, test_y, solver, *args, **kwargs)

    def extra_repr(self) -> str:
        return f"{self.embedding.weight.shape[0]}, {self.embedding.weight.shape[1]}"


__all__ = ["Node2Vec", "skip_gram_loss", "windows"]
