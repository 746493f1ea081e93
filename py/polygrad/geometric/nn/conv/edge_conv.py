"""Edge convolution (Wang et al., "Dynamic graph CNN for learning on point clouds", 2018), on given edges and on nearest neighbours."""

from __future__ import annotations

from typing import Any, Callable

from ....tensor import Tensor
from ..inits import reset
from .message_passing import MessagePassing


class EdgeConv(MessagePassing):
    r"""x'_i = max over j in N(i) of nn([x_i, x_j - x_i]).

    nn: a network that maps [E, 2 F_in] to [E, F_out]. aggr: what stands for the maximum.

    Shapes: x [V, F_in] or ([V_s, F_in], [V_t, F_in]), edge_index [2, E]; out [V_t, F_out].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import EdgeConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> EdgeConv(nn.Linear(8, 16))(Tensor.ones(3, 4), edge_index).shape
    (3, 16)
    """

    def __init__(self, nn: Callable[..., Tensor], aggr: Any = "max", **kwargs: Any):
        super().__init__(aggr=aggr, **kwargs)
        self.nn = nn
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.nn)

    def forward(self, x: Any, edge_index: Any) -> Tensor:
        return self.propagate(edge_index, x=(x, x) if isinstance(x, Tensor) else x)

    def message(self, x_i: Tensor, x_j: Tensor) -> Tensor:
        return self.nn(Tensor.cat(x_i, x_j - x_i, dim=-1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"


class DynamicEdgeConv(MessagePassing):
    r"""EdgeConv on the k nearest neighbours of each node, found anew in every call: x'_i = max over j in kNN(i) of nn([x_i, x_j - x_i]).

    nn: a network that maps [E, 2 F_in] to [E, F_out]. k: number of neighbours. batch, given to forward: the graph of each node (or a pair
    of them for a pair of features); neighbours are in the same one.

    Shapes: x [V, F_in] or ([V_s, F_in], [V_t, F_in]), batch [V]; out [V_t, F_out].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import DynamicEdgeConv
    >>> DynamicEdgeConv(nn.Linear(8, 16), k=2)(Tensor.rand(5, 4)).shape
    (5, 16)
    """

    def __init__(self, nn: Callable[..., Tensor], k: int, aggr: Any = "max", num_workers: int = 1, **kwargs: Any):
        super().__init__(aggr=aggr, flow="source_to_target", **kwargs)
        self.nn, self.k, self.num_workers = nn, k, num_workers
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.nn)

    def forward(self, x: Any, batch: Any = None) -> Tensor:
        from ..pool import knn

        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        if left.ndim != 2:
            raise ValueError(f"DynamicEdgeConv takes node features of two axes, not the shape {left.shape}")
        b = batch if isinstance(batch, (tuple, list)) else (batch, batch)
        edge_index = knn(left, right, self.k, b[0], b[1]).flip(0)
        return self.propagate(edge_index, x=(left, right))

    def message(self, x_i: Tensor, x_j: Tensor) -> Tensor:
        return self.nn(Tensor.cat(x_i, x_j - x_i, dim=-1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn}, k={self.k})"


__all__ = ["DynamicEdgeConv", "EdgeConv"]
