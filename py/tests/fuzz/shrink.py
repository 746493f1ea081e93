"""Makes a failing program small, and writes it as a file that runs by itself.

Smaller means: a simpler kind, fewer outputs and targets, a step replaced by a leaf with its reference value or by its own operand, no steps that nothing
needs. Each candidate is kept if it still fails, for whatever reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import helpers
from .generate import Leaf, Program, Step, round_to
from .reference import WIDTH
from .run import Failure, run
from .tolerance import FLOATS, SLACK

SIMPLER = {"second": ["values", "first"], "first": ["values"], "separate": ["values", "first"], "jit": ["values", "first"], "step": ["values", "first"], "sized": ["values"], "large": ["values", "first"]}  # fmt: skip


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


def shrink(failure: Failure, tries: int = 400) -> Failure:
    """The smallest failure that was found."""
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
            try:
                smaller = run(c, failure.device)
            except Exception:  # the candidate is no program: the reference cannot compute it
                continue
            if smaller is not None and _measure(smaller.program) < _measure(best.program):
                best, found = smaller, True
                break
    return best


def _measure(p: Program) -> tuple[int, int, int, int]:
    return len(p.steps), ["values", "first", "separate", "second", "large", "sized", "jit", "step"].index(p.kind), len(p.outputs), len(p.leaves) + len(p.targets)


# ---- a file that runs by itself ----


def _array(a: np.ndarray, dt: str) -> str:
    numpy = "float32" if dt == "bfloat16" else dt
    if a.size > 2000:
        return f"np.random.default_rng(0).uniform(-2, 2, {a.shape}).astype('{numpy}')  # the values of the program are drawn in its replay"
    return f"np.array({a.tolist()!r}, '{numpy}').reshape({a.shape})".replace("nan", "np.nan").replace("inf", "np.inf")


def source(failure: Failure) -> str:
    """The program as Python: inputs, the lines that fail, and what was expected."""
    p = failure.program
    out = [
        f'"""Seed {p.seed}, {p.kind}, on {failure.device}: {_quote(failure.text)}',
        "",
        f'Replay with all checks: python -m fuzz --replay {p.seed} --device {failure.device}"""',
        "import numpy as np",
        "from polygrad import Device, Graph, Tensor",
        "from polygrad.geometric.utils import scatter, softmax",
        "",
        f"Device.DEFAULT = {failure.device!r}",
    ]
    text = "\n".join(p.text())
    for name, f in vars(helpers).items():
        if name.startswith("fuzz_") and name in text:
            out += ["", "from polygrad.vertex import zoomIn, zoomOut" if "zoomIn" in inspect.getsource(f) else "", inspect.getsource(f)]
    for name, leaf in p.leaves.items():
        cast = ".cast('bfloat16').realize()" if leaf.dt == "bfloat16" else ""
        out.append(f"{name} = Tensor({_array(leaf.values, leaf.dt)}){cast}")
    out += p.text()
    if p.kind not in ("values", "separate", "sized"):
        out += _gradient_text(p)
    realized = [*p.outputs, *(["*grads"] if p.kind in ("first", "second", "jit", "step", "large") else []), *(["*seconds"] if p.kind == "second" else [])]
    out.append(f"Tensor.realize({', '.join(realized)})")
    out += [f"print({o!r}, {o}.numpy())" for o in p.outputs]
    if p.kind not in ("values", "separate", "sized"):
        out.append(f"for name, g in zip({p.targets!r}, grads): print('gradient of', name, g.numpy())")
    if p.kind == "second":
        out.append(f"for name, g in zip({p.targets!r}, seconds): print('second gradient of', name, g.numpy())")
    if failure.check is not None:
        c = failure.check
        out.append(f"print('expected', {c.label!r}, {np.array2string(c.ref.v, threshold=200)!r}, 'allowed', {np.array2string(SLACK * c.ref.e, threshold=200, precision=3)!r})")
    return "\n".join(out) + "\n"


def _quote(text: str) -> str:
    return text.replace("\\", "/").replace('"""', "'''")


def _gradient_text(p: Program) -> list[str]:
    """The weighted sum of the outputs, and its gradients."""
    from .run import weights

    refs = p.evaluate()
    terms, out = [], []
    for k, o in enumerate(p.outputs):
        r = refs[o]
        if r.is_float:
            terms.append(f"({o} * Tensor({_array(weights(p, k, r.shape, r.dt).values, r.dt)}).cast('{r.dt}')).sum()")
    targets = [t for t in p.targets if refs[t].dt in FLOATS]
    out.append(f"grads = ({' + '.join(terms)}).gradient({', '.join(targets)}, materialize_grads=True)")
    if p.kind == "second":
        again = []
        for k, t in enumerate(targets):
            r = refs[t]
            again.append(f"(grads[{k}] * Tensor({_array(weights(p, 100 + k, r.shape, r.dt).values, r.dt)}).cast('{r.dt}')).sum()")
        out.append(f"seconds = ({' + '.join(again)}).gradient({', '.join(targets)}, materialize_grads=True)")
    return out


def save(failure: Failure, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"fail_{failure.program.seed}_{failure.device.lower()}.py"
    path.write_text(source(failure))
    return path
