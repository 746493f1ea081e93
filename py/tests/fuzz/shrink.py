"""Makes a failing program small.

Smaller means: a simpler kind, fewer outputs and targets, a step replaced by a leaf with its reference value or by its own operand, no steps that nothing
needs. Each candidate is kept if it still fails, for whatever reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from .generate import Leaf, Program, Step, round_to
from .reference import WIDTH
from .run import Failure, run

SIMPLER = {"second": ["values", "first"], "first": ["values"], "separate": ["values", "first"], "jit": ["values", "first"], "step": ["values", "first"], "sized": ["values"], "resized": ["values", "first", "second"], "large": ["values", "first"]}  # fmt: skip


def trimmed(p: Program) -> Program:
    """Without what no output needs."""
    need, steps = set(p.outputs), []
    for s in reversed(p.steps):
        if s.name in need:
            steps.insert(0, s)
            need.update(s.args)
    leaves = {k: v for k, v in p.leaves.items() if k in need or k in p.outputs}
    return replace(p, steps=steps, leaves=leaves, targets=[t for t in p.targets if t in leaves])


def _cut(p: Program, s: Step) -> Program | None:
    """The step as a leaf that holds its value."""
    r = p.evaluate()[s.name]
    if p.kind == "sized" or not np.all(np.isfinite(r.v.astype(np.float64))) or (not r.is_float and r.dt not in WIDTH):
        return None
    values = round_to(r.v, r.dt) if r.is_float else r.v
    used_as_index = not r.is_float
    fill = ("int", int(np.min(values, initial=0)), int(np.max(values, initial=0)) + 1) if used_as_index else ("float", False)
    leaves = {**p.leaves, s.name: Leaf(values, r.dt, fill)}
    steps = [t for t in p.steps if t is not s]
    targets = [*p.targets, s.name] if r.is_float else p.targets
    return replace(p, leaves=leaves, steps=steps, targets=targets, outputs=[o for o in p.outputs if o != s.name])


def _bypass(p: Program, s: Step) -> Iterator[Program]:
    """The step's readers read one of its operands instead, where it has the same shape and dtype."""
    refs = p.evaluate()
    for a in s.args:
        if refs[a].shape == refs[s.name].shape and refs[a].dt == refs[s.name].dt:
            names = {s.name: a}
            steps = [replace(t, args=tuple(names.get(x, x) for x in t.args)) for t in p.steps if t is not s]
            outputs = list(dict.fromkeys(names.get(o, o) for o in p.outputs))
            yield replace(p, steps=steps, outputs=[o for o in outputs if o not in p.leaves])


def candidates(p: Program) -> Iterator[Program]:
    for kind in SIMPLER.get(p.kind, []):
        yield replace(p, kind=kind)
    if len(p.outputs) > 1:
        for o in p.outputs:
            yield replace(p, outputs=[x for x in p.outputs if x != o])
    for t in p.targets:
        yield replace(p, targets=[x for x in p.targets if x != t])
    for s in reversed(p.steps):
        if s.name in p.outputs and len(p.outputs) == 1 and s.args:
            inner = [a for a in s.args if a not in p.leaves]
            for a in inner:
                yield replace(p, outputs=[a])
        cut = _cut(p, s)
        if cut is not None and cut.outputs:
            yield cut
        yield from _bypass(p, s)


def shrink(failure: Failure, tries: int = 400, tick: Callable[[], None] = lambda: None) -> Failure:
    """The smallest failure that was found. tick is called before each try."""
    best = failure
    found = True
    while found and tries > 0:
        found = False
        for c in candidates(best.program):
            tries -= 1
            if tries <= 0:
                break
            c = trimmed(c)
            if not c.outputs:
                continue
            tick()
            try:
                smaller = run(c, failure.device)
            except Exception:  # the candidate is no program: the reference cannot compute it
                continue
            if smaller is not None and _measure(smaller.program) < _measure(best.program):
                best, found = smaller, True
                break
    return best


def _measure(p: Program) -> tuple[int, int, int, int]:
    return (
        len(p.steps),
        ["values", "first", "separate", "second", "large", "sized", "resized", "jit", "step"].index(p.kind),
        len(p.outputs),
        len(p.leaves) + len(p.targets),
    )
