"""Pooling of dense graphs by modularity."""

from __future__ import annotations

import math

from .... import nn
from ....tensor import Tensor
from .diff_pool import masked, with_batch
from .mincut_pool import normalized_adj, orthogonality_loss, trace


class DMoNPooling(nn.Module):
    """S = softmax(MLP(X)), X' = selu(S^T X), A' = S^T A S, with clusters of high modularity (Tsitsulin et al., 2020).

    Gives S, X', A' (without its diagonal and divided by its degrees), and three losses: spectral, of clusters that are not orthogonal, and
    of clusters of unequal size.

    Shapes: x [B, N, F], adj [B, N, N], mask [B, N]; out S [B, N, k], x [B, k, F], adj [B, k, k], and three numbers.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DMoNPooling
    >>> [t.shape for t in DMoNPooling([3, 8], k=4)(Tensor.rand(2, 5, 3), Tensor.rand(2, 5, 5))]
    [(2, 5, 4), (2, 4, 3), (2, 4, 4), (), (), ()]
    """

    def __init__(self, channels: int | list[int], k: int, dropout: float = 0.0):
        from ..models.mlp import MLP

        self.mlp = MLP([*([channels] if isinstance(channels, int) else channels), k], act=None, norm=None)
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        self.mlp.reset_parameters()

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        x, adj = with_batch(x, adj)
        s = self.mlp(x)
        s = (s.dropout(self.dropout) if self.dropout else s).softmax(-1)
        x, s = masked(mask, x, s)
        turned = s.transpose(1, 2)
        out_adj = turned @ adj @ s

        degree = adj.sum(-1, keepdim=True)  # [B, N, 1]
        count: Tensor | int = x.shape[1]
        if mask is not None:
            keep = mask.reshape(x.shape[0], x.shape[1], 1).cast(x.dtype)
            degree, count = degree * keep, keep.sum(1)
        edges = degree.sum((1, 2)) / 2
        share = turned @ degree  # [B, C, 1]
        spectral = -(trace(out_adj) - share.square().sum((1, 2)) / 2 / edges) / 2 / edges

        sizes = s.sum(1)
        root = math.sqrt(s.shape[-1])
        uneven = sizes.square().sum(1).sqrt()
        cluster_loss = (uneven / count * root - 1).mean() if isinstance(count, int) else (uneven.unsqueeze(0) / count * root - 1).mean()
        return (
            s,
            (turned @ x).selu(1.6732632423543772, 1.0507009873554805),
            normalized_adj(out_adj),
            spectral.mean(),
            orthogonality_loss(s),
            cluster_loss,
        )

    def extra_repr(self) -> str:
        return f"{self.mlp.in_channels}, num_clusters={self.mlp.out_channels}"


__all__ = ["DMoNPooling"]
