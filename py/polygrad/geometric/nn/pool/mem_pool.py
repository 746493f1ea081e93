"""Pooling by learnt keys."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ..inits import reset

EPS = 1e-15


class MemPooling(nn.Module):
    """Assigns nodes to clusters by their distance from keys, several heads of them (Khasahmadi et al., 2020).

    C_h[i, k] ~ (1 + |x_i - key_hk|^2 / tau)^(-(tau + 1) / 2);   S = softmax(conv(C_1 ... C_H));   X' = S^T X W

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MemPooling
    >>> x, s = MemPooling(4, 8, heads=3, num_clusters=2)(Tensor.rand(2, 5, 4))
    >>> x.shape, s.shape
    ((2, 2, 8), (2, 5, 2))
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int, num_clusters: int, tau: float = 1.0):
        self.in_channels, self.out_channels, self.heads, self.num_clusters, self.tau = in_channels, out_channels, heads, num_clusters, tau
        self.k = Tensor.uniform(heads, num_clusters, in_channels, low=-1.0, high=1.0, requires_grad=True)
        self.conv = nn.Conv2d(heads, 1, 1, bias=False)
        self.lin = nn.Linear(in_channels, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        self.k.assign(Tensor.uniform(*self.k.shape, low=-1.0, high=1.0))
        reset(self.conv)
        reset(self.lin)

    @staticmethod
    def kl_loss(S: Tensor) -> Tensor:
        """How far the assignment is from a sharper one: KL divergence for each graph of the batch."""
        p = S.square() / S.sum(1, keepdim=True)
        total = p.sum(2, keepdim=True)
        p = p / (S.sum(2, keepdim=True) == 0.0).where(1.0, total)
        p = p.maximum(EPS)
        return (p * (p.log() - S.maximum(EPS).log())).sum() / S.shape[0]

    def forward(
        self, x: Tensor, batch: Tensor | None = None, mask: Tensor | None = None, max_num_nodes: int | None = None, batch_size: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """x: [N, F] with a batch vector, or [B, N, F] with a mask. Gives clusters [B, K, out_channels] and the assignment [B, N, K]."""
        if x.ndim <= 2:
            from ...utils import to_dense_batch

            x, mask = to_dense_batch(x, batch, max_num_nodes=max_num_nodes, batch_size=batch_size)
        keys = self.k.reshape(1, self.heads, 1, self.num_clusters, self.in_channels)
        distance = (x.unsqueeze(1).unsqueeze(3) - keys).square().sum(-1)  # [B, H, N, K]
        near = (1.0 + distance / self.tau).pow(-(self.tau + 1.0) / 2.0)
        near = near / near.sum(-1, keepdim=True)
        s = (near * self.conv.weight.reshape(1, self.heads, 1, 1)).sum(1).softmax(-1)
        s = s if mask is None else s * mask.unsqueeze(-1).cast(s.dtype)
        return self.lin(s.transpose(1, 2) @ x), s

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}, num_clusters={self.num_clusters}"


__all__ = ["MemPooling"]
