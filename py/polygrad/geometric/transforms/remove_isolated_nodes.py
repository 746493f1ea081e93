"""Only nodes with edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host
from ._attributes import take
from .base_transform import BaseTransform


class RemoveIsolatedNodes(BaseTransform):
    """Removes the nodes that no edge begins or ends at, and numbers the others anew.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RemoveIsolatedNodes
    >>> data = RemoveIsolatedNodes()(Data(x=Tensor([[0.0], [1.0], [2.0]]), edge_index=Tensor([[0, 2], [2, 0]])))
    >>> data.edge_index.tolist(), data.x.tolist()
    ([[0, 1], [1, 0]], [[0.0], [2.0]])
    """

    def forward(self, data: Any) -> Any:
        used: dict[Any, list[np.ndarray]] = {}
        stores = [store for store in data.edge_stores if "edge_index" in store]
        pairs = [_host.edges(store.edge_index) for store in stores]
        for store, e in zip(stores, pairs):
            kinds = (None, None) if store._key is None else (store._key[0], store._key[-1])
            used.setdefault(kinds[0], []).append(e[0])
            used.setdefault(kinds[1], []).append(e[1])
        counts = {store._key: int(store.num_nodes) for store in data.node_stores}
        keep: dict[Any, np.ndarray] = {}
        number: dict[Any, np.ndarray] = {}
        for kind, n in counts.items():
            mask = np.zeros(n, np.bool_)
            for ends in used.get(kind, ()):
                mask[ends] = True
            keep[kind] = np.flatnonzero(mask)
            number[kind] = np.cumsum(mask) - 1
        # node attributes are told by their length, so all are chosen before one of them changes
        attrs = [(store, [key for key in store.keys() if store.is_node_attr(key)]) for store in data.node_stores]
        for store, e in zip(stores, pairs):
            kinds = (None, None) if store._key is None else (store._key[0], store._key[-1])
            store.edge_index = _host.tensor(np.stack([number[kinds[0]][e[0]], number[kinds[1]][e[1]]]).astype(e.dtype))
        for store, keys in attrs:
            for key in keys:
                store[key] = take(store[key], keep[store._key])
            if "num_nodes" in store:
                store.num_nodes = int(keep[store._key].size)
        return data


__all__ = ["RemoveIsolatedNodes"]
