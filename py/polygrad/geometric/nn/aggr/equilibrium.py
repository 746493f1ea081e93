"""Equilibrium aggregation (Bartunov et al., "Equilibrium aggregation: encoding sets via optimization", 2022)."""

from __future__ import annotations

from typing import Any, Callable

from ....nn import LayerNorm, Linear, Module, ModuleList, Sequential, Tanh
from ....tensor import Tensor
from ..._rows import rows_of
from ..inits import constant, reset
from .base import Aggregation


class ResNetPotential(Module):
    """The energy of items x with the result y of their row: a residual network of [x, y], averaged over each row, summed over rows."""

    def __init__(self, in_channels: int, out_channels: int, num_layers: list[int]):
        sizes = [in_channels, *num_layers, out_channels]
        hidden: list[Any] = [Sequential(Linear(a, b), LayerNorm(b), Tanh()) for a, b in zip(sizes[:-2], sizes[1:-1])]
        self.layers = ModuleList([*hidden, Linear(sizes[-2], sizes[-1])])
        self.res_trans = ModuleList([Linear(in_channels, size) for size in sizes[1:]])

    def forward(self, x: Tensor, y: Tensor, index: Tensor | None, dim_size: Any = None) -> Tensor:
        if index is None:
            given = Tensor.cat(x, y.expand(x.shape[0], -1), dim=1)
        else:
            rows = rows_of(index, dim_size)
            given = Tensor.cat(x, rows.spread(y), dim=1)
        h = given
        for layer, res in zip(self.layers, self.res_trans):
            h = res(given) + layer(h)
        return h.mean() if index is None else rows.reduce(h, "mean").sum()


class MomentumOptimizer(Module):
    """Descent with momentum, v' = sigmoid(m) v - softplus(r) dE/dy and y' = y + v', by steps that gradients flow through."""

    def __init__(self, learning_rate: float = 0.1, momentum: float = 0.9, learnable: bool = True):
        self._initial_lr, self._initial_mom = learning_rate, momentum
        self._lr = Tensor([learning_rate], requires_grad=learnable)
        self._mom = Tensor([momentum], requires_grad=learnable)

    def _state_items(self) -> dict[str, Any]:
        return {"_lr": self._lr, "_mom": self._mom}

    def reset_parameters(self) -> None:
        constant(self._lr, self._initial_lr)
        constant(self._mom, self._initial_mom)

    @property
    def learning_rate(self) -> Tensor:
        return self._lr.softplus()

    @property
    def momentum(self) -> Tensor:
        return self._mom.sigmoid()

    def forward(self, x: Tensor, y: Tensor, index: Tensor | None, dim_size: Any, func: Callable[..., Tensor], iterations: int = 5) -> Tensor:
        speed: Any = None
        for _ in range(iterations):
            (slope,) = func(x, y, index, dim_size).gradient(y)
            delta = self.learning_rate * slope
            speed = -delta if speed is None else self.momentum * speed - delta
            y = y + speed
        return y


class EquilibriumAggregation(Aggregation):
    """The result that an energy of the items and the result is least for, approached by a few steps of descent from 0:

        E(x, y) = sum over rows of mean over their items of f([x, y]) + softplus(lamb) mean |y|^2

    in_channels, out_channels: features of an item and of the result. num_layers: sizes of the hidden layers of f. grad_iter: steps. lamb: first
    value of the regularization. Shapes: x [N, in_channels], index [N]; out [rows, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import EquilibriumAggregation
    >>> EquilibriumAggregation(8, 4, num_layers=[5])(Tensor.ones(5, 8), Tensor([0, 0, 1, 1, 1])).shape
    (2, 4)
    """

    def __init__(self, in_channels: int, out_channels: int, num_layers: list[int], grad_iter: int = 5, lamb: float = 0.1):
        self.potential = ResNetPotential(in_channels + out_channels, 1, num_layers)
        self.optimizer = MomentumOptimizer()
        self.initial_lamb, self.grad_iter, self.output_dim = lamb, grad_iter, out_channels
        self.lamb = Tensor([float(lamb)], requires_grad=True)

    def reset_parameters(self) -> None:
        constant(self.lamb, self.initial_lamb)
        reset(self.optimizer)
        reset(self.potential)

    def init_output(self, dim_size: Any, dtype: Any = None) -> Tensor:
        """What the descent begins with."""
        return Tensor.zeros(dim_size, self.output_dim, dtype=dtype, requires_grad=True).contiguous()

    def reg(self, y: Tensor) -> Tensor:
        """The part of the energy that keeps results small."""
        return self.lamb.softplus() * y.square().sum(-1).mean()

    def energy(self, x: Tensor, y: Tensor, index: Tensor | None, dim_size: Any = None) -> Tensor:
        return (self.potential(x, y, index, dim_size) + self.reg(y)).sum()

    def forward(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2
    ) -> Tensor:  # fmt: skip
        self.assert_index_present(index)
        return self.optimizer(x, self.init_output(dim_size, x.dtype), index, dim_size, self.energy, iterations=self.grad_iter)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


__all__ = ["EquilibriumAggregation", "MomentumOptimizer", "ResNetPotential"]
