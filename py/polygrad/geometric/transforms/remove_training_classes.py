"""Classes that are not trained on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import needed, to_array
from .base_transform import BaseTransform


class RemoveTrainingClasses(BaseTransform):
    """Takes the nodes of some classes out of train_mask, as for zero-shot learning.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RemoveTrainingClasses
    >>> data = Data(y=Tensor([0, 1, 2]), train_mask=Tensor([True, True, True]), num_nodes=3)
    >>> RemoveTrainingClasses([1])(data).train_mask.tolist()
    [True, False, True]
    """

    def __init__(self, classes: list[int]):
        self.classes = classes

    def forward(self, data: Any) -> Any:
        mask, y = to_array(needed(data, "train_mask", self)), to_array(needed(data, "y", self))
        data.train_mask = _host.tensor(mask & ~np.isin(y, self.classes))
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.classes})"


__all__ = ["RemoveTrainingClasses"]
