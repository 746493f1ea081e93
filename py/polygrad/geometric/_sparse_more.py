"""Methods of a sparse matrix that are made of its others: parts, sums, dtypes, measures of its shape, and torch_sparse's names of them."""

# mypy: disable-error-code="attr-defined, no-any-return, valid-type"

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from .._ffi import ShapeError
from ..dtypes import dtypes
from ..tensor import Tensor


def joined(matrices: Sequence[Any], dim: Any) -> Any:
    """Sparse matrices below each other (dim 0), beside each other (1), or along the diagonal, (0, 1)."""
    dims = (int(dim),) if isinstance(dim, Integral) else tuple(dim)
    if not dims or not set(dims) <= {0, 1}:
        raise ShapeError(f"sparse matrices are joined along 0, 1 or (0, 1), not along {dim}")
    rows, cols = (np.cumsum([0, *(m._sizes[k] for m in matrices)]) for k in (0, 1))
    row = np.concatenate([m._row + (rows[k] if 0 in dims else 0) for k, m in enumerate(matrices)])
    col = np.concatenate([m._col + (cols[k] if 1 in dims else 0) for k, m in enumerate(matrices)])
    sizes = tuple(int(ends[-1]) if k in dims else max(m._sizes[k] for m in matrices) for k, ends in ((0, rows), (1, cols)))
    if any((m._value is None) != (matrices[0]._value is None) for m in matrices):
        raise ShapeError("some of the matrices have values, and others have none")
    value = None if matrices[0]._value is None else matrices[0]._value.cat(*[m._value for m in matrices[1:]])
    return matrices[0]._made(row=row, col=col, value=value, sparse_sizes=sizes)


class MoreSparse:
    """Mixed into SparseTensor."""

    # ---- what it is ----

    def dtype(self) -> Any:
        """Of the values; float32 without."""
        return dtypes.float32 if self._value is None else self._value.dtype

    def device(self) -> Any:
        """Where it is."""
        return (self.storage.row() if self._value is None else self._value).device

    def is_cuda(self) -> bool:
        return "cuda" in str(self.device()).lower()

    def is_floating_point(self) -> bool:
        return self._value is None or bool(dtypes.is_float(self._value.dtype))

    def sparsity(self) -> float:
        return 1 - self.density()

    def avg_row_length(self) -> float:
        return self.nnz() / self._sizes[0]

    def avg_col_length(self) -> float:
        return self.nnz() / self._sizes[1]

    def bandwidth(self) -> int:
        """How far from the diagonal entries lie."""
        return int(np.abs(self._row - self._col).max(initial=0))

    def avg_bandwidth(self) -> float:
        return float(np.abs(self._row - self._col).mean()) if self.nnz() else 0.0

    def bandwidth_proportion(self, bandwidth: int) -> float:
        """The share of entries not farther than that from the diagonal."""
        return float((np.abs(self._row - self._col) <= bandwidth).mean()) if self.nnz() else 0.0

    # ---- values ----

    def type(self, dtype: Any) -> Any:
        """With values of another dtype."""
        return self if self._value is None else self.set_value(self._value.cast(dtype))

    def type_as(self, other: Tensor) -> Any:
        return self.type(other.dtype)

    def bool(self) -> Any:
        return self.type(dtypes.bool)

    def int(self) -> Any:
        return self.type(dtypes.int32)

    def long(self) -> Any:
        return self.type(dtypes.int64)

    def half(self) -> Any:
        return self.type(dtypes.float16)

    def bfloat16(self) -> Any:
        return self.type(dtypes.bfloat16)

    def float(self) -> Any:
        return self.type(dtypes.float32)

    def double(self) -> Any:
        return self.type(dtypes.float64)

    def copy(self) -> Any:
        """Another object of the same entries."""
        return self._with()

    def detach_(self) -> Any:
        self._value = self.detach()._value
        return self

    def fill_value_(self, fill: Any, dtype: Any = None) -> Any:
        self._value = self.fill_value(fill, dtype)._value
        return self

    def cuda(self) -> Any:
        return self.to("CUDA")

    def fill_cache_(self) -> Any:
        """Itself: what is derived of the entries is made when it is asked for."""
        return self

    clear_cache_ = pin_memory = share_memory_ = fill_cache_

    # ---- parts ----

    def narrow(self, dim: Any, start: Any, length: Any) -> Any:
        """Rows (dim 0), columns (1), or a part of the values of each entry."""
        n = self.size(dim)
        if not 0 <= start <= start + length <= n:
            raise IndexError(f"{length} from {start} on are not within the size {n} of dimension {dim}")
        if dim > 1:
            return self.set_value(self._value[(slice(None),) * (dim - 1) + (slice(start, start + length),)])
        return self.index_select(dim, np.arange(start, start + length))

    def select(self, dim: Any, idx: Any) -> Any:
        """One row (dim 0) or column (1), as a matrix."""
        return self.narrow(dim, idx, 1)

    def permute(self, perm: Any) -> Any:
        """Rows and columns in another order."""
        return self.index_select(0, perm).index_select(1, perm)

    def sparse_reshape(self, num_rows: Any, num_cols: Any) -> Any:
        """The entries of all rows one after the other, in rows of another length."""
        cells = self._sizes[0] * self._sizes[1]
        n, m = (cells // max(num_cols, 1) if num_rows == -1 else num_rows), (cells // max(num_rows, 1) if num_cols == -1 else num_cols)
        if n * m != cells:
            raise ShapeError(f"a matrix of {self._sizes} has no shape ({num_rows}, {num_cols})")
        place = self._row * self._sizes[1] + self._col
        return self._made(row=place // m, col=place % m, value=self._value, sparse_sizes=(n, m))

    # ---- arithmetic ----

    def add(self, other: Any) -> Any:
        """The sum with a sparse matrix; or a number, a column [rows, 1] or a row [1, columns] added to the entries."""
        if not isinstance(other, MoreSparse):
            return self._entrywise(other, lambda value, each: value + each)
        a, b = self, other
        if (a._value is None) != (b._value is None):
            a, b = (m.fill_value(1.0) if m._value is None else m for m in (a, b))
        value = None if a._value is None else a._value.cat(b._value)
        sizes = tuple(map(max, a._sizes, b._sizes))
        return a._made(row=np.concatenate([a._row, b._row]), col=np.concatenate([a._col, b._col]), value=value, sparse_sizes=sizes).coalesce()

    def mul(self, other: Any) -> Any:
        """Entries times numbers, a column [rows, 1] or a row [1, columns]."""
        return self._entrywise(other, lambda value, each: value * each)

    def _entrywise(self, other: Any, combine: Callable[[Any, Any], Any]) -> Any:
        value = Tensor.ones(self.nnz()) if self._value is None else self._value
        if not isinstance(other, Tensor) or other.ndim == 0:
            return self.set_value(combine(value, other))
        if other.shape[0] == self._sizes[0] and other.shape[1] == 1:
            return self.set_value(combine(value, other.reshape(-1)[Tensor(self._row)]))
        if other.shape[0] == 1 and other.shape[1] == self._sizes[1]:
            return self.set_value(combine(value, other.reshape(-1)[Tensor(self._col)]))
        raise ShapeError(f"a matrix of {self._sizes} has no column or row like {tuple(other.shape)}")

    def add_nnz(self, value: Any, layout: Any = None) -> Any:
        """Values added to those of the entries."""
        given = self.set_value(value, layout)._value
        return self.set_value(given if self._value is None else self._value + given)

    def mul_nnz(self, value: Any, layout: Any = None) -> Any:
        """Values times those of the entries."""
        given = self.set_value(value, layout)._value
        return self.set_value(given if self._value is None else self._value * given)

    def spspmm(self, other: Any) -> Any:
        """The product with a sparse matrix."""
        return self.matmul(other)

    def random_walk(self, start: Any, walk_length: Any) -> Any:
        """Walks along the entries from rows to columns, [starts, walk_length + 1]."""
        from .sampler import random_walk

        return random_walk(np.stack([self._row, self._col]), start, walk_length, num_nodes=max(self._sizes))

    __add__ = __radd__ = add
    __mul__ = __rmul__ = mul

    # ---- PyTorch's sparse tensors ----

    @classmethod
    def from_torch_sparse_coo_tensor(cls, mat: Any, has_value: Any = True) -> Any:
        """Of a sparse tensor of polygrad.torch, in any layout."""
        return cls(row=mat._row, col=mat._col, value=mat._value if has_value else None, sparse_sizes=mat._sizes)  # type: ignore[call-arg]

    from_torch_sparse_csr_tensor = from_torch_sparse_coo_tensor

    def to_torch_sparse_coo_tensor(self, dtype: Any = None) -> Any:
        """As a sparse tensor of polygrad.torch, whose values are 1 where this has none."""
        return self._sparse_torch("coo", dtype)

    def to_torch_sparse_csr_tensor(self, dtype: Any = None) -> Any:
        return self._sparse_torch("csr", dtype)

    def to_torch_sparse_csc_tensor(self, dtype: Any = None) -> Any:
        return self._sparse_torch("csc", dtype)

    def _sparse_torch(self, layout: str, dtype: Any) -> Any:
        from ..torch.sparse import SparseMatrix

        value = Tensor.ones(self.nnz(), **({} if dtype is None else {"dtype": dtype})) if self._value is None else self._value
        return SparseMatrix(self._row, self._col, value, self._sizes, f"torch.sparse_{layout}", self.is_coalesced())


__all__ = ["MoreSparse", "joined"]
