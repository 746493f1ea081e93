"""Points of many dimensions in the plane, neighbours beside neighbours: t-SNE (van der Maaten and Hinton, 2008).

Attraction is between the nearest neighbours only, and a loop over a graph; repulsion is between all, and a loop over pairs of which nothing is
stored. One iteration is one compiled program.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from ..graphs import Graph
from ..jit import TinyJit
from ..tensor import Tensor

NEIGHBOURS, PERPLEXITY = 24, 10.0
EARLY, LATE = 80, 170  # iterations with exaggerated attraction, and without


def principal(x: np.ndarray, count: int) -> np.ndarray:
    """The first principal components of the rows, padded with zeros where there are fewer."""
    x = np.nan_to_num(x.astype(np.float64))
    x = x - x.mean(0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    out = (u * s)[:, :count]
    return np.pad(out, ((0, 0), (0, count - out.shape[1])))


def place(x: np.ndarray, shown: Callable[[int, int], None] = lambda done, total: None) -> np.ndarray:
    """[n, 2] for the rows of x, in [0, 1]. Few points, or all at one place, are laid out by their principal components."""
    n = x.shape[0]
    if n > 3 * NEIGHBOURS and np.ptp(x) > 0:
        return _fit(_embed(principal(x, min(30, x.shape[1])), shown))
    return _fit(principal(x, 2)) if n > 1 and x.shape[1] > 0 else np.full((n, 2), 0.5)


def _fit(y: np.ndarray) -> np.ndarray:
    low, high = y.min(0), y.max(0)
    wide = max(float((high - low).max()), 1e-12)
    return (y - (low + high) / 2) / wide + 0.5


def _nearest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row the nearest others, and the squares of their distances."""
    square = (x * x).sum(1)
    d = square[:, None] + square[None] - 2 * x @ x.T
    np.fill_diagonal(d, np.inf)
    near = np.argpartition(d, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    return near, np.maximum(np.take_along_axis(d, near, 1), 0)


def _weights(d: np.ndarray) -> np.ndarray:
    """Chances of the neighbours with the wanted perplexity, by bisection of the precision, all rows at once."""
    d = d - d.min(1, keepdims=True)
    low, high = np.zeros((d.shape[0], 1)), np.full((d.shape[0], 1), np.inf)
    beta = 1 / np.maximum(d.mean(1, keepdims=True), 1e-12)
    for _ in range(40):
        p = np.exp(-d * beta)
        total = p.sum(1, keepdims=True)
        entropy = np.log(total) + beta * (p * d).sum(1, keepdims=True) / total
        wide = entropy > np.log(PERPLEXITY)
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + high) / 2)
    p = np.exp(-d * beta)
    return p / p.sum(1, keepdims=True)


def _embed(x: np.ndarray, shown: Callable[[int, int], None]) -> np.ndarray:
    n = x.shape[0]
    near, d = _nearest(x)
    rows, columns, p = np.repeat(np.arange(n), NEIGHBOURS), near.reshape(-1), _weights(d).reshape(-1) / (2 * n)
    graph = Graph(np.stack([np.concatenate([columns, rows]), np.concatenate([rows, columns])]), n)
    weight = Tensor(np.concatenate([p, p]).astype(np.float32)).reshape(-1, 1)
    start = x[:, :2] / max(float(x[:, 0].std()), 1e-12) * 1e-2
    start = start + np.random.default_rng(0).standard_normal((n, 2)) * 1e-4  # equal rows would never part
    y = Tensor(start.astype(np.float32))
    speed, gain = Tensor.zeros(n, 2).contiguous().realize(), Tensor.ones(n, 2).contiguous().realize()
    rate = max(n / 48, 20.0)

    def iterate(knobs: Tensor) -> Tensor:
        between = graph.dst(y) - graph.src(y)
        pull = graph.sum(between * (weight / (1 + between.square().sum(-1, keepdim=True))))
        a, b = y[:, 0:1] - y[:, 0].reshape(1, n), y[:, 1:2] - y[:, 1].reshape(1, n)
        w = 1 / (1 + a * a + b * b)
        push = Tensor.stack((w * w * a).sum(1), (w * w * b).sum(1), dim=1) / (w.sum() - n)
        slope = 4 * (knobs[0] * pull - push)
        gains = ((slope > 0) != (speed > 0)).where(gain + 0.2, gain * 0.8).maximum(0.01)
        moved = knobs[1] * speed - rate * gains * slope
        gain.assign(gains)
        speed.assign(moved)
        y.assign(y + moved)
        return y.realize(speed, gain)

    step: Any = TinyJit(iterate)
    early, late = Tensor([12.0, 0.5]).realize(), Tensor([1.0, 0.8]).realize()
    for k in range(EARLY + LATE):
        step(early if k < EARLY else late)
        shown(k + 1, EARLY + LATE)
    found = y.numpy()
    return found if np.isfinite(found).all() else x[:, :2]


__all__ = ["place", "principal"]
