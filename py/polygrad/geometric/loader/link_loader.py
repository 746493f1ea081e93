"""LinkLoader: batches of samples around edges, by any sampler."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..data import HeteroData
from ..data._sizes import sized
from ..data._values import is_array
from ..sampler import EdgeSamplerInput, NegativeSampling
from ..sampler.neighbor_sampler import edges_of, host
from ._columns import Sizes, all_columns, collect_sample, place_sample, without_edges
from ._loop import SamplingLoader
from ._stores import graph_of, remote_of
from .node_loader import own_edges


def links_of(data: Any, given: Any) -> tuple[Any, np.ndarray]:
    """Edge type and pairs of nodes: None stands for the edges of the graph."""
    kind = None
    if isinstance(data, HeteroData):
        if not isinstance(given, (list, tuple)):
            raise ValueError("edge_label_index of a HeteroData is an edge type, or a pair of an edge type and edges")
        kind, given = (given, None) if isinstance(given[0], str) else given
        kind = data._to_canonical(*kind)
        if kind not in data.edge_types and (given is None or not {kind[0], kind[-1]} <= set(data.node_types)):
            raise ValueError(f"there are no edges of type {kind}; there are {data.edge_types}")
    if given is None:
        return kind, np.array(edges_of(data[kind] if kind is not None else data._store))
    pairs = host(given) if is_array(given) else np.asarray(given, np.int64).reshape(2, -1)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise ValueError(f"edge_label_index must have the shape [2, N], not {list(pairs.shape)}")
    return kind, np.array(pairs)


def _beside(values: Any, n: int, what: str) -> np.ndarray | None:
    if values is None:
        return None
    a = np.array(host(values))
    if not a.ndim or a.shape[0] != n:
        raise ValueError(f"{what} has the shape {list(a.shape)} for {n} edges")
    return a


class LinkLoader(SamplingLoader):
    """Samples around the edges edge_label_index, batch_size of them at a time.

    data: Data or HeteroData. link_sampler: NeighborSampler, or a BaseSampler of one's own. edge_label_index: pairs of nodes [2, N], which
    need not be edges of the graph; None takes its edges; of a HeteroData an edge type, or a pair of it and those. edge_label: a label for
    each; edge_label_time: a time for each. neg_sampling: negative edges as well, see NegativeSampling; a dictionary of its arguments will
    do. They may happen to be edges of the graph. transform: a function of each batch. Further arguments: see SamplingLoader.

    A batch is a copy of data with the sampled nodes and edges, numbered anew; and `n_id`, `e_id`, `input_id`, `num_sampled_nodes`,
    `num_sampled_edges`, `edge_label_index`, `edge_label` (with negative edges: 0 for those, labels from 1 for the others), or for triplets
    `src_index`, `dst_pos_index`, `dst_neg_index`.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import LinkLoader
    >>> from polygrad.geometric.sampler import NeighborSampler
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> batch = next(iter(LinkLoader(data, NeighborSampler(data, [2]), batch_size=2)))
    >>> batch.edge_label_index.shape[0], int(batch.edge_label_index.shape[1])
    (2, 2)
    """

    def __init__(
        self,
        data: Any,
        link_sampler: Any,
        edge_label_index: Any = None,
        edge_label: Any = None,
        edge_label_time: Any = None,
        neg_sampling: Any = None,
        neg_sampling_ratio: float | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        filter_per_worker: bool | None = None,
        custom_cls: Any = None,
        input_id: Any = None,
        **kwargs: Any,
    ):
        if neg_sampling_ratio:
            neg_sampling = NegativeSampling("binary", neg_sampling_ratio)
        data = graph_of(data)
        self.data, self.link_sampler, self.edge_label_index = data, link_sampler, edge_label_index
        self.neg_sampling = NegativeSampling.cast(neg_sampling)
        self.transform, self.transform_sampler_output = transform, transform_sampler_output
        kind, pairs = links_of(data, edge_label_index)
        n = pairs.shape[1]
        label = _beside(edge_label, n, "edge_label")
        if self.neg_sampling is not None and label is not None:
            if self.neg_sampling.is_triplet():
                raise ValueError("'edge_label' needs to be undefined for triplets: their positive and negative ends come apart")
            if label.size and label.min() == 0:
                label = label + 1  # 0 is what negative edges get
        ids = None if input_id is None else _beside(input_id, n, "input_id")
        self.input_data = EdgeSamplerInput(ids, pairs[0], pairs[1], label, _beside(edge_label_time, n, "edge_label_time"), kind)
        super().__init__(n, **kwargs)

    # ---- arrays ----

    @property
    def _in_background(self) -> bool:  # type: ignore[override]
        return hasattr(self.link_sampler, "draw_edges") and self.transform_sampler_output is None and not remote_of(self.data)

    def _prepare(self) -> Any:
        if hasattr(self.link_sampler, "rows_on_host"):
            self.link_sampler.rows_on_host()  # here, where the tensors belong, rather than in a thread
        return all_columns(self.data)

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        inputs, sampler = self.input_data[index], self.link_sampler
        if hasattr(sampler, "draw_edges"):
            out = sampler.draw_edges(inputs, self.neg_sampling, seed, number, self._threads)
        else:
            out = own_edges(sampler, sampler.sample_from_edges(inputs.to_tensors(), neg_sampling=self.neg_sampling).to_arrays())
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
        seeds = sizes("seeds", out.metadata[0].size)
        store["input_id"] = sized(np.ascontiguousarray(out.metadata[0]), 0, seeds)
        if self.neg_sampling is not None and self.neg_sampling.is_triplet():
            _, src, pos, neg, time = out.metadata
            first, last = (store, store) if kind is None else (batch[kind[0]], batch[kind[-1]])
            first["src_index"], last["dst_pos_index"], last["dst_neg_index"] = (sized(v, 0, seeds) for v in (src, pos, neg))
            if time is not None:
                first["seed_time"] = last["seed_time"] = sized(np.ascontiguousarray(time), 0, seeds)
            for key in ("edge_label_index", "edge_label_time"):
                store[key] = None
        else:
            _, index, label, time = out.metadata
            links = seeds if self.neg_sampling is None else sizes("links", index.shape[1])
            store["edge_label_index"] = sized(index, 1, links)
            store["edge_label"] = None if label is None else sized(np.ascontiguousarray(label), 0, links)
            store["edge_label_time"] = None if time is None else sized(np.ascontiguousarray(time), 0, links)
        return batch if self.transform is None else self.transform(batch)


__all__ = ["LinkLoader"]
