"""Random programs: leaves, a list of steps out of the tables of operations, outputs, and how they are to be run.

A program is made together with its reference, so that operands fit and values stay of a size that says something. What a program is depends
on its seed alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import graph_ops as _graph_ops  # noqa: F401  adds to OPS
from . import loop_ops as _loop_ops  # noqa: F401
from . import mixed_ops as _mixed_ops
from . import reference as R
from .dense_ops import WIDTHS, is_dense
from .ops import OPS
from .tolerance import FLOATS

KINDS = {"values": 0.2, "first": 0.2, "second": 0.18, "separate": 0.05, "jit": 0.1, "step": 0.1, "sized": 0.085, "resized": 0.08, "large": 0.005}


@dataclass
class Leaf:
    """An input. fill says how to draw its values: ("float", on a grid), ("int", low, high), ("hub", 0, nodes): edges, a third of
    them into one node."""

    values: np.ndarray
    dt: str
    fill: tuple

    def drawn(self, rng: np.random.Generator, shape: tuple[int, ...] | None = None) -> Leaf:
        """The same leaf with other values."""
        return replace(self, values=draw(rng, self.values.shape if shape is None else shape, self.dt, self.fill))


@dataclass
class Step:
    name: str
    op: str
    args: tuple[str, ...]
    params: dict[str, Any]

    def text(self) -> str:
        return OPS[self.op].text.format(*self.args, **self.params)


@dataclass
class Program:
    seed: int
    kind: str
    leaves: dict[str, Leaf] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)  # leaves that gradients are asked for
    keep: bool = True  # whether results of earlier runs stay alive
    refs: dict[str, R.Ref] | None = field(default=None, init=False, repr=False, compare=False)  # of its own leaves, if they are known

    def text(self) -> list[str]:
        return [f"{s.name} = {s.text()}" for s in self.steps]

    def evaluate(self, leaves: dict[str, Any] | None = None) -> dict[str, R.Ref]:
        """The reference values of everything, with the program's own leaves or others (Leaf or Ref)."""
        if leaves is None and self.refs is not None:
            return dict(self.refs)
        refs = {k: v if isinstance(v, R.Ref) else R.leaf(v.values, v.dt) for k, v in (leaves or self.leaves).items()}
        with np.errstate(all="ignore"):
            for s in self.steps:
                refs[s.name] = OPS[s.op].ref(*[refs[a] for a in s.args], **s.params)
        return refs


def round_to(a: np.ndarray, dt: str) -> np.ndarray:
    """float64 values as a float dtype holds them."""
    if dt == "bfloat16":
        bits = np.asarray(a, np.float32).view(np.uint32).astype(np.uint64)
        a = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    else:
        a = np.asarray(a).astype(dt)
    return a.astype(np.float64)


def draw(rng: np.random.Generator, shape: tuple[int, ...], dt: str, fill: tuple) -> np.ndarray:
    if fill[0] == "float":
        a = rng.uniform(-2, 2, shape)
        return round_to(np.round(a * 4) / 4 if fill[1] else a, dt)  # a grid: equal values are likely
    low, high = fill[1:]
    a = rng.integers(low, max(high, low + 1), shape).astype(bool if dt == "bool" else np.int64)
    if fill[0] == "hub":
        a[1, ::3] = high // 2
    return a


SIZED_ROWS = 6  # no other axis has this size: equal sizes must not look like the same one


@dataclass
class GraphLeaf:
    name: str
    n: int
    edges: int


class Maker:
    """A program in the making: what choosers see."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        kind = str(self.rng.choice(list(KINDS), p=list(KINDS.values())))
        self.program = Program(seed, kind)
        self.crowd = kind == "large" and bool(self.rng.random() < 0.5)  # maps of many edges, a third of them into one node
        self.sized = kind in ("sized", "large") and not self.crowd  # only operations that work for any number of rows
        self.dense = self.crowd or not self.sized and bool(self.rng.random() < 0.2)  # sums of products of a size for tiles
        self.most = 400000 if kind == "large" else 12000 if self.dense else 3000
        self.refs: dict[str, R.Ref] = {}
        self.pool: list[str] = []
        self.graph: GraphLeaf | None = None
        self.wide = self.rng.random() < 0.1  # a long last axis: vectors, and their remainders
        self.half = self.rng.random() < 0.15
        self.main = str(self.rng.choice(["float32", "float64"]))
        self.grid = self.rng.random() < 0.15
        self.mixed = not self.sized and not self.crowd and np.random.default_rng([seed, 5]).random() < 0.3  # operations of mixed_ops.py, too

    # ---- leaves ----

    def float_dtype(self) -> str:
        return str(self.rng.choice(["float16", "bfloat16", "float32"])) if self.half and self.rng.random() < 0.5 else self.main

    def add_leaf(self, shape: tuple[int, ...], dt: str, fill: tuple, pooled: bool) -> str:
        name = f"x{len(self.program.leaves)}"
        values = draw(self.rng, shape, dt, fill)
        self.program.leaves[name] = Leaf(values, dt, fill)
        self.refs[name] = R.leaf(values, dt)
        if pooled:
            self.pool.append(name)
        return name

    def float_leaf(self, shape: tuple[int, ...], dt: str) -> str:
        return self.add_leaf(tuple(shape), dt, ("float", self.grid), True)

    def indices(self, shape: tuple[int, ...], size: int) -> str:
        return self.add_leaf(tuple(shape), str(self.rng.choice(["int32", "int64"])), ("int", 0, size), False)

    def shape(self) -> tuple[int, ...]:
        shape = [int(v) for v in self.rng.integers(1, 5, self.rng.integers(0 if self.rng.random() < 0.1 else 1, 4))]
        if shape and self.dense:
            shape[-1] = int(self.rng.choice(WIDTHS))
        elif shape and self.wide:
            shape[-1] = int(self.rng.choice([8, 16, 33, 67]))
        if shape and self.rng.random() < 0.06:
            shape[int(self.rng.integers(len(shape)))] = 0
        return tuple(shape)

    def the_graph(self) -> GraphLeaf:
        if self.graph is None:
            top = (24, 120) if self.dense else (7, 13)
            if self.crowd:
                n, e = int(self.rng.integers(2, 60)), int(self.rng.integers(1100, 3500))
                self.graph = GraphLeaf(self.add_leaf((2, e), "int64", ("hub", 0, n), False), n, e)
                return self.graph
            n, e = int(self.rng.integers(1, top[0])), int(self.rng.integers(0 if self.rng.random() < 0.1 else 1, top[1]))
            self.graph = GraphLeaf(self.add_leaf((2, e), "int64", ("int", 0, n), False), n, e)
        return self.graph

    # ---- what choosers ask ----

    @staticmethod
    def is_kind(r: R.Ref, kind: str) -> bool:
        if kind == "float":
            return r.is_float
        if kind == "int":
            return not r.is_float and r.dt != "bool"
        return kind == "any" or not r.is_float

    @staticmethod
    def size_of(r: R.Ref) -> float:
        """The largest value; infinite if it is not a number."""
        if r.size == 0:
            return 0.0
        top = float(np.max(np.abs(r.v.astype(np.float64))))
        return top if np.isfinite(top) else np.inf

    def pick(self, wanted: Any) -> str | None:
        """One of the latest values that fit."""
        fit = [n for n in self.pool if wanted(self.refs[n])]
        return str(self.rng.choice(fit[-6:])) if fit else None

    def partner(self, a: str, limit: float) -> str:
        """An operand that can be broadcast with a."""
        r = self.refs[a]

        def fits(q: R.Ref) -> bool:
            if (not r.is_float and q.dt != r.dt) or q.is_float != r.is_float or not self.size_of(q) <= limit:
                return False
            if self.sized and q.shape != r.shape and q.shape[:1] != (1,):
                return False
            try:
                return int(np.prod(np.broadcast_shapes(r.shape, q.shape))) <= self.most
            except ValueError:
                return False

        fit = [n for n in self.pool if fits(self.refs[n])]
        if fit and (self.sized or self.rng.random() < 0.7):
            return str(self.rng.choice(fit[-6:]))
        if self.sized:
            return a
        drop = int(self.rng.integers(0, r.ndim + 1))
        shape = tuple(1 if self.rng.random() < 0.3 else n for n in r.shape[drop:])
        return (
            self.float_leaf(shape, self.float_dtype())
            if r.is_float
            else self.add_leaf(shape, r.dt, ("int", -5 if r.dt[0] == "i" else 0, 2 if r.dt == "bool" else 9), True)
        )

    # ---- making ----

    def begin(self) -> None:
        if self.sized:
            rows = int(self.rng.integers(5000, 40000)) if self.program.kind == "large" else SIZED_ROWS
            for _ in range(2):
                self.float_leaf((rows, int(self.rng.integers(1, 4))), self.main)
            return
        for _ in range(int(self.rng.integers(1, 3))):
            self.float_leaf(self.shape(), self.float_dtype())
        if self.rng.random() < 0.2:
            dt = str(self.rng.choice(["int8", "uint8", "int16", "int32", "int64", "bool"]))
            self.add_leaf(self.shape(), dt, ("int", -5 if dt[0] == "i" else 0, 2 if dt == "bool" else 9), True)

    def step(self, names: list[str], weights: np.ndarray) -> None:
        o = OPS[names[int(np.searchsorted(weights, self.rng.random() * weights[-1]))]]
        chosen = o.choose(self)
        if chosen is None:
            return
        args, params = chosen
        r = o.ref(*[self.refs[a] for a in args], **params)
        if r.size > self.most or r.ndim > 5:
            return
        name = f"t{len(self.program.steps)}"
        self.program.steps.append(Step(name, o.name, tuple(args), params))
        self.refs[name] = r
        self.pool.append(name)

    def finish(self) -> Program:
        p = self.program
        names = [s.name for s in p.steps]
        density = self.rng.choice([0.15, 0.5, 0.9])
        wanted = [n for n in names if self.rng.random() < density]
        if names and names[-1] not in wanted:
            wanted.append(names[-1])
        self.rng.shuffle(wanted)
        p.outputs = wanted
        p.targets = [k for k, v in p.leaves.items() if v.dt in FLOATS]
        p.keep = bool(self.rng.random() < 0.5)
        p.refs = self.refs
        return p


def _table(names: list[str]) -> tuple[list[str], np.ndarray]:
    return names, np.cumsum([OPS[n].weight for n in names])


_MIXED = [n for n in OPS if n.startswith(_mixed_ops.MIXED)]
_GRAPH = [n for n in OPS if n.startswith(("g_", "pyg_", "v_")) and not is_dense(n)]
_PLAIN = _table([n for n in OPS if n not in _GRAPH and n not in _MIXED and not is_dense(n)])
_DENSE = _table([n for n in OPS if n.startswith("d_")])
_DENSE_ON_GRAPHS = _table([n for n in OPS if is_dense(n) and not n.startswith("d_")])
_SIZED = _table([n for n in OPS if OPS[n].sized])
_LARGE = _table([n for n in OPS if OPS[n].sized and n != "prod"])  # a product of thousands says nothing
_ON_GRAPHS = _table(_GRAPH)
_OF_SEVERAL_PARTS = _table(_MIXED)


def generate(seed: int) -> Program:
    """The program of a seed."""
    m = Maker(seed)
    with np.errstate(all="ignore"):
        m.begin()
        graph = m.crowd or not m.sized and m.rng.random() < (0.5 if m.dense else 0.35)
        length = int(m.rng.integers(1, 4) if m.crowd else m.rng.integers(2, 6 if m.dense else 8 if m.program.kind == "second" else 12))
        sized = _LARGE if m.program.kind == "large" else _SIZED
        for _ in range(2 * length):
            if len(m.program.steps) >= length:
                break
            m.step(*(sized if m.sized else _tables(m, graph)))
    return m.finish()


def _tables(m: Maker, graph: bool) -> tuple[list[str], np.ndarray]:
    if m.crowd:
        return _DENSE_ON_GRAPHS
    if m.mixed and m.rng.random() < 0.4:
        return _OF_SEVERAL_PARTS
    on_graph = graph and m.rng.random() < 0.6
    if m.dense and m.rng.random() < 0.5:
        return _DENSE_ON_GRAPHS if on_graph else _DENSE
    return _ON_GRAPHS if on_graph else _PLAIN
