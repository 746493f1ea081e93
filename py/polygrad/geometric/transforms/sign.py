"""Features of several hops, computed in advance."""

from __future__ import annotations

from typing import Any

from ...graphs import Graph
from ..utils import _host
from ..utils.laplacian import inverse_or_zero
from ._attributes import needed, nodes_of
from .base_transform import BaseTransform


class SIGN(BaseTransform):
    r"""Adds :math:`x_i = (D^{-1/2} A D^{-1/2})^i x` for i = 1 ... K as data.x1, data.x2 ...

    From "SIGN: Scalable Inception Graph Neural Networks", Rossi et al., 2020. edge_weight is used if there is one.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import SIGN
    >>> data = SIGN(2)(Data(x=Tensor([[1.0], [2.0]]), edge_index=Tensor([[0, 1], [1, 0]])))
    >>> data.x1.tolist(), data.x2.tolist()
    ([[2.0], [1.0]], [[1.0], [2.0]])
    """

    def __init__(self, K: int):
        self.K = K

    def forward(self, data: Any) -> Any:
        graph = Graph(needed(data, "edge_index", self), nodes_of(data, self))
        weight = data.edge_weight if data.edge_weight is not None else _host.ones(graph.num_edges)
        root = inverse_or_zero(graph.sum(weight), -0.5)
        weight = (graph.src(root) * weight * graph.dst(root)).unsqueeze(1).realize()
        x = needed(data, "x", self)
        if x.ndim != 2:
            raise ValueError(f"SIGN needs features [N, F], not {x.shape}")
        for k in range(1, self.K + 1):
            x = graph.sum(weight * graph.src(x)).realize()
            data[f"x{k}"] = x
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K})"


__all__ = ["SIGN"]
