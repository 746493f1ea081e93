"""NeighborSampler: bipartite graphs, one for each layer, around nodes."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from ...tensor import Tensor
from ..data._values import positions
from ..data.data import Data
from ..sampler import NeighborSampler as Sampler
from ..sampler import NodeSamplerInput
from ..sampler.neighbor_sampler import host
from ._loop import SamplingLoader


class EdgeIndex(NamedTuple):
    """The edges between the nodes of two hops: edge_index [2, E], the numbers e_id of the edges, and the numbers of sources and destinations."""

    edge_index: Tensor
    e_id: Tensor | None
    size: tuple[int, int]

    def to(self, *args: Any, **kwargs: Any) -> EdgeIndex:
        e_id = None if self.e_id is None else self.e_id.to(*args, **kwargs)
        return EdgeIndex(self.edge_index.to(*args, **kwargs), e_id, self.size)


class Adj(NamedTuple):
    """The same as a sparse matrix, whose row i holds the edges into node i, with the values of the matrix that was sampled from."""

    adj_t: Any
    e_id: Tensor | None
    size: tuple[int, int]

    def to(self, *args: Any, **kwargs: Any) -> Adj:
        e_id = None if self.e_id is None else self.e_id.to(*args, **kwargs)
        return Adj(self.adj_t.to(*args, **kwargs), e_id, self.size)


class NeighborSampler(SamplingLoader):
    """Samples around nodes in the manner of GraphSAGE ("Inductive Representation Learning on Large Graphs", 2017), one bipartite graph a layer.

    edge_index: [2, E], or a sparse matrix whose row i holds the edges into node i: the graphs are such matrices then. sizes: how many edges into
    each node, for each hop; -1 for all. node_idx: nodes, a mask, or None for all. transform: a function of (batch_size, n_id, adjs). Further
    arguments are those of SamplingLoader.

    A batch is (batch_size, n_id, adjs): the nodes that were met, the input nodes first, and the graphs from the outermost hop in; a single one
    is not in a
    list. The destinations of a graph are the first nodes of its sources. Of each hop it draws edges into all nodes met so far.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import NeighborSampler
    >>> batch_size, n_id, adjs = next(iter(NeighborSampler(Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), sizes=[1, 1], batch_size=2)))
    >>> batch_size, n_id.tolist(), [adj.size for adj in adjs]
    (2, [0, 1, 3, 2], [(4, 3), (3, 2)])
    """

    def __init__(
        self, edge_index: Any, sizes: list[int], node_idx: Any = None, num_nodes: int | None = None, return_e_id: bool = True,
        transform: Callable[..., Any] | None = None, **kwargs: Any,
    ):  # fmt: skip
        self._adj_t = edge_index if hasattr(edge_index, "sparse_sizes") else None
        if self._adj_t is not None:
            row, col, _ = self._adj_t.coo()
            edge_index, num_nodes = col.stack(row), max(self._adj_t.sparse_sizes()) if num_nodes is None else num_nodes
        pairs = host(edge_index)
        chosen = None if node_idx is None else host(node_idx) if hasattr(node_idx, "shape") else np.asarray(node_idx)
        if num_nodes is None:
            top = int(pairs.max(initial=-1)) + 1
            num_nodes = top if chosen is None else chosen.size if chosen.dtype == bool else max(top, int(chosen.max(initial=-1)) + 1)
        self.edge_index, self.sizes, self.return_e_id, self.transform = edge_index, list(sizes), return_e_id, transform
        self.node_idx = np.arange(num_nodes) if chosen is None else positions(chosen, num_nodes, "node_idx")
        data = Data(edge_index=edge_index, num_nodes=num_nodes)
        self._samplers = [Sampler(data, [size]) for size in self.sizes]
        for sampler in self._samplers:
            sampler.rows_on_host()
        super().__init__(self.node_idx.size, **kwargs)

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        nodes = self.node_idx[index]
        layers = []
        for hop, sampler in enumerate(self._samplers):
            before = nodes.size
            out = sampler.draw_nodes(NodeSamplerInput(None, nodes), seed + hop, number, self._threads)
            nodes = np.asarray(out.node)
            layers.append((np.stack([out.row, out.col]), np.asarray(out.edge), (nodes.size, before)))
        return index.size, nodes, layers

    def _make_batch(self, prepared: Any, work: Any) -> Any:
        size, nodes, layers = work
        made = [self._layer(*layer) for layer in layers]
        adjs: Any = made[0] if len(made) == 1 else made[::-1]
        out = (size, Tensor(np.ascontiguousarray(nodes)), adjs)
        return out if self.transform is None else self.transform(*out)

    def _layer(self, pairs: np.ndarray, edge: np.ndarray, sizes: tuple[int, int]) -> EdgeIndex | Adj:
        if self._adj_t is None:
            return EdgeIndex(Tensor(pairs), Tensor(edge) if self.return_e_id else None, sizes)
        order = np.lexsort(pairs)  # as the entries of the matrix lie
        pairs, edge = pairs[:, order], edge[order]
        values = self._adj_t.storage.value()
        values = None if values is None else values[Tensor(edge)]
        adj_t = self._adj_t._made(row=pairs[1], col=pairs[0], value=values, sparse_sizes=sizes[::-1])
        return Adj(adj_t, Tensor(edge) if self.return_e_id else None, sizes)

    sample = SamplingLoader.__call__

    def __repr__(self) -> str:
        return f"{type(self).__name__}(sizes={self.sizes})"


__all__ = ["Adj", "EdgeIndex", "NeighborSampler"]
