"""Path integral convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....graphs import Graph
from ....tensor import Tensor
from ..._product import SparseMatrix, product
from ..._rows import rows_of
from ..dense.linear import Linear
from .message_passing import MessagePassing


class PANConv(MessagePassing):
    """X' = M X W,  M = Z^-1/2 (sum_n w_n A^n) Z^-1/2 with n up to filter_size (Ma et al., 2020).

    Z counts the entries of each row of the sum. Gives X' and M, for PANPooling.

    Shapes: x [V, F_in], edge_index [2, E]; out [V, F_out] and M, a sparse V x V matrix.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import PANConv
    >>> out, m = PANConv(4, 8, filter_size=2)(Tensor.rand(3, 4), Tensor([[0, 1], [1, 2]]))
    >>> out.shape, m
    ((3, 8), <SparseMatrix 3 x 3, 6 entries>)
    """

    def __init__(self, in_channels: int, out_channels: int, filter_size: int, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.filter_size = in_channels, out_channels, filter_size
        self.lin = Linear(in_channels, out_channels)
        self.weight = Tensor.full((filter_size + 1,), 0.5, requires_grad=True)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin.reset_parameters()
        self.weight.assign(Tensor.full(self.weight.shape, 0.5))

    def forward(self, x: Tensor, edge_index: Any) -> tuple[Tensor, SparseMatrix]:
        graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, num_nodes=x.shape[0])
        paths, value = self.panentropy(graph, int(x.shape[0]))
        degree = paths.in_degree.cast(x.dtype)
        scale = (degree > 0).where(degree.maximum(1).rsqrt(), 0.0)
        value = paths.dst(scale) * value * paths.src(scale)
        out = paths.sum(paths.src(x) * value.reshape(-1, 1))
        return self.lin(out), SparseMatrix(paths, value)

    def panentropy(self, graph: Graph, nodes: int) -> tuple[Graph, Tensor]:
        """The graph of all paths of up to filter_size edges, and the weight of each pair of ends."""
        back = graph.reversed()  # rows are destinations
        loops = np.arange(nodes)
        power, value = Graph.from_coo(loops, loops, nodes), self.weight[0].expand(nodes)
        ends, values = [np.stack([loops, loops])], [value]
        for k in range(1, self.filter_size + 1):
            power, grown = product(power, value, back, None)
            assert grown is not None
            value = grown * self.weight[k]
            ends.append(np.stack([power.src_index.numpy(), power.dst_index.numpy()]).astype(np.int64))
            values.append(value)
        row, col = np.concatenate(ends, 1)
        key, place = np.unique(row * nodes + col, return_inverse=True)
        merged = rows_of(Tensor(place.reshape(-1).astype(np.int64)), key.size).reduce(Tensor.cat(*values), "sum")
        return Graph.from_coo(key % max(1, nodes), key // max(1, nodes), nodes), merged

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, filter_size={self.filter_size})"


__all__ = ["PANConv"]
