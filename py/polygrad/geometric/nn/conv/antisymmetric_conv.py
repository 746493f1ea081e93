"""AntiSymmetricConv: a stable step of a differential equation."""

from __future__ import annotations

import math
from typing import Any

from ....nn import Module
from ....nn.functional import linear
from ....tensor import Tensor
from ..inits import kaiming_uniform, zeros
from ..resolver import activation_resolver
from .gcn_conv import GCNConv


class AntiSymmetricConv(Module):
    """Anti-symmetric deep graph network (Gravina et al. 2023).

        x'_i = x_i + epsilon act((W - W^T - gamma I) x_i + phi(X, A)_i + b),     num_iters times

    phi: the layer that passes messages, GCNConv if it is left out.

    Shapes: x [V, F], edge_index [2, E]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import AntiSymmetricConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> AntiSymmetricConv(4, num_iters=2)(Tensor.ones(3, 4), edge_index).shape
    (3, 4)
    """

    def __init__(
        self, in_channels: int, phi: Any = None, num_iters: int = 1, epsilon: float = 0.1, gamma: float = 0.1, act: Any = "tanh",
        act_kwargs: dict[str, Any] | None = None, bias: bool = True,
    ):  # fmt: skip
        self.in_channels, self.num_iters, self.gamma, self.epsilon = in_channels, num_iters, gamma, epsilon
        self.act = activation_resolver(act, **(act_kwargs or {}))
        self.W = Tensor.zeros(in_channels, in_channels, requires_grad=True)
        self.eye = Tensor.eye(in_channels)
        self.phi = GCNConv(in_channels, in_channels, bias=False) if phi is None else phi
        self.bias = Tensor.zeros(in_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        kaiming_uniform(self.W, fan=self.in_channels, a=math.sqrt(5))
        self.phi.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Any, *args: Any, **kwargs: Any) -> Tensor:
        weight = self.W - self.W.transpose() - self.gamma * self.eye
        for _ in range(self.num_iters):
            h = linear(x, weight, self.bias) + self.phi(x, edge_index, *args, **kwargs)
            x = x + self.epsilon * (h if self.act is None else self.act(h))
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, phi={self.phi}, num_iters={self.num_iters}, epsilon={self.epsilon}, gamma={self.gamma})"
