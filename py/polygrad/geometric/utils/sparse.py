"""Dense and sparse adjacency matrices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...graphs import Graph
from ...tensor import Tensor
from . import _host


def dense_to_sparse(adj: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The entries of adj that are not 0, as edges and their values, row by row.

    adj: [N, N], or [B, N, M] for several graphs, whose nodes are then numbered one after the other. mask: [B, N], the nodes that are
    there. Gradients flow to adj.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import dense_to_sparse
    >>> e, w = dense_to_sparse(Tensor([[3.0, 1.0], [2.0, 0.0]]))
    >>> e.tolist(), w.tolist()
    ([[0, 0, 1], [0, 1, 0]], [3.0, 1.0, 2.0])
    """
    if adj.ndim not in (2, 3):
        raise ValueError(f"A dense adjacency matrix 'adj' must be two- or three-dimensional, not of the shape {tuple(adj.shape)}")
    if mask is not None and adj.ndim == 2:
        warnings.warn("Mask should not be provided for a single adjacency matrix: it has no effect", stacklevel=2)
        mask = None
    if mask is not None and mask.ndim != 2:
        raise ValueError(f"Mask must be two-dimensional, not of the shape {tuple(mask.shape)}")
    if mask is not None and int(adj.shape[-2]) != int(adj.shape[-1]):
        raise ValueError(f"Mask is only supported on quadratic adjacency matrices, not {adj.shape}")
    a = _host.read(adj)
    width = a.shape[-1]
    flat = a.reshape(-1, width)
    there = np.arange(flat.shape[0])
    if mask is not None:
        there = np.flatnonzero(mask.numpy().reshape(-1))
    row, col = np.nonzero(flat[there])
    values = _host.rows(adj.reshape(-1), there[row] * width + col)
    if adj.ndim == 3:
        if mask is None:
            offset = np.repeat(np.arange(a.shape[0]) * a.shape[2], a.shape[1])
        else:
            counts = mask.numpy().sum(-1)
            offset = np.repeat(_host.starts(counts)[:-1], counts)
        col = col + offset[row]
    return _host.tensor(np.stack([row, col]).astype(np.int64)), values


def is_scipy_sparse(src: Any) -> bool:
    return type(src).__module__.startswith("scipy.sparse")


def is_sparse(src: Any) -> bool:
    """Whether src is a sparse adjacency matrix here: a Graph, a SparseTensor, or one of scipy's.

    >>> from polygrad import Graph, Tensor
    >>> from polygrad.geometric.utils import is_sparse
    >>> is_sparse(Graph([[0], [1]])), is_sparse(Tensor([[0], [1]]))
    (True, False)
    """
    return isinstance(src, Graph) or hasattr(src, "sparse_sizes") or is_scipy_sparse(src)


def to_edge_index(adj: Any) -> tuple[Tensor, Tensor]:
    """The edges of a Graph or of a scipy matrix (an entry (i, j) is an edge from i to j), and their values (1 in a Graph).

    >>> from polygrad import Graph
    >>> from polygrad.geometric.utils import to_edge_index
    >>> e, w = to_edge_index(Graph([[0, 1], [1, 0]]))
    >>> e.tolist(), w.tolist()
    ([[0, 1], [1, 0]], [1.0, 1.0])
    """
    if isinstance(adj, Graph):
        return adj.edge_index, _host.ones(adj.num_edges)
    if hasattr(adj, "sparse_sizes"):
        by_column = str(getattr(adj, "layout", "")).endswith("csc")  # entries in the order in which the matrix has its values
        if by_column:
            starts, row, value = adj.csc()
            col = _host.tensor(np.repeat(np.arange(adj.sparse_size(1)), np.diff(starts.numpy())))
        else:
            row, col, value = adj.coo()
        return Tensor.stack(row, col), _host.ones(adj.nnz()) if value is None else value
    if is_scipy_sparse(adj):
        from .convert import from_scipy_sparse_matrix

        return from_scipy_sparse_matrix(adj)
    raise ValueError(f"Unexpected sparse tensor layout: to_edge_index takes a sparse matrix or a Graph, not {type(adj).__name__}")


__all__ = ["dense_to_sparse", "is_scipy_sparse", "is_sparse", "to_edge_index"]
