"""What the tests of graphs share: graphs of every awkward kind, and what a plan stored."""

from __future__ import annotations

import numpy as np

from polygrad import Graph, Profile


def edges(kind, seed=0):
    """(edge_index, nodes) of a small graph."""
    rng = np.random.default_rng(seed)
    if kind == "random":  # isolated nodes, self loops and repeated edges among them
        index = rng.integers(0, 4, (2, 9))
        return np.concatenate([index, index[:, :2], [[1], [1]]], 1).astype(np.int64), 6
    if kind == "hub":  # node 2 holds half of all edges
        index = rng.integers(0, 5, (2, 12))
        index[1, ::2] = 2
        return index.astype(np.int64), 5
    if kind == "empty":
        return np.zeros((2, 0), np.int64), 4
    if kind == "one node":
        return np.array([[0, 0], [0, 0]], np.int64), 1
    if kind == "no nodes":
        return np.zeros((2, 0), np.int64), 0
    raise KeyError(kind)


KINDS = ["random", "hub", "empty", "one node", "no nodes"]


def big_graph(nodes=17, count=307, seed=5):
    """A graph whose sizes are primes, so that a stored shape says what it is."""
    index = np.random.default_rng(seed).integers(0, nodes, (2, count)).astype(np.int64)
    return index, Graph(index, nodes)


def stored_by(make):
    """Profile of computing the tensors that make() gives, in one plan."""
    tensors = make()
    tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    with Profile() as p:
        tensors[0].realize(*tensors[1:])
    return p


def assert_narrow(p, edges, width, allowed=()):
    """No stored buffer has as many elements as edges x width."""
    wide = [s for s in p.stored if np.prod(s.shape) >= edges * width and s.shape not in allowed]
    assert not wide, f"{edges} edges, features of {width}; stored:\n" + "\n".join(f"{s.shape} {s.why}" for s in wide) + f"\n{p}"
