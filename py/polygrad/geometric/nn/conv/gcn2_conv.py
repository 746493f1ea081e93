"""GCN2Conv: deep GCNs with the first features mixed in again."""

from __future__ import annotations

from math import log
from typing import Any

from ....tensor import Tensor
from ..inits import glorot
from ._loops import CachingSmoother
from .message_passing import MessagePassing


class GCN2Conv(CachingSmoother, MessagePassing):
    """GCNII (Chen et al. 2020): initial residual and identity mapping.

        X' = ((1 - alpha) P X + alpha X0) ((1 - beta) I + beta W),     P = D^-1/2 (A + I) D^-1/2,   beta = log(theta / layer + 1)

    beta is 1 if neither theta nor layer is given. shared_weights=False has one weight for P X and one for X0.

    Shapes: x and x_0 [V, F], edge_index [2, E], edge_weight [E]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCN2Conv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GCN2Conv(4, alpha=0.1, theta=0.5, layer=1)(Tensor.ones(3, 4), Tensor.ones(3, 4), edge_index).shape
    (3, 4)
    """

    def __init__(
        self, channels: int, alpha: float, theta: float | None = None, layer: int | None = None, shared_weights: bool = True,
        cached: bool = False, add_self_loops: bool = True, normalize: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.channels, self.alpha, self.beta = channels, alpha, 1.0
        if theta is not None or layer is not None:
            if theta is None or layer is None:
                raise ValueError("theta and layer belong together: beta = log(theta / layer + 1)")
            self.beta = log(theta / layer + 1)
        self.cached, self.normalize, self.add_self_loops = cached, normalize, add_self_loops
        self.weight1 = Tensor.zeros(channels, channels, requires_grad=True)
        self.weight2 = None if shared_weights else Tensor.zeros(channels, channels, requires_grad=True)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        glorot(self.weight1)
        glorot(self.weight2)
        self._cached = None

    def forward(self, x: Tensor, x_0: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if self.normalize:
            x = self._smooth(self._scaled(x, edge_index, edge_weight, loops=self.add_self_loops, cached=self.cached), x)
        else:
            x = self.propagate(edge_index, x=x, edge_weight=edge_weight)
        x = x * (1 - self.alpha)
        x_0 = self.alpha * x_0[: x.shape[0]]
        if self.weight2 is None:
            return self._mapped(x + x_0, self.weight1)
        return self._mapped(x, self.weight1) + self._mapped(x_0, self.weight2)

    def _mapped(self, x: Tensor, weight: Tensor) -> Tensor:
        out = x @ weight * self.beta
        return out if self.beta == 1 else out + (1 - self.beta) * x

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels}, alpha={self.alpha}, beta={self.beta})"
