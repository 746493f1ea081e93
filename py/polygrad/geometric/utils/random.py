"""Random graphs. They follow Tensor.manual_seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host
from .undirected import to_undirected


def _choose(rng: np.random.Generator, population: int, p: float) -> np.ndarray:
    """Each of 0 .. population - 1 with probability p, ascending. O(result), not O(population), where p is small."""
    if population <= 0 or p <= 0.0:
        return np.zeros(0, np.int64)
    if p > 0.05 or population < 4096:
        return np.flatnonzero(rng.random(population) < p)
    # gaps between the chosen are geometric
    parts, last = [], -1
    while last < population:
        gaps = rng.geometric(p, int((population - last) * p * 1.05) + 64)
        places = last + np.cumsum(gaps)
        parts.append(places)
        last = int(places[-1])
    found = np.concatenate(parts)
    return found[found < population]


def _pair(k: np.ndarray, n: int) -> np.ndarray:
    """The k-th of the pairs i < j of n nodes, (0, 1), (0, 2) ... as [2, len(k)]."""
    ends = np.cumsum(np.arange(n - 1, 0, -1, dtype=np.int64))  # pairs that begin with a node up to this one
    row = np.searchsorted(ends, k, side="right")
    return np.stack([row, k - ends[row] + n])


def erdos_renyi_graph(num_nodes: int, edge_prob: float, directed: bool = False) -> Tensor:
    """The edges of a graph in which every pair of nodes is joined with probability edge_prob, sorted.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import erdos_renyi_graph
    >>> Tensor.manual_seed(0)
    >>> erdos_renyi_graph(5, 1.0).shape
    (2, 20)
    """
    return stochastic_blockmodel_graph([num_nodes], [[edge_prob]], directed)


def stochastic_blockmodel_graph(block_sizes: Any, edge_probs: Any, directed: bool = False) -> Tensor:
    """The edges of a graph whose nodes are joined with a probability that depends on their blocks, sorted.

    block_sizes: nodes in each block. edge_probs: [blocks, blocks], symmetric if the graph is not directed.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import stochastic_blockmodel_graph
    >>> Tensor.manual_seed(0)
    >>> stochastic_blockmodel_graph([2, 3], [[1.0, 0.0], [0.0, 1.0]]).shape
    (2, 8)
    """
    sizes = _host.vector(block_sizes, "block_sizes").astype(np.int64)
    probs = (edge_probs.numpy() if isinstance(edge_probs, Tensor) else np.asarray(edge_probs)).astype(np.float64)
    if probs.shape != (sizes.size, sizes.size):
        raise ValueError(f"{sizes.size} blocks need edge_probs of shape {(sizes.size, sizes.size)}, not {probs.shape}")
    if not directed and not np.allclose(probs, probs.T):
        raise ValueError("edge_probs must be symmetric if the graph is not directed")
    rng = _host.generator()
    first = _host.starts(sizes)
    parts = [np.zeros((2, 0), np.int64)]
    for a in range(sizes.size):
        for b in range(0 if directed else a, sizes.size):
            p, n, m = float(probs[a, b]), int(sizes[a]), int(sizes[b])
            if a != b:
                k = _choose(rng, n * m, p)
                pairs = np.stack([k // m, k % m]) if m else np.zeros((2, 0), np.int64)
            elif directed:
                k = _choose(rng, n * (n - 1), p)
                row, col = k // max(n - 1, 1), k % max(n - 1, 1)
                pairs = np.stack([row, col + (col >= row)])
            else:
                k = _choose(rng, n * (n - 1) // 2, p)
                pairs = _pair(k, n) if k.size else np.zeros((2, 0), np.int64)
            parts.append(pairs + np.array([[first[a]], [first[b]]]))
    edges = np.concatenate(parts, axis=1)
    n = int(first[-1])
    if not directed:
        return to_undirected(_host.tensor(edges), num_nodes=n)
    return _host.tensor(edges[:, np.lexsort((edges[1], edges[0]))])


def barabasi_albert_graph(num_nodes: int, num_edges: int) -> Tensor:
    """The edges of a graph that grows node by node: each new node is joined with num_edges others, chosen by how many edges they have.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import is_undirected
    >>> Tensor.manual_seed(0)
    >>> is_undirected(barabasi_albert_graph(20, 3))
    True
    """
    n, m = num_nodes, num_edges
    if not 0 < m < n:
        raise ValueError(f"num_edges must lie between 1 and num_nodes - 1, got {m} for {n} nodes")
    rng = _host.generator()
    # Edge k goes from source(k) to target(k). A target is one of the ends of the edges before it, drawn uniformly: either a source, which
    # is known, or the target of an earlier edge, which is a pointer. Pointers are followed all together, each round halving the chains.
    new = np.arange((n - m) * m) // m  # which new node
    sources = np.concatenate([np.arange(m), m + new])
    targets = np.concatenate([rng.permutation(m), np.zeros(new.size, np.int64)])
    known_sources = m + (new + 1) * m  # with those of the new node itself
    draw = (rng.random(new.size) * (known_sources + m + new * m)).astype(np.int64)
    is_source = draw < known_sources
    targets[m:][is_source] = sources[draw[is_source]]
    pointer = np.arange(targets.size)
    pointer[m:][~is_source] = (draw - known_sources)[~is_source]
    while True:
        further = pointer[pointer]
        if np.array_equal(further, pointer):
            break
        pointer = further
    edges = np.stack([sources, targets[pointer]])
    return to_undirected(_host.tensor(edges[:, edges[0] != edges[1]]), num_nodes=n)


__all__ = ["barabasi_albert_graph", "erdos_renyi_graph", "stochastic_blockmodel_graph"]
