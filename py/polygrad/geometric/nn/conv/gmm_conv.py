"""GMMConv: weights that are Gaussians of the edges' coordinates."""

from __future__ import annotations

from typing import Any

from ....nn.later import is_lazy, materialize, zeros_or_later
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import glorot, zeros
from ._pairs import pair
from .message_passing import MessagePassing

_EPS = 1e-15


class GMMConv(MessagePassing):
    """Gaussian mixtures, MoNet (Monti et al. 2017).

        x'_i = W_root x_i + b + aggr_j sum_k w_k(e_ij) * Theta_k x_j,     w_k(e) = exp(-1/2 sum_d (e_d - mu_kd)^2 / sigma_kd^2)

    dim: coordinates of an edge, kernel_size: number of Gaussians. separate_gaussians: one mixture for each pair of an input and an output
    feature.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, dim]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GMMConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GMMConv(4, 8, dim=2, kernel_size=3)(Tensor.ones(3, 4), edge_index, Tensor.ones(3, 2)).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, dim: int, kernel_size: int, separate_gaussians: bool = False, aggr: Any = "mean",
        root_weight: bool = True, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(aggr=aggr, **kwargs)
        self.in_channels, self.out_channels, self.dim, self.kernel_size = in_channels, out_channels, dim, kernel_size
        self.separate_gaussians, self.root_weight = separate_gaussians, root_weight
        self.rel_in_channels, destinations = pair(in_channels)
        self.g = zeros_or_later(self.rel_in_channels, out_channels * kernel_size)
        shape = (self.rel_in_channels, out_channels, kernel_size, dim) if separate_gaussians else (kernel_size, dim)
        self.mu, self.sigma = zeros_or_later(*shape), zeros_or_later(*shape)
        self.root = Linear(destinations, out_channels, bias=False, weight_initializer="glorot") if root_weight else None
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def _make(self, in_channels: int) -> None:
        self.rel_in_channels = in_channels
        shape = (in_channels, self.out_channels, self.kernel_size, self.dim) if self.separate_gaussians else (self.kernel_size, self.dim)
        for p, size in ((self.g, (in_channels, self.out_channels * self.kernel_size)), (self.mu, shape), (self.sigma, shape)):
            if is_lazy(p):
                glorot(materialize(p, size))

    def _before_load(self, state_dict: dict[str, Tensor], prefix: str) -> None:
        if is_lazy(self.g) and not is_lazy(state_dict.get(f"{prefix}g", self.g)):
            self._make(int(state_dict[f"{prefix}g"].shape[0]))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for p in (self.g, self.mu, self.sigma):
            glorot(p)
        if self.root is not None:
            self.root.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None) -> Tensor:
        x_l, x_r = pair(x)
        if is_lazy(self.g):
            self._make(int(x_l.shape[-1]))
        given = x_l if self.separate_gaussians else x_l @ self.g
        out = self.propagate(edge_index, x=(given, x_r), edge_attr=edge_attr, size=size)
        if x_r is not None and self.root is not None:
            out = out + self.root(x_r)
        return out if self.bias is None else out + self.bias

    def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:
        between = [1] * (self.mu.ndim - 1)
        offset = edge_attr.reshape(-1, *between, self.dim) - self.mu
        weight = (-0.5 * offset.square() / (_EPS + self.sigma.square())).sum(-1).exp()
        if not self.separate_gaussians:
            return (x_j.unflatten(-1, (self.kernel_size, self.out_channels)) * weight.unsqueeze(-1)).sum(-2)
        each = (weight * self.g.reshape(self.rel_in_channels, self.out_channels, self.kernel_size)).sum(-1)
        return (x_j.unsqueeze(-1) * each).sum(-2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, dim={self.dim})"
