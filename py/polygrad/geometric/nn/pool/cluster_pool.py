"""Pooling by contraction of all edges above a threshold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .... import nn
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


def _components(e: np.ndarray, nodes: int) -> np.ndarray:
    """The connected component of each node, numbered by first appearance: each node takes the smallest label around it until none changes."""
    label = np.arange(nodes)
    while True:
        new = label.copy()
        np.minimum.at(new, e[0], label[e[1]])
        np.minimum.at(new, e[1], label[e[0]])
        new = new[new]
        if np.array_equal(new, label):
            return np.unique(label, return_inverse=True)[1].reshape(-1).astype(np.int64)
        label = new


class ClusterPooling(nn.Module):
    """Puts together all nodes that edges with a score above a threshold join (Diehl, 2019).

    s = score(W [x_i, x_j] + b);   X' = C^T (S + I_single)^T X, where C says the cluster of each node, S holds the scores, and I_single is 1
    for nodes that no contracted edge touches.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ClusterPooling
    >>> ClusterPooling(3)(Tensor.rand(4, 3), Tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), Tensor([0, 0, 1, 1]))[0].shape[1]
    3
    """

    def __init__(self, in_channels: int, edge_score_method: str = "tanh", dropout: float = 0.0, threshold: float | None = None):
        if edge_score_method not in ("tanh", "sigmoid", "log_softmax"):
            raise ValueError(f"edge_score_method must be 'tanh', 'sigmoid' or 'log_softmax', not {edge_score_method!r}")
        self.in_channels, self.edge_score_method, self.dropout = in_channels, edge_score_method, dropout
        self.threshold = threshold if threshold is not None else 0.5 if edge_score_method == "sigmoid" else 0.0
        self.lin = nn.Linear(2 * in_channels, 1)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        reset(self.lin)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor, UnpoolInfo]:
        """Gives (x, edge_index, batch, what came before)."""
        e, nodes = _host.edges(edge_index), int(x.shape[0])
        e = np.ascontiguousarray(e[:, e[0] != e[1]])
        edge_index = _host.tensor(e)
        graph = Graph(edge_index, num_nodes=nodes)
        score = self.lin(Tensor.cat(graph.src(x), graph.dst(x), dim=-1)).reshape(-1)
        score = score.dropout(self.dropout) if self.dropout else score
        score = score.log_softmax(0) if self.edge_score_method == "log_softmax" else getattr(score, self.edge_score_method)()
        contracted = e[:, score.detach().numpy() > self.threshold] if e.shape[1] else e
        number = _components(contracted, nodes)
        single = np.ones((nodes, 1), bool)
        single[contracted.reshape(-1)] = False
        count = int(number.max(initial=-1)) + 1
        cluster, old = _host.tensor(number), _host.vector(batch, "batch")
        spread = graph.sum(graph.src(x) * score.reshape(-1, 1)) + Tensor(single).where(x, 0.0)
        new_x = rows_of(cluster, count).reduce(spread, "sum")
        new = number[e]
        new_edges = coalesce(_host.tensor(new[:, new[0] != new[1]]), num_nodes=count)
        graphs = np.zeros(count, old.dtype)
        graphs[number] = old
        new_batch = _host.tensor(graphs)
        if getattr(batch, "_count", None) is not None:
            new_batch._count = batch._count
        return new_x, new_edges, new_batch, UnpoolInfo(edge_index, cluster, batch)

    def extra_repr(self) -> str:
        return str(self.in_channels)


__all__ = ["ClusterPooling", "UnpoolInfo"]
