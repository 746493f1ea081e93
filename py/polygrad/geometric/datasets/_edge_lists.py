"""Edges on the host: loops dropped, both directions, each edge once and in order."""

from __future__ import annotations

import numpy as np


def without_loops(pairs: np.ndarray) -> np.ndarray:
    return pairs[:, pairs[0] != pairs[1]]


def once(pairs: np.ndarray, by_row: bool = True) -> np.ndarray:
    """Every edge once, sorted by source and destination, or by destination and source. O(E log E)."""
    major, minor = (0, 1) if by_row else (1, 0)
    order = np.lexsort((pairs[minor], pairs[major]))
    pairs = pairs[:, order]
    first = np.ones(pairs.shape[1], bool)
    first[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    return np.ascontiguousarray(pairs[:, first])


def both_ways(pairs: np.ndarray) -> np.ndarray:
    """With the opposite of every edge, each once, sorted."""
    return once(np.concatenate([pairs, pairs[::-1]], axis=1))


def check_pairs(pairs: np.ndarray, n: int, what: str) -> np.ndarray:
    """pairs; an error that names the first bad one."""
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
        k = int(np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=0))[0])
        raise ValueError(f"{what}: edge {k} joins {int(pairs[0, k])} and {int(pairs[1, k])}, but there are {n} nodes, numbered from 0")
    return pairs


__all__ = ["both_ways", "check_pairs", "once", "without_loops"]
