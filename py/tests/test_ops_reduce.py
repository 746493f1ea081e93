"""Reductions and running reductions: axes, dtypes, empty axes, views."""

import itertools

import numpy as np
import pytest
from helpers import ALL, FLOATS, VIEWS, Batch, exact, tensor, values
from hypothesis import given, settings
from hypothesis import strategies as st

from polygrad import Tensor, dtypes

SHAPE = (2, 3, 4)
AXES = [None, 0, 1, -1, (0, 1), (-1, 0), (0, 1, 2), ()]


def sum_dtype(d):
    """bool and small signed integers add as int32, small unsigned ones as uint32."""
    if d.kind == "u":
        return max(d, dtypes.uint32)
    return max(d, dtypes.int32) if d.kind in "bi" else d


def float_dtype(d):
    return d if d.kind == "f" else dtypes.float32


def logsumexp(x, axis, keepdims):
    m = np.max(x, axis, keepdims=True)
    out = np.log(np.sum(np.exp(x - m), axis, keepdims=True)) + m
    return out if keepdims else out.reshape(np.sum(x, axis).shape)


# name, reference with numpy's arguments, result dtype
REDUCE = [
    ("sum", lambda x, axis, keepdims: np.sum(x, axis, keepdims=keepdims, dtype=x.dtype if x.dtype.kind == "f" else np.int64), sum_dtype),
    (
        "prod",
        lambda x, axis, keepdims: np.all(x, axis, keepdims=keepdims) if x.dtype == bool else np.prod(x, axis, keepdims=keepdims, dtype=x.dtype),
        lambda d: d,
    ),
    ("max", lambda x, axis, keepdims: np.max(x, axis, keepdims=keepdims), lambda d: d),
    ("min", lambda x, axis, keepdims: np.min(x, axis, keepdims=keepdims), lambda d: d),
    ("mean", lambda x, axis, keepdims: np.mean(x.astype(np.float64), axis, keepdims=keepdims), float_dtype),
    ("any", lambda x, axis, keepdims: np.any(x, axis, keepdims=keepdims), lambda d: dtypes.bool),
    ("all", lambda x, axis, keepdims: np.all(x, axis, keepdims=keepdims), lambda d: dtypes.bool),
    ("logsumexp", lambda x, axis, keepdims: logsumexp(x.astype(np.float64), axis, keepdims), float_dtype),
]
SPREAD = {"float16": 6e-3, "bfloat16": 4e-2, "float32": 1e-5, "float64": 1e-12}


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_reductions(d, device):
    batch = Batch()
    a = values(SHAPE if device == "INTERP" else (3, 5, 37), d)
    axes = AXES if device == "INTERP" else [None, 1, (-1, 0)]
    for (name, f, rule), axis, keepdim in itertools.product(REDUCE, axes, (False, True)):
        if device == "CPU" and keepdim and axis is not None:
            continue
        want = f(exact(a), axis, keepdim)
        out = rule(d)
        tol = SPREAD[out.name] if out.kind == "f" else None
        batch.add(f"{name} {axis} {keepdim}", lambda n=name, x=axis, k=keepdim: getattr(tensor(a, d), n)(axis=x, keepdim=k), want, out, tol, tol or 0)
    batch.check()


@pytest.mark.parametrize("d", [dtypes.int32, *FLOATS], ids=repr)
def test_var_std(d, device):
    batch = Batch()
    a = values((4, 5), d)
    for axis, correction, keepdim in itertools.product((None, 0, (0, 1)), (0, 1, 2), (False, True)):
        out = float_dtype(d)
        tol = SPREAD[out.name]
        var = np.var(exact(a).astype(np.float64), axis, ddof=correction, keepdims=keepdim)
        batch.add(f"var {axis} {correction}", lambda x=axis, c=correction, k=keepdim: tensor(a, d).var(x, k, c), var, out, tol, tol)
        batch.add(f"std {axis} {correction}", lambda x=axis, c=correction, k=keepdim: tensor(a, d).std(x, k, c), np.sqrt(var), out, tol, tol)
    batch.check()


def test_var_is_stable(device):
    """Two passes: a large mean must not eat the variance."""
    a = (1e4 + np.random.default_rng(0).standard_normal((3, 1000))).astype(np.float32)
    np.testing.assert_allclose(Tensor(a).var(1).numpy(), a.astype(np.float64).var(1, ddof=1), rtol=1e-3)


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_argmax_argmin(d, device):
    batch = Batch()
    a = values((5, 6) if device == "INTERP" else (5, 69), d)  # few distinct values: the first of equals must win
    for axis in (None, 0, 1, -1):
        batch.add(f"argmax {axis}", lambda x=axis: tensor(a, d).argmax(x), np.argmax(a, axis), dtypes.int32)
        batch.add(f"argmin {axis}", lambda x=axis: tensor(a, d).argmin(x), np.argmin(a, axis), dtypes.int32)
    batch.add("keepdim", lambda: tensor(a, d).argmax(1, keepdim=True), np.argmax(a, 1, keepdims=True), dtypes.int32)
    batch.check()


@pytest.mark.parametrize("d", [dtypes.int32, *FLOATS], ids=repr)
def test_softmax(d, device):
    batch = Batch()
    a = values((3, 4, 5) if device == "INTERP" else (3, 4, 35), d, "wide")
    x = exact(a).astype(np.float64)
    for axis in (-1, 0, 1):
        log = x - logsumexp(x, axis, True)
        out = float_dtype(d)
        tol = {"float16": 2e-2, "bfloat16": 1.5e-1, "float32": 2e-5, "float64": 1e-12}[out.name]
        batch.add(
            f"softmax {axis}",
            lambda k=axis: tensor(a, d).softmax(k),
            np.exp(log),
            out,
            tol,
            1e-3 if d in (dtypes.float16, dtypes.bfloat16) else 1e-12,
        )
        batch.add(f"log_softmax {axis}", lambda k=axis: tensor(a, d).log_softmax(k), log, out, tol, tol)
    batch.check()


def test_softmax_does_not_overflow(device):
    t = Tensor([[1e4, 1e4 - 1, -1e4]]).softmax().numpy()
    np.testing.assert_allclose(t, [[0.7310586, 0.26894143, 0.0]], rtol=1e-6)
    assert Tensor([1e4, 1e4]).logsumexp().item() == pytest.approx(1e4 + np.log(2))


def test_empty_axes(device):
    """Sums of nothing are 0, products 1, all true, any false; a maximum of nothing is an error."""
    z = np.zeros((3, 0), np.float32)
    batch = Batch()
    batch.add("sum", lambda: Tensor(z).sum(1), np.zeros(3), dtypes.float32)
    batch.add("prod", lambda: Tensor(z).prod(1), np.ones(3), dtypes.float32)
    batch.add("all", lambda: Tensor(z).all(1), [True] * 3, dtypes.bool)
    batch.add("any", lambda: Tensor(z).any(1), [False] * 3, dtypes.bool)
    batch.add("sum 0", lambda: Tensor(z).sum(0), np.zeros(0), dtypes.float32)
    batch.add("mean", lambda: Tensor(z).mean(1), np.full(3, np.nan), dtypes.float32)
    batch.add("max over the other", lambda: Tensor(z).max(0), np.zeros(0), dtypes.float32)
    batch.add("max", lambda: Tensor(z).max(1), np.full(3, -np.inf), dtypes.float32)
    batch.add("min", lambda: Tensor(z).min(1), np.full(3, np.inf), dtypes.float32)
    batch.check()
    for name in ("argmax", "argmin", "amax", "amin"):
        with pytest.raises((ValueError, IndexError)):
            getattr(Tensor(z), name)(1)


def test_sum_dtype():
    a = values((10,), dtypes.int8, "bits")
    t = Tensor(a).sum(dtype=dtypes.int64)
    assert t.dtype is dtypes.int64 and t.item() == a.astype(np.int64).sum()
    assert Tensor(np.ones(70000, np.float16)).sum(dtype=dtypes.float32).item() == 70000
    assert Tensor(np.ones(3000, np.float16)).sum().item() == 3000  # accumulated in float32, returned in half


def test_long_sums_are_accurate(cpu):
    a = np.random.default_rng(0).random(1_000_000).astype(np.float32)
    assert Tensor(a).sum().item() == pytest.approx(a.astype(np.float64).sum(), rel=1e-5)
    assert Tensor(a).mean().item() == pytest.approx(a.astype(np.float64).mean(), rel=1e-5)


@pytest.mark.parametrize("view", VIEWS, ids=lambda v: v[0])
def test_views(view, device):
    _, on_tensor, on_array = view
    a = values((4, 6), dtypes.float64)
    x = on_array(a)
    batch = Batch()
    for name, f, _ in REDUCE:
        for axis in (0, -1):
            batch.add(f"{name} {axis}", lambda n=name, k=axis: getattr(on_tensor(Tensor(a)), n)(k), f(x, axis, False), rtol=1e-12, atol=1e-13)
    batch.check()


def running(f, x, axis):
    return f(x, axis)


SCANS = [
    ("cumsum", lambda x, k: np.cumsum(x, k), sum_dtype),
    ("cumprod", lambda x, k: np.logical_and.accumulate(x, k) if x.dtype == bool else np.cumprod(x, k), lambda d: d),
]


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_scans(d, device):
    batch = Batch()
    a = values((3, 5) if device == "INTERP" else (3, 21), d, "unit" if d.kind == "f" else "real")
    for (name, f, rule), axis in itertools.product(SCANS, (0, 1, -1)):
        out = rule(d)
        tol = SPREAD[out.name] if out.kind == "f" else None
        with np.errstate(all="ignore"):
            want = f(exact(a), axis)
        batch.add(f"{name} {axis}", lambda n=name, k=axis: getattr(tensor(a, d), n)(k), want, out, tol, tol or 0)
    batch.add("cummax", lambda: tensor(a, d).cummax(1)[0], np.maximum.accumulate(a, 1), d)
    batch.add("cummin", lambda: tensor(a, d).cummin(0)[0], np.minimum.accumulate(a, 0), d)
    if d.kind == "f":
        x = exact(a)
        want = np.log(np.cumsum(np.exp(x), 1))
        batch.add("logcumsumexp", lambda: tensor(a, d).logcumsumexp(1), want, d, 10 * SPREAD[d.name], 2 * SPREAD[d.name])
    batch.check()


def test_scan_edges(device):
    batch = Batch()
    batch.add("empty", lambda: Tensor(np.zeros((2, 0), np.float32)).cumsum(1), np.zeros((2, 0)), dtypes.float32)
    batch.add("zero axes", lambda: Tensor(3.0).cumsum(), 3.0, dtypes.float32)
    big = np.arange(5000, dtype=np.int64)
    batch.add("long", lambda: Tensor(big).cumsum(), np.cumsum(big), dtypes.int64)
    big2 = np.arange(3000, dtype=np.int64).reshape(1000, 3)
    batch.add("long 0", lambda: Tensor(big2).cumsum(0), np.cumsum(big2, 0), dtypes.int64)
    n = np.float32([1, np.nan, 3, 0])
    batch.add("nan max", lambda: Tensor(n).cummax()[0], [1, np.nan, np.nan, np.nan], dtypes.float32)
    batch.check()


def test_cummax_indices():
    a = np.array([[1, 3, 3, 2, 5, 5], [4, 4, 1, 7, 0, 8]], np.int32)
    v, i = Tensor(a).cummax(1)
    np.testing.assert_array_equal(v.numpy(), np.maximum.accumulate(a, 1))
    np.testing.assert_array_equal(i.numpy(), [[0, 1, 1, 1, 4, 4], [0, 0, 0, 3, 3, 5]])
    v, i = Tensor(-a).cummin(1)
    np.testing.assert_array_equal(i.numpy(), [[0, 1, 1, 1, 4, 4], [0, 0, 0, 3, 3, 5]])
    assert i.dtype is dtypes.int32


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_reduce_property(data):
    """Any shape, any axes, after any permutation and flip."""
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    a = values(shape, dtypes.float64)
    order = data.draw(st.permutations(range(len(shape))))
    flips = data.draw(st.sets(st.integers(0, len(shape) - 1)))
    axes = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
    keepdim = data.draw(st.booleans())
    x = np.flip(a.transpose(order), tuple(flips)) if flips else a.transpose(order)
    t = Tensor(a).permute(*order)
    t = t.flip(*flips) if flips else t
    for name, f, _ in REDUCE[:4]:
        got = getattr(t, name)(axes, keepdim)
        want = f(x, axes, keepdim)
        assert got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_largest_of_short_rows(cpu, dtype, special):
    """Rows that fill a few vectors, with what is left over in narrower ones: NaN wins wherever it stands, rows of minus infinity are that."""
    rng = np.random.default_rng(6)
    for n in (1, 3, 4, 7, 8, 12, 15, 16, 17, 24, 31, 33, 40, 47, 64, 100):
        x = rng.standard_normal((40, n)).astype(dtype)
        x[rng.random((40, n)) < 0.1] = special
        x[3], x[4, -1], x[5, 0] = special, special, special
        t = Tensor(x)
        for got, want in ((t.max(1), x.max(1)), (t.min(1), x.min(1))):
            assert np.array_equal(got.numpy(), want, equal_nan=True), n


@pytest.mark.parametrize("perm", [(2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_reductions_of_moved_axes(perm):
    """Several axes of what was permuted, before and after elementwise work: reduced in the order of memory, the same values."""
    a = np.random.default_rng(1).standard_normal((6, 70, 9)).astype(np.float32)
    x, moved = Tensor(a).permute(*perm), a.transpose(perm).astype(np.float64)
    for axes in ((0, 1), (1, 2), (0, 2), (0, 1, 2)):
        np.testing.assert_allclose((x * 2 + x.exp()).sum(axes).numpy(), (moved * 2 + np.exp(moved)).sum(axes), rtol=1e-5)
        np.testing.assert_allclose((x.permute(*perm) + 1).square().mean(axes).numpy(), ((moved.transpose(perm) + 1) ** 2).mean(axes), rtol=1e-5)
        np.testing.assert_array_equal(x.max(axes).numpy(), moved.max(axes).astype(np.float32))


@pytest.mark.parametrize("length", [1, 2, 3])
def test_reductions_of_a_long_chain_over_moved_axes(length):
    """The order of axes is looked for as deep with moved axes in front of the chain as without: otherwise they would be moved back for ever."""
    x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float16)
    t, want = Tensor(x).permute((1, 0)), x.T.astype(np.float32)
    for _ in range(length):
        t, want = t.sigmoid(), 1 / (1 + np.exp(-want))
    np.testing.assert_allclose(t.min((0, 1), True).numpy(), want.min().reshape(1, 1), rtol=2e-3)
