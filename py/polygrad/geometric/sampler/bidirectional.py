"""BidirectionalNeighborSampler: at every hop, neighbours along the edges and against them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._draw import draw_seed, thread_count
from .base import BaseSampler, EdgeSamplerInput, NegativeSampling, NodeSamplerInput, NumNeighbors, SamplerOutput
from .neighbor_sampler import NeighborSampler, host


class BidirectionalNeighborSampler(BaseSampler):
    """Draws up to num_neighbors[k] edges into each node of hop k, and as many out of it. Arguments as in NeighborSampler; for a Data, without times,
    without types and without negative edges. disjoint: every seed has nodes of its own, and `batch` tells whose.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.sampler import BidirectionalNeighborSampler, NodeSamplerInput
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> out = BidirectionalNeighborSampler(data, [2]).sample_from_nodes(NodeSamplerInput(None, Tensor([1])))
    >>> sorted(out.node.tolist())
    [0, 1, 2]
    """

    def __init__(
        self, data: Any, num_neighbors: Any, subgraph_type: Any = "directional", replace: bool = False, disjoint: bool = False,
        temporal_strategy: str = "uniform", time_attr: str | None = None, weight_attr: str | None = None, is_sorted: bool = False,
        share_memory: bool = False, directed: bool = True,
    ):  # fmt: skip
        given = num_neighbors if isinstance(num_neighbors, NumNeighbors) else NumNeighbors(num_neighbors)
        if not isinstance(given.values, list):
            raise RuntimeError("neighbours in both directions are counted for all edges, not by type")
        if time_attr is not None:
            raise NotImplementedError("neighbours in both directions are drawn without times")
        self.num_neighbors, self.disjoint = given, disjoint
        common = (subgraph_type, replace, disjoint, temporal_strategy, None, weight_attr, is_sorted, share_memory, directed)
        self._hops = [[NeighborSampler(data, [count], *common, sample_direction=way) for way in ("forward", "backward")] for count in given.values]
        if any(s.is_hetero for hop in self._hops for s in hop):
            raise NotImplementedError("neighbours in both directions are drawn of a Data, not of a HeteroData")

    def _draw(self, seeds: np.ndarray) -> SamplerOutput:
        outputs = []
        current = np.asarray(seeds, np.int64)
        of = current  # the seed that each of them was reached from
        seen = self._keys(current, of)
        for k, hop in enumerate(self._hops):
            inputs = NodeSamplerInput(None, current)
            there, back = (s.draw_nodes(inputs, draw_seed(), 0, thread_count()) for s in hop)
            if self.disjoint and k:  # what was drawn belongs to the seed of the node that it was drawn for
                for drawn in (there, back):
                    drawn.seed_node = of[drawn.batch]
            outputs.append(there.merge_with(back))
            node = outputs[-1].node
            owner = outputs[-1].seed_node if self.disjoint else node
            keys = self._keys(node, owner)
            keys, first = np.unique(keys, return_index=True)
            new = first[~np.isin(keys, seen)]
            current, of, seen = node[new], owner[new], np.union1d(seen, keys)
        return SamplerOutput.collate(outputs)

    def _keys(self, node: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """What tells nodes apart: their numbers, and in disjoint samples also their seeds."""
        return owner * np.int64(self._hops[0][0].num_nodes) + node if self.disjoint else node

    def sample_from_nodes(self, inputs: NodeSamplerInput, **kwargs: Any) -> Any:
        out = self._draw(host(inputs.node))
        out.metadata = (inputs.input_id, inputs.time)
        return out.to_tensors()

    def sample_from_edges(self, inputs: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> Any:
        if neg_sampling is not None:
            raise RuntimeError("neighbours in both directions are drawn without negative edges")
        row, col = host(inputs.row), host(inputs.col)
        seeds, place = np.unique(np.concatenate([row, col]), return_inverse=True)
        out = self._draw(seeds)
        place = place.reshape(-1)
        out.metadata = (inputs.input_id, np.stack([place[: row.size], place[row.size :]]), inputs.label, inputs.time)
        return out.to_tensors()


__all__ = ["BidirectionalNeighborSampler"]
