"""Products of sparse matrices, whose entries are values of a graph's edges: the entry of an edge i -> j stands in row i and column j."""

from __future__ import annotations

import ctypes

from .._core import C, wrap
from ..graphs import Graph
from ..tensor import Tensor
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
    paths = ctypes.c_void_p()
    p = C.poly_graph_product(a._p, b._p, ctypes.byref(paths))
    if p is None:
        a._g.fail()
    g = Graph._make(a._g, p, a.num_src != b.num_dst)
    if a_values is None and b_values is None:
        C.poly_free(paths.value)
        return g, None
    first, second, edge = (Tensor(row) for row in wrap(a._g, paths.value).numpy())
    values = None
    if a_values is not None:
        values = a_values[first]
    if b_values is not None:
        values = b_values[second] if values is None else values * b_values[second]
    assert values is not None
    return g, rows_of(edge, g.num_edges).reduce(values, "sum")


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
