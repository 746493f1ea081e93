"""Creation and random numbers: values, dtypes, statistics, reproducibility."""

import math

import numpy as np
import pytest
from helpers import ALL, FLOATS, INTS, Batch

from polygrad import Device, Tensor, dtypes


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_constants(d, device):
    batch = Batch()
    for shape in ((), (0, 3), (2, 3)):
        batch.add(f"zeros {shape}", lambda s=shape: Tensor.zeros(*s, dtype=d), np.zeros(shape), d)
        batch.add(f"ones {shape}", lambda s=shape: Tensor.ones(s, dtype=d), np.ones(shape), d)
        batch.add(f"full {shape}", lambda s=shape: Tensor.full(s, 1 if d.kind == "b" else 7, dtype=d), np.full(shape, 1 if d.kind == "b" else 7), d)
    base = Tensor.zeros(2, 3, dtype=d)
    batch.add("zeros_like", lambda: base.zeros_like(), np.zeros((2, 3)), d)
    batch.add("ones_like", lambda: base.ones_like(), np.ones((2, 3)), d)
    batch.add("full_like", lambda: base.full_like(1), np.ones((2, 3)), d)
    batch.add("eye", lambda: Tensor.eye(3, dtype=d), np.eye(3), d)
    batch.add("eye wide", lambda: Tensor.eye(2, 4, dtype=d), np.eye(2, 4), d)
    if d.kind != "b":
        batch.add("arange", lambda: Tensor.arange(1, 10, 2, dtype=d), np.arange(1, 10, 2), d)
        batch.add("arange empty", lambda: Tensor.arange(0, dtype=d), np.zeros(0), d)
        batch.add(
            "linspace", lambda: Tensor.linspace(0, 10, 5, dtype=d), np.trunc(np.linspace(0, 10, 5)) if d.kind != "f" else np.linspace(0, 10, 5), d
        )
    batch.check()


def test_default_dtypes():
    for t, d in (
        (Tensor.zeros(2), dtypes.float32), (Tensor.full((2,), 3), dtypes.int32), (Tensor.full((2,), 3.0), dtypes.float32), (Tensor.full((2,), True), dtypes.bool),
        (Tensor.arange(3), dtypes.int32), (Tensor.arange(3.0), dtypes.float32), (Tensor.arange(0, 1, 0.25), dtypes.float32), (Tensor.eye(2), dtypes.float32),
        (Tensor.linspace(0, 1, 3), dtypes.float32), (Tensor.rand(2), dtypes.float32), (Tensor.randint(2), dtypes.int32), (Tensor.randperm(3), dtypes.int32),
        (Tensor([1, 2]), dtypes.int32), (Tensor([1, 2.0]), dtypes.float32), (Tensor([True]), dtypes.bool), (Tensor(1), dtypes.int32), (Tensor(1.0), dtypes.float32),
        (Tensor(True), dtypes.bool), (Tensor([]), dtypes.float32), (Tensor(np.float64(1)), dtypes.float64), (Tensor(np.zeros(2)), dtypes.float64),
    ):  # fmt: skip
        assert t.dtype is d
    old = dtypes.default_float
    try:
        dtypes.default_float = dtypes.float64
        assert Tensor([1.0]).dtype is dtypes.float64 and Tensor.zeros(2).dtype is dtypes.float64
    finally:
        dtypes.default_float = old


def test_ranges(device):
    batch = Batch()
    for args in ((5,), (5, 10), (5, 10, 2), (10, 5, -1), (10, 5, -2), (3, 3), (5, 2), (0, 1, 0.25), (5.5, 17.5, 3.0), (0.0, -2.0, -0.5), (-5, 5, 3)):
        batch.add(f"arange{args}", lambda a=args: Tensor.arange(*a), np.arange(*args))
    for args in ((0, 1, 5), (5, -5, 11), (1, 1, 3), (0, 10, 1), (2, 3, 2)):
        batch.add(f"linspace{args}", lambda a=args: Tensor.linspace(*a), np.linspace(*args), dtypes.float32, 1e-6, 1e-6)
    batch.add("arange big", lambda: Tensor.arange(100000), np.arange(100000), dtypes.int32)
    batch.check()
    with pytest.raises(ValueError):
        Tensor.arange(0, 10, 0)


def test_empty_has_shape_and_dtype():
    t = Tensor.empty(3, 4, dtype=dtypes.int8)
    assert t.shape == (3, 4) and t.dtype is dtypes.int8 and t.numpy().shape == (3, 4)
    assert t.empty_like().shape == (3, 4)


# ---- random ----


def test_seeds(device):
    Tensor.manual_seed(42)
    a, b = Tensor.rand(100).numpy(), Tensor.rand(100).numpy()
    assert (a != b).any()
    Tensor.manual_seed(42)
    np.testing.assert_array_equal(Tensor.rand(100).numpy(), a)
    np.testing.assert_array_equal(Tensor.rand(100).numpy(), b)
    Tensor.manual_seed(43)
    assert (Tensor.rand(100).numpy() != a).any()
    t = Tensor.rand(10)
    np.testing.assert_array_equal(t.numpy(), t.numpy())
    u = Tensor.rand(10)
    np.testing.assert_array_equal((u - u).numpy(), np.zeros(10))


def test_same_numbers_on_every_device():
    def draw():
        Tensor.manual_seed(7)
        ts = [
            Tensor.rand(33),
            Tensor.rand(3, 4, dtype=dtypes.float64),
            Tensor.randint(50, low=-5, high=5),
            Tensor.randperm(20),
            Tensor.rand(9, dtype=dtypes.float16),
        ]
        ts[0].realize(*ts[1:])
        return [t.numpy() for t in ts], Tensor.randn(500).numpy()

    Device.DEFAULT = "INTERP"
    a, an = draw()
    Device.DEFAULT = "CPU"
    b, bn = draw()
    for x, y in zip(a, b):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_allclose(an, bn, rtol=1e-5, atol=1e-6)


def ks_uniform(x):
    """Largest distance between the sample's distribution and the uniform one, times sqrt(n); 1.95 is the 0.1 % bound."""
    x = np.sort(np.asarray(x, np.float64).ravel())
    n = len(x)
    return max(np.max(np.arange(1, n + 1) / n - x), np.max(x - np.arange(n) / n)) * math.sqrt(n)


normal_cdf = np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))), otypes=[float])


@pytest.mark.parametrize("d", FLOATS, ids=repr)
def test_uniform(d, cpu):
    x = Tensor.rand(100, 200, dtype=d)
    a = x.numpy()
    assert x.dtype is d and a.shape == (100, 200)
    assert a.min() >= 0 and a.max() < 1
    spread = {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(d.name, 0)
    assert ks_uniform(a) < 1.95 + spread * math.sqrt(a.size) * 2
    assert abs(np.corrcoef(a[:, :-1].ravel(), a[:, 1:].ravel())[0, 1]) < 0.03
    assert abs(np.corrcoef(a[:-1].ravel(), a[1:].ravel())[0, 1]) < 0.03


def test_distributions(cpu):
    n = 20000
    draws = {
        "randn": Tensor.randn(n), "normal": (Tensor.normal(n, mean=3, std=2) - 3) / 2, "randn_like": Tensor.zeros(n).randn_like(),
        "double": Tensor.randn(n, dtype=dtypes.float64),
    }  # fmt: skip
    first, *rest = draws.values()
    first.realize(*rest)
    for name, t in draws.items():
        a = t.numpy()
        assert np.isfinite(a).all(), name
        assert ks_uniform(normal_cdf(a)) < 1.95, name
        assert abs(a).max() > 3, name  # it has tails
    u = Tensor.uniform(n, low=-3, high=5).numpy()
    assert u.min() >= -3 and u.max() < 5 and ks_uniform((u + 3) / 8) < 1.95


@pytest.mark.parametrize("d", INTS, ids=repr)
def test_randint(d):
    t = Tensor.randint(5000, low=3, high=9, dtype=d)
    a = t.numpy()
    assert t.dtype is d and a.min() == 3 and a.max() == 8
    counts = np.bincount(a.astype(int))[3:]
    assert ((counts - 5000 / 6) ** 2 / (5000 / 6)).sum() < 25  # chi-squared, 5 degrees of freedom
    if d.kind == "i":
        assert set(np.unique(Tensor.randint(100, low=-2, high=0, dtype=d).numpy())) == {-2, -1}


def test_randint_forms_and_errors():
    assert Tensor.randint(2, 8, (3, 4)).shape == (3, 4)
    assert Tensor.randint(32, high=100).shape == (32,)
    with pytest.raises(ValueError):
        Tensor.randint(3, low=5, high=5)
    with pytest.raises(TypeError):
        Tensor.randint(3, dtype=dtypes.float32)


def test_randperm():
    for n in (0, 1, 2, 100):
        assert sorted(Tensor.randperm(n).tolist()) == list(range(n))
    a = np.array([Tensor.randperm(5).tolist() for _ in range(100)])
    assert all(len(np.unique(a[:, k])) == 5 for k in range(5))


def test_multinomial():
    w = np.float32([1, 2, 0, 5])
    a = Tensor(w).multinomial(4000, replacement=True)
    counts = np.bincount(a.numpy(), minlength=4) / 4000
    assert a.dtype is dtypes.int32
    np.testing.assert_allclose(counts, w / w.sum(), atol=0.04)
    assert counts[2] == 0
    b = Tensor(np.float32([[1, 1, 1, 1], [0, 0, 3, 1]])).multinomial(2, replacement=False).numpy()
    assert b.shape == (2, 2) and len(set(b[0])) == 2 and set(b[1]) == {2, 3}


def test_initialisers():
    shape = (64, 32, 3, 3)
    fan_in = 32 * 9
    for t, bound in (
        (Tensor.scaled_uniform(*shape), math.prod(shape) ** -0.5),
        (Tensor.glorot_uniform(*shape), math.sqrt(6 / (64 + fan_in))),
        (Tensor.kaiming_uniform(*shape, a=0.01), math.sqrt(3) * math.sqrt(2 / (1 + 0.01**2)) / math.sqrt(fan_in)),
    ):
        a = t.numpy()
        assert abs(np.abs(a).max() / bound - 1) < 0.01
        assert a.std() == pytest.approx(bound / math.sqrt(3), rel=0.03)
    assert Tensor.kaiming_normal(*shape, a=0.5).numpy().std() == pytest.approx(math.sqrt(2 / (1 + 0.25)) / math.sqrt(fan_in), rel=0.05)
    assert Tensor.glorot_normal(*shape).numpy().std() == pytest.approx(math.sqrt(2 / (64 + fan_in)), rel=0.05)


def test_like():
    x = Tensor.zeros(2, 3, dtype=dtypes.float64)
    for t in (x.rand_like(), x.randn_like()):
        assert t.shape == (2, 3) and t.dtype is dtypes.float64
    assert x.rand_like(dtype=dtypes.float16).dtype is dtypes.float16
