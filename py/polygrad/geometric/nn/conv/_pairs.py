"""Arguments of layers that come alone or in pairs, and the edges of several relations."""

from __future__ import annotations

from typing import Any

from ....graphs import Graph
from ....tensor import Tensor


def pair(x: Any) -> tuple[Any, Any]:
    """(sources, destinations) of a value that may stand for both."""
    if isinstance(x, (tuple, list)):
        if len(x) != 2:
            raise ValueError(f"a pair (sources, destinations) is needed, got {len(x)} values")
        return x[0], x[1]
    return x, x


class Relations:
    """The graph in which every node stands once for each relation: row v * count + r, with the edges of relation r.

    What is gathered there is gathered for each relation on its own, by one loop. The last graph is kept, and made again only for other
    edges or another edge_type.
    """

    def __init__(self, count: int):
        self.count = count
        self._key: Any = None
        self._made: Graph | None = None

    def graph(self, graph: Graph, edge_type: Tensor) -> Graph:
        if edge_type.ndim != 1 or edge_type.shape[0] != graph.num_edges:
            raise ValueError(f"edge_type must have one entry for each of {graph.num_edges} edges, not the shape {edge_type.shape}")
        if self._made is None or self._key[0]._p != graph._p or self._key[1] is not edge_type:
            index = Tensor.stack(graph.src_index * self.count + edge_type, graph.dst_index * self.count + edge_type)
            self._made = Graph(index, num_src=graph.num_src * self.count, num_dst=graph.num_dst * self.count)
            self._key = (graph, edge_type)
        return self._made

    def rows(self, values: list[Tensor]) -> Tensor:
        """Values [V, ...] for each relation as rows [V * count, ...] of the graph. They are stored: many edges read them, and a maximum is found
        again in the backward pass by its value, which must not be rounded in two ways."""
        return Tensor.stack(*values, dim=1).flatten(0, 1).contiguous()

    def total(self, x: Tensor) -> Tensor:
        """The sum over the relations of each node."""
        return x.unflatten(0, (-1, self.count)).sum(1)


__all__ = ["Relations", "pair"]
