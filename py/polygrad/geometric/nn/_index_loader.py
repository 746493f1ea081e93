"""Batches of numbers 0 ... n - 1, handed to a function that makes the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from ...tensor import Tensor


class IndexLoader:
    """Goes over 0 ... num_items - 1 in batches, each passed to collate_fn as an array of int64.

    Arguments of PyTorch's DataLoader that say how batches are fetched (num_workers, pin_memory ...) are accepted and have no effect.

    >>> from polygrad.geometric.nn._index_loader import IndexLoader
    >>> [batch.tolist() for batch in IndexLoader(5, lambda index: index, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        num_items: int,
        collate_fn: Callable[[np.ndarray], Any],
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        **kwargs: Any,
    ):
        if batch_size < 1:
            raise ValueError(f"batch_size must be positive, not {batch_size}")
        self.num_items, self.collate_fn, self.batch_size, self.shuffle, self.drop_last = num_items, collate_fn, batch_size, shuffle, drop_last

    def __len__(self) -> int:
        return self.num_items // self.batch_size if self.drop_last else -(-self.num_items // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        order = Tensor.randperm(self.num_items).numpy().astype(np.int64) if self.shuffle else np.arange(self.num_items)
        for k in range(len(self)):
            yield self.collate_fn(order[k * self.batch_size : (k + 1) * self.batch_size])


__all__ = ["IndexLoader"]
