"""Batches of graphs that all have the same sizes: their attributes are stacked along a new first axis."""

from __future__ import annotations

from typing import Any

from ..data.batch import Batch
from ..data.data import Data
from .dataloader import DataLoader, collate


def stacked(graphs: list[Any]) -> Any:
    """One object whose attributes are those of the graphs, stacked."""
    batch = Batch(_base_cls=Data)
    for key in graphs[0].keys():
        batch[key] = collate([g[key] for g in graphs])
    batch._num_graphs = len(graphs)
    return batch


class DenseDataLoader(DataLoader):
    """Batches of graphs of equal sizes, as T.ToDense makes them: every attribute gets a first axis, the number of the graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import DenseDataLoader
    >>> graphs = [Data(x=Tensor.ones(3, 2), adj=Tensor.ones(3, 3)) for _ in range(4)]
    >>> [tuple(batch.x.shape) for batch in DenseDataLoader(graphs, batch_size=2)]
    [(2, 3, 2), (2, 3, 2)]
    """

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, **kwargs: Any):
        super().__init__(dataset, batch_size, shuffle, collate_fn=stacked, **kwargs)


__all__ = ["DenseDataLoader"]
