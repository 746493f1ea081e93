"""SparseTensor: a sparse matrix by its entries, row by row; the transposed adjacency `adj_t` that layers take in the place of edge_index.

Row i of adj_t holds the edges into node i, its column the source. Entries are sorted by row and column; a Graph of them is made once and kept.
Products run on the loops of the Graph, so that nothing as wide as entries times features is stored.
"""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

import numpy as np

from .._core import kind_of
from ..autograd import current, making
from ..graphs import Graph
from ..tensor import Tensor
from ._sparse_more import MoreSparse


def _host(x: Any) -> np.ndarray:
    return x.numpy() if isinstance(x, Tensor) else np.asarray(x)


class SparseStorage:
    """The parts of a SparseTensor, each as a function, in the manner of torch-sparse."""

    def __init__(self, matrix: SparseTensor):
        self._matrix = matrix

    def row(self) -> Tensor:
        return Tensor(self._matrix._row)

    def col(self) -> Tensor:
        return Tensor(self._matrix._col)

    def value(self) -> Tensor | None:
        return self._matrix._value

    def has_value(self) -> bool:
        return self._matrix._value is not None

    def rowcount(self) -> Tensor:
        return Tensor(np.bincount(self._matrix._row, minlength=self._matrix._sizes[0]))

    def colcount(self) -> Tensor:
        return Tensor(np.bincount(self._matrix._col, minlength=self._matrix._sizes[1]))

    def rowptr(self) -> Tensor:
        return Tensor(np.concatenate([[0], np.cumsum(self.rowcount().numpy())]).astype(np.int64))

    def colptr(self) -> Tensor:
        return Tensor(np.concatenate([[0], np.cumsum(self.colcount().numpy())]).astype(np.int64))

    def has_row(self) -> bool:
        """Is it there? What is asked for is made then."""
        return True

    has_rowptr = has_colptr = has_rowcount = has_colcount = has_csr2csc = has_csc2csr = has_row

    def sparse_size(self, dim: int) -> int:
        return self._matrix._sizes[dim]

    def csc2csr(self) -> Tensor:
        """The place of each entry among those that lie column by column."""
        back = np.empty(self._matrix.nnz(), np.int64)
        back[self.csr2csc().numpy()] = np.arange(back.size)
        return Tensor(back)

    def csr2csc(self) -> Tensor:
        """The order in which the entries lie column by column."""
        return Tensor(np.lexsort((self._matrix._row, self._matrix._col)))

    def sparse_sizes(self) -> tuple[int, int]:
        return self._matrix._sizes

    def is_coalesced(self) -> bool:
        return self._matrix.is_coalesced()


class SparseTensor(MoreSparse):
    """A sparse matrix of the entries (row, col) with values `value` [nnz, ...], or 1 without.

    row, col: whole numbers; rowptr may stand for row. sparse_sizes: numbers of rows and columns, by default the largest indices + 1. is_sorted: the
    entries are sorted by row and column.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric import SparseTensor
    >>> a = SparseTensor(row=Tensor([1, 0]), col=Tensor([0, 2]), value=Tensor([5.0, 2.0]), sparse_sizes=(2, 3))
    >>> a.to_dense().tolist(), (a @ Tensor([[1.0], [10.0], [100.0]])).tolist()
    ([[0.0, 0.0, 2.0], [5.0, 0.0, 0.0]], [[200.0], [5.0]])
    >>> a.t().sparse_sizes()
    (3, 2)
    """

    def __init__(
        self,
        row: Any = None,
        rowptr: Any = None,
        col: Any = None,
        value: Tensor | None = None,
        sparse_sizes: tuple[int | None, int | None] | None = None,
        is_sorted: bool = False,
        trust_data: bool = False,
    ):
        if col is None or (row is None and rowptr is None):
            raise ValueError("a sparse matrix needs col, and row or rowptr")
        c = _host(col).astype(np.int64).reshape(-1)
        r = np.repeat(np.arange(_host(rowptr).size - 1), np.diff(_host(rowptr))) if row is None else _host(row).astype(np.int64).reshape(-1)
        if r.shape != c.shape or (value is not None and value.shape[0] != c.size):
            raise ValueError(f"row {r.shape}, col {c.shape} and value {None if value is None else value.shape} do not fit")
        self._kind = kind_of(value, row, rowptr, col) or current().made  # the class of the tensors that are made of it
        given = sparse_sizes or (None, None)
        top = [int(v.max()) + 1 if v.size else 0 for v in (r, c)]
        if row is None:
            top[0] = _host(rowptr).size - 1
        sizes = [t if g is None else int(g) for t, g in zip(top, given)]
        if (r.size and (r.min() < 0 or c.min() < 0)) or sizes[0] < top[0] or sizes[1] < top[1]:
            raise ValueError(f"entries reach to {top}, beyond the sizes {sizes}, or are negative")
        if not is_sorted and r.size > 1 and ((np.diff(r) < 0) | ((np.diff(r) == 0) & (np.diff(c) < 0))).any():
            order = np.lexsort((c, r))
            r, c = r[order], c[order]
            with making(self._kind):
                value = None if value is None else value[Tensor(order)]
        self._row, self._col, self._value, self._sizes = np.ascontiguousarray(r), np.ascontiguousarray(c), value, (sizes[0], sizes[1])
        self._graph: Graph | None = None

    # ---- made of other things ----

    @classmethod
    def from_edge_index(
        cls, edge_index: Any, edge_attr: Tensor | None = None, sparse_sizes: tuple[int | None, int | None] | None = None, is_sorted: bool = False,
        trust_data: bool = False,
    ) -> SparseTensor:  # fmt: skip
        pairs = _host(edge_index)
        with making(kind_of(edge_attr, edge_index) or current().made):
            return cls(row=pairs[0], col=pairs[1], value=edge_attr, sparse_sizes=sparse_sizes, is_sorted=is_sorted)

    @classmethod
    def from_dense(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        row, col = np.nonzero(_host(mat) if mat.ndim == 2 else np.abs(_host(mat)).sum(axis=tuple(range(2, mat.ndim))))
        with making(kind_of(mat) or current().made):
            value = mat[Tensor(row), Tensor(col)] if has_value else None
        return cls(row=row, col=col, value=value, sparse_sizes=(int(mat.shape[0]), int(mat.shape[1])), is_sorted=True)

    @classmethod
    def eye(cls, M: int, N: int | None = None, has_value: bool = True, **kwargs: Any) -> SparseTensor:
        places = np.arange(min(M, M if N is None else N))
        return cls(
            row=places, col=places, value=Tensor.ones(places.size) if has_value else None, sparse_sizes=(M, M if N is None else N), is_sorted=True
        )

    @classmethod
    def from_scipy(cls, mat: Any, has_value: bool = True) -> SparseTensor:
        coo = mat.tocoo()
        return cls(row=coo.row, col=coo.col, value=Tensor(np.ascontiguousarray(coo.data)) if has_value else None, sparse_sizes=coo.shape)

    def _with(self, keep: Any = None, row: Any = None, col: Any = None, sizes: Any = None, value: Any = ...) -> SparseTensor:
        r, c, v = (self._row if row is None else row), (self._col if col is None else col), self._value if value is ... else value
        if keep is not None:
            r, c = r[keep], c[keep]
            v = None if v is None else v[Tensor(np.flatnonzero(keep) if keep.dtype == bool else keep)]
        return self._made(row=r, col=c, value=v, sparse_sizes=self._sizes if sizes is None else sizes)

    def _made(self, **parts: Any) -> SparseTensor:
        """A matrix of the same kind as this one."""
        return SparseTensor(**parts)

    # ---- parts ----

    @property
    def storage(self) -> SparseStorage:
        return SparseStorage(self)

    @property
    def graph(self) -> Graph:
        """The edges from columns to rows, in the order of the entries."""
        if self._graph is None:
            pairs = Tensor(np.stack([self._col, self._row]))
            n, m = self._sizes
            self._graph = Graph(pairs, n) if n == m else Graph(pairs, num_src=m, num_dst=n)
        return self._graph

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        return self.storage.row(), self.storage.col(), self._value

    def csr(self) -> tuple[Tensor, Tensor, Tensor | None]:
        return self.storage.rowptr(), self.storage.col(), self._value

    def csc(self) -> tuple[Tensor, Tensor, Tensor | None]:
        order = self.storage.csr2csc()
        return self.storage.colptr(), Tensor(self._row[order.numpy()]), None if self._value is None else self._value[order]

    def sparse_sizes(self) -> tuple[int, int]:
        return self._sizes

    def sparse_size(self, dim: int) -> int:
        return self._sizes[dim]

    def sizes(self) -> list[int]:
        return [*self._sizes, *(() if self._value is None else (int(s) for s in self._value.shape[1:]))]

    def size(self, dim: int) -> int:
        return self.sizes()[dim]

    def dim(self) -> int:
        return len(self.sizes())

    def nnz(self) -> int:
        """Number of entries."""
        return int(self._row.size)

    def numel(self) -> int:
        return self.nnz() if self._value is None else self._value.numel()

    def density(self) -> float:
        return self.nnz() / max(self._sizes[0] * self._sizes[1], 1)

    def has_value(self) -> bool:
        return self._value is not None

    def is_quadratic(self) -> bool:
        return self._sizes[0] == self._sizes[1]

    # ---- values ----

    def set_value(self, value: Tensor | None, layout: str | None = None) -> SparseTensor:
        """The same entries with other values, which lie row by row (layout 'coo' or 'csr') or column by column ('csc')."""
        if value is not None and layout == "csc":
            back = np.empty(self.nnz(), np.int64)
            back[self.storage.csr2csc().numpy()] = np.arange(self.nnz())
            value = value[Tensor(back)]
        out = self._with(value=value)
        out._graph = self._graph
        return out

    def set_value_(self, value: Tensor | None, layout: str | None = None) -> SparseTensor:
        self._value = self.set_value(value, layout)._value
        return self

    def fill_value(self, fill: float, dtype: Any = None) -> SparseTensor:
        return self.set_value(Tensor.full((self.nnz(),), fill, **({} if dtype is None else {"dtype": dtype})))

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        if self._value is not None:
            self._value.requires_grad_(requires_grad)
        return self

    def requires_grad(self) -> bool:
        return self._value is not None and bool(self._value.requires_grad)

    def detach(self) -> SparseTensor:
        return self.set_value(None if self._value is None else self._value.detach())

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        return self if self._value is None else self.set_value(self._value.to(*args, **kwargs))

    def cpu(self) -> SparseTensor:
        return self.to("CPU")

    def clone(self) -> SparseTensor:
        return self._with()

    # ---- other matrices of the same entries ----

    def t(self) -> SparseTensor:
        """Transposed."""
        return self._with(row=self._col, col=self._row, sizes=self._sizes[::-1])

    def is_coalesced(self) -> bool:
        return not bool(((np.diff(self._row) == 0) & (np.diff(self._col) == 0)).any())

    def coalesce(self, reduce: str = "sum") -> SparseTensor:
        """Entries at the same place once, their values reduced."""
        if self.is_coalesced():
            return self
        from .utils import coalesce

        n = max(self._sizes)
        pairs, value = coalesce(Tensor(np.stack([self._row, self._col])), self._value, n, reduce, is_sorted=True)
        return self._made(row=pairs[0], col=pairs[1], value=value, sparse_sizes=self._sizes, is_sorted=True)

    def is_symmetric(self) -> bool:
        if not self.is_quadratic():
            return False
        other = self.t()
        same = np.array_equal(self._row, other._row) and np.array_equal(self._col, other._col)
        return same and (self._value is None or np.array_equal(_host(self._value), _host(other._value)))

    def to_symmetric(self, reduce: str = "sum") -> SparseTensor:
        """With the opposite of every entry; equal ones are reduced."""
        n = max(self._sizes)
        row, col = np.concatenate([self._row, self._col]), np.concatenate([self._col, self._row])
        value = None if self._value is None else self._value.cat(self._value, dim=0)
        return self._made(row=row, col=col, value=value, sparse_sizes=(n, n)).coalesce(reduce)

    def sparse_resize(self, sparse_sizes: tuple[int, int]) -> SparseTensor:
        return self._with(sizes=sparse_sizes)

    def remove_diag(self, k: int = 0) -> SparseTensor:
        return self._with(keep=self._col - self._row != k)

    def set_diag(self, values: Any = None, k: int = 0) -> SparseTensor:
        """With all entries of the k-th diagonal, of the given values or 1."""
        rest = self.remove_diag(k)
        n, m = self._sizes
        row = np.arange(max(0, -k), max(0, -k, min(n, m - k)))
        if self._value is None:
            value = None
        else:
            extra = Tensor.ones(row.size, *self._value.shape[1:], dtype=self._value.dtype) if values is None else values
            if not isinstance(extra, Tensor):
                extra = Tensor.full((row.size, *self._value.shape[1:]), extra, dtype=self._value.dtype)
            assert rest._value is not None
            value = rest._value.cat(extra, dim=0)
        return self._made(row=np.concatenate([rest._row, row]), col=np.concatenate([rest._col, row + k]), value=value, sparse_sizes=self._sizes)

    def fill_diag(self, fill_value: float, k: int = 0) -> SparseTensor:
        return self.set_diag(None if self._value is None else fill_value, k)

    def get_diag(self) -> Tensor:
        here = self._row == self._col
        n = min(self._sizes)
        value = Tensor.ones(self.nnz()) if self._value is None else self._value
        from .utils import scatter

        return scatter(value[Tensor(np.flatnonzero(here))], Tensor(self._row[here]), 0, n)

    def index_select(self, dim: int, idx: Any) -> SparseTensor:
        """Rows (dim 0) or columns (1) in the order of idx, which may have some several times."""
        if dim % 2 == 1:
            return self.t().index_select(0, idx).t()
        chosen, n = _host(idx).astype(np.int64).reshape(-1), self._sizes[0]
        if chosen.size and (chosen.min() < -n or chosen.max() >= n):
            raise IndexError(f"index {int(chosen.max() if chosen.max() >= n else chosen.min())} is out of range for {n} rows or columns")
        starts = np.searchsorted(self._row, np.arange(n + 1))
        counts = np.diff(starts)[chosen]
        keep = np.repeat(starts[:-1][chosen] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        value = None if self._value is None else self._value[Tensor(keep)]
        row, sizes = np.repeat(np.arange(chosen.size), counts), (chosen.size, self._sizes[1])
        return self._made(row=row, col=self._col[keep], value=value, sparse_sizes=sizes)

    def masked_select(self, dim: int, mask: Any) -> SparseTensor:
        return self.index_select(dim, np.flatnonzero(_host(mask)))

    def __getitem__(self, index: Any) -> SparseTensor:
        out = self
        for dim, one in enumerate(index if isinstance(index, tuple) else (index,)):
            if isinstance(one, slice):
                if one != slice(None):
                    out = out.index_select(dim, np.arange(out._sizes[dim])[one])
            elif isinstance(one, (int, np.integer)):
                if not -out._sizes[dim] <= one < out._sizes[dim]:
                    raise IndexError(f"index {one} is out of range for dimension {dim} of size {out._sizes[dim]}")
                out = out.index_select(dim, np.array([one % out._sizes[dim]]))
            else:
                a = _host(one)
                out = out.masked_select(dim, a) if a.dtype == bool else out.index_select(dim, a)
        return out

    # ---- arithmetic ----

    def matmul(self, other: Any, reduce: str = "sum") -> Any:
        """The product with a dense matrix (reduce: 'sum', 'mean', 'min' or 'max'), or with a sparse one (sum)."""
        if isinstance(other, SparseTensor):
            return self._times(other, reduce)
        from .utils._spmm import product

        dense = other.reshape(-1, 1) if other.ndim == 1 else other
        out = product(self, dense, reduce)
        return out.reshape(-1) if other.ndim == 1 else out

    spmm = matmul
    __matmul__ = matmul

    def _times(self, other: SparseTensor, reduce: str) -> SparseTensor:
        """Sparse times sparse, on the host: every entry with the row of the other matrix that it meets. O(products log products)."""
        if reduce not in ("sum", "add") or self._sizes[1] != other._sizes[0]:
            raise ValueError(f"sparse matrices of {self._sizes} and {other._sizes} cannot be multiplied with reduce={reduce!r}")
        ptr = other.storage.rowptr().numpy()
        counts = np.diff(ptr)[self._col]
        left = np.repeat(np.arange(self.nnz()), counts)
        right = np.repeat(ptr[self._col] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        value = None
        if self._value is not None or other._value is not None:
            a = Tensor.ones(self.nnz()) if self._value is None else self._value
            b = Tensor.ones(other.nnz()) if other._value is None else other._value
            value = a[Tensor(left)] * b[Tensor(right)]
        sizes = (self._sizes[0], other._sizes[1])
        return self._made(row=self._row[left], col=other._col[right], value=value, sparse_sizes=sizes).coalesce()

    def _reduce(self, dim: int | None, op: str) -> Tensor:
        from .utils import scatter

        value = Tensor.ones(self.nnz()) if self._value is None else self._value
        if dim is None:
            return getattr(value, op)()
        n = self._sizes[1 - dim]
        return scatter(value, Tensor(self._row if dim == 1 else self._col), 0, n, op)

    def sum(self, dim: int | None = None) -> Tensor:
        """Of all entries, of each column (dim 0) or of each row (1)."""
        return self._reduce(dim, "sum")

    def mean(self, dim: int | None = None) -> Tensor:
        return self._reduce(dim, "mean")

    def max(self, dim: int | None = None) -> Tensor:
        return self._reduce(dim, "max")

    def min(self, dim: int | None = None) -> Tensor:
        return self._reduce(dim, "min")

    def to_dense(self, dtype: Any = None) -> Tensor:
        from .utils import scatter

        n, m = self._sizes
        value = Tensor.ones(self.nnz()) if self._value is None else self._value
        out = scatter(value, Tensor(self._row * m + self._col), 0, n * m).reshape(n, m, *value.shape[1:])
        return out if dtype is None else out.cast(dtype)

    def to_scipy(self, layout: str = "csr", dtype: Any = None) -> Any:
        import scipy.sparse as sp  # type: ignore[import-untyped]

        data = np.ones(self.nnz(), dtype or np.float32) if self._value is None else _host(self._value)
        return sp.coo_matrix((data, (self._row, self._col)), self._sizes).asformat(layout)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, SparseTensor) or self.sizes() != other.sizes() or self.has_value() != other.has_value():
            return False
        same = np.array_equal(self._row, other._row) and np.array_equal(self._col, other._col)
        return same and (self._value is None or np.array_equal(self._value.numpy(), other._value.numpy()))  # type: ignore[union-attr]

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"SparseTensor(size={tuple(self.sizes())}, nnz={self.nnz()}, density={100 * self.density():.02f}%)"


def unpacked(forward: Any, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a layer with graphs in the place of sparse matrices, whose values go to the first of edge_weight, edge_attr and edge_type
    that the
    layer has and that was not given."""
    bound = inspect.signature(forward).bind(layer, *args, **kwargs)
    values = bound.arguments
    for name, given in list(values.items()):
        if not isinstance(given, SparseTensor):
            continue
        if name == "x":  # features with many zeros, not edges
            values[name] = given.to_dense()
            continue
        values[name] = given.graph
        free = [n for n in ("edge_weight", "edge_attr", "edge_type") if n in inspect.signature(forward).parameters and values.get(n) is None]
        if getattr(given, "weights", False) and given._value is not None and given._value.ndim == 1:
            free = [n for n in free if n != "edge_attr"]
        if given._value is not None and free:
            values[free[0]] = given._value
    return bound.args[1:], bound.kwargs


def repacked(out: Any, given: tuple[Any, ...]) -> Any:
    """The output of a layer that was given a sparse matrix: attention weights of edges, (out, (edge_index, alpha)), become values of one."""
    if not (isinstance(out, tuple) and len(out) == 2 and isinstance(out[1], tuple) and len(out[1]) == 2 and isinstance(out[1][0], (Tensor, Graph))):
        return out
    matrix = next(m for m in given if isinstance(m, SparseTensor))
    pairs, alpha = out[1]
    pairs = pairs.edge_index if isinstance(pairs, Graph) else pairs
    adj = matrix._made(row=pairs[1], col=pairs[0], value=alpha, sparse_sizes=matrix._sizes)
    return out[0], adj if not hasattr(matrix, "layout") else (adj, alpha)


def _in_its_class(cls: type) -> None:
    """Tensors that the methods of a class make are of the class that the matrix was made of."""

    def wrapped(method: Any) -> Any:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            with making((self if isinstance(self, SparseTensor) else self._matrix)._kind):
                return method(self, *args, **kwargs)

        return call

    for name, value in list(vars(cls).items()):
        if isinstance(value, types.FunctionType) and not name.startswith("_"):
            setattr(cls, name, wrapped(value))


_in_its_class(SparseStorage)
_in_its_class(SparseTensor)
_in_its_class(MoreSparse)

__all__ = ["SparseStorage", "SparseTensor", "repacked", "unpacked"]
