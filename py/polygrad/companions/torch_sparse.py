"""torch_sparse's SparseTensor and functions.

>>> import polygrad.torch as torch
>>> from polygrad.companions.torch_sparse import SparseTensor, matmul
>>> adj = SparseTensor(row=torch.tensor([0, 1]), col=torch.tensor([1, 0]), sparse_sizes=(2, 2))
>>> matmul(adj, torch.tensor([[1.0], [2.0]])).tolist()
[[2.0], [1.0]]
"""

from __future__ import annotations

from typing import Any

from .. import torch
from ..geometric._sparse_more import joined as _joined
from ..torch_geometric import utils as _utils
from ..torch_geometric.typing import SparseTensor, torch_sparse  # type: ignore[import-not-found]

fill_diag, get_diag, remove_diag, set_diag = torch_sparse.fill_diag, torch_sparse.get_diag, torch_sparse.remove_diag, torch_sparse.set_diag
index_select, masked_select, matmul, mul = torch_sparse.index_select, torch_sparse.masked_select, torch_sparse.matmul, torch_sparse.mul
sum, mean, max, min, t = torch_sparse.sum, torch_sparse.mean, torch_sparse.max, torch_sparse.min, torch_sparse.t
to_symmetric = torch_sparse.to_symmetric


def cat(tensors: Any, dim: Any) -> Any:
    """Matrices below each other (0), beside each other (1), or along the diagonal, (0, 1)."""
    return _joined(tensors, dim)


def narrow(src: Any, dim: int, start: int, length: int) -> Any:
    """Some rows or columns one after the other."""
    return src.narrow(dim, start, length)


def select(src: Any, dim: int, idx: int) -> Any:
    """One row or column, as a matrix."""
    return src.select(dim, idx)


def permute(src: Any, perm: Any) -> Any:
    """Rows and columns in another order."""
    return src.permute(perm)


def add(src: Any, other: Any) -> Any:
    """The sum with a sparse matrix, a column or a row."""
    return src.add(other)


def random_walk(src: Any, start: Any, walk_length: int) -> Any:
    """Walks from rows to columns."""
    return src.random_walk(start, walk_length)


def coalesce(index: Any, value: Any, m: int, n: int, op: str = "add") -> tuple[Any, Any]:
    """Entries sorted by row, those of the same place joined by op."""
    if value is None:
        return _utils.coalesce(index, None, _larger(m, n))[0], None
    found = _utils.coalesce(index, value, _larger(m, n), reduce=op)
    return found[0], found[1]


def _larger(m: int, n: int) -> int:
    """The larger of two sizes."""
    return m if m > n else n


def transpose(index: Any, value: Any, m: int, n: int, coalesced: bool = True) -> tuple[Any, Any]:
    """Entries of the transpose, sorted by row."""
    index = torch.stack([index[1], index[0]], dim=0)
    return coalesce(index, value, n, m) if coalesced else (index, value)


def spmm(index: Any, value: Any, m: int, n: int, matrix: Any) -> Any:
    """Product of the m times n matrix with these entries and a dense one."""
    return matmul(SparseTensor(row=index[0], col=index[1], value=value, sparse_sizes=(m, n)), matrix)


def spspmm(indexA: Any, valueA: Any, indexB: Any, valueB: Any, m: int, k: int, n: int, coalesced: bool = False) -> tuple[Any, Any]:
    """Product of an m times k and a k times n matrix, both sparse: its entries."""
    a = SparseTensor(row=indexA[0], col=indexA[1], value=valueA, sparse_sizes=(m, k))
    b = SparseTensor(row=indexB[0], col=indexB[1], value=valueB, sparse_sizes=(k, n))
    row, col, value = matmul(a, b).coo()
    return torch.stack([row, col], dim=0), value


__all__ = [
    "SparseTensor", "add", "cat", "coalesce", "fill_diag", "get_diag", "index_select", "masked_select", "matmul", "max", "mean", "min", "mul",
    "narrow", "permute", "random_walk", "remove_diag", "select", "set_diag", "spmm", "spspmm", "sum", "t", "to_symmetric", "transpose",
]  # fmt: skip
