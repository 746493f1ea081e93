"""Python loops whose bodies repeat become loops over steps: values, gradients and plans beside the same programs left as they were written."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest

from polygrad import Device, Graph, Tensor, TinyJit, with_autograd_graph
from polygrad.autograd import current
from polygrad.nn import SGD, compile_step

RNG = np.random.default_rng(3)
STEPS = 7
NODES, EDGES = 9, RNG.integers(0, 9, (2, 30))
SHAPES = {"xs": (STEPS, 3, 4), "ys": (STEPS, 3, 2), "h": (3, 5), "g": (3, 5), "w": (4, 5), "u": (5, 5), "m": (5, 5), "v": (5, 2), "b": (5,), "x": (NODES, 5)}  # fmt: skip
DATA = {name: 0.5 * RNG.normal(size=shape) for name, shape in SHAPES.items()}


@contextlib.contextmanager
def context(monkeypatch, written=False):
    """One that has met no program; written: in which loops stay as they were written."""
    with monkeypatch.context() as m:
        m.setenv("POLY_UNROLL", str(int(written)))
        with with_autograd_graph():
            Device.DEFAULT = "INTERP"
            yield


def loops(t):
    return t.explain().count("each step of")


# ---- programs: each is given its tensors by name ----


def rnn(h, xs, w, u, b):
    for t in range(xs.shape[0]):
        h = (xs[t] @ w + h @ u + b).tanh()
    return h


def rnn_results(h, xs, w, u):
    rows = []
    for t in range(STEPS):
        h = (xs[t] @ w + h @ u).tanh()
        rows.append(h)
    return Tensor.stack(*rows)


def rnn_losses(h, xs, ys, w, u, v):
    total = 0
    for t in range(STEPS):
        h = (xs[t] @ w + h @ u).tanh()
        total = total + ((h @ v - ys[t]) ** 2).mean()
    return total


def rnn_backwards(h, xs, w, u):
    rows = [None] * STEPS
    for t in reversed(range(STEPS)):
        h = rows[t] = (xs[t] @ w + h @ u).tanh()
    return Tensor.stack(*rows)


def both_directions(h, g, xs, w, u, m):
    ahead, back = [], [None] * STEPS
    for t in range(STEPS):
        h = (xs[t] @ w + h @ u).tanh()
        ahead.append(h)
    for t in reversed(range(STEPS)):
        g = back[t] = (xs[t] @ w + g @ m).tanh()
    return Tensor.stack(*(Tensor.cat(a, b, dim=1) for a, b in zip(ahead, back)))


def two_layers(h, g, xs, w, u, m, v):
    total = 0
    for t in range(STEPS):
        h = (xs[t] @ w + h @ u).tanh()
        g = (h @ m + g @ u.T).tanh()
        total = total + g @ v
    return total


def inputs_of_their_own(h, xs, w, u):
    for x in [(xs[t] * 1.5).contiguous() for t in range(STEPS)]:
        h = (x @ w + h @ u).tanh()
    return h


def lstm(h, g, xs, w, u):
    c, of_x, of_h = g, Tensor.cat(w, w * 0.5, -w, w + 1, dim=1), Tensor.cat(u, u * 0.5, -u, u.T, dim=1)
    for t in range(STEPS):
        i, f, a, o = (xs[t] @ of_x + h @ of_h).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * a.tanh()
        h = o.sigmoid() * c.tanh()
    return Tensor.cat(h, c)


def power_iteration(b, u):
    for _ in range(STEPS):
        b = u @ b
        b = b / b.square().sum().sqrt()
    return b


def numbers_that_change(h, u):
    for t in range(STEPS):
        h = (h @ u * (0.3 + 0.1 * t * t) + t).sin()
    return h


def residual(h, u):
    for _ in range(STEPS):
        h = h + 0.1 * (h @ u).relu()
    return h


def two_steps_back(h, g, u):
    for _ in range(STEPS):
        h, g = (h @ u + g * 0.1).tanh(), h
    return h + g


def propagation(x, m):
    graph, h = Graph(EDGES, NODES), x
    for _ in range(STEPS):
        h = graph.sum(graph.src(h)) @ m * 0.1 + x
    return h


def rows_by_index(x, m):
    h, source, target = x, Tensor(EDGES[0]), Tensor(EDGES[1])
    for _ in range(STEPS):
        h = (Tensor.zeros(NODES, 5, dtype=x.dtype).index_add(0, target, h[source]) * 0.3 + x) @ m
    return h


def two_products(h, u, m):
    for _ in range(STEPS):
        h = ((h @ u).tanh() @ m).tanh()
    return h


def two_runs(h, g, xs, w, u, b):
    return rnn(h, xs, w, u, b) * rnn(g, xs, w, u, b)


def loop_in_a_loop(h, g, xs, w, u):
    for t in range(STEPS):
        for _ in range(4):
            h = (h @ u * 0.5 + g).tanh()
        h = h + xs[t] @ w
    return h


def overlapping_windows(h, u, x):
    for t in range(NODES - 3):
        h = (h @ u + x[t : t + 3]).tanh()
    return h


def every_second_row(h, xs, w, u):
    for t in range(4):
        h = (h @ u + xs[2 * t] @ w).tanh()
    return h


def columns(h, u, xs):
    for t in range(4):
        h = (h @ u + xs[0][:, t : t + 1]).tanh()
    return h


def read_in_the_middle(h, u):
    kept = None
    for t in range(STEPS):
        h = (h @ u).tanh()
        kept = h * 2 if t == 3 else kept
    return h + kept


def first_step_differs(h, u, m):
    for t in range(STEPS):
        h = (h @ (u if t else m)).tanh()
    return h


def a_step_differs(h, u, m):
    for t in range(12):
        h = (h @ (m if t == 5 else u)).tanh()
    return h


def chosen_elements(h, xs, w, u):
    for t in range(STEPS):
        h = (Tensor([[t + 1.0], [3.0], [4.0]], dtype=h.dtype) > 2.5).where((h @ u + xs[t] @ w).tanh(), h)
    return h


def stencil(x):
    for _ in range(STEPS):
        around = x.pad(((1, 1), (0, 0)))
        x = x + 0.1 * (around[2:] + around[:-2] - 2 * x)
    return x


def shrinkage(b, u):
    x = b * 0
    for _ in range(STEPS):
        x = x - 0.05 * (u.T @ (u @ x - b))
        x = x.sign() * (x.abs() - 0.01).relu()
    return x


def momentum(b, u):
    x, v = b, b * 0
    for _ in range(STEPS):
        v = 0.9 * v + u.T @ (u @ x - b)
        x = x - 0.05 * v
    return x


def running_sums(h, g, u):
    sums = []
    for t in range(STEPS):
        h = (h @ u).tanh()
        g = g + h * (t + 1)
        sums.append(g.sum())
    return Tensor.stack(*sums).sum() * h


def softmax_of_rows_and_columns(u):
    for _ in range(STEPS):
        u = u - u.logsumexp(0, keepdim=True)
        u = u - u.logsumexp(1, keepdim=True)
    return u.exp()


# name: loops in its values, and with its gradient
PROGRAMS = {
    rnn: (1, 2), rnn_results: (1, 2), rnn_losses: (1, 2), rnn_backwards: (1, 2), both_directions: (2, 4), two_layers: (2, 4),
    inputs_of_their_own: (1, 2), lstm: (1, 2), power_iteration: (1, 2), numbers_that_change: (1, 2), residual: (1, 2), two_steps_back: (1, 2),
    propagation: (1, 2), rows_by_index: (1, 2), two_products: (1, 2), two_runs: (2, 4), loop_in_a_loop: (1, 2), overlapping_windows: (1, 2),
    every_second_row: (1, 1), columns: (1, 1), read_in_the_middle: (1, 1), first_step_differs: (1, 2), a_step_differs: (2, 4),
    chosen_elements: (1, 2), stencil: (1, 2), shrinkage: (1, 2), momentum: (1, 2), running_sums: (1, 2), softmax_of_rows_and_columns: (1, 2),
}  # fmt: skip


def everything(program):
    """Its value, gradients and gradients of those; how many loops the first two have."""
    names = program.__code__.co_varnames[: program.__code__.co_argcount]
    given = [Tensor(DATA[name], requires_grad=True) for name in names]
    out = program(*given)
    total = (out * out).mean() + out.sum()
    first = total.gradient(*given)
    squares = sum((g * g).sum() for g in first) + total
    found = loops(out), loops(squares)
    second = squares.gradient(*given)
    Tensor.realize(out, *first, *second)
    return [t.numpy() for t in (out, *first, *second)], found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients_are_those_of_the_steps(program, monkeypatch):
    with context(monkeypatch, written=True):
        want, none = everything(program)
    with context(monkeypatch):
        got, found = everything(program)
    for a, b in zip(want, got):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9 * np.abs(a).max(initial=1e-3))
    assert none == (0, 0)
    assert found == PROGRAMS[program]


# ---- what stays as it is ----


def test_few_steps_and_elementwise_steps_stay(monkeypatch):
    with context(monkeypatch):
        h, u = Tensor(DATA["h"]).realize(), Tensor(DATA["u"]).realize()
        few, light = h, h
        for _ in range(3):
            few = (few @ u).tanh()
        for _ in range(20):
            light = (light * 0.5 + 1).sin()
        assert loops(few) == 0 and loops(light) == 0
        assert "1 kernel\n" in light.explain()


def test_layers_with_weights_of_their_own_stay(monkeypatch):
    with context(monkeypatch):
        h = Tensor(DATA["h"]).realize()
        for weight in [Tensor(RNG.normal(size=(5, 5))).realize() for _ in range(8)]:
            h = (h @ weight).tanh()
        assert loops(h) == 0


def test_a_function_of_each_edge_stays(monkeypatch):
    """Its kernels fuse, and dense maps of edges run by tiles, which loops do not do."""
    with context(monkeypatch):
        graph, h = Graph(EDGES, NODES), Tensor(DATA["x"]).realize()
        for _ in range(6):
            h = graph.sum((graph.src(h) - graph.dst(h)).tanh())
        assert loops(h) == 0


# ---- random numbers, assignment, errors ----


def test_each_step_draws_its_own_numbers(monkeypatch):
    def run():
        Tensor.manual_seed(5)
        h, u = Tensor(DATA["h"]), Tensor(DATA["u"])
        for _ in range(STEPS):
            h = ((h + Tensor.rand(3, 5, dtype=h.dtype)) @ u).tanh()
        return h, Tensor.rand(4)

    with context(monkeypatch, written=True):
        want = [t.numpy() for t in run()]
    with context(monkeypatch):
        got, after = run()
        assert loops(got) == 1
        np.testing.assert_allclose(got.numpy(), want[0], rtol=1e-12)
        np.testing.assert_array_equal(after.numpy(), want[1])


def test_what_a_loop_reads_may_be_assigned_its_result(monkeypatch):
    with context(monkeypatch):
        h, u = Tensor(DATA["h"]).realize(), Tensor(DATA["u"]).realize()
        want = DATA["h"]
        for _ in range(2):
            new, before = h, h * 2
            for _ in range(STEPS):
                new = (new @ u).tanh() + h
            want_before, start = want * 2, want
            for _ in range(STEPS):
                want = np.tanh(want @ DATA["u"]) + start
            h.assign(new)
            np.testing.assert_allclose(h.numpy(), want, rtol=1e-12)
            np.testing.assert_allclose(before.numpy(), want_before, rtol=1e-12)


def test_an_index_out_of_range_is_an_error(monkeypatch):
    with context(monkeypatch):
        h, at = Tensor(DATA["x"]).realize(), Tensor(np.array([0, 1, 20])).realize()
        for _ in range(5):
            h = h + h[at].sum(0)
        with pytest.raises(IndexError, match="20"):
            h.numpy()


# ---- plans ----


def test_another_number_of_steps_finds_its_plan(monkeypatch):
    with context(monkeypatch):
        u, built = Tensor(DATA["u"]).realize(), []
        for steps in (6, 9, 11, 5, 17, 8):
            h, want = Tensor(DATA["h"]).realize(), DATA["h"]
            xs = RNG.normal(size=(steps, 3, 5))
            rows = Tensor(xs).realize()
            for t in range(steps):
                h, want = (h @ u + rows[t]).tanh(), np.tanh(want @ DATA["u"] + xs[t])
            before = current().plans_built
            np.testing.assert_allclose(h.numpy(), want, rtol=1e-9)
            built.append(current().plans_built - before)
        assert built == [1, 1, 0, 0, 0, 0]


def trained(way):
    """Losses of six steps of a training loop, and the weights after them."""
    weights = [Tensor(DATA[k].astype(np.float32)).realize() for k in ("w", "u")]
    for t in weights:
        t.requires_grad = True

    def train(w, opt, h, xs):
        opt.zero_grad()
        for t in range(STEPS):
            h = (xs[t] @ w[0] + h @ w[1]).tanh()
        loss = (h * h).mean()
        loss.backward()
        opt.step()
        return loss

    opt, data = SGD(weights, lr=0.1), [Tensor(DATA[k].astype(np.float32)).realize() for k in ("h", "xs")]
    jitted = TinyJit(lambda h, xs: train(weights, opt, h, xs).realize())
    step = compile_step(train, weights, opt, *data) if way == "step" else None
    losses, built = [], []
    for _ in range(6):
        if step:
            step.run(*data)
            losses.append(step.loss_value())
        else:
            losses.append((jitted(*data) if way == "jit" else train(weights, opt, *data)).item())
        built.append(current().plans_built)
    assert built[-1] == built[2]
    return losses, [t.numpy() for t in weights]


@pytest.mark.parametrize("way", ["plain", "step", "jit"])
def test_training_through_a_loop(way, monkeypatch):
    """The same program in every step: one plan, and the weights of the loop as it was written."""
    with context(monkeypatch, written=True), Tensor.train():
        want = trained(way)
    with context(monkeypatch), Tensor.train():
        got = trained(way)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    for a, b in zip(want[1], got[1]):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)


def test_planning_does_not_grow_with_the_steps(monkeypatch):
    """128 steps of an RNN with gradients have as many kernels as 8."""

    def kernels(steps):
        with context(monkeypatch):
            h, u = Tensor(DATA["h"], requires_grad=True), Tensor(DATA["u"], requires_grad=True)
            xs = Tensor(RNG.normal(size=(steps, 3, 5))).realize()
            y = h
            for t in range(steps):
                y = (y @ u + xs[t]).tanh()
            (g,) = y.square().sum().gradient(u)
            start = time.process_time()
            text = g.explain()
            return text.count("kernel"), time.process_time() - start

    few, many = kernels(8), kernels(128)
    assert many[0] == few[0]
    assert many[1] < 1
