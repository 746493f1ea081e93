"""Pairs of edges k -> j -> i, which models of molecules see angles in."""

from __future__ import annotations

import numpy as np

from ....graphs import Graph
from ....tensor import Tensor
from ...utils import _host


def pairs_of_edges(edge_index: Tensor, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The edges (k -> j, j -> i) with k != i, as two vectors of edge numbers, in the order of the second."""
    row, col = _host.edges(edge_index)
    into = _host.stable_order(col, num_nodes)  # edges by where they end
    count = _host.count(col, num_nodes)
    start, many = _host.starts(count)[row], count[row]
    second = np.repeat(np.arange(row.size), many)
    within = np.arange(second.size) - np.repeat(_host.starts(many)[:-1], many)
    first = into[start[second] + within]
    some = row[first] != col[second]
    return first[some], second[some]


class Triplets:
    """A graph, and the graph in which its edges are the nodes: from k -> j to j -> i."""

    def __init__(self, edge_index: Tensor, num_nodes: int):
        self.graph = Graph(edge_index, num_nodes)
        kj, ji = pairs_of_edges(edge_index, num_nodes)
        self.pairs = Graph(np.stack([kj, ji]), int(edge_index.shape[1]))

    def vectors(self, pos: Tensor) -> Tensor:
        """p_j - p_i of each edge j -> i."""
        return self.graph.src(pos) - self.graph.dst(pos)


def triplets(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(i, j) of the edges j -> i, (i, j, k) of the triplets k -> j -> i with k != i, and their edges (k -> j, j -> i).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.models.dimenet import triplets
    >>> [t.tolist() for t in triplets(Tensor([[0, 1], [1, 2]]), num_nodes=3)[2:]]
    [[2], [1], [0], [0], [1]]
    """
    row, col = edge_index[0], edge_index[1]
    kj, ji = (Tensor(v) for v in pairs_of_edges(edge_index, num_nodes))
    return col, row, col[ji], row[ji], row[kj], kj, ji


__all__ = ["Triplets", "triplets"]
