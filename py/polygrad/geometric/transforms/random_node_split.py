"""Nodes for training, validation and test."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import to_array
from .base_transform import BaseTransform


class RandomNodeSplit(BaseTransform):
    """Adds the masks train_mask, val_mask and test_mask.

    split 'train_rest': num_val and num_test nodes, the rest for training. 'test_rest': num_train_per_class nodes of each class for training,
    num_val, the rest for test. 'random': num_train_per_class nodes of each class, num_val and num_test nodes.
    num_val, num_test: numbers, or shares of the nodes (floats). num_splits: masks get a column a split. key: the attribute with the classes;
    node types without it are left alone.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RandomNodeSplit
    >>> data = RandomNodeSplit(num_val=0.2, num_test=0.3)(Data(x=Tensor.ones(10, 1), y=Tensor([0] * 10)))
    >>> [int(m.sum().item()) for m in (data.train_mask, data.val_mask, data.test_mask)]
    [5, 2, 3]
    """

    def __init__(
        self,
        split: str = "train_rest",
        num_splits: int = 1,
        num_train_per_class: int = 20,
        num_val: int | float = 500,
        num_test: int | float = 1000,
        key: str | None = "y",
    ):
        if split not in ("train_rest", "test_rest", "random"):
            raise ValueError(f"split must be 'train_rest', 'test_rest' or 'random', not {split!r}")
        self.split, self.num_splits, self.num_train_per_class = split, num_splits, num_train_per_class
        self.num_val, self.num_test, self.key = num_val, num_test, key

    def forward(self, data: Any) -> Any:
        rng = _host.generator()
        for store in data.node_stores:
            if self.key is not None and not hasattr(store, self.key):
                continue
            masks = np.stack([self._split(store, rng) for _ in range(self.num_splits)], axis=-1)
            if self.num_splits == 1:
                masks = masks[..., 0]
            store.train_mask, store.val_mask, store.test_mask = (_host.tensor(m) for m in masks)
        return data

    def _split(self, store: Any, rng: np.random.Generator) -> np.ndarray:
        """[3, nodes]."""
        n = int(store.num_nodes)
        num_val, num_test = (round(n * c) if isinstance(c, float) else c for c in (self.num_val, self.num_test))
        masks = np.zeros((3, n), np.bool_)
        train, val, test = masks
        if self.split == "train_rest":
            order = rng.choice(n, min(n, num_val + num_test), replace=False)  # the others need not be shuffled
            train[:] = True
            train[order] = False
        else:
            if self.key is None:
                raise ValueError(f"RandomNodeSplit(split={self.split!r}) needs the name of the attribute with the classes")
            y = to_array(store[self.key]).reshape(-1)
            for c in range(int(y.max(initial=-1)) + 1):
                train[rng.permutation(np.flatnonzero(y == c))[: self.num_train_per_class]] = True
            order = rng.permutation(np.flatnonzero(~train))
        val[order[:num_val]] = True
        test[order[num_val:] if self.split == "test_rest" else order[num_val : num_val + num_test]] = True
        return masks

    def __repr__(self) -> str:
        return f"{type(self).__name__}(split={self.split})"


__all__ = ["RandomNodeSplit"]
