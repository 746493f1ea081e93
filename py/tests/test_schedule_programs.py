"""Programs that ask much of the schedule: several results in one plan, values that loops over entries store, reductions in many loops, empty selections. Whatever it
makes of them, the results are those of the same program with each value computed alone, and no memory that nothing wrote is among them."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from polygrad import Device, Graph, Profile, Tensor, scan

RNG = np.random.default_rng(0)
M_PERTURB = -6  # of mallopt: fresh memory is filled with a pattern


@pytest.fixture(autouse=True, params=["INTERP", "CPU"])
def device(request):
    """Both devices, on memory that is not zero by chance."""
    before = Device.DEFAULT
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(M_PERTURB, 165)
    Device.DEFAULT = request.param
    yield request.param
    Device.DEFAULT = before
    if mallopt:
        mallopt(M_PERTURB, 0)


def together(*tensors):
    """Computes all of them in one plan."""
    tensors[0].realize(*tensors[1:])
    return [t.numpy() for t in tensors]


def check(build):
    """build() gives tensors of one program. All in one plan, they are what each is alone on the interpreter."""
    device, Device.DEFAULT = Device.DEFAULT, "INTERP"
    want = [t.numpy() for t in build()]  # one plan each
    Device.DEFAULT = device
    for t, w in zip(together(*build()), want, strict=True):
        np.testing.assert_allclose(t, w, rtol=1e-9, atol=1e-9)
    return want


def leaf(*shape):
    a = RNG.uniform(-2, 2, shape)
    return lambda: Tensor(a, requires_grad=True)


def with_gradients(t, *leaves):
    """t, its first gradients and the gradients of those, as roots of one plan."""
    weights = Tensor(np.cos(np.arange(int(np.prod(t.shape)))).reshape(t.shape))
    loss = (t.tanh() * weights).sum() + sum(((x * x).sum() for x in leaves), Tensor(np.zeros(())))
    first = loss.gradient(*leaves)
    second = sum((g * g.sin()).sum() for g in first).gradient(*leaves)
    return [t, *first, *second]


def test_a_result_that_its_reader_walks_in_other_loops():
    """The sum walks 4 as 2 times 2, its reader as 4: the kernel of both stored only one of them."""
    a = RNG.standard_normal((2, 3))
    t = (Tensor(a).sum(1, keepdim=True).repeat(2, 1) * 2).sum(1)
    u = t + 1
    got = together(t, u)
    want = (np.tile(a.sum(1, keepdims=True), (2, 1)) * 2).sum(1)
    np.testing.assert_allclose(got[0], want, rtol=1e-12)
    np.testing.assert_allclose(got[1], want + 1, rtol=1e-12)


def test_weight_gradient_of_a_grouped_dilated_convolution():
    """Its kernel and that of the second gradient walk the output channels in different loops."""
    x, w = leaf(1, 2, 2, 3), leaf(4, 1, 1, 1)

    def build():
        a, b = x(), w()
        y = a.conv2d(b, groups=2, dilation=2, padding=1)
        z = y @ y.transpose(-1, -2) * 0.2
        return with_gradients(z.sum((2, 3)) * y.softmax(0).sum((2, 3)), a, b)

    check(build)
    check(lambda: [build()[k] for k in (0, 3)])  # of two copies of the program
    check(lambda: [build()[k] for k in range(5)])


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("shape", [(6,), (3, 2), (2, 3, 4)])
def test_gradients_through_empty_selections(shape, n):
    """The loop over no entries has indices that it never reads: what is the same for all entries must not be read either."""
    x = leaf(*shape)
    axis = len(shape) - 1
    picks = Tensor(np.zeros(n, np.int64))
    for select in (lambda t: t.topk(n, axis)[0], lambda t: t.index_select(axis, picks), lambda t: t[..., :n].flip(axis)):

        def build(select=select):
            a = x()
            return with_gradients(select(a), a)

        want = check(build)
        assert want[0].shape[axis] == n
        if n == 0:
            np.testing.assert_allclose(want[1], 2 * x().numpy(), rtol=1e-12)


@pytest.mark.parametrize("move", ["permute", "reshape", "flip", "pad", "shrink", "expand"])
def test_moved_values_of_entries_are_results_too(move):
    """The loop over the entries of a row stores what it reads, also where that is a moved tensor."""
    moves = {
        "permute": lambda y: y.permute(1, 0), "reshape": lambda y: y.reshape(2, 6), "flip": lambda y: y.flip(0), "pad": lambda y: y.pad((1, 0, 0, 1)),
        "shrink": lambda y: y[1:, :2], "expand": lambda y: y.unsqueeze(0).expand(2, 3, 4),
    }  # fmt: skip
    x, y = leaf(3, 4), leaf(3, 4)
    i = Tensor(RNG.integers(0, 4, (3, 4)))
    check(lambda: [(a := x()).scatter_add(1, i, b := y()), moves[move](b), moves[move](a)])
    check(lambda: [x().scatter_add(1, i, b := y() * 2), moves[move](b)])

    def build():
        a, b = x(), y()
        return with_gradients(moves[move](a.gather(1, i).scatter_add(1, i, b)), a, b)

    check(build)


@pytest.mark.parametrize("shape", [(1, 2), (3, 4), (2, 1, 3)])
def test_second_gradients_of_gather(shape):
    x, axis = leaf(*shape), len(shape) - 1
    i = Tensor(RNG.integers(0, shape[-1], (*shape[:-1], 1)))

    def build():
        a = x()
        return with_gradients(a.gather(axis, i), a)

    check(build)


@pytest.mark.parametrize("axis", [0, 1])
def test_index_add_then_logcumsumexp(axis):
    x, y = leaf(4, 3), leaf(*((5, 3) if axis == 0 else (4, 5)))
    i = Tensor(RNG.integers(0, 3, 5))

    def build():
        a, b = x(), y()
        return with_gradients(a.index_add(axis, i, b).logcumsumexp(axis).index_add(axis, i, b).logcumsumexp(1 - axis), a, b)

    check(build)


def test_more_reductions_than_a_kernel_has_loops():
    """Each goes over another number of elements. What does not fit into one kernel is stored."""
    a = RNG.standard_normal((3, 80))
    x, want = Tensor(a), 0
    t = x[:, :1].sum(1) * 0
    for k in range(2, 78):
        t = t * 0.5 + x[:, :k].sum(1)
        want = want * 0.5 + a[:, :k].sum(1)
    np.testing.assert_allclose(t.numpy(), want, rtol=1e-9)


def test_reductions_inside_reductions_in_many_loops():
    """Products of sums of products of sums: each of them could be computed where it is read."""
    a = RNG.uniform(0.9, 1.1, (2, 3, 4, 5))
    t, want = Tensor(a), a
    for k in range(30):
        axis = k % 4
        t = t * t.mean(axis, keepdim=True).flip(0).repeat(*(a.shape[axis] if i == axis else 1 for i in range(4))) ** -0.5
        want = want * np.tile(np.flip(want.mean(axis, keepdims=True), 0), [a.shape[axis] if i == axis else 1 for i in range(4)]) ** -0.5
    np.testing.assert_allclose(t.numpy(), want, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_attention_over_edges_with_every_value_asked_for(seed):
    rng = np.random.default_rng(seed)
    n, e = 5, 14
    index = rng.integers(0, n, (2, e)).astype(np.int64)
    graph, x, w = Graph(index, n), leaf(n, 2, 3), leaf(2, 3)

    def build():
        a, b = x(), w()
        score = (graph.src(a) * graph.dst(a) * b).sum(2)
        weight = graph.softmax(score)
        out = graph.sum(weight.unsqueeze(2) * graph.src(a))
        return [score, weight, score.permute(1, 0), *with_gradients(out + graph.sum(score, "out").unsqueeze(2), a, b)]

    check(build)


def add_rows(t, index):
    return Tensor.zeros(*t.shape, dtype=t.dtype).index_add(0, Tensor(index), t)


def sum_at(index, a, rows):
    out = np.zeros((rows, *a.shape[1:]))
    np.add.at(out, index, a)
    return out


def add_rows_np(a, index):
    return sum_at(index, a, len(a))


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 1, 3, 2), (3, 0, 1, 2), (1, 3, 2, 0)])
def test_sums_of_one_loop_that_need_each_other(order, device):
    """The slope of silu needs the mean that is stored from inside the loop over edges: its sum must not share the loop of that mean."""
    rng = np.random.default_rng(0)
    edges, x = np.array([[3, 2, 2, 2, 1, 0], [4, 0, 5, 5, 4, 5]]), rng.normal(size=(6, 2))
    weight = rng.normal(size=(3, 6, 2))

    def outputs(x, src, dst, mean, silu):
        t0 = src(x)
        t1 = dst(t0)
        return t1, t0, silu(mean(t1))

    def total(x):
        count = np.maximum(np.bincount(edges[1], minlength=6), 1)[:, None]
        mean = lambda m: np.stack([m[edges[1] == k].sum(0) for k in range(6)]) / count  # noqa: E731
        ys = outputs(x, lambda a: a[edges[0]], lambda a: a[edges[1]], mean, lambda a: a / (1 + np.exp(-a)))
        return sum((y * w).sum() for y, w in zip(ys, weight))

    t, g = Tensor(x), Graph(Tensor(edges), 6)
    ys = outputs(t, g.src, g.dst, lambda m: g.mean(m, "in"), Tensor.silu)
    loss = sum(((y * Tensor(w)).sum() for y, w in zip(ys, weight)), Tensor(0.0, dtype="float64"))
    results = [*ys, loss.gradient(t)[0]]
    results[order[0]].realize(*(results[k] for k in order[1:]))
    want = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[k] = 1e-6
        want[k] = (total(x + step) - total(x - step)) / 2e-6
    np.testing.assert_allclose(results[3].numpy(), want, rtol=1e-6, atol=1e-8)


def test_an_assignment_waits_for_what_a_loop_over_entries_reads():
    """The sum of rows stores the value that it sums, entry by entry, and reads the old contents out of place: they may not be overwritten in its kernel."""
    a, b = RNG.uniform(-1, 1, (4, 4)), RNG.uniform(-1, 1, (4, 4))
    i, j = np.array([1, 1, 0, 2]), np.array([0, 3, 3, 1])
    w, x = Tensor(a).realize(), Tensor(b).realize()
    w += x - x.sum(1, keepdim=True)
    old = a + (b - b.sum(1, keepdims=True))
    q = add_rows(w, j)
    p = add_rows(w.index_select(0, Tensor(i)), i)
    w.assign(x * 0.5)
    got = together(q, w, p)
    np.testing.assert_allclose(got[0], add_rows_np(old, j), rtol=1e-9)
    np.testing.assert_allclose(got[1], b * 0.5, rtol=1e-9)
    np.testing.assert_allclose(got[2], add_rows_np(old[i], i), rtol=1e-9)


def test_an_assignment_waits_for_rows_that_a_loop_over_entries_could_take():
    """Alone, the scores read nothing but the first part of the join. The loop that sums them stores them entry by entry, at rows that it loads, and reads both
    parts: the second may not be overwritten before."""
    index, a, b = RNG.integers(0, 6, (2, 40)), RNG.standard_normal((40, 1)), RNG.standard_normal((3, 1))
    x, w = Tensor(a).realize(), Tensor(b).realize()
    score = Tensor.cat(x, w).sin()[:40].exp()
    total = Graph(Tensor(index), 6).sum(score * score)
    w.assign(Tensor(np.full((3, 1), 7.0)))
    with Profile() as p:
        got = together(w, total, score)
    want = np.exp(np.sin(a))
    np.testing.assert_array_equal(got[0], np.full((3, 1), 7.0))
    np.testing.assert_allclose(got[1], sum_at(index[1], want * want, 6), rtol=1e-9)
    np.testing.assert_allclose(got[2], want, rtol=1e-9)
    assert len(p.kernels) == 2  # one loop for the sums and the scores


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_a_loop_over_entries_waits_for_rows_that_it_could_take(order):
    """The part of the join that the scores need not read is made of a sum over the same rows: the two sums, which could share a loop by what they need, may
    not."""
    index, a, b = RNG.integers(0, 6, (2, 40)), RNG.standard_normal((40, 1)), RNG.standard_normal((40, 1))
    x, y, graph = Tensor(a).realize(), Tensor(b).realize(), Graph(Tensor(index), 6)
    first = graph.sum((x * y).exp())
    other = (Tensor.ones(6, 6, dtype="float64") @ first).contiguous()
    score = Tensor.cat(x * y, other).sin()[:40].exp()
    results = [first, graph.sum(score * score * y), score, other]
    results[order[0]].realize(*(results[k] for k in order[1:]))
    sums, scores = sum_at(index[1], np.exp(a * b), 6), np.exp(np.sin(a * b))
    want = [sums, sum_at(index[1], scores * scores * b, 6), scores, np.full((6, 1), sums.sum())]
    for t, w in zip(results, want, strict=True):
        np.testing.assert_allclose(t.numpy(), w, rtol=1e-9, atol=1e-12)


def test_layers_that_differ_in_a_factor_share_their_kernels():
    """A factor of each layer is an argument of the kernel that all layers run."""
    a, w = RNG.standard_normal((7, 5)).astype(np.float32), RNG.standard_normal((5, 5)).astype(np.float32)
    x, want = Tensor(a), a.astype(np.float64)
    for k in range(8):
        factor = 1.0 / (k + 1.7)
        x = (x.softmax(1) @ Tensor(w) * factor).relu()
        e = np.exp(want - want.max(1, keepdims=True))
        want = np.maximum(e / e.sum(1, keepdims=True) @ w * factor, 0)
    assert len(re.findall(r"void k?\w+_\d+", x.source())) <= 6
    np.testing.assert_allclose(x.numpy(), want, rtol=1e-5, atol=1e-6)


def test_scores_that_every_feature_reads_are_computed_once():
    """Attention over a few values of each edge, whose heads and features are one axis when the edges are summed: the weights of a head are stored, not
    computed again for each of its features."""
    edges, nodes, heads, width = 60, 12, 4, 16
    graph = Graph(RNG.integers(0, nodes, (2, edges)).astype(np.int32), nodes)
    q, k, v = leaf(nodes, heads * width), leaf(nodes, 3, heads * width), leaf(nodes, 3, heads * width)

    def build(q, k, v):
        split = (heads, width)
        score = (graph.dst(q).reshape(edges, 1, *split) * graph.src(k).reshape(edges, 3, *split)).sum(-1)
        mixed = (score.softmax(1).unsqueeze(-1) * graph.src(v).reshape(edges, 3, *split)).sum(1)
        return graph.sum(mixed.reshape(edges, heads * width))

    def all_of_it():
        leaves = q(), k(), v()
        return with_gradients(build(*leaves), *leaves)[:4]

    check(all_of_it)
    with Profile() as p:
        build(q(), k(), v()).realize()
    assert any(s.shape[:3] == (edges, 3, heads) for s in p.stored)
    assert max(int(np.prod(s.shape)) for s in p.stored) < edges * heads * width  # nothing as wide as edges times features


def test_windows_over_a_reduction_read_it_from_memory():
    """The gradient of a pooling asks at each element of a window how many of them are the largest: that count is stored, not computed again every time."""
    x = leaf(4, 67)

    def build():
        a = x()
        t = a.exp().unfold(1, 12, 2).max_pool2d((6, 8), 1)
        return t, *(t * t).sum().gradient(a)

    check(build)
    t, grad = build()
    with Profile() as p:
        grad.realize()
    assert sum(int(np.prod(s.shape)) == int(np.prod(t.shape)) for s in p.stored) >= 2  # the largest values, and what is divided by the counts


def test_a_sum_whose_reader_splits_another_axis_alike():
    """The reader walks 8 as 4 times 2, and the sum of rows that it would store itself walks 4 as 2 times 2: those are other loops."""
    a, b, h, y = leaf(8), leaf(8), leaf(2), leaf(2)
    rows = np.array([[0, 2], [0, 3]], np.int32)

    def build():
        a_, b_, y_ = a(), b(), y()
        t = (a_ * b_).reshape(4, -1)
        table = (y_ > t).where(y_, t * 2)
        out = scan(lambda h, i: (h * 0.5 + table[i].sum(0),) * 2, h(), Tensor(rows), reverse=True)[1]
        return out, *(out * out.sin()).sum().gradient(y_, b_)

    check(build)


def test_a_maximum_finds_its_sums_again(device):
    """The gradient of a maximum compares values that are sums: kernels in which they are added up in other orders would find none equal."""
    x, y = np.random.default_rng(3).standard_normal((4, 4)), np.random.default_rng(4).standard_normal((1, 33))
    a = Tensor(x)
    top = (a.sum(None, True) @ Tensor(y)).max(None, True)
    (grad,) = (top * 0.5).sum().gradient(a)
    Tensor.realize(top, grad)
    products = x.sum() * y[0]
    np.testing.assert_allclose(grad.numpy(), np.full((4, 4), 0.5 * y[0, products.argmax()]), rtol=1e-12)


def test_reductions_beside_each_other_in_a_row_are_stored():
    """Two sums of rows, joined along the features and read by one kernel: each is stored by a kernel whose lanes go along its features. Counts of rows are
    differences, without a loop."""
    edges = 40
    graph = Graph(RNG.integers(0, 9, (2, edges)), num_nodes=9)
    x = leaf(edges, 8)

    def build():
        a = x()
        both = graph.sum(a).cat(graph.sum(a * a), dim=1) + graph.max(a).cat(graph.mean(a), dim=1)
        return both.tanh(), graph.sum(Tensor.ones(edges, 1)) * both

    check(build)
    with Profile() as p:
        build()[0].realize()
    assert sum("part of the innermost loop" in s.why for s in p.stored) >= 3


def test_counting_needs_no_loop(device):
    graph = Graph(np.stack([np.arange(30), np.arange(30) % 4]), num_nodes=31)
    count = graph.sum(Tensor.ones(30))
    np.testing.assert_array_equal(count.numpy()[:5], [8, 8, 7, 7, 0])
    if device == "CPU":
        assert "acc" not in graph.sum(Tensor.ones(30)).source()


def joined_rows(widths, dtype=np.float32, rows=40):
    """Rows that indices choose, of several tensors, side by side; and what numpy makes of them."""
    parts = [RNG.standard_normal((9, w)).astype(dtype) for w in widths]
    at = [RNG.integers(0, 9, rows) for _ in widths]
    want = np.concatenate([p[a] for p, a in zip(parts, at, strict=True)], 1)
    return Tensor.cat(*(Tensor(p)[Tensor(a)] for p, a in zip(parts, at, strict=True)), dim=1), want


@pytest.mark.parametrize("widths", [(32, 32, 16), (5, 1, 40, 3), (1, 64), (8,) * 12], ids=str)
def test_joined_rows_have_the_values_of_their_parts(widths):
    got, want = joined_rows(widths)
    np.testing.assert_array_equal((got * 2).numpy(), want * 2)


def test_joined_rows_are_read_row_by_row(device):
    """Each part of the columns is a loop of its own, in which rows are contiguous: nothing is gathered element by element."""
    if device == "CPU":
        got, _ = joined_rows((32, 32, 16))
        source = (got * 2).source()
        assert "gather_" not in source[source.index("void elementwise") :]


def test_joined_rows_beside_what_each_row_has():
    """A value of each row that the same kernel stores, and columns of a row that is chosen by a maximum over entries."""
    index, value = RNG.integers(0, 30, 200), RNG.integers(0, 1000, 200)
    table, other = leaf(1000, 16), leaf(1000, 24)

    def build():
        x, y = table(), other()
        best = Graph(Tensor(np.stack([np.arange(200), index])), 200).max(Tensor(value).cast("int32"))
        wide = Tensor.cat(x[best], y[best] * 3, dim=1)
        return [best, *with_gradients(wide, x, y)]

    check(build)


def test_joined_rows_in_the_place_of_one_of_them():
    a, b = Tensor(RNG.standard_normal((20, 48))).realize(), Tensor(RNG.standard_normal((20, 16))).realize()
    at = RNG.integers(0, 20, 20)
    want = np.concatenate([a.numpy()[at, :16], a.numpy()[:, 16:32], b.numpy()[at]], 1)
    a.assign(Tensor.cat(a[Tensor(at)][:, :16], a[:, 16:32], b[Tensor(at)], dim=1)).realize()
    np.testing.assert_array_equal(a.numpy(), want)


def test_a_padded_reduction_is_computed_once():
    """The gradient of a row that was selected is as large as the whole; the sum that it holds belongs to one row of it."""
    rng = np.random.default_rng(0)
    n = 64
    a, w = rng.standard_normal((n, n)).astype(np.float32), rng.standard_normal((n, n)).astype(np.float32)
    x = Tensor(a, requires_grad=True).realize()
    ((x[0].reshape(n, 1) * x[1].reshape(1, n)) * Tensor(w)).sum().backward()
    with Profile() as p:
        x.grad.realize()
    want = np.zeros_like(a)
    want[0], want[1] = w @ a[1], a[0] @ w
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=2e-5, atol=1e-5)
    assert sum(k.flops for k in p.kernels) < 16 * n * n, [(k.name, k.flops) for k in p.kernels]
