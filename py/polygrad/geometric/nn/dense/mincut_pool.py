"""Pooling of dense graphs by minimum cuts."""

from __future__ import annotations

import math

from ....tensor import Tensor
from ..._length import norm
from .diff_pool import masked, with_batch

EPS = 1e-15


def trace(x: Tensor) -> Tensor:
    """The trace of each matrix of a batch."""
    return (x * Tensor.eye(x.shape[1], dtype=x.dtype)).sum((1, 2))


def orthogonality_loss(s: Tensor) -> Tensor:
    """| S^T S / |S^T S| - I / |I| |, the mean over the batch: 0 for clusters of equal size that share no nodes."""
    k = s.shape[-1]
    ss = s.transpose(1, 2) @ s
    ideal = Tensor.eye(k, dtype=s.dtype) / math.sqrt(k)
    return norm(ss / norm(ss, 2.0, (-1, -2), True) - ideal, 2.0, (-1, -2)).mean()


def normalized_adj(adj: Tensor) -> Tensor:
    """D^-1/2 A D^-1/2 without the diagonal of A."""
    adj = adj * (1.0 - Tensor.eye(adj.shape[1], dtype=adj.dtype))
    d = adj.sum(-1).sqrt().unsqueeze(1) + EPS
    return adj / d / d.transpose(1, 2)


def dense_mincut_pool(x: Tensor, adj: Tensor, s: Tensor, mask: Tensor | None = None, temp: float = 1.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """X' = S^T X,  A' = S^T A S with S = softmax(s / temp), clusters with few edges between them (Bianchi et al., 2019).

    x: [B, N, F], adj: [B, N, N], s: [B, N, C]; mask: [B, N], which of the nodes there are. Gives X', A' (without its diagonal and divided by
    its degrees), the loss -tr(S^T A S) / tr(S^T D S) and that of clusters that are not orthogonal.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import dense_mincut_pool
    >>> [t.shape for t in dense_mincut_pool(Tensor.rand(2, 5, 3), Tensor.rand(2, 5, 5), Tensor.rand(2, 5, 4))]
    [(2, 4, 3), (2, 4, 4), (), ()]
    """
    x, adj, s = with_batch(x, adj, s)
    x, s = masked(mask, x, (s / temp if temp != 1.0 else s).softmax(-1))
    turned = s.transpose(1, 2)
    out_adj = turned @ adj @ s
    inside = (adj.sum(-1, keepdim=True) * s.square()).sum((1, 2))  # tr(S^T D S)
    mincut_loss = -(trace(out_adj) / inside).mean()
    return turned @ x, normalized_adj(out_adj), mincut_loss, orthogonality_loss(s)


__all__ = ["dense_mincut_pool", "normalized_adj", "orthogonality_loss", "trace"]
