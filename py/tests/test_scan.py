"""Loops over steps: polygrad.scan beside the same program unrolled, its gradients, its plans, and the layers that use it."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad import Graph, Tensor, TinyJit, Variable, dtypes, nn, scan
from polygrad._ffi import C
from polygrad.nn import SGD, compile_step, get_parameters

RNG = np.random.default_rng(7)


def draw(*shape, scale=0.6):
    return (scale * RNG.normal(size=shape)).astype(np.float64)


def tensors(arrays, **kwargs):
    return [Tensor(a, **kwargs) for a in arrays]


def unrolled(f, init, xs, *, length=None, reverse=False):
    """The loop written out: what scan means."""
    leaves = xs if isinstance(xs, tuple) else (xs,)
    n = length if xs is None else int(leaves[0].shape[0])
    carry, ys = init, [None] * n
    for t in reversed(range(n)) if reverse else range(n):
        x = None if xs is None else tuple(a[t] for a in xs) if isinstance(xs, tuple) else xs[t]
        carry, ys[t] = f(carry, x)
    if ys[0] is None:
        return carry, None
    if isinstance(ys[0], tuple):
        return carry, tuple(Tensor.stack(*column) for column in zip(*ys))
    return carry, Tensor.stack(*ys)


def flat(tree):
    if tree is None:
        return []
    return [tree] if isinstance(tree, Tensor) else [t for part in tree for t in flat(part)]


# name: body(parameters, carry, x), shapes of parameters, of the carry, of one x
BODIES = {
    "elementwise": (lambda p, c, x: ((c * p[0] + x).tanh(),) * 2, [(4,)], (4,), (4,)),
    "products": (lambda p, c, x: ((c @ p[0] + x @ p[1]).tanh(), (c @ p[2]).sin()), [(5, 5), (3, 5), (5, 2)], (2, 5), (2, 3)),
    "product of the result": (lambda p, c, x: ((c @ p[0] + x).sigmoid(), (c @ p[0] + x).sigmoid() @ p[1]), [(4, 4), (4, 3)], (2, 4), (2, 4)),
    "two carries": (
        lambda p, c, x: ((c[1] * p[0] + x, (c[0] * c[1]).sin() + p[1]), (c[0] * x, c[1].exp())), [(3,), (3,)], ((3,), (3,)), (3,),
    ),
    "reduction": (lambda p, c, x: ((c - c.logsumexp(axis=-1, keepdim=True)) * p[0] + x, (c * x).sum()), [(4,)], (2, 4), (2, 4)),
    "a carry that turns": (lambda p, c, x: ((c[1], c[0] + x * p[0]), c[0] * 2), [(3,)], ((3,), (3,)), (3,)),
    "moves": (lambda p, c, x: (Tensor.cat(c[1:], (c[:1] * p[0] + x[:1]).tanh()), c.flip(0).reshape(2, 2)), [(1,)], (4,), (2,)),
    "an unused carry": (lambda p, c, x: ((c[0] * p[0] + x, c[1] * 3.0), c[0]), [(3,)], ((3,), (3,)), (3,)),
    "constants": (lambda p, c, x: (c * 0.5 + 1.0, (x * 0 + 2.0).sum() + p[0].sum()), [(3,)], (3,), (3,)),
    "what stays": (lambda p, c, x: (c, p[0] * 1.0), [(3,)], (3,), (3,)),
}  # fmt: skip


def make(shape, **kwargs):
    return tuple(make(s, **kwargs) for s in shape) if shape and isinstance(shape[0], tuple) else Tensor(draw(*shape), **kwargs)


def case(name, n):
    """Functions that run the case with scan or unrolled, from the same values."""
    body, parameters, carry, x = BODIES[name]
    values = [draw(*s) for s in parameters], [draw(*s) for s in (carry if isinstance(carry[0], tuple) else (carry,))], draw(n, *x)

    def run(how, **kwargs):
        p, c, xs = tensors(values[0]), tensors(values[1]), Tensor(values[2])
        leaves = [*p, *c, xs]
        for t in leaves:
            t.requires_grad = True
        first = tuple(c) if isinstance(carry[0], tuple) else c[0]
        return leaves, how(lambda s, row: body(p, s, row), first, xs, **kwargs)

    return run


def loss_of(result):
    return sum(((t * t).sum() + t.sin().sum()) for t in flat(result))


def grads_of(loss, leaves):
    return loss.gradient(*leaves, materialize_grads=True)


def compare(a, b, rtol=1e-9):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x.numpy(), y.numpy(), rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", BODIES)
def test_values_and_gradients(name, n, reverse):
    run = case(name, n)
    ours, theirs = [run(how, reverse=reverse) for how in (scan, unrolled)]
    compare(flat(ours[1]), flat(theirs[1]))
    compare(grads_of(loss_of(ours[1]), ours[0]), grads_of(loss_of(theirs[1]), theirs[0]))


@pytest.mark.parametrize("checkpoint", [False, True, 2, 3])
@pytest.mark.parametrize("name", ["elementwise", "products", "two carries", "reduction"])
def test_checkpoints_change_nothing(name, checkpoint):
    run = case(name, 7)
    ours, theirs = run(scan, checkpoint=checkpoint, reverse=True), run(unrolled, reverse=True)
    compare(flat(ours[1]), flat(theirs[1]))
    compare(grads_of(loss_of(ours[1]), ours[0]), grads_of(loss_of(theirs[1]), theirs[0]))


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("name", ["elementwise", "products", "two carries", "reduction", "moves"])
def test_second_gradients(name, checkpoint):
    run = case(name, 4)
    found = []
    for leaves, result in (run(scan, checkpoint=checkpoint), run(unrolled)):
        first = grads_of(loss_of(result), leaves)
        found.append(grads_of(loss_of(first), leaves))
    compare(*found, rtol=1e-8)


# Functions that know their axes, and routines, which the loop does for all steps at once where it can.
FUNCTIONS = {
    "var 0": lambda h: h.var(0, keepdim=True) + h,
    "var 1": lambda h: h.var(1, keepdim=True) * h,
    "std 0": lambda h: h.std(0, keepdim=True) * h,
    "softmax": lambda h: h.softmax(-1) + h.log_softmax(0),
    "norm 0": lambda h: h / (h._norm(2.0, 0, True) + 1),
    "norm 1": lambda h: h._norm(3.0, 1, True) * h,
    "prod": lambda h: h.prod(0, keepdim=True) + h,
    "cumprod": lambda h: h.cumprod(1),
    "cumsum": lambda h: h.cumsum(0),
    "sort": lambda h: h.sort(1)[0],
    "product of segments": lambda h: Tensor.ones(2, 4, dtype=h.dtype).scatter_reduce(0, Tensor([[0] * 4, [1] * 4, [0] * 4]), h, "prod").sum(0) + h,
}


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_gradients_of_functions(name, carried):
    f = FUNCTIONS[name]
    arrays = draw(4, 4), draw(3, 4), draw(3, 3, 4)

    def results(loop):
        w, h, xs = tensors(arrays)
        last, ys = loop(lambda c, x: (f(c @ w + x) * 0.5, f(c)) if carried else ((c + f(x @ w)).tanh(), c), h, xs)
        first = ((last * last).sum() + ys.sin().sum()).gradient(w, xs)
        return [*first, *((first[0] * first[0]).sum() + first[1].sin().sum()).gradient(w, xs)]

    for got, want in zip(results(scan), results(unrolled)):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-8, atol=1e-10)


def test_gradient_of_one_result_alone():
    """A result that nothing reads costs no gradient, and the last carry alone has one too."""
    run = case("two carries", 4)
    for pick in (lambda r: r[0][0], lambda r: r[0][1], lambda r: r[1][0], lambda r: r[1][1]):
        found = [grads_of(loss_of(pick(result)), leaves) for leaves, result in (run(scan), run(unrolled))]
        compare(*found)


def test_no_steps():
    c = Tensor([1.0, 2.0], requires_grad=True)
    last, ys = scan(lambda c, x: (c * 2 + x, c), c, Tensor.zeros(0, 2))
    assert last.tolist() == [1.0, 2.0] and ys.shape == (0, 2) and ys.numpy().shape == (0, 2)
    assert (last * 3).sum().gradient(c)[0].tolist() == [3.0, 3.0]


def test_length_without_inputs():
    last, ys = scan(lambda c, x: (c * 2, c), Tensor(1.0), length=5)
    assert last.item() == 32.0 and ys.tolist() == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert scan(lambda c, x: (c * 2, None), Tensor(1.0), length=0)[0].item() == 1.0


def test_trees():
    init = {"a": Tensor(1.0), "b": [Tensor([1, 2]), None]}
    last, (ys, more) = scan(
        lambda c, x: ({"a": c["a"] + x["u"], "b": [c["b"][0] + 1, None]}, (c["a"], {"t": x["v"][0] * 2})), init, {"u": Tensor([1.0, 2.0]), "v": (Tensor([3, 4]),)}
    )  # fmt: skip
    assert last["a"].item() == 4.0 and last["b"][0].tolist() == [3, 4] and last["b"][1] is None
    assert ys.tolist() == [1.0, 2.0] and more["t"].tolist() == [6, 8]


def test_carries_of_integers():
    """Counters and choices beside floats: no gradient goes through them."""
    w = Tensor([0.5, -1.0], requires_grad=True)

    def step(c, x):
        i, h = c
        return (i + 1, (i % 2 == 0).where(h * w, h + w)), i

    (i, h), seen = scan(step, (Tensor(0), Tensor([1.0, 2.0])), length=4)
    assert i.item() == 4 and seen.tolist() == [0, 1, 2, 3]
    h.sum().backward()
    want = Tensor([0.5, -1.0], requires_grad=True)
    ((Tensor([1.0, 2.0]) * want + want) * want + want).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), want.grad.numpy(), rtol=1e-6)


def test_loops_inside_loops():
    w, xs = draw(3), draw(4, 5, 3)

    def both(how):
        p, x = Tensor(w, requires_grad=True), Tensor(xs, requires_grad=True)

        def outer(c, rows):
            last, ys = how(lambda h, row: ((h * p + row + c).tanh(), h * c), c, rows)
            return last + c * p, ys

        last, ys = how(outer, Tensor(w) * 0.5, x)
        first = grads_of(loss_of((last, ys)), [p, x])
        return [last, ys, *first, *grads_of(loss_of(first), [p, x])]

    compare(both(scan), both(unrolled), rtol=1e-8)


def test_message_passing_with_shared_weights():
    src, dst = RNG.integers(0, 6, 20), RNG.integers(0, 6, 20)
    g = Graph(Tensor(np.stack([src, dst]).astype(np.int32)), num_nodes=6)
    weight, x0, w0 = draw(20), draw(6, 3), draw(3, 3)

    def both(how):
        w, x, e = Tensor(w0, requires_grad=True), Tensor(x0, requires_grad=True), Tensor(weight, requires_grad=True)

        def step(h, _):
            messages = (h @ w)[Tensor(src)] * e.unsqueeze(1)
            return Tensor.zeros(6, 3, dtype=dtypes.float64).scatter_reduce(
                0, Tensor(dst).unsqueeze(1).expand(20, 3), messages, "sum"
            ).tanh() + x, None

        last, _ = how(step, x, None, length=3)
        return [last, *grads_of(loss_of(last), [w, x, e])]

    assert g.num_nodes == 6
    compare(both(scan), both(unrolled), rtol=1e-8)


def test_symbolic_length():
    """Any number of steps runs in one plan."""
    w = Tensor(draw(3), requires_grad=True)
    for n in (2, 5, 3):
        xs = draw(n, 3)
        steps = Variable("steps", 1, 10).bind(n)
        x = Tensor(np.vstack([xs, np.zeros((10 - n, 3))])).shrink(((0, steps), None))
        last, ys = scan(lambda c, row: ((c * w + row).tanh(),) * 2, Tensor(np.zeros(3)), x)
        got = grads_of((last * last).sum() + ys.sum(), [w])[0].numpy()
        last, ys = unrolled(lambda c, row: ((c * w + row).tanh(),) * 2, Tensor(np.zeros(3)), Tensor(xs))
        np.testing.assert_allclose(got, grads_of((last * last).sum() + ys.sum(), [w])[0].numpy(), rtol=1e-9)


def test_other_lengths_find_their_plan():
    net = nn.GRU(3, 4)
    built = []
    for n in (5, 9, 6, 12, 3, 40):
        y, _ = net(Tensor(RNG.normal(size=(n, 2, 3)).astype(np.float32)))
        Tensor.realize(*y.square().sum().gradient(*get_parameters(net)))
        built.append(C.poly_plans_built(net.weight_ih_l0._g.ptr))
    assert len(set(built[1:])) == 1, built


def test_in_a_compiled_step():
    net = nn.LSTM(3, 4)
    opt = SGD(get_parameters(net), lr=0.1)
    other = nn.LSTM(3, 4)
    for a, b in zip(get_parameters(other), get_parameters(net)):
        a.assign(Tensor(b.numpy())).realize()
    opt2 = SGD(get_parameters(other), lr=0.1)

    def train(model, opt, x):
        opt.zero_grad()
        y, (h, _) = model(x)
        loss = (y * y).mean() + h.sum()
        loss.backward()
        opt.step()
        return loss

    batches = [Tensor(RNG.normal(size=(5, 2, 3)).astype(np.float32)) for _ in range(4)]
    step = compile_step(train, net, opt, batches[0])
    for x in batches:
        step.run(x)
        assert step.loss_value() == pytest.approx(train(other, opt2, x).item(), rel=1e-5)


def test_in_a_jit():
    @TinyJit
    def f(x, c):
        return scan(lambda c, row: (c * 0.5 + row, c), c, x)[1].realize()

    for k in range(5):
        x, c = draw(3, 2), draw(2)
        want = unrolled(lambda c, row: (c * 0.5 + row, c), Tensor(c), Tensor(x))[1].numpy()
        np.testing.assert_allclose(f(Tensor(x).realize(), Tensor(c).realize()).numpy(), want, rtol=1e-9)


def test_states_are_what_is_kept():
    """With checkpoints, less memory for more steps."""
    w = draw(32, 32)
    peaks = {}
    for checkpoint in (False, 16):
        p = Tensor(w, requires_grad=True)

        def step(c, _):
            for _ in range(4):
                c = (c @ p).tanh().sin() + c  # noqa: B023
            return c, None

        last, _ = scan(step, Tensor(np.ones((64, 32))), length=256, checkpoint=checkpoint)
        g = last.sum().gradient(p)[0]
        p._g.reset_peak()
        g.realize()
        peaks[checkpoint] = p._g.peak_bytes
    assert peaks[16] < peaks[False] / 4, peaks


def test_errors():
    x = Tensor.zeros(3, 2)
    with pytest.raises(ValueError, match=r"carried value 0 begins with shape \(2,\) and becomes \(1, 2\)"):
        scan(lambda c, x: (c.unsqueeze(0), None), Tensor.zeros(2), x)
    with pytest.raises(TypeError, match="begins as float32 and becomes int32"):
        scan(lambda c, x: (c.cast(dtypes.int32), None), Tensor.zeros(2), x)
    with pytest.raises(ValueError, match="begin as a tensor and become"):
        scan(lambda c, x: ((c, c), None), Tensor.zeros(2), x)
    with pytest.raises(TypeError, match="returns the new carried values"):
        scan(lambda c, x: c, Tensor.zeros(2), x)
    with pytest.raises(ValueError, match="the loop has 3 steps"):
        scan(lambda c, x: (c, None), Tensor.zeros(2), (x, Tensor.zeros(4)))
    with pytest.raises(ValueError, match="number of steps is unknown"):
        scan(lambda c, x: (c, None), Tensor.zeros(2))
    with pytest.raises(ValueError, match="draws random numbers"):
        scan(lambda c, x: (c + Tensor.rand(2), None), Tensor.zeros(2), x)
    with pytest.raises(ZeroDivisionError):
        scan(lambda c, x: (c, 1 / 0), Tensor.zeros(2), x)
    kept = []
    scan(lambda c, x: (kept.append(c * 2) or c, None), Tensor.zeros(2), x)
    with pytest.raises(RuntimeError, match="inside the body of a loop"):
        kept[0].numpy()


def test_devices(device):
    run = case("products", 5)
    ours, theirs = run(scan), run(unrolled)
    compare([*flat(ours[1]), *grads_of(loss_of(ours[1]), ours[0])], [*flat(theirs[1]), *grads_of(loss_of(theirs[1]), theirs[0])], rtol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_random_bodies(seed):
    """Bodies of random operations on three values, of which two are carried."""
    rng = np.random.default_rng(seed)
    unary = ["tanh", "sin", "sigmoid", "exp", "relu", "neg", "abs"]
    plan = [(rng.choice(unary), rng.choice(["add", "mul", "sub", "maximum"]), *rng.integers(0, 4, 2)) for _ in range(8)]
    w0, c0, x0 = draw(3, 3), (draw(2, 3), draw(2, 3)), draw(4, 2, 3)

    def both(how, **kwargs):
        w, x = Tensor(w0, requires_grad=True), Tensor(x0, requires_grad=True)
        c = tuple(Tensor(a, requires_grad=True) for a in c0)

        def step(c, row):
            values = [*c, row, c[0] @ w]
            for f, g, i, j in plan:
                v = getattr(values[-1 - i], f)()
                values.append(getattr(v, g)(values[-1 - j]) * 0.5)
            return (values[-1].tanh(), values[-2].sin()), (values[-3] @ w, values[-4].sum(0))

        result = how(step, c, x, **kwargs)
        leaves = [w, x, *c]
        first = grads_of(loss_of(result), leaves)
        return [*flat(result), *first, *(grads_of(loss_of(first), leaves) if seed < 4 else [])]

    reverse = bool(seed % 2)
    compare(both(scan, reverse=reverse, checkpoint=bool(seed % 3 == 0)), both(unrolled, reverse=reverse), rtol=1e-7)
