"""LGConv: GCN's propagation and nothing else."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor
from ._loops import Smoother
from .message_passing import MessagePassing


class LGConv(Smoother, MessagePassing):
    """The layer of LightGCN (He et al. 2020), which has no parameters.

        x'_i = sum_j e_ji / sqrt(deg_i deg_j) x_j

    normalize=False leaves the degrees out.

    Shapes: x [V, F], edge_index [2, E], edge_weight [E]; out [V, F].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LGConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> LGConv()(Tensor.ones(3, 4), edge_index).shape
    (3, 4)
    """

    def __init__(self, normalize: bool = True, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.normalize = normalize

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        if self.normalize:
            return self._smooth(self._scaled(x, edge_index, edge_weight, loops=False), x)
        return self.propagate(edge_index, x=x, edge_weight=edge_weight)

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        return x_j if edge_weight is None else edge_weight.reshape(-1, 1) * x_j
