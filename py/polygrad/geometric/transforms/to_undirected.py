"""Edges in both directions."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..data import HeteroData
from ..utils import _host, to_undirected
from .base_transform import BaseTransform


class ToUndirected(BaseTransform):
    """Adds the opposite of every edge. Edges that occur several times are merged, their attributes combined by `reduce`.

    In a HeteroData, edges between two types of nodes get their opposites as a new type, ('dst', 'rev_name', 'src'); with merge=False so do
    edges between nodes of one type.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import ToUndirected
    >>> ToUndirected()(Data(edge_index=Tensor([[0, 1], [1, 2]]), num_nodes=3)).edge_index.tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """

    def __init__(self, reduce: str = "add", merge: bool = True):
        self.reduce, self.merge = reduce, merge

    def forward(self, data: Any) -> Any:
        for store in data.edge_stores:
            if "edge_index" not in store:
                continue
            if isinstance(data, HeteroData) and (store.is_bipartite() or not self.merge):
                src, name, dst = store._key
                e = _host.edges(store.edge_index)
                back = data[dst, f"rev_{name}", src]
                back.edge_index = _host.tensor(e[::-1])
                for key, value in list(store.items()):
                    if key != "edge_index" and isinstance(value, Tensor) and value.ndim and int(value.shape[0]) == e.shape[1]:
                        back[key] = value
            else:
                keys = [key for key in store.keys() if key != "edge_index" and store.is_edge_attr(key)]
                store.edge_index, values = to_undirected(store.edge_index, [store[key] for key in keys], reduce=self.reduce)
                for key, value in zip(keys, values):
                    store[key] = value
        return data


__all__ = ["ToUndirected"]
