"""Edges for training, validation and test."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ..data import HeteroData
from ..utils import _host, negative_sampling
from ._attributes import take, to_array
from .base_transform import BaseTransform


class RandomLinkSplit(BaseTransform):
    """Splits the edges into three graphs, (train_data, val_data, test_data), each with edges to predict.

    edge_index has the edges that may be used for messages: the training edges in the first and second graph, also those of validation in the
    third. edge_label_index and edge_label are the edges to predict: real ones (1, or their edge_label + 1) and negative samples (0).

    num_val, num_test: numbers, or shares of the edges (floats). is_undirected: an edge and its opposite stay together, and are predicted
    once. key: the name instead of 'edge_label'. split_labels: pos_edge_label(_index) and neg_edge_label(_index) instead of both in one.
    add_negative_train_samples: negative samples for training too. neg_sampling_ratio: how many for each real edge.
    disjoint_train_ratio: the share of training edges that are predicted, and not used for messages.
    edge_types, rev_edge_types: in a HeteroData, the types to split, and for each the type of its opposites (or None), which is split with it.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RandomLinkSplit
    >>> data = Data(x=Tensor.ones(20, 1), edge_index=Tensor([list(range(19)), list(range(1, 20))]))
    >>> train, val, test = RandomLinkSplit(num_val=0.1, num_test=0.2)(data)
    >>> train.num_edges, val.edge_label.tolist(), test.edge_label.shape
    (15, [1.0, 0.0], (6,))
    """

    def __init__(
        self,
        num_val: int | float = 0.1,
        num_test: int | float = 0.2,
        is_undirected: bool = False,
        key: str = "edge_label",
        split_labels: bool = False,
        add_negative_train_samples: bool = True,
        neg_sampling_ratio: float = 1.0,
        disjoint_train_ratio: int | float = 0.0,
        edge_types: Any = None,
        rev_edge_types: Any = None,
    ):
        if isinstance(edge_types, list):
            rev_edge_types = [None] * len(edge_types) if rev_edge_types is None else rev_edge_types
            if not isinstance(rev_edge_types, list) or len(edge_types) != len(rev_edge_types):
                raise ValueError(f"{len(edge_types)} edge types need as many rev_edge_types, got {rev_edge_types}")
        self.num_val, self.num_test, self.is_undirected, self.key, self.split_labels = num_val, num_test, is_undirected, key, split_labels
        self.add_negative_train_samples, self.neg_sampling_ratio = add_negative_train_samples, neg_sampling_ratio
        self.disjoint_train_ratio, self.edge_types, self.rev_edge_types = disjoint_train_ratio, edge_types, rev_edge_types

    def forward(self, data: Any) -> tuple[Any, Any, Any]:
        parts = tuple(copy.copy(data) for _ in range(3))
        if isinstance(data, HeteroData):
            if self.edge_types is None:
                raise ValueError("RandomLinkSplit expects 'edge_types' to be specified for a HeteroData")
            kinds = self.edge_types if isinstance(self.edge_types, list) else [self.edge_types]
            back = self.rev_edge_types if isinstance(self.edge_types, list) else [self.rev_edge_types]
            for kind, rev in zip(kinds, back):
                self._split_store(data, data[kind], parts, [part[kind] for part in parts], rev)
        else:
            self._split_store(data, data._store, parts, [part._store for part in parts], None)
        return parts

    def _split_store(self, data: Any, store: Any, parts: tuple[Any, ...], outs: list[Any], rev: Any) -> None:
        undirected = self.is_undirected and not store.is_bipartite() and (rev is None or store._key == data[rev]._key)
        e = _host.edges(store.edge_index)
        rng = _host.generator()
        order = rng.permutation(np.flatnonzero(e[0] <= e[1]) if undirected else np.arange(e.shape[1]))
        num_val, num_test = (int(c * order.size) if isinstance(c, float) else c for c in (self.num_val, self.num_test))
        num_train = order.size - num_val - num_test
        disjoint = self.disjoint_train_ratio
        disjoint = int(disjoint * max(num_train, 0)) if isinstance(disjoint, float) else disjoint
        if num_train <= 0 or num_train - disjoint <= 0:
            raise ValueError(
                f"Insufficient number of edges for training, {order.size}: {num_val} for validation, {num_test} for test, {disjoint} to be predicted"
            )
        train, val, test = order[:num_train], order[num_train : num_train + num_val], order[num_train + num_val :]
        for part, out, edges in zip(parts, outs, (train[disjoint:], train, order[: num_train + num_val])):
            _keep_edges(part, out, e, edges, undirected, rev)
        wanted = [int(c * self.neg_sampling_ratio) for c in (disjoint or num_train, num_val, num_test)]
        if not self.add_negative_train_samples:
            wanted[0] = 0
        negative, wanted = self._negatives(store, wanted)
        cut = (negative[:, wanted[1] + wanted[2] :], negative[:, : wanted[1]], negative[:, wanted[1] : wanted[1] + wanted[2]])
        for out, edges, neg in zip(outs, (train[:disjoint] if disjoint else train, val, test), cut):
            self._label(store, out, e, edges, neg)

    def _negatives(self, store: Any, wanted: list[int]) -> tuple[np.ndarray, list[int]]:
        """Negative samples, and how many of them each graph gets."""
        total = sum(wanted)
        size = store.size()
        if store._key is None or store._key[0] == store._key[-1]:
            size = size[0]
        negative = negative_sampling(store.edge_index, size, num_neg_samples=total).numpy()
        found = negative.shape[1]
        if found < total:
            ratio = found / total
            warnings.warn(f"There are not enough negative edges for this sampling ratio: it becomes {ratio:.2f}", stacklevel=4)
            wanted = [int(c / total * found) for c in wanted[:2]]
            wanted.append(found - sum(wanted))
        return negative, wanted

    def _label(self, store: Any, out: Any, e: np.ndarray, edges: np.ndarray, negative: np.ndarray) -> None:
        key, num_neg = self.key, negative.shape[1]
        index = e[:, edges]
        if hasattr(store, key):
            label = to_array(store[key])[edges]
            if num_neg:
                if label.dtype.kind not in "iu":
                    raise TypeError(f"{key!r} must hold whole numbers, so that 0 can stand for negative samples, not {label.dtype}")
                label = label + 1
            if hasattr(out, key):
                delattr(out, key)
        else:
            label = np.ones(edges.size, np.float32)
        if self.split_labels:
            out[f"pos_{key}"], out[f"pos_{key}_index"] = _host.tensor(label), _host.tensor(index)
            if num_neg:
                out[f"neg_{key}"] = _host.tensor(np.zeros((num_neg, *label.shape[1:]), label.dtype))
                out[f"neg_{key}_index"] = _host.tensor(negative)
        else:
            out[key] = _host.tensor(np.concatenate([label, np.zeros((num_neg, *label.shape[1:]), label.dtype)]))
            out[f"{key}_index"] = _host.tensor(np.concatenate([index, negative], axis=1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_val={self.num_val}, num_test={self.num_test})"


def _keep_edges(data: Any, store: Any, e: np.ndarray, edges: np.ndarray, undirected: bool, rev: Any) -> None:
    """Leaves only some edges in a store, with their opposites if it is undirected, and makes the opposite store follow."""
    both = np.concatenate([edges, edges]) if undirected else edges
    for key in [key for key in store.keys() if key != "edge_index" and store.is_edge_attr(key)]:
        store[key] = take(store[key], both)
    kept = e[:, edges]
    store.edge_index = _host.tensor(np.concatenate([kept, kept[::-1]], axis=1) if undirected else kept)
    if rev is None:
        return
    back = data[rev]
    for key in list(back.keys()):
        if key not in store:
            del back[key]
        elif key == "edge_index":
            back.edge_index = _host.tensor(_host.edges(store.edge_index)[::-1])
        else:
            back[key] = store[key]


__all__ = ["RandomLinkSplit"]
