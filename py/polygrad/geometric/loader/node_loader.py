"""NodeLoader: batches of samples around nodes, by any sampler."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..data import HeteroData
from ..data._sizes import sized
from ..data._values import positions
from ..sampler import NodeSamplerInput
from ..sampler.neighbor_sampler import count_of, host
from ._columns import Sizes, all_columns, collect_sample, place_sample, without_edges
from ._loop import SamplingLoader
from ._stores import graph_of, remote_of


def input_of(data: Any, input_nodes: Any, input_id: Any = None) -> NodeSamplerInput:
    """Nodes to sample around: indices, a mask, None for all; for a HeteroData a type, or a pair of a type and one of those."""
    kind = None
    if isinstance(data, HeteroData):
        if isinstance(input_nodes, str):
            kind, input_nodes = input_nodes, None
        elif isinstance(input_nodes, (list, tuple)) and len(input_nodes) == 2 and isinstance(input_nodes[0], str):
            kind, input_nodes = input_nodes
        else:
            raise ValueError("input_nodes of a HeteroData is a node type, or a pair of a node type and nodes")
        if kind not in data.node_types:
            raise ValueError(f"there are no nodes of type {kind!r}; there are {data.node_types}")
    n = count_of(data[kind] if kind is not None else data, "nodes" if kind is None else f"nodes of type {kind!r}")
    if input_nodes is None:
        return NodeSamplerInput(None if input_id is None else host(input_id), np.arange(n), None, kind)
    given = host(input_nodes) if hasattr(input_nodes, "shape") else input_nodes
    nodes = positions(given, n, "input_nodes")
    is_mask = getattr(getattr(given, "dtype", None), "kind", "") == "b"
    ids = nodes if is_mask else None  # the entries of a mask are called by the numbers of their nodes
    if input_id is not None:
        ids = host(input_id)
        if ids.size != nodes.size:
            raise ValueError(f"input_id has {ids.size} entries for {nodes.size} input nodes")
    return NodeSamplerInput(ids, nodes, None, kind)


class NodeLoader(SamplingLoader):
    """Samples around the nodes input_nodes, batch_size of them at a time.

    data: Data or HeteroData. node_sampler: NeighborSampler, HGTSampler, or a BaseSampler of one's own. input_nodes: indices, a mask, or None
    for all; of a HeteroData a node type, or a pair of it and those. input_time: times of the input nodes. transform: a function of each
    batch. transform_sampler_output: a function of each SamplerOutput. input_id: numbers that the batches call the input nodes by.
    Further arguments are those of SamplingLoader: batch_size, shuffle, drop_last, num_workers, seed, ...

    A batch is a copy of data with the sampled nodes and edges, numbered anew, the input nodes first; and `n_id`, `e_id` (their numbers in
    data), `input_id`, `batch_size`, `num_sampled_nodes`, `num_sampled_edges`, and `batch` for disjoint samples.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import NodeLoader
    >>> from polygrad.geometric.sampler import NeighborSampler
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> batch = next(iter(NodeLoader(data, NeighborSampler(data, [1]), input_nodes=Tensor([2, 3]), batch_size=2)))
    >>> batch.n_id.tolist(), int(batch.batch_size)
    ([2, 3, 1], 2)
    """

    def __init__(
        self,
        data: Any,
        node_sampler: Any,
        input_nodes: Any = None,
        input_time: Any = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        filter_per_worker: bool | None = None,
        custom_cls: Any = None,
        input_id: Any = None,
        **kwargs: Any,
    ):
        data = graph_of(data)
        self.data, self.node_sampler = data, node_sampler
        self.input_nodes, self.input_time, self.input_id = input_nodes, input_time, input_id
        self.transform, self.transform_sampler_output = transform, transform_sampler_output
        self.input_data = input_of(data, input_nodes, input_id)
        if input_time is not None:
            time = host(input_time).reshape(-1)
            if time.size != self.input_data.node.size:
                raise ValueError(f"input_time has {time.size} entries for {self.input_data.node.size} input nodes")
            self.input_data.time = np.array(time)
        super().__init__(self.input_data.node.size, **kwargs)

    # ---- arrays ----

    @property
    def _in_background(self) -> bool:  # type: ignore[override]
        if getattr(self.node_sampler, "draws_there", False):
            return False  # on a device that has the edges, in the thread of its tensors
        return hasattr(self.node_sampler, "draw_nodes") and self.transform_sampler_output is None and not remote_of(self.data)

    def _prepare(self) -> Any:
        if hasattr(self.node_sampler, "prepare"):
            self.node_sampler.prepare()
        return all_columns(self.data)

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        inputs = self.input_data[index]
        if getattr(self.node_sampler, "draws_there", False):
            out = self.node_sampler.draw_nodes_there(inputs, seed, number)
        elif hasattr(self.node_sampler, "draw_nodes"):
            out = self.node_sampler.draw_nodes(inputs, seed, number, self._threads)
        else:
            out = own_edges(self.node_sampler, self.node_sampler.sample_from_nodes(inputs.to_tensors()).to_arrays())
        if self.transform_sampler_output is not None:
            out = self.transform_sampler_output(out.to_tensors()).to_arrays()
        return out, collect_sample(self.data, prepared, out, self._threads)

    # ---- tensors ----

    def _make_batch(self, prepared: Any, work: Any) -> Any:
        out, found = work
        sizes = Sizes(self.static_sizes)
        batch = without_edges(place_sample(self.data, prepared, out, found, sizes), self.data)
        kind = self.input_data.input_type
        store = batch._store if kind is None else batch[kind]
        ids, time = out.metadata[:2]
        seeds = sizes("seeds", ids.size)
        store["input_id"] = sized(np.ascontiguousarray(ids), 0, seeds)
        if time is not None:
            store["seed_time"] = sized(np.ascontiguousarray(time), 0, seeds)
        store["batch_size"] = seeds
        for mine in batch.node_stores:
            if out.batch is not None and "batch" in mine:
                mine["batch"]._count = seeds
        return batch if self.transform is None else self.transform(batch)


def own_edges(sampler: Any, out: Any) -> Any:
    """Edges by their numbers in the graph, where a sampler of the user's numbers them otherwise."""
    order = sampler.edge_permutation
    if order is None or out.edge is None:
        return out
    if isinstance(out.edge, dict):
        out.edge = {k: e if e is None or order.get(k) is None else host(order[k])[e] for k, e in out.edge.items()}
    else:
        out.edge = host(order)[out.edge]
    return out


__all__ = ["NodeLoader"]
