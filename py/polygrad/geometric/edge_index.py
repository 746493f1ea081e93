"""EdgeIndex and Index: tensors of indices that know their sizes and their order.

What is known stays with the result of an operation that keeps it true: a copy, another dtype, a part of the edges, edges one after another,
indices moved by a number. Everything else that is computed of one is a plain tensor.
"""

# mypy: disable-error-code="misc, override, valid-type, has-type"

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from .._core import C, like
from ..dtypes import dtypes
from ..tensor import Tensor
from .sparse_tensor import SparseTensor

SUPPORTED_DTYPES = {dtypes.int32, dtypes.int64}
ReduceType = Literal["sum", "mean", "amin", "amax", "add", "min", "max"]
_REDUCE = {"add": "sum", "amin": "min", "amax": "max"}


def _pointers(index: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(index, minlength=size))])


def ptr2index(ptr: Tensor, output_size: int | None = None) -> Tensor:
    """The row of each entry, from where the rows begin: [0, 2, 3] gives [0, 0, 1]."""
    counts = np.diff(ptr.numpy())
    return Tensor(np.repeat(np.arange(counts.size), counts))


def index2ptr(index: Tensor, size: int | None = None) -> Tensor:
    """Where the rows begin, from the sorted row of each entry: [0, 0, 1] gives [0, 2, 3]."""
    rows = index.numpy()
    return Tensor(_pointers(rows, (int(rows.max()) + 1 if rows.size else 0) if size is None else size))


def set_tuple_item(values: tuple[Any, ...], dim: int, item: Any) -> tuple[Any, ...]:
    """values with another item at one place."""
    out = list(values)
    try:
        out[dim] = item
    except IndexError:
        raise IndexError("tuple index out of range") from None
    return tuple(out)


class Known(Tensor):
    """What EdgeIndex and Index have in common. _KNOWN: attributes about the indices. _CACHES: attributes that are tensors made of them."""

    _kind = Tensor
    _KNOWN: tuple[str, ...] = ()
    _CACHES: tuple[str, ...] = ()
    _indptr: Tensor | None = None

    def _start(self, data: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if isinstance(data, Tensor) and (args or kwargs):
            what = "combination of arguments" if args else "keyword arguments"
            raise TypeError(f"invalid {what}: a tensor keeps its own dtype and device, got {[*args, *kwargs]}")
        if args:
            kwargs = {"dtype": args[0], **kwargs}
        if not getattr(data, "is_contiguous", lambda: True)():
            raise ValueError(f"{type(self).__name__} needs to be contiguous: call contiguous() first")
        super().__init__(data, **kwargs)

    def _whole(self, ndim: int) -> None:
        name = type(self).__name__
        if self.dtype.kind not in "iu":
            raise ValueError(f"{name} has an unsupported data type: indices are whole numbers, not {self.dtype}")
        if self.ndim != ndim:
            shape = "[2, E]" if ndim == 2 else "[E]"
            raise ValueError(f"{name} needs to be {('one', 'two')[ndim - 1]}-dimensional, of shape {shape}, not {tuple(self.shape)}")
        if ndim == 2 and self.shape[0] != 2:
            raise ValueError(f"{name} needs to have a shape of [2, E], not {tuple(self.shape)}")

    @property
    def _data(self) -> Tensor:
        """The indices alone."""
        return like(self, C.poly_retain_copy(self._h))

    def as_tensor(self) -> Tensor:
        """The indices alone, without a copy."""
        return self._data

    def _with(self, tensor: Any, *, of: Any = None, caches: bool = False) -> Any:
        """An object of this class with these indices, which knows what `of` (by default this one) knows."""
        out = type(self)(tensor)
        source = self if of is None else of
        for name in self._KNOWN:
            setattr(out, name, getattr(source, name))
        for name in self._CACHES if caches else ():
            setattr(out, name, getattr(source, name))
        return out

    def _own(self, values: np.ndarray) -> Tensor:
        """A tensor of these values in the dtype of the indices."""
        with_kind: Any = self._kind
        return with_kind(np.ascontiguousarray(values)).cast(self.dtype)

    def __reduce__(self) -> Any:
        kept = {name: getattr(self, name) for name in (*self._KNOWN, *self._CACHES)}
        return _again, (type(self), self._data, kept)

    # ---- copies ----

    def clone(self, *args: Any, **kwargs: Any) -> Any:
        """A copy, with what is known."""
        return self._with(self._data.clone(), caches=True)

    def contiguous(self, *args: Any, **kwargs: Any) -> Any:
        """The same indices, stored, with what is known."""
        return self._with(self._data.contiguous(), caches=True)

    def detach(self) -> Any:
        """The same indices: they have no history."""
        return self._with(self._data, caches=True)

    def cast(self, dtype: Any) -> Any:
        """In another dtype; whole numbers stay an index."""
        out = self._data.cast(dtype)
        if out.dtype.kind not in "iu" or out.dtype == dtypes.bool:
            return out
        out = self._with(out)
        for name in self._CACHES:
            value = getattr(self, name)
            cast = (
                tuple(None if v is None else v.cast(dtype) for v in value)
                if isinstance(value, tuple)
                else None
                if value is None
                else value.cast(dtype)
            )
            setattr(out, name, cast)
        return out

    def int(self) -> Any:
        return self.cast(dtypes.int32)

    def long(self) -> Any:
        return self.cast(dtypes.int64)

    def share_memory_(self) -> Any:
        """Moves the indices and what was made of them into memory that processes share, where their class can."""
        for t in (self, *(getattr(self, name) for name in self._CACHES)):
            for part in t if isinstance(t, tuple) else (t,):
                if part is self:
                    getattr(super(), "share_memory_", bool)()
                elif part is not None:
                    getattr(part, "share_memory_", bool)()
        return self

    # ---- arithmetic ----

    def add(self, other: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """self + alpha * other; a number, or one for each row, moves the sizes as well."""
        return self._moved(other, 1 if alpha is None else alpha, 1)

    def sub(self, other: Any, *args: Any, alpha: Any = None, **kwargs: Any) -> Any:  # type: ignore[override]
        """self - alpha * other; a number, or one for each row, moves the sizes as well."""
        return self._moved(other, 1 if alpha is None else alpha, -1)

    def __add__(self, other: Any) -> Any:
        return self._moved(other, 1, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._moved(other, 1, -1)

    def add_(self, other: Any, *, alpha: Any = None) -> Any:
        return self._replaced(self.add(other, alpha=alpha))

    def sub_(self, other: Any, *, alpha: Any = None) -> Any:
        return self._replaced(self.sub(other, alpha=alpha))

    def __iadd__(self, other: Any) -> Any:
        return self.add_(other)

    def __isub__(self, other: Any) -> Any:
        return self.sub_(other)

    def _replaced(self, new: Any) -> Any:
        if not isinstance(new, Known):
            raise RuntimeError(f"a result of {new.dtype} can't be cast to {self.dtype} in place")
        self.replace(new._data.cast(self.dtype))
        for name in (*self._KNOWN, *self._CACHES):
            setattr(self, name, getattr(new, name))
        return self

    def _moved(self, other: Any, alpha: Any, sign: int) -> Any:
        by = other._data if isinstance(other, Known) else other
        out = self._data + by * (sign * alpha) if not isinstance(by, (int, np.integer)) else self._data + int(by) * sign * alpha
        if out.dtype.kind not in "iu" or tuple(out.shape) != tuple(self.shape):
            return out
        made = type(self)(out)
        if isinstance(other, Known):
            self._both(made, other, sign * alpha)
        elif not isinstance(by, Tensor):
            self._shifted(made, [int(by) * sign * alpha])
        elif by.numel() == 1 or tuple(by.shape) == (2, 1):
            self._shifted(made, [int(v) * sign * alpha for v in by.numpy().reshape(-1)])
        return made

    def _shifted(self, made: Any, by: list[int]) -> None:
        raise NotImplementedError

    def _both(self, made: Any, other: Any, factor: int) -> None:
        raise NotImplementedError


def _again(cls: type, data: Any, kept: dict[str, Any]) -> Any:
    out = cls(data)
    for name, value in kept.items():
        setattr(out, name, value)
    return out


def _sum(size: int | None, by: int | None) -> int | None:
    return None if size is None or by is None else max(size + by, 0)


class IndexCat(NamedTuple):
    """What the parts of indices one after another knew."""

    nnz: list[int]
    dim_size: list[int | None]
    is_sorted: list[bool]


class Index(Known):
    """A vector of indices into dim_size things, which may be known to be sorted. Anything that takes a tensor takes it.

    >>> from polygrad.geometric import Index
    >>> index = Index([0, 1, 1, 2], dim_size=3, is_sorted=True)
    >>> index.get_indptr().tolist(), index.dim_size, (index + 2).dim_size
    ([0, 1, 3, 4], 3, 5)
    """

    _kind = Tensor
    _KNOWN = ("_dim_size", "_is_sorted")
    _CACHES = ("_indptr",)
    _cat_metadata: IndexCat | None = None

    def __init__(self, data: Any, *args: Any, dim_size: int | None = None, is_sorted: bool = False, **kwargs: Any):
        self._start(data, args, kwargs)
        self._whole(1)
        if isinstance(data, Index):
            self._indptr = data._indptr if dim_size in (None, data._dim_size) else None
            dim_size, is_sorted = data._dim_size if dim_size is None else dim_size, is_sorted or data._is_sorted
        self._dim_size, self._is_sorted = dim_size, is_sorted

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
        """Another number of things; pointers grow and shrink with it."""
        self._dim_size, self._indptr = dim_size, _resized(self._indptr, dim_size)
        return self

    def validate(self) -> Index:
        """Raises if an index is out of range, or out of order where the order is said to be known."""
        a, name = self.numpy(), type(self).__name__
        if a.size and a.min() < 0:
            raise ValueError(f"{name} contains negative indices, the least is {int(a.min())}")
        if a.size and self._dim_size is not None and a.max() >= self._dim_size:
            raise ValueError(f"{name} contains larger indices than its registered size: {int(a.max())} for {self._dim_size} things")
        if self._is_sorted and (np.diff(a) < 0).any():
            raise ValueError(f"{name} is not sorted, although it is said to be")
        return self

    def get_indptr(self) -> Tensor:
        """Where the entries of each thing begin; the indices must be known to be sorted."""
        if not self._is_sorted:
            raise ValueError("the indices are not sorted, and only sorted ones have pointers: call sort(), or make it with is_sorted=True")
        if self._indptr is None:
            self._indptr = self._own(_pointers(self.numpy(), self.get_dim_size()))
        return self._indptr

    def fill_cache_(self) -> Index:
        self.get_dim_size()
        if self._is_sorted:
            self.get_indptr()
        return self

    def _part(self, tensor: Any, ordered: bool) -> Index:
        out = type(self)(tensor)
        out._dim_size, out._is_sorted = self._dim_size, self._is_sorted and ordered
        return out

    def flip(self, *args: Any) -> Any:
        """In reverse order."""
        return self._part(self._data.flip(*args), False)

    def index_select(self, dim: int, index: Any) -> Any:
        """The entries of a vector of places."""
        return self._part(self._data.index_select(dim, index), False)

    def __getitem__(self, key: Any) -> Any:
        out = self._data[key]
        if isinstance(key, tuple):
            kept = [k for k in key if k is not Ellipsis]
            key = kept[0] if len(kept) == 1 else key if kept else slice(None)
        if out.ndim != 1 or isinstance(key, tuple):
            return out
        if isinstance(key, slice):
            return self._part(out.contiguous(), key.step is None or key.step > 0)
        return self._part(out, getattr(key, "dtype", None) == dtypes.bool)

    def narrow(self, dim: int, start: int, length: int) -> Any:
        """The entries from start on."""
        return self[start : start + length]

    def sort(self, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
        """(the indices in order, the order)."""
        kind: Any = self._kind
        if self._is_sorted and not descending:
            return self, kind(np.arange(self.numel(), dtype=np.int64))
        a = self.numpy()
        order = np.argsort(-a if descending else a, kind="stable")
        out = self._part(self._own(a[order]), False)
        out._is_sorted = not descending
        return out, kind(order)

    def cat(self, *others: Any, dim: int = 0) -> Any:
        """Indices one after another."""
        out = self._data.cat(*[o._data if isinstance(o, Known) else o for o in others], dim=dim)
        parts = (self, *others)
        if not all(isinstance(p, Index) for p in parts):
            return out
        made, sizes = type(self)(out), [p._dim_size for p in parts]
        made._dim_size = None if None in sizes else max(sizes)
        made._cat_metadata = IndexCat([int(p.numel()) for p in parts], sizes, [p._is_sorted for p in parts])
        return made

    def _shifted(self, made: Any, by: list[int]) -> None:
        made._dim_size, made._is_sorted = _sum(self._dim_size, by[0]), self._is_sorted

    def _both(self, made: Any, other: Any, factor: int) -> None:
        if factor > 0:
            size = other._dim_size
            made._dim_size = _sum(self._dim_size, None if size is None else size * factor)

    def __repr__(self) -> str:
        known = [] if self._dim_size is None else [f"dim_size={self._dim_size}"]
        return _text(self, known + ["is_sorted=True"] * self._is_sorted)


def _text(x: Any, known: list[str]) -> str:
    head = f"{type(x).__name__}("
    values = np.array2string(x.numpy(), separator=", ", prefix=head)
    if x.dtype != dtypes.int64:
        known.append(f"dtype={x.dtype}")
    return f"{head}{', '.join([values, *known])})"


def _resized(ptr: Any, size: int | None) -> Any:
    if ptr is None or size is None:
        return None
    a = ptr.numpy()
    a = a[: size + 1] if a.size > size else np.concatenate([a, np.full(size + 1 - a.size, a[-1], a.dtype)])
    return type(ptr)(np.ascontiguousarray(a))


class EdgeCat(NamedTuple):
    """What the parts of edges one after another knew."""

    nnz: list[int]
    sparse_size: list[tuple[int | None, int | None]]
    sort_order: list[str | None]
    is_undirected: list[bool]


class SortReturnType(NamedTuple):
    values: Any
    indices: Tensor | None


class EdgeIndex(Known):
    """Edges [2, E] with the sizes of their matrix, sparse_size=(rows, columns), their order (sort_order 'row' or 'col'), and whether all
    opposites are there (is_undirected). Anything that takes an edge_index takes it.

    >>> from polygrad.geometric import EdgeIndex
    >>> edges = EdgeIndex([[0, 1, 1, 2], [1, 0, 2, 1]], sparse_size=(3, 3), sort_order="row", is_undirected=True)
    >>> (rowptr, col), _ = edges.get_csr()
    >>> rowptr.tolist(), col.tolist(), edges.sort_by("col").values.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [[1, 0, 2, 1], [0, 1, 1, 2]])
    """

    _kind = Tensor
    _index: type = Index  # what a row of edges is
    _KNOWN = ("_sparse_size", "_sort_order", "_is_undirected")
    _CACHES = ("_indptr", "_T_perm", "_T_index", "_T_indptr")
    _T_perm: Tensor | None = None
    _T_index: tuple[Tensor | None, Tensor | None] = (None, None)
    _T_indptr: Tensor | None = None
    _cat_metadata: EdgeCat | None = None

    def __init__(
        self, data: Any, *args: Any, sparse_size: tuple[int | None, int | None] | None = None, sort_order: str | None = None,
        is_undirected: bool = False, **kwargs: Any,
    ):  # fmt: skip
        if isinstance(data, SparseTensor):
            data, sparse_size, sort_order, self._indptr = self._of_matrix(data, sparse_size)
        self._start(data, args, kwargs)
        self._whole(2)
        if isinstance(data, EdgeIndex):
            same = sparse_size is None or tuple(sparse_size) == data._sparse_size
            for name in self._CACHES if same else ():
                setattr(self, name, getattr(data, name))
            sparse_size, sort_order = sparse_size or data._sparse_size, sort_order or data._sort_order
            is_undirected = is_undirected or data._is_undirected
        order = getattr(sort_order, "value", sort_order)
        if order not in (None, "row", "col"):
            raise ValueError(f"sort_order must be 'row', 'col' or None, not {sort_order!r}")
        self._sort_order, self._is_undirected = order, is_undirected
        self._sparse_size: tuple[int | None, int | None] = self._symmetric(*(sparse_size or (None, None)))

    def _of_matrix(self, data: Any, size: Any) -> tuple[Any, Any, str, Any]:
        """The edges of a sparse matrix: by column if its layout is that of compressed columns, else by row."""
        size, by_column = tuple(size or data.sparse_sizes()), str(getattr(data, "layout", "")).endswith("csc")
        ptr, other, _ = data.csc() if by_column else data.csr()
        row, col, _ = data.coo()
        pairs = np.stack([row.numpy(), col.numpy()])
        if by_column:
            pairs = np.stack([other.numpy(), np.repeat(np.arange(ptr.numel() - 1), np.diff(ptr.numpy()))])
        compressed = str(getattr(data, "layout", "")).endswith(("csc", "csr"))
        return pairs, size, "col" if by_column else "row", ptr if compressed else None

    def _symmetric(self, rows: int | None, cols: int | None) -> tuple[int | None, int | None]:
        if not self._is_undirected:
            return rows, cols
        if rows is not None and cols is not None and rows != cols:
            raise ValueError(f"undirected edges received a non-symmetric size: {rows} rows and {cols} columns")
        return rows if rows is not None else cols, cols if cols is not None else rows

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
        wanted = (0, 1) if dim is None or self._is_undirected else (dim % 2,)
        if any(self._sparse_size[d] is None for d in wanted):
            a = self.numpy()
            top = [int(v.max()) + 1 if v.size else 0 for v in a]
            top = [max(top)] * 2 if self._is_undirected else top
            rows, cols = (t if s is None and d in wanted else s for d, (t, s) in enumerate(zip(top, self._sparse_size)))
            self._sparse_size = (rows, cols)
        return self._sparse_size if dim is None else self._sparse_size[dim]

    def get_num_rows(self) -> int:
        return self.get_sparse_size(0)

    def get_num_cols(self) -> int:
        return self.get_sparse_size(1)

    def sparse_resize_(self, num_rows: int | None, num_cols: int | None) -> EdgeIndex:
        """Other numbers of rows and columns; pointers grow and shrink with them."""
        size = self._symmetric(num_rows, num_cols)
        mine = 1 if self._sort_order == "col" else 0
        self._indptr, self._T_indptr = _resized(self._indptr, size[mine]), _resized(self._T_indptr, size[1 - mine])
        self._sparse_size = size
        return self

    def validate(self) -> EdgeIndex:
        """Raises if what is said of the edges does not hold."""
        a, name = self.numpy(), type(self).__name__
        if a.size and a.min() < 0:
            raise ValueError(f"{name} contains negative indices, the least is {int(a.min())}")
        for side, n, v in zip(("rows", "columns"), self._sparse_size, a):
            if v.size and n is not None and v.max() >= n:
                raise ValueError(f"{name} contains larger indices than its number of {side}: {int(v.max())} for {n}")
        if self._sort_order and (np.diff(a[0 if self._sort_order == "row" else 1]) < 0).any():
            raise ValueError(f"{name} is not sorted by {'row' if self._sort_order == 'row' else 'column'} indices, although it is said to be")
        if self._is_undirected:
            first, second = (np.lexsort((v[1], v[0])) for v in (a, a[::-1]))
            if not np.array_equal(a[:, first], a[::-1][:, second]):
                raise ValueError(f"'{name}' is not undirected: the opposites of some edges are missing")
        return self

    # ---- orders ----

    def _transposed(self) -> tuple[Tensor, Tensor, Tensor]:
        """Rows and columns in the other order than the edges have, and the order; kept."""
        if self._T_perm is None:
            a = self.numpy()
            by = 1 if self._sort_order == "row" else 0
            order = np.argsort(a[by], kind="stable")
            self._T_perm = self._own(order)
            self._T_index = (self._own(a[0][order]), self._own(a[1][order]))
        elif self._T_index[0] is None:
            a, order = self.numpy(), self._T_perm.numpy()
            self._T_index = (self._own(a[0][order]), self._own(a[1][order]))
        return self._T_index[0], self._T_index[1], self._T_perm  # type: ignore[return-value]

    def _compressed(self, by: int) -> tuple[tuple[Tensor, Tensor], Tensor | None]:
        if self._sort_order is None:
            return self.sort_by(("row", "col")[by]).values._compressed(by)[0], self.sort_by(("row", "col")[by]).indices
        if self._sort_order == ("row", "col")[by]:
            return (self.get_indptr(), self._data[1 - by]), None
        row, col, order = self._transposed()
        if self._T_indptr is None:
            if self._is_undirected and self._indptr is not None:
                return (self._indptr, (col, row)[by]), order
            self._T_indptr = self._own(_pointers((row, col)[by].numpy(), self.get_sparse_size(by)))
        return (self._T_indptr, (col, row)[by]), order

    def get_csr(self) -> tuple[tuple[Tensor, Tensor], Tensor | None]:
        """((rowptr, col), perm): the edges row by row; perm is None where they lie so."""
        return self._compressed(0)

    def get_csc(self) -> tuple[tuple[Tensor, Tensor], Tensor | None]:
        """((colptr, row), perm): the edges column by column."""
        return self._compressed(1)

    def get_indptr(self) -> Tensor:
        """Pointers of the order that the edges have."""
        if self._sort_order is None:
            raise ValueError("EdgeIndex is not sorted, and only sorted edges have pointers: see sort_by")
        if self._indptr is None and self._is_undirected and self._T_indptr is not None:
            return self._T_indptr
        if self._indptr is None:
            by = 0 if self._sort_order == "row" else 1
            self._indptr = self._own(_pointers(self.numpy()[by], self.get_sparse_size(by)))
        return self._indptr

    def fill_cache_(self, no_transpose: bool = False) -> EdgeIndex:
        """Sizes, pointers and, unless no_transpose, the edges in the other order are found now."""
        self.get_sparse_size()
        if self._sort_order is not None:
            self.get_indptr()
            if not no_transpose:
                self._compressed(1 if self._sort_order == "row" else 0)
        return self

    def sort_by(self, sort_order: str, stable: bool = False) -> SortReturnType:
        """(edges by 'row' or 'col', the order): the order is None where they lie so."""
        name = getattr(sort_order, "value", sort_order)
        if name not in ("row", "col"):
            raise ValueError(f"sort_order must be 'row' or 'col', not {sort_order!r}")
        if name == self._sort_order:
            return SortReturnType(self, None)
        if self._sort_order is not None:
            row, col, order = self._transposed()
            made = type(self)(self._own(np.stack([row.numpy(), col.numpy()])))
            made._indptr, made._T_indptr = self._T_indptr, self._indptr
        else:
            a = self.numpy()
            by = np.argsort(a[0 if name == "row" else 1], kind="stable")
            made, order = type(self)(self._own(a[:, by])), self._own(by).cast(dtypes.int64)
        made._sparse_size, made._sort_order, made._is_undirected = self._sparse_size, name, self._is_undirected
        return SortReturnType(made, order)

    # ---- parts ----

    def _part(self, tensor: Any, ordered: bool) -> Any:
        out = type(self)(tensor)
        out._sparse_size, out._sort_order = self._sparse_size, self._sort_order if ordered else None
        return out

    def flip(self, *args: Any) -> Any:
        """flip(0) turns the edges around; flip(1) gives them in reverse order."""
        dims = [int(d) % 2 for d in (args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args)]
        made = type(self)(self._data.flip(*dims).contiguous())
        made._is_undirected = self._is_undirected
        made._sparse_size = (self._sparse_size[1], self._sparse_size[0]) if 0 in dims else self._sparse_size
        if dims == [0]:
            made._sort_order = {"row": "col", "col": "row", None: None}[self._sort_order]
            made._indptr, made._T_indptr = self._T_indptr, self._indptr
            if self._sort_order is not None:  # the order is the other one now, and so are the pointers
                made._indptr, made._T_indptr = self._indptr, self._T_indptr if self._T_indptr is not None or not self._is_undirected else self._indptr
            made._T_perm, made._T_index = self._T_perm, (self._T_index[1], self._T_index[0])
        return made

    def index_select(self, dim: int, index: Any) -> Any:
        """The edges of a vector of places (dim 1), or rows."""
        out = self._data.index_select(dim, index)
        return self._part(out, False) if dim % 2 == 1 else out

    def narrow(self, dim: int, start: int, length: int) -> Any:
        """The edges from start on (dim 1), or rows."""
        return self[:, start : start + length] if dim % 2 == 1 else self._data[start : start + length]

    def select(self, dim: int, index: int) -> Any:
        """The rows or the columns (dim 0), or one edge."""
        return self[index] if dim % 2 == 0 else self._data[:, index]

    def __getitem__(self, key: Any) -> Any:
        out = self._data[key]
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return self._side(out, int(key) % 2)
        if not isinstance(key, tuple) or len(key) != 2 or out.ndim != 2 or out.shape[0] != 2:
            return out
        first, second = key
        if not (first is Ellipsis or (isinstance(first, slice) and first == slice(None))):
            return out
        if isinstance(second, slice):
            return self._part(out.contiguous(), second.step is None or second.step > 0)
        return self._part(out, getattr(second, "dtype", None) == dtypes.bool)

    def _side(self, out: Any, dim: int) -> Any:
        made: Any = self._index(out)
        made._dim_size, made._is_sorted = self._sparse_size[dim], self._sort_order == ("row", "col")[dim]
        made._indptr = self._indptr if made._is_sorted else None
        return made

    def __iter__(self) -> Any:
        return iter((self[0], self[1]))

    def unbind(self, dim: int = 0) -> Any:
        """Rows and columns."""
        return (self[0], self[1]) if dim % 2 == 0 else self._data.unbind(dim)  # type: ignore[attr-defined]

    def cat(self, *others: Any, dim: int = 0) -> Any:
        """Edges one after another (dim 1)."""
        out = self._data.cat(*[o._data if isinstance(o, Known) else o for o in others], dim=dim)
        parts = (self, *others)
        if dim % 2 != 1 or not all(isinstance(p, EdgeIndex) for p in parts):
            return out
        made = type(self)(out)
        rows, cols = ([p._sparse_size[d] for p in parts] for d in (0, 1))
        made._sparse_size = (None if None in rows else max(rows), None if None in cols else max(cols))  # type: ignore[type-var]
        made._is_undirected = all(p._is_undirected for p in parts)
        made._cat_metadata = EdgeCat(
            [int(p.shape[1]) for p in parts], [p._sparse_size for p in parts], [p._sort_order for p in parts], [p._is_undirected for p in parts]
        )
        return made

    def _shifted(self, made: Any, by: list[int]) -> None:
        first, second = by if len(by) == 2 else by * 2
        made._sparse_size = (_sum(self._sparse_size[0], first), _sum(self._sparse_size[1], second))
        made._sort_order, made._T_perm = self._sort_order, self._T_perm
        made._is_undirected = self._is_undirected and first == second

    def _both(self, made: Any, other: Any, factor: int) -> None:
        if factor > 0:
            rows, cols = (_sum(a, None if b is None else b * factor) for a, b in zip(self._sparse_size, other._sparse_size))
            made._sparse_size = (rows, cols)

    # ---- matrices ----

    def to_sparse_tensor(self, value: Tensor | None = None) -> SparseTensor:
        """The matrix with a row for each source."""
        return SparseTensor.from_edge_index(self._data, value, self.get_sparse_size(), is_sorted=False)

    def to_dense(self, value: Tensor | None = None, fill_value: float = 0.0, dtype: Any = None) -> Tensor:
        """The matrix with its zeros, or fill_value for them."""
        out = self.to_sparse_tensor(value).to_dense(dtype)
        if fill_value == 0:
            return out
        there = EdgeIndex(self._data, sparse_size=self.get_sparse_size()).to_sparse_tensor().to_dense() > 0
        return there.reshape(*there.shape, *[1] * (out.ndim - 2)).where(out, fill_value)

    def matmul(  # type: ignore[override]
        self, other: Any, input_value: Tensor | None = None, other_value: Tensor | None = None, reduce: str = "sum", transpose: bool = False
    ) -> Any:
        """The product of the matrix (transposed if asked for) with a dense matrix, or with that of other edges."""
        if reduce not in get_args(ReduceType):
            raise ValueError(f"reduce={reduce!r} is not a valid reduction: use one of {', '.join(get_args(ReduceType))}")
        mine = self.to_sparse_tensor(input_value)
        mine = mine.t() if transpose else mine
        if not isinstance(other, EdgeIndex):
            if other_value is not None:
                raise ValueError("'other_value' not supported for a dense matrix: it is the values of sparse ones")
            return mine.matmul(Tensor(other) if not isinstance(other, Tensor) else other, _REDUCE.get(reduce, reduce))
        if _REDUCE.get(reduce, reduce) != "sum":
            raise NotImplementedError(f"reduce={reduce!r} is not yet supported for the product of two sparse matrices")
        mine = mine if mine.has_value() else mine.fill_value(1.0)  # so that ways of two steps are counted
        product = mine.matmul(other.to_sparse_tensor(other_value))
        row, col, value = product.coo()
        made = type(self)(self._own(np.stack([row.numpy(), col.numpy()])), sparse_size=product.sparse_sizes(), sort_order="row")
        made.get_indptr()
        return made, value

    __matmul__ = matmul

    def mm(self, other: Any) -> Any:
        """The product with a dense matrix."""
        return self.matmul(other)

    def sparse_narrow(self, dim: int, start: int, length: int) -> EdgeIndex:
        """The edges of some rows (dim 0) or columns (1), numbered from 0, in their order."""
        if dim not in (-2, -1, 0, 1) or start < 0:
            what = "dimension to be 0 or 1" if dim not in (0, 1, -1, -2) else "'start' value to be positive"
            raise ValueError(f"Expected {what}: rows (dim 0) or columns (dim 1) from 0 on, not dim {dim} from {start} on")
        dim %= 2
        order = ("row", "col")[dim]
        if self._sort_order not in (None, order):
            there = self.sort_by(order)[0]
            there._sparse_size = self.get_sparse_size()
            return there.sparse_narrow(dim, start, length)
        a = self.numpy()
        part = a[:, (a[dim] >= start) & (a[dim] < start + length)].copy()
        part[dim] -= start
        sizes = list(self._sparse_size)
        sizes[dim] = length
        made = type(self)(self._own(part), sparse_size=(sizes[0], sizes[1]), sort_order=self._sort_order)
        if length and self._sort_order == order:
            made.get_indptr()
        return made

    def to_vector(self) -> Tensor:
        """One number for each edge: row * columns + column."""
        a = self.numpy()
        return self._own(a[0].astype(np.int64) * self.get_num_cols() + a[1])

    def __repr__(self) -> str:
        rows, cols = self._sparse_size
        size = [] if rows is None and cols is None else [f"sparse_size=({'?' if rows is None else rows}, {'?' if cols is None else cols})"]
        known = [*size, f"nnz={int(self.shape[1])}"]
        if self._sort_order is not None:
            known.append(f"sort_order={self._sort_order}")
        return _text(self, known + ["is_undirected=True"] * self._is_undirected)


def _scatter_spmm(input: EdgeIndex, other: Tensor, value: Tensor | None = None, reduce: str = "sum", transpose: bool = False) -> Tensor:  # noqa: A002
    """The product with a dense matrix by sending its rows along the edges."""
    from .utils import scatter

    at, to = (0, 1) if transpose else (1, 0)
    sent = other[input._data[at]]
    if value is not None:
        sent = sent * value.reshape(-1, 1)
    return scatter(sent, input._data[to], 0, input.get_sparse_size(to), _REDUCE.get(reduce, reduce))


__all__ = ["index2ptr", "ptr2index", "EdgeIndex", "Index", "SortReturnType"]
