"""DenseGCNConv: GCNConv on dense adjacency matrices."""

from __future__ import annotations

from ....nn import Module
from ....tensor import Tensor
from ..inits import zeros
from .linear import Linear


def batched(x: Tensor, adj: Tensor) -> tuple[Tensor, Tensor]:
    """x [graphs, nodes, features] and adj [graphs, nodes, nodes] of one graph or several."""
    return (x.unsqueeze(0) if x.ndim == 2 else x), (adj.unsqueeze(0) if adj.ndim == 2 else adj)


def with_loops(adj: Tensor, value: float) -> Tensor:
    """adj with `value` on the diagonal."""
    place = Tensor.arange(adj.shape[-1])
    return (place.unsqueeze(-1) == place).where(value, adj)


def masked(out: Tensor, mask: Tensor | None) -> Tensor:
    """0 for nodes that are not there."""
    return out if mask is None else out * mask.reshape(-1, out.shape[-2], 1).cast(out.dtype)


class DenseGCNConv(Module):
    """X' = D^-1/2 (A + I) D^-1/2 X W + b, for matrices A [graphs, nodes, nodes]; see GCNConv.

    improved: A + 2 I. Called with x [graphs, nodes, in_channels], adj, mask [graphs, nodes] of the nodes that are there, and add_loop.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import DenseGCNConv
    >>> adj = Tensor.ones(2, 5, 5)
    >>> DenseGCNConv(4, 8)(Tensor.ones(2, 5, 4), adj).shape
    (2, 5, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, improved: bool = False, bias: bool = True):
        self.in_channels, self.out_channels, self.improved = in_channels, out_channels, improved
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        self.lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None, add_loop: bool = True) -> Tensor:
        x, adj = batched(x, adj)
        if add_loop:
            adj = with_loops(adj, 2.0 if self.improved else 1.0)
        scale = adj.sum(-1, keepdim=True).clamp(1.0).rsqrt()
        out = scale * (adj @ (scale * self.lin(x)))
        return masked(out if self.bias is None else out + self.bias, mask)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


__all__ = ["DenseGCNConv", "batched", "masked", "with_loops"]
