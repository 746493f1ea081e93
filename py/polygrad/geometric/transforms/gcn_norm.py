"""The weights of a GCN, computed in advance."""

from __future__ import annotations

from typing import Any

from ._attributes import needed
from .base_transform import BaseTransform


class GCNNorm(BaseTransform):
    r"""Sets edge_index and edge_weight to the entries of :math:`\hat D^{-1/2} \hat A \hat D^{-1/2}` with self loops (add_self_loops).

    For layers with normalize=False. Without edge_index it is adj_t (transforms.ToSparseTensor) that is normalized.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import GCNNorm
    >>> [round(w, 4) for w in GCNNorm()(Data(edge_index=Tensor([[0, 1], [1, 0]]), num_nodes=2)).edge_weight.tolist()]
    [0.5, 0.5, 0.5, 0.5]
    """

    def __init__(self, add_self_loops: bool = True):
        self.add_self_loops = add_self_loops

    def forward(self, data: Any) -> Any:
        from ..nn.conv.gcn_conv import gcn_norm

        if "edge_index" not in data and data.get("adj_t") is not None:
            adj = gcn_norm(data.adj_t, add_self_loops=self.add_self_loops)
            data.adj_t = adj[0] if isinstance(adj, tuple) else adj
            return data
        index = needed(data, "edge_index", self)
        found, weight = gcn_norm(index, data.edge_weight, data.num_nodes, add_self_loops=self.add_self_loops)
        data.edge_index, data.edge_weight = found.cast(index.dtype).realize(weight), weight
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(add_self_loops={self.add_self_loops})"


__all__ = ["GCNNorm"]
