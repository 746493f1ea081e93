"""Rows: which items (edges, nodes of a batch) belong together, and the loops over them.

An index vector says for every item which row it belongs to; row pointers say it for items that lie in order. The index of a message
passing layer belongs to a graph and carries it, so that a reduction, a softmax or a lift by that index is a move of the graph, which
the compiler fuses with the message. Any other index vector is used as it is, without being read here.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from .._core import C, like
from ..device import HOST
from ..graphs import Graph
from ..tensor import Tensor

OPS = {
    "sum": "sum", "add": "sum", "mean": "mean", "max": "max", "amax": "max", "min": "min", "amin": "min", "mul": "prod", "prod": "prod",
    "var": "var", "std": "std", "logsumexp": "logsumexp",
}  # fmt: skip
_SCATTER = {"sum": "sum", "max": "amax", "min": "amin", "prod": "prod"}


def axis_of(x: Tensor, dim: int) -> int:
    """dim counted from the front; an error that says what it was if x has no such axis."""
    n = x.ndim
    if not -n <= dim < n:
        raise ValueError(f"invalid dimension {dim} of a tensor of shape {tuple(x.shape)}: it must lay between 0 and {n - 1}, or be negative")
    return dim + n if dim < 0 else dim


def mark(index: Tensor, graph: Graph, side: str) -> Tensor:
    """index, which is graph.dst_index ('in') or graph.src_index ('out'), with the graph on it."""
    index._rows = (graph, side)
    return index


def same(index: Tensor, like: Tensor) -> Tensor:
    """index, which has the values of `like` in another dtype, with what `like` carries."""
    for name in ("_rows", "_count"):
        if hasattr(like, name):
            setattr(index, name, getattr(like, name))
    return index


class Rows:
    """Items gathered in num_rows rows."""

    __slots__ = ("_index", "num_rows")

    def __init__(self, index: Tensor, num_rows: Any):
        self._index, self.num_rows = index, num_rows

    @property
    def index(self) -> Tensor:
        """The row of every item."""
        return self._index

    @property
    def count(self) -> Tensor:
        """int32 [num_rows]: items of each row."""
        index, bounds = self.index, self._bounds
        if bounds is not None:
            return (bounds[0][1:] - bounds[0][:-1]).cast(dtypes.int32)
        if index._g.device in HOST and type(self.num_rows) is int and index.dtype.kind in "iu" and type(index.shape[0]) is int:
            return like(index, C.poly_bincount(index._h, self.num_rows)).cast(dtypes.int32)
        one = Tensor.ones(index.shape[0], dtype=dtypes.int32)
        return self._reduce(one, "sum")

    @property
    def begin(self) -> Tensor:
        """[num_rows]: items of all rows before each, which is where it begins if the rows are ascending."""
        bounds = self._bounds
        if bounds is not None:
            return bounds[0][:-1]
        count = self.count
        return count.cumsum(0) - count

    @property
    def longest(self) -> int:
        """The most items of a row. Without bounds they are counted and read."""
        bounds = self._bounds
        if bounds is not None:
            return bounds[1]
        return int(self.count.max().item()) if self.num_rows else 0

    @property
    def _bounds(self) -> tuple[Any, int, int] | None:
        """What an ascending index knows of itself, if all its rows are asked for and nothing was assigned to a tensor since then."""
        bounds = getattr(self.index, "_bounds", None)
        if bounds is None or self.index._g.changes != bounds[2] or self.index._g.tracing:
            return None
        return bounds if bounds[0].shape[0] == self.num_rows + 1 else None

    def reduce(self, x: Tensor, op: str = "sum", dim: int = 0) -> Tensor:
        """One value a row out of the items' values; a row without items gets 0, for a product 1."""
        if op not in OPS:
            raise ValueError(f"there is no reduction {op!r}: use one of {', '.join(OPS)}")
        axis = axis_of(x, dim)
        self._check(x, axis)
        if axis == 0:
            return self._reduce(x, OPS[op])
        return self._reduce(x.transpose(0, axis), OPS[op]).transpose(0, axis)

    def softmax(self, x: Tensor, dim: int = 0) -> Tensor:
        """exp(x), divided by its sum over the items of the same row."""
        axis = axis_of(x, dim)
        self._check(x, axis)
        return self._softmax(x) if axis == 0 else self._softmax(x.transpose(0, axis)).transpose(0, axis)

    def spread(self, x: Tensor, dim: int = 0) -> Tensor:
        """A value a row, seen from the items."""
        axis = axis_of(x, dim)
        return self._spread(x) if axis == 0 else self._spread(x.transpose(0, axis)).transpose(0, axis)

    def _check(self, x: Tensor, axis: int) -> None:
        if x.shape[axis] != self.index.shape[0]:
            raise ValueError(f"values of shape {x.shape} do not fit an index of {self.index.shape[0]} entries along axis {axis}")

    # ---- along the first axis; a graph does it its own way ----

    def _reduce(self, x: Tensor, op: str) -> Tensor:
        index = self._index
        if op in _SCATTER:
            shape = x.shape
            full = Tensor.full((self.num_rows, *shape[1:]), 1 if op == "prod" else 0, dtype=x.dtype)
            at = Tensor.expand(Tensor.reshape(index, -1, *[1] * (len(shape) - 1)), shape)  # no view: nobody else sees it
            return full.scatter_reduce(0, at, x, _SCATTER[op], include_self=op in ("prod", "sum"))
        if op == "logsumexp":
            top = self._reduce(x.detach(), "max")
            total = self._reduce((x - self._spread(top)).exp(), "sum")
            return (total > 0).where((total > 0).where(total, 1.0).log() + top, 0.0)
        count = self.count.maximum(1).reshape(-1, *[1] * (x.ndim - 1))
        count = count.cast(x.dtype) if x.is_floating_point() else count
        mean = self._reduce(x, "sum") / count
        if op == "mean":
            return mean
        var = self._reduce((x - self._spread(mean)).square(), "sum") / count
        if op == "var":
            return var
        return (var > 1e-5).where(var.maximum(1e-5).sqrt(), 0.0)

    def _softmax(self, x: Tensor) -> Tensor:
        p = (x - self._spread(self._reduce(x.detach(), "max"))).exp()
        return p / (self._spread(self._reduce(p, "sum")) + 1e-16)

    def _spread(self, x: Tensor) -> Tensor:
        return x.index_select(0, self._index)


class GraphRows(Rows):
    """The edges of a graph, by destination ('in') or by source ('out')."""

    __slots__ = ("graph", "side")

    def __init__(self, graph: Graph, side: str, index: Tensor | None = None, count: Any = None):
        self.graph, self.side = graph, side
        self.num_rows = count if count is not None else graph.num_dst if side == "in" else graph.num_src
        self._index = index  # type: ignore[assignment]

    @property
    def index(self) -> Tensor:
        if self._index is None:
            self._index = mark(self.graph.dst_index if self.side == "in" else self.graph.src_index, self.graph, self.side)
        return self._index

    @property
    def count(self) -> Tensor:
        return self.graph.degree(self.side)

    def _check(self, x: Tensor, axis: int) -> None:
        _check_edges(x, axis, self.graph)

    def _reduce(self, x: Tensor, op: str) -> Tensor:
        return self.graph.reduce(x, op, self.side)

    def _softmax(self, x: Tensor) -> Tensor:
        return self.graph.softmax(x, self.side)

    def _spread(self, x: Tensor) -> Tensor:
        return self.graph.dst(x) if self.side == "in" else self.graph.src(x)


def _check_edges(x: Tensor, axis: int, graph: Graph) -> None:
    if x.shape[axis] != graph.num_edges:
        raise ValueError(f"values of shape {x.shape} do not fit the {graph.num_edges} edges of the graph along axis {axis}")


def reduce_edges(x: Tensor, graph: Graph, op: str, side: str) -> Tensor:
    """The same as GraphRows(graph, side).reduce(x, op): one value a node out of the edges' values [edges, ...]."""
    try:
        return graph.reduce(x, op, side)
    except ValueError:
        _check_edges(x, 0, graph)
        raise


def ptr_to_index(ptr: Tensor, num_items: Any) -> Tensor:
    """The row of every item, out of row pointers: how many rows have ended by then."""
    ends = ptr[1:]
    one = Tensor.ones(ends.shape[0], dtype=dtypes.int32)
    closed = Tensor.zeros(num_items + 1, dtype=dtypes.int32).scatter_reduce(0, ends, one, "sum")
    return closed[:num_items].cumsum(0) if num_items else Tensor.zeros(0, dtype=dtypes.int32)


def count_of(index: Tensor, dim_size: Any = None) -> Any:
    """Number of rows: what is given, what the index carries, or the largest entry + 1, which must be read."""
    if dim_size is not None:
        return dim_size
    count = getattr(index, "_count", None)
    if count is not None:
        return count
    return int(index.max().item()) + 1 if index.numel() else 0


def rows_of(index: Tensor | None = None, dim_size: Any = None, ptr: Tensor | None = None, num_items: Any = None) -> Rows:
    """The rows that an index vector names; or those of row pointers, for num_items items.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric._rows import rows_of
    >>> rows_of(Tensor([0, 2, 2]), 4).reduce(Tensor([1.0, 2.0, 3.0]), "sum").tolist()
    [1.0, 0.0, 5.0, 0.0]
    """
    if index is not None:
        if index.ndim != 1:
            raise ValueError(f"an index vector has one axis, not the shape {index.shape}")
        found = getattr(index, "_rows", None)
        if found is not None:
            graph, side = found
            count = graph.num_dst if side == "in" else graph.num_src
            if dim_size is None or dim_size == count:
                return GraphRows(graph, side, index, count)
        return Rows(index, count_of(index, dim_size))
    if ptr is None:
        raise ValueError("an index vector or row pointers are needed")
    if ptr.ndim != 1:
        raise ValueError(f"row pointers have one axis, not the shape {ptr.shape}")
    return Rows(ptr_to_index(ptr, ptr[-1].item() if num_items is None else num_items), ptr.shape[0] - 1)


__all__ = ["OPS", "GraphRows", "Rows", "axis_of", "count_of", "mark", "ptr_to_index", "reduce_edges", "rows_of", "same"]
