"""Chebyshev convolution (Defferrard et al., "Convolutional neural networks on graphs with fast localized spectral filtering", NIPS 2016)."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....graphs import Graph
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import zeros
from ._loops import append_loops, graph_of, inverse_sqrt, is_linear, same_size
from .message_passing import MessagePassing


class ChebConv(MessagePassing):
    r"""X' = sum over k = 1..K of Z_k W_k + b, with Z_1 = X, Z_2 = L X, Z_k = 2 L Z_(k-1) - Z_(k-2), and L = 2 (I - S) / lambda_max - I.

    normalization: of the Laplacian I - S; 'sym' (S = D^-1/2 A D^-1/2), 'rw' (S = D^-1 A), None (D - A instead of I - S).
    lambda_max, given to forward: the largest eigenvalue, a number or, with batch, one for each graph; without it twice the largest
    entry of the Laplacian.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E], batch [V], lambda_max []; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import ChebConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> ChebConv(4, 8, K=3)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, in_channels: int, out_channels: int, K: int, normalization: str | None = "sym", bias: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        if K <= 0:
            raise ValueError(f"K must be positive, not {K}")
        if normalization not in (None, "sym", "rw"):
            raise ValueError(f"normalization must be 'sym', 'rw' or None, not {normalization!r}")
        self.in_channels, self.out_channels, self.normalization = in_channels, out_channels, normalization
        self.lins = nn.ModuleList([Linear(in_channels, out_channels, bias=False, weight_initializer="glorot") for _ in range(K)])
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in self.lins:
            lin.reset_parameters()
        zeros(self.bias)

    def _laplacian(self, graph: Graph, edge_weight: Tensor | None, batch: Tensor | None, lambda_max: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        """L, of a graph without loops: the entries at its edges [E], and those on the diagonal [V]."""
        degree = graph.out_degree.cast(x.dtype) if edge_weight is None else graph.sum(edge_weight, "out")
        if self.normalization is None:
            entries, diagonal = (Tensor.ones(graph.num_edges, dtype=x.dtype) if edge_weight is None else edge_weight), degree
        else:
            if self.normalization == "sym":
                scale = inverse_sqrt(degree)
                entries = graph.src(scale) * graph.dst(scale)
            else:
                some = degree != 0
                entries = graph.src(some.where(some.where(degree, 1.0).reciprocal(), 0.0))
            entries = entries if edge_weight is None else entries * edge_weight
            diagonal = Tensor.ones(degree.shape[0], dtype=x.dtype)
        at_edges = at_nodes = lambda_max
        if lambda_max is None:
            at_edges = at_nodes = 2.0 * diagonal.max().maximum(graph.max(-entries, "out").max())
        elif isinstance(lambda_max, Tensor) and lambda_max.numel() > 1 and batch is not None:
            at_nodes = lambda_max.reshape(-1)[batch]
            at_edges = graph.src(at_nodes)
        entries, diagonal = -2.0 * entries / at_edges, 2.0 * diagonal / at_nodes
        infinite = entries.isinf(), diagonal.isinf()
        return infinite[0].where(0.0, entries), infinite[1].where(0.0, diagonal) - 1.0

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None, batch: Tensor | None = None, lambda_max: Any = None) -> Tensor:
        given = graph_of(edge_index, x.shape[self.node_dim])
        graph = given.without_self_loops()
        if edge_weight is not None and not same_size(graph.num_edges, given.num_edges):
            edge_weight = graph.carry(edge_weight)
        linear = is_linear(self) and self.aggr != "mean"
        # Without weights the largest entry of I - S is 1, so that L = -S: factors of nodes around a sum.
        if linear and edge_weight is None and lambda_max is None and self.normalization == "sym":
            scale = inverse_sqrt(graph.out_degree.cast(x.dtype)).unsqueeze(-1)

            def step(z: Tensor) -> Tensor:
                return -scale * self.propagate(graph, x=scale * z, norm=None)
        elif linear:
            norm, diagonal = self._laplacian(graph, edge_weight, batch, lambda_max, x)
            diagonal = diagonal.unsqueeze(-1)

            def step(z: Tensor) -> Tensor:
                return self.propagate(graph, x=z, norm=norm) + diagonal * z
        else:
            looped = graph.with_self_loops()
            norm, diagonal = self._laplacian(graph, edge_weight, batch, lambda_max, x)
            every = append_loops(graph, looped, norm, diagonal)

            def step(z: Tensor) -> Tensor:
                return self.propagate(looped, x=z, norm=every)

        out = self._recur_back(x, step) if linear and self.out_channels < x.shape[-1] else self._recur(x, step)
        return out if self.bias is None else out + self.bias

    def _recur(self, x: Tensor, step: Any) -> Tensor:
        before, z = x, x
        out = self.lins[0](x)
        for k in range(1, len(self.lins)):
            before, z = z, (step(x) if k == 1 else 2.0 * step(z) - before)
            out = out + self.lins[k](z)
        return out

    def _recur_back(self, x: Tensor, step: Any) -> Tensor:
        """Clenshaw's rule: the same sum, with the features that come out carried around instead of those that go in."""
        last = len(self.lins) - 1
        after, b = None, self.lins[last](x)
        for k in range(last - 1, -1, -1):
            new = self.lins[k](x) + (step(b) if k == 0 else 2.0 * step(b))
            after, b = b, (new if after is None else new - after)
        return b

    def message(self, x_j: Tensor, norm: Tensor | None) -> Tensor:
        return x_j if norm is None else norm.reshape(-1, 1) * x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={len(self.lins)}, normalization={self.normalization})"


__all__ = ["ChebConv"]
