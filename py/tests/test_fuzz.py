"""Random programs and damaged files with fixed seeds: see docs/testing.md, and `make fuzz` for fresh ones."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz import reference as R
from fuzz.functions import matmul
from fuzz.generate import KINDS, generate
from fuzz.run import Failure, run, run_group
from fuzz.shrink import shrink
from fuzz.source import save

from polygrad import with_autograd_graph

PER_BLOCK = 50


@pytest.fixture(autouse=True)
def poison(monkeypatch):
    """A context of its own whose fresh memory is full of NaN, and in which the CPU compiles every kernel."""
    monkeypatch.setenv("POLY_POISON", "1")
    monkeypatch.setenv("POLY_TIER", "1")
    monkeypatch.setenv("POLY_UNIT", "3000")
    with with_autograd_graph():
        yield


def report(failures, tmp_path):
    small = [shrink(f) for f in failures[:3]]
    text = [f"seed {f.program.seed}: {f.text}\n{save(f, tmp_path).read_text()}" for f in small]
    assert not failures, f"{len(failures)} programs failed\n" + "\n".join(text)


@pytest.mark.parametrize("block", range(75))
def test_programs(block, tmp_path):
    failures = [f for f in (run(generate(s), "INTERP") for s in range(block * PER_BLOCK, (block + 1) * PER_BLOCK)) if f]
    report(failures, tmp_path)


@pytest.mark.parametrize("block", range(4))
def test_programs_compiled(block, tmp_path):
    report(run_group([generate(s) for s in range(100000 + block * 30, 100000 + (block + 1) * 30)], "CPU"), tmp_path)


@pytest.mark.parametrize("block", range(10))
def test_programs_for_groups_of_threads(block, tmp_path):
    """On the test device: the passes and kernels of GPUs."""
    report(run_group([generate(s) for s in range(200000 + block * 40, 200000 + (block + 1) * 40)], "TEST"), tmp_path)


def test_damaged_files(tmp_path):
    command = [sys.executable, "-m", "fuzz", "--files", "--seed", "1", "--programs", "120", "--out", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    at = (tmp_path / "at").read_text() if (tmp_path / "at").exists() else "the beginning"
    assert done.returncode == 0, f"at {at}, exit {done.returncode}:\n{done.stdout}\n{done.stderr}"


# ---- the machine itself: it must be able to fail ----


def test_a_wrong_number_is_found_and_shrunk(monkeypatch):
    """A tanh that is off by a millionth is found within a few programs, and the shrunk program is that tanh."""
    from polygrad import Tensor

    right = Tensor.tanh
    monkeypatch.setattr(Tensor, "tanh", lambda x: right(x) * (1 + 1e-6) if x.dtype.name == "float64" else right(x))
    found = None
    for seed in range(400):
        p = generate(seed)
        if any(s.op == "tanh" for s in p.steps):
            found = run(p, "INTERP")
            if found:
                break
    assert found is not None
    small = shrink(found)
    assert [s.op for s in small.program.steps] == ["tanh"] and "tanh" in "\n".join(small.program.text())


@pytest.mark.parametrize("kind", list(KINDS))
def test_saved_programs_run(kind, tmp_path):
    """A saved program needs nothing but polygrad and numpy."""
    p = next(q for q in (generate(s) for s in range(1000)) if q.kind == kind and q.outputs and (kind != "step" or len(q.targets) > 1))
    path = save(Failure(p, "INTERP", "nothing"), tmp_path)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + path.read_text()


DETACHED = {"assign", "setitem", "in_place", "detach", "x_views"}  # no gradient flows through these


def numeric(f, x, eps=1e-6):
    g = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += eps
        down[i] -= eps
        g[i] = (f(up) - f(down)) / (2 * eps)
    return g


@pytest.mark.parametrize("seed", range(30))
def test_gradients_of_the_reference(seed):
    """The reference's own gradients are difference quotients of its values, where it says that they are sure."""
    through = (p for p in (generate(s) for s in range(seed * 1000, seed * 1000 + 1000)) if not DETACHED & {s.op for s in p.steps})
    p = next(q for q in through if q.kind in ("first", "second") and q.targets)
    leaves = {k: R.leaf(v.values, "float64" if v.dt in R.FLOATS else v.dt) for k, v in p.leaves.items()}
    with np.errstate(all="ignore"):
        refs = p.evaluate(leaves)
        outs = [refs[o] for o in p.outputs if refs[o].is_float]
        for name in p.targets:
            grad = R.gradients(outs, [R.Ref(np.ones(o.shape), np.zeros(o.shape), o.dt) for o in outs], [leaves[name]])[0]

            def value(x, name=name):
                again = p.evaluate({**leaves, name: R.leaf(x, "float64")})
                return sum(float(again[o].v.sum()) for o in p.outputs if again[o].is_float)

            want = numeric(value, leaves[name].v)
            ok = np.abs(grad.v - want) <= 1e-4 * (1 + np.abs(want)) + 4 * grad.e
            smooth = np.isfinite(want) & (np.abs(numeric(value, leaves[name].v, 1e-4) - want) < 1e-3 * (1 + np.abs(want)))
            assert ok[smooth].all(), (name, "\n".join(p.text()), grad.v, want)


def test_a_sum_whose_parts_overflow_is_unknown():
    """Terms are added in no order that anybody promises: 3e38 + 3e38 - 3e38 may be infinite, 2e38 - 1e38 may not."""
    terms = R.leaf([3e38, 3e38, -3e38], "float32")
    ones = R.leaf(np.ones((3, 1)), "float32")
    for total in (R.rsum(terms), R.put(terms, np.zeros(3, int), (1,)), matmul(R.reshape(terms, (1, 3)), ones)):
        assert np.isinf(total.e).all()
    assert np.isfinite(R.rsum(R.leaf([2e38, -1e38], "float32")).e).all()


def test_fresh_memory_is_poisoned():
    """Otherwise a value that no kernel wrote could pass for a number."""
    from polygrad import Tensor

    assert np.isnan(Tensor.empty(3).numpy()).all() and np.isnan(Tensor.empty(100, 100, dtype="float64").numpy()).all()
