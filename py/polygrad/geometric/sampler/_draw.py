"""The C sampler: relations that neighbours are drawn from, and samples. Works on arrays alone, so any thread may call it.

A drawn sample is arrays of int64: nodes by type, edges by relation, both also hop by hop.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._core import C, current, to_dtype
from ..._ffi import ERRORS, struct_type

PolyRelation, PolySeeds, PolySampleSpec = struct_type("PolyRelation"), struct_type("PolySeeds"), struct_type("PolySampleSpec")


def draw_seed() -> int:
    """A seed out of the generator that Tensor.manual_seed sets."""
    return current().draw_seed()


def thread_count() -> int:
    return max(1, C.poly_threads(current().ptr))


def generator(seed: int, *more: int) -> np.random.Generator:
    """Random numbers that are a function of the seed and what is given beside it."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, *more])))


def vector(x: Any, what: str, dtype: Any = np.int64) -> np.ndarray:
    """x as a contiguous array with one axis."""
    a = np.asarray(x)
    if a.ndim != 1:
        raise ValueError(f"{what} must have one axis, not the shape {a.shape}")
    if dtype is np.int64 and a.dtype.kind not in "iub" and a.size:
        raise TypeError(f"{what} must hold whole numbers, not {a.dtype}")
    return np.ascontiguousarray(a, dtype)


class Seeds(NamedTuple):
    """Nodes of one type to start from, and their times."""

    type: int
    node: np.ndarray
    time: np.ndarray | None = None


class Plan(NamedTuple):
    """What is drawn: counts[relation][hop] edges for each node, or for HGT counts[type][hop] nodes."""

    counts: np.ndarray
    replace: bool = False
    disjoint: bool = False
    induced: bool = False
    last: bool = False
    by_budget: bool = False


class Drawn:
    """One sample. The arrays are copies; the sampler goes on to the next."""

    __slots__ = ("node", "batch", "pairs", "edge", "hop_nodes", "hop_edges")

    def __init__(self, types: int, relations: int):
        self.node: list[np.ndarray] = [np.zeros(0, np.int64)] * types
        self.batch: list[np.ndarray] | None = None
        self.pairs: list[np.ndarray] = [np.zeros((2, 0), np.int64)] * relations  # local source and destination of each edge
        self.edge: list[np.ndarray] = [np.zeros(0, np.int64)] * relations
        self.hop_nodes: list[list[int]] = []
        self.hop_edges: list[list[int]] = []


class Relations:
    """Rows of edges by destination. num_nodes: of each type of nodes."""

    def __init__(self, num_nodes: Sequence[int]):
        self.num_nodes = [int(n) for n in num_nodes]
        self.count = 0
        self._free: list[int] = []  # samples that nobody is using
        counts = (ctypes.c_int64 * len(self.num_nodes))(*self.num_nodes)
        self._p = C.poly_sampler_new(None, len(self.num_nodes), counts)
        if not self._p:
            raise MemoryError("no memory for a sampler")

    def __del__(self, free: Any = C.poly_sampler_free, free_sample: Any = C.poly_sample_free) -> None:
        for sample in getattr(self, "_free", ()):
            free_sample(sample)
        if getattr(self, "_p", None):
            free(self._p)

    def __copy__(self) -> Relations:
        return self

    def __deepcopy__(self, memo: Any) -> Relations:
        return self  # rows do not change once they are there

    def __reduce__(self) -> Any:
        raise TypeError("rows to draw from lie in the memory of this process and cannot be pickled: pickle the data, and make the loader again")

    def add(
        self,
        src_type: int,
        dst_type: int,
        src: np.ndarray,
        dst: np.ndarray,
        ids: np.ndarray | None = None,
        edge_time: np.ndarray | None = None,
        src_time: np.ndarray | None = None,
        weight: np.ndarray | None = None,
    ) -> None:
        """Adds a relation. With times, edges must be given in the order of their times."""
        dtype = np.int32 if src.dtype == np.int32 and dst.dtype == np.int32 else np.int64
        arrays = {"src": vector(src, "sources", dtype), "dst": vector(dst, "destinations", dtype)}
        for name, values in (("id", ids), ("edge_time", edge_time), ("src_time", src_time), ("weight", weight)):
            if values is not None:
                arrays[name] = vector(values, name, np.float64 if name == "weight" else np.int64)
        want = {"src_time": self.num_nodes[src_type]}
        for name, values in arrays.items():
            n = want.get(name, arrays["src"].size)
            if values.size != n:
                raise ValueError(f"{name} has {values.size} entries for {n} {'nodes' if name == 'src_time' else 'edges'}")
        relation = PolyRelation(
            src_type=src_type,
            dst_type=dst_type,
            dtype=to_dtype(np.dtype(dtype)).code,
            num_edges=arrays["src"].size,
            **{name: a.ctypes.data for name, a in arrays.items()},
        )
        if C.poly_sampler_add(self._p, ctypes.addressof(relation), thread_count()):
            code = C.poly_sampler_error(self._p)
            raise ERRORS.get(code, RuntimeError)(C.poly_sampler_error_text(self._p).decode(errors="replace"))
        self.count += 1

    def draw(self, plan: Plan, seeds: Sequence[Seeds], seed: int, batch: int, threads: int) -> Drawn:
        """A sample: a function of (seed, batch) and the seeds, whatever the number of threads."""
        sample = self._free.pop() if self._free else C.poly_sample_new(self._p)
        if not sample:
            raise MemoryError("no memory for a sample")
        try:
            return self._run(sample, plan, seeds, seed, batch, threads)
        finally:
            self._free.append(sample)

    def _run(self, sample: int, plan: Plan, seeds: Sequence[Seeds], seed: int, batch: int, threads: int) -> Drawn:
        counts = np.ascontiguousarray(plan.counts, np.int64)
        hops = counts.shape[1]
        spec = PolySampleSpec(
            hops=hops,
            counts=counts.ctypes.data,
            replace=plan.replace,
            disjoint=plan.disjoint,
            induced=plan.induced,
            last=plan.last,
            seed=seed & 0xFFFFFFFFFFFFFFFF,
            batch=batch,
            threads=threads,
        )
        given = (PolySeeds * max(len(seeds), 1))()
        for k, s in enumerate(seeds):
            given[k].type, given[k].count, given[k].node = s.type, s.node.size, s.node.ctypes.data
            given[k].time = None if s.time is None else s.time.ctypes.data
        run = C.poly_sample_run_hgt if plan.by_budget else C.poly_sample_run
        if run(sample, ctypes.addressof(spec), len(seeds), ctypes.addressof(given)):
            code = C.poly_sample_error(sample)
            raise ERRORS.get(code, RuntimeError)(C.poly_sample_error_text(sample).decode(errors="replace"))
        return self._read(sample, hops, plan.disjoint or any(s.time is not None for s in seeds))

    def _read(self, sample: int, hops: int, disjoint: bool) -> Drawn:
        types = len(self.num_nodes)
        out = Drawn(types, self.count)
        read = C.poly_sample_read
        for t in range(types):
            out.node[t] = np.empty(C.poly_sample_num_nodes(sample, t), np.int64)
            read(sample, b"n", t, out.node[t].ctypes.data)
        if disjoint:
            out.batch = [np.empty_like(node) for node in out.node]
            for t in range(types):
                read(sample, b"b", t, out.batch[t].ctypes.data)
        for r in range(self.count):
            n = C.poly_sample_num_edges(sample, r)
            out.pairs[r], out.edge[r] = np.empty((2, n), np.int64), np.empty(n, np.int64)
            address = out.pairs[r].ctypes.data
            read(sample, b"s", r, address)
            read(sample, b"d", r, address + 8 * n)
            read(sample, b"e", r, out.edge[r].ctypes.data)
        out.hop_nodes = [[C.poly_sample_hop_nodes(sample, t, h) for h in range(hops + 1)] for t in range(types)]
        out.hop_edges = [[C.poly_sample_hop_edges(sample, r, h) for h in range(hops)] for r in range(self.count)]
        return out

    def walk(self, relation: int, start: np.ndarray, length: int, p: float, q: float, seed: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Random walks: nodes [n, length + 1], edges [n, length]."""
        if length < 0:
            raise ValueError(f"the length of a walk is {length}")
        if not (p > 0 and q > 0):
            raise ValueError(f"p and q must be above 0, got {p} and {q}")
        start = vector(start, "start")
        nodes, edges = np.empty((start.size, length + 1), np.int64), np.empty((start.size, length), np.int64)
        bad = C.poly_sampler_walk(
            self._p, relation, start.ctypes.data, start.size, length, p, q, seed & 0xFFFFFFFFFFFFFFFF, threads, nodes.ctypes.data, edges.ctypes.data
        )  # fmt: skip
        if bad >= 0 and start.size:
            raise IndexError(f"start {bad}: {start[bad]} is out of range for {self.num_nodes[0]} nodes")
        return nodes, edges


def gather(values: np.ndarray, index: np.ndarray, threads: int) -> np.ndarray:
    """values[index] along the first axis, by several threads."""
    if not values.flags.c_contiguous:
        return np.take(values, index, axis=0)
    out = np.empty((index.size, *values.shape[1:]), values.dtype)
    width = values.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    bad = C.poly_gather_rows(values.ctypes.data, values.shape[0], width, index.ctypes.data, index.size, out.ctypes.data, threads)
    if bad >= 0:
        raise IndexError(f"index {bad}: {index[bad]} is out of range for {values.shape[0]} rows")
    return out


__all__ = ["Drawn", "Plan", "Relations", "Seeds", "draw_seed", "gather", "generator", "thread_count", "vector"]
