"""HyperGraphData: a graph whose edges join any number of nodes."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ..utils import hyper_subgraph, select
from ._values import to_array
from .data import Data


class HyperGraphData(Data):
    """A hypergraph: edge_index [2, P] has a column (node, hyperedge) for each node of each hyperedge; edge_attr has a row for each hyperedge.

    Arguments and attributes are those of Data. `num_edges` is the number of hyperedges.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data.hypergraph_data import HyperGraphData
    >>> data = HyperGraphData(x=Tensor.ones(5, 2), edge_index=Tensor([[0, 1, 2, 1, 2, 3, 4], [0, 0, 0, 1, 1, 1, 1]]))
    >>> data, data.num_nodes, data.num_edges
    (HyperGraphData(x=[5, 2], edge_index=[2, 7]), 5, 2)
    """

    def __init__(self, x: Any = None, edge_index: Any = None, edge_attr: Any = None, y: Any = None, pos: Any = None, **kwargs: Any):
        super().__init__(x=x, edge_index=edge_index, edge_attr=edge_attr, y=y, pos=pos, **kwargs)

    def _count(self, row: int) -> int:
        pairs = to_array(self.edge_index)
        return int(pairs[row].max()) + 1 if pairs.size else 0

    @property
    def num_edges(self) -> int:
        """Number of hyperedges."""
        return 0 if self.edge_index is None else self._count(1)

    @property
    def num_nodes(self) -> int | None:  # type: ignore[override]
        if self.edge_index is None or any(key in self._store for key in ("num_nodes", "x", "pos", "batch")):
            return Data.num_nodes.fget(self)  # type: ignore[attr-defined]
        warnings.warn("Unable to accurately infer 'num_nodes': only 'edge_index' tells it. Set it as an attribute.", stacklevel=2)
        return self._count(0)

    @num_nodes.setter
    def num_nodes(self, num_nodes: int | None) -> None:
        self._store.num_nodes = num_nodes

    def is_node_attr(self, key: str) -> bool:
        value = self[key]
        return key != "edge_index" and getattr(value, "ndim", 0) > 0 and key not in ("edge_attr", "num_nodes") and value.shape[0] == self.num_nodes

    def is_edge_attr(self, key: str) -> bool:
        value = self[key]
        return key == "edge_index" or (getattr(value, "ndim", 0) > 0 and not self.is_node_attr(key) and value.shape[0] == self.num_edges)

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return np.array([[self.num_nodes], [self.num_edges]]) if key == "edge_index" else super().__inc__(key, value, *args, **kwargs)

    def subgraph(self, subset: Any) -> HyperGraphData:
        """The hypergraph of some nodes, a mask or indices: hyperedges keep the nodes among them, and those with one node or none are left out."""
        edge_index, _, kept = hyper_subgraph(subset, self.edge_index, relabel_nodes=True, num_nodes=self.num_nodes, return_edge_mask=True)
        out = copy.copy(self)
        for key, value in self:
            if key == "edge_index":
                out._store[key] = edge_index
            elif key == "num_nodes":
                out._store[key] = int(to_array(subset).sum()) if to_array(subset).dtype == bool else int(subset.shape[0])
            elif self.is_node_attr(key):
                out._store[key] = select(value, subset, 0)
            elif self.is_edge_attr(key):
                out._store[key] = select(value, kept, 0)
        return out

    def edge_subgraph(self, subset: Any) -> Any:
        raise NotImplementedError("a hypergraph has no subgraph of single edges")

    def to_heterogeneous(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a hypergraph cannot become a HeteroData")

    def has_isolated_nodes(self) -> bool:
        return self.edge_index is not None and np.unique(to_array(self.edge_index)[0]).size < (self.num_nodes or 0)

    def has_self_loops(self) -> bool:
        raise NotImplementedError("a hyperedge is no loop")

    def is_directed(self) -> bool:
        raise NotImplementedError("hyperedges have no direction")

    def is_undirected(self) -> bool:
        raise NotImplementedError("hyperedges have no direction")

    def validate(self, raise_on_error: bool = True) -> bool:
        """Are the pairs (node, hyperedge) in range? Otherwise an error, or a warning."""
        pairs = None if self.edge_index is None else to_array(self.edge_index)
        problem = ""
        if self.num_nodes is None:
            problem = "'num_nodes' is undefined"
        elif pairs is not None and (pairs.ndim != 2 or pairs.shape[0] != 2):
            problem = f"'edge_index' needs to be of shape [2, num_edges], not {list(pairs.shape)}"
        elif pairs is not None and pairs.size and (pairs.min() < 0 or pairs[0].max() >= self.num_nodes):
            problem = f"'edge_index' contains node {int(pairs[0].max())} or negative indices, where there are {self.num_nodes} nodes"
        if problem and raise_on_error:
            raise ValueError(f"{problem} in '{type(self).__name__}'")
        if problem:
            import warnings

            warnings.warn(f"{problem} in '{type(self).__name__}'", stacklevel=2)
        return not problem


__all__ = ["HyperGraphData"]
