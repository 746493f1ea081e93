"""The second step of pooling: from edges between nodes to edges between clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..... import nn
from .....tensor import Tensor
from ....utils import _host
from ..select.base import SelectOutput


@dataclass
class ConnectOutput:
    """The edges of the new graph, their attributes, and the graph of each cluster.

    Shapes: edge_index [2, E'], edge_attr [E', D], batch [C].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.pool.connect import ConnectOutput
    >>> ConnectOutput(Tensor([[0], [1]])).edge_index.tolist()
    [[0], [1]]
    """

    edge_index: Tensor
    edge_attr: Tensor | None = None
    batch: Tensor | None = None

    def __post_init__(self) -> None:
        if self.edge_index.ndim != 2 or self.edge_index.shape[0] != 2:
            raise ValueError(f"Expected 'edge_index' to have the shape [2, E] (got {self.edge_index.shape})")
        if self.edge_attr is not None and self.edge_attr.shape[0] != self.edge_index.shape[1]:
            edges, values = self.edge_index.shape[1], self.edge_attr.shape[0]
            raise ValueError(f"Expected 'edge_index' and 'edge_attr' to hold the same number of edges (got {edges} and {values} edges)")


class Connect(nn.Module):
    """Base class: forward gives a ConnectOutput.

    Shapes: forward takes a SelectOutput, edge_index [2, E], edge_attr [E, D] and batch [V].

    >>> from polygrad.geometric.nn.pool.connect import Connect, FilterEdges
    >>> issubclass(FilterEdges, Connect)
    True
    """

    def reset_parameters(self) -> None:
        """Draws new parameters, if there are any."""

    def forward(self, select_output: SelectOutput, edge_index: Tensor, edge_attr: Tensor | None = None, batch: Tensor | None = None) -> ConnectOutput:
        raise NotImplementedError

    @staticmethod
    def get_pooled_batch(select_output: SelectOutput, batch: Tensor | None) -> Tensor | None:
        """The graph of each cluster."""
        if batch is None:
            return None
        old = _host.vector(batch, "batch")
        new = np.arange(int(select_output.num_clusters), dtype=old.dtype)
        new[_host.vector(select_output.cluster_index)] = old[_host.vector(select_output.node_index)]
        out = _host.tensor(new)
        out = out if select_output.num_clusters.__class__ is int else out.sized(select_output.num_clusters)
        if getattr(batch, "_count", None) is not None:
            out._count = batch._count
        return out


__all__ = ["Connect", "ConnectOutput"]
