"""Nodes divided by a structural property (Bazhenov et al., "Evaluating robustness and uncertainty of graph models under structural distributional
shifts", 2023)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graphs import Graph
from ...tensor import Tensor
from ..sampler._draw import draw_seed
from ..sparse_tensor import SparseTensor
from ._attributes import edges_of, nodes_of
from .base_transform import BaseTransform

_MASKS = ("id_train_mask", "id_val_mask", "id_test_mask", "ood_val_mask", "ood_test_mask")


def _pagerank(graph: Graph, start: np.ndarray, steps: int = 100) -> Tensor:
    """Ranks with a probability of 0.15 to go back to `start`, [V]; nodes without edges go back always."""
    degree = graph.degree("out").cast("float64")
    share = (degree > 0).where(1.0 / degree.maximum(1.0), 0.0)
    back = Tensor(start)
    rank = back
    for _ in range(steps):
        lost = (degree > 0).where(0.0, rank).sum()
        rank = (0.85 * (graph.sum(graph.src(rank * share)) + lost * back) + 0.15 * back).realize()
    return rank


def _popularity(graph: Graph, adj: SparseTensor) -> Tensor:
    n = int(graph.num_dst)
    return _pagerank(graph, np.full(n, 1.0 / n))


def _locality(graph: Graph, adj: SparseTensor) -> Tensor:
    """PageRank from the node that is the most popular one."""
    start = np.zeros(int(graph.num_dst))
    start[int(_popularity(graph, adj).numpy().argmax())] = 1.0
    return _pagerank(graph, start)


def _density(graph: Graph, adj: SparseTensor) -> Tensor:
    """The share of a node's pairs of neighbours that are neighbours themselves: paths of two edges that an edge closes."""
    paths = adj @ adj
    n = adj.sparse_size(1)
    closed = np.isin(paths._row * n + paths._col, adj._row * n + adj._col)
    counts = Tensor(paths.storage.value().numpy() * closed if paths.has_value() else closed.astype(np.float32))  # type: ignore[union-attr]
    from ..utils import scatter

    pairs = graph.degree("in").cast("float32")
    pairs = pairs * (pairs - 1)
    return (pairs > 0).where(scatter(counts, Tensor(paths._row), 0, n) / pairs.maximum(1.0), 0.0)


_PROPERTIES = {"popularity": _popularity, "locality": _locality, "density": _density}


class NodePropertySplit(BaseTransform):
    """Five masks of nodes by a property of their place in the graph: id_train_mask, id_val_mask, id_test_mask of nodes with a high value
    (ascending; else a low one), drawn at random, and ood_val_mask, ood_test_mask of the others in the order of the property.

    property_name: 'popularity' (PageRank), 'locality' (PageRank from the most popular node) or 'density' (clustering coefficient). ratios: five
    shares that add up to 1.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import NodePropertySplit
    >>> star = Data(edge_index=Tensor([[0, 0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0, 0, 0]]), num_nodes=5)
    >>> data = NodePropertySplit("popularity", [0.2, 0.2, 0.2, 0.2, 0.2])(star)
    >>> bool((data.id_train_mask | data.id_val_mask | data.id_test_mask)[0].item()), int(data.ood_test_mask.sum().item())
    (True, 1)
    """

    def __init__(self, property_name: str, ratios: list[float], ascending: bool = True):
        if property_name not in _PROPERTIES:
            raise ValueError(f"Unexpected 'property_name' (got '{property_name}')")
        if len(ratios) != 5:
            raise ValueError(f"'ratios' must contain 5 values (got {len(ratios)})")
        if sum(ratios) != 1.0:
            raise ValueError(f"'ratios' must sum to 1.0 (got {sum(ratios)})")
        self.property_name, self.ratios, self.ascending = property_name, ratios, ascending

    def forward(self, data: Any) -> Any:
        row, col = edges_of(data, self)
        n = nodes_of(data, self)
        kept = row < col  # an edge in one direction counts by its end with the smaller number, as in an undirected graph of networkx
        adj = SparseTensor(
            row=np.concatenate([row[kept], col[kept]]),
            col=np.concatenate([col[kept], row[kept]]),
            sparse_sizes=(n, n),
            value=Tensor.ones(2 * int(kept.sum())),
        ).coalesce("max")
        value = _PROPERTIES[self.property_name](adj.graph, adj).numpy()
        for name, nodes in zip(_MASKS, self._parts(-value if self.ascending else value)):
            mask = np.zeros(n, bool)
            mask[nodes] = True
            data[name] = Tensor(mask)
        return data

    def _parts(self, value: np.ndarray) -> list[np.ndarray]:
        """Nodes of the five parts: by value, equal ones in random order, and at random within the first three."""
        n, random = value.size, np.random.default_rng(draw_seed())
        sizes = np.round(n * np.array(self.ratios)).astype(np.int64)
        sizes[-1] -= sizes.sum() - n
        order = random.permutation(n)
        order = order[np.argsort(value[order], kind="stable")]
        inside = int(sizes[:3].sum())
        order[:inside] = order[:inside][random.permutation(inside)]
        return np.split(order, np.cumsum(sizes)[:-1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.property_name})"


__all__ = ["NodePropertySplit"]
