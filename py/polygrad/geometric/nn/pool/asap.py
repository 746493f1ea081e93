"""Pooling by clusters around nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..._product import product
from ...utils import _host
from ...utils.loop import add_remaining_self_loops, remove_self_loops
from ..conv.le_conv import LEConv
from ..inits import reset
from .select.topk import SelectTopK
from .topk_pool import one_graph


class ASAPooling(nn.Module):
    """The neighbourhoods of the fittest nodes become the nodes of a smaller graph (Ranjan et al., 2020).

    m_i = max over j in N(i) of x_j;   a_ij = softmax_j LeakyReLU(w [W m_i, x_j]);   c_i = sum_j a_ij x_j
    fitness = sigmoid(LEConv(c));   i = top_k(fitness);   X' = (c * fitness)_i;   A' = S^T A S with S = (a_ij)

    GNN: class of a layer that is applied to x before m_i and a_ij are computed.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ASAPooling
    >>> x, edge_index, edge_weight, batch, perm = ASAPooling(4)(Tensor.rand(6, 4), Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> x.shape
    (3, 4)
    """

    def __init__(
        self, in_channels: int, ratio: float | int = 0.5, GNN: Any = None, dropout: float = 0.0, negative_slope: float = 0.2,
        add_self_loops: bool = False, **kwargs: Any,
    ):  # fmt: skip
        self.in_channels, self.ratio, self.negative_slope, self.dropout = in_channels, ratio, negative_slope, dropout
        self.GNN, self.add_self_loops = GNN, add_self_loops
        self.lin = nn.Linear(in_channels, in_channels)
        self.att = nn.Linear(2 * in_channels, 1)
        self.gnn_score = LEConv(in_channels, 1)
        self.gnn_intra_cluster = None if GNN is None else GNN(in_channels, in_channels, **kwargs)
        self.select = SelectTopK(1, ratio)

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (self.lin, self.att, self.gnn_score, self.gnn_intra_cluster, self.select):
            reset(part)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, batch: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor]:
        """Gives (x, edge_index, edge_weight, batch, perm)."""
        nodes = x.shape[0]
        edge_index, edge_weight = add_remaining_self_loops(edge_index, edge_weight, fill_value=1.0, num_nodes=nodes)
        batch = one_graph(x) if batch is None else batch
        x = x.unsqueeze(-1) if x.ndim == 1 else x
        graph = Graph(edge_index, num_nodes=nodes)
        pooled = x
        if self.gnn_intra_cluster is not None:
            pooled = self.gnn_intra_cluster(x=x, edge_index=edge_index, edge_weight=edge_weight)
        query = self.lin(graph.max(graph.src(pooled)))
        score = self.att(Tensor.cat(graph.dst(query), graph.src(pooled), dim=-1)).reshape(-1).leaky_relu(self.negative_slope)
        score = graph.softmax(score)
        score = score.dropout(self.dropout) if self.dropout else score
        x = graph.sum(graph.src(x) * score.reshape(-1, 1))
        fitness = self.gnn_score(x, edge_index).sigmoid().reshape(-1)
        perm = self.select(fitness, batch).node_index
        x = x[perm] * fitness[perm].reshape(-1, 1)
        new_batch = _host.rows(batch, perm.numpy())
        if getattr(batch, "_count", None) is not None:
            new_batch._count = batch._count
        new_index, new_weight = self._coarsen(graph, edge_weight, score, perm.numpy(), int(nodes))
        if self.add_self_loops:
            new_index, new_weight = add_remaining_self_loops(new_index, new_weight, num_nodes=int(perm.shape[0]))
        else:
            new_index, new_weight = remove_self_loops(new_index, new_weight)
        return x, new_index, new_weight, new_batch, perm

    def _coarsen(self, graph: Graph, weight: Tensor | None, score: Tensor, perm: np.ndarray, nodes: int) -> tuple[Tensor, Tensor | None]:
        """S^T A S for the columns `perm` of S; the values only if there are weights."""
        src, dst = graph.src_index.numpy().astype(np.int64), graph.dst_index.numpy().astype(np.int64)
        order = np.lexsort((dst, src))  # rows sorted: the edges of the product come in PyG's order
        whole = Graph.from_coo(src[order], dst[order], nodes)
        place = np.full(nodes, -1, np.int64)
        place[perm] = np.arange(perm.size)
        keep = np.flatnonzero(place[dst] >= 0)
        keep = keep[np.lexsort((place[dst[keep]], src[keep]))]
        chosen = Graph.from_coo(src[keep], place[dst[keep]], num_src=nodes, num_dst=perm.size)
        values = None if weight is None else score[Tensor(keep)]
        half, half_values = product(whole, None if weight is None else weight[Tensor(order)], chosen, values)
        out, out_values = product(chosen.reversed(), values, half, half_values)
        return _host.tensor(out.edge_index.numpy().astype(np.int64)), out_values

    def extra_repr(self) -> str:
        return f"{self.in_channels}, ratio={self.ratio}"


__all__ = ["ASAPooling"]
