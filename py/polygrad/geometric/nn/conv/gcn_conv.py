"""Graph convolution (Kipf and Welling, "Semi-supervised classification with graph convolutional networks", ICLR 2017)."""

from __future__ import annotations

from typing import Any

from ....dtypes import DTypeLike, dtypes, to_dtype
from ....graphs import Graph
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import zeros
from ._loops import CachingSmoother, edge_weights, graph_of, scaled
from .message_passing import MessagePassing


def gcn_norm(
    edge_index: Any, edge_weight: Tensor | None = None, num_nodes: int | None = None, improved: bool = False, add_self_loops: bool = True,
    flow: str = "source_to_target", dtype: DTypeLike | None = None,
) -> tuple[Any, Tensor]:  # fmt: skip
    """The entries of D^-1/2 (A + I) D^-1/2: the edges with self loops, and the weight of each.

    A Graph gives a Graph, a Tensor [2, E] a Tensor. Loops that are there keep their weight; added ones have the weight 1, or 2 if
    improved and there are weights. O(V + E).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.conv.gcn_conv import gcn_norm
    >>> index, weight = gcn_norm(Tensor([[0, 1], [1, 0]]))
    >>> index.tolist(), [round(w, 3) for w in weight.tolist()]
    ([[0, 1, 0, 1], [1, 0, 0, 1]], [0.5, 0.5, 0.5, 0.5])
    """
    if hasattr(edge_index, "sparse_sizes"):
        return _matrix_norm(edge_index, improved, add_self_loops, dtype)
    kind = to_dtype(dtype) if dtype is not None else edge_weight.dtype if edge_weight is not None else dtypes.float32
    s = scaled(graph_of(edge_index, num_nodes), edge_weight, improved, add_self_loops, flow, kind)
    return (s.graph if isinstance(edge_index, Graph) else s.graph.edge_index), edge_weights(s, kind)


def _matrix_norm(adj_t: Any, improved: bool, add_self_loops: bool, dtype: Any) -> Any:
    """gcn_norm of a sparse matrix whose row i holds the edges into node i. One with PyTorch's methods is given as the first of a pair."""
    row, col, value = adj_t.coo()
    edges, weight = gcn_norm(row.stack(col).flip(0), value, adj_t.sparse_size(0), improved, add_self_loops, dtype=dtype)
    out = adj_t._made(row=edges[1], col=edges[0], value=weight, sparse_sizes=adj_t.sparse_sizes())
    return (out, None) if hasattr(adj_t, "layout") else out


class GCNConv(CachingSmoother, MessagePassing):
    r"""X' = D^-1/2 (A + I) D^-1/2 X W + b, where D holds the degrees of A + I.

    For a node, x'_i = W^T sum over j in N(i) and i of e_ji / sqrt(d_j d_i) x_j + b, where e_ji is the weight of the edge (1 without weights)
    and d_i = 1 + sum of e_ji.

    in_channels: features of a node, or -1 to take them from the first input. improved: A + 2 I. cached: keep the normalised graph of
    the first call. add_self_loops: None means where normalize is set. normalize: False sums with the given weights.

    Shapes: x [V, F_in], edge_index [2, E], edge_weight [E]; out [V, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCNConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GCNConv(4, 8)(Tensor.ones(3, 4), edge_index, Tensor([0.5, 1.0, 2.0])).shape
    (3, 8)
    """

    def __init__(
        self, in_channels: int, out_channels: int, improved: bool = False, cached: bool = False, add_self_loops: bool | None = None,
        normalize: bool = True, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        add_self_loops = normalize if add_self_loops is None else add_self_loops
        if add_self_loops and not normalize:
            raise ValueError("GCNConv does not support adding self-loops where it does not normalise: add_self_loops=True needs normalize=True")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.improved, self.cached, self.add_self_loops, self.normalize = improved, cached, add_self_loops, normalize
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self.lin.reset_parameters()
        zeros(self.bias)
        self._cached = None

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if isinstance(x, (tuple, list)):
            raise ValueError("GCNConv does not support bipartite message passing: it takes one set of nodes, use SAGEConv or GraphConv for a pair")
        if self.normalize:
            s = self._scaled(x, edge_index, edge_weight, self.improved, bool(self.add_self_loops), self.cached)
            out = self._smooth(s, self.lin(x))
        else:
            out = self.propagate(edge_index, x=self.lin(x), edge_weight=edge_weight)
        return out if self.bias is None else out + self.bias

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j


__all__ = ["GCNConv", "gcn_norm"]
