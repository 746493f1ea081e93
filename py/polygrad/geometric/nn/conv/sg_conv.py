"""Simple graph convolution (Wu et al., "Simplifying graph convolutional networks", ICML 2019)."""

from __future__ import annotations

from typing import Any

from ....loops import repeated
from ....nn.functional import linear
from ....tensor import Tensor
from ..dense.linear import Linear
from ._loops import Smoother, is_linear, kept, weight_of
from .message_passing import MessagePassing


class SGConv(Smoother, MessagePassing):
    r"""X' = (D^-1/2 (A + I) D^-1/2)^K X W + b.

    cached: keep the smoothed features of the first call and use them from then on.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SGConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> SGConv(4, 8, K=2)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, K: int = 1, cached: bool = False, add_self_loops: bool = True, bias: bool = True, **kwargs: Any
    ):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.K = in_channels, out_channels, K
        self.cached, self.add_self_loops = cached, add_self_loops
        self.lin = Linear(in_channels, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin.reset_parameters()
        self._cached_x: Tensor | None = None

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if self._cached_x is not None:
            return self.lin(self._cached_x.detach())
        s = self._scaled(x, edge_index, edge_weight, loops=self.add_self_loops)
        if not self.cached and is_linear(self) and self.out_channels < x.shape[-1]:
            out = linear(x, weight_of(self.lin, x))  # fewer features to carry around; the bias comes last
            out = repeated(lambda x: self._smooth(s, x), out, self.K)
            return out if self.lin.bias is None else out + self.lin.bias
        x = repeated(lambda x: self._smooth(s, x), x, self.K)
        if self.cached:
            self._cached_x = x = kept(x)
        return self.lin(x)

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={self.K})"


__all__ = ["SGConv"]
