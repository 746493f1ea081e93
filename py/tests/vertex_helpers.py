"""What the tests of vertex programs share: a small graph with values, and a vertex program by loops."""

from __future__ import annotations

import numpy as np
from graph_helpers import edges

from polygrad import Graph

INDEX, NODES = edges("random")
E = INDEX.shape[1]
RNG = np.random.default_rng(7)
X = RNG.standard_normal((NODES, 4))
Y = RNG.standard_normal((NODES, 2, 3))
W = RNG.standard_normal((E, 4))


def graph():
    return Graph(INDEX, NODES)


def rows(message, reduce=lambda m: m.sum(0), shape=(4,), index=INDEX, nodes=NODES, empty=0.0, side="in"):
    """reduce over message(neighbour, vertex, edge) at every vertex, by loops."""
    out = np.full((nodes, *shape), empty)
    for v in range(nodes):
        pairs = [(a if side == "in" else b, k) for k, (a, b) in enumerate(index.T) if (b if side == "in" else a) == v]
        if pairs:
            out[v] = reduce(np.array([message(n, v, k) for n, k in pairs]))
    return out


def check(got, want):
    got = got.numpy()
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
