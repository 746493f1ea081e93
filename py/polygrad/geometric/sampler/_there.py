"""Neighbours drawn on a device that alone has the edges: the sample that the C sampler draws on the host, number by number.

A hop is a few programs. What each node takes, and how many nodes are new, are read by the host, because sizes depend on them: two numbers.

    takes     edges of each node of the hop, and their running sum           [n]
    draws     for each edge its node and its place in the row                [edges]
    numbers   the first edge that leads to each node, and its rank among those that lead to new ones

Nodes are numbered in the order in which edges reach them, as the host does it one by one: a node's number is the rank of the first edge to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._core import C, current, like, wrap
from ...dtypes import dtypes
from ...graphs import Graph
from ...tensor import Tensor
from ..data._there import join, there, upload

MOST_DRAWN = 32  # without replacement: pick.c has another method beyond
_NOWHERE = (1 << 31) - 1


def can_draw(counts: Any, replace: bool) -> bool:
    """Are these numbers of neighbours among those that are drawn here?"""
    return replace or int(np.max(counts, initial=0)) <= MOST_DRAWN


class DrawnThere(NamedTuple):
    node: Tensor
    pairs: Tensor
    edge: Tensor
    hop_nodes: list[int]
    hop_edges: list[int]


def _iota(n: int) -> Tensor:
    g = current()
    return wrap(g, C.poly_iota(g.ptr, dtypes.int32.code, n))


def _search(ascending: Tensor, values: Tensor, right: bool) -> Tensor:
    return like(values, C.poly_searchsorted(ascending._h, values._h, right)).cast(dtypes.int32)


def _number(x: Tensor) -> Tensor:
    """A number as an int32 of its own, to be read by the host."""
    return x.cast(dtypes.int32).sum().cast(dtypes.int32)


class RowsThere:
    """The edges into each node, on the device."""

    def __init__(self, edge_index: Tensor, num_nodes: int):
        graph = Graph(edge_index, num_nodes)
        self.num_nodes, self.num_edges = num_nodes, int(edge_index.shape[1])
        self.rowptr, self.entry, self.other = graph.rowptr("in"), graph.order("in"), graph.other("in")

    def draw(self, counts: Sequence[int], replace: bool, seeds: np.ndarray, seed: int, batch: int) -> DrawnThere:
        bad = np.flatnonzero((seeds < 0) | (seeds >= self.num_nodes))
        if bad.size:
            raise IndexError(f"seed {bad[0]}: {seeds[bad[0]]} is out of range for {self.num_nodes} nodes")
        s = _Sample(self, seeds, seed, batch)
        for hop, count in enumerate(counts):
            s.hop(hop, int(count), replace)
        return s.result()


def rows_there(edge_index: Any, num_nodes: int) -> RowsThere | None:
    """The rows of the edges, if the current device alone has them and there are enough."""
    if not there(edge_index) or edge_index.ndim != 2 or not C.poly_samples_there(current().ptr, int(edge_index.shape[1])):
        return None
    return RowsThere(edge_index, num_nodes)


class _Sample:
    def __init__(self, rows: RowsThere, seeds: np.ndarray, seed: int, batch: int):
        self.rows, self.key = rows, (seed & 0xFFFFFFFFFFFFFFFF, batch)
        self.last = upload(seeds.astype(np.int32))  # the nodes of the last hop, of which the first has the number begin
        self.begin, self.end = 0, seeds.size
        self.nodes: list[Tensor] = [self.last]
        self.ends: list[Tensor] = []
        self.edges: list[Tensor] = []
        self.hop_nodes, self.hop_edges = [int(seeds.size)], list[int]()
        self.table: Any = self._first(self.last).realize() if seeds.size else None  # the number of each node of the graph, or _NOWHERE

    def _first(self, node: Tensor) -> Tensor:
        """For each node of the graph the first place that names it, or _NOWHERE."""
        nowhere = Tensor.full((self.rows.num_nodes,), _NOWHERE, dtype=dtypes.int32)
        place = _iota(int(node.shape[0]))
        return like(node, C.poly_scatter_reduce(nowhere._h, 0, node._h, place._h, b"amin", True))

    def hop(self, hop: int, count: int, replace: bool) -> None:
        edges = fresh = 0
        if self.begin < self.end and count and self.rows.num_edges:
            edges, fresh = self._hop(hop, count, replace)
        self.hop_edges.append(edges)
        self.hop_nodes.append(fresh)
        self.begin, self.end = self.end, self.end + fresh

    def _hop(self, hop: int, count: int, replace: bool) -> tuple[int, int]:
        start, stop = self.rows.rowptr.index_select(0, self.last), self.rows.rowptr.index_select(0, self.last + 1)
        degree = stop - start
        if count < 0:
            take = degree
        else:
            take = Tensor.where(degree > 0, count, 0).cast(dtypes.int32) if replace else degree.minimum(count)
        ends = take.cumsum(0).cast(dtypes.int32)
        total = _number(take)
        Tensor.realize(start, degree, take, ends, total)
        edges = int(total.item())
        if not edges:
            return 0, 0
        k = _iota(edges)
        node = _search(ends, k, True).realize()  # of the hop
        j = k - (ends - take).index_select(0, node)
        size = degree.index_select(0, node)
        if count < 0:
            at = j
        elif replace:
            at = self._below(node + self.begin, j, size, hop)
        else:
            chosen = self._apart(degree, count, hop).index_select(0, node * count + j)
            at = Tensor.where(size <= count, j, chosen)
        place = start.index_select(0, node) + at
        src, edge, dst = self.rows.other.index_select(0, place), self.rows.entry.index_select(0, place), node + self.begin
        src, edge = src.contiguous(), edge.cast(dtypes.int64).contiguous()
        Tensor.realize(src, edge)
        return edges, self._numbered(src, dst, edge, k)

    def _below(self, row: Tensor, number: Tensor, size: Tensor, hop: int) -> Tensor:
        return like(row, C.poly_draw_below(row._h, number._h, size._h, *self.key, hop)).cast(dtypes.int32)

    def _apart(self, degree: Tensor, count: int, hop: int) -> Tensor:
        """[n * count] places in each row of more than count edges, none twice (Floyd; see pick_few in pick.c)."""
        row, out = _iota(int(degree.shape[0])) + self.begin, list[Tensor]()
        for c in range(count):
            last = (degree - (count - c)).maximum(0)
            drawn = self._below(row, Tensor.full((1,), c, dtype=dtypes.int32), last + 1, hop)
            for before in out:
                drawn = Tensor.where(before == drawn, -1, drawn)  # drawn before: it is no place
            out.append(Tensor.where(drawn < 0, last, drawn).cast(dtypes.int32).contiguous())
        return Tensor.stack(*out, dim=1).reshape(-1)

    def _numbered(self, src: Tensor, dst: Tensor, edge: Tensor, k: Tensor) -> int:
        """Numbers the nodes that edges lead to; how many are new."""
        first = self._first(src).realize()
        leads = (self.table.index_select(0, src) == _NOWHERE) & (first.index_select(0, src) == k)
        rank = leads.cast(dtypes.int32).cumsum(0).cast(dtypes.int32)
        fresh = _number(leads)
        Tensor.realize(rank, fresh)
        number = rank.index_select(0, first.minimum(int(k.shape[0]) - 1)) + (self.end - 1)
        known = self.table != _NOWHERE
        self.table = Tensor.where(known, self.table, Tensor.where(first == _NOWHERE, _NOWHERE, number)).cast(dtypes.int32).realize()
        pairs = [x.cast(dtypes.int64).reshape(1, -1) for x in (self.table.index_select(0, src), dst)]
        Tensor.realize(*pairs)
        self.ends.append(join(pairs, 0))
        self.edges.append(edge)
        new = int(fresh.item())
        if new:
            self.last = src.index_select(0, _search(rank, _iota(new) + 1, False)).realize()
            self.nodes.append(self.last)
        return new

    def result(self) -> DrawnThere:
        node = join(self.nodes, 0).cast(dtypes.int64).realize()
        none = np.zeros((2, 0), np.int64)
        pairs = join(self.ends, 1) if self.ends else upload(none)
        edge = join(self.edges, 0) if self.edges else upload(none[0])
        return DrawnThere(node, pairs, edge, self.hop_nodes, self.hop_edges)


__all__ = ["DrawnThere", "RowsThere", "can_draw", "rows_there"]
