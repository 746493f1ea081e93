"""GravNetConv: neighbours in a space that is learned (Qasim et al., "Learning representations of irregular particle-detector geometry", 2019)."""

from __future__ import annotations

import warnings
from typing import Any

from ....tensor import Tensor
from ..dense.linear import Linear
from .message_passing import MessagePassing


class GravNetConv(MessagePassing):
    r"""x'_i = W_1 x_i + W_2 [mean, max over j in kNN(i) of exp(-10 |s_i - s_j|^2) h_j] + b,   s = W_s x + b_s,   h = W_h x + b_h

    with the k nearest neighbours by s, found anew in every call.

    space_dimensions: size of s, propagate_dimensions: size of h. batch, given to forward: the graph of each node (or a pair of them for a
    pair of features); neighbours are in the same one. num_workers: has no effect.

    Shapes: x [V, F_in] or ([V_s, F_in], [V_t, F_in]), batch [V]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GravNetConv
    >>> GravNetConv(8, 4, space_dimensions=3, propagate_dimensions=5, k=2)(Tensor.rand(6, 8)).shape
    (6, 4)
    """

    def __init__(
        self, in_channels: int, out_channels: int, space_dimensions: int, propagate_dimensions: int, k: int, num_workers: int | None = None,
        **kwargs: Any,
    ):  # fmt: skip
        super().__init__(aggr=["mean", "max"], flow="source_to_target", **kwargs)
        if num_workers is not None:
            warnings.warn("num_workers of GravNetConv has no effect: the search uses all threads", stacklevel=2)
        self.in_channels, self.out_channels, self.k = in_channels, out_channels, k
        self.lin_s = Linear(in_channels, space_dimensions)
        self.lin_h = Linear(in_channels, propagate_dimensions)
        self.lin_out1 = Linear(in_channels, out_channels, bias=False)
        self.lin_out2 = Linear(2 * propagate_dimensions, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin_s, self.lin_h, self.lin_out1, self.lin_out2):
            lin.reset_parameters()

    def forward(self, x: Any, batch: Any = None) -> Tensor:
        from ..pool import knn

        left, right = (x, x) if isinstance(x, Tensor) else (x[0], x[1])
        if left.ndim != 2:
            raise ValueError(f"GravNetConv takes node features of two axes, not the shape {left.shape}")
        b = batch if isinstance(batch, (tuple, list)) else (batch, batch)
        s_l = self.lin_s(left).contiguous()
        s_r = s_l if right is left else self.lin_s(right).contiguous()
        edge_index = knn(s_l, s_r, self.k, b[0], b[1]).flip(0)
        out = self.propagate(edge_index, h=(self.lin_h(left), None), s=(s_l, s_r), size=(s_l.shape[0], s_r.shape[0]))
        return self.lin_out1(right) + self.lin_out2(out)

    def message(self, h_j: Tensor, s_i: Tensor, s_j: Tensor) -> Tensor:  # type: ignore[override]
        return h_j * (-10.0 * (s_j - s_i).square().sum(-1, keepdim=True)).exp()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, k={self.k})"


__all__ = ["GravNetConv"]
