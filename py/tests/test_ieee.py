"""Special values: no rewrite may change what IEEE arithmetic gives."""

import itertools

import numpy as np
import pytest
from helpers import Batch

from polygrad import Tensor, dtypes

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, -2.5, 1.5, 2.5]


@pytest.mark.parametrize("d", [dtypes.float32, dtypes.float64, dtypes.float16], ids=repr)
def test_binary(d, device):
    pairs = np.array(list(itertools.product(SPECIAL, SPECIAL)))
    with np.errstate(all="ignore"):
        a, b = pairs[:, 0].astype(d.np), pairs[:, 1].astype(d.np)
        batch = Batch()
        rows = [
            ("+", lambda x, y: x + y, a + b), ("-", lambda x, y: x - y, a - b), ("*", lambda x, y: x * y, a * b), ("/", lambda x, y: x / y, a / b),
            ("maximum", lambda x, y: x.maximum(y), np.maximum(a, b)), ("minimum", lambda x, y: x.minimum(y), np.minimum(a, b)),
            ("<", lambda x, y: x < y, a < b), ("<=", lambda x, y: x <= y, a <= b), ("==", lambda x, y: x == y, a == b), ("!=", lambda x, y: x != y, a != b),
            (">", lambda x, y: x > y, a > b), (">=", lambda x, y: x >= y, a >= b),
        ]  # fmt: skip
        for name, op, want in rows:
            batch.add(name, lambda o=op: o(Tensor(a), Tensor(b)), want)
    batch.check()


def test_zero_times_everything(device):
    """0 * x is not 0, x - x is not 0, x / x is not 1, x == x is not true: with a constant, with itself, with zeros made lazily."""
    x = np.float32(SPECIAL)
    t = Tensor(x)
    with np.errstate(all="ignore"):
        batch = Batch()
        batch.add("x * 0", lambda: t * 0, x * 0)
        batch.add("0.0 * x", lambda: 0.0 * t, 0.0 * x)
        batch.add("zeros * x", lambda: Tensor.zeros(13) * t, x * 0)
        batch.add("x - x", lambda: t - t, x - x)
        batch.add("x / x", lambda: t / t, x / x)
        batch.add("x == x", lambda: t == t, x == x)
        batch.add("x != x", lambda: t != t, x != x)
        batch.add("x + 0", lambda: t + 0, x + 0)
        batch.add("x * 1", lambda: t * 1, x)
        batch.add("x ** 0", lambda: t**0, x**0)
        batch.add("x ** 1", lambda: t**1, x)
        batch.add("x ** 2", lambda: t**2, x * x)
        batch.add("x ** 0.5", lambda: t**0.5, x ** np.float32(0.5))
        batch.add("x ** -1", lambda: t**-1, x ** np.float32(-1))
        batch.add("(x + 1e30) - 1e30", lambda: (t + 1e30) - 1e30, (x + np.float32(1e30)) - np.float32(1e30))
        batch.add("max - max", lambda: t.max() - t.max(), np.nan)
    batch.check()
    # the sign of zero
    assert np.signbit((Tensor([0.0]) * -1).numpy()).all()
    assert not np.signbit((Tensor([-0.0]) + 0.0).numpy()).any()
    assert np.signbit((-Tensor([0.0])).numpy()).all()
    assert not np.signbit((0 - Tensor([0.0])).numpy()).any()


UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "tanh",
    "sinh",
    "cosh",
    "floor",
    "ceil",
    "trunc",
    "abs",
    "sign",
]
NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "round": "rint"}


@pytest.mark.parametrize("d", [dtypes.float32, dtypes.float64], ids=repr)
def test_unary(d, device):
    x = np.array([*SPECIAL, 100.0, -100.0, 1000.0, -1000.0, 88.7, 88.8, -87.3, -103.9, -104.0, 2.0**-126, 710.0, -745.0, 0.1, 0.9999999], d.np)
    batch = Batch()
    with np.errstate(all="ignore"):
        for name in [*UNARY, *NUMPY_NAMES]:
            f = getattr(np, NUMPY_NAMES.get(name, name))
            want = f(x.astype(np.longdouble)).astype(d.np) if d is dtypes.float64 else f(x.astype(np.float64)).astype(np.float32)
            batch.add(name, lambda n=name: getattr(Tensor(x), n)(), want, d, rtol=4e-6 if d is dtypes.float32 else 4e-14, atol=0)
        batch.add("rsqrt", lambda: Tensor(x).rsqrt(), 1 / np.sqrt(x.astype(np.float64)), d)
        batch.add("reciprocal", lambda: Tensor(x).reciprocal(), (np.array(1, d.np) / x), d)
        batch.add("isnan", lambda: Tensor(x).isnan(), np.isnan(x))
        batch.add("isinf", lambda: Tensor(x).isinf(), np.isinf(x))
        batch.add("isfinite", lambda: Tensor(x).isfinite(), np.isfinite(x))
        batch.add("relu", lambda: Tensor(x).relu(), np.maximum(x, 0))
        batch.add("sigmoid", lambda: Tensor(x).sigmoid(), 1 / (1 + np.exp(-x.astype(np.float64))), d, rtol=1e-5, atol=1e-37)
    batch.check()


def test_pow_special(device):
    pairs = [(0.0, 0.0), (0.0, 2.0), (0.0, -1.0), (-0.0, -1.0), (-2.0, 3.0), (-2.0, 2.0), (-2.0, 0.5), (-2.0, -3.0), (np.inf, 0.0), (np.inf, -1.0), (-np.inf, 3.0),
             (-np.inf, 2.0), (np.nan, 0.0), (1.0, np.nan), (1.0, np.inf), (2.0, np.inf), (0.5, np.inf), (2.0, -np.inf), (np.nan, 1.0), (2.0, np.nan), (4.0, 0.5), (-1.0, np.inf)]  # fmt: skip
    a, b = np.array(pairs).T
    batch = Batch()
    with np.errstate(all="ignore"):
        for d in (np.float32, np.float64):
            batch.add(str(d), lambda d=d: Tensor(a.astype(d)) ** Tensor(b.astype(d)), a.astype(d) ** b.astype(d), rtol=1e-6)
            for x, y in pairs:
                batch.add(f"{x} ** {y} {d}", lambda x=x, y=y, d=d: Tensor(np.array([x], d)) ** y, np.array([x], d) ** d(y), rtol=1e-6)
    batch.check()


def test_reductions(device):
    batch = Batch()
    x = np.float32([[1, np.nan, 2], [np.inf, -np.inf, 1], [np.inf, 1, 2], [-np.inf, 0, 1]])
    with np.errstate(all="ignore"):
        for name in ("sum", "prod", "max", "min", "mean"):
            batch.add(name, lambda n=name: getattr(Tensor(x), n)(1), getattr(np, name)(x, 1))
        batch.add("argmax", lambda: Tensor(np.float32([1, 3, 3, 2])).argmax(), 1)
        batch.add("any nan", lambda: Tensor(np.float32([0, np.nan])).any(), True)
        batch.add("softmax -inf", lambda: Tensor(np.float32([0, -np.inf])).softmax(), [1, 0])
        batch.add("softmax nan", lambda: Tensor(np.float32([0, np.nan])).softmax(), [np.nan, np.nan])
        batch.add("logsumexp -inf", lambda: Tensor(np.float32([-np.inf, -np.inf])).logsumexp(), -np.inf)
        batch.add("logsumexp inf", lambda: Tensor(np.float32([np.inf, 1])).logsumexp(), np.inf)
    batch.check()


def test_subnormals(device):
    x = np.float32([1e-40, -1e-42, 1.4e-45])
    np.testing.assert_array_equal((Tensor(x) * 2).numpy(), x * 2)
    np.testing.assert_array_equal((Tensor(x) + 0).numpy(), x)


def test_where_and_masks_do_not_leak(device):
    """The branch that is not taken may be NaN."""
    x = Tensor(np.float32([-1, 0, 4]))
    np.testing.assert_array_equal((x > 0).where(x.sqrt(), 0).numpy(), [0, 0, 2])
    np.testing.assert_array_equal(Tensor([np.nan, 1.0]).pad(((1, 1),)).sum().numpy(), np.nan)
    np.testing.assert_array_equal(Tensor([[np.nan, 1.0], [2.0, 3.0]]).tril().numpy(), [[np.nan, 0], [2, 3]])
    np.testing.assert_array_equal(Tensor([[1.0, np.nan], [2.0, 3.0]]).tril().numpy(), [[1, 0], [2, 3]])
    np.testing.assert_array_equal(Tensor([np.inf, 1.0]).masked_fill(Tensor([True, False]), 0.0).numpy(), [0, 1])
