"""Graph isomorphism networks (Xu et al., "How powerful are graph neural networks?", ICLR 2019), and the form with edge features (Hu et al.,
"Strategies for pre-training graph neural networks", ICLR 2020)."""

from __future__ import annotations

from typing import Any, Callable

from .... import nn as dense
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import reset
from .message_passing import MessagePassing


def _width(nn: Any) -> int:
    """Number of features that a network takes."""
    first = nn[0] if isinstance(nn, dense.Sequential) else nn
    if isinstance(first, dense.Linear):
        return first.weight.shape[1]
    for name in ("in_features", "in_channels"):
        if hasattr(first, name):
            return getattr(first, name)
    raise ValueError(f"the number of input features cannot be seen from nn, a {type(first).__name__}: it has neither in_features nor in_channels")


class GINConv(MessagePassing):
    r"""x'_i = nn((1 + eps) x_i + sum over j in N(i) of x_j).

    nn: a network that maps [V, F_in] to [V, F_out]. train_eps: is eps a parameter?

    Shapes: x [V, F_in] or ([V_s, F_in], [V_t, F_in]), edge_index [2, E]; out [V_t, F_out].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import GINConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GINConv(nn.Linear(4, 8), train_eps=True)(Tensor.ones(3, 4), edge_index).shape
    (3, 8)
    """

    def __init__(self, nn: Callable[..., Tensor], eps: float = 0.0, train_eps: bool = False, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.nn, self.initial_eps = nn, eps
        self.eps = Tensor.full((1,), eps, requires_grad=train_eps)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.nn)
        self.eps.assign(Tensor.full((1,), self.initial_eps, dtype=self.eps.dtype))

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> Tensor:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        out = self.propagate(edge_index, x=(left, right), size=size)
        return self.nn(out if right is None else out + (1 + self.eps) * right)

    def message(self, x_j: Tensor) -> Tensor:
        return x_j

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"


class GINEConv(MessagePassing):
    r"""x'_i = nn((1 + eps) x_i + sum over j in N(i) of relu(x_j + e_ji)).

    nn: a network that maps [V, F_in] to [V, F_out]. train_eps: is eps a parameter? edge_dim: features of an edge, which a linear map then
    brings to F_in.

    Shapes: x [V, F_in] or ([V_s, F_in], [V_t, F_in]), edge_index [2, E], edge_attr [E, D]; out [V_t, F_out].

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import GINEConv
    >>> edge_index = Tensor([[0, 1, 2], [1, 2, 0]])
    >>> GINEConv(nn.Linear(4, 8), edge_dim=2)(Tensor.ones(3, 4), edge_index, Tensor.ones(3, 2)).shape
    (3, 8)
    """

    def __init__(self, nn: Callable[..., Tensor], eps: float = 0.0, train_eps: bool = False, edge_dim: int | None = None, **kwargs: Any):
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.nn, self.initial_eps = nn, eps
        self.eps = Tensor.full((1,), eps, requires_grad=train_eps)
        self.lin = None if edge_dim is None else Linear(edge_dim, _width(nn))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        reset(self.nn)
        self.eps.assign(Tensor.full((1,), self.initial_eps, dtype=self.eps.dtype))
        if self.lin is not None:
            self.lin.reset_parameters()

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None) -> Tensor:
        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        out = self.propagate(edge_index, x=(left, right), edge_attr=edge_attr, size=size)
        return self.nn(out if right is None else out + (1 + self.eps) * right)

    def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:
        if edge_attr is None:
            raise ValueError("GINEConv needs edge_attr; GINConv does without")
        if self.lin is not None:
            edge_attr = self.lin(edge_attr)
        elif x_j.shape[-1] != edge_attr.shape[-1]:
            d = edge_attr.shape[-1]
            raise ValueError(f"{x_j.shape[-1]} features of nodes and {d} of edges do not match: give GINEConv edge_dim={d}")
        return (x_j + edge_attr).relu()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"


__all__ = ["GINConv", "GINEConv"]
