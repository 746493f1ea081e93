"""DistMult."""

from __future__ import annotations

from ....tensor import Tensor
from .base import KGEModel, margin_ranking_loss


class DistMult(KGEModel):
    """d(h, r, t) = <h, r, t> = sum_k h_k r_k t_k (Yang et al., 2014).

    Shapes: head_index, rel_type and tail_index [N]; out, the scores, [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DistMult
    >>> DistMult(10, 2, 8)(Tensor([0, 1]), Tensor([0, 1]), Tensor([5, 6])).shape
    (2,)
    """

    def __init__(self, num_nodes: int, num_relations: int, hidden_channels: int, margin: float = 1.0, sparse: bool = False):
        super().__init__(num_nodes, num_relations, hidden_channels, sparse)
        self.margin = margin
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for emb in (self.node_emb, self.rel_emb):
            emb.weight.assign(Tensor.glorot_uniform(*emb.weight.shape))

    def forward(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        return (self.node_emb(head_index) * self.rel_emb(rel_type) * self.node_emb(tail_index)).sum(-1)

    def loss(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        positive = self(head_index, rel_type, tail_index)
        return margin_ranking_loss(positive, self(*self.random_sample(head_index, rel_type, tail_index)), self.margin)


__all__ = ["DistMult"]
