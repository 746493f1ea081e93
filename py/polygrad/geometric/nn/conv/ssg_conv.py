"""Simple spectral graph convolution (Zhu and Koniusz, "Simple spectral graph convolution", ICLR 2021)."""

from __future__ import annotations

from typing import Any

from ....loops import repeated
from ....nn.functional import linear
from ....tensor import Tensor
from ..dense.linear import Linear
from ._loops import Smoother, is_linear, kept, weight_of
from .message_passing import MessagePassing


class SSGConv(Smoother, MessagePassing):
    r"""X' = (1/K sum over k = 1..K of (1 - alpha) S^k X + alpha X) W + b, with S = D^-1/2 (A + I) D^-1/2.

    cached: keep the smoothed features of the first call and use them from then on.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SSGConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> SSGConv(4, 8, alpha=0.1, K=3)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, alpha: float, K: int = 1, cached: bool = False, add_self_loops: bool = True,
        bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.alpha, self.K = in_channels, out_channels, alpha, K
        self.cached, self.add_self_loops = cached, add_self_loops
        self.lin = Linear(in_channels, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin.reset_parameters()
        self._cached_h: Tensor | None = None

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if self._cached_h is not None:
            return self.lin(self._cached_h.detach())
        s = self._scaled(x, edge_index, edge_weight, loops=self.add_self_loops)
        first = not self.cached and is_linear(self) and self.out_channels < x.shape[-1]
        if first:  # fewer features to carry around; the bias comes last
            x = linear(x, weight_of(self.lin, x))

        def step(both: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            x = self._smooth(s, both[0])
            return x, both[1] + (1 - self.alpha) / self.K * x

        h = repeated(step, (x, x * self.alpha), self.K)[1]
        if first:
            return h if self.lin.bias is None else h + self.lin.bias
        if self.cached:
            self._cached_h = h = kept(h)
        return self.lin(h)

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={self.K}, alpha={self.alpha})"


__all__ = ["SSGConv"]
