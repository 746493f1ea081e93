"""The degrees of a node and of its neighbours."""

from __future__ import annotations

from typing import Any

from ...dtypes import dtypes
from ...graphs import Graph
from ...tensor import Tensor
from ._attributes import beside, edges_of, nodes_of
from .base_transform import BaseTransform


class LocalDegreeProfile(BaseTransform):
    r"""Appends five columns to x: the degree, and the smallest, largest, mean and standard deviation of the neighbours' degrees.

    From "A Simple Yet Effective Baseline for Non-Attributed Graph Classification", Cai and Wang, 2018.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import LocalDegreeProfile
    >>> LocalDegreeProfile()(Data(edge_index=Tensor([[0, 1, 0, 2], [1, 0, 2, 0]]), num_nodes=3)).x.tolist()[0]
    [2.0, 1.0, 1.0, 1.0, 0.0]
    """

    def forward(self, data: Any) -> Any:
        n = nodes_of(data, self)
        edges_of(data, self)
        graph = Graph(data.edge_index, n)
        degree = graph.out_degree.cast(dtypes.float32)
        around = graph.dst(degree)
        columns = [degree, *(graph.reduce(around, op, "out") for op in ("min", "max", "mean", "std"))]
        data.x = beside(data.x, Tensor.stack(*columns, dim=1).realize())
        return data


__all__ = ["LocalDegreeProfile"]
