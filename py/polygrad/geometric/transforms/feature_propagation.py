"""Missing features, from the neighbours."""

from __future__ import annotations

from typing import Any

from ...graphs import Graph
from ...tensor import Tensor
from ..utils import _host, coalesce
from ..utils.laplacian import inverse_or_zero
from ._attributes import needed, nodes_of, to_array
from .base_transform import BaseTransform


class FeaturePropagation(BaseTransform):
    r"""Fills in missing features: repeats :math:`x \leftarrow D^{-1/2} A D^{-1/2} x`, each time with the known values put back.

    From "On the Unreasonable Effectiveness of Feature Propagation in Learning on Graphs with Missing Node Features", Rossi et al., 2021.
    missing_mask: [N, F], true where a value is missing.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import FeaturePropagation
    >>> data = Data(x=Tensor([[1.0], [float("nan")]]), edge_index=Tensor([[0, 1], [1, 0]]))
    >>> FeaturePropagation(missing_mask=data.x.isnan())(data).x.tolist()
    [[1.0], [1.0]]
    """

    def __init__(self, missing_mask: Tensor, num_iterations: int = 40):
        self.missing_mask, self.num_iterations = missing_mask, num_iterations

    def forward(self, data: Any) -> Any:
        x = needed(data, "x", self)
        matrix = data.adj_t if "edge_index" not in data and "adj_t" in data else None
        entries = None
        if matrix is None:
            index = needed(data, "edge_index", self)
        else:
            row, col, entries = matrix.coo()
            index = col.stack(row)
        if tuple(x.shape) != tuple(self.missing_mask.shape):
            raise ValueError(f"features of shape {x.shape} do not fit a mask of shape {self.missing_mask.shape}")
        n = nodes_of(data, self)
        weight = entries if matrix is not None else data.edge_weight if "edge_weight" in data else data.edge_attr
        index, weight = coalesce(index, _host.ones(index.shape[1]) if weight is None else weight, n)
        graph = Graph(index, n)
        root = inverse_or_zero(graph.sum(weight), -0.5)
        weight = (graph.src(root) * weight * graph.dst(root)).unsqueeze(1).realize()
        known = self.missing_mask.where(0.0, x).realize()
        out = known
        for _ in range(self.num_iterations):
            out = self.missing_mask.where(graph.sum(weight * graph.src(out)), known).realize()
        data.x = out
        return data

    def __repr__(self) -> str:
        share = 100 * float(to_array(self.missing_mask).mean())
        return f"{type(self).__name__}(missing_features={share:.1f}%, num_iterations={self.num_iterations})"


__all__ = ["FeaturePropagation"]
