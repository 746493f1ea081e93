"""Pooling by contraction of edges."""

from __future__ import annotations

import ctypes
from typing import Callable, NamedTuple

import numpy as np

from .... import nn
from ...._core import C, like
from ....graphs import Graph
from ....tensor import Tensor
from ..._rows import rows_of
from ...utils import _host
from ...utils._coalesce import coalesce
from ..inits import reset


class UnpoolInfo(NamedTuple):
    """What is needed to go back to the graph before pooling."""

    edge_index: Tensor
    cluster: Tensor
    batch: Tensor
    new_edge_score: Tensor


class EdgePooling(nn.Module):
    """Puts the two ends of edges together, edges with high scores first (Diehl et al., 2019).

    s = score(W [x_i, x_j] + b) + add_to_edge_score;   x' of a contracted edge = s (x_i + x_j), nodes that are left stay as they are

    edge_score_method: (raw_edge_score, edge_index, num_nodes) -> scores; by default compute_edge_score_softmax, softmax over the edges into
    each node; compute_edge_score_tanh and compute_edge_score_sigmoid are there too.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import EdgePooling
    >>> x, edge_index, batch, info = EdgePooling(3)(Tensor.rand(4, 3), Tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), Tensor([0, 0, 1, 1]))
    >>> x.shape, batch.shape
    ((2, 3), (2,))
    """

    def __init__(
        self, in_channels: int, edge_score_method: Callable[..., Tensor] | None = None, dropout: float | None = 0.0, add_to_edge_score: float = 0.5
    ):
        self.in_channels, self.add_to_edge_score, self.dropout = in_channels, add_to_edge_score, dropout or 0.0
        self.compute_edge_score = self.compute_edge_score_softmax if edge_score_method is None else edge_score_method
        self.lin = nn.Linear(2 * in_channels, 1)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.lin)

    @staticmethod
    def compute_edge_score_softmax(raw_edge_score: Tensor, edge_index: Tensor, num_nodes: int) -> Tensor:
        """Softmax over the edges into each node."""
        return Graph(edge_index, num_nodes=num_nodes).softmax(raw_edge_score)

    @staticmethod
    def compute_edge_score_tanh(raw_edge_score: Tensor, edge_index: Tensor | None = None, num_nodes: int | None = None) -> Tensor:
        """Between -1 and 1."""
        return raw_edge_score.tanh()

    @staticmethod
    def compute_edge_score_sigmoid(raw_edge_score: Tensor, edge_index: Tensor | None = None, num_nodes: int | None = None) -> Tensor:
        """Between 0 and 1."""
        return raw_edge_score.sigmoid()

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor, UnpoolInfo]:
        """Gives (x, edge_index, batch, what unpool needs)."""
        graph = Graph(edge_index, num_nodes=x.shape[0])
        e = self.lin(Tensor.cat(graph.src(x), graph.dst(x), dim=-1)).reshape(-1)
        e = e.dropout(self.dropout) if self.dropout else e
        e = self.compute_edge_score(e, edge_index, x.shape[0]) + self.add_to_edge_score
        return self._merge_edges(x, edge_index, graph, batch, e)

    def _merge_edges(
        self, x: Tensor, edge_index: Tensor, graph: Graph, batch: Tensor, edge_score: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, UnpoolInfo]:
        out = ctypes.c_void_p()
        cluster = like(graph, C.poly_graph_contract(graph._p, edge_score.detach(), ctypes.byref(out)))
        chosen = like(graph, out.value)
        number, old = cluster.numpy(), _host.vector(batch, "batch")
        contracted, count = int(chosen.shape[0]), int(number.max(initial=-1)) + 1
        score = edge_score[chosen] if contracted else edge_score[:0]
        if count > contracted:
            rest = Tensor.ones(count - contracted, dtype=score.dtype)
            score = Tensor.cat(score, rest) if contracted else rest
        new_x = rows_of(cluster, count).reduce(x, "sum") * score.reshape(-1, 1)
        new_edge_index = coalesce(_host.tensor(number[_host.edges(edge_index)]), num_nodes=count)
        graphs = np.zeros(count, old.dtype)
        graphs[number] = old
        new_batch = _host.tensor(graphs)
        if getattr(batch, "_count", None) is not None:
            new_batch._count = batch._count
        return new_x, new_edge_index, new_batch, UnpoolInfo(edge_index, cluster, batch, score)

    def unpool(self, x: Tensor, unpool_info: UnpoolInfo) -> tuple[Tensor, Tensor, Tensor]:
        """Features of the nodes before pooling, with their edges and graphs: each gets those of its cluster, divided by the score."""
        new_x = x / unpool_info.new_edge_score.reshape(-1, 1)
        return new_x[unpool_info.cluster], unpool_info.edge_index, unpool_info.batch

    def extra_repr(self) -> str:
        return str(self.in_channels)


__all__ = ["EdgePooling", "UnpoolInfo"]
