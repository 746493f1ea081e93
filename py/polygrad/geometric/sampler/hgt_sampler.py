"""HGTSampler: at each hop a given number of nodes of every type, by how well they are connected to those drawn before (Hu et al., 2020)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import HeteroData
from ._draw import Plan, Relations, Seeds, draw_seed, thread_count, vector
from .base import BaseSampler, EdgeSamplerInput, HeteroSamplerOutput, NegativeSampling, NodeSamplerInput
from .neighbor_sampler import count_of, edges_of


class HGTSampler(BaseSampler):
    """Draws num_samples[k] nodes of each type at hop k (a list, or {node type: list}), then takes all edges between the nodes.

    A node's chance grows with the square of its budget: the sum over its edges to nodes drawn before of 1 / their in-degree.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import HeteroData
    >>> from polygrad.geometric.sampler import HGTSampler, NodeSamplerInput
    >>> data = HeteroData()
    >>> data["a"].num_nodes, data["b"].num_nodes = 2, 3
    >>> data["b", "to", "a"].edge_index = Tensor([[0, 1, 2], [0, 0, 1]])
    >>> out = HGTSampler(data, [2]).sample_from_nodes(NodeSamplerInput(None, Tensor([0]), input_type="a"))
    >>> sorted(out.node["b"].tolist())
    [0, 1]
    """

    def __init__(self, data: Any, num_samples: Any, is_sorted: bool = False, share_memory: bool = False):
        if not isinstance(data, HeteroData):
            raise NotImplementedError(f"HGT samples from a HeteroData, not from a {type(data).__name__}")
        self.node_types, self.edge_types = data.metadata()
        given = num_samples if isinstance(num_samples, dict) else {t: list(num_samples) for t in self.node_types}
        unknown = [t for t in given if t not in self.node_types]
        if unknown:
            raise ValueError(f"num_samples has the node types {unknown}, which the graph has not; it has {self.node_types}")
        self.num_samples = given
        self.num_hops = max([0, *(len(v) for v in given.values())])
        table = np.zeros((len(self.node_types), self.num_hops), np.int64)
        for k, t in enumerate(self.node_types):
            counts = list(given.get(t, ()))
            table[k, : len(counts)] = counts
        self._plan = Plan(table, by_budget=True)
        self._type = {t: k for k, t in enumerate(self.node_types)}
        self._relations = Relations([count_of(store, f"nodes of type {t!r}") for t, store in data.node_items()])
        for edge_type, store in data.edge_items():
            for end in (edge_type[0], edge_type[2]):
                if end not in self._type:
                    raise ValueError(f"edges of type {edge_type} lead to or from nodes of type {end!r}, which the graph has not")
            self._relations.add(self._type[edge_type[0]], self._type[edge_type[2]], *edges_of(store))

    def sample_from_nodes(self, inputs: NodeSamplerInput, **kwargs: Any) -> HeteroSamplerOutput:
        """A sample around nodes."""
        return self.draw_nodes(inputs.to_arrays(), draw_seed(), 0, thread_count()).to_tensors()

    def sample_from_edges(self, inputs: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> Any:
        raise NotImplementedError("HGT samples around nodes, not around edges")

    def draw_nodes(self, inputs: NodeSamplerInput, seed: int, batch: int, threads: int) -> HeteroSamplerOutput:
        """The sample of batch number `batch` under a seed, as arrays."""
        if inputs.input_type not in self._type:
            raise ValueError(f"there are no nodes of type {inputs.input_type!r}; there are {self.node_types}")
        seeds = [Seeds(self._type[inputs.input_type], vector(inputs.node, "input nodes"))]
        d = self._relations.draw(self._plan, seeds, seed, batch, threads)
        rows = {t: p[0] for t, p in zip(self.edge_types, d.pairs)}
        cols = {t: p[1] for t, p in zip(self.edge_types, d.pairs)}
        out = HeteroSamplerOutput(dict(zip(self.node_types, d.node)), rows, cols, dict(zip(self.edge_types, d.edge)))
        out.metadata = (inputs.input_id, inputs.time)
        return out


__all__ = ["HGTSampler"]
