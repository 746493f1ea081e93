"""Edges along paths of several types."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..utils import _host, coalesce
from ._attributes import to_array
from .base_transform import BaseTransform
from .line_graph import neighbour_pairs


def _check_paths(metapaths: Any) -> Any:
    for steps in metapaths:
        if len(steps) < 2:
            raise ValueError(f"a metapath has at least two edge types, not {steps}")
        if any(a[-1] != b[0] for a, b in zip(steps, steps[1:])):
            raise ValueError(f"in the metapath {steps} an edge type does not begin where the one before it ends")
    return metapaths


class _MetaPaths(BaseTransform):
    """What both kinds have in common: new edge types, and what is dropped afterwards."""

    metapaths: Any
    drop_orig_edge_types: bool
    keep_same_node_type: bool
    drop_unconnected_node_types: bool

    def forward(self, data: Any) -> Any:
        old = list(data.edge_types)
        paths = {}
        for k, steps in enumerate(self.metapaths):
            for kind in steps:
                if data._to_canonical(kind) not in old:
                    raise ValueError(f"there are no edges of the type {kind}")
            new = (steps[0][0], f"metapath_{k}", steps[-1][-1])
            self._connect(data, new, steps, k)
            paths[new] = steps
        data["metapath_dict"] = paths
        if self.drop_orig_edge_types:
            for kind in old:
                if not (self.keep_same_node_type and kind[0] == kind[-1]):
                    del data[kind]
        if self.drop_unconnected_node_types:
            joined = {name for kind in data.edge_types for name in (kind[0], kind[-1])}
            for name in list(data.node_types):
                if name not in joined:
                    del data[name]
        return data

    def _connect(self, data: Any, new: Any, steps: Any, k: int) -> None:
        raise NotImplementedError


class AddMetaPaths(_MetaPaths):
    """Adds, for each metapath (a list of edge types), edges from its first to its last type of nodes wherever such a path leads, as
    (first, 'metapath_k', last). From "Heterogeneous Graph Attention Network", Wang et al., 2019.

    drop_orig_edge_types: the other edges go, but with keep_same_node_type not those between nodes of one type. drop_unconnected_node_types: node
    types without edges go. max_sample: about how many edges of a node are followed at each step. weighted: edge_weight holds the number of
    paths, or the sum of the products of their edge_weight.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import HeteroData
    >>> from polygrad.geometric.transforms import AddMetaPaths
    >>> data = HeteroData()
    >>> data["a"].num_nodes, data["b"].num_nodes = 2, 1
    >>> data["a", "to", "b"].edge_index = Tensor([[0, 1], [0, 0]])
    >>> data["b", "of", "a"].edge_index = Tensor([[0], [1]])
    >>> AddMetaPaths([[("a", "to", "b"), ("b", "of", "a")]])(data)["a", "metapath_0", "a"].edge_index.tolist()
    [[0, 1], [1, 1]]
    """

    def __init__(
        self,
        metapaths: Any,
        drop_orig_edge_types: bool = False,
        keep_same_node_type: bool = False,
        drop_unconnected_node_types: bool = False,
        max_sample: int | None = None,
        weighted: bool = False,
    ):
        self.metapaths = _check_paths(metapaths)
        self.drop_orig_edge_types, self.keep_same_node_type = drop_orig_edge_types, keep_same_node_type
        self.drop_unconnected_node_types, self.max_sample, self.weighted = drop_unconnected_node_types, max_sample, weighted

    def _connect(self, data: Any, new: Any, steps: Any, k: int) -> None:
        rng = _host.generator()
        e, weight = self._sample(rng, *self._edges(data, steps[0]))
        for kind in steps[1:]:
            e2, weight2 = self._edges(data, kind)
            ptr = _host.starts(_host.count(e2[0], int(data[kind[0]].num_nodes)))
            first, second = neighbour_pairs(np.arange(e.shape[1]), ptr[e[1]], ptr[e[1] + 1] - ptr[e[1]])
            index, values = coalesce(_host.tensor(np.stack([e[0][first], e2[1][second]])), _host.tensor(weight[first] * weight2[second]))
            e, weight = index.numpy(), values.numpy()
            if not self.weighted:
                weight = np.ones_like(weight)
            e, weight = self._sample(rng, e, weight)
        data[new].edge_index = _host.tensor(e)
        if self.weighted:
            data[new].edge_weight = _host.tensor(weight)

    def _edges(self, data: Any, kind: Any) -> tuple[np.ndarray, np.ndarray]:
        """Edges sorted by source, and their weights."""
        store = data[kind]
        e = _host.edges(store.edge_index)
        order = np.argsort(e[0], kind="stable")
        weight = store.get("edge_weight") if self.weighted else None
        return e[:, order], np.ones(order.size, np.float32) if weight is None else to_array(weight)[order]

    def _sample(self, rng: np.random.Generator, e: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.max_sample is None:
            return e, weight
        keep = rng.random(e.shape[1]) < self.max_sample / _host.count(e[0])[e[0]]
        return e[:, keep], weight[keep]


class AddRandomMetaPaths(_MetaPaths):
    """As AddMetaPaths, but by random walks: walks_per_node of them (a number, or one for each metapath) from a share sample_ratio of the nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import HeteroData
    >>> from polygrad.geometric.transforms import AddRandomMetaPaths
    >>> data = HeteroData()
    >>> data["paper"].x, data["author"].x = Tensor.ones(3, 1), Tensor.ones(2, 1)
    >>> data["paper", "author"].edge_index = Tensor([[0, 1, 2], [0, 1, 1]])
    >>> data["author", "paper"].edge_index = Tensor([[0, 1, 1], [0, 1, 2]])
    >>> data = AddRandomMetaPaths([[("paper", "author"), ("author", "paper")]], walks_per_node=2)(data)
    >>> data["paper", "metapath_0", "paper"].edge_index.shape[0]
    2
    """

    def __init__(
        self,
        metapaths: Any,
        drop_orig_edge_types: bool = False,
        keep_same_node_type: bool = False,
        drop_unconnected_node_types: bool = False,
        walks_per_node: int | list[int] = 1,
        sample_ratio: float = 1.0,
    ):
        self.metapaths = _check_paths(metapaths)
        self.drop_orig_edge_types, self.keep_same_node_type = drop_orig_edge_types, keep_same_node_type
        self.drop_unconnected_node_types, self.sample_ratio = drop_unconnected_node_types, sample_ratio
        self.walks_per_node = [walks_per_node] * len(metapaths) if isinstance(walks_per_node, int) else walks_per_node
        if len(self.walks_per_node) != len(metapaths):
            raise ValueError(f"{len(metapaths)} metapaths need as many walks_per_node, got {len(self.walks_per_node)}")

    def _connect(self, data: Any, new: Any, steps: Any, k: int) -> None:
        rng = _host.generator()
        n = int(data[steps[0][0]].num_nodes)
        row = at = np.tile(rng.permutation(n)[: round(n * self.sample_ratio)], self.walks_per_node[k])
        for kind in steps:
            e = _host.edges(data[kind].edge_index)
            col = e[1][np.argsort(e[0], kind="stable")]
            ptr = _host.starts(_host.count(e[0], int(data[kind[0]].num_nodes)))
            degree = ptr[at + 1] - ptr[at]
            row, at, degree = row[degree > 0], at[degree > 0], degree[degree > 0]
            at = col[ptr[at] + (rng.random(at.size) * degree).astype(np.int64)]
        data[new].edge_index = coalesce(_host.tensor(np.stack([row, at]).astype(np.int64)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sample_ratio={self.sample_ratio}, walks_per_node={self.walks_per_node})"


__all__ = ["AddMetaPaths", "AddRandomMetaPaths"]
