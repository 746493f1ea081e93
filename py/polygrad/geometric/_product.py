"""Products of sparse matrices, whose entries are values of a graph's edges: the entry of an edge i -> j stands in row i and column j."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .._core import C, like, wrap
from ..custom import Function
from ..dtypes import dtypes
from ..graphs import Graph
from ..tensor import Tensor
from ._moved import known
from ._rows import rows_of


def product(a: Graph, a_values: Tensor | None, b: Graph, b_values: Tensor | None) -> tuple[Graph, Tensor | None]:
    """A B: its edges, once each, and their values; None stands for ones, and gives None if both are.

    Edges are in the order of their rows, and within a row as they occur, which is the order that PyTorch's products have.

    >>> from polygrad import Graph, Tensor
    >>> from polygrad.geometric._product import product
    >>> g = Graph([[0, 0, 1, 2], [1, 2, 2, 0]])
    >>> square, values = product(g, Tensor([1.0, 2.0, 3.0, 4.0]), g, Tensor([1.0, 2.0, 3.0, 4.0]))
    >>> square.edge_index.tolist(), values.tolist()
    ([[0, 0, 1, 2, 2], [2, 0, 0, 1, 2]], [3.0, 8.0, 12.0, 4.0, 8.0])
    """
    if a_values is not None and b_values is not None and _computed(a_values) and _computed(b_values):
        return _summed(a, a_values, b, b_values)
    g, paths = _paths(a, b)
    if a_values is None and b_values is None:
        return g, None
    first, second, edge = (Tensor(row) for row in paths)
    values = None
    if a_values is not None:
        values = a_values[first]
    if b_values is not None:
        values = b_values[second] if values is None else values * b_values[second]
    assert values is not None
    return g, rows_of(edge, g.num_edges).reduce(values, "sum")


def _paths(a: Graph, b: Graph) -> tuple[Graph, np.ndarray]:
    """The edges of A B; and for each pair of edges that makes one of them the edge of a, that of b and the new one."""
    paths = ctypes.c_void_p()
    p = C.poly_graph_product(a._p, b._p, ctypes.byref(paths))
    if p is None:
        a._g.fail()
    return Graph._make(a._g, p, a.num_src != b.num_dst), wrap(a._g, paths.value).numpy()


def _computed(values: Tensor) -> bool:
    return known(values) and values.dtype in (dtypes.float32, dtypes.float64)


def _summed(a: Graph, a_values: Tensor, b: Graph, b_values: Tensor) -> tuple[Graph, Tensor]:
    """The product of values that are known, without its paths, which are many times as many as edges."""
    out = ctypes.c_void_p()
    p = C.poly_graph_product_values(a._p, a_values._h, b._p, b_values._h, ctypes.byref(out))
    if p is None:
        a._g.fail()
    made = like(a_values, out.value, b_values)
    values = _Values.apply(a_values, b_values, a, b, made)
    if not values.is_realized:
        values._g.check(C.poly_give(values._h, made._h))
    return Graph._make(a._g, p, a.num_src != b.num_dst), values


class _Values(Function):
    """The values of a product: a number for each edge, and paths where a gradient is asked for."""

    @staticmethod
    def forward(ctx: Any, a_values: Tensor, b_values: Tensor, a: Graph, b: Graph, made: Tensor) -> Tensor:
        ctx.save_for_backward(a_values, b_values)
        ctx.graphs = a, b
        return made

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        (a_values, b_values), (a, b) = ctx.saved_tensors, ctx.graphs
        first, second, edge = (Tensor(row) for row in _paths(a, b)[1])
        of_path = gradient[edge]
        to_a = rows_of(first, a.num_edges).reduce(of_path * b_values[second], "sum")
        to_b = rows_of(second, b.num_edges).reduce(of_path * a_values[first], "sum")
        return to_a.cast(a_values.dtype), to_b.cast(b_values.dtype), None, None, None


class SparseMatrix:
    """A sparse matrix: values of the edges of a graph, whose sources are the columns and whose destinations are the rows.

    >>> from polygrad import Graph, Tensor
    >>> from polygrad.geometric._product import SparseMatrix
    >>> row, col, value = SparseMatrix(Graph([[0, 1], [1, 1]]), Tensor([5.0, 6.0])).coo()
    >>> row.tolist(), col.tolist(), value.tolist()
    ([1, 1], [0, 1], [5.0, 6.0])
    """

    __slots__ = ("graph", "value")

    def __init__(self, graph: Graph, value: Tensor):
        self.graph, self.value = graph, value

    def coo(self) -> tuple[Tensor, Tensor, Tensor]:
        """Row, column and value of each entry."""
        return self.graph.dst_index, self.graph.src_index, self.value

    def size(self, dim: int) -> int:
        return self.graph.num_dst if dim == 0 else self.graph.num_src

    def __repr__(self) -> str:
        return f"<SparseMatrix {self.size(0)} x {self.size(1)}, {self.graph.num_edges} entries>"


__all__ = ["SparseMatrix", "product"]
