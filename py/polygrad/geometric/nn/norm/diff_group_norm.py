"""Differentiable group normalisation."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....tensor import Tensor
from ..._length import norm
from ..inits import reset


class DiffGroupNorm(nn.Module):
    """Nodes are assigned to groups, and each group is normalised on its own (Zhou et al., 2020).

    S = softmax(X W);   X' = X + lamda * sum_g BatchNorm(S[:, g] * X)

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DiffGroupNorm
    >>> DiffGroupNorm(4, groups=3)(Tensor.ones(6, 4)).shape
    (6, 4)
    """

    def __init__(
        self, in_channels: int, groups: int, lamda: float = 0.01, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None,
    ):  # fmt: skip
        self.in_channels, self.groups, self.lamda = in_channels, groups, lamda
        self.lin = nn.Linear(in_channels, groups, bias=False)
        self.norm = nn.BatchNorm1d(groups * in_channels, eps, momentum, affine, track_running_stats)

    def reset_parameters(self) -> None:
        """Forgets all that was learnt."""
        reset(self.lin)
        reset(self.norm)

    def forward(self, x: Tensor) -> Tensor:
        s = self.lin(x).softmax(-1)
        out = (s.unsqueeze(-1) * x.unsqueeze(-2)).reshape(-1, self.groups * self.in_channels)
        return x + self.lamda * self.norm(out).reshape(-1, self.groups, self.in_channels).sum(-2)

    @staticmethod
    def group_distance_ratio(x: Tensor, y: Tensor, eps: float = 1e-5) -> float:
        """How far apart groups of nodes are, over how far apart nodes of one group are; y says the group of each node.

        >>> from polygrad import Tensor
        >>> round(DiffGroupNorm.group_distance_ratio(Tensor([[0.0], [1.0], [4.0], [5.0]]), Tensor([0, 0, 1, 1])), 3)
        16.0
        """
        distance = norm(x.unsqueeze(1) - x.unsqueeze(0), dim=-1)
        member = y.one_hot(int(y.max().item()) + 1).cast(x.dtype)
        classes, count = member.shape[1], member.sum(0)
        total = (member.T @ distance @ member) / count.reshape(-1, 1)  # [classes, classes]
        inside = total.diagonal()
        between = ((total.sum(1) - inside) / (count.sum() - count)).sum() / (classes - 1) ** 2
        return float((between / ((inside / count).mean() + eps)).item())

    def extra_repr(self) -> str:
        return f"{self.in_channels}, groups={self.groups}"


__all__ = ["DiffGroupNorm"]
