"""Runs a program on a device in the way its kind asks for, and compares what comes out with the reference.

A run gives Checks: a tensor and the Ref that it must agree with. The Checks of many programs can be realized as one plan (see group), which
compiles their kernels as one file.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from polygrad import Context, Device, Graph, Tensor, TinyJit, Variable
from polygrad.geometric.utils import scatter, softmax
from polygrad.nn import compile_step

from . import helpers
from . import reference as R
from .generate import SIZED_ROWS, Leaf, Program, draw
from .optimizers import make, rule_of
from .resize import MAPS, other_sizes
from .tolerance import FLOATS, SLACK

ENV: dict[str, Any] = {"Tensor": Tensor, "Graph": Graph, "scatter": scatter, "softmax": softmax}
ENV.update({k: v for k, v in vars(helpers).items() if k.startswith("fuzz_")})
KNOWN_DEVICES = ("INTERP", "CPU", "TEST", "OPENCL", "CUDA")
GROUPED = ("values", "first", "second", "large")  # kinds whose results can be realized together with those of other programs


class Check(NamedTuple):
    label: str
    tensor: Tensor
    ref: R.Ref


class Failure(Exception):
    """A program whose result is not the reference's, or that raised."""

    def __init__(self, program: Program, device: str, text: str, check: Check | None = None):
        super().__init__(text)
        self.program, self.device, self.text, self.check = program, device, text, check


def devices() -> list[str]:
    """The devices that can be opened here."""
    out, old = [], Device.DEFAULT
    for name in KNOWN_DEVICES:
        with contextlib.suppress(Exception):
            Device.DEFAULT = name
            out.append(name)
    Device.DEFAULT = old
    return out


# ---- building ----


def to_tensor(leaf: Leaf) -> Tensor:
    if leaf.dt == "bfloat16":
        return Tensor(np.array(leaf.values, np.float32)).cast("bfloat16").realize()
    return Tensor(np.array(leaf.values, leaf.dt))


def weights(program: Program, salt: int, shape: tuple[int, ...], dt: str) -> Leaf:
    """Fixed random weights that make a scalar of an output."""
    fill = ("float", True)
    return Leaf(draw(np.random.default_rng([program.seed, salt]), shape, dt, fill), dt, fill)


def build(program: Program, leaves: dict[str, Any]) -> dict[str, Any]:
    """Runs the text of a program on tensors."""
    names = {**ENV, **leaves}
    exec(compile("\n".join(program.text()), f"program {program.seed}", "exec"), names)
    return names


def used_targets(program: Program, refs: dict[str, R.Ref]) -> list[str]:
    return [t for t in program.targets if refs[t].is_float]


class Pair(NamedTuple):
    """The same thing twice: in polygrad and in the reference."""

    t: Tensor
    r: R.Ref


def total(program: Program, parts: list[Pair], salt: int) -> Pair | None:
    """The sum of all parts, weighted: a scalar to differentiate."""
    out: Pair | None = None
    for k, (t, r) in enumerate(parts):
        if not r.is_float:
            continue
        w = weights(program, salt + k, r.shape, r.dt)
        term = Pair((t * to_tensor(w)).sum(), R.rsum(r * R.leaf(w.values, w.dt, True)))
        out = term if out is None else Pair(out.t + term.t, out.r + term.r)
    return out


def gradient(root: Pair, targets: list[Pair]) -> list[Pair]:
    grads = root.t.gradient(*[t.t for t in targets], materialize_grads=True)
    refs = R.gradients([root.r], [R.leaf(1.0, root.r.dt, True)], [t.r for t in targets])
    return [Pair(g, r) for g, r in zip(grads, refs)]


def _depends(root: R.Ref, targets: list[R.Ref]) -> bool:
    """Whether any target is reached: asking for a gradient through nothing at all is an error of its own."""
    below = {id(n) for n in R._topological([root])}
    return any(id(t) in below for t in targets)


def checks_of(program: Program, order: int) -> list[Check]:
    """Values and gradients of the eager kinds, unrealized, in the order in which they will be realized together."""
    refs = program.evaluate()
    names = build(program, {k: to_tensor(v) for k, v in program.leaves.items()})
    pairs = [Pair(names[n], refs[n]) for n in program.outputs]
    checks = [Check(n, p.t, p.r) for n, p in zip(program.outputs, pairs)]
    wanted = used_targets(program, refs)
    targets = [Pair(names[n], refs[n]) for n in wanted]
    root = total(program, pairs, 0) if program.kind != "values" else None
    if root and _depends(root.r, [t.r for t in targets]):
        first = gradient(root, targets)
        checks += [Check(f"gradient of {n}", *p) for n, p in zip(wanted, first)]
        again = total(program, first, 100) if program.kind == "second" else None
        if again and _depends(again.r, [t.r for t in targets]):
            checks += [Check(f"second gradient of {n}", *p) for n, p in zip(wanted, gradient(again, targets))]
    mixed = np.random.default_rng([program.seed, order]).permutation(len(checks))
    return [checks[k] for k in mixed]


# ---- comparing ----


def difference(check: Check) -> str | None:
    """What is wrong with a realized tensor, or None."""
    t, r = check.tensor, check.ref
    if tuple(int(n) for n in t.shape) != r.shape:
        return f"{check.label}: shape {tuple(t.shape)}, expected {r.shape}"
    if t.dtype.name != r.dt:
        return f"{check.label}: dtype {t.dtype.name}, expected {r.dt}"
    got = t.numpy()
    if r.is_float:
        g = got.astype(np.float64)
        ok = (np.abs(g - r.v) <= SLACK * r.e) | (g == r.v) | (np.isnan(g) & np.isnan(r.v)) | np.isinf(r.e)
    else:
        ok = (got.astype(np.int64) == r.v.astype(np.int64)) | (r.e > 0)
    if ok.all():
        return None
    k = int(np.argmin(np.atleast_1d(ok).reshape(-1)))
    g, v, e = (np.atleast_1d(a).reshape(-1)[k] for a in (got, r.v, r.e))
    return f"{check.label}: {int((~ok).sum())} of {ok.size} values differ; at {k} {g!r}, expected {v!r}, allowed {SLACK * e:.3g}"


def compare_all(program: Program, device: str, checks: list[Check]) -> None:
    for c in checks:
        text = difference(c)
        if text:
            raise Failure(program, device, text, c)


def realize(checks: list[Check]) -> None:
    if checks:
        checks[0].tensor.realize(*[c.tensor for c in checks[1:]])


# ---- the kinds ----


def run_together(program: Program, device: str) -> None:
    checks = checks_of(program, 0)
    realize(checks)
    compare_all(program, device, checks)


def run_separate(program: Program, device: str) -> None:
    """One result after the other, each with its plan, and again in one plan in another order."""
    for c in checks_of(program, 1):
        c.tensor.realize()
        compare_all(program, device, [c])
    run_together(program, device)


def run_resized(program: Program, device: str) -> None:
    """The same program with other sizes and scalars, one after the other: the third is served by the general plan that the second has made. At the
    end the first once more. What it computes depends on the seed: values, first or second gradients."""
    base = replace(program, kind=("values", "first", "second")[program.seed % 3])
    for k, p in enumerate([base, *[other_sizes(base, run) for run in range(len(MAPS))], base]):
        if p is not None:
            checks = [c._replace(label=f"size {k}, {c.label}") for c in checks_of(p, 0)]
            realize(checks)
            compare_all(program, device, checks)


def run_large(program: Program, device: str) -> None:
    """Enough work for several threads, whose number changes no bit."""
    results = []
    for threads in (2, 1):
        with Context(THREADS=threads):
            checks = checks_of(program, 0)
            realize(checks)
        compare_all(program, device, checks)
        results.append([c.tensor.numpy() for c in checks])
    for c, a, b in zip(checks, *results):
        if a.tobytes() != b.tobytes():
            raise Failure(program, device, f"{c.label}: one and two threads give different bits", c)


def redrawn(program: Program, run: int, rows: int | None = None) -> dict[str, Leaf]:
    rng = np.random.default_rng([program.seed, 7, run])
    return {k: v.drawn(rng, (rows, *v.values.shape[1:]) if rows and _has_rows(v) else None) for k, v in program.leaves.items()}


def _has_rows(leaf: Leaf) -> bool:
    return leaf.values.shape[:1] == (SIZED_ROWS,)


def traced(program: Program, names: list[str], wanted: list[str], tensors: tuple[Tensor, ...]) -> list[Tensor]:
    """What a compiled function computes: outputs, and the gradients of their weighted sum if there are targets."""
    env = build(program, dict(zip(names, tensors)))
    outs = [env[n] for n in program.outputs]
    if wanted:
        root = None
        for k, t in enumerate(outs):
            if t.dtype.name in FLOATS:
                term = (t * to_tensor(weights(program, k, tuple(int(n) for n in t.shape), t.dtype.name))).sum()
                root = term if root is None else root + term
        outs += root.gradient(*[env[n] for n in wanted], materialize_grads=True)
    outs[0].realize(*outs[1:])
    return outs


def expected(program: Program, refs: dict[str, R.Ref], wanted: list[str]) -> list[R.Ref]:
    out = [refs[n] for n in program.outputs]
    if wanted:
        root = total_ref(program, out)
        out = out + R.gradients([root], [R.leaf(1.0, root.dt, True)], [refs[n] for n in wanted])
    return out


def total_ref(program: Program, parts: list[R.Ref]) -> R.Ref:
    root = None
    for k, r in enumerate(parts):
        if r.is_float:
            w = weights(program, k, r.shape, r.dt)
            term = R.rsum(r * R.leaf(w.values, w.dt, True))
            root = term if root is None else root + term
    return root


def differentiable(program: Program, refs: dict[str, R.Ref]) -> list[str]:
    """The targets, if the weighted sum of the outputs depends on any."""
    root = total_ref(program, [refs[n] for n in program.outputs])
    wanted = used_targets(program, refs)
    return wanted if root is not None and _depends(root, [refs[n] for n in wanted]) else []


def run_jit(program: Program, device: str) -> None:
    """TinyJit: the first call runs, the second traces, later ones replay, each with other values."""
    names = list(program.leaves)
    wanted = differentiable(program, program.evaluate())
    f = TinyJit(lambda *tensors: traced(program, names, wanted, tensors))
    alive = []
    for run in range(4):
        leaves = redrawn(program, run)
        want = expected(program, program.evaluate(leaves), wanted)
        got = f(*[to_tensor(leaves[n]) for n in names])
        labels = program.outputs + [f"gradient of {n}" for n in wanted]
        compare_all(program, device, [Check(f"call {run + 1}, {n}", t, r) for n, t, r in zip(labels, got, want)])
        if program.keep:
            alive.append(got)


class Model:
    def __init__(self, params: dict[str, Tensor]):
        for k, v in params.items():
            setattr(self, k, v)


def all_reached(program: Program, params: list[str]) -> bool:
    """Whether a gradient flows to each of them."""
    refs = program.evaluate()
    root = total_ref(program, [refs[n] for n in program.outputs])
    return all(_depends(root, [refs[n]]) for n in params)


def run_step(program: Program, device: str) -> None:
    """compile_step with an optimizer: losses and parameters of three steps on other data."""
    wanted = differentiable(program, program.evaluate())
    params = wanted[: max(1, len(wanted) // 2)]
    if not params:
        return run_separate(program, device)
    inputs = [n for n in program.leaves if n not in params]
    model = Model({n: to_tensor(program.leaves[n]).requires_grad_(True) for n in params})
    kept = build(program, {n: getattr(model, n) if n in params else to_tensor(program.leaves[n]) for n in program.leaves})
    if program.keep:
        kept[program.outputs[0]].realize()

    def train(model: Model, opt: Any, *tensors: Tensor) -> Tensor:
        held = {**{n: getattr(model, n) for n in params}, **dict(zip(inputs, tensors))}
        env = build(program, held)
        loss = None
        for k, n in enumerate(program.outputs):
            if env[n].dtype.name in FLOATS:
                term = (env[n] * to_tensor(weights(program, k, tuple(env[n].shape), env[n].dtype.name))).sum()
                loss = term if loss is None else loss + term
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    rule = rule_of(program.seed, all_reached(program, params))
    opt = make(rule, [getattr(model, n) for n in params])
    step = compile_step(train, model, opt, *[to_tensor(program.leaves[n]) for n in inputs])
    state = {n: R.leaf(program.leaves[n].values, program.leaves[n].dt) for n in params}
    moments: dict[str, dict[str, R.Ref]] = {n: {} for n in params}
    for run in range(3):
        leaves = redrawn(program, run)
        step.run(*[to_tensor(leaves[n]) for n in inputs])
        refs = program.evaluate({**leaves, **state})
        loss = total_ref(program, [refs[n] for n in program.outputs])
        grads = R.gradients([loss], [R.leaf(1.0, loss.dt, True)], [refs[n] for n in params])
        moved = [rule.update(refs[n], R.detach(g), moments[n], run + 1) for n, g in zip(params, grads)]
        state = {n: R.Ref(r.v, r.e, r.dt) for n, r in zip(params, moved)}
        found = [Check(f"step {run + 1}, loss", step.loss, loss)] + [Check(f"step {run + 1}, {n}", getattr(model, n), state[n]) for n in params]
        compare_all(program, device, found)


def run_sized(program: Program, device: str) -> None:
    """A symbolic first axis: one plan for every size, eagerly and compiled."""
    names = list(program.leaves)
    f = TinyJit(lambda *tensors: [build(program, dict(zip(names, tensors)))[n] for n in program.outputs])
    for run, n in enumerate((SIZED_ROWS, 7, 1, SIZED_ROWS, 5)):
        leaves = redrawn(program, run, n)
        size = Variable("rows", 1, 8).bind(n)
        refs = program.evaluate(leaves)
        for how in ("eager", "compiled"):
            tensors = [to_tensor(v).sized(size, *v.values.shape[1:]) if _has_rows(program.leaves[k]) else to_tensor(v) for k, v in leaves.items()]
            if how == "eager":
                env = build(program, dict(zip(names, tensors)))
                got = [env[o] for o in program.outputs]
                got[0].realize(*got[1:])
            else:
                got = f(*tensors)
            compare_all(program, device, [Check(f"{how}, {n} rows, {o}", t, refs[o]) for o, t in zip(program.outputs, got)])


RUN = {
    "values": run_together, "first": run_together, "second": run_together, "separate": run_separate,
    "jit": run_jit, "step": run_step, "sized": run_sized, "resized": run_resized, "large": run_large,
}  # fmt: skip


@contextlib.contextmanager
def on(device: str) -> Any:
    old = Device.DEFAULT
    Device.DEFAULT = device
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        Device.DEFAULT = old


def run(program: Program, device: str) -> Failure | None:
    """Runs one program. What it raises is a failure too: every program is valid."""
    if not program.outputs:
        return None
    with on(device):
        try:
            RUN[program.kind](program, device)
        except Failure as f:
            return f
        except Exception as e:
            return Failure(program, device, f"{type(e).__name__}: {e}")
    return None


def run_group(programs: list[Program], device: str) -> list[Failure]:
    """Programs whose results are realized as one plan, with one and with two threads; others by themselves."""
    together = [p for p in programs if p.kind in GROUPED and p.outputs]
    failures = [f for f in (run(p, device) for p in programs if p not in together) if f]
    if not _group_holds(together, device):
        found = [f for f in (run(p, device) for p in together) if f]
        failures += found or _smaller_groups(together, device)
    return failures


def _group_holds(programs: list[Program], device: str) -> bool:
    with on(device):
        try:
            results = []
            for threads in (2, 1):
                with Context(THREADS=threads):
                    checks = [c for p in programs for c in checks_of(p, 0)]
                    realize(checks)
                results.append([c.tensor.numpy().tobytes() for c in checks])
            return results[0] == results[1] and not any(difference(c) for c in checks)
        except Exception:
            return False


def _smaller_groups(programs: list[Program], device: str) -> list[Failure]:
    """Each program holds by itself: the fewest that fail together."""
    left = list(programs)
    for p in programs:
        rest = [q for q in left if q is not p]
        if rest and not _group_holds(rest, device):
            left = rest
    text = f"programs {[p.seed for p in left]} hold one by one, but not in one plan"
    return [Failure(left[-1], device, text)] if not _group_holds(left, device) else []
