"""An activation with a parameter."""

from __future__ import annotations

from ...nn.module import Module
from ...tensor import Tensor


class PReLU(Module):
    """x where x > 0, else weight * x; one weight, or one for each of num_parameters channels (axis 1).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.act import PReLU
    >>> PReLU()(Tensor([-4.0, 2.0])).tolist()
    [-1.0, 2.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25):
        self.num_parameters, self._init = num_parameters, init
        self.weight = Tensor.full((num_parameters,), init, requires_grad=True)

    def reset_parameters(self) -> None:
        self.weight.assign(Tensor.full((self.num_parameters,), self._init, dtype=self.weight.dtype))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.reshape(-1, *[1] * (x.ndim - 2)) if x.ndim > 2 else self.weight
        return (x > 0).where(x, weight * x)


__all__ = ["PReLU"]
