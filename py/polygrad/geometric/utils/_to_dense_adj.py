"""Adjacency matrices of several graphs, side by side."""

from __future__ import annotations

from ...dtypes import dtypes
from ...tensor import Tensor
from .._rows import count_of, rows_of
from . import _host
from ._scatter import scatter
from ._to_dense_batch import largest


def to_dense_adj(
    edge_index: Tensor,
    batch: Tensor | None = None,
    edge_attr: Tensor | None = None,
    max_num_nodes: int | None = None,
    batch_size: int | None = None,
) -> Tensor:
    """Edges as adjacency matrices [graphs, nodes, nodes, ...]. Edges that occur several times add up.

    batch: the graph of each node, ascending. edge_attr: [E, ...] goes into the matrix instead of ones. max_num_nodes: the size of the
    matrices; edges beyond it are left out. Without max_num_nodes and batch_size, values are read.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import to_dense_adj
    >>> to_dense_adj(Tensor([[0, 0, 1, 2], [0, 1, 0, 3]]), Tensor([0, 0, 1, 1])).tolist()
    [[[1.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]]]
    """
    num_edges = edge_index.shape[1]
    if edge_attr is None:
        edge_attr = _host.ones(num_edges)
    if batch is None:  # one graph
        n = _host.top(_host.read(edge_index)) if max_num_nodes is None else max_num_nodes
        size = 1 if batch_size is None else batch_size
        row, col = edge_index[0], edge_index[1]
        index = row.cast(dtypes.int64) * n + col
    else:
        size = count_of(batch, batch_size) if batch_size is not None or batch.numel() else 1
        graphs = rows_of(batch, size)
        n = largest(graphs) if max_num_nodes is None else max_num_nodes
        src, dst, begin = edge_index[0], edge_index[1], graphs.begin
        graph = batch[src]
        row, col = src - begin[graph], dst - begin[batch[dst]]
        index = (graph.cast(dtypes.int64) * n + row) * n + col
    flat = (size * n * n, *edge_attr.shape[1:])
    if not num_edges or not n or not size:
        return Tensor.zeros(size, n, n, *edge_attr.shape[1:], dtype=edge_attr.dtype)
    if max_num_nodes is not None:
        inside = (row < n) & (col < n)
        index = inside.where(index, 0)
        edge_attr = inside.reshape(-1, *[1] * (edge_attr.ndim - 1)).where(edge_attr, 0)
    return scatter(edge_attr, index, 0, flat[0], "sum").reshape(size, n, n, *edge_attr.shape[1:])


__all__ = ["to_dense_adj"]
