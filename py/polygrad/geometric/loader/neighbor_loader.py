"""NeighborLoader: batches of nodes with a sample of their neighbourhoods (Hamilton et al., 2017)."""

from __future__ import annotations

from typing import Any, Callable

from ..sampler import NeighborSampler
from ._stores import graph_of
from .node_loader import NodeLoader


class NeighborLoader(NodeLoader):
    """Samples num_neighbors[k] edges into each node reached at hop k, around batch_size input nodes at a time.

    num_neighbors: a list with a number for each hop, -1 for all edges; for a HeteroData also {edge type: list}. input_nodes: indices or a
    mask of nodes, or None for all; for a HeteroData a node type, or a pair of it and those. replace, subgraph_type, disjoint, time_attr,
    temporal_strategy, weight_attr, is_sorted: see NeighborSampler. input_time: times of the input nodes, instead of those of time_attr.
    neighbor_sampler: one that is there already. Further arguments: see NodeLoader, which also says what a batch holds.

    Sampling runs in C, on threads, ahead of the training step. It follows `seed`, or Tensor.manual_seed, whatever the number of threads.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import NeighborLoader
    >>> data = Data(x=Tensor.ones(5, 2), edge_index=Tensor([[1, 2, 3, 4], [0, 0, 1, 3]]))
    >>> for batch in NeighborLoader(data, num_neighbors=[-1, -1], batch_size=1, input_nodes=Tensor([0, 3])):
    ...     print(batch.n_id.tolist(), batch.edge_index.tolist(), batch.batch_size)
    [0, 1, 2, 3] [[1, 2, 3], [0, 0, 1]] 1
    [3, 4] [[1], [0]] 1
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        input_nodes: Any = None,
        input_time: Any = None,
        replace: bool = False,
        subgraph_type: Any = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
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
        if input_time is not None and time_attr is None:
            raise ValueError("input_time is given, but not time_attr")
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
            node_sampler=neighbor_sampler,
            input_nodes=input_nodes,
            input_time=input_time,
            transform=transform,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            **kwargs,
        )


__all__ = ["NeighborLoader"]
