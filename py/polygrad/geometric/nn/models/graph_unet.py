"""U-Net on graphs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..._product import product
from ..._rows import rows_of
from ...utils import _host
from ..conv.gcn_conv import GCNConv
from ..pool.topk_pool import TopKPooling, one_graph
from ..resolver import activation_resolver


def paths_between(edge_index: Tensor, weight: Tensor, num_nodes: int, nodes: np.ndarray | None) -> tuple[Tensor, Tensor]:
    """(A + I)^2 without its diagonal, and of that the rows and columns of `nodes`: paths of two edges become edges."""
    plain, stays = _host.filter_edges(edge_index, loops="n")
    ends = _host.with_loops(plain, num_nodes)
    weight = _host.join(_host.rows(weight, stays), _host.ones(num_nodes, weight.dtype))
    if nodes is None:
        a = b = Graph(_host.edges(ends), num_nodes=num_nodes)
        square, values = product(a, weight, b, weight)
    else:
        place = np.full(num_nodes, -1, np.int64)
        place[nodes] = np.arange(nodes.size)
        first, out = _host.filter_edges(ends, src=place)
        second, into = _host.filter_edges(ends, dst=place)
        a = Graph(_host.edges(first), num_src=nodes.size, num_dst=num_nodes)
        b = Graph(_host.edges(second), num_src=num_nodes, num_dst=nodes.size)
        square, values = product(a, _host.rows(weight, out), b, _host.rows(weight, into))
    assert values is not None
    made, memory = _host.room((2, int(square.num_edges)), np.int64)
    memory[0], memory[1] = square.src_index.numpy(), square.dst_index.numpy()
    made, between = _host.filter_edges(made, loops="n")
    return made, _host.rows(values, between)


class GraphUNet(nn.Module):
    """GCN layers with TopKPooling between them on the way down, and back up with the layers on the other side (Gao and Ji, 2019).

    pool_ratios: one, or one for each of the depth levels. sum_res: what comes from the other side is added, not joined.

    Shapes: x [V, F_in], edge_index [2, E], batch [V]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GraphUNet
    >>> GraphUNet(4, 8, 2, depth=2)(Tensor.rand(5, 4), Tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])).shape
    (5, 2)
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, depth: int, pool_ratios: Any = 0.5, sum_res: bool = True, act: Any = "relu"
    ):
        if depth < 1:
            raise ValueError(f"depth must be positive, not {depth}")
        self.in_channels, self.hidden_channels, self.out_channels, self.depth = in_channels, hidden_channels, out_channels, depth
        ratios = list(pool_ratios) if isinstance(pool_ratios, (list, tuple)) else [pool_ratios]
        self.pool_ratios = (ratios + [ratios[-1]] * depth)[:depth]
        self.act, self.sum_res = activation_resolver(act), sum_res
        h = hidden_channels
        self.down_convs = nn.ModuleList([GCNConv(in_channels if k == 0 else h, h, improved=True) for k in range(depth + 1)])
        self.pools = nn.ModuleList([TopKPooling(h, ratio) for ratio in self.pool_ratios])
        wide = h if sum_res else 2 * h
        self.up_convs = nn.ModuleList([GCNConv(wide, h if k < depth - 1 else out_channels, improved=True) for k in range(depth)])

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for part in (*self.down_convs, *self.pools, *self.up_convs):
            part.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, edge_weight: Tensor | None = None) -> Tensor:
        batch = one_graph(x) if batch is None else batch
        edge_weight = _host.ones(edge_index.shape[1], x.dtype) if edge_weight is None else edge_weight
        if edge_weight.ndim != 1 or edge_weight.shape[0] != edge_index.shape[1]:
            raise ValueError(f"edge_weight of shape {edge_weight.shape} for {edge_index.shape[1]} edges")
        x = self.act(self.down_convs[0](x, edge_index, edge_weight))
        levels, perms = [(x, edge_index, edge_weight)], []
        for k in range(self.depth):
            x, edge_index, edge_weight, batch, perm = self._pooled(self.pools[k], x, edge_index, edge_weight, batch)
            x = self.act(self.down_convs[k + 1](x, edge_index, edge_weight))
            levels.append((x, edge_index, edge_weight))
            perms.append(perm)
        for k in range(self.depth):
            res, edge_index, edge_weight = levels[self.depth - 1 - k]
            up = rows_of(perms[self.depth - 1 - k], res.shape[0]).reduce(x, "sum")
            x = self.up_convs[k](res + up if self.sum_res else Tensor.cat(res, up, dim=-1), edge_index, edge_weight)
            x = self.act(x) if k < self.depth - 1 else x
        return x

    def _pooled(
        self, pool: Any, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor]:
        """pool on the graph that augment_adj makes. Where both are the usual ones, nodes are chosen first: only paths between those that stay
        are followed."""
        if inspect.unwrap(type(self).augment_adj) is not GraphUNet.augment_adj or not isinstance(pool, TopKPooling):
            edge_index, edge_weight = self.augment_adj(edge_index, edge_weight, x.shape[0])
            return pool(x, edge_index, edge_weight, batch)[:5]
        chosen = pool.select(x, batch)
        edge_index, edge_weight = paths_between(edge_index, edge_weight, int(x.shape[0]), _host.vector(chosen.node_index))
        return pool.chosen_rows(x, chosen), edge_index, edge_weight, pool.connect.get_pooled_batch(chosen, batch), chosen.node_index

    def augment_adj(self, edge_index: Tensor, edge_weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
        """(A + I)^2 without its diagonal: paths of two edges become edges."""
        return paths_between(edge_index, edge_weight, num_nodes, None)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.hidden_channels}, {self.out_channels}, depth={self.depth}, pool_ratios={self.pool_ratios}"


__all__ = ["GraphUNet"]
