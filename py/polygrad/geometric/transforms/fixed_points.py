"""As many points as are wanted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..utils import _host
from ._attributes import nodes_of, take
from .base_transform import BaseTransform


class FixedPoints(BaseTransform):
    """Chooses num points at random, and what belongs to them. replace: a point may be chosen several times. allow_duplicates: without
    replace, a graph with too few points repeats them all before any is repeated once more.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import FixedPoints
    >>> FixedPoints(5)(Data(pos=Tensor([[0.0], [1.0]]))).pos.shape
    (5, 1)
    """

    def __init__(self, num: int, replace: bool = True, allow_duplicates: bool = False):
        self.num, self.replace, self.allow_duplicates = num, replace, allow_duplicates

    def forward(self, data: Any) -> Any:
        n = nodes_of(data, self)
        rng = _host.generator()
        if self.replace:
            choice = rng.integers(0, n, self.num)
        elif not self.allow_duplicates:
            choice = rng.permutation(n)[: self.num]
        else:
            choice = np.concatenate([rng.permutation(n) for _ in range(-(-self.num // n))])[: self.num]
        for key, value in list(data.items()):
            if key == "num_nodes":
                data.num_nodes = int(choice.size)
            elif "edge" not in key and isinstance(value, Tensor) and value.ndim and n != 1 and int(value.shape[0]) == n:
                data[key] = take(value, choice)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num}, replace={self.replace})"


__all__ = ["FixedPoints"]
