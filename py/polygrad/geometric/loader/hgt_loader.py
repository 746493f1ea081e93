"""HGTLoader: batches by the sampling of the heterogeneous graph transformer (Hu et al., 2020)."""

from __future__ import annotations

from typing import Any, Callable

from ..sampler import HGTSampler
from ._stores import graph_of
from .node_loader import NodeLoader


class HGTLoader(NodeLoader):
    """Samples num_samples[k] nodes of every type at hop k around batch_size input nodes, and takes all edges between them.

    data: a HeteroData. num_samples: a list, or {node type: list}. input_nodes: a node type, or a pair of it and indices or a mask.
    Further arguments: see NodeLoader. How nodes are drawn: see HGTSampler.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import HeteroData
    >>> from polygrad.geometric.loader import HGTLoader
    >>> data = HeteroData()
    >>> data["paper"].x, data["author"].x = Tensor.ones(3, 2), Tensor.ones(2, 2)
    >>> data["author", "writes", "paper"].edge_index = Tensor([[0, 1, 1], [0, 0, 2]])
    >>> batch = next(iter(HGTLoader(data, [2], ("paper", Tensor([0])), batch_size=1)))
    >>> print(batch["author"].num_nodes, batch["author", "writes", "paper"].num_edges)
    2 2
    """

    def __init__(
        self,
        data: Any,
        num_samples: Any,
        input_nodes: Any,
        is_sorted: bool = False,
        transform: Callable[[Any], Any] | None = None,
        transform_sampler_output: Callable[[Any], Any] | None = None,
        filter_per_worker: bool | None = None,
        **kwargs: Any,
    ):
        data = graph_of(data)
        super().__init__(
            data=data,
            node_sampler=HGTSampler(data, num_samples=num_samples, is_sorted=is_sorted),
            input_nodes=input_nodes,
            transform=transform,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            **kwargs,
        )


__all__ = ["HGTLoader"]
