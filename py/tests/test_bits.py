"""The interpreter and compiled kernels give the same bits: for each kind of kernel, for each way a loop can be cut into lanes, copies and
remainders, and for random programs. Only which NaN it is may differ. Products that go to the matrix library are not among them: the interpreter
sums them in double."""

import numpy as np
import pytest
from fuzz.generate import generate
from fuzz.run import GROUPED, checks_of

from polygrad import Device, Tensor, Variable, dtypes

LENGTHS = (1, 3, 4, 7, 12, 16, 31, 33, 64, 100, 127, 128, 200, 257, 1000, 4100)
FLOATS = ("float16", "bfloat16", "float32", "float64")


def bits(t):
    """Its bytes, with one NaN for all."""
    if t.dtype in (dtypes.float16, dtypes.bfloat16):
        t = t.cast(dtypes.float32)
    a = t.numpy()
    return np.where(np.isnan(a), a.dtype.type(np.nan), a).tobytes() if a.dtype.kind == "f" else a.tobytes()


def compare(f):
    """f() is computed on both devices, as one plan."""
    found = []
    for name in ("INTERP", "CPU"):
        Device.DEFAULT = name
        Tensor.manual_seed(5)
        out = f()
        out[0].realize(*out[1:])
        found.append([bits(t) for t in out])
    different = [k for k, (a, b) in enumerate(zip(*found)) if a != b]
    assert not different


def normal(shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_every_length(dtype):
    def results():
        out = []
        for k, n in enumerate(LENGTHS):
            x = Tensor(normal((3, n), k)).cast(dtype).realize()
            y = Tensor(normal((3, n), k + 1)).cast(dtype).realize()
            out += [x.sum(1), (x * y).sum(1), x.sum(), (x * 2 + y).square().sum(1), x.sum(0)]
        return out

    compare(results)


def test_every_reduction_and_signed_zeros():
    def results():
        out = []
        for n in LENGTHS:
            x = np.random.default_rng(n).choice(np.array([0.0, -0.0, 1.0, -1.0, 0.5], np.float32), (4, n))
            for dtype in ("float32", "float64", "int32", "int8", "uint8", "int64"):
                t = Tensor(x).abs().cast(dtype) if dtype.startswith("u") else Tensor(x).cast(dtype)
                t = t.realize()
                out += [t.max(1), t.min(1), t.prod(1), t.sum(1), t.max(0)]
            zeros = Tensor(x * 0).realize()  # 0 and -0 are equal: which of them is left is a matter of order
            out += [zeros.max(1), zeros.min(1), zeros.sum(1), zeros.prod(1), zeros.maximum(-zeros), (zeros > 0).any(1), (zeros == 0).all(1)]
        return out

    compare(results)


@pytest.mark.parametrize("shape", [(9, 40), (3, 200), (64, 8, 33), (12, 1500)])
def test_functions_that_two_loops_of_a_row_need(shape):
    """They are computed once, into a local array: along the last axis, also with two results, two rows' sums and a product after it; along
    another axis, where lanes go across rows, they are not."""
    x, w = normal(shape, 1), normal(shape, 2)

    def results():
        a, b = Tensor(x).realize(), Tensor(w).realize()
        e = (a - a.max(-1, keepdim=True)).exp()
        y = e / e.sum(-1, keepdim=True)
        z = (a * 0.5).tanh()
        return [
            y,
            a.softmax(0),
            y * b + (e * b).sum(-1, keepdim=True),
            z * (z * b).sum(-1, keepdim=True),
            e.sum(-1),
            (z - z.mean(-1, keepdim=True)).exp(),
        ]

    compare(results)
    p = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    assert np.abs(results()[0].numpy() - p).max() < 1e-6
    q = np.tanh(x.astype(np.float64) * 0.5)
    want = q * (q * w).sum(-1, keepdims=True)
    assert np.abs(results()[3].numpy() - want).max() < 1e-5 * max(np.abs(want).max(), 1)


ORDERS = {
    "copy": lambda x, y: x.T.contiguous(),
    "sum": lambda x, y: x.T + y,
    "flipped": lambda x, y: x.T.flip(0) * y - x.T.flip(1),
    "some rows": lambda x, y: Tensor.cat(x.T, y, dim=0),
    "some columns": lambda x, y: Tensor.cat(x.T, y * 2, x.T, dim=1),
    "with a border": lambda x, y: x.T.pad(((1, 2), (3, 0))).contiguous(),
    "rows by an index": lambda x, y: x[Tensor(np.arange(x.shape[0])[::-1] // 2)].T + y,
    "three axes": lambda x, y: x.reshape(*x.shape, 1).expand(*x.shape, 3).permute(2, 1, 0) * y,
    "of both": lambda x, y: (x.T + y, x.T * y.cast("float32"), x.T > y),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16", "float16", "int64", "int32", "uint8", "bool"))
@pytest.mark.parametrize("n, m", ((8, 200), (131, 300), (257, 129)))
def test_memory_in_two_orders(dtype, n, m):
    """It is read in tiles that go through a local array: whole ones, what is left over, and elements of each width."""
    x, y = normal((n, m), 1, 50.0), normal((m, n), 2, 50.0)

    def results():
        a, b = (Tensor(abs(v) if dtype == "uint8" else v).cast(dtype).realize() for v in (x, y))
        out = [f(a, b) for f in ORDERS.values()]
        return [t for part in out for t in (part if isinstance(part, tuple) else (part,))]

    compare(results)
    a, b = (Tensor(abs(v) if dtype == "uint8" else v).cast(dtype).realize() for v in (x, y))
    p, q = a.cast("float64").numpy(), b.cast("float64").numpy()
    np.testing.assert_array_equal(ORDERS["copy"](a, b).cast("float64").numpy(), p.T)
    np.testing.assert_array_equal(ORDERS["some rows"](a, b).cast("float64").numpy(), np.concatenate([p.T, q]))
    np.testing.assert_array_equal(ORDERS["with a border"](a, b).cast("float64").numpy(), np.pad(p.T, ((1, 2), (3, 0))))
    np.testing.assert_array_equal((a.T > b).numpy(), p.T > q)


def test_memory_in_two_orders_of_symbolic_size_and_in_place():
    def results():
        x, y = Tensor(normal((300, 400), 1)).realize(), Tensor(normal((400, 300), 2)).realize()
        n = Variable("n", 1, 300).bind(177)
        part = (x[:n].T * 2 + y[:, :n]).contiguous()
        y += x.T  # over its own memory
        return [part.sum(1), part.exp().sum(0), y]

    compare(results)
    x, y = normal((300, 400), 1), normal((400, 300), 2)
    np.testing.assert_array_equal(results()[2].numpy(), y + x.T)


def test_long_sums_and_softmax():
    def results():
        x = Tensor(normal((7, 5003), scale=3.0)).realize()
        y = x.softmax(1)
        return [x.sum(), x.sum(1), x.sum(0), x.std(1), y, x.log_softmax(1), x.logsumexp(1), x.layernorm(), (y * x).sum(), x.cumsum(1)]

    compare(results)


@pytest.mark.parametrize("n", (1, 5, 37, 64, 130, 1000))
def test_symbolic_lengths(n):
    """Bounds that are no constants: the remainder is done in another way."""

    def results():
        x = Tensor(normal((4, 1024))).realize()
        i = Variable("n", 1, 1024).bind(n)
        part = x[:, :i]
        return [part.sum(1), part.max(1), part.exp().sum(1), (part * part).sum(1), part.sum()]

    compare(results)


@pytest.mark.parametrize("heads, features", ((1, 8), (2, 4), (4, 16), (8, 8), (8, 1), (3, 5), (16, 2), (1, 40), (1, 48), (1, 80)))
def test_edges_heads_and_features(heads, features):
    rng = np.random.default_rng(heads * 100 + features)
    v, e = 60, 900
    dst = np.minimum((v * rng.random(e) ** 3).astype(np.int64), v - 1)
    src = rng.integers(0, v, e)

    def results():
        x = Tensor(normal((v, heads, features), 1)).requires_grad_()
        a, b = Tensor(normal((heads, features), 2)).requires_grad_(), Tensor(normal((heads, features), 3)).requires_grad_()
        s, d = Tensor(src), Tensor(dst)
        score = ((x * a).sum(2)[s] + (x * b).sum(2)[d]).leaky_relu(0.2)
        top = Tensor.full((v, heads), -1e30).scatter_reduce(0, d.reshape(-1, 1).expand(e, heads), score, "amax")
        weight = (score - top[d]).exp()
        norm = Tensor.zeros(v, heads).scatter_add(0, d.reshape(-1, 1).expand(e, heads), weight)
        message = x[s] * (weight / (norm[d] + 1e-16)).reshape(e, heads, 1)
        out = Tensor.zeros(v, heads, features).scatter_add(0, d.reshape(-1, 1, 1).expand(e, heads, features), message)
        loss = (out.tanh() * x).sum()
        return [out, norm, top, *loss.gradient(x, a, b)]

    compare(results)


FUNCTIONS = """exp exp2 expm1 log log2 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf sqrt rsqrt reciprocal floor ceil
round trunc sigmoid softplus gelu silu"""


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions(dtype):
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e38, 17.0, -17.0, 1e6, 3e7, 0.5, 1.0, 2.0, -1.0]
    x = np.concatenate([normal(3001, scale=10.0), normal(3001), ends]).astype(np.float32)

    def results():
        t = Tensor(x).cast(dtype).realize()
        u = Tensor(x[::-1].copy()).cast(dtype).realize()
        out = [getattr(t, n)() for n in FUNCTIONS.split()]
        out += [
            t.abs() ** u,
            t**2,
            t**3,
            t.abs() ** 0.5,
            t**-1,
            2**t,
            t.sin() + t.cos(),
            t.maximum(u),
            t.minimum(u),
            t / u,
            t * u - t,
            (t < u).where(t, u),
        ]
        return out

    compare(results)


@pytest.mark.parametrize("dtype", ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"))
def test_integers_and_casts(dtype):
    rng = np.random.default_rng(3)
    a, b = rng.integers(-(2**31), 2**31, 301), np.concatenate([rng.integers(-20, 20, 300), [0]])

    def results():
        x, y = Tensor(a).cast(dtype).realize(), Tensor(b).cast(dtype).realize()
        f = Tensor(np.concatenate([normal(300, scale=1000.0), [np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, 2e19]]).astype(np.float32)).realize()
        out = [x + y, x * y, x.maximum(y), (x < y), (x == y), x.cast("float32"), x.cast("float64"), x.cast("float16"), f.cast(dtype)]
        out += [f.cast("float64").cast(dtype), x.sum(), y.max(), x.cast("int32"), x.cast("uint8"), x.cast("bool")]
        if dtype != "bool":
            out += [x - y, x // y, x % y, x & y, x | y, x ^ y, x << (y & 7), x >> (y & 7)]
        return out

    compare(results)


# What holds matrix products, which are each device's own.
PRODUCTS = "@", "matmul", "fuzz_edge_mlp", "fuzz_edge_sum", "fuzz_layer", "fuzz_vertex_mlp", "fuzz_scored", "fuzz_scan_rnn", "scaled_dot_product"


@pytest.mark.parametrize("block", range(4))
def test_random_programs(block):
    """The programs of the fuzzer."""
    seeds = range(20000 + 30 * block, 20030 + 30 * block)
    programs = [p for p in map(generate, seeds) if p.kind in GROUPED and not any(name in "".join(p.text()) for name in PRODUCTS)]

    def results():
        return [c.tensor for p in programs for c in checks_of(p, 0)]

    assert programs
    compare(results)


@pytest.mark.parametrize("groups, channels, places", [(8, 64, 1024), (3, 15, 100), (2, 8, 65)])
def test_sums_over_channels_and_places(groups, channels, places):
    """Sums over the channels of a group and their places, with a weight for each channel: two loops in place of one that is divided."""
    a, w, g = normal((4, channels, places)), normal((channels,), 1), normal((4, channels, places), 2)

    def results():
        x, v = Tensor(a, requires_grad=True), Tensor(w, requires_grad=True)
        rows = x.reshape(4, groups, -1)
        rows = (rows - rows.mean(2, keepdim=True)) / (rows.var(2, keepdim=True, correction=0) + 1e-5).sqrt()
        y = rows.reshape(*x.shape) * v.reshape(1, channels, 1)
        return [y, *(y * Tensor(g)).sum().gradient(x, v)]

    compare(results)
    rows = a.astype(np.float64).reshape(4, groups, -1)
    size = np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    rows = (rows - rows.mean(2, keepdims=True)) / size
    inner = (g * w[:, None]).astype(np.float64).reshape(rows.shape)
    want = (inner - inner.mean(2, keepdims=True) - rows * (inner * rows).mean(2, keepdims=True)) / size
    found = results()
    np.testing.assert_allclose(found[1].numpy(), want.reshape(a.shape), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[2].numpy(), (g * rows.reshape(a.shape)).sum((0, 2)), rtol=1e-4, atol=1e-3)
