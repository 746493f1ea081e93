"""ImbalancedSampler: entries in random order, rare classes as often as common ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data import Data
from ..data._values import is_array, positions, to_array
from ..sampler._draw import draw_seed, generator


class ImbalancedSampler:
    """Draws entries with replacement, each with a weight of 1 / size of its class: the `sampler` of a loader.

    dataset: classes of entries (a tensor), a Data with node classes `y`, or a dataset of graphs with a class `y` each. input_nodes: indices
    or a mask of the nodes that the loader uses. num_samples: how many are drawn an epoch, by default as many as there are.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.loader import ImbalancedSampler
    >>> len(list(ImbalancedSampler(Tensor([0, 0, 0, 1]), num_samples=6)))
    6
    """

    def __init__(self, dataset: Any, input_nodes: Any = None, num_samples: int | None = None):
        if isinstance(dataset, Data):
            y = to_array(dataset.y).reshape(-1)
            if y.size != int(dataset.num_nodes):
                raise ValueError(f"there are {y.size} classes for {int(dataset.num_nodes)} nodes")
        elif is_array(dataset):
            y = to_array(dataset).reshape(-1)
        else:
            ys = [to_array(data.y).reshape(-1) for data in dataset]
            y = np.concatenate(ys) if ys else np.zeros(0, np.int64)
            if y.size != len(dataset):
                raise ValueError(f"there are {y.size} classes for {len(dataset)} graphs")
            input_nodes = None
        if input_nodes is not None:
            y = y[positions(input_nodes, y.size, "input_nodes")]
        if y.dtype.kind not in "iu":
            raise ValueError(f"classes must be whole numbers, not {y.dtype}")
        if y.size and y.min() < 0:
            raise ValueError(f"classes must not be negative, got {int(y.min())}")
        self.num_samples = y.size if num_samples is None else num_samples
        self.weights = 1.0 / np.bincount(y)[y] if y.size else np.zeros(0)
        self.replacement = True

    def __iter__(self) -> Iterator[int]:
        total = np.cumsum(self.weights)
        if not total.size:
            return iter(())
        drawn = np.searchsorted(total, generator(draw_seed()).random(self.num_samples) * total[-1], side="right")
        return iter(np.minimum(drawn, total.size - 1).tolist())

    def __len__(self) -> int:
        return self.num_samples


__all__ = ["ImbalancedSampler"]
