"""XConv: the nearest points in a learned order (Li et al., "PointCNN: convolution on X-transformed points", 2018)."""

from __future__ import annotations

from .... import nn
from ....tensor import Tensor
from ...nn.reshape import Reshape
from ..inits import reset


class XConv(nn.Module):
    r"""x'_i = Conv(K, [MLP_1(p_j - p_i), x_j] MLP_2(p_j - p_i)), j over the K nearest points of i (itself among them):

    MLP_1 gives each neighbour further features, MLP_2 the K x K matrix that mixes neighbours, and Conv weighs them, each feature on its own,
    before a linear map of the features.

    in_channels: features of a point (0: none). dim: coordinates. kernel_size: K. hidden_channels: features of MLP_1, a quarter of in_channels
    by default. dilation: every dilation-th of the K * dilation nearest points is taken. bias: of the last map. num_workers: has no effect.

    Shapes: x [V, F_in] or None, pos [V, D], batch [V]; out [V, F_out]. Each graph must have K * dilation points or more.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import XConv
    >>> XConv(8, 4, dim=3, kernel_size=3)(Tensor.rand(6, 8), Tensor.rand(6, 3)).shape
    (6, 4)
    """

    def __init__(
        self, in_channels: int, out_channels: int, dim: int, kernel_size: int, hidden_channels: int | None = None, dilation: int = 1,
        bias: bool = True, num_workers: int = 1,
    ):  # fmt: skip
        hidden = in_channels // 4 if hidden_channels is None else hidden_channels
        if hidden <= 0:
            raise ValueError(f"hidden_channels must be given where in_channels is less than 4, not {hidden_channels} with {in_channels}")
        self.in_channels, self.hidden_channels, self.out_channels, self.dim = in_channels, hidden, out_channels, dim
        self.kernel_size, self.dilation, self.num_workers = kernel_size, dilation, num_workers
        k = kernel_size
        self.mlp1 = nn.Sequential(
            nn.Linear(dim, hidden), nn.ELU(), nn.BatchNorm1d(hidden), nn.Linear(hidden, hidden), nn.ELU(), nn.BatchNorm1d(hidden),
            Reshape(-1, k, hidden),
        )  # fmt: skip
        self.mlp2 = nn.Sequential(
            nn.Linear(dim * k, k * k), nn.ELU(), nn.BatchNorm1d(k * k), Reshape(-1, k, k), nn.Conv1d(k, k * k, k, groups=k), nn.ELU(),
            nn.BatchNorm1d(k * k), Reshape(-1, k, k), nn.Conv1d(k, k * k, k, groups=k), nn.BatchNorm1d(k * k), Reshape(-1, k, k),
        )  # fmt: skip
        wide = in_channels + hidden
        depth = -(-out_channels // wide)
        self.conv = nn.Sequential(
            nn.Conv1d(wide, wide * depth, k, groups=wide), Reshape(-1, wide * depth), nn.Linear(wide * depth, out_channels, bias=bias)
        )  # fmt: skip
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for part in (self.mlp1, self.mlp2, self.conv):
            reset(part)

    def forward(self, x: Tensor | None, pos: Tensor, batch: Tensor | None = None) -> Tensor:
        from ..pool import knn

        pos = pos.unsqueeze(-1) if pos.ndim == 1 else pos
        nodes, k = pos.shape[0], self.kernel_size
        pairs = knn(pos, pos, k * self.dilation, batch, batch)
        if pairs.shape[1] != nodes * k * self.dilation:
            raise ValueError(f"XConv needs {k * self.dilation} points (kernel_size * dilation) or more in each graph")
        near = pairs[1].reshape(nodes, k, self.dilation)[:, :, 0]
        offset = pos[near] - pos.unsqueeze(1)  # [V, K, D]
        star = self.mlp1(offset.flatten(0, 1))
        if x is not None:
            x = x.unsqueeze(-1) if x.ndim == 1 else x
            star = Tensor.cat(star, x[near], dim=-1)
        return self.conv(star.transpose(1, 2) @ self.mlp2(offset.flatten(1)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


__all__ = ["XConv"]
