"""LinkNeighborLoader: batches of edges with a sample of the neighbourhoods of their ends."""

from __future__ import annotations

from typing import Any, Callable

from ..sampler import NeighborSampler
from ._stores import graph_of
from .link_loader import LinkLoader


class LinkNeighborLoader(LinkLoader):
    """Samples num_neighbors[k] edges into each node reached at hop k, around both ends of batch_size edges at a time.

    edge_label_index, edge_label, edge_label_time, neg_sampling: see LinkLoader, which also says what a batch holds. num_neighbors,
    replace, subgraph_type, disjoint, time_attr, temporal_strategy, weight_attr, is_sorted: see NeighborSampler.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import LinkNeighborLoader
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[1, 2, 3], [0, 1, 2]]))
    >>> loader = LinkNeighborLoader(data, [-1], edge_label_index=data.edge_index, batch_size=2, neg_sampling="binary")
    >>> [batch.edge_label.tolist() for batch in loader]
    [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0]]
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        edge_label_index: Any = None,
        edge_label: Any = None,
        edge_label_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        neg_sampling: Any = None,
        neg_sampling_ratio: float | None = None,
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler: Any = None,
        directed: bool = True,
        **kwargs: Any,
    ):
        if (edge_label_time is not None) != (time_attr is not None):
            missing = "edge_label_time" if edge_label_time is None else "time_attr"
            raise ValueError(f"'{missing}' is not set: edge_label_time and time_attr go together")
        data = graph_of(data, time_attr)
        if neighbor_sampler is None:
            neighbor_sampler = NeighborSampler(
                data,
                num_neighbors=num_neighbors,
                replace=replace,
                subgraph_type=subgraph_type,
                disjoint=disjoint,
                temporal_strategy=temporal_strategy,
                time_attr=time_attr,
                weight_attr=weight_attr,
                is_sorted=is_sorted,
                directed=directed,
            )
        super().__init__(
            data=data,
            link_sampler=neighbor_sampler,
            edge_label_index=edge_label_index,
            edge_label=edge_label,
            edge_label_time=edge_label_time,
            neg_sampling=neg_sampling,
            neg_sampling_ratio=neg_sampling_ratio,
            transform=transform,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            **kwargs,
        )


__all__ = ["LinkNeighborLoader"]
