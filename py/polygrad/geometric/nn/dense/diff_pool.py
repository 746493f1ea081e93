"""Differentiable pooling of dense graphs."""

from __future__ import annotations

from ....tensor import Tensor
from ..._length import norm


def with_batch(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Matrices as batches of one."""
    return tuple(t.unsqueeze(0) if t.ndim == 2 else t for t in tensors)


def masked(mask: Tensor | None, x: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """x and s, with rows of nodes that are none set to 0."""
    if mask is None:
        return x, s
    keep = mask.reshape(x.shape[0], x.shape[1], 1).cast(x.dtype)
    return x * keep, s * keep


def dense_diff_pool(x: Tensor, adj: Tensor, s: Tensor, mask: Tensor | None = None, normalize: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """X' = softmax(S)^T X,  A' = softmax(S)^T A softmax(S): nodes go to clusters in parts (Ying et al., 2018).

    x: [B, N, F], adj: [B, N, N], s: [B, N, C]; mask: [B, N], which of the nodes there are. Gives X', A', the loss |A - S S^T| (divided by
    the number of entries of A if `normalize`) and the mean entropy of the rows of S.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import dense_diff_pool
    >>> [t.shape for t in dense_diff_pool(Tensor.rand(2, 5, 3), Tensor.rand(2, 5, 5), Tensor.rand(2, 5, 4))]
    [(2, 4, 3), (2, 4, 4), (), ()]
    """
    x, adj, s = with_batch(x, adj, s)
    x, s = masked(mask, x, s.softmax(-1))
    turned = s.transpose(1, 2)
    link_loss = norm(adj - s @ turned)
    link_loss = link_loss / adj.numel() if normalize else link_loss
    entropy = (-s * (s + 1e-15).log()).sum(-1).mean()
    return turned @ x, turned @ adj @ s, link_loss, entropy


__all__ = ["dense_diff_pool", "masked", "with_batch"]
