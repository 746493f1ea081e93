"""Embeddings by random walks over several types of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....tensor import Tensor
from ...utils import _host
from .._index_loader import IndexLoader
from .deep_graph_infomax import classify
from .node2vec import skip_gram_loss, windows


class MetaPath2Vec(nn.Module):
    """Embeddings of nodes that occur together in walks along given relations, one after the other (Dong et al., 2017).

    edge_index_dict: {(source type, name, destination type): edge_index}. metapath: the relations of a walk, which begins again at its end.
    A walk that cannot go on ends in a dummy node. sparse has no effect.

    Shapes: batch [N] of nodes of the type, or all; out [N, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MetaPath2Vec
    >>> edges = {("a", "to", "b"): Tensor([[0, 1], [0, 0]]), ("b", "to", "a"): Tensor([[0, 0], [0, 1]])}
    >>> model = MetaPath2Vec(edges, 8, metapath=[("a", "to", "b"), ("b", "to", "a")], walk_length=4, context_size=3)
    >>> pos, neg = next(iter(model.loader(batch_size=2)))
    >>> pos.shape, model("a").shape
    ((6, 3), (2, 8))
    """

    def __init__(
        self, edge_index_dict: dict[Any, Any], embedding_dim: int, metapath: list[Any], walk_length: int, context_size: int,
        walks_per_node: int = 1, num_negative_samples: int = 1, num_nodes_dict: dict[str, int] | None = None, sparse: bool = False,
    ):  # fmt: skip
        metapath = [tuple(keys) for keys in metapath]
        pairs = {tuple(keys): _host.edges(e) for keys, e in edge_index_dict.items()}
        if num_nodes_dict is None:
            num_nodes_dict = {}
            for keys, e in pairs.items():
                for kind, row in ((keys[0], e[0]), (keys[-1], e[1])):
                    num_nodes_dict[kind] = max(int(row.max(initial=-1)) + 1, num_nodes_dict.get(kind, 0))
        for first, second in zip(metapath[:-1], metapath[1:]):
            if first[-1] != second[0]:
                raise ValueError(f"Found invalid metapath: {first} does not lead to where {second} begins")
        if walk_length + 1 < context_size:
            raise ValueError(f"walk_length {walk_length} is too short for context_size {context_size}")
        if walk_length > len(metapath) and metapath[0][0] != metapath[-1][-1]:
            raise AttributeError("The 'walk_length' is longer than the given 'metapath', but the 'metapath' does not denote a cycle")
        self.embedding_dim, self.metapath, self.walk_length, self.context_size = embedding_dim, metapath, walk_length, context_size
        self.walks_per_node, self.num_negative_samples, self.num_nodes_dict = walks_per_node, num_negative_samples, num_nodes_dict

        self._rows = {keys: _rows(pairs[keys], num_nodes_dict[keys[0]]) for keys in set(metapath)}
        self.start, self.end, count = {}, {}, 0
        for kind in sorted({keys[0] for keys in metapath} | {keys[-1] for keys in metapath}):
            self.start[kind] = count
            count += num_nodes_dict[kind]
            self.end[kind] = count
        steps = [keys[-1] for keys in metapath] * (walk_length // len(metapath) + 1)
        self._offset = np.array([self.start[kind] for kind in [metapath[0][0], *steps][: walk_length + 1]])
        self.embedding = nn.Embedding(count + 1, embedding_dim)  # the last one stands for "nowhere to go"
        self.dummy_idx = count
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new embeddings."""
        self.embedding.weight.assign(self.embedding.weight.randn_like())

    def forward(self, node_type: str, batch: Tensor | None = None) -> Tensor:
        """The embeddings of the nodes of a type: those in batch, or all."""
        emb = self.embedding.weight[self.start[node_type] : self.end[node_type]]
        return emb if batch is None else emb[batch]

    def loader(self, **kwargs: Any) -> IndexLoader:
        """Batches (pos_rw, neg_rw) of walks from all nodes of the first type; keywords as of PyTorch's DataLoader."""
        return IndexLoader(self.num_nodes_dict[self.metapath[0][0]], self._sample, **kwargs)

    def _walks(self, nodes: np.ndarray, step: Any) -> Tensor:
        walks = [nodes]
        for k in range(self.walk_length):
            walks.append(step(self.metapath[k % len(self.metapath)], walks[-1]))
        out = np.stack(walks, 1)
        return windows(np.where(out < 0, self.dummy_idx, out + self._offset), self.context_size)

    def _pos_sample(self, batch: Any) -> Tensor:
        rng = _host.generator()

        def step(keys: Any, nodes: np.ndarray) -> np.ndarray:
            rowptr, col = self._rows[keys]
            at = np.maximum(nodes, 0)
            count = rowptr[at + 1] - rowptr[at]
            place = rowptr[at] + (rng.random(nodes.size) * count).astype(np.int64)
            stuck = (nodes < 0) | (count == 0)
            return np.where(stuck, -1, col[np.where(stuck, 0, place)] if col.size else -1)

        return self._walks(np.tile(_host.vector(batch, "batch").astype(np.int64), self.walks_per_node), step)

    def _neg_sample(self, batch: Any) -> Tensor:
        rng = _host.generator()
        nodes = np.tile(_host.vector(batch, "batch").astype(np.int64), self.walks_per_node * self.num_negative_samples)
        return self._walks(nodes, lambda keys, now: rng.integers(0, self.num_nodes_dict[keys[-1]], now.size))

    def _sample(self, batch: Any) -> tuple[Tensor, Tensor]:
        return self._pos_sample(batch), self._neg_sample(batch)

    def loss(self, pos_rw: Tensor, neg_rw: Tensor) -> Tensor:
        """The loss of positive and negative samples."""
        return skip_gram_loss(self.embedding.weight, pos_rw, neg_rw)

    def test(self, train_z: Tensor, train_y: Tensor, test_z: Tensor, test_y: Tensor, solver: str = "lbfgs", *args: Any, **kwargs: Any) -> float:
        """Accuracy of a logistic regression on the embeddings (with scikit-learn)."""
        return classify(train_z, train_y, test_z, test_y, solver, *args, **kwargs)

    def extra_repr(self) -> str:
        return f"{self.embedding.weight.shape[0] - 1}, {self.embedding.weight.shape[1]}"


def _rows(e: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers by source, and destinations."""
    order = np.argsort(e[0], kind="stable")
    return _host.starts(np.bincount(e[0], minlength=nodes)), e[1][order].astype(np.int64)


__all__ = ["MetaPath2Vec"]
