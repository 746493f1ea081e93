"""ComplEx."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from .base import KGEModel, contrast_loss


class ComplEx(KGEModel):
    """d(h, r, t) = Re(<h, r, conj(t)>) with complex embeddings (Trouillon et al., 2016).

    Shapes: head_index, rel_type and tail_index [N]; out, the scores, [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ComplEx
    >>> ComplEx(10, 2, 8)(Tensor([0, 1]), Tensor([0, 1]), Tensor([5, 6])).shape
    (2,)
    """

    def __init__(self, num_nodes: int, num_relations: int, hidden_channels: int, sparse: bool = False):
        super().__init__(num_nodes, num_relations, hidden_channels, sparse)
        self.node_emb_im = nn.Embedding(num_nodes, hidden_channels)
        self.rel_emb_im = nn.Embedding(num_relations, hidden_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for emb in (self.node_emb, self.node_emb_im, self.rel_emb, self.rel_emb_im):
            emb.weight.assign(Tensor.glorot_uniform(*emb.weight.shape))

    def forward(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        h_re, h_im = self.node_emb(head_index), self.node_emb_im(head_index)
        r_re, r_im = self.rel_emb(rel_type), self.rel_emb_im(rel_type)
        t_re, t_im = self.node_emb(tail_index), self.node_emb_im(tail_index)
        return ((h_re * r_re - h_im * r_im) * t_re + (h_im * r_re + h_re * r_im) * t_im).sum(-1)

    def loss(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        positive = self(head_index, rel_type, tail_index)
        return contrast_loss(positive, self(*self.random_sample(head_index, rel_type, tail_index)))


__all__ = ["ComplEx"]
