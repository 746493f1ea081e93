"""What the tests share: inputs by dtype and domain, a batch of comparisons computed in one plan, finite differences."""

from __future__ import annotations

import numpy as np

from polygrad import Tensor, dtypes

FLOATS = [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64]
INTS = [dtypes.int8, dtypes.uint8, dtypes.int16, dtypes.uint16, dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64]
ALL = [dtypes.bool, *INTS, *FLOATS]
SHAPES = [(), (0,), (3, 0, 2), (1,), (1, 3, 1), (7,), (3, 5), (2, 3, 4)]

# Relative tolerance: a few units in the last place.
RTOL = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 3e-6, "float64": 1e-13}


def round_bfloat16(a):
    """float32 values rounded to bfloat16 (to nearest, ties to even)."""
    bits = np.asarray(a, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(a), np.float32(np.nan), rounded).astype(np.float32)


def to_dtype_values(a, d):
    """Values as dtype d holds them; bfloat16 as float32."""
    if d is dtypes.bfloat16:
        return round_bfloat16(np.asarray(a, np.float32))
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(d.np)


DOMAINS = {
    "real": lambda u: 6 * u - 3,
    "wide": lambda u: 40 * u - 20,
    "positive": lambda u: 0.25 + 4 * u,
    "unit": lambda u: 1.8 * u - 0.9,
    "above1": lambda u: 1.25 + 3 * u,
    "nonzero": lambda u: np.where(u < 0.5, -0.5 - 4 * u, 0.5 + 4 * (u - 0.5)),
    "bits": lambda u: 100 * u - 40,
}


def values(shape, d=dtypes.float32, domain="real", seed=0):
    """Random values of a dtype within a domain (unsigned integers take the size, bools the sign)."""
    rng = np.random.default_rng(seed + 1000 * len(shape) + d.code)
    a = DOMAINS[domain](rng.random(shape))
    if d.kind == "b":
        return np.asarray(a > np.median(a) if a.size else a > 0)
    if d.kind in "iu":
        a = np.where(a < 0, np.floor(a), np.ceil(a)) if domain in ("nonzero", "above1", "positive") else np.round(a)
        a = np.abs(a) if d.kind == "u" else a
    return to_dtype_values(a, d)


def tensor(a, d):
    """A tensor of dtype d (which numpy may not have) with the values a."""
    return Tensor(np.ascontiguousarray(a) if np.ndim(a) else np.array(a)).cast(d) if d is dtypes.bfloat16 else Tensor(np.array(a, order="C"))


def exact(a):
    """Values for reference formulas: floats in float64."""
    a = np.asarray(a)
    return a.astype(np.float64) if a.dtype.kind == "f" else a


class Batch:
    """Comparisons that are computed in one plan. `check` reports all that differ."""

    def __init__(self):
        self.rows = []
        self.failures = []

    def add(self, label, make, expect, dtype=None, rtol=None, atol=0.0):
        """make() gives the tensor; expect are the values; dtype the result's."""
        try:
            t = make()
        except Exception as e:  # an op that refuses its input must not hide the other rows
            self.failures.append(f"{label}: {type(e).__name__}: {e}")
            return
        self.rows.append((label, t, expect, dtype, rtol, atol))

    def check(self):
        rows = self.rows
        if rows:
            rows[0][1].realize(*[r[1] for r in rows[1:]])
        for label, t, expect, dtype, rtol, atol in rows:
            try:
                compare(t, expect, dtype, rtol, atol)
            except AssertionError as e:
                self.failures.append(f"{label}: {e}")
        assert not self.failures, f"{len(self.failures)} of {len(rows)} differ:\n" + "\n".join(self.failures[:25])


def compare(t, expect, dtype=None, rtol=None, atol=0.0):
    """Shape, dtype and values of a tensor."""
    expect = np.asarray(expect)
    assert t.shape == expect.shape, f"shape {t.shape}, expected {expect.shape}"
    if dtype is not None:
        assert t.dtype is dtype, f"dtype {t.dtype}, expected {dtype}"
    got = t.numpy()
    d = t.dtype
    if d.kind == "f":
        want = to_dtype_values(expect, d).astype(np.float64)
        rtol = RTOL[d.name] if rtol is None else max(rtol, RTOL[d.name] if d in (dtypes.float16, dtypes.bfloat16) else 0)
        tiny = {"float16": 1e-4, "bfloat16": 1e-30, "float32": 1e-30, "float64": 1e-290}[d.name]
        ok = np.isclose(got.astype(np.float64), want, rtol=rtol, atol=max(atol, tiny), equal_nan=True)
    else:
        ok = got == to_dtype_values(expect, d)
    if not np.all(ok):
        k = np.argmin(np.atleast_1d(ok).ravel())
        bad = int(np.sum(~np.atleast_1d(ok)))
        raise AssertionError(f"{bad} of {got.size} values; first at {k}: {np.ravel(got)[k]!r}, expected {np.ravel(expect)[k]!r}")


# Ways to make an input that is not contiguous: name, on a tensor, on an array. All take [a, b].
VIEWS = [
    ("permute", lambda t: t.permute(1, 0), lambda a: a.T),
    ("flip", lambda t: t.flip(0), lambda a: a[::-1]),
    ("shrink", lambda t: t.shrink(((1, 3), (1, 4))), lambda a: a[1:3, 1:4]),
    ("expand", lambda t: t.unsqueeze(1).expand(-1, 3, -1), lambda a: np.broadcast_to(a[:, None], (a.shape[0], 3, a.shape[1]))),
    ("chain", lambda t: t.flip(1).permute(1, 0).shrink(((1, 4), (0, 2))).reshape(-1), lambda a: a[:, ::-1].T[1:4, 0:2].reshape(-1)),
    ("step", lambda t: t[::-2, 1::2], lambda a: a[::-2, 1::2]),
    ("pad", lambda t: t.pad(((1, 0), (0, 2)), value=1.0), lambda a: np.pad(a, ((1, 0), (0, 2)), constant_values=1)),
]


# ---- finite differences ----


def numeric_gradient(f, arrays, seed_gradient, eps=1e-6):
    """d sum(f * seed_gradient) / d arrays by central differences, in float64. f maps arrays to an array."""
    out = []
    for k, a in enumerate(arrays):
        g = np.zeros_like(a)
        flat, gflat = a.reshape(-1), g.reshape(-1)
        for i in range(flat.size):
            old = flat[i]
            flat[i] = old + eps
            up = f(*arrays)
            flat[i] = old - eps
            down = f(*arrays)
            flat[i] = old
            gflat[i] = np.sum((up - down) * seed_gradient) / (2 * eps)
        out.append(g)
    return out


def stacked_difference(f, arrays, k, eps):
    """All shifted evaluations of f with respect to arrays[k] in one plan: a list of (up, down) pairs."""
    a = arrays[k]
    outs = []
    others = [Tensor(x.copy()) for x in arrays]
    for i in range(a.size):
        pair = []
        for sign in (1, -1):
            b = a.copy()
            b.reshape(-1)[i] += sign * eps
            pair.append(f(*[Tensor(b) if j == k else others[j] for j in range(len(arrays))]))
        outs.append(pair)
    return outs


def gradcheck(f, *arrays, eps=1e-6, tol=2e-6, seed=3):
    """The gradients of f (tensors to a tensor) agree with finite differences of f itself, in float64."""
    arrays = [np.array(a, np.float64) for a in arrays]
    xs = [Tensor(a.copy()) for a in arrays]
    y = f(*xs)
    w = np.random.default_rng(seed).standard_normal(y.shape)
    grads = y.gradient(*xs, gradient=Tensor(w), materialize_grads=True)
    pairs = [stacked_difference(f, arrays, k, eps) for k in range(len(arrays))]
    flat = [t for ps in pairs for p in ps for t in p] + list(grads)
    if flat:
        flat[0].realize(*flat[1:])
    for k, (a, g) in enumerate(zip(arrays, grads)):
        assert g.shape == a.shape and g.dtype is dtypes.float64, f"gradient {k}: {g.shape} {g.dtype}, input {a.shape}"
        numeric = np.array([np.sum((u.numpy() - d.numpy()) * w) / (2 * eps) for u, d in pairs[k]]).reshape(a.shape)
        got = g.numpy()
        scale = max(1.0, np.abs(numeric).max(initial=0))
        error = np.abs(got - numeric).max(initial=0) / scale
        assert error < tol, f"gradient {k} differs by {error:.2e}:\n{got}\nfinite differences:\n{numeric}"


def gradgradcheck(f, *arrays, eps=1e-5, tol=2e-5, seed=5):
    """Second derivatives: gradcheck of the gradient."""
    rng = np.random.default_rng(seed)
    probe = f(*[Tensor(np.array(a, np.float64)) for a in arrays])
    w = rng.standard_normal(probe.shape)
    weights = [rng.standard_normal(np.shape(a)) for a in arrays]

    def first(*xs):
        grads = f(*xs).gradient(*xs, gradient=Tensor(w), materialize_grads=True)
        total = None
        for g, v in zip(grads, weights):
            term = (g * Tensor(v)).sum()
            total = term if total is None else total + term
        return total

    gradcheck(first, *arrays, eps=eps, tol=tol)
