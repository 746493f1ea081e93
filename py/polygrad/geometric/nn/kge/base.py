"""What the models have in common: negative samples, loading, ranking."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .... import nn
from ....tensor import Tensor
from .loader import KGTripletLoader


def progress(items: Iterable[Any], wanted: bool) -> Iterable[Any]:
    """items, with a progress bar if one is wanted and tqdm is there."""
    if not wanted:
        return items
    try:
        from tqdm import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return items
    return tqdm(items)


def margin_ranking_loss(higher: Tensor, lower: Tensor, margin: float) -> Tensor:
    """mean(max(0, lower - higher + margin))"""
    return (lower - higher + margin).relu().mean()


def contrast_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Binary cross entropy of scores that should be high and scores that should be low."""
    scores = Tensor.cat(positive, negative)
    target = Tensor.cat(positive.detach().ones_like(), negative.detach().zeros_like())
    return scores.binary_crossentropy_logits(target)


class KGEModel(nn.Module):
    """A model with embeddings of nodes and relations, which scores triples (head, relation, tail).

    sparse is accepted and has no effect: gradients of embeddings are dense here.

    Shapes: head_index, rel_type and tail_index [N]; out, the scores, [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.kge import KGEModel, TransE
    >>> model = TransE(num_nodes=10, num_relations=3, hidden_channels=8)
    >>> isinstance(model, KGEModel), model(Tensor([0, 1]), Tensor([2, 0]), Tensor([4, 5])).shape
    (True, (2,))
    """

    def __init__(self, num_nodes: int, num_relations: int, hidden_channels: int, sparse: bool = False):
        self.num_nodes, self.num_relations, self.hidden_channels = num_nodes, num_relations, hidden_channels
        self.node_emb = nn.Embedding(num_nodes, hidden_channels)
        self.rel_emb = nn.Embedding(num_relations, hidden_channels)

    def reset_parameters(self) -> None:
        """Draws new embeddings."""
        for emb in (self.node_emb, self.rel_emb):
            emb.weight.assign(emb.weight.randn_like())

    def forward(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        """The score of each triple; the three may have any shape that fits the others'."""
        raise NotImplementedError

    def loss(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        """The loss of these triples against as many drawn at random."""
        raise NotImplementedError

    def loader(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor, **kwargs: Any) -> KGTripletLoader:
        """Batches of the triples; keywords as of PyTorch's DataLoader."""
        return KGTripletLoader(head_index, rel_type, tail_index, **kwargs)

    def test(
        self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor, batch_size: int, k: int = 10, log: bool = True
    ) -> tuple[float, float, float]:
        """Mean rank (from 0), mean reciprocal rank and hits at k of the true tails among all nodes.

        batch_size: scores that are computed at a time. Of equal scores the node with the smaller number comes first.
        """
        count, nodes = head_index.numel(), self.num_nodes
        if not count:
            raise ValueError("there are no triples to test")
        rows = max(1, min(count, batch_size // max(1, nodes)))
        triples = [t.numpy() for t in (head_index, rel_type, tail_index)]
        ranks: list[int] = []
        with Tensor.no_grad():
            for first in progress(range(0, count, rows), log):
                h, r, t = (Tensor(a[first : first + rows]).reshape(-1, 1) for a in triples)
                own, rank = self(h, r, t), None
                for start in range(0, nodes, nodes if rows > 1 else batch_size):
                    tails = Tensor.arange(start, min(nodes, start + (nodes if rows > 1 else batch_size))).reshape(1, -1)
                    scores = self(h, r, tails)
                    # A node is not ahead of itself: its score may differ by a rounding where it is one of a matrix of scores.
                    ahead = (((scores > own) & (tails != t)) | ((scores == own) & (tails < t))).sum(1)
                    rank = ahead if rank is None else rank + ahead
                assert rank is not None
                ranks += rank.tolist()
        return sum(ranks) / count, sum(1 / (v + 1) for v in ranks) / count, sum(v < k for v in ranks) / count

    def random_sample(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The triples with another head (the first half) or another tail, drawn at random."""
        n = head_index.numel()
        drawn = Tensor.randint(*head_index.shape, high=self.num_nodes).cast(head_index.dtype)
        first = (Tensor.arange(n) < n // 2).reshape(head_index.shape)
        return first.where(drawn, head_index), rel_type, first.where(tail_index, drawn)

    def extra_repr(self) -> str:
        return f"{self.num_nodes}, num_relations={self.num_relations}, hidden_channels={self.hidden_channels}"


__all__ = ["KGEModel", "contrast_loss", "margin_ranking_loss", "progress"]
