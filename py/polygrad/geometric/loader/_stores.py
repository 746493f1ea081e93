"""A pair of FeatureStore and GraphStore as a graph to sample from: the edges are read once, rows of features when a batch needs them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data import Data, HeteroData
from ..data._values import to_array
from ..data.stores import FeatureStore, GraphStore


class Remote:
    """An attribute whose rows are asked for by their numbers."""

    def __init__(self, store: Any, attr: Any):
        self.store, self.attr = store, attr

    def rows(self, index: np.ndarray | None) -> np.ndarray:
        attr = copy.copy(self.attr)
        attr.index = None if index is None else Tensor(np.ascontiguousarray(index))
        return to_array(self.store.get_tensor(attr))


def is_stores(data: Any) -> bool:
    return isinstance(data, (tuple, list)) and len(data) == 2 and isinstance(data[0], FeatureStore) and isinstance(data[1], GraphStore)


def _edges(store: Any) -> dict[Any, tuple[np.ndarray, tuple[int, int] | None]]:
    """By type: the pairs of all edges in the order in which they are stored, and the numbers of nodes where they are known."""
    row, col, _ = store.coo()
    if not isinstance(row, dict):  # edges without types
        row, col = {None: row}, {None: col}
    sizes: dict[Any, Any] = {}
    for attr in store.get_all_edge_attrs():
        sizes[attr.edge_type] = attr.size or sizes.get(attr.edge_type)
    pairs = {kind: np.stack([to_array(row[kind]), to_array(col[kind])]).astype(np.int64, copy=False) for kind in row}
    return {kind: (pairs[kind], sizes[kind]) for kind in row}


def graph_of(data: Any, time_attr: str | None = None) -> Any:
    """data itself; or for a pair of stores a Data or HeteroData with their edges and numbers of nodes, whose other attributes are read batch by
    batch. The attribute time_attr is read at once, because the sampler needs it."""
    if not is_stores(data):
        return data
    features, edges = data[0], _edges(data[1])
    counts: dict[Any, int] = {}
    for kind, (pairs, size) in edges.items():
        for end, name in enumerate((None, None) if kind is None else (kind[0], kind[-1])):
            top = int(size[end]) if size is not None and size[end] is not None else int(pairs[end].max(initial=-1)) + 1
            counts[name] = max(counts.get(name, 0), top)
    remote: dict[Any, dict[str, Remote]] = {}
    for attr in features.get_all_tensor_attrs():
        shape = features.get_tensor_size(copy.copy(attr))
        if shape and not isinstance(attr.group_name, tuple) and not str(attr.attr_name).startswith("edge_"):
            counts[attr.group_name] = int(shape[0])
        remote.setdefault(attr.group_name, {})[attr.attr_name] = Remote(features, attr)
    made: Any = Data() if set(edges) <= {None} else HeteroData()
    if isinstance(made, Data):  # one kind of nodes: the edges say how many there are, unless attributes know of more
        made._store["num_nodes"] = max(counts.values(), default=0)
    else:
        for name, n in counts.items():
            made[name]["num_nodes"] = n
    for kind, (pairs, _) in edges.items():
        (made._store if kind is None else made[kind])["edge_index"] = Tensor(np.ascontiguousarray(pairs))
    for name, parts in remote.items():
        if time_attr in parts:
            (made._store if isinstance(made, Data) else made[name])[time_attr] = Tensor(parts.pop(str(time_attr)).rows(None))
    made.__dict__["_remote"] = remote
    return made


def remote_of(data: Any) -> dict[Any, dict[str, Remote]]:
    """Attributes that are read batch by batch, by the type of their nodes or edges."""
    return data.__dict__.get("_remote", {})


__all__ = ["Remote", "graph_of", "is_stores", "remote_of"]
