"""ShaDowKHopSampler: a graph of its own around every node."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data._values import positions, select
from ..data.batch import Batch
from ..data.data import Data
from ..sampler import NeighborSampler, NodeSamplerInput
from ..sampler.neighbor_sampler import host
from ..sparse_tensor import SparseTensor
from ._loop import SamplingLoader


class ShaDowKHopSampler(SamplingLoader):
    """Batches of subgraphs around nodes ("Decoupling the Depth and Scope of Graph Neural Networks", 2021): of each node, num_neighbors of the
    edges into
    it, depth hops far, and all edges between the nodes that were met.

    data: Data with edge_index, or with `adj_t` in its place, which batches then have too. node_idx: nodes, a mask, or None for all.
    replace: an edge may be drawn several times. Further arguments are those of SamplingLoader.

    A batch has the joined subgraphs with `batch`, `ptr` and `root_n_id`, the places of the nodes in question; node attributes are those of its nodes
    (`y` those of the roots), edge attributes those of its edges.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import ShaDowKHopSampler
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> batch = next(iter(ShaDowKHopSampler(data, depth=1, num_neighbors=2, batch_size=2)))
    >>> int(batch.num_nodes), batch.root_n_id.tolist()
    (4, [0, 3])
    """

    def __init__(self, data: Data, depth: int, num_neighbors: int, node_idx: Any = None, replace: bool = False, **kwargs: Any):
        self.data, self.depth, self.num_neighbors, self.replace = data, depth, num_neighbors, replace
        n = int(data.num_nodes)
        self._adj_t: SparseTensor | None = data.adj_t if "edge_index" not in data and "adj_t" in data else None
        if self._adj_t is not None:  # its entries are the edges, in their order
            row, col, _ = self._adj_t.coo()
            data = copy.copy(data)
            data.edge_index = Tensor.stack(col, row).realize()
        self.node_idx = np.arange(n) if node_idx is None else positions(host(node_idx) if hasattr(node_idx, "shape") else node_idx, n, "node_idx")
        self._sampler = NeighborSampler(data, [num_neighbors] * depth, subgraph_type="induced", replace=replace, disjoint=True)
        super().__init__(self.node_idx.size, **kwargs)

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        roots = self.node_idx[index]
        return roots.size, self._sampler.draw_nodes(NodeSamplerInput(index, roots), seed, number, self._threads)

    def _make_batch(self, prepared: Any, work: Any) -> Any:
        count, out = work
        order = np.lexsort((out.node, out.batch))  # the nodes of a subgraph one after the other, by their numbers
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        owner, nodes = out.batch[order], out.node[order]
        pairs = np.stack([place[out.row], place[out.col]])
        by = np.lexsort((pairs[1], pairs[0]) if self._adj_t is None else (pairs[0], pairs[1]))
        pairs = np.ascontiguousarray(pairs[:, by])
        ptr = np.searchsorted(owner, np.arange(count + 1))
        batch = Batch(batch=Tensor(owner.astype(np.int64)), ptr=Tensor(ptr.astype(np.int64)))
        batch.root_n_id = Tensor(place[:count])  # seeds come first in a sample
        edges = np.asarray(out.edge)[by]
        if self._adj_t is None:
            batch.edge_index = Tensor(pairs)
        else:
            values = self._adj_t.storage.value()
            values = None if values is None else select(values, edges)
            batch.adj_t = SparseTensor(row=pairs[1], col=pairs[0], value=values, sparse_sizes=(nodes.size, nodes.size), is_sorted=True)
        n = int(self.data.num_nodes)
        for key, value in self.data:
            if key in ("edge_index", "adj_t", "num_nodes", "batch", "ptr"):
                continue
            length = value.shape[0] if isinstance(value, Tensor) and value.ndim else None
            if key == "y" and length == n:
                batch[key] = select(value, nodes[place[:count]])
            elif self.data.is_node_attr(key):
                batch[key] = select(value, nodes)
            else:
                batch[key] = select(value, edges) if self.data.is_edge_attr(key) else value
        return batch


__all__ = ["ShaDowKHopSampler"]
