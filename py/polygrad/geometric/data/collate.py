"""Many graphs as one: the attributes of a list of graphs, joined into one array each, with the places where each graph begins.

A Pile is made once from a list (or for a dataset when it is read). Any choice of its graphs is then a few gathers (`take`), without a Python
loop over graphs, in any thread: nothing here makes tensors but `batch` and `get`. Attributes that lie on a device with memory of its own stay there
(_there.py): a pile with such ones (`on_device`) makes tensors, in the thread that they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...autograd import current, making
from ...tensor import Tensor
from .._moved import array, like, plain
from ..edge_index import EdgeIndex, Index, Known
from ..sparse_tensor import SparseTensor
from ._sizes import size, sized
from ._there import KnownRuns, Runs, there
from ._there import join as joined_there
from ._values import kind_in, to_array
from .storage import NodeStorage


def pointers(sizes: Any) -> np.ndarray:
    """0, and the sums of the first 1, 2 ... sizes."""
    out = np.zeros(len(sizes) + 1, np.int64)
    np.asarray(sizes, np.int64).cumsum(out=out[1:])
    return out


def gather(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Positions of the runs starts[k], starts[k] + 1 ... of sizes[k] entries, one after the other."""
    ends = sizes.cumsum()
    out = np.arange(ends[-1] if ends.size else 0)
    out += np.repeat(starts - (ends - sizes), sizes)
    return out


class Column:
    """An attribute of many graphs.

    values: an array or tensor joined along the axis `dim`, a list with an entry a graph, or a list or dict of columns. ptr: where each
    graph begins along that axis. incs: by how much each graph raises the values of the next ones, or None. new: the axis was added.
    """

    __slots__ = ("values", "ptr", "dim", "incs", "new", "runs", "_raised")

    def __init__(self, values: Any, ptr: np.ndarray | None = None, dim: int = 0, incs: np.ndarray | None = None, new: bool = False):
        self.values, self.ptr, self.dim, self.incs, self.new = values, ptr, dim, incs, new
        self.runs: Runs | None = None  # of values on a device: those of the graphs
        self._raised: Any = None

    def take(self, index: np.ndarray, known: KnownRuns) -> Column:
        values, ptr = self.values, self.ptr
        if ptr is None:
            if isinstance(values, dict):
                return Column({k: c.take(index, known) for k, c in values.items()})
            if values and isinstance(values[0], Column):
                return Column([c.take(index, known) for c in values])
            return Column([values[k] for k in index])
        incs = None if self.incs is None else self.incs[index]
        if there(values):
            runs = known(ptr)
            taken = Column(runs.take(values, self.dim), pointers(runs.size), self.dim, incs, self.new)
            taken.runs = runs
            return taken
        if isinstance(values, Tensor):
            values = to_array(values)
        sizes = ptr[index + 1] - ptr[index]
        if ptr[-1] == ptr.size - 1 and (sizes == 1).all():
            rows = index
        else:
            rows = gather(ptr[index], sizes)
        return Column(values.take(rows, axis=self.dim), pointers(sizes), self.dim, incs, self.new)

    def raised(self) -> Any:
        """The joined values, indices raised by what comes before them."""
        if self._raised is None:
            self._raised = self._raise()
        return self._raised

    def _raise(self) -> Any:
        if self.incs is None or self.ptr is None:
            return self.values
        before = np.cumsum(self.incs, axis=0) - self.incs  # of the graphs before each one
        sizes = self.ptr[1:] - self.ptr[:-1]
        if self.on_device():
            return self._raised_there(before, sizes)
        if before.ndim == 1:
            shift = np.repeat(before, sizes)
            shape = [1] * self.values.ndim
            shape[self.dim] = -1
            shift = shift.reshape(shape)
        else:  # an increment for every entry of the other axes, as [2, 1] for pairs
            shift = np.repeat(np.moveaxis(before, 0, self.dim if self.dim >= 0 else -1).reshape(_beside(before, self)), sizes, axis=self.dim)
        if isinstance(self.values, Tensor):
            return self.values + Tensor(np.ascontiguousarray(shift)).cast(self.values.dtype)
        return self.values + shift.astype(self.values.dtype, copy=False)

    def on_device(self) -> bool:
        """Do the values lie on a device, or are they computed there?"""
        return self.runs is not None or (isinstance(self.values, Tensor) and there(self.values))

    def _raised_there(self, before: np.ndarray, sizes: np.ndarray) -> Any:
        runs = self.runs or Runs(None, sizes)
        shape = [-1 if k == self.dim else 1 for k in range(self.values.ndim)] if before.ndim == 1 else _beside(before, self)
        shift = (before if before.ndim == 1 else np.moveaxis(before, 0, self.dim)).reshape(shape)
        return self.values + runs.spread(shift.astype(self.values.dtype.np), self.dim) if runs.total else self.values

    def on_host(self) -> Column:
        """With arrays of the host in place of those on a device."""
        values = self.values
        if self.ptr is not None:
            return Column(to_array(values), self.ptr, self.dim, self.incs, self.new) if there(values) else self
        if isinstance(values, dict):
            return Column({k: c.on_host() for k, c in values.items()})
        nested = isinstance(values, list) and values and isinstance(values[0], Column)
        return Column([c.on_host() for c in values]) if nested else self

    def leaves(self) -> list[Column]:
        """The columns of arrays in it."""
        parts = self.values.values() if isinstance(self.values, dict) else self.values if isinstance(self.values, list) else ()
        return [self] if self.ptr is not None else [leaf for c in parts if isinstance(c, Column) for leaf in c.leaves()]

    def befores(self) -> Any:
        """What to take away from each graph's values again: nested as the values are."""
        if self.ptr is None:
            if isinstance(self.values, dict):
                return {k: c.befores() for k, c in self.values.items()}
            return [c.befores() for c in self.values] if self.values and isinstance(self.values[0], Column) else None
        return None if self.incs is None else np.cumsum(self.incs, axis=0) - self.incs

    def slices(self, increment: bool = True) -> Any:
        """Where each graph begins: nested as the values are. increment: of the raised values."""
        if self.ptr is None:
            if isinstance(self.values, dict):
                return {k: c.slices(increment) for k, c in self.values.items()}
            nested = self.values and isinstance(self.values[0], Column)
            return [c.slices(increment) for c in self.values] if nested else np.arange(len(self.values) + 1)
        return self.ptr


class Matrices(Column):
    """A sparse matrix of many graphs: the joined one has them as blocks on its diagonal (dims (0, 1)) or one below the other (0)."""

    __slots__ = ("dims",)

    def __init__(self, values: list[SparseTensor], dims: tuple[int, ...]):
        super().__init__(values)
        self.dims = dims

    def take(self, index: np.ndarray, known: KnownRuns) -> Column:
        return Matrices([self.values[k] for k in index], self.dims)

    def slices(self, increment: bool = True) -> Any:
        """Where the rows and the columns of each matrix begin, [n + 1, 2]; those of the list where they are not joined."""
        if not increment:
            return np.arange(len(self.values) + 1)
        return np.concatenate([np.zeros((1, 2), np.int64), np.cumsum([m.sparse_sizes() for m in self.values], axis=0)])

    def _raise(self) -> Any:
        return joined_matrices(self.values, self.dims)


class Indices(Column):
    """EdgeIndex or Index of many graphs: the joined one knows what its parts know, and of what they were made."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Any], dim: int, incs: np.ndarray | None):
        super().__init__(parts, None, dim, incs)
        self.parts = pointers([int(v.shape[dim]) for v in parts])

    def take(self, index: np.ndarray, known: KnownRuns) -> Column:
        return Indices([self.values[k] for k in index], self.dim, None if self.incs is None else self.incs[index])

    def slices(self, increment: bool = True) -> Any:
        return self.parts

    def befores(self) -> Any:
        return None if self.incs is None else np.cumsum(self.incs, axis=0) - self.incs

    def joined(self) -> Any:
        """The parts one after the other, as they are."""
        return self.values[0].cat(*self.values[1:], dim=self.dim)

    def _raise(self) -> Any:
        before = self.befores()
        parts = self.values if before is None else [v + _added(v, b) for v, b in zip(self.values, before)]
        out = parts[0].cat(*parts[1:], dim=self.dim)
        first = parts[0]
        if isinstance(first, EdgeIndex) and first.is_sorted and _ascending(out[0 if first.is_sorted_by_row else 1]):
            out._sort_order = first.sort_order
        elif isinstance(first, Index) and first.is_sorted and _ascending(out):
            out._is_sorted = True
        return out


def _added(index: Known, by: Any) -> Any:
    """What is added to the indices of a graph: a number, or a tensor of their own class."""
    return int(by) if np.ndim(by) == 0 else index._own(np.asarray(by))


def _ascending(values: Tensor) -> bool:
    return bool((np.diff(to_array(values)) >= 0).all())


def joined_matrices(values: list[SparseTensor], dims: tuple[int, ...]) -> SparseTensor:
    """Sparse matrices as blocks of one, along one or both axes; the values of entries are joined."""
    sizes = np.array([m.sparse_sizes() for m in values])
    before = np.cumsum(sizes, axis=0) - sizes
    total = [int(sizes[:, d].sum()) if d in dims else int(sizes[:, d].max()) for d in (0, 1)]
    row = np.concatenate([m._row + (b[0] if 0 in dims else 0) for m, b in zip(values, before)])
    col = np.concatenate([m._col + (b[1] if 1 in dims else 0) for m, b in zip(values, before)])
    entries = [m._value for m in values if m._value is not None]
    value = Tensor.cat(*entries, dim=0) if len(entries) == len(values) else None
    return values[0]._made(row=row, col=col, value=value, sparse_sizes=(total[0], total[1]))


def cut_matrix(matrix: SparseTensor, start: np.ndarray, stop: np.ndarray, dims: tuple[int, ...]) -> SparseTensor:
    """The block of a joined matrix between two places [row, column]."""
    a, b = np.searchsorted(matrix._row, [start[0], stop[0]])
    value = None if matrix._value is None else matrix._value[int(a) : int(b)]
    shift = int(start[1]) if 1 in dims else 0
    sizes = (int(stop[0] - start[0]), int(stop[1] - start[1]))
    return matrix._made(row=matrix._row[a:b] - start[0], col=matrix._col[a:b] - shift, value=value, sparse_sizes=sizes, is_sorted=True)


def _beside(before: np.ndarray, column: Column) -> tuple[int, ...]:
    """[n, 2, 1] increments of values [2, E] joined along the last axis become [2, n]."""
    shape = [1] * column.values.ndim
    for axis, s in enumerate(before.shape[1:]):
        shape[axis] = s
    shape[column.dim] = before.shape[0]
    return tuple(shape)


def column(key: str, values: list[Any], graphs: list[Any], stores: list[Any], increment: bool) -> Column:
    """One attribute of all graphs, joined as the class of the graphs says."""
    first = values[0]
    if isinstance(first, SparseTensor):
        return Matrices(values, both_axes(graphs[0].__cat_dim__(key, first, stores[0])))
    if isinstance(first, (Tensor, np.ndarray)):
        if any(type(v) is not type(first) for v in values):
            raise TypeError(f"{key!r} is a {type(first).__name__} in the first graph and something else in others")
        if isinstance(first, Known):
            along = graphs[0].__cat_dim__(key, first, stores[0])
            if along is not None and along % first.ndim == first.ndim - 1:
                return Indices(values, first.ndim - 1, _increments(key, values, graphs, stores) if increment else None)
        return _joined(key, values, graphs, stores, increment)
    if isinstance(first, (bool, int, float)) and all(isinstance(v, (bool, int, float)) for v in values):
        array = np.array(values)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        incs = _increments(key, values, graphs, stores) if increment else None
        return Column(array, np.arange(len(values) + 1), 0, incs)
    if isinstance(first, Mapping):
        for v in values:
            if set(v) != set(first):
                raise KeyError(f"{key!r} has the entries {sorted(map(str, first))} in one graph and {sorted(map(str, v))} in another")
        return Column({k: column(str(k), [v[k] for v in values], graphs, stores, increment) for k in first})
    if isinstance(first, Sequence) and not isinstance(first, str) and first and isinstance(first[0], (Tensor, SparseTensor)):
        if all(len(v) == len(first) for v in values):
            return Column([column(key, [v[k] for v in values], graphs, stores, increment) for k in range(len(first))])
    return Column(list(values))


def both_axes(dim: Any) -> tuple[int, ...]:
    return tuple(dim) if isinstance(dim, (tuple, list)) else (int(dim or 0),)


def _joined(key: str, values: list[Any], graphs: list[Any], stores: list[Any], increment: bool) -> Column:
    first = values[0]
    dim = graphs[0].__cat_dim__(key, first, stores[0])
    if isinstance(dim, (tuple, list)):
        raise NotImplementedError(f"{key!r} is to be joined along several axes {dim}")
    new = dim is None or first.ndim == 0
    axis = 0 if new else dim % first.ndim
    incs = _increments(key, values, graphs, stores) if increment else None
    if any(v.ndim != first.ndim for v in values):
        raise ValueError(f"{key!r} has {first.ndim} axes in the first graph and {next(v.ndim for v in values if v.ndim != first.ndim)} in another")
    sizes = [1] * len(values) if new else [int(v.shape[axis]) for v in values]
    joined: Any
    others = [tuple(int(s) for k, s in enumerate(v.shape) if new or k != axis) for v in values]
    if len(set(others)) > 1:
        a, b = list(dict.fromkeys(others))[:2]
        raise ValueError(
            f"{key!r} cannot be joined along axis {axis}: apart from it the graphs have the sizes {list(a)} and {list(b)}."
            " Say in the class along which axis it is joined (joins, or __cat_dim__)"
        )
    if isinstance(first, Tensor) and all(plain(v) for v in values) and any(there(v) for v in values):
        joined = joined_there([v.unsqueeze(0) for v in values] if new else values, axis)
    elif isinstance(first, Tensor) and not all(plain(v) for v in values):
        joined = Tensor.stack(*values) if new else Tensor.cat(*values, dim=axis)
    else:
        arrays = [to_array(v) for v in values]
        joined = np.stack(arrays) if new else np.concatenate(arrays, axis=axis)
    return Column(joined, pointers(sizes), axis, incs, dim is None)


def _increments(key: str, values: list[Any], graphs: list[Any], stores: list[Any]) -> np.ndarray | None:
    incs = [data.__inc__(key, value, store) for value, data, store in zip(values, graphs, stores)]
    array = np.array([to_array(i) if isinstance(i, Tensor) else i for i in incs])
    return array if array.any() else None


class Part:
    """The columns of one storage of all graphs."""

    __slots__ = ("key", "columns", "counts", "given")

    def __init__(self, key: Any, columns: dict[str, Column], counts: np.ndarray | None, given: bool):
        self.key, self.columns, self.counts, self.given = key, columns, counts, given  # counts: nodes of each graph, set as num_nodes if given

    def take(self, index: np.ndarray) -> Part:
        known = KnownRuns(index)
        columns = {k: c.take(index, known) for k, c in self.columns.items()}
        return Part(self.key, columns, None if self.counts is None else self.counts[index], self.given)


class Pile:
    """Many graphs of one class, joined."""

    __slots__ = ("cls", "count", "parts", "arrays", "kind")

    def __init__(self, cls: type, count: int, parts: list[Part], arrays: frozenset[Any] = frozenset(), kind: Any = None):
        self.kind = kind  # the class of the tensors; None: the one that is being made
        self.cls, self.count, self.parts, self.arrays = cls, count, parts, arrays  # arrays: (storage, attribute) that are arrays, not tensors

    @staticmethod
    def of(graphs: Sequence[Any], increment: bool = True, exclude: Sequence[str] | None = None) -> Pile:
        """Joins a list of graphs."""
        graphs = list(graphs)
        if not graphs:
            raise ValueError("a batch needs at least one graph")
        kinds = {type(g) for g in graphs}
        if len(kinds) > 1:
            raise TypeError(f"graphs of several classes cannot be joined: {', '.join(sorted(k.__name__ for k in kinds))}")
        by_key: dict[Any, list[Any]] = {}
        for g in graphs:
            for store in g.stores:
                by_key.setdefault(store._key, []).append(store)
        parts, arrays = [], set()
        for first in graphs[0].stores:
            stores = by_key[first._key]
            if len(stores) != len(graphs):
                raise ValueError(f"{first._key} is in {len(stores)} of {len(graphs)} graphs only")
            given = "num_nodes" in first
            columns = {}
            for key in first.keys():
                if key in (exclude or ()) or key in ("num_nodes", "ptr"):
                    continue
                missing = next((k for k, s in enumerate(stores) if key not in s), None)
                if missing is not None:
                    raise KeyError(f"graph {missing} has no attribute {key!r}, which the first one has")
                columns[key] = column(key, [s[key] for s in stores], graphs, stores, increment)
                if isinstance(first[key], np.ndarray):
                    arrays.add((first._key, key))
            counts = None
            if given or (isinstance(first, NodeStorage) and first.can_infer_num_nodes):
                counts = np.array([s.num_nodes or 0 for s in stores], np.int64)
            parts.append(Part(first._key, columns, counts, given))
        return Pile(type(graphs[0]), len(graphs), parts, frozenset(arrays), kind_in(*graphs))

    def take(self, index: np.ndarray) -> Pile:
        """The graphs at some positions, joined. Cost: one pass over their values."""
        return Pile(self.cls, len(index), [p.take(index) for p in self.parts], self.arrays, self.kind)

    def on_device(self) -> bool:
        """Do attributes lie on a device with memory of its own?"""
        for part in self.parts:
            for col in part.columns.values():
                if col.on_device() if col.ptr is not None else any(leaf.on_device() for leaf in col.leaves()):
                    return True
        return False

    def bytes_on_device(self) -> int:
        """Of the attributes that lie there."""
        leaves = [leaf.values for part in self.parts for col in part.columns.values() for leaf in col.leaves() if leaf.on_device()]
        return sum(v.numel() * v.dtype.itemsize for v in leaves)

    def on_host(self) -> Pile:
        """The same graphs with all attributes as arrays of the host."""
        parts = [Part(p.key, {k: c.on_host() for k, c in p.columns.items()}, p.counts, p.given) for p in self.parts]
        return Pile(self.cls, self.count, parts, self.arrays, self.kind)

    def raised(self) -> Pile:
        """The pile with its indices raised already: what a thread can do before a batch is made of it."""
        for part in self.parts:
            for col in part.columns.values():
                col.raised()
        return self

    def get(self, k: int) -> Any:
        """One graph, as an object of its own."""
        with making(self.kind or current().made):
            return self._get(k)

    def _get(self, k: int) -> Any:
        out = self.cls()
        for part in self.parts:
            store = store_of(out, part.key)
            for key, col in part.columns.items():
                store[key] = _one(col, k, (part.key, key) not in self.arrays)
            if part.given and part.counts is not None:
                store["num_nodes"] = int(part.counts[k])
        return out

    def batch(
        self,
        cls: type,
        follow: Sequence[str] = (),
        exclude: Sequence[str] = (),
        add_batch: bool = True,
        symbolic: bool = False,
        increment: bool = True,
    ) -> tuple[Any, dict[Any, Any], dict[Any, Any]]:
        """One object of class `cls` with all graphs, and the slices and increments by which they are taken apart again.

        Here, and only here, the tensors of a batch and their sizes are made. symbolic: sizes are variables, one for each kind of rows
        (nodes, edges, graphs of a storage, or an attribute of its own length).
        """
        with making(self.kind or current().made):
            return self._batch(cls, follow, exclude, add_batch, symbolic, increment)

    def _batch(
        self, cls: type, follow: Sequence[str], exclude: Sequence[str], add_batch: bool, symbolic: bool, increment: bool
    ) -> tuple[Any, dict[Any, Any], dict[Any, Any]]:
        out = cls()
        slices: dict[Any, Any] = {}
        befores: dict[Any, Any] = {}
        graphs = size("graphs", self.count, min(self.count, 1)) if symbolic else self.count
        on_device = self.on_device()
        if on_device:
            self._compute_there(increment)
        for part in self.parts:
            store = store_of(out, part.key)
            rows = _Rows(part, self.count, graphs, symbolic, on_device)
            my_slices: dict[str, Any] = {}
            my_befores: dict[str, Any] = {}
            for key, col in part.columns.items():
                if key in exclude:
                    continue
                store[key] = rows.values(key, col, increment, (part.key, key) not in self.arrays)
                my_slices[key], my_befores[key] = col.slices(increment), col.befores() if increment else None
                if key in follow:
                    store[f"{key}_batch"], store[f"{key}_ptr"] = rows.batch_of(key, my_slices[key])
            if part.given and part.counts is not None:
                store._num_nodes = part.counts.tolist()
                store["num_nodes"] = rows.nodes()
            if part.counts is not None and add_batch:
                store["batch"], store["ptr"] = rows.batch_of("", pointers(part.counts))
            if part.key is None:
                slices.update(my_slices)
                befores.update(my_befores)
            else:
                slices[part.key], befores[part.key] = my_slices, my_befores
        return out, slices, befores

    def _compute_there(self, increment: bool) -> None:
        """The attributes that are computed on a device, all at once."""
        leaves = [leaf for part in self.parts for col in part.columns.values() for leaf in col.leaves() if leaf.on_device()]
        values = [leaf.raised() if increment else leaf.values for leaf in leaves]
        if values:
            Tensor.realize(*values)


class _Rows:
    """Sizes of the tensors of one storage of a batch, and the tensors."""

    def __init__(self, part: Part, count: int, graphs: Any, symbolic: bool, on_device: bool):
        self.part, self.count, self.graphs, self.symbolic, self.on_device = part, count, graphs, symbolic, on_device
        self.prefix = "" if part.key is None else "_".join(part.key) + "_" if isinstance(part.key, tuple) else f"{part.key}_"
        self.known: list[tuple[np.ndarray, Any]] = [(np.arange(count + 1), graphs)]
        if part.counts is not None:
            self.node_ptr = pointers(part.counts)
            self._nodes = self.variable("nodes", int(self.node_ptr[-1]))
            self.known.append((self.node_ptr, self._nodes))

    def variable(self, name: str, n: int) -> Any:
        return size(self.prefix + name, n) if self.symbolic else n

    def nodes(self) -> Any:
        return self._nodes

    def rows(self, key: str, ptr: np.ndarray) -> Any:
        """The size of an axis that is divided among the graphs as ptr says: that of the nodes or edges, if they are so divided."""
        if not self.symbolic:
            return int(ptr[-1])
        for other, found in self.known:
            if other[-1] == ptr[-1] and other.size == ptr.size and (other == ptr).all():  # the total tells most apart
                return found
        new = self.variable("edges" if key == "edge_index" else f"{key}_rows", int(ptr[-1]))
        self.known.append((ptr, new))
        return new

    def values(self, key: str, col: Column, increment: bool, tensors: bool) -> Any:
        if isinstance(col, Matrices):
            return col.raised() if increment else list(col.values)
        if isinstance(col, Indices):
            whole = col.raised() if increment else col.joined()
            return whole._with(sized(to_array(whole), col.dim, self.rows(key, col.parts))) if self.symbolic else whole
        if col.ptr is None:
            if isinstance(col.values, dict):
                return {k: self.values(str(k), c, increment, tensors) for k, c in col.values.items()}
            if col.values and isinstance(col.values[0], Column):
                return [self.values(key, c, increment, tensors) for c in col.values]
            return list(col.values)
        joined = col.raised() if increment else col.values
        if self.on_device and self.symbolic and isinstance(joined, Tensor) and col.on_device():
            shape = list(joined.shape)
            shape[col.dim] = self.rows(key, col.ptr)
            return joined.sized(shape)
        if isinstance(joined, Tensor) or not tensors:
            return joined
        return sized(joined, col.dim, self.rows(key, col.ptr))

    def batch_of(self, key: str, ptr: Any) -> tuple[Any, Any]:
        """For each row the graph that it belongs to, and where each graph begins."""
        if isinstance(ptr, dict):
            pairs = {k: self.batch_of(f"{key}_{k}", p) for k, p in ptr.items()}
            return {k: a for k, (a, _) in pairs.items()}, {k: b for k, (_, b) in pairs.items()}
        if isinstance(ptr, list):
            both = [self.batch_of(f"{key}_{k}", p) for k, p in enumerate(ptr)]
            return [a for a, _ in both], [b for _, b in both]
        lengths = ptr[1:] - ptr[:-1]
        batch = self._numbers(lengths, self.rows(key, ptr))
        bounds = sized(np.array(ptr), 0, self.graphs + 1)
        batch._count, batch._bounds = self.graphs, (bounds, int(lengths.max(initial=0)), batch._g.changes)
        return batch, bounds

    def _numbers(self, lengths: np.ndarray, rows: Any) -> Tensor:
        """For each row the graph that it belongs to: made where the attributes are."""
        if not self.on_device or not lengths.any():
            return sized(np.repeat(np.arange(self.count), lengths), 0, rows)
        leaves = [leaf for col in self.part.columns.values() for leaf in col.leaves()]
        runs = next((c.runs for c in leaves if c.runs is not None and np.array_equal(c.runs.size, lengths)), None) or Runs(None, lengths)
        number = runs.number.realize()
        return number.sized(rows) if self.symbolic else number


def store_of(data: Any, key: Any) -> Any:
    """The storage of a graph with that key; None is the one of the graph itself."""
    return data.stores[0] if key is None else data[key]


def _one(col: Column, k: int, tensors: bool) -> Any:
    values, ptr = col.values, col.ptr
    if ptr is None:
        if isinstance(values, dict):
            return {key: _one(c, k, tensors) for key, c in values.items()}
        if values and isinstance(values[0], Column):
            return [_one(c, k, tensors) for c in values]
        return values[k]
    return cut(values, int(ptr[k]), int(ptr[k + 1]), col.dim, col.new, None, tensors)


def cut(values: Any, start: int, stop: int, dim: int, new: bool, minus: Any = None, tensors: bool = True) -> Any:
    """values[start:stop] along an axis; without the axis if it is `new`, and less an increment."""
    at = (*[slice(None)] * dim, start if new else slice(start, stop))
    whole = values
    if isinstance(values, Tensor):
        if not plain(values) or there(values):
            return _less(values[at], minus)
        values = array(values)
    out = _less(np.array(values[at]), minus)
    return like(out, whole) if tensors else out


def _less(values: Any, minus: Any) -> Any:
    """values less an increment, in their own dtype."""
    if minus is None:
        return values
    if isinstance(values, Tensor):
        return values - Tensor(np.array(minus)).cast(values.dtype)
    return values - np.asarray(minus).astype(values.dtype)


def separate(data: Any, k: int, slices: Mapping[Any, Any], befores: Mapping[Any, Any], cls: type) -> Any:
    """Graph k of a batch, from the values that the batch has now."""
    out = cls()
    if hasattr(out, "stores_as"):
        out.stores_as(data)
    for store in data.stores:
        key = store._key
        table = slices if key is None else slices.get(key, {})
        minus = befores if key is None else befores.get(key, {})
        mine = store_of(out, key)
        for name in table:
            if name in store and (key is not None or not isinstance(name, tuple)):
                mine[name] = separate_value(name, store[name], k, table[name], minus.get(name), data, store)
        if "_num_nodes" in store.__dict__:
            mine["num_nodes"] = store._num_nodes[k]
    return out


def separate_value(key: str, values: Any, k: int, ptr: Any, minus: Any, data: Any, store: Any) -> Any:
    if isinstance(values, (EdgeIndex, Index)) and values._cat_metadata is not None:
        part = values.narrow(-1, int(ptr[k]), int(ptr[k + 1] - ptr[k]))
        for name in part._KNOWN:
            setattr(part, name, getattr(values._cat_metadata, name[1:])[k])
        return part if minus is None else part - _added(part, minus[k])
    if isinstance(values, (Tensor, np.ndarray)) and isinstance(ptr, np.ndarray):
        dim = data.__cat_dim__(key, values, store)
        axis = 0 if dim is None else dim % values.ndim
        return cut(values, int(ptr[k]), int(ptr[k + 1]), axis, dim is None, None if minus is None else minus[k], isinstance(values, Tensor))
    if isinstance(values, SparseTensor):
        return cut_matrix(values, ptr[k], ptr[k + 1], both_axes(data.__cat_dim__(key, values, store)))
    if isinstance(values, Mapping):
        return {n: separate_value(n, v, k, ptr[n], None if minus is None else minus[n], data, store) for n, v in values.items()}
    if isinstance(ptr, list):
        return [separate_value(key, v, k, p, None if minus is None else minus[i], data, store) for i, (v, p) in enumerate(zip(values, ptr))]
    return values[k]


__all__ = ["Column", "Indices", "Matrices", "Part", "Pile", "both_axes", "pointers", "separate", "separate_value", "store_of"]
