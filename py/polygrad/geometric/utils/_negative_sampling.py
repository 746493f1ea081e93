"""Pairs of nodes that are not joined. They follow Tensor.manual_seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host
from .num_nodes import maybe_num_nodes


class _Pairs:
    """The pairs that may be sampled, numbered: all of a bipartite graph, those without self loops, or those with i < j."""

    def __init__(self, num_nodes: Any, undirected: bool):
        if isinstance(num_nodes, (tuple, list)):
            self.n, self.m, self.kind = int(num_nodes[0]), int(num_nodes[1]), "all"
            self.population = self.n * self.m
        else:
            self.n = self.m = int(num_nodes)
            self.kind = "upper" if undirected else "no loops"
            self.population = self.n * (self.n - 1) // (2 if undirected else 1)

    def number(self, e: np.ndarray) -> np.ndarray:
        row, col = e.astype(np.int64)
        if self.kind == "all":
            return row * self.m + col
        if self.kind == "no loops":
            keep = row != col
            row, col = row[keep], col[keep]
            return row * (self.n - 1) + col - (row < col)
        keep = row < col
        row, col = row[keep], col[keep]
        return row * (2 * self.n - row - 1) // 2 + col - row - 1

    def pair(self, k: np.ndarray) -> np.ndarray:
        if self.kind == "all":
            return np.stack([k // self.m, k % self.m])
        if self.kind == "no loops":
            row, col = k // (self.n - 1), k % (self.n - 1)
            return np.stack([row, col + (row <= col)])
        ends = np.cumsum(np.arange(self.n - 1, 0, -1, dtype=np.int64))
        row = np.searchsorted(ends, k, side="right")
        col = k - ends[row] + self.n
        return np.stack([np.concatenate([row, col]), np.concatenate([col, row])])


def edge_index_to_vector(edge_index: Tensor, size: tuple[int, int], bipartite: bool, force_undirected: bool = False) -> tuple[Tensor, int]:
    """Numbers of the edges among all pairs that may be sampled, and how many pairs these are: all for bipartite graphs, those without self loops,
    or with force_undirected those with row < column. Edges that are none of these are left out.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils._negative_sampling import edge_index_to_vector, vector_to_edge_index
    >>> number, population = edge_index_to_vector(Tensor([[0, 1, 1], [1, 0, 1]]), (3, 3), bipartite=False)
    >>> number.tolist(), population, vector_to_edge_index(number, (3, 3), bipartite=False).tolist()
    ([0, 2], 6, [[0, 1], [1, 0]])
    """
    pairs = _Pairs(size if bipartite else size[0], force_undirected)
    return Tensor(pairs.number(_host.edges(edge_index))), pairs.population


def vector_to_edge_index(idx: Tensor, size: tuple[int, int], bipartite: bool, force_undirected: bool = False) -> Tensor:
    """The edges [2, E] of such numbers; with force_undirected in both directions."""
    return Tensor(_Pairs(size if bipartite else size[0], force_undirected).pair(_host.read(idx).astype(np.int64)))


def _sample_free(rng: np.random.Generator, taken: np.ndarray, population: int, wanted: int) -> np.ndarray:
    """Up to `wanted` different numbers below population that are not taken, in random order."""
    taken = _host.distinct(taken)
    free = population - taken.size
    if free <= 0 or wanted <= 0:
        return np.zeros(0, np.int64)
    if population <= 4 * (taken.size + wanted) + 4096:  # little room: choose among the free ones, the k-th of which is found by search
        chosen = rng.permutation(free)[:wanted]
        gaps = taken - np.arange(taken.size)  # free numbers below each taken one
        return chosen + np.searchsorted(gaps, chosen, side="right")
    found = np.zeros(0, np.int64)
    while found.size < wanted:
        draw = rng.integers(0, population, int(1.1 * (wanted - found.size) * population / free) + 16)
        found = _host.distinct(np.concatenate([found, draw]))  # sorted, so that the search goes through memory in order
        found = found[~_among(found, taken)]
    return rng.permutation(found)[:wanted]


def _among(a: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    if not ascending.size:
        return np.zeros(a.shape, np.bool_)
    return ascending[np.minimum(np.searchsorted(ascending, a), ascending.size - 1)] == a


def negative_sampling(
    edge_index: Tensor, num_nodes: Any = None, num_neg_samples: Any = None, method: str = "sparse", force_undirected: bool = False
) -> Tensor:
    """Random pairs of nodes, all different, that are no edges (and no self loops).

    num_nodes: a pair for a bipartite graph. num_neg_samples: how many, as many as edges if it is not given, or a ratio of that (a float);
    fewer come back if the graph has fewer. force_undirected: pairs come both ways. method is PyG's and makes no difference here.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import negative_sampling
    >>> Tensor.manual_seed(0)
    >>> sorted(map(tuple, negative_sampling(Tensor([[0, 0, 1, 2], [0, 1, 2, 0]])).numpy().T.tolist()))
    [(0, 2), (1, 0), (2, 1)]
    """
    if method not in ("sparse", "dense"):
        raise ValueError(f"method must be 'sparse' or 'dense', not {method!r}")
    e = _host.edges(edge_index)
    out = _negatives(_host.generator(), e, maybe_num_nodes(edge_index, num_nodes), num_neg_samples, force_undirected)
    return _host.tensor(out)


def _negatives(rng: np.random.Generator, e: np.ndarray, num_nodes: Any, num_neg_samples: Any, force_undirected: bool) -> np.ndarray:
    undirected = force_undirected and not isinstance(num_nodes, (tuple, list))
    pairs = _Pairs(num_nodes, undirected)
    wanted = e.shape[1] if num_neg_samples is None else num_neg_samples
    wanted = int(wanted * e.shape[1]) if isinstance(wanted, float) else int(wanted)
    free = _sample_free(rng, pairs.number(e), pairs.population, wanted // 2 if undirected else wanted)
    return (pairs.pair(free) if free.size else np.zeros((2, 0), np.int64)).astype(e.dtype)


def batched_negative_sampling(
    edge_index: Tensor, batch: Any, num_neg_samples: Any = None, method: str = "sparse", force_undirected: bool = False
) -> Tensor:
    """negative_sampling within each graph of a batch. batch: the graph of each node, ascending; a pair for a bipartite graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import batched_negative_sampling
    >>> Tensor.manual_seed(0)
    >>> e = Tensor([[0, 0, 1, 2, 4, 4, 5, 6], [0, 1, 2, 0, 4, 5, 6, 4]])
    >>> bool((batched_negative_sampling(e, Tensor([0, 0, 0, 0, 1, 1, 1, 1]))[0] < 8).all().item())
    True
    """
    if method not in ("sparse", "dense"):
        raise ValueError(f"method must be 'sparse' or 'dense', not {method!r}")
    bipartite = not isinstance(batch, Tensor)
    src, dst = (_host.vector(b, "batch") for b in (batch if bipartite else (batch, batch)))
    e = _host.edges(edge_index)
    ends = _host.starts(_host.count(src[e[0]]))
    counts = [_host.count(b) for b in (src, dst)]
    first = [_host.starts(c) for c in counts]
    rng = _host.generator()
    parts = [np.zeros((2, 0), e.dtype)]
    for k in range(ends.size - 1):
        offset = np.array([[first[0][k]], [first[1][k]]], e.dtype)
        nodes = (int(counts[0][k]), int(counts[1][k])) if bipartite else int(counts[0][k])
        parts.append(_negatives(rng, e[:, ends[k] : ends[k + 1]] - offset, nodes, num_neg_samples, force_undirected) + offset)
    return _host.tensor(np.concatenate(parts, axis=1).astype(e.dtype))


def structured_negative_sampling(
    edge_index: Tensor, num_nodes: int | None = None, contains_neg_self_loops: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """For every edge (i, j) a node k such that (i, k) is no edge, as the triple i, j, k of vectors.

    contains_neg_self_loops: k = i is allowed.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import structured_negative_sampling
    >>> Tensor.manual_seed(0)
    >>> i, j, k = structured_negative_sampling(Tensor([[0, 0, 1, 2], [0, 1, 2, 0]]), contains_neg_self_loops=False)
    >>> k.tolist()[:2]
    [2, 2]
    """
    e = _host.edges(edge_index)
    n = int(maybe_num_nodes(edge_index, num_nodes))
    row, col = e.astype(np.int64)
    taken = row * n + col
    if not contains_neg_self_loops:
        taken = np.concatenate([taken, np.arange(n) * (n + 1)])
    taken = _host.distinct(taken)
    rng = _host.generator()
    out = np.zeros(row.size, np.int64)
    rest = np.arange(row.size)
    for _ in range(20):
        out[rest] = rng.integers(0, max(n, 1), rest.size)
        rest = rest[_among(row[rest] * n + out[rest], taken)]
        if not rest.size:
            break
    if rest.size:  # nodes with hardly any room: choose among what is free in their rows
        begin, end = np.searchsorted(taken, row[rest] * n), np.searchsorted(taken, (row[rest] + 1) * n)
        free = n - (end - begin)
        if not free.all():
            node = int(row[rest][free == 0][0])
            raise ValueError(f"node {node} is joined with every node: there is no negative sample for its edges")
        # the wanted pair's rank among all pairs that are free, and the pair of that rank
        rank = row[rest] * n - begin + (rng.random(rest.size) * free).astype(np.int64)
        out[rest] = rank + np.searchsorted(taken - np.arange(taken.size), rank, side="right") - row[rest] * n
    return _host.tensor(e[0]), _host.tensor(e[1]), _host.tensor(out.astype(e.dtype))


def structured_negative_sampling_feasible(edge_index: Tensor, num_nodes: int | None = None, contains_neg_self_loops: bool = True) -> bool:
    """Whether structured_negative_sampling can find a node for every edge.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import structured_negative_sampling_feasible
    >>> structured_negative_sampling_feasible(Tensor([[0, 0, 1], [1, 2, 0]]), contains_neg_self_loops=False)
    False
    """
    e = _host.edges(edge_index).astype(np.int64)
    n = int(maybe_num_nodes(edge_index, num_nodes))
    pairs = np.unique(e[0] * n + e[1])
    room = n
    if not contains_neg_self_loops:
        pairs, room = pairs[pairs // max(n, 1) != pairs % max(n, 1)], n - 1
    return bool((np.bincount(pairs // max(n, 1), minlength=n) < room).all())


__all__ = [
    "batched_negative_sampling",
    "edge_index_to_vector",
    "negative_sampling",
    "structured_negative_sampling",
    "structured_negative_sampling_feasible",
    "vector_to_edge_index",
]
