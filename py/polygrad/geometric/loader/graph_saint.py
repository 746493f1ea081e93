"""GraphSAINT: subgraphs of sampled nodes, and coefficients that make up for how often nodes and edges are sampled (Zeng et al., 2020)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..data._sizes import sized
from ..sampler import SamplerOutput
from ..sampler._draw import Plan, Seeds, gather, generator
from ..sampler.neighbor_sampler import count_of, edges_of
from ..sampler.walk import relations_along
from ._columns import Sizes, collect_sample, columns_of, place_sample
from ._loop import SamplingLoader


class GraphSAINTSampler(SamplingLoader):
    """num_steps random subgraphs an epoch. Use one of GraphSAINTNodeSampler, GraphSAINTEdgeSampler, GraphSAINTRandomWalkSampler.

    batch_size: about how many draws make a subgraph. sample_coverage: if it is above 0, subgraphs are drawn beforehand until each node was
    drawn about this often, and batches have `node_norm` and `edge_norm`: with them, losses and sums over neighbours are those of the whole
    graph on average. save_dir: where these are kept. Further arguments: see SamplingLoader.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import GraphSAINTNodeSampler, GraphSAINTSampler
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> loader = GraphSAINTNodeSampler(data, batch_size=2, num_steps=3)
    >>> isinstance(loader, GraphSAINTSampler), len(loader)
    (True, 3)
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        num_steps: int = 1,
        sample_coverage: int = 0,
        save_dir: str | None = None,
        log: bool = True,
        **kwargs: Any,
    ):
        if data.edge_index is None:
            raise ValueError("the data has no edge_index")
        for key in ("node_norm", "edge_norm"):
            if key in data:
                raise ValueError(f"the data has an attribute {key!r} already")
        self.data, self.num_steps, self._batch_size = data, num_steps, batch_size
        self.sample_coverage, self.save_dir, self.log = sample_coverage, save_dir, log
        self.N, self.E = count_of(data, "nodes"), int(data.num_edges)
        self._pairs = np.array(edges_of(data._store), np.int64)
        self._relations = relations_along(self._pairs, self.N)
        self._plan = Plan(np.zeros((1, 0), np.int64), induced=True)
        super().__init__(num_steps, batch_size=1, **kwargs)
        self.node_norm = self.edge_norm = None
        if sample_coverage > 0:
            self.node_norm, self.edge_norm = self._norms()

    @property
    def _filename(self) -> str:
        return f"{type(self).__name__.lower()}_{self.sample_coverage}.npz"

    def _sample_nodes(self, random: np.random.Generator) -> np.ndarray:
        """The nodes of one subgraph, some of them several times."""
        raise NotImplementedError

    def _draw(self, seed: int, number: int) -> SamplerOutput:
        nodes = np.unique(self._sample_nodes(generator(seed, 2, number)))
        d = self._relations.draw(self._plan, [Seeds(0, nodes)], seed, number, self._threads)
        col, row = d.pairs[0]  # the relation leads along the edges
        return SamplerOutput(d.node[0], row, col, d.edge[0])

    # ---- coefficients ----

    def _norms(self) -> tuple[np.ndarray, np.ndarray]:
        path = os.path.join(self.save_dir, self._filename) if self.save_dir is not None else None
        if path is not None and os.path.exists(path):
            with np.load(path) as saved:
                if saved["node_norm"].shape == (self.N,) and saved["edge_norm"].shape == (self.E,):
                    return saved["node_norm"], saved["edge_norm"]
        norms = self._compute_norm()
        if path is not None:
            os.makedirs(self.save_dir or ".", exist_ok=True)
            np.savez(path, node_norm=norms[0], edge_norm=norms[1])
        return norms

    def _compute_norm(self) -> tuple[np.ndarray, np.ndarray]:
        """node_norm: subgraphs drawn / (times a node was in one * nodes). edge_norm: times its source was in one / times it was."""
        seed = self._next_seed()
        nodes, edges = np.zeros(self.N, np.float32), np.zeros(self.E, np.float32)
        total = drawn = 0
        while total < self.N * self.sample_coverage:
            for _ in range(max(self.num_steps, 1)):
                out = self._draw(seed, drawn)
                if not out.node.size:
                    raise ValueError("no nodes could be drawn: the graph has no edges, or no nodes")
                nodes[out.node] += 1
                edges[out.edge] += 1
                total += out.node.size
                drawn += 1
        with np.errstate(divide="ignore", invalid="ignore"):
            edge_norm = np.clip(nodes[self._pairs[0]] / edges, 0, 1e4)
        edge_norm[np.isnan(edge_norm)] = 0.1
        nodes[nodes == 0] = 0.1
        return (drawn / nodes / self.N).astype(np.float32), edge_norm.astype(np.float32)

    # ---- batches ----

    def _prepare(self) -> Any:
        return {None: columns_of(self.data._store)}

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        out = self._draw(seed, int(index[0]))
        found = collect_sample(self.data, prepared, out, self._threads)
        norms = None
        if self.node_norm is not None and self.edge_norm is not None:
            norms = gather(self.node_norm, out.node, self._threads), gather(self.edge_norm, out.edge, self._threads)
        return out, found, norms

    def _make_batch(self, prepared: Any, work: Any) -> Any:
        out, found, norms = work
        sizes = Sizes(self.static_sizes)
        batch = place_sample(self.data, prepared, out, found, sizes)
        nodes, edges = sizes("nodes", out.node.size), sizes("edges", out.row.size)
        for key in ("n_id", "e_id"):
            if key not in self.data:
                batch._store[key] = None
        batch._store["num_nodes"] = nodes
        if norms is not None:
            batch._store["node_norm"], batch._store["edge_norm"] = sized(norms[0], 0, nodes), sized(norms[1], 0, edges)
        return batch


class GraphSAINTNodeSampler(GraphSAINTSampler):
    """Subgraphs of the sources of batch_size random edges: nodes by their out-degree.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import GraphSAINTNodeSampler
    >>> data = Data(x=Tensor.ones(3, 1), edge_index=Tensor([[0, 1, 2], [1, 2, 0]]))
    >>> len(GraphSAINTNodeSampler(data, batch_size=2, num_steps=5))
    5
    """

    def _sample_nodes(self, random: np.random.Generator) -> np.ndarray:
        if not self.E:
            return np.zeros(0, np.int64)
        return self._pairs[0][random.integers(0, self.E, self._batch_size)]


class GraphSAINTEdgeSampler(GraphSAINTSampler):
    """Subgraphs of both ends of batch_size random edges, drawn by the in-degree of their source plus the out-degree of their destination.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import GraphSAINTEdgeSampler
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> len(list(GraphSAINTEdgeSampler(data, batch_size=2, num_steps=3)))
    3
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self._total: np.ndarray | None = None
        super().__init__(*args, **kwargs)

    def _sample_nodes(self, random: np.random.Generator) -> np.ndarray:
        if not self.E:
            return np.zeros(0, np.int64)
        row, col = self._pairs
        if self._total is None:
            self._total = np.cumsum(np.bincount(col, minlength=self.N)[row] + np.bincount(row, minlength=self.N)[col] + 1e-10)
        edges = np.minimum(np.searchsorted(self._total, random.random(self._batch_size) * self._total[-1], side="right"), self.E - 1)
        return np.concatenate([col[edges], row[edges]])


class GraphSAINTRandomWalkSampler(GraphSAINTSampler):
    """Subgraphs of the nodes of batch_size random walks of walk_length steps, from random nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import GraphSAINTRandomWalkSampler
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> len(list(GraphSAINTRandomWalkSampler(data, batch_size=2, walk_length=2, num_steps=3)))
    3
    """

    def __init__(
        self,
        data: Any,
        batch_size: int,
        walk_length: int,
        num_steps: int = 1,
        sample_coverage: int = 0,
        save_dir: str | None = None,
        log: bool = True,
        **kwargs: Any,
    ):
        self.walk_length = walk_length
        super().__init__(data, batch_size, num_steps, sample_coverage, save_dir, log, **kwargs)

    @property
    def _filename(self) -> str:
        return f"{type(self).__name__.lower()}_{self.walk_length}_{self.sample_coverage}.npz"

    def _sample_nodes(self, random: np.random.Generator) -> np.ndarray:
        if not self.N:
            return np.zeros(0, np.int64)
        start = random.integers(0, self.N, self._batch_size)
        seed = int(random.integers(0, 1 << 63))
        return self._relations.walk(0, start, self.walk_length, 1.0, 1.0, seed, self._threads)[0].reshape(-1)


__all__ = ["GraphSAINTEdgeSampler", "GraphSAINTNodeSampler", "GraphSAINTRandomWalkSampler", "GraphSAINTSampler"]
