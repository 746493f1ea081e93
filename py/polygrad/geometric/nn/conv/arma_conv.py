"""ARMA convolution (Bianchi et al., "Graph neural networks with convolutional ARMA filters", 2019)."""

from __future__ import annotations

from typing import Any, Callable

from .... import nn
from ....nn.later import is_lazy, materialize, zeros_or_later
from ....tensor import Tensor
from ..inits import glorot, zeros
from ._loops import Smoother
from .message_passing import MessagePassing


class ARMAConv(Smoother, MessagePassing):
    r"""X' = 1/K sum over k of X_k^(T), with X_k^(t+1) = act(S X_k^(t) W + X^(0) V + b) and S = D^-1/2 A D^-1/2.

    num_stacks: K, stacks side by side. num_layers: T, steps of each. shared_weights: the same W and V in all steps. dropout: of the
    features that every step starts from.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ARMAConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> ARMAConv(4, 8, num_stacks=2, num_layers=2)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, num_stacks: int = 1, num_layers: int = 1, shared_weights: bool = False,
        act: Callable[[Tensor], Tensor] | None = nn.ReLU(), dropout: float = 0.0, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.num_stacks, self.num_layers, self.shared_weights = num_stacks, num_layers, shared_weights
        self.act, self.dropout = act, dropout
        self._steps = 1 if shared_weights else num_layers
        self.weight = Tensor.zeros(max(1, self._steps - 1), num_stacks, out_channels, out_channels, requires_grad=True)
        self.init_weight = zeros_or_later(num_stacks, in_channels, out_channels)
        self.root_weight = zeros_or_later(self._steps, num_stacks, in_channels, out_channels)
        self.bias = Tensor.zeros(self._steps, num_stacks, 1, out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def _widen(self, features: int) -> None:
        k, out = self.num_stacks, self.out_channels
        glorot(materialize(self.init_weight, (k, features, out)))
        glorot(materialize(self.root_weight, (self._steps, k, features, out)))

    def _before_load(self, state_dict: dict[str, Tensor], prefix: str) -> None:
        if is_lazy(self.init_weight) and not is_lazy(state_dict.get(f"{prefix}init_weight", self.init_weight)):
            self._widen(int(state_dict[f"{prefix}init_weight"].shape[1]))

    def reset_parameters(self) -> None:
        super().reset_parameters()
        glorot(self.weight)
        glorot(self.init_weight)
        glorot(self.root_weight)
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if is_lazy(self.init_weight):
            self._widen(x.shape[-1])
        s = self._scaled(x, edge_index, edge_weight, loops=False)
        k, wide = self.num_stacks, (*x.shape[:-1], self.num_stacks * self.out_channels)

        def stacks(h: Tensor, w: Tensor) -> Tensor:
            """The features of all stacks side by side, out of those that are the same for all."""
            return h @ w.transpose(0, 1).reshape(w.shape[1], -1)

        def each(h: Tensor, w: Tensor) -> Tensor:
            h = h.unflatten(-1, (k, self.out_channels)).unsqueeze(-2)
            return (h @ w).reshape(wide)

        out = x
        for t in range(self.num_layers):
            at = 0 if self.shared_weights else t
            out = stacks(x, self.init_weight) if t == 0 else each(out, self.weight[0 if self.shared_weights else t - 1])
            out = self._smooth(s, out) + stacks(x.dropout(self.dropout), self.root_weight[at])
            out = out if self.bias is None else out + self.bias[at].reshape(-1)
            out = out if self.act is None else self.act(out)
        return out.unflatten(-1, (k, self.out_channels)).mean(-2)

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_stacks={self.num_stacks}, num_layers={self.num_layers})"


__all__ = ["ARMAConv"]
