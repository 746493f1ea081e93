"""Writes a failing program as a Python file that needs only polygrad and numpy: inputs, the lines that fail, results and what was expected."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import helpers
from .generate import SIZED_ROWS, Leaf, Program
from .optimizers import rule_of
from .resize import MAPS, other_sizes
from .run import Failure, all_reached, differentiable, redrawn, weights
from .tolerance import FLOATS, SLACK

LONG = 2000  # values; longer inputs are drawn anew in the file
HEAD = """import numpy as np
from polygrad import Device, Graph, Tensor, TinyJit, Variable, scan
from polygrad.geometric.nn import MessagePassing
from polygrad.geometric.utils import scatter, softmax
from polygrad.nn import compile_step
from polygrad.nn.optim import SGD, Adagrad, Adam, AdamW, RMSprop
from polygrad.vertex import zoomIn, zoomOut
"""


def _tensor(leaf: Leaf) -> str:
    """An expression that makes the leaf."""
    numpy = "float32" if leaf.dt == "bfloat16" else leaf.dt
    a = leaf.values
    if a.size > LONG and leaf.dt in FLOATS:
        text = f"np.random.default_rng(0).uniform(-2, 2, {a.shape}).astype({numpy!r})"
    else:
        text = f"np.array({a.tolist()!r}, {numpy!r}).reshape({a.shape})"
    return f"Tensor({text})" + (".cast('bfloat16').realize()" if leaf.dt == "bfloat16" else "")


def _weighted(p: Program, terms: list[tuple[str, tuple[int, ...], str]], salt: int) -> str:
    """The sum of named tensors, weighted as the runner does."""
    parts = [f"({name} * {_tensor(weights(p, salt + k, shape, dt))}).sum()" for k, (name, shape, dt) in enumerate(terms) if dt in FLOATS]
    return " + ".join(parts)


def _outputs(p: Program) -> list[tuple[str, tuple[int, ...], str]]:
    refs = p.evaluate()
    return [(o, refs[o].shape, refs[o].dt) for o in p.outputs]


def _eager(p: Program) -> list[str]:
    out = [f"{n} = {_tensor(leaf)}" for n, leaf in p.leaves.items()] + p.text()
    names = list(p.outputs)
    with np.errstate(all="ignore"):
        wanted = differentiable(p, p.evaluate()) if p.kind in ("first", "second", "large") else []
    if wanted:
        out.append(f"grads = ({_weighted(p, _outputs(p), 0)}).gradient({', '.join(wanted)}, materialize_grads=True)")
        names.append("*grads")
        if p.kind == "second":
            terms = [(f"grads[{k}]", p.leaves[n].values.shape, p.leaves[n].dt) for k, n in enumerate(wanted)]
            out.append(f"seconds = ({_weighted(p, terms, 100)}).gradient({', '.join(wanted)}, materialize_grads=True)")
            names.append("*seconds")
    out += [f"results = [{', '.join(names)}]", "results[0].realize(*results[1:])", "for t in results:", "    print(t.numpy())"]
    return out


def _function(p: Program, wanted: list[str], name: str = "program") -> list[str]:
    out = [f"def {name}({', '.join(p.leaves)}):", *[f"    {line}" for line in p.text()], f"    results = [{', '.join(p.outputs)}]"]
    if wanted:
        out.append(f"    results += ({_weighted(p, _outputs(p), 0)}).gradient({', '.join(wanted)}, materialize_grads=True)")
    return [*out, "    results[0].realize(*results[1:])", "    return results", ""]


def _jit(p: Program) -> list[str]:
    with np.errstate(all="ignore"):
        wanted = differentiable(p, p.evaluate())
    out = [*_function(p, wanted), "f = TinyJit(program)", "alive = []"]
    for run in range(4):
        leaves = redrawn(p, run)
        out += [f"inputs = [{', '.join(_tensor(leaves[n]) for n in p.leaves)}]", "got = f(*inputs)"]
        out += ["alive.append(got)"] if p.keep else []
        out.append(
            f"print('call {run + 1}', [t.numpy() for t in got], 'without TinyJit', [t.numpy() for t in program(*[t.clone() for t in inputs])])"
        )
    return out


def _step(p: Program) -> list[str]:
    with np.errstate(all="ignore"):
        wanted = differentiable(p, p.evaluate())
    params = wanted[: max(1, len(wanted) // 2)]
    inputs = [n for n in p.leaves if n not in params]
    out = ["class Model:", "    pass", "", "model = Model()"]
    out += [f"model.{n} = {_tensor(p.leaves[n])}.requires_grad_(True)" for n in params]
    out += [*_function(p, []), f"first = [{', '.join(_tensor(p.leaves[n]) for n in inputs)}]"]
    call = ", ".join(f"model.{n}" if n in params else f"first[{inputs.index(n)}]" for n in p.leaves)
    if p.keep:
        out.append(f"kept = program({call})")
    out += [f"def train(model, opt, {', '.join(inputs)}):" if inputs else "def train(model, opt):"]
    out += [f"    {n} = model.{n}" for n in params] + [f"    {line}" for line in p.text()]
    out += [f"    loss = {_weighted(p, _outputs(p), 0)}", "    loss.backward()", "    opt.step()", "    opt.zero_grad()", "    return loss", ""]
    out.append(f"params = [{', '.join(f'model.{n}' for n in params)}]")
    out.append(f"step = compile_step(train, model, {rule_of(p.seed, all_reached(p, params)).text}, *first)")
    for run in range(3):
        leaves = redrawn(p, run)
        out += [
            f"step.run({', '.join(_tensor(leaves[n]) for n in inputs)})",
            f"print('step {run + 1}', step.loss_value(), [{', '.join(f'model.{n}.numpy()' for n in params)}])",
        ]
    return out


def _sized(p: Program) -> list[str]:
    out = [*_function(p, []), "f = TinyJit(program)"]
    for run, n in enumerate((SIZED_ROWS, 7, 1, SIZED_ROWS, 5)):
        leaves = redrawn(p, run, n)
        out.append(f"n = Variable('rows', 1, 8).bind({n})")
        texts = []
        for name, leaf in leaves.items():
            rows = p.leaves[name].values.shape[:1] == (SIZED_ROWS,)
            texts.append(_tensor(leaf) + (f".sized(n, {', '.join(str(k) for k in leaf.values.shape[1:])})" if rows else ""))
        out.append(f"print('{n} rows', [t.numpy() for t in program({', '.join(texts)})], [t.numpy() for t in f({', '.join(texts)})])")
    return out


def _resized(p: Program) -> list[str]:
    base = replace(p, kind=("values", "first", "second")[p.seed % 3])
    fit = [q for q in (base, *[other_sizes(base, run) for run in range(len(MAPS))], base) if q is not None]
    return [line for q in fit for line in ["", *_eager(q)]]


_BODY = {"resized": _resized, "jit": _jit, "step": _step, "sized": _sized}


def source(failure: Failure) -> str:
    """The text of the file."""
    p = failure.program
    note = failure.text.replace("\\", "/").replace('"""', "'''")
    out = [
        f'"""Seed {p.seed}, {p.kind}, on {failure.device}: {note}',
        "",
        f'With all checks: python -m fuzz --replay {p.seed} --device {failure.device}"""',
        "",
        HEAD,
    ]
    out += ["nan, inf = np.nan, np.inf", f"Device.DEFAULT = {failure.device!r}", ""]
    text = "\n".join(p.text())
    out += _helpers(text)
    out += _BODY.get(p.kind, _eager)(p)
    if failure.check is not None:
        c = failure.check
        values, allowed = (np.array2string(a, threshold=LONG, precision=17) for a in (c.ref.v, SLACK * c.ref.e))
        out.append(f"print({f'expected, {c.label}:'!r}, {values!r}, 'allowed difference:', {allowed!r})")
    return "\n".join(out) + "\n"


def _helpers(text: str) -> list[str]:
    """The functions that a program calls, and those that these call."""
    sources = {name: inspect.getsource(f) + "\n" for name, f in vars(helpers).items() if name.startswith("fuzz_")}
    used, before = {name for name in sources if name in text}, set()
    while used != before:
        before, all_text = used, "".join(sources[name] for name in used)
        used = used | {name for name in sources if name in all_text}
    return [source for name, source in sources.items() if name in used]


def save(failure: Failure, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"fail_{failure.program.seed}_{failure.device.lower()}.py"
    path.write_text(source(failure))
    return path
