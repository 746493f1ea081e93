"""Zachary's karate club."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.in_memory_dataset import InMemoryDataset

_NEIGHBOURS = """
1 2 3 4 5 6 7 8 10 11 12 13 17 19 21 31|0 2 3 7 13 17 19 21 30|0 1 3 7 8 9 13 27 28 32|0 1 2 7 12 13|0 6 10|0 6 10 16|0 4 5 16|0 1 2 3|
0 2 30 32 33|2 33|0 4 5|0|0 3|0 1 2 3 33|32 33|32 33|5 6|0 1|32 33|0 1 33|32 33|0 1|32 33|25 27 29 32 33|25 27 31|23 24 31|29 33|
2 23 24 33|2 31 33|23 26 32 33|1 8 32 33|0 24 25 28 32 33|2 8 14 15 18 20 22 23 29 30 31 33|
8 9 13 14 15 18 19 20 22 23 26 27 28 29 30 31 32
"""
_COMMUNITIES = "1111333101311100310101002200200200"


class KarateClub(InMemoryDataset):
    """The friendships of 34 members of a karate club ("An Information Flow Model for Conflict and Fission in Small Groups", 1977).

    The four classes are communities found by modularity; the first member of each is for training.

    >>> from polygrad.geometric.datasets import KarateClub
    >>> KarateClub()[0]
    Data(x=[34, 34], edge_index=[2, 156], y=[34], train_mask=[34])
    """

    def __init__(self, transform: Callable[..., Any] | None = None):
        super().__init__(None, transform)
        lists = [[int(k) for k in part.split()] for part in _NEIGHBOURS.split("|")]
        pairs = np.array([[a, b] for a, neighbours in enumerate(lists) for b in neighbours], np.int64).T
        y = np.array([int(c) for c in _COMMUNITIES], np.int64)
        train = np.zeros(y.size, bool)
        train[np.unique(y, return_index=True)[1]] = True
        x = np.eye(y.size, dtype=np.float32)
        self._set(Data(x=Tensor(x), edge_index=Tensor(np.ascontiguousarray(pairs)), y=Tensor(y), train_mask=Tensor(train)), None)


__all__ = ["KarateClub"]
