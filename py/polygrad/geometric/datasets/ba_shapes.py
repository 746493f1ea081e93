"""Houses on a Barabasi-Albert graph."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...tensor import Tensor
from ..data._values import to_array
from ..data.data import Data
from ..data.in_memory_dataset import InMemoryDataset

HOUSE = np.array([[0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4], [1, 3, 4, 4, 2, 0, 1, 3, 2, 0, 0, 1]])
HOUSE_LABELS = np.array([1, 1, 2, 2, 3])
NODES, HOUSES = 300, 80


class BAShapes(InMemoryDataset):
    """BA-Shapes ("GNNExplainer", 2019): 80 houses of five nodes hang on a Barabasi-Albert graph of 300 nodes; the class of a node is its place.

    connection_distribution: houses hang on "random" nodes, or on "uniform" ones, every third.

    >>> from polygrad.geometric.datasets import BAShapes
    >>> BAShapes()[0].num_nodes, BAShapes().num_classes
    (700, 4)
    """

    def __init__(self, connection_distribution: str = "random", transform: Callable[..., Any] | None = None):
        from ..utils import barabasi_albert_graph

        if connection_distribution not in ("random", "uniform"):
            raise ValueError(f"connection_distribution must be 'random' or 'uniform', not {connection_distribution!r}")
        super().__init__(None, transform)
        base = to_array(barabasi_albert_graph(NODES, 5)).astype(np.int64)
        if connection_distribution == "random":
            hooks = Tensor.randperm(NODES).numpy()[:HOUSES].astype(np.int64)
        else:
            hooks = np.arange(0, NODES, NODES // HOUSES)[:HOUSES]
        pairs, kinds = [base], [np.zeros(base.shape[1], np.int64)]
        for k, hook in enumerate(hooks):
            corner = NODES + 5 * k
            pairs += [HOUSE + corner, np.array([[hook, corner], [corner, hook]])]
            kinds += [np.ones(HOUSE.shape[1], np.int64), np.zeros(2, np.int64)]
        y = np.concatenate([np.zeros(NODES, np.int64), np.tile(HOUSE_LABELS, HOUSES)])
        mask = np.zeros(y.size, bool)
        mask[np.arange(400, y.size, 5)] = True
        data = Data(
            x=Tensor(np.ones((y.size, 10), np.float32)),
            edge_index=Tensor(np.concatenate(pairs, axis=1)),
            y=Tensor(y),
            expl_mask=Tensor(mask),
            edge_label=Tensor(np.concatenate(kinds)),
        )
        self._set(data, None)


__all__ = ["BAShapes"]
