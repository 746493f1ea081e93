"""ToSparseTensor: edges as a sparse matrix."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from ..sparse_tensor import SparseTensor
from ..utils import _host
from ..utils.num_nodes import maybe_num_nodes
from .base_transform import BaseTransform


class ToSparseTensor(BaseTransform):
    """Puts a SparseTensor `adj_t` (rows are destinations) in the place of edge_index; edge attributes are sorted as its entries are.

    attr: the edge attribute that becomes its values. remove_edge_index: takes edge_index and that attribute away. layout: one of PyTorch's
    (`polygrad.torch.sparse_coo`, `sparse_csr`, `sparse_csc`), for a sparse matrix with PyTorch's methods.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import ToSparseTensor
    >>> ToSparseTensor()(Data(edge_index=Tensor([[0, 1], [1, 2]]), num_nodes=3))
    Data(num_nodes=3, adj_t=[3, 3, nnz=2])
    """

    def __init__(self, attr: str | None = "edge_weight", remove_edge_index: bool = True, fill_cache: bool = True, layout: Any = None):
        self.attr, self.remove_edge_index, self.fill_cache, self.layout = attr, remove_edge_index, fill_cache, layout

    def forward(self, data: Any) -> Any:
        for store in data.edge_stores:
            if "edge_index" not in store:
                continue
            edge_index = store["edge_index"]
            sizes = store.size()[::-1]
            found = _host.sort_edges(edge_index, int(maybe_num_nodes(edge_index)), False, False, True)
            keys = [k for k in store.keys() if k not in ("edge_index", "edge_label", "edge_label_index") and store.is_edge_attr(k)]
            if found is not None and found[1] is not None:
                edge_index = found[0]
                store._choose(keys, found[1])
            store["edge_index"] = edge_index
            row, col = _host.edges(edge_index)[::-1]
            value = store.get(self.attr) if self.attr is not None else None
            adj_t = SparseTensor(row=row, col=col, value=value, sparse_sizes=sizes, is_sorted=True)
            store["adj_t"] = adj_t if self.layout is None else _in_layout(adj_t, self.layout)
            if self.remove_edge_index:
                del store["edge_index"]
                if self.attr is not None:
                    del store[self.attr]
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(attr={self.attr}, layout={self.layout})"


def _in_layout(matrix: SparseTensor, layout: Any) -> Any:
    """A sparse matrix in one of PyTorch's layouts."""
    from ...torch.sparse import to_torch_sparse_tensor

    row, col, value = matrix.coo()
    return to_torch_sparse_tensor(Tensor.stack(row, col), value, matrix.sparse_sizes(), True, layout)


__all__ = ["ToSparseTensor"]
