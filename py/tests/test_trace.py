"""Traced functions depend on their inputs and on the tensors that they use, whatever else was computed and is alive."""

import gc
import random

import numpy as np
import pytest

from polygrad import Graph, Tensor, TinyJit, Variable, nn, with_autograd_graph
from polygrad.nn import SGD, Adam, compile_step


def vector(*values):
    return Tensor([float(v) for v in values])


def replayed(function, *inputs):
    """What a jitted function gives for inputs in turn; the results stay alive until all are there."""
    f = TinyJit(function)
    results = [f(*(x if isinstance(x, tuple) else (x,))) for x in inputs]
    return [r.tolist() for r in results]


# ---- what is already computed ----


@pytest.mark.parametrize("keep", [True, False])
def test_a_kept_result_is_no_part_of_the_trace(keep, device):
    w = Tensor([2.0, 3.0], requires_grad=True)
    f = TinyJit(lambda x: (x * w).sum().realize())
    a, b = vector(1, 1), vector(5, 7)
    kept = [f(a)] if keep else [f(a).item()]
    assert f(a).item() == 5.0 and f(b).item() == 31.0 and kept
    w.assign(Tensor([1.0, 1.0]))
    assert f(b).item() == 12.0


@pytest.mark.parametrize("keep", [True, False])
def test_a_loss_computed_before_is_no_part_of_the_step(keep, device):
    Tensor.manual_seed(0)
    model, x, y = nn.Linear(3, 1), Tensor.rand(8, 3).realize(), Tensor.rand(8, 1).realize()
    opt = Adam(nn.get_parameters(model), lr=0.05)
    kept = ((model(x) - y).square().mean().realize(), model(x).realize()) if keep else None

    def train(model, opt, x, y):
        loss = (model(x) - y).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    step = compile_step(train, model, opt, x, y)
    losses = [step.run() or step.loss_value() for _ in range(4)]
    assert losses == sorted(losses, reverse=True) and len(set(losses)) == 4
    other = Tensor.rand(8, 3)
    step.run(other, y)
    assert step.loss_value() not in losses and (kept is None or kept[0].item() == losses[0])


def test_captured_tensors_have_the_value_of_their_own():
    """t and lazy are w * 2 and w * 3 of the time when they were built; w * 2 in the function is that of each call."""
    w = Tensor([2.0, 3.0], requires_grad=True)
    t, lazy = (w * 2).realize(), w * 3
    f = TinyJit(lambda x: (x * t + lazy + w * 2).realize())
    for k in range(5):
        assert f(vector(1, 1)).tolist() == [14.0 + 2 * k, 21.0 + 2 * k]
        w.assign(w.detach().clone() + 1)
        if k == 3:
            w.realize()
    assert t.tolist() == [4.0, 6.0] and lazy.tolist() == [6.0, 9.0]


def test_a_captured_tensor_on_the_memory_of_an_input():
    x = vector(1, 2, 3)
    same = x.detach()
    assert replayed(lambda a: (a + same + x).realize(), x, x, vector(10, 10, 10), x) == [[3, 6, 9], [3, 6, 9], [12, 14, 16], [3, 6, 9]]


def test_the_same_tensor_twice():
    a, b = vector(1), vector(10)
    assert replayed(lambda p, q: (p * 2 + q).realize(), (a, a), (a, a), (a, b), (b, a)) == [[3], [3], [12], [21]]


def test_results_are_inputs_and_are_kept():
    f = TinyJit(lambda a: (a, a + 1))
    results = [f(vector(k)) for k in range(5)]
    assert [[t.item() for t in r] for r in results] == [[k, k + 1] for k in range(5)]
    g = TinyJit(lambda a: (a * 2).realize())
    x, chain = vector(1), []
    for _ in range(5):
        x = g(x)
        chain.append(x)
    assert [t.item() for t in chain] == [2, 4, 8, 16, 32]


def test_memory_of_dropped_results_is_used_again():
    f = TinyJit(lambda a: (a * 2 + 1).realize())
    x = Tensor.ones(1000).contiguous().realize()
    for _ in range(3):
        f(x)
    gc.collect()
    before = x.graph.live_bytes, x.graph.live_nodes
    for _ in range(20):
        f(x)
    assert (x.graph.live_bytes, x.graph.live_nodes) == before


# ---- changes in place ----


def test_tensors_made_by_the_function_are_no_state():
    def clone_add(x):
        y = x.clone()
        y += 1
        return (y * 2).realize()

    def clone_set(x):
        y = x.clone()
        y[0:1] = 0
        return y.realize()

    def sum_up(x):
        total = Tensor([0.0, 0.0])
        total += x
        return total.realize()

    rows = [vector(k, k) for k in range(4)]
    assert replayed(clone_add, *rows) == [[2 * k + 2] * 2 for k in range(4)]
    assert replayed(clone_set, *rows) == [[0, k] for k in range(4)]
    assert replayed(sum_up, *rows) == [[k, k] for k in range(4)]


def test_an_input_is_changed_in_place(device):
    def f(x):
        x += 1
        return (x * 2).realize()

    j, a, before = TinyJit(f), vector(0, 0), None
    for k in range(5):
        before = a * 10
        assert j(a).tolist() == [2 * k + 2] * 2 and a.tolist() == [k + 1.0] * 2
        assert before.tolist() == [10.0 * k] * 2
    b = vector(7, 7)
    shared = b.detach().clone()
    assert j(b).tolist() == [16, 16] and b.tolist() == [8, 8] and shared.tolist() == [7, 7] and a.tolist() == [5, 5]


def test_an_input_that_is_changed_and_passed_twice():
    def f(x, y):
        x += 1
        return (x + y).realize()

    j, a, b = TinyJit(f), vector(0), vector(10)
    assert [j(a, b).item() for _ in range(3)] == [11, 12, 13]
    with pytest.raises(ValueError, match="the same tensor"):
        j(a, a)
    closed = TinyJit(lambda x: (x.assign(x + b), b * 1)[1])
    closed(b)
    with pytest.raises(ValueError, match="captured"):
        closed(b)
    assert closed(a).item() == 20 and a.item() == 23


VIEWS = {
    "slice": lambda base: base[1:3],
    "row of the transposed": lambda base: base.reshape(2, 3).T[1],
    "detached": lambda base: base.detach(),
    "realized": lambda base: base[1:4].realize(),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("again", [True, False])
def test_an_input_that_is_a_view_is_changed(name, again):
    """So is the tensor that it shows a part of, in each run."""

    def results(wrap):
        base = vector(1, 2, 3, 4, 5, 6)
        base.realize()

        def f(v, x):
            v += x
            return (v * 2).realize()

        call, view, out = wrap(f), VIEWS[name](base), []
        for k in range(5):
            out += [call(VIEWS[name](base) if again else view, vector(k)).tolist(), base.tolist()]
        return out

    assert results(TinyJit) == results(lambda f: f)


def test_a_view_is_changed_beside_its_tensor():
    """The step would read the tensor as it was before: an error."""
    base = vector(1, 2, 3, 4).realize()

    def reads(v):
        v += 1
        return base.sum().realize()

    def both(x, v):
        v += 1
        return x.sum().realize()

    captured, given = TinyJit(reads), TinyJit(both)
    assert captured(base[1:3]).item() == 12 and given(base, base[1:3]).item() == 14
    with pytest.raises(ValueError, match="captured"):
        captured(base[1:3])
    with pytest.raises(ValueError, match="view of input 0"):
        given(base, base[1:3])


def test_batchnorm_in_training():
    rows = [np.arange(8, dtype=np.float32).reshape(4, 2) * (k + 1) for k in range(5)]
    want, got = [], []
    with Tensor.train():
        eager, jitted = nn.BatchNorm(2), nn.BatchNorm(2)
        f = TinyJit(lambda x: jitted(x).realize())
        for a in rows:
            want += [eager(Tensor(a)).numpy(), eager.running_mean.numpy(), eager.running_var.numpy()]
            got += [f(Tensor(a)).numpy(), jitted.running_mean.numpy(), jitted.running_var.numpy()]
    for w, g in zip(want, got):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_replace_in_a_trace():
    w = vector(1, 1)

    def f(x):
        w.replace(w + x)
        return (w * 1).realize()

    j = TinyJit(f)
    assert [j(vector(1, 2)).tolist() for _ in range(4)] == [[2, 3], [3, 5], [4, 7], [5, 9]] and w.tolist() == [5, 9]


# ---- arguments ----


def test_keyword_arguments_in_any_order():
    f = TinyJit(lambda a, b: (a - b).realize())
    got = [f(a=vector(5), b=vector(1)), f(b=vector(1), a=vector(6)), f(a=vector(7), b=vector(1)), f(b=vector(2), a=vector(8))]
    assert [t.item() for t in got] == [4, 5, 6, 6]


def test_an_argument_by_position_by_name_or_by_default():
    """They are the same call."""

    def f(a, b, scale=1, *rest, shift=0, **more):
        return ((a - b) * scale + shift + sum(rest) + sum(more.values())).realize()

    j = TinyJit(f)
    calls = [
        ((7, 1), {}), ((5,), {"b": 1}), ((), {"b": 1, "a": 6}), ((8, 2, 1), {}), ((9, 2), {"scale": 1}), ((9,), {"b": 3, "shift": 0}), ((9, 1), {"scale": 1, "shift": 0}),
    ]  # fmt: skip
    for args, kwargs in calls:
        args = [vector(v) if k < 2 else v for k, v in enumerate(args)]
        kwargs = {k: vector(v) if k in "ab" else v for k, v in kwargs.items()}
        assert j(*args, **kwargs).item() == f(*args, **kwargs).item()
    for bad in ({}, {"b": vector(1), "a": vector(1)}):
        with pytest.raises(TypeError):
            j(vector(1), **bad)
    for other in ({"scale": 2}, {"shift": 1}, {"c": vector(1)}):
        with pytest.raises(ValueError):
            j(vector(1), vector(1), **other)


def test_a_method_by_position_or_by_name():
    class Add:
        @TinyJit
        def apply(self, x, y=2):
            return (x + y).realize()

        @staticmethod
        @TinyJit
        def twice(x, y=2):
            return (x * y).realize()

    a = Add()
    assert [a.apply(vector(1)).item(), a.apply(x=vector(2)).item(), a.apply(vector(3), 2).item(), a.apply(y=2, x=vector(4)).item()] == [3, 4, 5, 6]
    assert [a.twice(vector(1)).item(), a.twice(x=vector(2)).item(), Add.twice(vector(3), 2).item(), a.twice(y=2, x=vector(4)).item()] == [2, 4, 6, 8]


def test_a_method_of_two_objects():
    class Scale:
        def __init__(self, w):
            self.w = vector(w)

        @TinyJit
        def apply(self, x):
            return (x * self.w).realize()

    a, b = Scale(2), Scale(3)
    assert [(a.apply(vector(k)).item(), b.apply(vector(k)).item()) for k in range(5)] == [(2 * k, 3 * k) for k in range(5)]


def test_other_arguments_are_an_error():
    f = TinyJit(lambda x, n, a=None: (x * n).realize())
    array = np.arange(3)
    for _ in range(3):
        f(vector(1), 2, a=array)
    with pytest.raises(ValueError):
        f(vector(1), 3, a=array)
    with pytest.raises(ValueError):
        f(vector(1), 2, a=np.arange(3))


def test_training_and_gradient_modes():
    drop = TinyJit(lambda x: x.dropout(0.5).realize())
    x = Tensor.ones(1000).contiguous().realize()
    for _ in range(4):
        with Tensor.train():
            assert 0 < float((drop(x) == 0).sum().item()) < 1000
        assert drop(x).tolist() == x.tolist()


# ---- values ----

READERS = {
    "nonzero": lambda x: x.nonzero(),
    "masked_select": lambda x: x.masked_select(x > 0),
    "mask": lambda x: x[x > 0],
    "_data": lambda x: Tensor(x._data.copy()),
    "dlpack": lambda x: x.__dlpack__() and x,
    "item": lambda x: x * x.sum().item(),
    "numpy": lambda x: Tensor(x.numpy()),
    "bool": lambda x: x if x.sum() > 1 else -x,
    "tolist": lambda x: Tensor(x.tolist()),
    "float": lambda x: x * float(x.sum()),
    "int": lambda x: x[: int(x.sum())],
    "index": lambda x: x[x.cast("int32")[0].__index__() :],
    "one_hot": lambda x: x.cast("int32").one_hot(),
    "array": lambda x: Tensor(np.array(x)),
    "data": lambda x: Tensor(np.array(x.data())),
    "computed": lambda x: x * (x * 2).sum().item(),
    "random": lambda x: x * Tensor.rand(2).sum().item(),
}


@pytest.mark.parametrize("name", READERS)
def test_values_cannot_be_read_in_a_trace(name):
    f = TinyJit(READERS[name])
    f(vector(1, 0))
    for _ in range(2):  # the error leaves nothing behind
        with pytest.raises(RuntimeError, match="inside a compiled step"):
            f(vector(1, 2))
    assert (vector(1, 2) + 1).tolist() == [2, 3]


def test_values_of_captured_constants_can_be_read():
    mask, scale = Tensor([True, False, True]), vector(3)
    f = TinyJit(lambda x: (x[mask] * scale.item()).realize())
    assert [f(vector(k, k + 1, k + 2)).tolist() for k in range(4)] == [[3 * k, 3 * k + 6] for k in range(4)]
    scale.assign(vector(4))
    with pytest.raises(RuntimeError, match="changed since"):
        f(vector(1, 2, 3))
    f.reset()
    assert [f(vector(1, 2, 3)).tolist() for _ in range(3)] == [[4, 12]] * 3


def test_values_of_state_cannot_be_read():
    w = vector(1)

    def f(x):
        scale = w.item()
        w.assign(w + x)
        return (w * scale).realize()

    j = TinyJit(f)
    j(vector(1))
    with pytest.raises(RuntimeError, match="was read while the step was traced"):
        j(vector(1))
    assert w.item() == 2.0


def test_what_the_function_leaves_behind_is_not_read():
    left = {}

    def f(x):
        left["h"] = x * 2
        return (left["h"] + 1).realize()

    j = TinyJit(f)
    for k in range(3):
        j(vector(k))
    with pytest.raises(RuntimeError, match="return it from the function"):
        left["h"].tolist()


def test_host_random_numbers_are_refused():
    from polygrad.geometric.utils import _host

    f = TinyJit(lambda x: (x * float(_host.generator().random())).realize())
    f(vector(1))
    with pytest.raises(RuntimeError, match="at random"):
        f(vector(1))
    g = TinyJit(lambda x: (Tensor.manual_seed(1), x + Tensor.rand(1))[1].realize())
    g(vector(1))
    with pytest.raises(RuntimeError, match="manual_seed"):
        g(vector(1))


def test_a_captured_edge_index_that_changes():
    edges, x = Tensor(np.array([[0, 1], [1, 2]], np.int64)), vector(1, 2, 3)
    f = TinyJit(lambda x: Graph(edges, 3).sum(Graph(edges, 3).src(x)).realize())
    for _ in range(3):
        assert f(x).tolist() == [0, 1, 2]
    edges.assign(Tensor(np.array([[0, 0], [2, 1]], np.int64)))
    with pytest.raises(RuntimeError, match="changed since"):
        f(x)
    g = TinyJit(lambda x, e: Graph(e, 3).sum(Graph(e, 3).src(x)).realize())
    pairs = [np.array(p, np.int64) for p in ([[0, 1], [1, 2]], [[0, 0], [2, 1]], [[2, 2], [0, 0]], [[1, 1], [0, 2]])]
    assert [g(x, Tensor(p)).tolist() for p in pairs] == [[0, 1, 2], [0, 1, 1], [6, 0, 0], [2, 0, 2]]


# ---- state from step to step ----


def test_random_numbers_are_those_of_eager_calls():
    def f(x):
        Tensor.rand(2)  # drawn and not used
        return (x + Tensor.rand(2)).realize()

    Tensor.manual_seed(5)
    want = [f(vector(0, 0)).tolist() for _ in range(5)]
    j = TinyJit(f)
    Tensor.manual_seed(5)
    assert [j(vector(0, 0)).tolist() for _ in range(5)] == want


def test_learning_rate_between_runs():
    w = Tensor([1.0], requires_grad=True)
    opt = SGD([w], lr=0.1)

    def f(x):
        opt.zero_grad()
        (w * x).sum().backward()
        opt.step()
        return (w * 1).realize()

    j, got = TinyJit(f), []
    for lr in (0.1, 0.2, 0.3, 0.4):
        opt.lr = lr
        got.append(round(j(vector(1)).item(), 4))
    assert got == [0.9, 0.7, 0.4, 0.0]


def test_gradients_from_before_a_trace():
    w = Tensor([1.0], requires_grad=True)
    opt = SGD([w], lr=0.1)

    def accumulate(x):  # each call adds to the gradient of the call before
        (w * x).sum().backward()
        opt.step()
        return (w * 1).realize()

    f = TinyJit(accumulate)
    f(vector(1))
    with pytest.raises(RuntimeError, match="zero_grad"):
        f(vector(1))
    assert w.grad.item() == 1.0

    def train(model, opt, x):
        loss = (w * x).sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    w.assign(vector(1)).realize()
    step = compile_step(train, [w], opt, vector(1))
    assert [round(step.run() or step.loss_value(), 4) for _ in range(3)] == [1.0, 0.9, 0.8]


def test_an_exception_in_a_trace_changes_nothing(device):
    w, calls = vector(1, 1), []

    def f(x):
        calls.append(1)
        w.assign(w + x)
        if len(calls) == 2:
            raise KeyError("in the middle")
        return (w * 1).realize()

    j = TinyJit(f)
    assert j(vector(1, 1)).tolist() == [2, 2]
    with pytest.raises(KeyError):
        j(vector(1, 1))
    assert w.tolist() == [2, 2]
    assert [j(vector(1, 1)).tolist() for _ in range(3)] == [[3, 3], [4, 4], [5, 5]]


def test_jits_in_jits():
    inner = TinyJit(lambda x: (x * 2).realize())
    for k in range(3):
        inner(vector(k))
    outer = TinyJit(lambda x: (inner(x) + 1).realize())
    assert [outer(vector(k)).item() for k in range(5)] == [2 * k + 1 for k in range(5)]
    assert inner(vector(7)).item() == 14


def test_a_graph_of_its_own():
    f = TinyJit(lambda x: (x + 1).realize())
    for k in range(3):
        f(vector(k))
    with with_autograd_graph():
        assert [f(vector(k)).item() for k in range(4)] == [1, 2, 3, 4]
    assert f(vector(9)).item() == 10


# ---- views ----


def test_cache_of_keys():
    """cache[:, :, i:i+n].assign(k), eager and jitted, then read."""
    want = np.zeros((1, 2, 4, 3), np.float32)
    cache = Tensor.zeros(1, 2, 4, 3).contiguous().realize()
    jitted = Tensor.zeros(1, 2, 4, 3).contiguous().realize()

    def write(k):
        jitted[:, :, 1:3].assign(k)
        return jitted.sum().realize()

    f = TinyJit(write)
    for i in range(4):
        k = np.full((1, 2, 1, 3), i + 1.0, np.float32)
        want[:, :, i : i + 1] = k
        cache[:, :, i : i + 1].assign(Tensor(k))
        two = np.full((1, 2, 2, 3), i + 5.0, np.float32)
        assert f(Tensor(two)).item() == two.sum()
        np.testing.assert_array_equal(jitted.numpy()[:, :, 1:3], two)
    np.testing.assert_array_equal(cache.numpy(), want)


def test_cache_at_a_symbolic_place():
    cache = Tensor.zeros(8, 2).contiguous().realize()
    at = Variable("at", 0, 7)
    for k in range(8):
        cache[at.bind(k) : at.bind(k) + 1].assign(Tensor.full((1, 2), k + 1.0))
    assert cache.tolist() == [[k + 1.0] * 2 for k in range(8)]


def test_cache_at_a_symbolic_place_jitted():
    cache, at = Tensor.zeros(1, 2, 8, 3).contiguous().realize(), Variable("at", 0, 7)

    def write(k, start):
        cache[:, :, start : start + 1].assign(k)
        return cache[:, :, : start + 1].sum().realize()

    f, want = TinyJit(write), np.zeros((1, 2, 8, 3), np.float32)
    for i in range(8):
        k = np.full((1, 2, 1, 3), i + 1.0, np.float32)
        want[:, :, i : i + 1] = k
        assert f(Tensor(k), at.bind(i)).item() == want.sum()
        np.testing.assert_array_equal(cache.numpy(), want)
    with pytest.raises(ValueError):
        f(Tensor(k), Variable("other", 0, 7).bind(3))
    with pytest.raises(ValueError):
        f(Tensor(k), 3)


# ---- programs drawn at random ----


class Program:
    """A few statements over an input, a parameter, a running tensor and what was captured."""

    def __init__(self, seed):
        self.seed = seed
        rng = random.Random(seed)
        self.statements = [rng.choice(sorted(STATEMENTS)) for _ in range(rng.randint(2, 6))]

    def start(self):
        self.w = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        self.run = Tensor([0.5, -0.5, 0.25, 1.0])
        self.lazy = self.w.detach().clone() * 3
        self.computed = (self.w * 2).realize()
        self.opt = SGD([self.w], lr=0.01, momentum=0.9)

    def __call__(self, x):
        y = x
        for name in self.statements:
            y = STATEMENTS[name](self, x, y)
        return y.realize()

    def train(self, model, opt, x):
        return self(x)


def _inplace(y, change):
    y = y.clone()
    change(y)
    return y


def _step(p, x, y):
    p.opt.zero_grad()
    (p.w * y.detach()).tanh().sum().backward()
    p.opt.step()
    return y


STATEMENTS = {
    "times w": lambda p, x, y: y * p.w,
    "w expression": lambda p, x, y: y + p.w * 2,
    "add run": lambda p, x, y: y + p.run,
    "lazy": lambda p, x, y: y + p.lazy,
    "computed": lambda p, x, y: y * p.computed,
    "tanh": lambda p, x, y: y.tanh().realize(),
    "clone +=": lambda p, x, y: _inplace(y, lambda t: t.assign(t + 1)),
    "clone set": lambda p, x, y: _inplace(y, lambda t: t.__setitem__(slice(0, 2), 0.5)),
    "view of a clone": lambda p, x, y: _inplace(y, lambda t: t[1:3].assign(t[0:2].detach().clone())),
    "run": lambda p, x, y: (p.run.assign(p.run * 0.5 + y.detach().tanh()), y)[1],
    "run view": lambda p, x, y: (p.run[1:3].assign(y[0:2].detach().tanh()), y)[1],
    "run set": lambda p, x, y: (p.run.__setitem__(3, y[0].detach().tanh()), y)[1],
    "rand": lambda p, x, y: y + Tensor.rand(4),
    "input": lambda p, x, y: (x.assign(x * 0.5), y)[1],
    "train": _step,
}


def _result(seed, way, keep):
    program, kept, out = Program(seed), [], []
    Tensor.manual_seed(seed)
    program.start()
    inputs = [Tensor(np.linspace(-1, 1, 4, dtype=np.float32) * (k + 1)) for k in range(5)]
    if way == "step":
        step = compile_step(program.train, [program.w, program.run], program.opt, inputs[0].clone().realize())
        Tensor.manual_seed(seed)

        def f(x):
            step.run(x)
            return step.loss

    else:
        f = TinyJit(program) if way == "jit" else program
        Tensor.manual_seed(seed)
    for x in inputs:
        if keep:
            kept += [(x * program.w).realize(), program.w * 2, program.run + 1, x.detach()]
        r = f(x)
        kept.append(r if keep else None)
        out += [r.numpy(), program.w.numpy(), program.run.numpy(), x.numpy()] if not keep or way != "jit" else []
        if keep and way == "jit":
            out += [None, program.w.numpy(), program.run.numpy(), x.numpy()]
    if keep and way == "jit":  # read at the end: later runs have not changed them
        out[::4] = [r.numpy() for r in kept[4::5]]
    return program.statements, out


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("way", ["step", "jit"])
def test_programs_drawn_at_random(way, keep):
    for seed in range(40):
        statements, want = _result(seed, "eager", False)
        got = _result(seed, way, keep)[1]
        for k, (w, g) in enumerate(zip(want, got)):
            np.testing.assert_allclose(g, w, rtol=2e-5, atol=1e-6, err_msg=f"seed {seed}: {statements}, call {k // 4}, value {k % 4}")


def test_plain_steps_beside_a_compiled_one_leave_nothing_behind():
    """Parameters that a compiled step reads would else keep the program of every plain step that wrote them."""
    model = nn.Linear(3, 2)
    opt = nn.SGD(nn.get_parameters(model), lr=0.01)
    x = Tensor.rand(4, 3).realize()

    def train(model, opt):
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        return loss

    step = nn.compile_step(train, model, opt)
    train(model, opt).realize()
    before = x._g.live_nodes
    for _ in range(5):
        train(model, opt).realize()
    assert x._g.live_nodes == before
    held = model.weight.numpy().copy()
    step.run()
    assert (model.weight.numpy() != held).any()
