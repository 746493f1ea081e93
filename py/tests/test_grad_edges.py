"""Values, gradients and second gradients at the edge of what floats can tell: saturated, infinite, equal, zero, not a number.

PyTorch's results are stored (data/grad_edges.npz, made by tools/grad_edges.py). In float32 each result of ours is equal to PyTorch's, or no further from
the same computation in float64; in float64 it is equal."""

from pathlib import Path

import numpy as np
import pytest
from grad_edge_cases import KINDS, WEIGHT, WEIGHT2, excused, inputs, weighted

import polygrad.nn.functional as F
from polygrad import Graph, Tensor
from polygrad.geometric._length import norm

STORED = np.load(Path(__file__).parent / "data" / "grad_edges.npz")
RTOL = {"float32": 2e-5, "float64": 1e-7}  # PyTorch keeps some constants in float32
ATOL = {"float32": 5e-7, "float64": 1e-14}  # terms of size 1 that cancel


def stored():
    """name of a result -> (PyTorch's in float32, in float64)"""
    ends = np.cumsum(STORED["sizes"])
    begin = ends - STORED["sizes"]
    single, double = STORED["single"], STORED["double"]
    return {str(name): (single[a:b], double[a:b]) for name, a, b in zip(STORED["names"], begin, ends)}


WANT = stored()


def results(kind, text, dtype):
    args = [Tensor(a.astype(dtype)) for a in inputs(kind)]
    y = eval(text, dict(zip("xy", args), Tensor=Tensor, F=F, norm=norm))
    weight, weight2 = (Tensor(np.array(w, dtype)) for w in (WEIGHT, WEIGHT2))
    first = weighted(kind, y, weight).gradient(*args)
    total = weighted(kind, first[0], weight2)
    for g in first[1:]:
        total = total + weighted(kind, g, weight2)
    return [y, *first, *total.gradient(*args, materialize_grads=True)]


def slack(truth, dtype):
    """What rounding may do to a result. One that is as tiny as the tiny arguments has no terms of size 1 behind it."""
    size = np.abs(truth)
    return RTOL[dtype] * size + np.where((size > 1e-31) & (size < 9e-30), 0, ATOL[dtype])


def same(a, b, dtype):
    """Equal up to rounding: NaN to NaN, infinity to the same infinity."""
    with np.errstate(all="ignore"):
        return (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= slack(b, dtype))


def distance(a, truth):
    """0 for equal infinities and NaNs; a NaN or an infinity is infinitely far from anything else."""
    with np.errstate(all="ignore"):
        d = np.abs(a - truth)
    return np.where((a == truth) | (np.isnan(a) & np.isnan(truth)), 0, np.where(np.isnan(d), np.inf, d))


def wrong(got, theirs, truth, dtype, numbers):
    """Where ours is neither PyTorch's nor as near to the truth. Where PyTorch finds no number for arguments that are numbers, any will do."""
    got, theirs = got.astype(np.float64), (theirs if dtype == "float32" else truth).astype(np.float64)
    nearer = distance(got, truth) <= distance(theirs, truth)
    return ~(same(got, theirs, dtype) | same(got, truth, dtype) | nearer | (numbers & np.isnan(theirs) & np.isnan(truth)))


def by_element(kind, size):
    """The arguments behind each element of a result: rows of [x..., y...]."""
    rows = np.concatenate([a.reshape(len(a), -1) for a in inputs(kind)], 1)
    return np.repeat(rows, size // len(rows), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_table(kind, dtype, device):
    made = {name: results(kind, text, dtype) for name, (text, _) in KINDS[kind].items()}
    every = [t for ts in made.values() for t in ts]
    every[0].realize(*every[1:])
    failures = []
    for name, ts in made.items():
        for k, t in enumerate(ts):
            key = f"{kind}/{name}/{k}"
            if key not in WANT:
                continue
            theirs, truth = WANT[key]
            got = t.numpy().reshape(-1)
            at = by_element(kind, got.size)
            bad = wrong(got, theirs, truth, dtype, ~np.isnan(at).any(1)) & ~excused(kind, name, k, at)
            for i in np.flatnonzero(bad):
                failures.append(f"{key} at {at[i].tolist()}: {got[i]:.8g}, PyTorch {theirs[i]:.8g}, float64 {truth[i]:.8g}")
    assert not failures, f"{len(failures)} differ:\n" + "\n".join(failures)


# ---- derivatives that are zero everywhere ----

FLAT = {
    "sign": lambda x: x.sign(),
    "x ** 0": lambda x: x**0,
    "x ** 0.0": lambda x: x.pow(0.0) * 2,
    "floor": lambda x: x.floor(),
    "ceil": lambda x: x.ceil() * 3 + 1,
    "round, then exp": lambda x: x.round().exp(),
    "trunc": lambda x: x.trunc(),
    "floor of an infinite slope": lambda x: (x - x.detach()).sqrt().floor(),
    "comparison": lambda x: (x > 0).float(),
    "comparison with itself": lambda x: x.eq(x).where(1.0, 2.0),
    "int": lambda x: x.int().float(),
    "argmax": lambda x: x.argmax().float(),
    "floor division": lambda x: x // 2,
    "an empty part": lambda x: x[:0].cat(Tensor([1.0])),
    "clone of a step": lambda x: x.floor().contiguous(),
}


@pytest.mark.parametrize("name", FLAT)
def test_a_flat_function_has_zeros(name):
    x = Tensor([1.5, -2.0])
    assert FLAT[name](x).sum().gradient(x)[0].tolist() == [0, 0]
    x = Tensor([1.5, -2.0], requires_grad=True)
    y = FLAT[name](x).sum()
    y.backward()
    assert x.grad.tolist() == [0, 0]
    (FLAT[name](x).sum() + (x * x).sum()).backward()
    assert x.grad.tolist() == [3, -4]


def test_what_is_not_computed_from_a_target_is_an_error():
    x, other = Tensor([1.5, -2.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    for y in (x.detach() * 2, other * 2):
        with pytest.raises(RuntimeError, match="no influence"):
            y.sum().gradient(x)
        assert y.sum().gradient(x, materialize_grads=True)[0].tolist() == [0, 0]
    (other * 2).sum().backward()
    assert x.grad is None and other.grad.tolist() == [2]


def test_an_empty_target():
    x, empty = Tensor([1.0, 2.0]), Tensor([])
    gx, ge = (x.cat(empty) * 3).sum().gradient(x, empty)
    assert gx.tolist() == [3, 3] and ge.shape == (0,)


def test_half_precision_saturates_as_it_was_rounded():
    """float16 rounds sigmoid(9) to 1, where float32 does not: the slope is that of the rounded value."""
    for dtype in ("float16", "bfloat16"):
        x = Tensor([9.0, -3.0], dtype=dtype)
        g = (-(1 - x.sigmoid() + 1e-4).log()).sum().gradient(x)[0]
        assert g.dtype is x.dtype and g.numpy()[0] == 0 and 0.03 < g.numpy()[1] < 0.06
        p = Tensor([[9.0, 0.0]], dtype=dtype)
        assert (1 - p.softmax(1)[:, 0] + 1e-4).log().sum().gradient(p)[0].numpy()[0, 0] == 0


# ---- functions of edges: the rule is applied to the nodes ----


def test_functions_of_gathered_rows(device):
    """sigmoid, softmax and abs of what edges read from their ends, some nodes being read by none: as for plain rows."""
    rng = np.random.default_rng(0)
    x, index = rng.standard_normal((5, 4)).astype("f"), rng.integers(0, 4, 12)
    from polygrad.geometric.nn import MessagePassing

    class Sum(MessagePassing):
        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def message(self, x_j):
            return x_j.sigmoid() + x_j.softmax(1).log() + x_j.abs().softplus()

    edges = np.stack([index, rng.integers(0, 5, 12)])
    w = Tensor(rng.standard_normal((5, 4)).astype("f"))
    t = Tensor(x)
    y = (Sum()(t, Tensor(edges)) * w).sum()
    g = y.gradient(t)[0]
    gg = (g * w).sum().gradient(t)[0]
    s = Tensor(x)
    rows = s[Tensor(index)]
    plain = (rows.sigmoid() + rows.softmax(1).log() + rows.abs().softplus()) * w[Tensor(edges[1])]
    h = plain.sum().gradient(s)[0]
    hh = (h * w).sum().gradient(s)[0]
    np.testing.assert_allclose(g.numpy(), h.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gg.numpy(), hh.numpy(), rtol=1e-5, atol=1e-6)


# ---- what it is for ----


def test_a_saturated_loss_learns():
    """Embeddings whose products saturate the sigmoid at first: -log(1 - sigmoid + 1e-15) of wrong pairs must not push them by 1e15."""
    rng = np.random.default_rng(0)
    n = 40
    label = np.arange(n) % 2
    pairs = rng.integers(0, n, (2, 400))
    same_label = label[pairs[0]] == label[pairs[1]]
    pos, neg = pairs[:, same_label], pairs[:, ~same_label]
    w = Tensor((2.5 * rng.standard_normal((n, 8))).astype("f"), requires_grad=True)

    def score(p):
        return (w[Tensor(p[0])] * w[Tensor(p[1])]).sum(1).sigmoid()

    losses = []
    for _ in range(60):
        loss = -(score(pos) + 1e-15).log().mean() - (1 - score(neg) + 1e-15).log().mean()
        w.grad = None
        loss.backward()
        w.assign((w.detach() - 2.0 * w.grad).detach()).realize()
        losses.append(loss.item())
        assert np.abs(w.grad.numpy()).max() < 100
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("name", ["var", "std"])
def test_the_variance_of_what_one_edge_reads(device, name):
    """Along the edges it is that of one value, not of the nodes."""
    x = Tensor(np.array([[-0.5, 1.0], [2.0, -1.0]], "f"))
    row = Graph(Tensor([[1], [0]]), 2).src(x)
    y = (getattr(row, name)(0, correction=0) + x.sum(0)).sum()
    np.testing.assert_array_equal(y.gradient(x)[0].numpy(), 1)
    across = getattr(row, name)(1, correction=0).sum().gradient(x)[0].numpy()
    np.testing.assert_allclose(across, [[0, 0], [1.5, -1.5]] if name == "var" else [[0, 0], [0.5, -0.5]], rtol=1e-6)


# ---- products ----


def products_of_the_others(x, w):
    """The sum over j != i of w[j] times the product of all but i and j."""
    n = len(x)
    return np.array([sum(w[j] * np.prod([x[k] for k in range(n) if k not in (i, j)]) for j in range(n) if j != i) for i in range(n)])


@pytest.mark.parametrize("small", [1e-6, 1e-12, 0.0])
def test_the_second_gradient_of_a_product_with_a_small_factor(device, small):
    """It leaves out the small factor, so nothing of size 1 / small may be added and subtracted again."""
    x = np.array([2.0, small, -3.0, 0.5, 1.25], "f")
    w = np.array([1.0, -0.5, 2.0, 0.25, -1.5], "f")
    want = products_of_the_others(x.astype("d"), w.astype("d"))
    rows = Tensor([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
    t, both = Tensor(x), Tensor(np.stack([x, x[::-1]], 1).reshape(-1))
    product = Tensor.ones(2).scatter_reduce(0, rows, both, "prod")
    first = t.prod().gradient(t)[0], t.cumprod(0)[-1].gradient(t)[0], product.sum().gradient(both)[0]
    second = [(g * Tensor(w)).sum().gradient(t)[0].numpy() for g in first[:2]]
    twice = (first[2] * Tensor(np.stack([w, w[::-1]], 1).reshape(-1))).sum().gradient(both)[0].numpy().reshape(-1, 2)
    for got in (*second, twice[:, 0], twice[::-1, 1]):
        np.testing.assert_allclose(got, want, rtol=2e-6)


def test_products_of_infinite_factors(device):
    """The gradient of a factor is the product of the others, whatever that factor is itself."""
    x = Tensor(np.array([[np.inf, 2.0, 3.0], [np.inf, 0.0, 1.0], [np.nan, 2.0, 1.0]], "f"))
    want = [[6, np.inf, np.inf], [0, np.inf, np.nan], [2, np.nan, np.nan]]
    np.testing.assert_array_equal(x.prod(1).sum().gradient(x)[0].numpy(), want)
    np.testing.assert_array_equal(x.cumprod(1)[:, 2].sum().gradient(x)[0].numpy(), want)


def test_products_beyond_the_range(device):
    """The product of all may be too large or too small for its dtype where that of the others is not."""
    x = np.array([4e5] * 7 + [1e-25, 2e-25, 3e10], "f")
    w, rows = np.linspace(1, 2, 10).astype("f"), np.array([0] * 7 + [1] * 3)
    t = Tensor(x)
    product = Tensor.ones(2).scatter_reduce(0, Tensor(rows), t, "prod")
    first = product.sum().gradient(t)[0]
    second = (first * Tensor(w)).sum().gradient(t)[0]
    parts = x[:7].astype("d"), x[7:].astype("d")
    others = np.concatenate([[np.prod(np.delete(p, k)) for k in range(len(p))] for p in parts])
    want = np.concatenate([products_of_the_others(p, v.astype("d")) for p, v in zip(parts, (w[:7], w[7:]))])
    np.testing.assert_allclose(first.numpy(), others.astype("f"), rtol=2e-6, atol=1e-45)
    np.testing.assert_allclose(second.numpy(), want.astype("f"), rtol=2e-6, atol=1e-45)
    np.testing.assert_allclose(t[:7].prod().gradient(t)[0].numpy()[:7], others[:7].astype("f"), rtol=2e-6)


def test_a_running_maximum_that_is_nan(device):
    """Its gradient goes to the NaN that made it so, the latest of several."""
    x = Tensor(np.array([[0.0, np.nan, 1.0], [np.nan, np.nan, 2.0]], "f"))
    for y in (x.cummax(1)[0], x.cummin(1)[0]):
        np.testing.assert_array_equal(y.sum().gradient(x)[0].numpy(), [[1, 2, 0], [1, 2, 0]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_remainders_are_exact(device, dtype):
    """However large the quotient is."""
    a = np.array([1.0, -1.0, 1e4, 5e4, -5e4, 0.1, 0.3, np.inf, 2.0, -2.0], dtype)
    b = np.array([1e-7, 1e-7, 3e-7, -1e-5, 7e-6, 0.1, 0.1, 2.0, np.inf, np.inf], dtype)
    if dtype == "float32":
        a, b = np.append(a, np.float32([1e30, 1e30, -3e38])), np.append(b, np.float32([1e-30, -3.0, 1e-37]))
    with np.errstate(all="ignore"):
        want, want_mod = np.fmod(a, b), np.where(np.isinf(b) & (a < 0), np.inf, np.mod(a, b))
    np.testing.assert_array_equal(Tensor(a).fmod(Tensor(b)).numpy(), want)
    np.testing.assert_array_equal((Tensor(a) % Tensor(b)).numpy(), want_mod)
    x, y = Tensor(np.array([1.0, 7.5, -7.5], "f")), Tensor(np.array([0.1, 2.0, 2.0], "f"))
    assert [g.tolist() for g in x.fmod(y).sum().gradient(x, y)] == [[1, 1, 1], [-9, -3, 3]]
    assert [g.tolist() for g in (x % y).sum().gradient(x, y)] == [[1, 1, 1], [-9, -3, 4]]


# ---- values ----


def test_floor_division_by_infinity(device):
    inf, nan = np.inf, np.nan
    a = [1.0, 1, -1, -1, 0, inf, inf, -inf, inf, 1, 0, inf]
    b = [-inf, inf, inf, -inf, -inf, 2, -2, 2, 0, 0, 0, inf]
    want = [-1, 0, -1, 0, 0, nan, nan, nan, inf, inf, nan, nan]
    np.testing.assert_array_equal((Tensor(a) // Tensor(b)).numpy(), want)
    np.testing.assert_array_equal((1.0 // Tensor([-inf, inf, 2.0])).numpy(), [-1, 0, 0])
    np.testing.assert_array_equal((Tensor([1.0, -1.0, inf]) // -inf).numpy(), [-1, 0, nan])
    np.testing.assert_array_equal(Tensor([7.5, -7.5]).div(2.0, rounding_mode="floor").numpy(), [3, -4])


def test_softmax_of_nothing(device):
    """A row of -inf has no softmax; as the row of an attention that sees no key it gives zeros, and no gradient."""
    assert np.isnan(Tensor([[-np.inf, -np.inf]], dtype="float32").softmax(1).numpy()).all()
    q = Tensor(np.arange(8, dtype="f").reshape(1, 2, 4))
    for mask in (Tensor([[True, False], [False, False]]), Tensor([[0.0, -np.inf], [-np.inf, -np.inf]], dtype="float32")):
        y = q.scaled_dot_product_attention(q, q, attn_mask=mask)
        g = y.sum().gradient(q)[0]
        np.testing.assert_array_equal(y.numpy(), [[[0, 1, 2, 3], [0, 0, 0, 0]]])
        np.testing.assert_array_equal(g.numpy(), [[[1, 1, 1, 1], [0, 0, 0, 0]]])


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -1.0], [np.nan, 1.0], [np.inf, 1.0]])
@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_of_no_weights(weights, replacement):
    with pytest.raises(IndexError):
        Tensor(weights, dtype="float32").multinomial(1, replacement=replacement).numpy()
    rows = Tensor([[1.0, 0.0], weights], dtype="float32").multinomial(1, replacement=replacement)
    with pytest.raises(IndexError):
        rows.numpy()


def test_a_norm_of_nan_is_nan():
    x = Tensor([[np.nan, 1.0], [0.0, 0.0], [3.0, 4.0]], dtype="float32")
    np.testing.assert_array_equal(norm(x, dim=1).numpy(), [np.nan, 0, 5])
    assert np.isnan(x.normalize().numpy()[0]).all()


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extremum_that_is_nan_has_no_gradient(device, name):
    """No element equals it, so nobody can say where its gradient goes: it is NaN, over an axis and over the entries of a row."""
    x = Tensor(np.array([[1.0, np.nan, 3.0], [2.0, 2.0, 2.0]], "f"))
    g = getattr(x, name)(1).sum().gradient(x)[0].numpy()
    assert np.isnan(g[0]).all()
    np.testing.assert_allclose(g[1], 1 / 3, rtol=1e-6)
    flat, rows = Tensor(np.array([1.0, np.nan, 3.0, 2.0, 5.0], "f")), Tensor([0, 0, 0, 1, 1])
    for entries in (flat, flat * 1.0, flat.exp()):
        y = Tensor.zeros(2).scatter_reduce(0, rows, entries, "a" + name, include_self=False)
        g = y.sum().gradient(entries)[0].numpy()
        assert np.isnan(g[:3]).all()
        np.testing.assert_array_equal(g[3:], [0, 1] if name == "max" else [1, 0])


def test_maxima_that_only_float64_tells_apart(device):
    x, rows = Tensor(np.array([0.0, 1e-10, -1e-10, 0.0])), Tensor([0, 0, 0, 0])
    y = Tensor.zeros(1, dtype="float64").scatter_reduce(0, rows, x.exp(), "amax", include_self=False)
    np.testing.assert_allclose(y.sum().gradient(x)[0].numpy(), [0, 1, 0, 0], rtol=1e-9)


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_equal_values_of_a_scatter_share_its_gradient(device, name):
    """The row that is scattered to is one of them."""
    x, entries, rows = Tensor([1.0, 4.0]), Tensor([1.0, 1.0, 4.0]), Tensor([0, 0, 1])
    a, b = x.scatter_reduce(0, rows, entries, name).sum().gradient(x, entries)
    np.testing.assert_allclose(a.numpy(), [1 / 3, 1 / 2], rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), [1 / 3, 1 / 3, 1 / 2], rtol=1e-6)
    rows_of_x = Tensor([0.0, 0.0]).exp() * Tensor([1.0, 4.0])
    a, b = rows_of_x.scatter_reduce(0, rows, entries, name).sum().gradient(rows_of_x, entries)
    np.testing.assert_allclose(a.numpy(), [1 / 3, 1 / 2], rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), [1 / 3, 1 / 3, 1 / 2], rtol=1e-6)
    functions = Tensor([0.5, 2.0]).exp(), Tensor([0.5, 0.25, 3.0]).exp()
    a, b = functions[0].scatter_reduce(0, rows, functions[1], name).sum().gradient(*functions)
    np.testing.assert_array_equal(a.numpy()[1] + b.numpy()[2], 1)


def test_slopes_beside_an_infinite_one(device):
    """The slopes of acosh at 1 and of gelu at -0 and far below 0, under functions whose slope is infinite there: as PyTorch's."""

    def both(x, y):
        first = y.sum().gradient(x)[0]
        second = first.sum().gradient(x)[0]
        return [*first.tolist(), *second.tolist()]

    x, zero, low = (Tensor(np.array(v)) for v in ([1.0], [-0.0], [-17.0, -20.0]))
    assert both(x, x.acosh().sqrt()) == [np.inf, -np.inf]
    for kind in ("none", "tanh"):
        assert both(zero, zero.gelu(kind).log()) == [-np.inf, -np.inf]
    assert both(low, low.gelu("none").sqrt())[2:] == [np.inf, np.inf]


def test_second_gradients_of_gelu(device):
    """By difference quotients of the first."""
    a = np.linspace(-4, 4, 17)
    for kind in ("none", "tanh"):

        def first(v, kind=kind):
            x = Tensor(v)
            return x, x.gelu(kind).sum().gradient(x)[0]

        x, g = first(a)
        want = (first(a + 1e-5)[1].numpy() - first(a - 1e-5)[1].numpy()) / 2e-5
        np.testing.assert_allclose(g.sum().gradient(x)[0].numpy(), want, rtol=1e-7, atol=1e-9)


EXTREMA = {
    "max": lambda y: y.max(1),
    "max of products": lambda y: (y.unsqueeze(0) * y[:, :1].unsqueeze(2)).max((0, 2), True),
    "min": lambda y: y.min(0),
    "cummax": lambda y: y.cummax(0)[0],
    "cummin": lambda y: y.cummin(1)[0],
}
SUMMED = {
    "edges": lambda x, w, s, g: g.sum(x @ w.tanh(), "in") * s,
    "product of edges": lambda x, w, s, g: (g.sum((x @ w @ w.transpose(0, 1)) * x, "out") @ w) * s,
    "layernorm": lambda x, w, s, g: (x @ w).layernorm(),
    "sorted": lambda x, w, s, g: (x @ w).sort(0)[0],
}


@pytest.mark.parametrize("extremum", EXTREMA)
@pytest.mark.parametrize("values", SUMMED)
def test_a_maximum_that_was_read_before_its_gradient(extremum, values, device):
    """A later plan computes the elements again, in another order of sums: none was equal to the maximum, and the gradient was lost."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, m, k = (int(size) for size in rng.integers(1, 70, 3))
        graph = Graph(Tensor(rng.integers(0, n, (2, n))), n)
        x, w, s = (rng.standard_normal(shape) for shape in ((n, m), (m, k), (n, 1)))

        def results(stored, x=x, w=w, s=s, graph=graph):
            x = Tensor(x, requires_grad=True)
            y = SUMMED[values](x, Tensor(w), Tensor(s), graph)
            best = EXTREMA[extremum](y.contiguous() if stored else y)
            if not stored:
                best.numpy()
            return best.sum().gradient(x)[0].numpy()

        np.testing.assert_allclose(results(False), results(True), rtol=1e-6, atol=1e-8)
