"""Data of the sizes that the examples have: one citation network, sets of small graphs. Made from fixed seeds as numpy arrays, so both sides get the same."""

from __future__ import annotations

import numpy as np


def citation(nodes=2708, edges=10556, features=1433, classes=7, train=140):
    """A network of Cora's size: classes, sparse bags of words that depend on them, edges mostly within a class, each in both directions."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, nodes)
    words = rng.random((classes, features)) < 0.05
    x = (rng.random((nodes, features)) < np.where(words[y], 0.06, 0.008)).astype(np.float32)
    x /= np.maximum(x.sum(1, keepdims=True), 1)
    src = rng.integers(0, nodes, edges // 2)
    same = rng.random(edges // 2) < 0.8
    order = np.argsort(y, kind="stable")
    start = np.searchsorted(y[order], np.arange(classes + 1))
    dst = np.where(
        same,
        order[start[y[src]] + (rng.random(edges // 2) * (start[y[src] + 1] - start[y[src]])).astype(np.int64)],
        rng.integers(0, nodes, edges // 2),
    )
    mask = np.zeros(nodes, np.bool_)
    mask[rng.permutation(nodes)[:train]] = True
    return {
        "x": x,
        "edge_index": np.stack([np.r_[src, dst], np.r_[dst, src]]).astype(np.int64),
        "y": y.astype(np.int64),
        "train": mask,
        "classes": classes,
    }


def graphs(count, mean_nodes, mean_edges, features, classes=2, seed=0, labels=0):
    """A list of small graphs (x, edge_index, y), their sizes spread as those of molecules and proteins are."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(count):
        n = max(4, int(rng.gamma(4.0, mean_nodes / 4.0)))
        e = max(2, int(mean_edges * n / mean_nodes / 2))
        src, dst = rng.integers(0, n, e), rng.integers(0, n, e)
        x = rng.random((n, features)).astype(np.float32) if labels else np.eye(features, dtype=np.float32)[rng.integers(0, features, n)]
        y = (rng.random((n, labels)) < 0.3).astype(np.float32) if labels else np.array([rng.integers(0, classes)])
        out.append((x, np.stack([np.r_[src, dst], np.r_[dst, src]]).astype(np.int64), y))
    return out
