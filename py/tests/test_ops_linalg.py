"""Matrix products, einsum, convolution, pooling, attention, normalisation, against plain numpy loops."""

import itertools

import numpy as np
import pytest
from helpers import ALL, FLOATS, Batch, exact, tensor, values

import polygrad.nn.functional as F
from polygrad import Tensor, dtypes

TOL = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 2e-5, "float64": 1e-12}
MATMUL = [
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((1, 4), (4, 1)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)),
    ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (2, 4, 5)), ((2, 3, 4), (4,)), ((3, 0), (0, 5)), ((0, 3), (3, 2)), ((1, 1), (1, 1)),
    ((33, 17), (17, 65)),
]  # fmt: skip


def test_matmul_shapes(device):
    batch = Batch()
    for s, t in MATMUL:
        a, b = values(s, dtypes.float32), values(t, dtypes.float32, seed=1)
        batch.add(f"{s} @ {t}", lambda a=a, b=b: Tensor(a) @ Tensor(b), exact(a) @ exact(b), dtypes.float32, 1e-4, 1e-4)
    batch.check()


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_matmul_dtypes(d, device):
    a, b = values((3, 4), d), values((4, 5), d, seed=1)
    tol = TOL.get(d.name)
    with np.errstate(all="ignore"):
        want = a @ b if d.kind == "b" else exact(a) @ exact(b)
    batch = Batch()
    batch.add("matmul", lambda: tensor(a, d) @ tensor(b, d), want, d, tol, tol or 0)
    batch.check()


@pytest.mark.parametrize("ta, tb", list(itertools.product((False, True), repeat=2)))
def test_matmul_of_views(ta, tb, device):
    batch = Batch()
    a, b = values((2, 5, 6) if not ta else (2, 6, 5)), values((2, 6, 7) if not tb else (2, 7, 6), seed=1)
    x, y = (a.swapaxes(1, 2) if ta else a), (b.swapaxes(1, 2) if tb else b)
    t, u = (lambda: Tensor(a).transpose(1, 2) if ta else Tensor(a)), (lambda: Tensor(b).transpose(1, 2) if tb else Tensor(b))
    batch.add("transposed", lambda: t() @ u(), exact(x) @ exact(y), None, 1e-4, 1e-4)
    batch.add("flipped", lambda: t().flip(1) @ u().flip(2), exact(x[:, ::-1]) @ exact(y[:, :, ::-1]), None, 1e-4, 1e-4)
    batch.add("sliced", lambda: t()[:, 1:4] @ u()[:, :, ::2], exact(x[:, 1:4]) @ exact(y[:, :, ::2]), None, 1e-4, 1e-4)
    batch.add("expression", lambda: (t() + 1).relu() @ (u() * 2), np.maximum(exact(x) + 1, 0) @ (exact(y) * 2), None, 1e-4, 1e-4)
    batch.add("after", lambda: (t() @ u() + 1).relu(), np.maximum(exact(x) @ exact(y) + 1, 0), None, 1e-4, 1e-4)
    batch.add(
        "chain", lambda: (t() @ u()) @ (t() @ u()).transpose(1, 2), (exact(x) @ exact(y)) @ (exact(x) @ exact(y)).swapaxes(1, 2), None, 1e-3, 1e-3
    )
    batch.check()


def test_matmul_nan_and_inf(device):
    """0 * nan is nan: no product may be skipped."""
    a = np.float32([[0, 1], [0, 0]])
    b = np.float32([[np.nan, np.inf], [2, 3]])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((Tensor(a) @ Tensor(b)).numpy(), a @ b)


def test_matmul_large(cpu):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((300, 257)).astype(np.float32), rng.standard_normal((257, 310)).astype(np.float32)
    np.testing.assert_allclose((Tensor(a) @ Tensor(b)).numpy(), a.astype(np.float64) @ b, atol=2e-3)
    c = rng.standard_normal((310,)).astype(np.float32)
    np.testing.assert_allclose((Tensor(a) @ Tensor(b) + Tensor(c)).relu().numpy(), np.maximum(a.astype(np.float64) @ b + c, 0), atol=2e-3)


def test_matmul_errors():
    for s, t in (((2, 3), (4, 5)), ((3,), (4,)), ((2, 3, 4), (3, 4, 5))):
        with pytest.raises(ValueError) as e:
            Tensor.ones(*s) @ Tensor.ones(*t)
        assert str(s) in str(e.value) and str(t) in str(e.value)
    with pytest.raises(ValueError):
        Tensor(1.0) @ Tensor([1.0])


EINSUM = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ij->ji", (3, 4)), ("ij->j", (3, 4)),
    ("ij->", (3, 4)), ("ii->i", (4, 4)), ("ii", (4, 4)), ("i,j->ij", (3,), (4,)), ("i,i", (3,), (3,)), ("ijk,jil->kl", (3, 4, 5), (4, 3, 2)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)), ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("i...,i...->...", (3, 2, 4), (3, 2, 4)), ("ba", (3, 4)), ("ij,ij->ij", (3, 4), (3, 4)), ("i j, j k -> i k", (3, 4), (4, 5)), ("ijj->ij", (2, 3, 3)),
]  # fmt: skip


def test_einsum(device):
    batch = Batch()
    for formula, *shapes in EINSUM:
        arrays = [values(s, dtypes.float64, seed=k) for k, s in enumerate(shapes)]
        want = np.einsum(formula, *arrays)
        batch.add(formula, lambda f=formula, xs=arrays: Tensor.einsum(f, *[Tensor(x) for x in xs]), want, dtypes.float64, 1e-12, 1e-12)
    batch.check()
    for bad in ("ij,jk->il", "ij,jk", "i->i", "ij,ij"):
        with pytest.raises(ValueError):
            Tensor.einsum(bad, Tensor.ones(2, 3), *([Tensor.ones(4, 5)] if "," in bad else []))


def test_linear(device):
    batch = Batch()
    x, w, b = values((2, 3, 4)), values((4, 5), seed=1), values((5,), seed=2)
    batch.add("bias", lambda: Tensor(x).linear(Tensor(w), Tensor(b)), exact(x) @ exact(w) + b, dtypes.float32, 1e-5, 1e-5)
    batch.add("no bias", lambda: Tensor(x).linear(Tensor(w)), exact(x) @ exact(w), dtypes.float32, 1e-5, 1e-5)
    batch.add("of each feature", lambda: Tensor(x).linear(Tensor(w[:, 0])), exact(x) * exact(w[:, 0]), dtypes.float32, 1e-5, 1e-5)
    batch.add("of PyTorch", lambda: F.linear(Tensor(x), Tensor(w.T.copy()), Tensor(b)), exact(x) @ exact(w) + b, dtypes.float32, 1e-5, 1e-5)
    batch.add("vector", lambda: Tensor(x[0, 0]).linear(Tensor(w), Tensor(b)), exact(x[0, 0]) @ exact(w) + b, dtypes.float32, 1e-5, 1e-5)
    batch.check()


# ---- convolution ----


def reference_conv(x, w, b, groups, stride, dilation, padding):
    """Over any number of spatial axes, by a loop over output places. padding: (before, after) for each axis."""
    n = w.ndim - 2
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *padding])
    out = [(x.shape[2 + k] - dilation[k] * (w.shape[2 + k] - 1) - 1) // stride[k] + 1 for k in range(n)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    per_in, per_out = w.shape[1], w.shape[0] // groups
    for place in np.ndindex(*out):
        window = x[
            (slice(None), slice(None), *[slice(p * s, p * s + d * (k - 1) + 1, d) for p, s, d, k in zip(place, stride, dilation, w.shape[2:])])
        ]
        for g in range(groups):
            xs = window[:, g * per_in : (g + 1) * per_in].reshape(x.shape[0], -1)
            ws = w[g * per_out : (g + 1) * per_out].astype(np.float64).reshape(per_out, -1)
            y[(slice(None), slice(g * per_out, (g + 1) * per_out), *place)] = xs @ ws.T
    return y if b is None else y + b.reshape(1, -1, *[1] * n)


def reference_conv_transpose(x, w, b, groups, stride, dilation, padding, output_padding):
    n = w.ndim - 2
    per_in, per_out = x.shape[1] // groups, w.shape[1]
    full = [(x.shape[2 + k] - 1) * stride[k] + dilation[k] * (w.shape[2 + k] - 1) + 1 + output_padding[k] for k in range(n)]
    y = np.zeros((x.shape[0], per_out * groups, *full))
    for place in np.ndindex(*x.shape[2:]):
        for tap in np.ndindex(*w.shape[2:]):
            to = tuple(p * s + t * d for p, s, t, d in zip(place, stride, tap, dilation))
            for g in range(groups):
                xs = x[(slice(None), slice(g * per_in, (g + 1) * per_in), *place)].astype(np.float64)
                ws = w[(slice(g * per_in, (g + 1) * per_in), slice(None), *tap)].astype(np.float64)
                y[(slice(None), slice(g * per_out, (g + 1) * per_out), *to)] += xs @ ws
    cut = tuple(slice(p[0], s - p[1]) for p, s in zip(padding, full))
    y = y[(slice(None), slice(None), *cut)]
    return y if b is None else y + b.reshape(1, -1, *[1] * n)


# x, weight, groups, stride, dilation, padding as given, padding for the reference
CONV = [
    ((1, 1, 5), (1, 1, 3), 1, 1, 1, 0, [(0, 0)]),
    ((2, 4, 7), (6, 2, 3), 2, 2, 1, 1, [(1, 1)]),
    ((1, 2, 9), (3, 2, 3), 1, 1, 2, (2, 0), [(2, 0)]),
    ((2, 3, 6, 5), (4, 3, 3, 2), 1, 1, 1, 0, [(0, 0), (0, 0)]),
    ((2, 4, 6, 6), (4, 1, 3, 3), 4, 2, 1, 1, [(1, 1), (1, 1)]),
    ((1, 4, 7, 8), (6, 2, 2, 3), 2, (2, 1), (1, 2), (1, 2), [(1, 1), (2, 2)]),
    ((1, 2, 5, 5), (3, 2, 2, 2), 1, 1, 1, (1, 0, 2, 1), [(2, 1), (1, 0)]),
    ((1, 2, 4, 4, 4), (2, 2, 2, 3, 2), 1, 1, 1, 1, [(1, 1)] * 3),
    ((1, 3, 4, 4), (5, 3, 1, 1), 1, 1, 1, 0, [(0, 0), (0, 0)]),
]


def spread(v, n):
    return tuple(v) if isinstance(v, tuple) else (v,) * n


def test_conv(device):
    batch = Batch()
    for k, (xs, ws, groups, stride, dilation, padding, pads) in enumerate(CONV):
        n = len(xs) - 2
        x, w, b = values(xs, dtypes.float32, seed=k), values(ws, dtypes.float32, seed=k + 1), values((ws[0],), seed=k + 2)
        for bias in (None, b):
            want = reference_conv(x, w, bias, groups, spread(stride, n), spread(dilation, n), pads)
            batch.add(
                f"{xs} {ws} {bias is not None}",
                lambda x=x, w=w, b=bias, g=groups, s=stride, d=dilation, p=padding: Tensor(x).conv2d(Tensor(w), None if b is None else Tensor(b), g, s, d, p),
                want, dtypes.float32, 1e-4, 1e-4,
            )  # fmt: skip
    batch.check()


@pytest.mark.parametrize("d", [dtypes.int32, *FLOATS], ids=repr)
def test_conv_dtypes(d, device):
    x, w = values((1, 2, 5, 5), d), values((3, 2, 3, 3), d, seed=1)
    want = reference_conv(x, w, None, 1, (1, 1), (1, 1), [(1, 1)] * 2)
    batch = Batch()
    tol = {"float16": 3e-2, "bfloat16": 2e-1}.get(d.name, 1e-4)
    batch.add("conv", lambda: tensor(x, d).conv2d(tensor(w, d), padding=1), want, d, tol, tol)
    batch.check()


TRANSPOSE = [
    ((1, 1, 4), (1, 1, 3), 1, 1, 1, 0, 0),
    ((2, 4, 5), (4, 3, 3), 2, 2, 1, 1, 1),
    ((1, 2, 4, 3), (2, 3, 3, 2), 1, 1, 1, 0, 0),
    ((2, 2, 3, 4), (2, 3, 3, 3), 1, 2, 1, 1, 1),
    ((1, 4, 3, 3), (4, 2, 2, 3), 2, (2, 3), (2, 1), (1, 0), (1, 2)),
]


def test_conv_transpose(device):
    batch = Batch()
    for k, (xs, ws, groups, stride, dilation, padding, extra) in enumerate(TRANSPOSE):
        n = len(xs) - 2
        x, w, b = values(xs, seed=k), values(ws, seed=k + 1), values((ws[1] * groups,), seed=k + 2)
        pads = [(p, p) for p in spread(padding, n)]
        want = reference_conv_transpose(x, w, b, groups, spread(stride, n), spread(dilation, n), pads, spread(extra, n))
        batch.add(
            f"{xs} {ws}",
            lambda x=x, w=w, b=b, g=groups, s=stride, d=dilation, p=padding, o=extra: Tensor(x).conv_transpose2d(Tensor(w), Tensor(b), g, s, d, p, o),
            want,
            dtypes.float32,
            1e-4,
            1e-4,
        )  # noqa: E501
    batch.check()


def test_places_that_a_convolution_passes_over_have_no_gradient(device):
    """A kernel of one place with a step, dilated or not: not even a weight that is NaN reaches what it does not read."""
    x, w = Tensor(np.ones((1, 1, 5, 5))), Tensor(np.full((1, 1, 1, 1), np.nan))
    read = np.zeros((5, 5), bool)
    read[::2, ::2] = True
    for dilation in (1, 2):
        g = x.conv2d(w, stride=2, dilation=dilation).sum().gradient(x)[0].numpy()[0, 0]
        np.testing.assert_array_equal(np.isnan(g), read)
        assert not g[~read].any()


def test_conv_errors():
    with pytest.raises(ValueError) as e:
        Tensor.ones(1, 3, 5, 5).conv2d(Tensor.ones(4, 2, 3, 3))
    assert "(1, 3, 5, 5)" in str(e.value) and "(4, 2, 3, 3)" in str(e.value)
    with pytest.raises(ValueError):
        Tensor.ones(1, 3, 2, 2).conv2d(Tensor.ones(4, 3, 3, 3))
    with pytest.raises(ValueError):
        Tensor.ones(1, 3, 5, 5).conv2d(Tensor.ones(4, 3, 3))


def reference_pool(x, kernel, stride, dilation, padding, ceil_mode, how, include_pad=True):
    n = len(kernel)
    fill = -np.inf if how == "max" else 0.0
    sizes, out = x.shape[-n:], []
    for s, k, st_, d, (lo, hi) in zip(sizes, kernel, stride, dilation, padding):
        span = s + lo + hi - d * (k - 1) - 1
        o = (-(-span // st_) if ceil_mode else span // st_) + 1
        if ceil_mode and (o - 1) * st_ >= s + lo:
            o -= 1
        out.append(o)
    padded = np.pad(x.astype(np.float64), [(0, 0)] * (x.ndim - n) + list(padding), constant_values=fill)
    y = np.zeros((*x.shape[:-n], *out))
    for place in np.ndindex(*out):
        at = [range(p * s, p * s + d * (k - 1) + 1, d) for p, s, d, k in zip(place, stride, dilation, kernel)]
        cells = [c for c in itertools.product(*at) if all(v < m for v, m in zip(c, padded.shape[-n:]))]
        vals = np.stack([padded[(..., *c)] for c in cells])
        if how == "max":
            y[(..., *place)] = vals.max(0)
            continue
        real = [c for c in cells if all(p[0] <= v < p[0] + s for v, p, s in zip(c, padding, sizes))]
        y[(..., *place)] = vals.sum(0) / (len(cells) if include_pad else len(real))
    return y


POOL = [
    ((1, 2, 6, 6), (2, 2), None, 1, 0, False), ((2, 1, 7, 5), (3, 2), (2, 1), 1, (1, 1), False), ((1, 1, 7, 7), (2, 2), 2, 2, 0, False),
    ((1, 1, 7, 8), (3, 3), 2, 1, 1, True), ((1, 1, 6, 6), (3, 3), None, 1, 0, True), ((2, 9), (3,), 2, 1, 1, False), ((3, 4, 4), (2, 2), None, 1, 0, False),
]  # fmt: skip


def test_pooling(device):
    batch = Batch()
    for k, (shape, kernel, stride, dilation, padding, ceil) in enumerate(POOL):
        n = len(kernel)
        x = values(shape, seed=k)
        st_, di = spread(kernel if stride is None else stride, n), spread(dilation, n)
        pads = [(p, p) for p in spread(padding, n)]
        batch.add(
            f"max {shape} {kernel}",
            lambda x=x, a=(kernel, stride, dilation, padding, ceil): Tensor(x).max_pool2d(*a),
            reference_pool(x, kernel, st_, di, pads, ceil, "max"),
            dtypes.float32,
        )
        for include in (True, False):
            want = reference_pool(x, kernel, st_, di, pads, ceil, "avg", include)
            batch.add(
                f"avg {shape} {kernel} {include}",
                lambda x=x, a=(kernel, stride, dilation, padding, ceil, include): Tensor(x).avg_pool2d(*a),
                want,
                dtypes.float32,
                1e-5,
                1e-6,
            )
    i = values((1, 1, 4, 4), dtypes.int32, "bits") - 200
    batch.add(
        "max of integers",
        lambda: Tensor(i).max_pool2d(2, padding=1),
        reference_pool(i, (2, 2), (2, 2), (1, 1), [(1, 1)] * 2, False, "max"),
        dtypes.int32,
    )
    batch.check()


# ---- attention and normalisation ----


def softmax(x):
    e = np.exp(x - np.nanmax(np.where(np.isfinite(x), x, -1e300), -1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_attention(device):
    batch = Batch()
    q, k, v = values((2, 3, 4, 8)), values((2, 3, 5, 8), seed=1), values((2, 3, 5, 6), seed=2)
    scores = exact(q) @ exact(k).swapaxes(-1, -2) / np.sqrt(8)
    batch.add("plain", lambda: Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v)), softmax(scores) @ exact(v), dtypes.float32, 1e-4, 1e-5)
    mask = np.tril(np.ones((4, 5), bool))
    causal = softmax(np.where(mask, scores, -np.inf)) @ exact(v)
    batch.add("causal", lambda: Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), is_causal=True), causal, dtypes.float32, 1e-4, 1e-5)
    batch.add("bool mask", lambda: Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), Tensor(mask)), causal, dtypes.float32, 1e-4, 1e-5)
    bias = values((4, 5), seed=3)
    batch.add(
        "float mask",
        lambda: Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), Tensor(bias)),
        softmax(scores + bias) @ exact(v),
        dtypes.float32,
        1e-4,
        1e-5,
    )
    k2, v2 = values((2, 1, 5, 8), seed=1), values((2, 1, 5, 6), seed=2)
    gqa = softmax(exact(q) @ exact(k2).swapaxes(-1, -2) / np.sqrt(8)) @ exact(v2)
    batch.add("grouped", lambda: Tensor(q).scaled_dot_product_attention(Tensor(k2), Tensor(v2), enable_gqa=True), gqa, dtypes.float32, 1e-4, 1e-5)
    batch.check()


@pytest.mark.parametrize("d", FLOATS, ids=repr)
def test_normalisation(d, device):
    batch = Batch()
    a = values((2, 4, 6), d, "wide")
    x = exact(a)
    tol = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 2e-5, "float64": 1e-11}[d.name]

    def norm(axes, y=x):
        return (y - y.mean(axes, keepdims=True)) / np.sqrt(y.var(axes, keepdims=True) + 1e-5)

    batch.add("layernorm", lambda: tensor(a, d).layernorm(), norm(-1), d, tol, tol)
    batch.add("layernorm two", lambda: tensor(a, d).layernorm((1, 2)), norm((1, 2)), d, tol, tol)
    batch.add("layernorm middle", lambda: tensor(a, d).layernorm(1), norm(1), d, 4 * tol, 4 * tol)
    batch.add("rmsnorm", lambda: tensor(a, d).rmsnorm(1e-6), x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6), d, tol, tol)
    g = x.reshape(2, 2, 12)
    batch.add("groupnorm", lambda: tensor(a, d).groupnorm(2), norm(-1, g).reshape(x.shape), d, tol, tol)
    w, b, m, s = (values((4,), d, "positive", seed=k) for k in range(4))
    want = (x - exact(m)[:, None]) * exact(s)[:, None] * exact(w)[:, None] + exact(b)[:, None]
    batch.add("batchnorm", lambda: tensor(a, d).batchnorm(*[tensor(t, d) for t in (w, b, m, s)]), want, d, 10 * tol, 20 * tol)
    batch.add(
        "batchnorm bare",
        lambda: tensor(a, d).batchnorm(None, None, tensor(m, d), tensor(s, d)),
        (x - exact(m)[:, None]) * exact(s)[:, None],
        d,
        10 * tol,
        10 * tol,
    )
    batch.check()


def test_dropout(device):
    x = Tensor.ones(200, 100)
    assert (x.dropout(0.5).numpy() == 1).all()  # not training
    with Tensor.train():
        y = x.dropout(0.25).numpy()
        assert set(np.unique(y)) == {0.0, np.float32(1 / 0.75)}
        assert abs((y == 0).mean() - 0.25) < 0.02
        assert (x.dropout(0.25).numpy() != y).any()
        assert (x.dropout(0.0).numpy() == 1).all()
        assert (x.dropout(1.0).numpy() == 0).all()
