"""RandomNodeLoader: random parts of the nodes, with the edges between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..sampler import HeteroSamplerOutput, NeighborSampler, SamplerOutput
from ._columns import Sizes, all_columns, collect_sample, place_sample
from ._loop import SamplingLoader


class RandomNodeLoader(SamplingLoader):
    """Splits the nodes into num_parts batches (at random with shuffle=True), each the graph of its nodes.

    data: Data or HeteroData, whose nodes of all types are split together. Further arguments: see SamplingLoader.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import RandomNodeLoader
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 0, 3, 1]]))
    >>> [batch.edge_index.tolist() for batch in RandomNodeLoader(data, num_parts=2)]
    [[[0, 1], [1, 0]], [[0], [1]]]
    """

    def __init__(self, data: Any, num_parts: int, **kwargs: Any):
        if num_parts < 1:
            raise ValueError(f"num_parts must be at least 1, got {num_parts}")
        self.data, self.num_parts = data, num_parts
        self._sampler = NeighborSampler(data, [], subgraph_type="induced")
        counts = self._sampler.num_nodes
        sizes = list(counts.values()) if isinstance(counts, dict) else [counts]
        self._starts = np.cumsum([0, *sizes])
        self.num_nodes = int(self._starts[-1])
        super().__init__(self.num_nodes, batch_size=max(1, -(-self.num_nodes // num_parts)), **kwargs)

    def _prepare(self) -> Any:
        return all_columns(self.data)

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        types = self._sampler.node_types
        parts = [index[(index >= a) & (index < b)] - a for a, b in zip(self._starts[:-1], self._starts[1:])]
        out = self._sampler._draw([(t, np.ascontiguousarray(p), None) for t, p in zip(types, parts)], seed, number, self._threads)
        in_order(out)
        return out, collect_sample(self.data, prepared, out, self._threads)

    def _make_batch(self, prepared: Any, work: Any) -> Any:
        had = {s._key: ("n_id" in s, "e_id" in s) for s in self.data.stores}
        batch = place_sample(self.data, prepared, work[0], work[1], Sizes(self.static_sizes))
        for store in batch.stores:  # no ids: the nodes are as they are in data.subgraph
            for key, own in zip(("n_id", "e_id"), had[store._key]):
                if not own:
                    store[key] = None
        return batch


def in_order(out: SamplerOutput | HeteroSamplerOutput) -> None:
    """Puts the edges of a sample in the order in which they are in the graph."""
    if isinstance(out, SamplerOutput):
        order = np.argsort(out.edge)
        out.row, out.col, out.edge = out.row[order], out.col[order], out.edge[order]
        return
    for key, edge in out.edge.items():
        order = np.argsort(edge)
        out.row[key], out.col[key], out.edge[key] = out.row[key][order], out.col[key][order], edge[order]


__all__ = ["RandomNodeLoader"]
