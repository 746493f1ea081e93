"""RootedEgoNets and RootedRWSubgraph: a small graph around every node."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data, Join
from ._attributes import edges_of, nodes_of
from .base_transform import BaseTransform


def _sub_edges(data: Any, value: Any, store: Any) -> Any:
    return int(data["n_id"].shape[0])


_SUBGRAPH = ("sub_edge_index", "n_id", "e_id", "n_sub_batch", "e_sub_batch")


class RootedSubgraphData(Data):
    """A graph with subgraphs: `sub_edge_index` [2, S] between places of `n_id`, `n_id` (nodes), `e_id` (edges), and `n_sub_batch`,
    `e_sub_batch`, the root
    of each."""

    joins: ClassVar[dict[str, Join]] = {
        "sub_edge_index": Join(-1, _sub_edges),
        "n_id": Join(0, lambda data, value, store: data.num_nodes),
        "e_id": Join(0, lambda data, value, store: data.num_edges),
        "n_sub_batch": Join(0, lambda data, value, store: data.num_nodes),
        "e_sub_batch": Join(0, lambda data, value, store: data.num_nodes),
    }

    def map_data(self) -> Data:
        """The subgraphs as one graph, with the attributes of the nodes and edges."""
        out = copy.copy(self)
        counted = "num_nodes" in self
        of_nodes = [key for key in self.keys() if key not in _SUBGRAPH and self.is_node_attr(key)]
        of_edges = [key for key in self.keys() if key not in _SUBGRAPH and key != "edge_index" and self.is_edge_attr(key)]
        out["edge_index"] = self["sub_edge_index"]
        for key in of_nodes:
            out[key] = self[key].index_select(self.__cat_dim__(key, self[key]), self["n_id"])
        for key in of_edges:
            out[key] = self[key].index_select(self.__cat_dim__(key, self[key]), self["e_id"])
        if counted:
            out["num_nodes"] = int(self["n_id"].shape[0])
        for key in _SUBGRAPH:
            if key != "n_sub_batch":
                del out[key]
        return out


class _Rooted(BaseTransform):
    def extract(self, e: np.ndarray, n: int) -> np.ndarray:
        """inside[r, v]: is v in the subgraph of r?"""
        raise NotImplementedError

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        inside = self.extract(e, n)
        root, node = np.nonzero(inside)
        place = np.cumsum(inside.reshape(-1)).reshape(n, n) - 1
        owner, edge = np.nonzero(inside[:, e[0]] & inside[:, e[1]])
        out = RootedSubgraphData()
        for key, value in data:
            out[key] = value
        out["sub_edge_index"] = Tensor(np.stack([place[owner, e[0, edge]], place[owner, e[1, edge]]]))
        out["n_id"], out["e_id"] = Tensor(node), Tensor(edge)
        out["n_sub_batch"], out["e_sub_batch"] = Tensor(root), Tensor(owner)
        return out


class RootedEgoNets(_Rooted):
    """Adds the subgraph of all nodes within num_hops of each node ("From Stars to Subgraphs", 2022). O(V^2) memory.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RootedEgoNets
    >>> out = RootedEgoNets(1)(Data(edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3))
    >>> out.n_id.tolist(), out.n_sub_batch.tolist()
    ([0, 1, 0, 1, 2, 1, 2], [0, 0, 1, 1, 1, 2, 2])
    """

    def __init__(self, num_hops: int):
        self.num_hops = num_hops

    def extract(self, e: np.ndarray, n: int) -> np.ndarray:
        inside = np.eye(n, dtype=bool)
        for _ in range(self.num_hops):
            new = inside.copy()
            np.logical_or.at(new.T, e[0], inside.T[e[1]])  # v joins the subgraph of r if an edge leads from v to a node of it
            inside = new
        return inside

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_hops={self.num_hops})"


class RootedRWSubgraph(_Rooted):
    """Adds the subgraph of the nodes that random walks of walk_length steps from each node meet ("From Stars to Subgraphs", 2022). O(V^2) memory.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import RootedRWSubgraph
    >>> data = RootedRWSubgraph(walk_length=1)(Data(edge_index=Tensor([[0, 1], [1, 0]]), num_nodes=2))
    >>> data.n_id.tolist(), data.n_sub_batch.tolist()
    ([0, 1, 0, 1], [0, 0, 1, 1])
    """

    def __init__(self, walk_length: int, repeat: int = 1):
        self.walk_length, self.repeat = walk_length, repeat

    def extract(self, e: np.ndarray, n: int) -> np.ndarray:
        from ..sampler import random_walk

        start = np.tile(np.arange(n), self.repeat)
        walks = random_walk(Tensor(np.ascontiguousarray(e)), Tensor(start), self.walk_length, num_nodes=n).numpy()
        inside = np.eye(n, dtype=bool)
        inside[np.repeat(start, walks.shape[1]), walks.reshape(-1)] = True
        return inside

    def __repr__(self) -> str:
        return f"{type(self).__name__}(walk_length={self.walk_length})"


__all__ = ["RootedEgoNets", "RootedRWSubgraph", "RootedSubgraphData"]
