"""EdgeIndex and Index: tensors of indices that know their sizes and their order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..tensor import Tensor
from .sparse_tensor import SparseTensor


def _pointers(index: np.ndarray, size: int) -> Tensor:
    return Tensor(np.concatenate([[0], np.cumsum(np.bincount(index, minlength=size))]).astype(np.int64))


def ptr2index(ptr: Tensor, output_size: int | None = None) -> Tensor:
    """The row of each entry, from where the rows begin: [0, 2, 3] gives [0, 0, 1]."""
    counts = np.diff(ptr.numpy())
    return Tensor(np.repeat(np.arange(counts.size), counts))


def index2ptr(index: Tensor, size: int | None = None) -> Tensor:
    """Where the rows begin, from the sorted row of each entry: [0, 0, 1] gives [0, 2, 3]."""
    rows = index.numpy()
    return _pointers(rows, (int(rows.max()) + 1 if rows.size else 0) if size is None else size)


class Index(Tensor):
    """A vector of indices into dim_size things, which may be known to be sorted. Anything that takes a tensor takes it; what is computed of it is a
    plain tensor.

    >>> from polygrad.geometric import Index
    >>> index = Index([0, 1, 1, 2], dim_size=3, is_sorted=True)
    >>> index.get_indptr().tolist(), index.dim_size
    ([0, 1, 3, 4], 3)
    """

    def __init__(self, data: Any, *args: Any, dim_size: int | None = None, is_sorted: bool = False, **kwargs: Any):
        super().__init__(data, **kwargs)
        _whole(self, 1)
        self._dim_size, self._is_sorted = dim_size, is_sorted
        self._indptr: Tensor | None = None

    @property
    def dim_size(self) -> int | None:
        return self._dim_size

    @property
    def is_sorted(self) -> bool:
        return self._is_sorted

    def get_dim_size(self) -> int:
        """How many things there are, by the largest index if it was not given."""
        if self._dim_size is None:
            a = self.numpy()
            self._dim_size = int(a.max()) + 1 if a.size else 0
        return self._dim_size

    def dim_resize_(self, dim_size: int | None) -> Index:
        self._dim_size, self._indptr = dim_size, None
        return self

    def validate(self) -> Index:
        """Raises if an index is out of range, or out of order where the order is said to be known."""
        a = self.numpy()
        if a.size and (a.min() < 0 or (self._dim_size is not None and a.max() >= self._dim_size)):
            raise ValueError(f"indices from {int(a.min())} to {int(a.max())} for {self._dim_size} things")
        if self._is_sorted and (np.diff(a) < 0).any():
            raise ValueError("the indices are not sorted, although they are said to be")
        return self

    def get_indptr(self) -> Tensor:
        """Where the entries of each thing begin; the indices must be known to be sorted."""
        if not self._is_sorted:
            raise ValueError("only sorted indices have pointers: make it with is_sorted=True")
        if self._indptr is None:
            self._indptr = _pointers(self.numpy(), self.get_dim_size())
        return self._indptr

    def fill_cache_(self) -> Index:
        self.get_dim_size()
        if self._is_sorted:
            self.get_indptr()
        return self

    def as_tensor(self) -> Tensor:
        return Tensor(self)

    def share_memory_(self) -> Index:
        return self

    def is_shared(self) -> bool:
        return False


def _whole(x: Tensor, ndim: int) -> None:
    if x.ndim != ndim or (ndim == 2 and x.shape[0] != 2):
        raise ValueError(f"{'a vector' if ndim == 1 else 'the shape [2, E]'} is needed, not {x.shape}")
    if x.dtype.kind not in "iu":
        raise ValueError(f"indices must be whole numbers, not {x.dtype}")


class SortReturnType(NamedTuple):
    values: Any
    indices: Tensor | None


class EdgeIndex(Tensor):
    """Edges [2, E] with the sizes of their matrix, sparse_size=(rows, columns), their order (sort_order 'row' or 'col'), and whether all
    opposites are there (is_undirected). Anything that takes an edge_index takes it; what is computed of it is a plain tensor.

    >>> from polygrad.geometric import EdgeIndex
    >>> edges = EdgeIndex([[0, 1, 1, 2], [1, 0, 2, 1]], sparse_size=(3, 3), sort_order="row", is_undirected=True)
    >>> (rowptr, col), _ = edges.get_csr()
    >>> rowptr.tolist(), col.tolist(), edges.sort_by("col").values.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [[1, 0, 2, 1], [0, 1, 1, 2]])
    """

    def __init__(
        self, data: Any, *args: Any, sparse_size: tuple[int | None, int | None] | None = None, sort_order: str | None = None,
        is_undirected: bool = False, **kwargs: Any,
    ):  # fmt: skip
        super().__init__(data, **kwargs)
        _whole(self, 2)
        rows, cols = sparse_size or (None, None)
        order = getattr(sort_order, "value", sort_order)
        if order not in (None, "row", "col"):
            raise ValueError(f"sort_order must be 'row', 'col' or None, not {sort_order!r}")
        if is_undirected and rows is not None and cols is not None and rows != cols:
            raise ValueError(f"an undirected graph has as many rows as columns, not {rows} and {cols}")
        if is_undirected:
            rows, cols = rows if rows is not None else cols, cols if cols is not None else rows
        self._sparse_size: tuple[int | None, int | None] = (rows, cols)
        self._sort_order, self._is_undirected = order, is_undirected

    # ---- what is known ----

    def sparse_size(self, dim: int | None = None) -> Any:
        return self._sparse_size if dim is None else self._sparse_size[dim]

    @property
    def num_rows(self) -> int | None:
        return self._sparse_size[0]

    @property
    def num_cols(self) -> int | None:
        return self._sparse_size[1]

    @property
    def sort_order(self) -> str | None:
        return self._sort_order

    @property
    def is_sorted(self) -> bool:
        return self._sort_order is not None

    @property
    def is_sorted_by_row(self) -> bool:
        return self._sort_order == "row"

    @property
    def is_sorted_by_col(self) -> bool:
        return self._sort_order == "col"

    @property
    def is_undirected(self) -> bool:
        return self._is_undirected

    def get_sparse_size(self, dim: int | None = None) -> Any:
        """Numbers of rows and columns, by the largest indices where they were not given."""
        if None in self._sparse_size:
            a = self.numpy()
            top = [int(v.max()) + 1 if v.size else 0 for v in a]
            top = [max(top)] * 2 if self._is_undirected else top
            rows, cols = (t if s is None else s for t, s in zip(top, self._sparse_size))
            self._sparse_size = (rows, cols)
        return self._sparse_size if dim is None else self._sparse_size[dim]

    def get_num_rows(self) -> int:
        return self.get_sparse_size(0)

    def get_num_cols(self) -> int:
        return self.get_sparse_size(1)

    def sparse_resize_(self, num_rows: int | None, num_cols: int | None) -> EdgeIndex:
        self._sparse_size = (num_rows, num_cols)
        return self

    def validate(self) -> EdgeIndex:
        """Raises if what is said of the edges does not hold."""
        a = self.numpy()
        for side, n, v in zip(("rows", "columns"), self._sparse_size, a):
            if v.size and (v.min() < 0 or (n is not None and v.max() >= n)):
                raise ValueError(f"indices from {int(v.min())} to {int(v.max())} for {n} {side}")
        if self._sort_order and (np.diff(a[0 if self._sort_order == "row" else 1]) < 0).any():
            raise ValueError(f"the edges are not sorted by {self._sort_order}, although they are said to be")
        if self._is_undirected:
            first, second = (np.lexsort((v[1], v[0])) for v in (a, a[::-1]))
            if not np.array_equal(a[:, first], a[::-1][:, second]):
                raise ValueError("the opposites of some edges are missing, although the graph is said to be undirected")
        return self

    # ---- orders ----

    def _ordered(self, by: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Edges by row (0) or column (1), and the order if they had to be sorted."""
        a = self.numpy()
        if self._sort_order == ("row", "col")[by]:
            return a, None
        order = np.lexsort((a[1 - by], a[by]))
        return a[:, order], order

    def get_csr(self) -> tuple[tuple[Tensor, Tensor], Tensor | None]:
        """((rowptr, col), perm): the edges row by row; perm is None where they lie so."""
        a, order = self._ordered(0)
        return (_pointers(a[0], self.get_num_rows()), Tensor(np.ascontiguousarray(a[1]))), None if order is None else Tensor(order)

    def get_csc(self) -> tuple[tuple[Tensor, Tensor], Tensor | None]:
        """((colptr, row), perm): the edges column by column."""
        a, order = self._ordered(1)
        return (_pointers(a[1], self.get_num_cols()), Tensor(np.ascontiguousarray(a[0]))), None if order is None else Tensor(order)

    def get_indptr(self) -> Tensor:
        """Pointers of the order that the edges have."""
        if self._sort_order is None:
            raise ValueError("only sorted edges have pointers: see sort_by")
        return (self.get_csr() if self._sort_order == "row" else self.get_csc())[0][0]

    def fill_cache_(self, no_transpose: bool = False) -> EdgeIndex:
        self.get_sparse_size()
        return self

    def sort_by(self, sort_order: str, stable: bool = False) -> SortReturnType:
        """(edges by 'row' or 'col', the order): the order is None where they lie so."""
        order_name = getattr(sort_order, "value", sort_order)
        if order_name not in ("row", "col"):
            raise ValueError(f"sort_order must be 'row' or 'col', not {sort_order!r}")
        a, order = self._ordered(0 if order_name == "row" else 1)
        made = EdgeIndex(np.ascontiguousarray(a), sparse_size=self._sparse_size, sort_order=order_name, is_undirected=self._is_undirected)
        return SortReturnType(made, None if order is None else Tensor(order))

    def flip(self, *args: Any) -> Any:
        """flip(0) turns the edges around, and keeps what is known of them."""
        dims = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        if dims not in ([0], [-2]):
            return Tensor(self).flip(*dims)
        other = {"row": "col", "col": "row", None: None}[self._sort_order]
        return EdgeIndex(
            np.ascontiguousarray(self.numpy()[::-1]), sparse_size=self._sparse_size[::-1], sort_order=other, is_undirected=self._is_undirected
        )

    # ---- matrices ----

    def to_sparse_tensor(self, value: Tensor | None = None) -> SparseTensor:
        """The matrix with a row for each source."""
        return SparseTensor.from_edge_index(Tensor(self), value, self.get_sparse_size(), is_sorted=False)

    def to_dense(self, value: Tensor | None = None, fill_value: float = 0.0, dtype: Any = None) -> Tensor:
        out = self.to_sparse_tensor(value).to_dense(dtype)
        if fill_value == 0:
            return out
        there = EdgeIndex(Tensor(self), sparse_size=self.get_sparse_size()).to_sparse_tensor().to_dense() > 0
        return there.reshape(*there.shape, *[1] * (out.ndim - 2)).where(out, fill_value)

    def matmul(  # type: ignore[override]
        self, other: Any, input_value: Tensor | None = None, other_value: Tensor | None = None, reduce: str = "sum", transpose: bool = False
    ) -> Any:
        """The product of the matrix (transposed if asked for) with a dense matrix, or with that of other edges."""
        mine = self.to_sparse_tensor(input_value)
        mine = mine.t() if transpose else mine
        if not isinstance(other, EdgeIndex):
            return mine.matmul(Tensor(other) if not isinstance(other, Tensor) else other, reduce)
        mine = mine if mine.has_value() else mine.fill_value(1.0)  # so that ways of two steps are counted
        product = mine.matmul(other.to_sparse_tensor(other_value))
        row, col, value = product.coo()
        return EdgeIndex(Tensor.stack(row, col), sparse_size=product.sparse_sizes(), sort_order="row"), value

    __matmul__ = matmul

    def sparse_narrow(self, dim: int, start: int, length: int) -> EdgeIndex:
        """The edges of some rows (dim 0) or columns (1), numbered from 0."""
        a = self.numpy()
        dim %= 2
        keep = (a[dim] >= start) & (a[dim] < start + length)
        part = a[:, keep].copy()
        part[dim] -= start
        sizes = list(self._sparse_size)
        sizes[dim] = length
        return EdgeIndex(np.ascontiguousarray(part), sparse_size=(sizes[0], sizes[1]), sort_order=self._sort_order)

    def to_vector(self) -> Tensor:
        """One number for each edge: row * columns + column."""
        return Tensor(self.numpy()[0] * self.get_num_cols() + self.numpy()[1])

    def as_tensor(self) -> Tensor:
        return Tensor(self)

    def share_memory_(self) -> EdgeIndex:
        return self

    def is_shared(self) -> bool:
        return False


__all__ = ["index2ptr", "ptr2index", "EdgeIndex", "Index", "SortReturnType"]
