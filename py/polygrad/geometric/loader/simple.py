"""Loaders of graphs as they are: stacked along a new axis, or in lists."""

from __future__ import annotations

from typing import Any

from ..data.batch import Batch
from .dataloader import DataLoader, collate


def _stacked(graphs: list[Any]) -> Batch:
    batch = Batch()
    for key in graphs[0].keys():
        batch[key] = collate([g[key] for g in graphs])
    return batch


class DenseDataLoader(DataLoader):
    """Batches of graphs with attributes of equal shapes, stacked along a new first axis. Arguments as in DataLoader.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import DenseDataLoader
    >>> graphs = [Data(x=Tensor.ones(3, 2), adj=Tensor.eye(3)) for _ in range(4)]
    >>> [(batch.x.shape, batch.adj.shape) for batch in DenseDataLoader(graphs, batch_size=2)]
    [((2, 3, 2), (2, 3, 3)), ((2, 3, 2), (2, 3, 3))]
    """

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, **kwargs: Any):
        kwargs.pop("collate_fn", None)
        super().__init__(dataset, batch_size, shuffle, collate_fn=_stacked, **kwargs)


class DataListLoader(DataLoader):
    """Lists of graphs, not joined. Arguments as in DataLoader.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import DataListLoader
    >>> graphs = [Data(x=Tensor.ones(k, 1)) for k in (1, 2, 3)]
    >>> [[g.num_nodes for g in batch] for batch in DataListLoader(graphs, batch_size=2)]
    [[1, 2], [3]]
    """

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, **kwargs: Any):
        kwargs.pop("collate_fn", None)
        super().__init__(dataset, batch_size, shuffle, collate_fn=list, **kwargs)


__all__ = ["DataListLoader", "DenseDataLoader"]
