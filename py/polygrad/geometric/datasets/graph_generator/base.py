"""Generators of graphs without features: Barabasi-Albert, Erdos-Renyi, grids and trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....tensor import Tensor
from ...data.data import Data
from ...utils import barabasi_albert_graph, erdos_renyi_graph, grid, to_undirected
from .._resolve import resolve


class GraphGenerator:
    """Called without arguments, gives a Data with `edge_index` and the number of nodes.

    >>> from polygrad.geometric.datasets.graph_generator import BAGraph, GraphGenerator
    >>> issubclass(BAGraph, GraphGenerator), BAGraph(num_nodes=10, num_edges=2)().num_nodes
    (True, 10)
    """

    def __call__(self) -> Data:
        raise NotImplementedError(f"{type(self).__name__} has no __call__")

    @staticmethod
    def resolve(query: Any, *args: Any, **kwargs: Any) -> Any:
        """A generator by name, with or without 'Graph' ('ba', 'BAGraph', ...); anything but a string is given back.

        >>> from polygrad.geometric.datasets.graph_generator import GraphGenerator
        >>> GraphGenerator.resolve("grid", height=2, width=3)
        GridGraph(height=2, width=3)
        """
        return resolve(query, (BAGraph, ERGraph, GridGraph, TreeGraph), "Graph", *args, **kwargs)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in vars(self).items() if not name.startswith("_"))
        return f"{type(self).__name__}({inside})"


class BAGraph(GraphGenerator):
    """Barabasi-Albert graphs: num_edges is the number of edges that a new node brings.

    >>> from polygrad.geometric.datasets.graph_generator import BAGraph
    >>> BAGraph(num_nodes=30, num_edges=2)().num_nodes
    30
    """

    def __init__(self, num_nodes: int, num_edges: int):
        self.num_nodes, self.num_edges = num_nodes, num_edges

    def __call__(self) -> Data:
        return Data(num_nodes=self.num_nodes, edge_index=barabasi_albert_graph(self.num_nodes, self.num_edges))


class ERGraph(GraphGenerator):
    """Erdos-Renyi graphs: each pair is joined with the chance edge_prob.

    >>> from polygrad.geometric.datasets.graph_generator import ERGraph
    >>> ERGraph(num_nodes=5, edge_prob=1.0)().num_edges
    20
    """

    def __init__(self, num_nodes: int, edge_prob: float):
        self.num_nodes, self.edge_prob = num_nodes, edge_prob

    def __call__(self) -> Data:
        return Data(num_nodes=self.num_nodes, edge_index=erdos_renyi_graph(self.num_nodes, self.edge_prob))


class GridGraph(GraphGenerator):
    """Grids in which each node is joined with its up to eight neighbours and itself; `pos` has the places.

    >>> from polygrad.geometric.datasets.graph_generator import GridGraph
    >>> GridGraph(height=2, width=3)().num_nodes
    6
    """

    def __init__(self, height: int, width: int, dtype: Any = None):
        self.height, self.width, self._dtype = height, width, dtype

    def __call__(self) -> Data:
        edge_index, pos = grid(self.height, self.width, dtype=self._dtype)
        return Data(edge_index=edge_index, pos=pos)


def tree(depth: int, branch: int = 2, undirected: bool = False) -> tuple[Tensor, Tensor]:
    """The edges of a full tree from its root downwards, and the depth of each node. Children of a node are numbered one after the other, and
    what is below the first of them comes before what is below the second.

    >>> from polygrad.geometric.datasets.graph_generator import tree
    >>> edge_index, depth = tree(2)
    >>> edge_index.tolist(), depth.tolist()
    ([[0, 0, 1, 1, 2, 2], [1, 2, 3, 4, 5, 6]], [0, 1, 1, 2, 2, 2, 2])
    """
    below = [0]  # nodes below one with this many levels under it
    for _ in range(depth):
        below.append(branch * (1 + below[-1]))
    # Nodes of one depth together: each has its children at first .. first + branch - 1, and what is below the k-th child follows after them.
    parents, firsts = np.array([0]), np.array([1])
    pairs, depths = [np.zeros((2, 0), np.int64)], [(np.array([0]), 0)]
    for level in range(depth):
        under = below[depth - level - 1]
        children = firsts[:, None] + np.arange(branch)
        pairs.append(np.stack([np.repeat(parents, branch), children.reshape(-1)]))
        depths.append((children.reshape(-1), level + 1))
        starts = firsts[:, None] + branch + np.arange(branch) * under
        parents, firsts = children.reshape(-1), starts.reshape(-1)
    edges = np.concatenate(pairs, axis=1)
    of = np.zeros(1 + below[depth], np.int64)
    for nodes, level in depths:
        of[nodes] = level
    index = Tensor(np.ascontiguousarray(edges[:, np.argsort(edges[1])]))
    return (to_undirected(index, num_nodes=of.size) if undirected else index), Tensor(of)


class TreeGraph(GraphGenerator):
    """Full trees; `depth` of a node is how far it is from the root.

    >>> from polygrad.geometric.datasets.graph_generator import TreeGraph
    >>> TreeGraph(depth=2)().depth.tolist()
    [0, 1, 1, 2, 2, 2, 2]
    """

    def __init__(self, depth: int, branch: int = 2, undirected: bool = False):
        self.depth, self.branch, self.undirected = depth, branch, undirected

    def __call__(self) -> Data:
        edge_index, depth = tree(self.depth, self.branch, self.undirected)
        return Data(edge_index=edge_index, depth=depth, num_nodes=depth.shape[0])


__all__ = ["BAGraph", "ERGraph", "GraphGenerator", "GridGraph", "TreeGraph", "tree"]
