"""R-MAT: random graphs with the uneven degrees of real ones."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..._core import C, current, wrap
from ...tensor import Tensor
from ..data.data import Data
from ..data.in_memory_dataset import InMemoryDataset
from ._edge_lists import both_ways, once, without_loops
from .fake import random_source


def rmat_graph(
    num_nodes: int,
    num_edges: int,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    seed: int = 0,
    shuffle: bool = True,
) -> np.ndarray:
    """edge_index [2, E] of an R-MAT graph: each bit of source and destination is drawn from the quarters a, b, c, 1 - a - b - c.

    shuffle: nodes are named at random; else small numbers have most edges.

    >>> from polygrad.geometric.datasets.rmat import rmat_graph
    >>> rmat_graph(100, 1000).shape
    (2, 1000)
    """
    _check(num_nodes, num_edges, a, b, c)
    out = np.empty((2, num_edges), np.int64)
    threads = max(1, C.poly_threads(current().ptr))
    if C.poly_rmat(num_nodes, num_edges, a, b, c, seed & 0xFFFFFFFFFFFFFFFF, shuffle, threads, out.ctypes.data):
        raise ValueError(f"a graph of {num_nodes} nodes and {num_edges} edges cannot be made")
    return out


def rmat_edges(
    num_nodes: int,
    num_edges: int,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    seed: int = 0,
    shuffle: bool = True,
) -> Tensor:
    """The edges of rmat_graph as a tensor. On a GPU many edges are made there, and stay there.

    >>> from polygrad.geometric.datasets.rmat import rmat_edges
    >>> rmat_edges(100, 1000).shape
    (2, 1000)
    """
    _check(num_nodes, num_edges, a, b, c)
    g = current()
    return wrap(g, C.poly_rmat_edges(g.ptr, num_nodes, num_edges, a, b, c, seed & 0xFFFFFFFFFFFFFFFF, shuffle))


def _check(num_nodes: int, num_edges: int, a: float, b: float, c: float) -> None:
    if num_nodes < 0 or num_edges < 0 or (num_edges and not num_nodes):
        raise ValueError(f"a graph of {num_nodes} nodes and {num_edges} edges cannot be")
    if min(a, b, c) < 0 or a + b + c > 1 + 1e-9:
        raise ValueError(f"a, b and c are chances that add up to at most 1, not {a}, {b}, {c}")


class RMAT(InMemoryDataset):
    """One R-MAT graph (Chakrabarti et al., 2004) with random features and labels, of any size.

    num_edges: edges that are drawn. is_undirected: adds the opposite of every edge. coalesce: sorts them and leaves out loops and repeated ones,
    so that fewer remain. num_channels: width of the features `x`, 0 for none. num_classes: of the labels `y`, 0 for none.

    >>> from polygrad.geometric.datasets import RMAT
    >>> RMAT(num_nodes=1000, num_edges=5000, num_channels=8)[0]
    Data(x=[1000, 8], edge_index=[2, 5000], y=[1000])
    """

    def __init__(
        self,
        num_nodes: int = 1 << 14,
        num_edges: int = 1 << 18,
        num_channels: int = 64,
        num_classes: int = 10,
        a: float = 0.57,
        b: float = 0.19,
        c: float = 0.19,
        seed: int | None = 0,
        is_undirected: bool = False,
        coalesce: bool = False,
        shuffle: bool = True,
        transform: Callable[..., Any] | None = None,
    ):
        super().__init__(None, transform)
        rng = random_source(seed)
        drawn = num_nodes, num_edges, a, b, c, int(rng.integers(0, 1 << 63)), shuffle
        if coalesce:
            pairs = without_loops(rmat_graph(*drawn))
            edges = Tensor(np.ascontiguousarray(both_ways(pairs) if is_undirected else once(pairs)))
        else:
            edges = rmat_edges(*drawn)
            if is_undirected:
                edges = edges.cat(edges.flip(0), dim=1).realize()
        data = Data(edge_index=edges)
        if num_channels > 0:
            data = Data(x=Tensor(rng.standard_normal((num_nodes, num_channels), np.float32)), edge_index=data.edge_index)
        else:
            data.num_nodes = num_nodes
        if num_classes > 0:
            data.y = Tensor(rng.integers(0, num_classes, num_nodes))
        self._set(data, None)


__all__ = ["RMAT", "rmat_edges", "rmat_graph"]
