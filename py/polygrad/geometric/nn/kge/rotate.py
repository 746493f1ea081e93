"""RotatE."""

from __future__ import annotations

import math

from .... import nn
from ....tensor import Tensor
from ..._length import norm
from .base import KGEModel, contrast_loss


class RotatE(KGEModel):
    """d(h, r, t) = margin - | h * e^(i r) - t |: a relation turns each complex number of a head (Sun et al., 2019).

    Shapes: head_index, rel_type and tail_index [N]; out, the scores, [N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import RotatE
    >>> RotatE(10, 2, 8)(Tensor([0, 1]), Tensor([0, 1]), Tensor([5, 6])).shape
    (2,)
    """

    def __init__(self, num_nodes: int, num_relations: int, hidden_channels: int, margin: float = 1.0, sparse: bool = False):
        super().__init__(num_nodes, num_relations, hidden_channels, sparse)
        self.margin = margin
        self.node_emb_im = nn.Embedding(num_nodes, hidden_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for emb in (self.node_emb, self.node_emb_im):
            emb.weight.assign(Tensor.glorot_uniform(*emb.weight.shape))
        self.rel_emb.weight.assign(Tensor.uniform(*self.rel_emb.weight.shape, low=0.0, high=2 * math.pi))

    def forward(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        h_re, h_im = self.node_emb(head_index), self.node_emb_im(head_index)
        angle = self.rel_emb(rel_type)
        r_re, r_im = angle.cos(), angle.sin()
        re = r_re * h_re - r_im * h_im - self.node_emb(tail_index)
        im = r_re * h_im + r_im * h_re - self.node_emb_im(tail_index)
        return self.margin - norm(Tensor.stack(re, im, dim=-1), 2.0, (-1, -2))

    def loss(self, head_index: Tensor, rel_type: Tensor, tail_index: Tensor) -> Tensor:
        positive = self(head_index, rel_type, tail_index)
        return contrast_loss(positive, self(*self.random_sample(head_index, rel_type, tail_index)))


__all__ = ["RotatE"]
