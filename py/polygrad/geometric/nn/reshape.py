"""A change of shape as a layer."""

from __future__ import annotations

from typing import Any

from ...nn.module import Module
from ...tensor import Tensor


class Reshape(Module):
    """x.reshape(shape), for use in a Sequential.

    Shapes: any; out `shape`.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import Reshape
    >>> Reshape(-1, 2, 3)(Tensor.ones(4, 6)).shape
    (4, 2, 3)
    """

    def __init__(self, *shape: Any):
        self.shape = shape

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(*self.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(str(s) for s in self.shape)})"


__all__ = ["Reshape"]
