"""NeighborSampler: some of the edges into each node, hop by hop, around nodes or edges (Hamilton et al., 2017).

Drawing is done by the C sampler. Here seeds are put together, with negative edges where they are asked for, and results are given names.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..data import Data, HeteroData
from ..data._values import to_array
from ..sparse_tensor import SparseTensor
from ._draw import Drawn, Plan, Relations, Seeds, draw_seed, generator, thread_count, vector
from ._there import can_draw, rows_there
from .base import (
    BaseSampler,
    EdgeSamplerInput,
    HeteroSamplerOutput,
    NegativeSampling,
    NodeSamplerInput,
    NumNeighbors,
    SamplerOutput,
    SubgraphType,
)

NO_EDGES = np.zeros((2, 0), np.int64)


def host(value: Any) -> np.ndarray:
    """The values of a tensor or array, to be read only; without a copy where that can be had."""
    from ...tensor import Tensor

    if isinstance(value, Tensor) and value.dtype.np is not None and value._g.device in ("CPU", "INTERP") and value.ndim:
        return value._data
    return to_array(value)


def matrix_of(store: Any) -> tuple[str | None, Any]:
    """The name of the sparse matrix that a storage has in the place of edge_index, and the matrix."""
    if store.get("edge_index") is None:
        for key in ("adj_t", "adj"):
            if isinstance(store.get(key), SparseTensor):
                return key, store[key]
    return None, None


def edges_of(store: Any) -> np.ndarray:
    """edge_index of a storage as an array; the entries of its matrix, in their order, where it has that instead."""
    index = store.get("edge_index")
    if index is None:
        key, matrix = matrix_of(store)
        return NO_EDGES if matrix is None else np.stack([matrix._col, matrix._row] if key == "adj_t" else [matrix._row, matrix._col])
    pairs = host(index)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise ValueError(f"edge_index must have the shape [2, E], not {list(pairs.shape)}")
    return pairs


def count_of(store: Any, what: str) -> int:
    n = store.num_nodes
    if n is None:
        raise ValueError(f"the number of {what} is not known: set 'num_nodes'")
    return int(n)


class NeighborSampler(BaseSampler):
    """Draws up to num_neighbors[k] edges into each node reached at hop k; -1 draws all of them.

    num_neighbors: a list, or {edge type: list}. replace: an edge may be drawn several times. subgraph_type: 'directional' keeps the edges
    drawn, 'bidirectional' adds their opposites, 'induced' takes all edges between the nodes. disjoint: every seed gets nodes of its own,
    and `batch` tells whose. time_attr: an attribute of nodes or edges; only what is not later than the seed is drawn, at random or the
    'last' (temporal_strategy). weight_attr: how likely edges are to be drawn. is_sorted: edges are in the order of their destinations,
    and of their times. sample_direction: 'backward' goes along the edges instead of against them.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.sampler import NeighborSampler, NodeSamplerInput
    >>> data = Data(edge_index=Tensor([[1, 2, 3], [0, 0, 1]]), num_nodes=4)
    >>> out = NeighborSampler(data, [-1, -1]).sample_from_nodes(NodeSamplerInput(None, Tensor([0])))
    >>> out.node.tolist(), out.row.tolist(), out.col.tolist()
    ([0, 1, 2, 3], [1, 2, 3], [0, 0, 1])
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        subgraph_type: Any = "directional",
        replace: bool = False,
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        is_sorted: bool = False,
        share_memory: bool = False,
        directed: bool = True,
        sample_direction: str = "forward",
    ):
        if not directed:
            warnings.warn("directed=False is deprecated: use subgraph_type='induced'", stacklevel=2)
            subgraph_type = "induced"
        if temporal_strategy not in ("uniform", "last"):
            raise ValueError(f"temporal_strategy must be 'uniform' or 'last', not {temporal_strategy!r}")
        if sample_direction not in ("forward", "backward"):
            raise ValueError(f"sample_direction must be 'forward' or 'backward', not {sample_direction!r}")
        if sample_direction == "backward" and time_attr is not None:
            raise NotImplementedError("sampling by time goes against the edges: sample_direction='backward' has no time_attr")
        from ..loader._stores import graph_of, is_stores

        if is_stores(data) and weight_attr is not None:
            raise NotImplementedError("weights of edges are not read from a pair of stores")
        data = graph_of(data, time_attr)
        self.is_hetero = isinstance(data, HeteroData)
        if not self.is_hetero and not isinstance(data, Data):
            raise ValueError(f"a Data or a HeteroData is needed, not a {type(data).__name__}")
        self.replace, self.temporal_strategy = replace, temporal_strategy
        self.subgraph_type = SubgraphType(getattr(subgraph_type, "value", subgraph_type))
        self.sample_direction, self._disjoint = sample_direction, disjoint
        self.node_types: list[Any] = data.node_types if self.is_hetero else [None]
        self.edge_types: list[Any] = data.edge_types if self.is_hetero else [None]
        self._type = {name: k for k, name in enumerate(self.node_types)}
        self._counts = [count_of(data[t] if self.is_hetero else data, f"nodes of type {t!r}" if self.is_hetero else "nodes") for t in self.node_types]
        self.num_nodes: Any = dict(zip(self.node_types, self._counts)) if self.is_hetero else self._counts[0]
        self.node_time, self.edge_time = self._times(data, time_attr)
        self._there: Any = None  # rows on a device
        self._host: Relations | None = None
        self._make = (data, weight_attr, is_sorted)
        if not self.is_hetero and time_attr is None and weight_attr is None and sample_direction == "forward":
            self._there = rows_there(data._store.get("edge_index"), self._counts[0])
        self.num_neighbors = num_neighbors
        self.prepare()

    def prepare(self) -> None:
        """Makes what draws samples, in the thread that tensors belong to: rows on the host, unless a device draws all that may be asked for."""
        if not self.draws_there:
            self.rows_on_host()

    def rows_on_host(self) -> Relations:
        """The rows on the host: from the beginning, or when something is asked for that a device does not draw."""
        if self._host is None:
            made = Relations(self._counts)
            for edge_type in self.edge_types:
                self._add(made, edge_type)
            self._host = made
        return self._host

    # ---- the graph ----

    def _times(self, data: Any, name: str | None) -> tuple[dict[Any, np.ndarray] | None, dict[Any, np.ndarray] | None]:
        """Times by type of nodes, or by type of edges."""
        if name is None:
            return None, None
        if not self.is_hetero:
            nodes = {None: data[name]} if name in data and data.is_node_attr(name) else {}
            edges = {None: data[name]} if name in data and not nodes and data.is_edge_attr(name) else {}
        else:
            nodes = {t: s[name] for t, s in data.node_items() if name in s}
            edges = {t: s[name] for t, s in data.edge_items() if name in s}
        if nodes and edges:
            raise ValueError(f"the time attribute {name!r} belongs to nodes and to edges")
        if not nodes and not edges:
            raise ValueError(f"the time attribute {name!r} belongs neither to nodes nor to edges")
        found = {t: vector(host(v), f"the time attribute {name!r}") for t, v in (nodes or edges).items()}
        return (found, None) if nodes else (None, found)

    def _add(self, relations: Relations, edge_type: Any) -> None:
        data, weight_attr, is_sorted = self._make
        store = data[edge_type] if self.is_hetero else data._store
        src_type, dst_type = (edge_type[0], edge_type[2]) if self.is_hetero else (None, None)
        for end in (src_type, dst_type):
            if end not in self._type:
                raise ValueError(f"edges of type {edge_type} lead to or from nodes of type {end!r}, which the graph has not")
        src, dst = edges_of(store)
        edge_time = (self.edge_time or {}).get(edge_type)
        src_time = (self.node_time or {}).get(src_type)
        weight = None
        if weight_attr is not None and weight_attr in store:
            weight = vector(host(store[weight_attr]), f"the weight attribute {weight_attr!r}", np.float64)
        elif weight_attr is not None and not self.is_hetero:
            raise ValueError(f"there is no attribute {weight_attr!r} to weight edges by")
        order = None
        if (edge_time is not None or src_time is not None) and not is_sorted:  # edges of a row must be in the order of their times
            when = edge_time if edge_time is not None else src_time[src]  # type: ignore[index]
            if when.size != src.size:
                raise ValueError(f"there are {when.size} times for {src.size} edges")
            order = np.argsort(when, kind="stable")
            src, dst = src[order], dst[order]
            edge_time, weight = (None if v is None else v[order] for v in (edge_time, weight))
        ends = [(self._type[src_type], src), (self._type[dst_type], dst)]
        if self.sample_direction == "backward":
            ends.reverse()
        relations.add(ends[0][0], ends[1][0], ends[0][1], ends[1][1], order, edge_time, src_time, weight)

    # ---- what is drawn ----

    @property
    def num_neighbors(self) -> NumNeighbors:
        return self._num_neighbors

    @num_neighbors.setter
    def num_neighbors(self, value: Any) -> None:
        counts = value if isinstance(value, NumNeighbors) else NumNeighbors(value)
        if self.is_hetero:
            lists = list(counts.get_values(self.edge_types).values())
        elif isinstance(counts.values, dict):
            raise ValueError("num_neighbors by edge type needs a HeteroData")
        else:
            lists = [counts.get_values()]
        self._num_neighbors = counts
        self._table = np.array(lists, np.int64).reshape(len(self.edge_types), counts.num_hops)
        if (self._table < -1).any():
            raise ValueError(f"num_neighbors must be -1 (all of them) or more, got {int(self._table.min())}")

    @property
    def is_temporal(self) -> bool:
        return self.node_time is not None or self.edge_time is not None

    @property
    def disjoint(self) -> bool:
        return self._disjoint or self.is_temporal

    @disjoint.setter
    def disjoint(self, value: bool) -> None:
        self._disjoint = value

    def sample_from_nodes(self, inputs: NodeSamplerInput, **kwargs: Any) -> Any:
        """A sample around nodes: tensors in a SamplerOutput or HeteroSamplerOutput."""
        if self.draws_there:
            return self.draw_nodes_there(inputs.to_arrays(), draw_seed(), 0)
        return self.draw_nodes(inputs.to_arrays(), draw_seed(), 0, thread_count()).to_tensors()

    @property
    def draws_there(self) -> bool:
        """Are samples drawn on the device that alone has the edges, in the thread of its tensors?"""
        plain = not self.disjoint and self.subgraph_type is SubgraphType.directional
        return self._there is not None and plain and can_draw(self._table, self.replace)

    def draw_nodes_there(self, inputs: NodeSamplerInput, seed: int, batch: int) -> SamplerOutput:
        """What draw_nodes gives, as tensors on the device."""
        d = self._there.draw(self._table[0].tolist(), self.replace, vector(inputs.node, "input nodes"), seed, batch)
        out = SamplerOutput(d.node, d.pairs[0], d.pairs[1], d.edge, None, d.hop_nodes, d.hop_edges)
        out.metadata = (inputs.input_id, inputs.time)
        return out

    def sample_from_edges(self, inputs: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> Any:
        """A sample around edges, and around negative ones."""
        return self.draw_edges(inputs.to_arrays(), neg_sampling, draw_seed(), 0, thread_count()).to_tensors()

    # ---- arrays: what loaders call from their threads ----

    def draw_nodes(self, inputs: NodeSamplerInput, seed: int, batch: int, threads: int) -> Any:
        """The sample of batch number `batch` under a seed, as arrays."""
        node = vector(inputs.node, "input nodes")
        time = None if inputs.time is None else vector(inputs.time, "input_time")
        out = self._draw([(inputs.input_type, node, time)], seed, batch, threads)
        out.metadata = (inputs.input_id, inputs.time)
        return self._finish(out)

    def draw_edges(self, inputs: EdgeSamplerInput, negatives: NegativeSampling | None, seed: int, batch: int, threads: int) -> Any:
        """The same around edges. metadata: (input_id, edge_label_index, edge_label, time), or (input_id, src_index, dst_pos_index,
        dst_neg_index, time) for triplets."""
        kind = inputs.input_type
        ends = (kind[0], kind[-1]) if kind is not None else (None, None)
        links = Links(inputs, negatives, [self._counts[self._type[t]] for t in ends], [(self.node_time or {}).get(t) for t in ends])
        links.add_negatives(generator(seed, batch))
        time_src, time_dst = links.times()
        if ends[0] == ends[1]:
            time = None if time_src is None else np.concatenate([time_src, time_dst])
            seeds = [(ends[0], np.concatenate([links.src, links.dst]), time)]
        else:
            seeds = [(ends[0], links.src, time_src), (ends[1], links.dst, time_dst)]
        places = [np.arange(node.size) for _, node, _ in seeds]
        if not self.disjoint:
            both = [np.unique(node, return_inverse=True) for _, node, _ in seeds]
            seeds = [(t, unique, None) for (t, _, _), (unique, _) in zip(seeds, both)]
            places = [inverse.reshape(-1) for _, inverse in both]
        out = self._draw(seeds, seed, batch, threads)
        if self.disjoint and links.num_pos:
            out.batch = {t: b % links.num_pos for t, b in out.batch.items()} if self.is_hetero else out.batch % links.num_pos
        at = np.concatenate(places)
        out.metadata = links.metadata(at[: links.src.size], at[links.src.size :], self.disjoint)
        return self._finish(out)

    def _finish(self, out: Any) -> Any:
        return out.to_bidirectional() if self.subgraph_type is SubgraphType.bidirectional else out

    def _seed_time(self, kind: Any, node: np.ndarray, time: np.ndarray | None) -> np.ndarray | None:
        if time is not None or not self.is_temporal:
            return time if self.is_temporal else None
        if self.node_time is None or kind not in self.node_time:
            raise ValueError("the seeds have no times: give input_time" + (f" for nodes of type {kind!r}" if kind is not None else ""))
        known = self.node_time[kind]
        if node.size and (node.min() < 0 or node.max() >= known.size):
            raise IndexError(f"seed {int(node.max() if node.min() >= 0 else node.min())} is out of range for {known.size} nodes")
        return np.ascontiguousarray(known[node])

    def _draw(self, seeds: list[tuple[Any, np.ndarray, np.ndarray | None]], seed: int, batch: int, threads: int) -> Any:
        given = []
        for kind, node, time in seeds:
            if kind not in self._type:
                raise ValueError(f"there are no nodes of type {kind!r}; there are {self.node_types}")
            given.append(Seeds(self._type[kind], node, self._seed_time(kind, node, time)))
        induced = self.subgraph_type is SubgraphType.induced
        plan = Plan(self._table, self.replace, self.disjoint, induced, self.temporal_strategy == "last")
        return self._named(self.rows_on_host().draw(plan, given, seed, batch, threads), not induced)

    def _named(self, d: Drawn, hops: bool) -> Any:
        """By names of types; an ordinary graph has one of each."""
        if self.sample_direction == "backward":
            d.pairs = [np.ascontiguousarray(p[::-1]) for p in d.pairs]
        if not self.is_hetero:
            batch = None if d.batch is None else d.batch[0]
            counts = (d.hop_nodes[0], d.hop_edges[0]) if hops else (None, None)
            return SamplerOutput(d.node[0], d.pairs[0][0], d.pairs[0][1], d.edge[0], batch, *counts)
        edge_types = [tuple(t) for t in self.edge_types]
        return HeteroSamplerOutput(
            dict(zip(self.node_types, d.node)),
            {t: p[0] for t, p in zip(edge_types, d.pairs)},
            {t: p[1] for t, p in zip(edge_types, d.pairs)},
            dict(zip(edge_types, d.edge)),
            None if d.batch is None else dict(zip(self.node_types, d.batch)),
            dict(zip(self.node_types, d.hop_nodes)) if hops else None,
            dict(zip(edge_types, d.hop_edges)) if hops else None,
        )


class Links:
    """Edges to sample around, and negative ones: positive first in src and dst."""

    def __init__(self, inputs: EdgeSamplerInput, negatives: NegativeSampling | None, counts: list[int], node_times: list[Any]):
        self.inputs, self.negatives, self.counts, self.node_times = inputs, negatives, counts, node_times
        self.src, self.dst = vector(inputs.row, "sources of edge_label_index"), vector(inputs.col, "destinations of edge_label_index")
        self.label, self.time = inputs.label, None if inputs.time is None else vector(inputs.time, "edge_label_time")
        self.num_pos = self.src.size
        self.num_neg = 0 if negatives is None else math.ceil(self.num_pos * negatives.amount)

    def add_negatives(self, random: np.random.Generator) -> None:
        how = self.negatives
        if how is None:
            return
        if how.is_binary():
            self.src = np.concatenate([self.src, self._draw(random, 0, "src")])
            label = np.ones(self.num_pos, np.float32) if self.label is None else self.label
            self.label = np.concatenate([label, np.zeros((self.num_neg, *label.shape[1:]), label.dtype)])
        self.dst = np.concatenate([self.dst, self._draw(random, 1, "dst")])

    def _draw(self, random: np.random.Generator, end: int, name: str) -> np.ndarray:
        """Negative nodes for one end; with times none that is later than its edge, as far as some can be found."""
        how, known = self.negatives, self.node_times[end]
        assert how is not None
        if known is None or self.time is None:
            return how.draw(random, self.num_neg, name, self.counts[end])
        times = math.ceil(how.amount)
        latest = np.tile(self.time, times)
        out = how.draw(random, latest.size, name, self.counts[end])
        for _ in range(5):
            late = np.flatnonzero(known[out] > latest)
            if not late.size:
                break
            out[late] = how.draw(random, late.size, name, self.counts[end])
        out[known[out] > latest] = known.argmin()
        return out[: self.num_neg]

    def times(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Times of the sources and of the destinations."""
        if self.time is None:
            return None, None
        return np.resize(self.time, self.src.size), np.resize(self.time, self.dst.size)

    def metadata(self, src: np.ndarray, dst: np.ndarray, disjoint: bool) -> tuple[Any, ...]:
        """What a batch has to know; src and dst are the places of the ends among the seeds."""
        time = self.times()[0]
        if self.negatives is None or self.negatives.is_binary():
            return (self.inputs.input_id, np.stack([src, dst]), self.label, time)
        n = self.num_pos
        others = dst[n:].reshape(-1, n).T if disjoint and n else dst[n:]  # drawn apart, those of one edge lie num_pos apart
        others = others.reshape(n, -1) if n else others.reshape(0, int(self.negatives.amount))
        return (self.inputs.input_id, src, dst[:n], np.ascontiguousarray(others[:, 0] if others.shape[1] == 1 else others), time)


__all__ = ["NeighborSampler"]
