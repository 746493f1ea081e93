"""TransE."""

from __future__ import annotations

import math

from ....tensor import Tensor
from ..._length import norm, normalize
from .base import KGEModel, margin_ranking_loss


class TransE(KGEModel):
    """d(h, r, t) = - | h/|h| + r - t/|t| |_p: a relation moves heads to their tails (Bordes et al., 2013).

    Shapes: head_index, rel_type and tail_index [N]; out, the scores, [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import TransE
    >>> TransE(10, 2, 8)(Tensor([0, 1]), Tensor([0, 1]), Tensor([5, 6])).shape
    (2,)
    """

    def __init__(self, num_nodes: int, num_relations: int, hidden_channels: int, margin: float = 1.0, p_norm: float = 1.0, sparse: bool = False):
        super().__init__(num_nodes, num_relations, hidden_channels, sparse)
        self.p_norm, self.margin = p_norm, margin
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 6.0 / math.sqrt(self.hidden_channels)
        node, rel = self.node_emb.weight, self.rel_emb.weight
        node.assign(Tensor.uniform(*node.shape, low=-bound, high=bound))
        rel.assign(normalize(Tensor.uniform(*rel.shape, low=-bound, high=bound), self.p_norm))

    def forward(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        head = normalize(self.node_emb(head_index), self.p_norm)
        tail = normalize(self.node_emb(tail_index), self.p_norm)
        return -norm(head + self.rel_emb(rel_type) - tail, self.p_norm, -1)

    def loss(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        positive = self(head_index, rel_type, tail_index)
        return margin_ranking_loss(positive, self(*self.random_sample(head_index, rel_type, tail_index)), self.margin)


__all__ = ["TransE"]
