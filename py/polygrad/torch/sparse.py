"""PyTorch's sparse tensors of two axes: the sparse matrix of polygrad.geometric with PyTorch's methods.

`torch.sparse_coo_tensor(indices, values, size)`, `x.to_sparse()` and `to_torch_csc_tensor` of PyTorch Geometric make one. The layers take it in
the place of edge_index, as PyTorch Geometric's do: row i holds the edges into node i. Entries lie sorted, row by row, whatever the layout is
called; gradients flow to the values.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment, no-untyped-call"

from __future__ import annotations

import functools
from numbers import Integral
from typing import Any

import numpy as np

from ..autograd import making
from ..dtypes import dtypes
from ..geometric._sparse_more import joined
from ..geometric.sparse_tensor import SparseTensor
from ..tensor import Tensor as Plain
from .tensor import Tensor
from .types import Size

COO, CSR, CSC = "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc"


def _with_torch(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with making(Tensor):
            return function(*args, **kwargs)

    return call


class SparseMatrix(SparseTensor):
    """A sparse matrix with PyTorch's methods: values(), indices(), crow_indices(), t(), to_dense(), @ and so on.

    >>> import polygrad.torch as torch
    >>> a = torch.sparse_coo_tensor(torch.tensor([[0, 1], [2, 0]]), torch.tensor([3.0, 4.0]), (2, 3))
    >>> a.to_dense().tolist(), a.t().shape, (a @ torch.ones(3, 1)).tolist()
    ([[0.0, 0.0, 3.0], [4.0, 0.0, 0.0]], torch.Size([3, 2]), [[3.0], [4.0]])
    """

    _value: Any
    _is_tensor = True  # isinstance(x, torch.Tensor) holds
    weights = True  # values of one number each are weights of edges and no attributes

    def __init__(self, row: Any, col: Any, values: Any, sizes: Any, layout: str = COO, coalesced: bool = False):
        with making(Tensor):
            super().__init__(row=row, col=col, value=values, sparse_sizes=sizes)
        self._kind = Tensor
        self.layout, self._coalesced = layout, coalesced or layout != COO

    def _with(self, keep: Any = None, row: Any = None, col: Any = None, sizes: Any = None, value: Any = ...) -> SparseMatrix:
        with making(Tensor):
            out = super()._with(keep, row, col, sizes, value)
        return _like(out, self.layout, self._coalesced)

    def _made(self, **parts: Any) -> SparseMatrix:
        with making(Tensor):
            return _like(SparseTensor(**parts), self.layout, self._coalesced)

    # ---- what it is ----

    is_sparse = property(lambda self: self.layout == COO, doc="Is its layout that of coordinates?")
    is_sparse_csr = property(lambda self: self.layout == CSR, doc="Is its layout that of compressed rows?")
    is_cuda = False
    shape = property(lambda self: Size(self.sizes()), doc="Sizes of the axes.")
    dtype = property(lambda self: self._value.dtype, doc="Dtype of the values.")
    device = property(lambda self: self._value.device, doc="Where the values are.")
    ndim = property(lambda self: len(self.sizes()), doc="Number of axes.")
    grad = property(
        lambda self: None if self._value.grad is None else self.set_value(self._value.grad), doc="The gradient of the values, at their places."
    )
    requires_grad = property(lambda self: bool(self._value.requires_grad), doc="Do the values require a gradient?")

    def size(self, dim: int | None = None) -> Any:
        """All sizes, or that of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def sparse_dim(self) -> int:
        """Axes of the places: two."""
        return 2

    def dense_dim(self) -> int:
        """Axes of each value."""
        return self.ndim - 2

    def _nnz(self) -> int:
        return self.nnz()

    def is_coalesced(self) -> bool:
        """Is every place there once?"""
        return self._coalesced

    # ---- parts ----

    @_with_torch
    def indices(self) -> Any:
        """Rows and columns of the entries, [2, nnz]."""
        return Tensor(np.stack([self._row, self._col]))

    @_with_torch
    def values(self) -> Any:
        """Values of the entries, column by column in the layout of compressed columns."""
        return self.csc()[2] if self.layout == CSC else self._value

    def _indices(self) -> Any:
        return self.__dict__["_given"][0] if "_given" in self.__dict__ else self.indices()

    def _values(self) -> Any:
        return self.__dict__["_given"][1] if "_given" in self.__dict__ else self.values()

    @_with_torch
    def crow_indices(self) -> Any:
        """Where each row begins, of compressed rows."""
        return self.storage.rowptr()

    @_with_torch
    def col_indices(self) -> Any:
        """The columns, row by row."""
        return self.storage.col()

    @_with_torch
    def ccol_indices(self) -> Any:
        """Where each column begins, of compressed columns."""
        return self.storage.colptr()

    @_with_torch
    def row_indices(self) -> Any:
        """The rows, column by column."""
        return self.csc()[1]

    # ---- others of the same entries ----

    def t(self) -> SparseMatrix:
        """Transposed; compressed rows become compressed columns and the other way round."""
        out = super().t()
        return _like(out, {CSR: CSC, CSC: CSR}.get(self.layout, COO), self._coalesced)

    def transpose(self, dim0: int, dim1: int) -> SparseMatrix:
        """The two axes swapped."""
        return self if dim0 == dim1 else self.t()

    @_with_torch
    def coalesce(self, reduce: str = "sum") -> SparseMatrix:
        """Every place once, values added up."""
        merged = self if SparseTensor.is_coalesced(self) else SparseTensor(self._row, None, self._col, self._value, self._sizes).coalesce(reduce)
        return _like(merged, self.layout, True)

    def to_sparse(self, *args: Any, layout: Any = None) -> SparseMatrix:
        """In another layout, by default that of coordinates."""
        return _like(self.coalesce() if layout in (CSR, CSC) else self, COO if layout is None else layout, self._coalesced)

    def to_sparse_coo(self) -> SparseMatrix:
        """In the layout of coordinates."""
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: int | None = None) -> SparseMatrix:
        """In the layout of compressed rows."""
        return self.to_sparse(layout=CSR)

    def to_sparse_csc(self, dense_dim: int | None = None) -> SparseMatrix:
        """In the layout of compressed columns."""
        return self.to_sparse(layout=CSC)

    @_with_torch
    def to_dense(self, dtype: Any = None, masked_grad: Any = None) -> Any:
        """The matrix with its zeros."""
        return super().to_dense(dtype)

    def requires_grad_(self, requires_grad: bool = True) -> SparseMatrix:
        """Gradients of the values."""
        self._value.requires_grad_(requires_grad)
        return self

    def float(self) -> SparseMatrix:
        """With values of float32."""
        return self.set_value(self._value.cast(dtypes.float32))

    def double(self) -> SparseMatrix:
        """With values of float64."""
        return self.set_value(self._value.cast(dtypes.float64))

    # ---- arithmetic ----

    @_with_torch
    def matmul(self, other: Any, reduce: str = "sum") -> Any:
        """The product with a dense matrix or vector, or with a sparse matrix."""
        out = super().matmul(other, reduce)
        return _like(out, self.layout, True) if isinstance(out, SparseTensor) else out

    mm = spmm = mv = matmul
    __matmul__ = matmul

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, SparseMatrix):
            return self.to_dense() + other
        row, col = np.concatenate([self._row, other._row]), np.concatenate([self._col, other._col])
        return SparseMatrix(row, col, self._value.cat(other._value), self._sizes).coalesce()

    def __truediv__(self, other: Any) -> SparseMatrix:
        return self.set_value(self._value / other)

    def sum(self, dim: int | None = None) -> Any:
        """Of all entries, or along an axis, as a dense tensor."""
        with making(Tensor):
            return super().sum(None if dim is None else dim % 2)

    def __repr__(self) -> str:
        size = f"size={tuple(self.shape)}, nnz={self.nnz()}, layout={self.layout}"
        return f"tensor(indices={self.indices().tolist()},\n       values={self.values()!r},\n       {size})"


def _like(m: SparseTensor, layout: str, coalesced: bool) -> SparseMatrix:
    out = SparseMatrix.__new__(SparseMatrix)
    out.__dict__.update(m.__dict__)
    out.__dict__.pop("_given", None)
    out.layout, out._coalesced = layout, coalesced or layout != COO
    return out


def _values(values: Any, n: int, dtype: Any) -> Any:
    with making(Tensor):
        t = Plain.ones(n) if values is None else values if isinstance(values, Plain) else Tensor(np.asarray(values))
    if t.ndim == 0:
        t = t.expand(n)
    return t if dtype is None else t.cast(dtype)


def _array(x: Any) -> np.ndarray:
    return x.numpy() if isinstance(x, Plain) else np.asarray(x)


def sparse_coo_tensor(
    indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, is_coalesced: bool = False, **others: Any
) -> SparseMatrix:
    """A sparse matrix of entries values[k] at (indices[0, k], indices[1, k])."""
    pairs = _array(indices).astype(np.int64).reshape(2, -1)
    entries = _values(values, pairs.shape[1], dtype)
    out = SparseMatrix(pairs[0], pairs[1], entries, None if size is None else tuple(size)[:2], COO, bool(is_coalesced))
    if not is_coalesced:  # _indices() and _values() are what was given, in its order
        with making(Tensor):
            out.__dict__["_given"] = (indices if isinstance(indices, Tensor) else Tensor(pairs), entries)
    return out.requires_grad_() if others.get("requires_grad") else out


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, **others: Any) -> SparseMatrix:
    """A sparse matrix by the beginnings of its rows and the columns of its entries."""
    ptr, col = _array(crow_indices), _array(col_indices)
    row = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    return SparseMatrix(row, col, _values(values, col.size, dtype), (ptr.size - 1, None) if size is None else tuple(size)[:2], CSR)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, **others: Any) -> SparseMatrix:
    """A sparse matrix by the beginnings of its columns and the rows of its entries."""
    ptr, row = _array(ccol_indices), _array(row_indices)
    col = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    return SparseMatrix(row, col, _values(values, row.size, dtype), (None, ptr.size - 1) if size is None else tuple(size)[:2], CSC)


def mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Any:
    """Product of a sparse matrix and a dense or sparse one. reduce: "sum", "mean", "amin" or "amax" of the entries of a row."""
    reduce = {"amin": "min", "amax": "max"}.get(reduce, reduce)
    return mat1.matmul(mat2) if reduce == "sum" else mat1.matmul(mat2, reduce=reduce)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """beta * mat + alpha * (mat1 @ mat2) with mat1 sparse."""
    return mat * beta + mat1.matmul(mat2) * alpha


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A001, A002
    """Sum of a sparse matrix, as a dense tensor."""
    return input.sum(dim)


def dense_to(x: Any, layout: str) -> SparseMatrix:
    """The entries of a dense matrix that are not zero."""
    with making(Tensor):
        return _like(SparseTensor.from_dense(x), layout, True)


# ---- names of torch_geometric.utils that are about PyTorch's sparse tensors ----


def to_torch_coo_tensor(edge_index: Any, edge_attr: Any = None, size: Any = None, is_coalesced: bool = False) -> SparseMatrix:
    """The matrix whose entry (i, j) is the edge from i to j; values edge_attr, or 1."""
    n = int(edge_index.numpy().max(initial=-1)) + 1
    given = (n, n) if size is None else (size, size) if isinstance(size, Integral) else tuple(n if s is None else int(s) for s in size)
    out = sparse_coo_tensor(edge_index, edge_attr, given)
    return _like(out, COO, True) if is_coalesced else out.coalesce()


def to_torch_csr_tensor(edge_index: Any, edge_attr: Any = None, size: Any = None, is_coalesced: bool = False) -> SparseMatrix:
    """to_torch_coo_tensor in the layout of compressed rows."""
    return to_torch_coo_tensor(edge_index, edge_attr, size, is_coalesced).to_sparse(layout=CSR)


def to_torch_csc_tensor(edge_index: Any, edge_attr: Any = None, size: Any = None, is_coalesced: bool = False) -> SparseMatrix:
    """to_torch_coo_tensor in the layout of compressed columns."""
    return to_torch_coo_tensor(edge_index, edge_attr, size, is_coalesced).to_sparse(layout=CSC)


def to_torch_sparse_tensor(
    edge_index: Any, edge_attr: Any = None, size: Any = None, is_coalesced: bool = False, layout: str = COO
) -> SparseMatrix:  # fmt: skip
    """to_torch_coo_tensor in any layout."""
    if layout not in (COO, CSR, CSC):
        raise ValueError(f"Unexpected sparse tensor layout (got '{layout}')")
    return to_torch_coo_tensor(edge_index, edge_attr, size, is_coalesced).to_sparse(layout=layout)


def cat(tensors: Any, dim: Any) -> SparseMatrix:
    """Sparse matrices below each other (dim 0), beside each other (1), or along the diagonal, (0, 1)."""
    out, layout = joined(tensors, dim), tensors[0].layout
    dims = (dim,) if isinstance(dim, Integral) else tuple(dim)
    if layout != COO and (0 if layout == CSR else 1) not in dims:  # parts of a compressed row (or column) come from several matrices
        layout = COO
    return _like(out, layout, tensors[0]._coalesced)


def get_sparse_diag(size: int, fill_value: float = 1.0, layout: Any = None, dtype: Any = None, device: Any = None) -> SparseMatrix:
    """A square matrix with one value along its diagonal."""
    places = np.arange(size)
    with making(Tensor):
        return SparseMatrix(places, places, Plain.full((size,), float(fill_value), dtype=dtype), (size, size), layout or COO, True)


def is_torch_sparse_tensor(src: Any) -> bool:
    """Is it a sparse matrix of PyTorch's kind?"""
    return isinstance(src, SparseMatrix)


def set_sparse_value(adj: Any, value: Any) -> SparseMatrix:
    """The same entries with other values, which lie in the order of adj.values()."""
    return adj.set_value(value, "csc" if adj.layout == CSC else None)


__all__ = [
    "SparseMatrix", "addmm", "cat", "get_sparse_diag", "is_torch_sparse_tensor", "mm", "set_sparse_value", "sparse_coo_tensor", "sparse_csc_tensor",
    "sparse_csr_tensor", "sum", "to_torch_coo_tensor", "to_torch_csc_tensor", "to_torch_csr_tensor", "to_torch_sparse_tensor",
]  # fmt: skip
