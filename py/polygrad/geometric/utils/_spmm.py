"""Sparse matrix times dense matrix."""

from __future__ import annotations

import warnings
from typing import Any

from ...graphs import Graph
from ...tensor import Tensor
from .sparse import is_scipy_sparse


def spmm(src: Any, other: Tensor, reduce: str = "sum") -> Tensor:
    r"""The product of a sparse matrix and a dense one, :math:`\bigoplus_j A_{ij} x_j`, with 'sum', 'mean', 'min' or 'max' for
    :math:`\bigoplus`. Rows without entries give 0.

    src: a Graph, whose matrix has a row for each destination and a column for each source; a pair of a Graph and edge weights [E]; a scipy
    sparse matrix; or a dense Tensor (sum only). other: [N, F], or several such matrices [..., N, F]. Gradients flow to other, and to the weights.

    >>> from polygrad import Graph, Tensor
    >>> from polygrad.geometric.utils import spmm
    >>> spmm(Graph([[0, 1], [1, 1]]), Tensor([[1.0], [2.0]])).tolist()
    [[0.0], [3.0]]
    """
    layout = str(getattr(src, "layout", ""))
    if layout.endswith("coo") or (layout.endswith("csc") and not other.requires_grad):
        warnings.warn(f"Converting sparse tensor of layout '{layout}' to CSR: rows are multiplied, so keep the matrix in that layout", stacklevel=2)
    return product(src, other, reduce)


def product(src: Any, other: Tensor, reduce: str = "sum") -> Tensor:
    """spmm, of a matrix in any layout."""
    reduce = "sum" if reduce == "add" else reduce
    if reduce not in ("sum", "mean", "min", "max"):
        raise ValueError(f"`reduce` argument {reduce!r} not supported: use 'sum', 'mean', 'min' or 'max'")
    if isinstance(src, Tensor):
        if reduce != "sum":
            raise ValueError(f"a dense matrix can be multiplied with reduce='sum' only, not {reduce!r}")
        return src @ other
    if hasattr(src, "sparse_sizes"):
        src = src.graph if src.storage.value() is None else (src.graph, src.storage.value())
    weight = None
    if isinstance(src, (tuple, list)) and len(src) == 2 and isinstance(src[0], Graph):
        graph, weight = src
    elif isinstance(src, Graph):
        graph = src
    elif is_scipy_sparse(src):
        graph, weight = Graph.from_scipy(src.T.tocsc(), weights=True)
        weight = weight.cast(other.dtype)
    else:
        raise ValueError(f"spmm takes a Graph, a pair of a Graph and weights, or a scipy sparse matrix, not {type(src).__name__}")
    if other.ndim > 2:  # several dense matrices: their rows lie along the axis before the last
        other = other.transpose(0, -2)
    message = graph.src(other)
    if weight is not None:
        message = weight.reshape(-1, *[1] * (other.ndim - 1)) * message
    out = graph.reduce(message, reduce)
    return out.transpose(0, -2) if out.ndim > 2 else out


__all__ = ["spmm"]
