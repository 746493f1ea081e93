"""Sizes that change: one plan serves every size within the bounds."""

import weakref

import numpy as np
import pytest

from polygrad import Graph, Tensor, TinyJit, Variable, dtypes, with_autograd_graph
from polygrad.symbolic import sym_infer


def rows(n, width=4, seed=0):
    return np.random.default_rng(seed + n).standard_normal((n, width)).astype(np.float32)


def symbolic(a, name="n", low=1, high=32):
    """A tensor whose first size is a variable."""
    n = Variable(name, low, high).bind(a.shape[0])
    full = np.zeros((high, *a.shape[1:]), a.dtype)
    full[: a.shape[0]] = a
    return Tensor(full)[:n]


CASES = {
    "elementwise": (lambda x: (x * 2 + 1).relu(), lambda a: np.maximum(a * 2 + 1, 0)),
    "sum 0": (lambda x: x.sum(0), lambda a: a.sum(0)),
    "mean": (lambda x: x.mean(), lambda a: a.mean()),
    "max": (lambda x: x.max(0), lambda a: a.max(0)),
    "softmax 0": (lambda x: x.softmax(0), lambda a: np.exp(a - a.max(0)) / np.exp(a - a.max(0)).sum(0)),
    "var": (lambda x: x.var(0, correction=0), lambda a: a.var(0)),
    "matmul": (lambda x: x @ x.permute(1, 0), lambda a: a @ a.T),
    "contract": (lambda x: x.permute(1, 0) @ x, lambda a: a.T @ a),
    "reshape": (lambda x: x.reshape(x.shape[0] * 4).sum(), lambda a: a.sum()),
    "permute": (lambda x: x.permute(1, 0), lambda a: a.T),
    "flip": (lambda x: x.flip(0), lambda a: a[::-1]),
    "pad": (lambda x: x.pad(((1, 2), None)), lambda a: np.pad(a, ((1, 2), (0, 0)))),
    "cat": (lambda x: x.cat(x, dim=0), lambda a: np.concatenate([a, a])),
    "layernorm": (lambda x: x.layernorm(), lambda a: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)),
    "gather": (lambda x: x[Tensor([0, 0, 1])], lambda a: a[[0, 0, 1]]),
    "index_add": (lambda x: x.index_add(0, Tensor([1, 1]), Tensor.ones(2, 4)), lambda a: a + np.eye(len(a))[1][:, None] * 2),
    "slice": (lambda x: x[1:], lambda a: a[1:]),
    "last": (lambda x: x[-1], lambda a: a[-1]),
    "cumsum": (lambda x: x.cumsum(0), lambda a: np.cumsum(a, 0)),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes(name, device):
    f, g = CASES[name]
    sizes = (2, 5, 32, 3) if device == "INTERP" else (2, 7)
    for n in sizes:
        a = rows(n)
        np.testing.assert_allclose(f(symbolic(a)).numpy(), g(a.astype(np.float64)), rtol=1e-4, atol=1e-5, err_msg=f"n={n}")


def test_one_compilation_for_all_sizes(cpu):
    with with_autograd_graph() as g:
        w = Tensor(rows(4, 3), requires_grad=True)

        def loss(n):
            x = symbolic(rows(n))
            return (x @ w).tanh().square().mean() + x.sum() * 0

        loss(3).item()
        loss(9).item()
        before = g.compilations
        for n in (1, 2, 4, 8, 16, 31, 32):
            got = loss(n).item()
            a = rows(n).astype(np.float64)
            assert got == pytest.approx(np.square(np.tanh(a @ w.numpy())).mean(), rel=1e-5)
        assert g.compilations == before


def test_gradients():
    for n in (2, 6):
        a = rows(n)
        w = Tensor(rows(4, 3), requires_grad=True)
        (symbolic(a) @ w).square().sum().backward()
        want = 2 * a.T.astype(np.float64) @ (a @ w.numpy())
        np.testing.assert_allclose(w.grad.numpy(), want, rtol=1e-4, atol=1e-5)


def test_dims():
    n = Variable("n", 1, 10).bind(3)
    m = n * 4 + 1
    assert (m.val, m.min, m.max) == (13, 5, 41)
    assert int(n) == 3 and (n - n) == 0 and (n * 2 // 2) == n and int(n % 2) == 1
    t = Tensor.ones(n, 4)
    assert repr(t.shape[0]) == "n" and str(t.shape[0]) == "3" and t.shape[1] == 4 and t.numel() == 12
    assert t.shape[0] == n and Tensor.ones(n + 1).numel() == 4
    assert Tensor.arange(n).tolist() == [0, 1, 2]
    with pytest.raises(ValueError):
        Variable("n", 1, 10).bind(11)
    with pytest.raises(ValueError):
        Variable("n", 1, 10).bind(0)
    with pytest.raises(ValueError):
        Variable("k", 3, 2)


def test_sizes_that_must_agree():
    a, b = symbolic(rows(3), "n"), symbolic(rows(4), "m")
    with pytest.raises(ValueError):
        (a + b).numpy()
    c = symbolic(rows(3), "n")
    np.testing.assert_allclose((a + c).numpy(), rows(3) * 2, rtol=1e-6)


def test_unbound_variable():
    with pytest.raises(ValueError) as e:
        Tensor.ones(Variable("n", 1, 10), 2)
    assert "bind" in str(e.value)
    x = Tensor.randn(10, 10)
    assert x.reshape(Variable("BS", 1, 100), -1).shape == (10, 10)


def graph_batch(nodes, edges, symbolic_sizes=True):
    """Features, edge_index and labels of a random graph."""
    rng = np.random.default_rng(nodes * 100 + edges)
    x, index, y = rows(nodes), rng.integers(0, nodes, (2, edges)), rng.integers(0, 3, nodes)
    if not symbolic_sizes:
        return Tensor(x), Tensor(index), Tensor(y)
    n, e = Variable("nodes", 0, 1 << 30).bind(nodes), Variable("edges", 0, 1 << 30).bind(edges)
    return Tensor(x).sized(n, 4), Tensor(index).sized(2, e), Tensor(y).sized(n)


def graph_loss(w, x, index, y):
    """A step that uses derived graphs, a softmax over neighbours, a maximum, and the first rows of the result."""
    g = Graph(index, x.shape[0]).with_self_loops(only_missing=True)
    h = x @ w
    alpha = g.softmax((g.src(h) * g.dst(h)).sum(-1))
    out = g.sum(alpha.unsqueeze(-1) * g.src(h)) + g.max(g.src(h)) + g.reversed().mean(g.dst(h))
    return out.cross_entropy(y) + out[:3].square().mean() + Graph(index, x.shape[0]).in_degree.cast("float32").mean()


def test_graphs_of_any_size_share_a_plan(cpu):
    with with_autograd_graph() as g:
        w = Tensor(rows(4, 3), requires_grad=True)
        before = None
        for nodes, edges in ((5, 9), (11, 40), (40, 11), (3, 0), (7, 7), (4, 300)):
            loss = graph_loss(w, *graph_batch(nodes, edges))
            w.grad = None
            loss.backward()
            got = loss.item(), w.grad.numpy()
            if before is None:
                before = g.compilations
            assert g.compilations == before
            w.grad = None
            plain = graph_loss(w, *graph_batch(nodes, edges, symbolic_sizes=False))
            plain.backward()
            assert got[0] == pytest.approx(plain.item(), rel=1e-5)
            np.testing.assert_allclose(got[1], w.grad.numpy(), rtol=1e-4, atol=1e-5)
            before = g.compilations


def test_a_compiled_step_takes_the_graph_of_each_run(cpu):
    """An edge_index among the inputs is another graph in each run; sizes follow from the inputs."""
    from polygrad.nn import SGD, compile_step

    def train(w, opt, x, index, y):
        loss = graph_loss(w, x, index, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    a, b = (Tensor(rows(4, 3), requires_grad=True) for _ in range(2))
    opt_a, opt_b = SGD([a], lr=0.1), SGD([b], lr=0.1)
    step = compile_step(train, a, opt_a, *graph_batch(5, 9))
    before = None
    for nodes, edges in ((5, 9), (11, 40), (3, 0), (30, 30), (11, 40)):
        batch = graph_batch(nodes, edges)
        step.run(*batch)
        before = before or a._g.compilations
        assert a._g.compilations == before
        want = train(b, opt_b, *batch)
        assert step.loss_value() == pytest.approx(want.item(), rel=1e-5)
        before = a._g.compilations
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_a_compiled_function_of_a_graph():
    from polygrad import TinyJit

    run = TinyJit(lambda x, index: Graph(index, x.shape[0]).with_self_loops().sum(Graph(index, x.shape[0]).with_self_loops().src(x)))
    for nodes, edges in ((5, 9), (5, 9), (8, 3), (4, 20)):
        x, index, _ = graph_batch(nodes, edges)
        want = x.numpy().copy()
        i = index.numpy()
        np.add.at(want, i[1], x.numpy()[i[0]])
        np.testing.assert_allclose(run(x, index).numpy(), want, rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="computes itself"):
        flip = TinyJit(lambda x, index: Graph(index.flip(0), x.shape[0]).in_degree + 0)
        for _ in range(2):
            flip(*graph_batch(5, 9)[:2])


def test_batches_of_two_sizes_meet():
    parts = [symbolic(rows(n)) + 1 for n in (3, 5)]
    got = Tensor.cat(*parts).numpy()
    np.testing.assert_allclose(got, np.concatenate([rows(3), rows(5)]) + 1, rtol=1e-6)


def test_sized_needs_the_sizes_of_today():
    with pytest.raises(ValueError, match="sized"):
        Tensor.ones(3).sized(Variable("n", 0, 9).bind(4))
    with pytest.raises(ValueError, match="sized"):
        Tensor.ones(3).sized(3, 1)


def test_arrays_of_a_graph_in_a_compiled_function():
    """The ends of the edges, and where edges of a derived graph come from, are those of each run."""
    from polygrad import TinyJit

    def function(x, index, weight):
        g = Graph(index, x.shape[0])
        looped = g.with_self_loops(only_missing=True)
        return looped.sum(looped.carry(weight, 0.5)) + g.sum(g.src_index.cast("float32") * 10 + g.dst_index.cast("float32"))

    run = TinyJit(function)
    for nodes, edges in ((5, 9), (5, 9), (11, 40), (4, 0), (30, 7)):
        x, index, _ = graph_batch(nodes, edges)
        weight = np.arange(edges, dtype=np.float32)
        got = run(x, index, Tensor(weight).sized(index.shape[1])).numpy()
        s, d = index.numpy()
        want = np.where(np.isin(np.arange(nodes), s[s == d]), 0, 0.5).astype(np.float32)
        np.add.at(want, d, weight + 10 * s + d)
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_arithmetic_of_variables_without_values():
    """Bounds follow from those of the variables; a value is needed to make a tensor, and is given later."""
    n, m = Variable("n", 1, 10), Variable("m", 2, 3)
    for made, low, high in (
        (n + 1, 2, 11), (3 - n, -7, 2), (n * 3 + 1, 4, 31), (n // 2, 0, 5), (n % 3, 0, 2), (-n, -10, -1), (n * m, 2, 30), (n + m * 2 - 1, 4, 15),
    ):  # fmt: skip
        assert (made.vmin, made.vmax) == (low, high), made
    assert ((n + 1) * 2).variables() == [n] and sym_infer(n * m + 1, {"n": 4, "m": 3}) == 13
    size = (n * 2).substitute({n: 3})
    assert Tensor.ones(size, 2).sum().item() == 12.0 and size.vmax == 20
    assert (n < 11).vmin and not (n < 1).vmax and bool(n <= 10)
    with pytest.raises(ValueError, match="depends on the value"):
        bool(n > 5)
    with pytest.raises(ValueError, match="no value"):
        (n + m).substitute({n: 1})


def test_sizes_that_are_gone_are_forgotten():
    """Thousands of batches leave nothing behind; a size that is held stays known."""
    with with_autograd_graph() as graph:
        kept, first = None, 0
        for i in range(4000):
            n = Variable("n", 1, 10000).bind(i + 2)
            shape = Tensor.ones(n * 2 + 1, 3).shape
            kept = kept or shape[0]
            if i == 2500:
                first = graph.live_nodes
        assert kept == 5 and Tensor.ones(kept).sum().item() == 5
        assert graph.live_nodes < first + 100 + 4 * 1024


def test_state_that_nobody_reads_does_not_pile_up():
    """A counter of steps runs with the assignments of the step, though nobody asks for it."""
    with with_autograd_graph() as graph:
        count, w, live = Tensor([0.0]), Tensor([1.0, 2.0]), []
        for _ in range(30):
            count.assign(count + 1)
            w.assign(w * 2).realize()
            live.append(graph.live_nodes)
        assert live[-1] == live[5]
        assert count.item() == 30


NUMBERS = {
    "divided": (lambda x: x.sum() / x.shape[0], lambda x: x.sum() / len(x)),
    "elements": (lambda x: x / x.numel(), lambda x: x / x.size),
    "reversed": (lambda x: (x.shape[0] - x).sum(), lambda x: (len(x) - x).sum()),
    "formula": (lambda x: x * (x.shape[0] * 2 + 1), lambda x: x * (2 * len(x) + 1)),
    "compared": (lambda x: (x < x.shape[0]).sum(), lambda x: (x < len(x)).sum()),
    "power": (lambda x: (x / 8) ** x.shape[0], lambda x: (x / 8) ** len(x)),
    "chosen": (lambda x: Tensor.where(x > 2, x, x.shape[0]), lambda x: np.where(x > 2, x, len(x))),
    "integers": (lambda x: x.cast(dtypes.int32) % x.shape[0], lambda x: x.astype(np.int32) % len(x)),
    "value": (lambda x: Tensor(x.shape[0]) * 2, lambda x: np.int32(2 * len(x))),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", NUMBERS)
def test_a_size_as_a_number_follows_the_run(name, compiled):
    """In a compiled function a size that changes is the size of each run, also as a number beside a tensor. Built anew, it is one program."""
    ours, theirs = NUMBERS[name]
    with with_autograd_graph() as graph:
        step = TinyJit(ours) if compiled else ours
        for n in (3, 4, 5, 7, 6, 3):
            a = np.arange(n, dtype=np.float32) + 1
            x = Tensor(a).realize().sized(Variable("numbers", 1, 10).bind(n))
            got, want = step(x).numpy(), theirs(a)
            np.testing.assert_allclose(got, want, rtol=1e-6)
            assert got.shape == np.shape(want)
        assert compiled or graph.plans_built == 1


def test_a_size_of_another_graph_is_a_number():
    n = Tensor.ones(Variable("theirs", 1, 10).bind(3)).shape[0]
    with with_autograd_graph():
        assert (Tensor([1.0, 2.0]) * n).tolist() == [3.0, 6.0]


def test_a_size_does_not_keep_its_graph_alive_and_is_a_number_without_it():
    with with_autograd_graph() as graph:
        n = Variable("n", 1, 10).bind(3)
        m = Tensor.ones(10, 2)[:n].shape[0]
        assert m is n and (n + 1).max == 11  # one object for one size
        gone = weakref.ref(graph)
    del graph
    assert gone() is None
    assert (n + 1, 7 - n, n // 2, n % 2, -n, n.min, n.max, repr(n), str(n * 2)) == (4, 4, 1, 1, -3, 3, 3, "3", "6")
    assert (Tensor.ones(2) * n).tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="belongs to another graph"):
        Tensor.ones(n)
