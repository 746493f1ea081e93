"""Labels spread along edges."""

from __future__ import annotations

from typing import Any, Callable

from ....graphs import Graph
from ....loops import repeated
from ....tensor import Tensor
from ...sparse_tensor import SparseTensor
from ..conv.message_passing import MessagePassing


def is_labels(y: Tensor) -> bool:
    """Whole numbers, one for each node, as against a row of values for each."""
    return y.dtype.kind in "iu" and y.shape[0] == y.numel()


def _where_labeled(mask: Tensor, y: Tensor) -> Tensor:
    """y, with rows that the mask (or the list of nodes) leaves out set to 0."""
    if mask.dtype.kind == "b":
        return mask.reshape(-1, *[1] * (y.ndim - 1)).where(y, 0)
    known = Tensor.zeros(y.shape[0]).scatter(0, mask, Tensor.ones(mask.shape[0])) > 0
    return known.reshape(-1, *[1] * (y.ndim - 1)).where(y, 0)


class LabelPropagation(MessagePassing):
    """Y' = alpha D^-1/2 A D^-1/2 Y + (1 - alpha) Y_0, num_layers times (Zhu and Ghahramani, 2002). Nothing is learnt.

    Shapes: y [V] of classes or [V, C], edge_index [2, E], mask [V], edge_weight [E]; out [V, C].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LabelPropagation
    >>> LabelPropagation(num_layers=3, alpha=0.9)(Tensor([0, 1, 0]), Tensor([[0, 1, 1, 2], [1, 0, 2, 1]])).shape
    (3, 2)
    """

    def __init__(self, num_layers: int, alpha: float):
        super().__init__(aggr="add")
        self.num_layers, self.alpha = num_layers, alpha

    def forward(
        self, y: Tensor, edge_index: Any, mask: Tensor | None = None, edge_weight: Tensor | None = None,
        post_step: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:  # fmt: skip
        """y: labels [N], or a row for each node. mask: nodes whose labels are known. edge_weight: used as they are, instead of
        D^-1/2 A D^-1/2. post_step: what is done to the rows after every step; by default they are clamped to [0, 1]."""
        with Tensor.no_grad():
            if is_labels(y):
                y = y.reshape(-1).one_hot().float()
            elif not y.is_floating_point():
                y = y.float()
            out = y if mask is None else _where_labeled(mask, y)
            graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, num_nodes=y.shape[0])
            ones = [1] * (out.ndim - 1)
            # Values of one of PyTorch's matrices are normalised, weights and the values of a SparseTensor are used as they are.
            normed = edge_weight is None or any(isinstance(v, SparseTensor) and hasattr(v, "layout") for v in self.__dict__.get("_given", ()))
            weight = None if edge_weight is None else edge_weight.reshape(-1, *ones)
            degree = (graph.in_degree.cast(out.dtype) if edge_weight is None else graph.sum(edge_weight)).reshape(-1, *ones)
            scale = (degree > 0).where(degree.maximum(1e-30).rsqrt(), 0.0) if normed else 1.0
            rest = (1 - self.alpha) * out

            def step(out: Tensor) -> Tensor:
                out = graph.src(out * scale)
                out = graph.sum(out if weight is None else out * weight) * scale
                return self.alpha * out + rest

            if post_step is None:
                return repeated(lambda out: step(out).clamp(0.0, 1.0), out, self.num_layers)
            for _ in range(self.num_layers):  # post_step may do anything
                out = post_step(step(out))
            return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_layers={self.num_layers}, alpha={self.alpha})"


__all__ = ["LabelPropagation", "is_labels"]
