"""What the functions of this package share where a result's size depends on values: index arithmetic on numpy arrays.

Edge lists come in as tensors, arrays, nested lists or a Graph, and leave as tensors of the same dtype. A traced step can read those that do not
depend on its inputs; to read others is an error there. Values of edges and nodes are moved by ../_moved.py, lazily where they are not known.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from ..._core import C, current, handle_array, like, wrap
from ...dtypes import dtypes, to_dtype
from ...graphs import Graph
from ...tensor import Tensor
from .._moved import array, join, known, moved, rows, tensor

MISSING = "???"  # "no edge_attr was given", which is not the same as edge_attr=None: it changes what is returned


def library(name: str, purpose: str) -> Any:
    """A library that this one does not need otherwise."""
    try:
        return import_module(name)
    except ImportError as e:
        raise ImportError(f"{purpose} needs {name.partition('.')[0]}, which is not installed") from e


def traced(x: Any) -> bool:
    """Whether x is a tensor in a function that is being traced: its values belong to one run, and must not be read."""
    return isinstance(x, Tensor) and bool(x._g.tracing)


def _caller() -> str:
    """The public function that was called."""
    frame, name = sys._getframe(1), "this function"
    while frame is not None and frame.f_globals.get("__name__", "").startswith("polygrad.geometric"):
        if not frame.f_code.co_name.startswith("_"):
            name = frame.f_code.co_name
        frame = frame.f_back  # type: ignore[assignment]
    return name


def read(x: Any) -> np.ndarray:
    """The values of a tensor or of anything else that has some. In a traced step those that are the same in every run; others are an error."""
    if not isinstance(x, Tensor):
        return np.asarray(x)
    if not x._g.tracing:
        return seen(x) if known(x) else x.numpy()
    try:
        return x.numpy()
    except RuntimeError as e:
        raise RuntimeError(
            f"{_caller()} inside a compiled step: the size of its result depends on values of a tensor of shape {x.shape}, which are not known while"
            " the step is traced. Call it before the step and pass what it gives, or give the sizes (num_nodes, size, batch_size) where it takes them"
        ) from e


def seen(x: Tensor) -> np.ndarray:
    """The memory of a tensor whose values are known, for reading alone: what is made of it is a copy."""
    if x.dtype.np is None or not x.ndim:
        return x.numpy()
    a = array(x)
    a.flags.writeable = False
    return a


def compute(asked: Tensor, *used: Tensor) -> None:
    """Computes what is about to be read together with what it is made of and will be used again, which would else be computed a second time."""
    if not asked._g.tracing:
        asked.realize(*[t for t in used if not t.is_realized])


def vector(x: Any, what: str = "index") -> np.ndarray:
    """x as an array of whole numbers with one axis."""
    a = read(x)
    if a.size == 0 and a.dtype.kind == "f":
        a = a.astype(np.int64)
    if a.ndim == 0:
        a = a.reshape(1)
    if a.ndim != 1 or a.dtype.kind not in "iu":
        raise ValueError(f"Expected '{what}' to be an index, whole numbers with one axis, not {a.dtype} of shape {list(a.shape)}")
    return a


def edges(edge_index: Any) -> np.ndarray:
    """edge_index as an array [2, E]; of a sparse matrix the rows and columns of its entries."""
    if isinstance(edge_index, Graph):
        edge_index = edge_index.edge_index
    if hasattr(edge_index, "sparse_sizes"):
        edge_index = edge_index.coo()[:2]
    if isinstance(edge_index, (tuple, list)) and len(edge_index) == 2 and any(isinstance(x, Tensor) for x in edge_index):
        edge_index = np.stack([vector(x) for x in edge_index])
    a = read(edge_index)
    if a.ndim != 2 or a.shape[0] != 2:
        raise ValueError(f"edge_index must have the shape [2, E], not {list(a.shape)}")
    if a.dtype.kind not in "iu":
        if a.size:
            raise TypeError(f"edge_index must hold whole numbers, not {a.dtype}")
        a = a.astype(np.int64)
    return a


def check_range(e: np.ndarray, n: int) -> None:
    """An error unless all indices lie in [0, n): pairs of them are about to become single numbers."""
    if e.size and (int(e.max()) >= n or int(e.min()) < 0):
        bad = int(e.max()) if int(e.max()) >= n else int(e.min())
        raise IndexError(f"edge_index holds {bad}, which is not among {n} nodes")


def as_tensor(x: Any) -> Tensor:
    """x if it is a tensor, else a tensor of its values; plain whole numbers become int64."""
    if isinstance(x, Tensor):
        return x
    a = np.asarray(x)
    return tensor(a.astype(np.float32) if a.dtype == np.float64 and not isinstance(x, np.ndarray) else a)


def maybe_rows(values: Tensor | None, which: Any) -> Tensor | None:
    return None if values is None else rows(values, which)


def ones(n: Any, dtype: Any = None) -> Tensor:
    """Ones, without a kernel to make them."""
    d = dtypes.float32 if dtype is None else to_dtype(dtype)
    return Tensor(np.ones(n, d.np)) if d.np is not None and n.__class__ is int else Tensor.ones(n, dtype=d)


def generator() -> np.random.Generator:
    """numpy's generator, seeded from the library's: what it gives depends on Tensor.manual_seed and on nothing else."""
    return np.random.default_rng(current().draw_seed())


def top(a: np.ndarray) -> int:
    """One more than the largest of whole numbers, 0 if there are none. numpy has no -1 to begin with for those without a sign."""
    return max(int(a.max()) + 1, 0) if a.size else 0


def random_mask(n: int, p: float) -> Tensor:
    """bool [n], each true with probability p, by the library's seed."""
    g = current()
    return wrap(g, C.poly_random_mask(g.ptr, int(n), float(p), g.draw_seed()))


def count(index: Any, size: int | None = None) -> np.ndarray:
    """How often each of 0 .. size - 1 occurs."""
    a = vector(index)
    n = 0 if size is None else int(size)
    if a.size and size is not None and (a.min() < 0 or a.max() >= n):
        raise IndexError(f"index {int(a.max() if a.max() >= n else a.min())} is out of range for size {n}")
    return np.bincount(a, minlength=n)


def starts(counts: np.ndarray) -> np.ndarray:
    """0 and the running sums."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def stable_order(key: np.ndarray, limit: int) -> np.ndarray:
    """The stable order that sorts keys in [0, limit). Where key and place fit one number together, these are sorted, which is several times
    faster than sorting places by key."""
    bits = max(key.size - 1, 1).bit_length()
    if max(limit - 1, 1).bit_length() + bits > 63:
        return np.argsort(key, kind="stable")
    return np.sort((key.astype(np.int64) << bits) | np.arange(key.size)) & ((1 << bits) - 1)


def sort_edges(edge_index: Any, n: int, by_row: bool, merge: bool, places: bool) -> tuple[Tensor, np.ndarray | None, np.ndarray | None] | None:
    """Edges sorted, and merged if asked for. With `places`: where each came from, and where the edges begin that each result stands for.
    None if they are in order as they are."""
    e = edge_tensor(edge_index)
    if n > 64 * int(e.shape[1]) + (1 << 20):  # a counter for each node would be most of the work
        return _sort_few(edges(edge_index), n, by_row, merge)
    out, order, begin = (handle_array([None]) for _ in range(3))
    e._g.check(C.poly_sort_edges(e._h, n, by_row, merge, out, order if places else None, begin if places and merge else None))
    if not out[0]:
        return None
    places_of, begins = (array(like(e, h[0])) if h[0] else None for h in (order, begin))
    return _as_given(like(e, out[0]), edge_index), places_of, begins


def _as_given(e: Tensor, edge_index: Any) -> Tensor:
    """Edges of int32 or int64 in the dtype of those that they come from."""
    dtype = getattr(edge_index, "dtype", None)
    kind = getattr(dtype, "np", dtype)
    return e if kind is None or kind in (np.int32, np.int64) or np.dtype(kind).kind not in "iu" else tensor(array(e).astype(kind))


def edge_tensor(edge_index: Any) -> Tensor:
    """edge_index as a tensor of int32 or int64 whose values are known: itself if it is one."""
    if isinstance(edge_index, Tensor) and edge_index.ndim == 2 and edge_index.dtype.np in (np.int32, np.int64) and known(edge_index):
        if edge_index.shape[0] == 2:
            return edge_index
    e = edges(edge_index)
    t = Tensor(np.ascontiguousarray(e if e.dtype in (np.int32, np.int64) else e.astype(np.int64)))
    return t if not isinstance(edge_index, Tensor) else edge_index._kind(t)


def filter_edges(edge_index: Any, mask: Any = None, src: Any = None, dst: Any = None, loops: str = "a") -> tuple[Tensor, Tensor]:
    """The edges that stay, and the mask of them. mask: of the edges; src, dst: masks of the nodes at their ends, or new numbers of these, -1 for
    nodes that go; loops: 'a' all edges, 'n' without self loops, 'l' self loops alone."""
    e = edge_tensor(edge_index)
    given = [None if t is None else t if isinstance(t, Tensor) else Tensor(np.ascontiguousarray(t)) for t in (mask, src, dst)]
    kept, stays = handle_array([None]), handle_array([None])
    e._g.check(C.poly_filter_edges(e._h, *(None if t is None else t._h for t in given), loops.encode(), kept, stays))
    return _as_given(like(e, kept[0]), edge_index), like(e, stays[0])


def highest(score: Tensor, group: Any, keep: np.ndarray) -> Tensor:
    """The places of the keep[g] highest scores of each group g, group after group, highest first."""
    if score.dtype not in (dtypes.float32, dtypes.float64):
        score = score.cast(dtypes.float32)
    if not isinstance(group, Tensor) or group.dtype not in (dtypes.int32, dtypes.int64):
        group = tensor(vector(group).astype(np.int64))
    most = tensor(np.asarray(keep, np.int64))
    return wrap(score._g, C.poly_top_rows(score._h, group._h, most._h))


def room(shape: tuple[int, ...], dtype: Any) -> tuple[Tensor, np.ndarray]:
    """A tensor and its memory, to be filled: memory that the library uses again is there at once, where fresh pages are made one by one."""
    t = Tensor.empty(*shape, dtype=to_dtype(dtype)).realize()
    return t, t._data


def with_loops(edge_index: Any, n: Any) -> Tensor:
    """edge_index and behind it an edge from each of n nodes to itself."""
    e = edges(edge_index)
    m = e.shape[1]
    out, memory = room((2, m + int(n)), e.dtype)
    memory[:, :m] = e
    memory[:, m:] = np.arange(int(n), dtype=e.dtype)
    return edge_index._kind(out) if isinstance(edge_index, Tensor) else out


def any_loop(edge_index: Any) -> bool:
    """Whether an edge has one node at both ends. Pieces that fit a cache are compared, up to the first that has one."""
    e, piece = edges(edge_index), 1 << 17
    return any(bool((e[0, k : k + piece] == e[1, k : k + piece]).any()) for k in range(0, e.shape[1], piece))


def _sort_few(e: np.ndarray, n: int, by_row: bool, merge: bool) -> tuple[Tensor, np.ndarray | None, np.ndarray | None] | None:
    """sort_edges for few edges between numbers that may be as large as they like."""
    check_range(e, n)
    order = np.lexsort((e[1], e[0]) if by_row else (e[0], e[1]))
    found = e[:, order]
    new = np.ones(e.shape[1], np.bool_)
    new[1:] = (found[:, 1:] != found[:, :-1]).any(0)
    if (new.all() or not merge) and bool((order[1:] > order[:-1]).all()):
        return None
    return (tensor(found[:, new]), order, np.flatnonzero(new)) if merge else (tensor(found), order, None)


def distinct(a: np.ndarray) -> np.ndarray:
    """Sorted, each once."""
    a = np.sort(a)
    return a if a.size < 2 else a[np.concatenate([[True], a[1:] != a[:-1]])]


__all__ = [
    "MISSING", "any_loop", "array", "as_tensor", "check_range", "count", "distinct", "edge_tensor", "edges", "filter_edges", "generator",
    "highest", "join", "known", "library", "maybe_rows", "moved", "ones", "random_mask", "read", "rows", "seen", "sort_edges", "stable_order",
    "starts", "tensor", "top", "traced", "vector", "with_loops",
]  # fmt: skip
