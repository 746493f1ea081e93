"""Sums of any length keep their digits, wherever the loop stands in a kernel; and both devices compute the same functions.

References are float64 sums of the same float32 values.
"""

import numpy as np
import pytest

from polygrad import Context, Device, Tensor
from polygrad._ffi import C
from polygrad.autograd import current
from polygrad.geometric.nn import SimpleConv
from polygrad.nn import BatchNorm

LIMIT = 1e-6


def error(got, want):
    return float(np.max(np.abs(np.asarray(got.numpy(), np.float64) - want) / np.abs(want)))


def positive(shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


@pytest.mark.parametrize("device", ["CPU", "INTERP", "TEST"])
def test_many_sums_in_one_loop(device, monkeypatch):
    """Each of them is compensated: the ninth and later ones were 7e-5 off."""
    monkeypatch.setattr(Device, "DEFAULT", device)
    x = Tensor(np.full((128, 1 << 15), 0.1, np.float32)).realize()
    sums = [(x * float(k + 1)).sum(1) for k in range(20)]
    sums[0].realize(*sums[1:])
    for k, total in enumerate(sums):
        assert error(total, float(np.float32(0.1) * np.float32(k + 1)) * (1 << 15)) < LIMIT


def test_ten_million_times_a_tenth(cpu):
    x = Tensor(np.full(10**7, 0.1, np.float32)).realize()
    tenth = float(np.float32(0.1))
    assert error(x.mean(), tenth) < LIMIT
    assert error(x.sum(), tenth * 10**7) < LIMIT
    assert error((x * x).sum(), tenth * tenth * 10**7) < LIMIT
    assert error(x.reshape(4, -1).sum(1), tenth * 10**7 / 4) < LIMIT
    assert error(x.reshape(-1, 10).sum(0), tenth * 10**6) < LIMIT


@pytest.mark.parametrize("features", [1, 3, 16, 40])
def test_many_edges_into_one_row(cpu, features):
    edges = 2 * 10**6 // features
    index = np.zeros(edges, np.int64)
    index[-40:] = 1
    for x in (np.full((edges, features), 0.1, np.float32), positive((edges, features))):
        zero = Tensor(np.zeros((3, features), np.float32))
        got = zero.scatter_add(0, Tensor(np.repeat(index[:, None], features, 1)), Tensor(x))[:2]
        want = np.stack([x[:-40].astype(np.float64).sum(0), x[-40:].astype(np.float64).sum(0)])
        assert error(got, want) < LIMIT


@pytest.mark.parametrize("zeros", [False, True])
def test_long_matrix_products(device, zeros):
    """The inner axis has a million elements; with zeros, one in fifty of one operand is something else."""
    n = 10**6 if device == "CPU" else 10**5
    w = np.full((n, 8), 0.1, np.float32)
    x = np.where(np.arange(n * 4).reshape(4, n) % 50 == 0, np.float32(0.1), np.float32(0)) if zeros else np.full((4, n), 0.1, np.float32)
    want = x.astype(np.float64) @ w.astype(np.float64)
    assert error(Tensor(x) @ Tensor(w), want) < LIMIT
    assert error(Tensor(np.ascontiguousarray(x.T)).transpose() @ Tensor(w), want) < LIMIT
    assert error(Tensor(np.ascontiguousarray(w.T)) @ Tensor(np.ascontiguousarray(x.T)), want.T) < LIMIT


@pytest.mark.parametrize("n", [31, 32, 33, 64, 65, 1000, 1025, 2048, 2049, 5000])
def test_lengths_around_a_block(device, n):
    rows = 12
    for x in (np.full((rows, n), 0.1, np.float32), positive((rows, n), n)):
        want = x.astype(np.float64).sum(1)
        assert error(Tensor(x).sum(1), want) < LIMIT
        assert error(Tensor(np.ascontiguousarray(x.T)).sum(0), want) < LIMIT


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_nested_loops(device, axes):
    x = np.full((20, 90, 70), 0.1, np.float32)
    want = x.astype(np.float64).sum(axes)
    assert error(Tensor(x).sum(axes), want) < LIMIT
    moved = Tensor(np.ascontiguousarray(x.transpose(2, 0, 1))).permute(1, 2, 0)
    assert error(moved.sum(axes), want) < LIMIT
    assert error((moved * moved).sum(axes), (x.astype(np.float64) ** 2).sum(axes)) < LIMIT


def test_what_is_made_of_sums(device):
    x = positive(30000)
    wide = x.astype(np.float64)
    t = Tensor(x).realize()
    assert error(t.var(), wide.var(ddof=1)) < LIMIT
    assert error(t.std(), wide.std(ddof=1)) < LIMIT
    assert error(t.logsumexp(), np.log(np.exp(wide).sum())) < LIMIT
    assert error(t.softmax(), np.exp(wide) / np.exp(wide).sum()) < LIMIT
    assert error(t.cumsum(), np.cumsum(wide)) < LIMIT
    assert error((t * t).mean().sqrt(), np.sqrt((wide * wide).mean())) < LIMIT


def test_statistics_of_a_batch(device):
    """Running and batch statistics of BatchNorm, and what it makes of them."""
    x = positive((20000, 6)) + np.float32(0.5)
    wide = x.astype(np.float64)
    norm = BatchNorm(6, affine=False, momentum=1.0)
    with Tensor.train():
        y = norm(Tensor(x))
    assert error(norm.running_mean, wide.mean(0)) < LIMIT
    assert error(norm.running_var, wide.var(0, ddof=1)) < LIMIT
    want = (wide - wide.mean(0)) / np.sqrt(wide.var(0) + 1e-5)
    assert np.max(np.abs(y.numpy() - want)) < 2e-6


def test_mean_losses(device):
    n = 50000
    x, target = positive((n, 3)), positive((n, 3), 1)
    wide, to = x.astype(np.float64), target.astype(np.float64)
    classes = np.random.default_rng(2).integers(0, 3, n)
    t, goal = Tensor(x).realize(), Tensor(target).realize()
    logits = wide - np.log(np.exp(wide).sum(1, keepdims=True))
    assert error((t - goal).square().mean(), ((wide - to) ** 2).mean()) < LIMIT
    assert error((t - goal).abs().mean(), np.abs(wide - to).mean()) < LIMIT
    assert error(t.sparse_categorical_crossentropy(Tensor(classes)), -logits[np.arange(n), classes].mean()) < LIMIT
    assert error(t.binary_crossentropy_logits(goal), (np.log1p(np.exp(wide)) - wide * to).mean()) < LIMIT


def test_rows_of_a_graph(device):
    """Rows of every length up to several blocks, in a kernel with work around the sum."""
    degrees = np.array([0, 1, 5, 31, 32, 33, 63, 64, 65, 100, 1000, 3000])
    index = np.repeat(np.arange(len(degrees)), degrees)
    for features in (1, 8):
        x = positive((len(index), features), features)
        at = Tensor(np.repeat(index[:, None], features, 1))
        got = Tensor(np.zeros((len(degrees), features), np.float32)).scatter_add(0, at, Tensor(x) * 2 + 1) + 1
        want = np.ones((len(degrees), features))
        np.add.at(want, index, x.astype(np.float64) * 2 + 1)
        assert error(got, want) < LIMIT


def test_infinities_and_nan(device):
    x = np.full(5000, 0.1, np.float32)

    def total(values):
        return [float(v) for v in (Tensor(values).sum().numpy(), Tensor(values.reshape(-1, 2)).sum(0).numpy()[0])]

    for place in (4, 3000, 4998):
        y = x.copy()
        y[place] = np.inf
        assert total(y) == [np.inf, np.inf]
        y[place] = -np.inf
        assert total(y) == [-np.inf, -np.inf]
        y[0 if place else 2] = np.inf
        assert np.isnan(total(y)).all()
        y[place] = np.nan
        assert np.isnan(total(y)).all()
    assert total(np.full(5000, 3e38, np.float32)) == [np.inf, np.inf]


def test_half_types_are_added_in_float32(device):
    x = Tensor(np.full(3000, 0.1, np.float16))
    want = float(np.float16(np.float64(np.float16(0.1)) * 3000))
    at = Tensor(np.zeros(3000, np.int64))
    assert float(x.sum().numpy()) == want
    assert float(Tensor(np.zeros(1, np.float16)).scatter_add(0, at, x).numpy()[0]) == want
    w = Tensor(np.ones(1, np.float16), requires_grad=True)
    assert float((w.expand(3000) * x).sum().gradient(w)[0].numpy()[0]) == want


def test_integers_wrap_as_before(device):
    x = np.full(70000, 2**20 + 1, np.int32)
    assert int(Tensor(x).sum().numpy()) == int(x.sum(dtype=np.int32))


def test_same_bits_on_any_number_of_threads(cpu):
    x = positive((300, 4001))
    index = np.minimum((50 * positive(300000, 1) ** 4).astype(np.int64), 49)
    before, results = C.poly_threads(current().ptr), []
    for threads in (1, 2, 5):
        C.poly_set_threads(current().ptr, threads)
        t = Tensor(x)
        segments = Tensor(np.zeros(50, np.float32)).scatter_add(0, Tensor(index), Tensor(positive(300000, 2)))
        results.append([v.numpy().tobytes() for v in (t.sum(), t.sum(0), t.sum(1), t.exp().sum(), segments)])
    C.poly_set_threads(current().ptr, before)
    assert results[0] == results[1] == results[2]


def both(f):
    """The bytes of f() on the interpreter and on the CPU."""
    out = []
    for name in ("INTERP", "CPU"):
        Device.DEFAULT = name
        Tensor.manual_seed(5)
        out.append([t.numpy().tobytes() for t in f()])
    return out


def test_random_numbers_are_the_same_on_both_devices():
    a, b = both(lambda: [Tensor.randn(20001), Tensor.randn(3001, dtype="float64"), Tensor.rand(1001), Tensor.normal(77, mean=2.0, std=3.0)])
    assert a == b


def test_functions_are_the_same_on_both_devices():
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e38, 17.0, -17.0, 1e6, 3e7]
    x = np.concatenate([np.random.default_rng(0).standard_normal(2001) * 10, ends]).astype(np.float32)
    names = "exp exp2 log log2 sin cos tan tanh erf asin atan sinh asinh atanh sigmoid softplus gelu silu"

    def results():
        t = Tensor(x).realize()
        out = [getattr(t, n)() for n in names.split()]
        out += [t.abs() ** t, t * t + t, t - t * 0.3, 0.7 - t * t, t * 0.1 + t * 0.2]
        return [y.isnan().where(0.0, y) for y in out]

    a, b = both(results)
    assert a == b


def test_column_sums_and_rows_of_edges_are_the_same_on_both_devices():
    """Where no lanes go along the sum, both devices add in the same order."""
    x, w = positive((5000, 24)), positive((5000, 24), 1)
    edges = np.stack([np.arange(5000), np.minimum((9 * positive(5000, 2) ** 3).astype(np.int64), 8)])

    def results():
        t = Tensor(x).realize()
        return [t.sum(0), (t * Tensor(w)).sum(0), SimpleConv(aggr="sum")(t, Tensor(edges))]

    a, b = both(results)
    assert a == b


def test_floor_division_by_infinities(device):
    inf, nan = np.inf, np.nan
    a = np.array([1, -1, 1, -1, inf, -inf, inf, nan, 0, 5, inf], np.float32)
    b = np.array([-inf, inf, inf, -inf, 2, 2, inf, -inf, -inf, 2, 0], np.float32)
    want = [-1, -1, 0, 0, nan, nan, nan, nan, 0, 2, inf]
    np.testing.assert_array_equal((Tensor(a) // Tensor(b)).numpy(), want)
    assert (1.0 // Tensor([-inf])).numpy().tolist() == [-1.0]
    assert (Tensor([1.0, -1.0]) // -inf).numpy().tolist() == [-1.0, 0.0]


def test_softmax_of_huge_products(device):
    """The largest score, rounded when its maximum is taken, is the same number when it is subtracted."""
    a, b = np.float32([[1.3e19, 2.7e19, 1.1e19]]), np.float32([[3.1, 1.7, 2.9]])
    want = np.exp((a * b).astype(np.float64) - (a * b).max())
    np.testing.assert_allclose((Tensor(a).realize() * Tensor(b).realize()).softmax(-1).numpy(), want / want.sum(), rtol=1e-6)


def test_softmax_of_nothing_but_minus_infinity(device):
    x = Tensor(np.full((2, 3), -np.inf, np.float32))
    assert np.isnan(x.softmax().numpy()).all()
    assert np.isnan(x.log_softmax().numpy()).all()
    assert (x.logsumexp(1).numpy() == -np.inf).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_multinomial_draws_no_class_of_weight_zero(device, replacement):
    assert Tensor([0.0, 2.0, 0.0]).multinomial(1, replacement=replacement).tolist() == [1]
    with pytest.raises(IndexError):
        Tensor([0.0, 2.0, 0.0]).multinomial(2, replacement=False).numpy()
    assert set(Tensor([1.0, 0.0, 3.0]).multinomial(2, replacement=replacement).tolist()) <= {0, 2}
    many = Tensor(np.array([0, 1, 1, 0], np.float32)).multinomial(500 if replacement else 2, replacement=replacement)
    assert set(many.numpy().tolist()) == {1, 2}


def test_lanes_of_a_sum_over_rows_go_along_memory(cpu, capfd):
    """Values of the row beside what is summed, which lie along the rows, do not turn the lanes that way: the matrix would be loaded element by
    element."""
    rng = np.random.default_rng(8)
    x = rng.standard_normal((3000, 40), dtype=np.float32)
    a, b, c = (rng.random((3000, 1), dtype=np.float32) + 0.5 for _ in range(3))
    t = [Tensor(v).realize() for v in (x, a, b, c)]
    with Context(DEBUG=4):
        y = ((t[0] - t[1]).exp() / t[2] * t[3]).sum(0).realize()
    source = capfd.readouterr().err
    assert "void sum_" in source or "void reduce_" in source
    assert "load_step" not in source
    want = (np.exp(x.astype(np.float64) - a) / b * c).sum(0)
    assert np.abs(y.numpy() - want).max() <= 1e-6 * np.abs(want).max()
