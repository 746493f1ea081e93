"""U-Net on graphs."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..._product import product
from ..._rows import rows_of
from ...utils import _host
from ...utils.loop import remove_self_loops
from ..conv.gcn_conv import GCNConv
from ..pool.topk_pool import TopKPooling, one_graph
from ..resolver import activation_resolver


class GraphUNet(nn.Module):
    """GCN layers with TopKPooling between them on the way down, and back up with the layers on the other side (Gao and Ji, 2019).

    pool_ratios: one, or one for each of the depth levels. sum_res: what comes from the other side is added, not joined.

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
            edge_index, edge_weight = self.augment_adj(edge_index, edge_weight, x.shape[0])
            x, edge_index, edge_weight, batch, perm, _ = self.pools[k](x, edge_index, edge_weight, batch)
            x = self.act(self.down_convs[k + 1](x, edge_index, edge_weight))
            levels.append((x, edge_index, edge_weight))
            perms.append(perm)
        for k in range(self.depth):
            res, edge_index, edge_weight = levels[self.depth - 1 - k]
            up = rows_of(perms[self.depth - 1 - k], res.shape[0]).reduce(x, "sum")
            x = self.up_convs[k](res + up if self.sum_res else Tensor.cat(res, up, dim=-1), edge_index, edge_weight)
            x = self.act(x) if k < self.depth - 1 else x
        return x

    def augment_adj(self, edge_index: Tensor, edge_weight: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
        """(A + I)^2 without its diagonal: paths of two edges become edges."""
        edge_index, weight = remove_self_loops(edge_index, edge_weight)
        assert weight is not None
        graph = Graph(edge_index, num_nodes=num_nodes).with_self_loops()
        weight = graph.carry(weight, 1.0)
        square, values = product(graph, weight, graph, weight)
        index = _host.tensor(square.edge_index.numpy().astype("int64"))
        new_index, new_weight = remove_self_loops(index, values)
        assert new_weight is not None
        return new_index, new_weight

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.hidden_channels}, {self.out_channels}, depth={self.depth}, pool_ratios={self.pool_ratios}"


__all__ = ["GraphUNet"]
