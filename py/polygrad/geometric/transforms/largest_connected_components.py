"""The largest parts of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.data import components
from ..utils import _host, to_scipy_sparse_matrix
from ._attributes import edges_of, nodes_of
from .base_transform import BaseTransform


class LargestConnectedComponents(BaseTransform):
    """Keeps the num_components largest connected components. connection: 'weak' ignores the directions of edges; 'strong' needs scipy.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import LargestConnectedComponents
    >>> LargestConnectedComponents()(Data(edge_index=Tensor([[0, 2, 3], [1, 3, 4]]), num_nodes=5)).num_nodes
    3
    """

    def __init__(self, num_components: int = 1, connection: str = "weak"):
        if connection not in ("strong", "weak"):
            raise ValueError(f"connection must be 'weak' or 'strong', not {connection!r}")
        self.num_components, self.connection = num_components, connection

    def forward(self, data: Any) -> Any:
        e, n = edges_of(data, self), nodes_of(data, self)
        if self.connection == "weak":
            component = components(e, n)
        else:
            csgraph = _host.library("scipy.sparse.csgraph", "LargestConnectedComponents(connection='strong')")
            component = csgraph.connected_components(to_scipy_sparse_matrix(data.edge_index, num_nodes=n), connection="strong")[1]
        count = np.bincount(component)
        if count.size <= self.num_components:
            return data
        return data.subgraph(_host.tensor(np.isin(component, count.argsort()[-self.num_components :])))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_components})"


__all__ = ["LargestConnectedComponents"]
