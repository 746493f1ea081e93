"""MeshCNNConv: the edges of a triangular mesh (Hanocka et al., "MeshCNN: a network with an edge", 2019)."""

from __future__ import annotations

from typing import Any

from ....nn import Linear, ModuleList
from ....tensor import Tensor
from .message_passing import MessagePassing


def _size(network: Any, input: bool) -> int | None:
    """Features that a network takes or gives, where it says so."""
    found = getattr(network, "in_channels" if input else "out_channels", None)
    weight = getattr(network, "weight", None)
    if found is None and isinstance(weight, Tensor) and weight.ndim == 2:
        found = int(weight.shape[1 if input else 0])
    return found


class MeshCNNConv(MessagePassing):
    r"""x'_i = W_0 x_i + W_1 |x_a - x_c| + W_2 (x_a + x_c) + W_3 |x_b - x_d| + W_4 (x_b + x_d)

    for each edge i of a mesh, with a and b the other edges of the triangle on one side of it, c and d those of the triangle on the other.
    A row of x is an edge of the mesh, and edge_index has four columns for each of them, in this order: (i, a), (i, b), (i, c), (i, d).
    As in PyTorch Geometric, messages go to edge_index[1]: a sum there gets what column number 4 i + k carries.

    kernels: the five maps, as a ModuleList; linear ones by default.

    Shapes: x [E, F_in], edge_index [2, 4 E]; out [E, F_out].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import MeshCNNConv
    >>> index = Tensor([[0] * 4 + [1] * 4, [1, 1, 0, 0, 0, 0, 1, 1]])
    >>> MeshCNNConv(8, 4)(Tensor.ones(2, 8), index).shape
    (2, 4)
    """

    def __init__(self, in_channels: int, out_channels: int, kernels: Any = None):
        super().__init__(aggr="add")
        self.in_channels, self.out_channels = in_channels, out_channels
        if kernels is None:
            kernels = ModuleList([Linear(in_channels, out_channels) for _ in range(5)])
        if not isinstance(kernels, ModuleList) or len(kernels) != 5:
            raise ValueError(f"kernels must be a ModuleList of 5 networks, not {kernels!r}")
        for k, network in enumerate(kernels):
            for wanted, found in ((in_channels, _size(network, True)), (out_channels, _size(network, False))):
                if found is not None and found != wanted:
                    raise ValueError(f"kernels[{k}] must map {in_channels} to {out_channels} features, but {found} was found in place of {wanted}")
        self.kernels = kernels

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        return self.propagate(edge_index, x=x)

    def message(self, x_j: Tensor) -> Tensor:  # type: ignore[override]
        a, b, c, d = (x_j.unflatten(0, (-1, 4))[:, k] for k in range(4))
        parts = [(a - c).abs(), a + c, (b - d).abs(), b + d]
        return Tensor.stack(*[kernel(part) for kernel, part in zip(list(self.kernels)[1:], parts)], dim=1).flatten(0, 1)

    def update(self, inputs: Tensor, x: Tensor) -> Tensor:  # type: ignore[override]
        return self.kernels[0](x) + inputs


__all__ = ["MeshCNNConv"]
