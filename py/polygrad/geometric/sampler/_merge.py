"""Samples joined: nodes and edges that several have once (replace), or one sample after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

FIELDS = ("edge", "orig_row", "orig_col", "batch", "num_sampled_nodes", "num_sampled_edges")


def _first(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each different row the place where it first occurs, in order; and for all rows which of these it is."""
    _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(order.size, np.int64)
    rank[order] = np.arange(order.size)
    return first[order], rank[inverse.reshape(-1)]


def _new(counts: Any, rank: np.ndarray, old: int, distinct_old: int) -> list[int]:
    """How many of the rows of each hop of the second sample the first one has not; each hop is counted by itself."""
    out, at = [], old
    for n in counts:
        out.append(int((np.unique(rank[at : at + int(n)]) >= distinct_old).sum()))
        at += int(n)
    return out


def _both(a: Any, b: Any, shift: int = 0) -> Any:
    return None if a is None or b is None else np.concatenate([a, np.asarray(b) + shift])


def _lists(a: Any, b: Any) -> Any:
    return None if a is None or b is None else list(a) + list(b)


def after(a: Any, b: Any) -> dict[str, Any]:
    """Fields of both samples, b's nodes after a's."""
    n = a.node.size
    return {
        "node": _both(a.node, b.node), "row": _both(a.row, b.row, n), "col": _both(a.col, b.col, n), "edge": _both(a.edge, b.edge),
        "batch": _both(a.batch, b.batch, n), "num_sampled_nodes": _lists(a.num_sampled_nodes, b.num_sampled_nodes),
        "num_sampled_edges": _lists(a.num_sampled_edges, b.num_sampled_edges), "orig_row": _both(a.orig_row, b.orig_row, n),
        "orig_col": _both(a.orig_col, b.orig_col, n), "metadata": [a.metadata, b.metadata],
    }  # fmt: skip


def merged(a: Any, b: Any) -> dict[str, Any]:
    """Fields of the union: a node is the same if its number is, and for disjoint samples also its seed; an edge if its ends and its number are."""
    keys = [np.concatenate([a.node, b.node])]
    disjoint = a.batch is not None and b.batch is not None
    if disjoint:
        keys.append(np.concatenate([a.seed_node, b.seed_node]))
    first, rank = _first(np.stack(keys, axis=1))
    n = a.node.size
    place_a, place_b = rank[:n], rank[n:]
    out: dict[str, Any] = {"node": keys[0][first], "metadata": [a.metadata, b.metadata]}
    both_ways = all(s.orig_row is not None and s.orig_col is not None for s in (a, b))
    ends = [(s.orig_row, s.orig_col) if both_ways else (s.row, s.col) for s in (a, b)]
    row, col = (np.concatenate([place_a[ends[0][k]], place_b[ends[1][k]]]) for k in (0, 1))
    parts = [row, col]
    has_edges = a.edge is not None and b.edge is not None
    if has_edges:
        parts.append(np.concatenate([_drawn(s, e) if both_ways else s.edge for s, e in zip((a, b), ends)]))
    first_edge, edge_rank = _first(np.stack(parts, axis=1))
    m = ends[0][0].size
    out |= {"row": row[first_edge], "col": col[first_edge], "edge": parts[2][first_edge] if has_edges else None, "batch": None}
    if disjoint:
        out |= _seeds(keys[0][first], keys[1][first])
    for name, ranks, old, distinct in (("nodes", rank, n, np.unique(rank[:n]).size), ("edges", edge_rank, m, np.unique(edge_rank[:m]).size)):
        x, y = getattr(a, f"num_sampled_{name}"), getattr(b, f"num_sampled_{name}")
        out[f"num_sampled_{name}"] = None if x is None or y is None else list(x) + _new(y, ranks, old, distinct)
    return out | {"both_ways": both_ways}


def _seeds(node: np.ndarray, seed: np.ndarray) -> dict[str, Any]:
    """The place of each node's seed among the nodes, where it is: a seed belongs to itself. Else the numbers of the seeds alone."""
    own = np.flatnonzero(node == seed)
    order = own[np.argsort(seed[own], kind="stable")]
    at = np.searchsorted(seed[order], seed)
    there = at < order.size
    there[there] = seed[order[at[there]]] == seed[there]
    if there.all():
        return {"batch": order[at]}
    return {"batch": np.unique(seed, return_inverse=True)[1].reshape(-1), "_seed_node": seed}


def _drawn(s: Any, ends: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The numbers of the drawn edges of a sample that also has their opposites."""
    width = s.node.size
    key, wanted = s.row.astype(np.int64) * width + s.col, ends[0].astype(np.int64) * width + ends[1]
    order = np.argsort(key, kind="stable")
    return s.edge[order[np.searchsorted(key[order], wanted)]]


__all__ = ["FIELDS", "after", "merged"]
