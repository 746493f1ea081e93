"""Replay is never wrong: random steps that read inputs of changing sizes, update tensors in place, read tensors under two names and fail in the
middle, run again and again: plainly, as a TinyJit, with plans of their own for every size, interpreted and compiled. numpy says what they compute."""

import contextlib

import numpy as np
import pytest

from polygrad import Device, Tensor, TinyJit, with_autograd_graph

WIDTH = 4  # of every row
ROWS = 5  # of the state
SIZES = (3, 7, 7, 2, 12, 3, 1, 9, 7, 30, 1, 12)


class Step:
    """A random step: a list of instructions over registers. Registers 0 and 1 are the inputs [n, WIDTH], which may be one tensor; those that follow
    are what the instructions made, as tensors [n, WIDTH]. The state is two tensors [ROWS, WIDTH]."""

    def __init__(self, seed):
        draw = np.random.default_rng(seed)
        self.code, made = [], 2
        for _ in range(int(draw.integers(4, 10))):
            op = str(draw.choice(["scale", "add", "mul", "center", "rows", "flip", "update", "part", "swap", "shift"]))
            self.code.append((op, int(draw.integers(made)), int(draw.integers(made)), int(draw.integers(2)), float(draw.integers(1, 4))))
            made += op not in ("update", "part", "swap")
        self.fails_at = int(draw.integers(len(self.code)))
        self.alias = bool(draw.integers(2))

    def run(self, lib, inputs, state, scalar, fail=False):
        """The last register and the sum of the state; `lib` says how tensors of a kind are changed. scalar: a number, or a tensor of one."""
        r = list(inputs)
        for at, (op, a, b, s, c) in enumerate(self.code):
            if fail and at == self.fails_at:
                raise KeyError(at)
            x, y = r[a], r[b]
            if op == "scale":
                r.append(x * (scalar * c))
            elif op == "add":
                r.append(x + y * 0.5)
            elif op == "mul":
                r.append(lib.tanh(x * y))
            elif op == "center":
                r.append(x - x.sum(0) * 0.125)
            elif op == "rows":
                r.append(x + state[s][int(c)])
            elif op == "flip":
                r.append(lib.flip(x) + scalar)
            elif op == "shift":
                r.append(lib.tanh(x @ state[s][:WIDTH]))
            elif op == "update":  # a reduction of what was made, and the old contents
                lib.assign(state[s], state[s] * 0.5 + lib.tanh(x.sum(0)))
            elif op == "part":  # a view is assigned
                lib.assign_rows(state[s], int(c), lib.tanh(y.sum(0)) - state[1 - s][0])
            else:  # both from the old contents
                lib.swap(state)
        return r[-1], state[0].sum() + state[1].sum() * 2


class Numpy:
    tanh = staticmethod(np.tanh)

    @staticmethod
    def flip(x):
        return x[::-1]

    @staticmethod
    def assign(t, value):
        t[...] = value

    @staticmethod
    def assign_rows(t, k, value):
        t[k : k + 2] = value

    @staticmethod
    def swap(state):
        a, b = state
        a[...], b[...] = (a + b) * 0.5, (a - b) * 0.5


class Ours:
    @staticmethod
    def tanh(x):
        return x.tanh()

    @staticmethod
    def flip(x):
        return x.flip(0)

    @staticmethod
    def assign(t, value):
        t.assign(value)

    @staticmethod
    def assign_rows(t, k, value):
        t[k : k + 2] = value.expand(2, WIDTH)

    @staticmethod
    def swap(state):
        a, b = state
        mean, half = (a + b) * 0.5, (a - b) * 0.5
        a.assign(mean)
        b.assign(half)


@contextlib.contextmanager
def fresh(device):
    with with_autograd_graph():
        Device.DEFAULT = device
        yield


def follow(seed, call, failing):
    """Runs the step of a seed on all sizes, by `call(step, inputs, state, scalar, fail)`, beside numpy; failing: some of the runs raise."""
    step, draw = Step(seed), np.random.default_rng(seed + 1000)
    want = [draw.standard_normal((ROWS, WIDTH)).astype(np.float32) for _ in range(2)]
    state = [Tensor(a.copy()).realize() for a in want]
    for k, n in enumerate(SIZES):
        x = draw.standard_normal((n, WIDTH)).astype(np.float32)
        y = x if step.alias else draw.standard_normal((n, WIDTH)).astype(np.float32)
        scalar, fail = np.float32(0.25 + 0.5 * (k % 3)), failing and k % 4 == 2
        tx = Tensor(x)
        ty = tx if step.alias else Tensor(y)
        if fail:
            with pytest.raises(KeyError):
                step.run(Numpy, [x, y], want, scalar, True)
            with pytest.raises(KeyError):
                call(step, [tx, ty], state, float(scalar), True)
        else:
            value, total = step.run(Numpy, [x, y], want, scalar)
            got, sums = call(step, [tx, ty], state, float(scalar), False)
            np.testing.assert_allclose(got.numpy(), value, rtol=3e-4, atol=3e-4, err_msg=f"seed {seed}, run {k}")
            np.testing.assert_allclose(sums.numpy(), total, rtol=1e-3, atol=1e-3, err_msg=f"seed {seed}, run {k}")
        for t, a in zip(state, want):
            np.testing.assert_allclose(t.numpy(), a, rtol=3e-4, atol=3e-4, err_msg=f"seed {seed}, run {k}, state")


def plainly(step, inputs, state, scalar, fail):
    return step.run(Ours, inputs, state, scalar, fail)


@pytest.mark.parametrize("seed", range(12))
def test_plain_steps(seed):
    with fresh("INTERP"):
        follow(seed, plainly, failing=True)


@pytest.mark.parametrize("seed", range(12, 16))
def test_every_program_has_its_plan(seed, monkeypatch):
    monkeypatch.setenv("POLY_EXACT", "1")
    with fresh("INTERP"):
        follow(seed, plainly, failing=True)


@pytest.mark.parametrize("tier", ["auto", "0"])
@pytest.mark.parametrize("seed", range(16, 19))
def test_tiers(seed, tier, monkeypatch):
    monkeypatch.setenv("POLY_TIER", tier)
    with fresh("CPU"):
        follow(seed, plainly, failing=True)


@pytest.mark.parametrize("seed", range(20, 32))
def test_tiny_jit(seed):
    """The state is captured; scalars are tensors. A call that fails changes what it assigned before it failed, as without a jit."""
    jits = {}

    def jitted(step, inputs, state, scalar, fail):
        if fail:
            return step.run(Ours, inputs, state, scalar, fail)
        if not jits:

            @TinyJit
            def f(x, y, c):
                value, total = step.run(Ours, [x, y], state, c)
                return value.realize(total, *state), total

            @TinyJit
            def g(x, c):
                value, total = step.run(Ours, [x, x], state, c)
                return value.realize(total, *state), total

            jits["f"], jits["g"] = f, g
        c = Tensor([scalar])
        return jits["g"](inputs[0], c) if step.alias else jits["f"](*inputs, c)

    with fresh("INTERP"):
        follow(seed, jitted, failing=True)
