"""SplineConv: weights that are B-splines of the edges' coordinates (Fey et al., "SplineCNN", 2018)."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from .... import dtypes
from ....nn.later import is_lazy, materialize, zeros_or_later
from ....tensor import Tensor
from ..dense.linear import Linear
from ..inits import uniform, zeros
from ._pairs import pair
from .message_passing import MessagePassing


def _each(value: Any, dim: int) -> list[Any]:
    """A value for each coordinate, out of one for all or a list."""
    values = list(value) if isinstance(value, (list, tuple)) else [value] * dim
    if len(values) < dim:
        values += [values[-1]] * (dim - len(values))
    return values[:dim]


def _pieces(v: Tensor, degree: int) -> list[Tensor]:
    """The degree + 1 B-splines that are not 0 between two knots, at the place v (0 to 1) between them."""
    if degree == 1:
        return [1 - v, v]
    if degree == 2:
        return [0.5 * (1 - v).square(), 0.5 + v - v.square(), 0.5 * v.square()]
    a, b, c = v, v.square(), v.square() * v
    return [(1 - v) * (1 - v).square() / 6, (3 * c - 6 * b + 4) / 6, (-3 * c + 3 * b + 3 * a + 1) / 6, c / 6]


class SplineConv(MessagePassing):
    r"""x'_i = W x_i + b + mean over j in N(i) of x_j sum_k B_k(e_ij) Theta_k,   B_k the products of B-splines of the coordinates e_ij in [0, 1].

    in_channels: features of a node, or a pair for sources and destinations; -1: found from the first input. dim: coordinates of an edge.
    kernel_size: knots of each coordinate (one number for all, or a list); there are as many matrices as their product. is_open_spline: whether
    the spline of a coordinate ends at 0 and 1 (True) or is closed to a circle. degree: 1, 2 or 3. Of all B_k only (degree + 1)^dim are not 0
    on an edge. x Theta_k is computed for the nodes, so that an edge adds up rows of features and multiplies no matrices.

    Shapes: x [V, F_in] or ([V_s, F_s], [V_t, F_t]), edge_index [2, E], edge_attr [E, dim]; out [V_t, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import SplineConv
    >>> SplineConv(8, 4, dim=2, kernel_size=5)(Tensor.ones(3, 8), Tensor([[0, 1], [1, 2]]), Tensor([[0.1, 0.9], [0.5, 0.5]])).shape
    (3, 4)
    """

    def __init__(
        self, in_channels: Any, out_channels: int, dim: int, kernel_size: Any, is_open_spline: Any = True, degree: int = 1, aggr: Any = "mean",
        root_weight: bool = True, bias: bool = True, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(aggr=aggr, **kwargs)
        if degree not in (1, 2, 3):
            raise ValueError(f"degree must be 1, 2 or 3, not {degree}")
        self.in_channels, self.out_channels, self.dim, self.degree, self.root_weight = in_channels, out_channels, dim, degree, root_weight
        self._sizes_of_kernel, self._open = [int(k) for k in _each(kernel_size, dim)], [bool(o) for o in _each(is_open_spline, dim)]
        self.kernel_size = Tensor(self._sizes_of_kernel, dtype=dtypes.int64, requires_grad=False)
        self.is_open_spline = Tensor([int(o) for o in self._open], dtype=dtypes.uint8, requires_grad=False)
        self.K = math.prod(self._sizes_of_kernel)
        sources, destinations = pair(in_channels)
        self.weight = zeros_or_later(self.K, sources, out_channels)
        self.lin = Linear(destinations, out_channels, bias=False, weight_initializer="uniform") if root_weight else None
        self.bias = Tensor.zeros(out_channels, requires_grad=True) if bias else None
        self.reset_parameters()

    def _before_load(self, state_dict: dict[str, Tensor], prefix: str) -> None:
        if is_lazy(self.weight) and not is_lazy(state_dict.get(f"{prefix}weight", self.weight)):
            self._make(int(state_dict[f"{prefix}weight"].shape[1]))

    def _make(self, in_channels: int) -> None:
        materialize(self.weight, (self.K, in_channels, self.out_channels))
        uniform(self.K * in_channels, self.weight)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if not is_lazy(self.weight):
            uniform(self.K * int(self.weight.shape[1]), self.weight)
        if self.lin is not None:
            self.lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None) -> Tensor:
        x_l, x_r = pair(x)
        if edge_attr is None:
            raise ValueError(f"SplineConv needs edge_attr, {self.dim} coordinates of each edge")
        if is_lazy(self.weight):
            self._make(int(x_l.shape[-1]))
        mapped = x_l @ self.weight.transpose(0, 1).flatten(1)  # [V, K * F_out]
        out = self.propagate(edge_index, x=(mapped, x_r), every=mapped, edge_attr=edge_attr, size=size)
        if x_r is not None and self.lin is not None:
            out = out + self.lin(x_r)
        return out if self.bias is None else out + self.bias

    def _basis(self, edge_attr: Tensor) -> list[tuple[Tensor, Tensor]]:
        """(B_k, k) of the splines that are not 0 on an edge, each [E]."""
        if edge_attr.ndim == 1:
            edge_attr = edge_attr.unsqueeze(-1)
        if edge_attr.shape[-1] != self.dim:
            raise ValueError(f"edge_attr of shape {edge_attr.shape} must have {self.dim} coordinates (dim) of each edge")
        along, stride = [], 1
        for d, (knots, is_open) in enumerate(zip(self._sizes_of_kernel, self._open)):
            v = edge_attr[:, d] * (knots - self.degree if is_open else knots)
            knot = v.detach().floor()
            first = knot.cast(dtypes.int32)
            along.append([(b, (first + k) % knots * stride) for k, b in enumerate(_pieces(v - knot, self.degree))])
            stride *= knots
        out = []
        for terms in product(*along):
            value, at = terms[0]
            for b, k in terms[1:]:
                value, at = value * b, at + k
            out.append((value, at))
        return out

    def message(self, x_j: Tensor, every: Tensor, edge_attr: Tensor, edge_index_j: Tensor) -> Tensor:  # type: ignore[override]
        rows = every.unflatten(-1, (self.K, self.out_channels)).flatten(0, 1)
        out: Any = None
        for value, at in self._basis(edge_attr):
            part = value.unsqueeze(-1) * rows.index_select(0, edge_index_j * self.K + at)
            out = part if out is None else out + part
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, dim={self.dim})"


__all__ = ["SplineConv"]
