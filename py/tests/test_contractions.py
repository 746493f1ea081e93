"""Sums of products as loops over tiles: against numpy in float64, for ragged and symbolic sizes, every layout, every dtype, and with whatever is
computed before and after the product in its kernel; the same bits on the interpreter, on the CPU and for every number of threads."""

import re

import numpy as np
import pytest
from test_bits import compare

from polygrad import Context, Device, Tensor, TinyJit, Variable, dtypes

RNG = np.random.default_rng(3)
SIZES = [(4, 4, 8), (5, 9, 8), (17, 33, 45), (64, 64, 64), (67, 130, 39), (300, 256, 130), (15, 7, 600), (1000, 16, 12)]


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def close(got, want, tolerance=1e-6):
    """To a few roundings of the largest element."""
    a = got.numpy() if isinstance(got, Tensor) else got
    assert a.shape == want.shape
    assert np.abs(a - want).max() <= tolerance * max(np.abs(want).max(), 1e-30)


def exact(*arrays):
    return [a.astype(np.float64) for a in arrays]


@pytest.mark.parametrize("m,k,n", SIZES)
def test_sizes_and_layouts(cpu, m, k, n):
    a, b = normal(m, k), normal(k, n)
    want = np.matmul(*exact(a, b))
    left = [Tensor(a), Tensor(np.ascontiguousarray(a.T)).transpose(), Tensor(np.repeat(a, 2, 0))[::2], Tensor(a[:, ::-1].copy()).flip(1)]
    right = [Tensor(b), Tensor(np.ascontiguousarray(b.T)).transpose(), Tensor(np.repeat(b, 3, 1))[:, ::3]]
    for x in left:
        close(x @ right[0], want)
    for y in right:
        close(left[0] @ y, want)
    close(left[1] @ right[1], want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m,k,n", [(3, 300, 5), (17, 520, 33), (40, 2500, 70), (129, 257, 520), (130, 1025, 9), (300, 700, 300)])
def test_long_sums_of_every_layout(cpu, m, k, n, dtype):
    """By the library: factors by rows and by columns, with short lines and long ones, and register tiles that are not whole."""
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    want = np.matmul(a.astype(np.longdouble), b.astype(np.longdouble)).astype(np.float64)
    wide = [np.ascontiguousarray(np.pad(v, ((0, 0), (0, 300)))) for v in (a.T, b)]
    left = [Tensor(a), Tensor(np.ascontiguousarray(a.T)).transpose(), Tensor(wide[0])[:, :m].transpose()]
    right = [Tensor(b), Tensor(np.ascontiguousarray(b.T)).transpose(), Tensor(wide[1])[:, :n]]
    Tensor.realize(*left, *right)
    found = []
    for threads in (1, 3):
        with Context(THREADS=threads):
            found.append([(x @ y).numpy() for x in left for y in right])
    for one, several in zip(*found):
        close(one, want, 1e-6 if dtype == np.float32 else 1e-14)
        assert one.tobytes() == several.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8", "int64"])
def test_dtypes(cpu, dtype):
    integer = "int" in dtype
    a, b = (RNG.integers(0, 9, s) if integer else normal(*s) for s in ((37, 70), (70, 41)))
    x, y = (Tensor(v.astype("i8" if integer else "f4")).cast(dtype).realize() for v in (a, b))
    got = x @ y
    if integer:
        size = np.dtype("uint32" if dtype == "uint8" else dtype)
        assert np.array_equal(got.numpy().astype(size), (a @ b).astype(got.numpy().dtype).astype(size))
        return
    a, b = (v.cast(dtypes.float64).numpy() for v in (x, y))
    bound = {"float16": 2**-11, "bfloat16": 2**-8, "float64": 1e-15}[dtype]
    close(got.cast(dtypes.float64), a @ b, 1.01 * bound)  # one rounding, at the end


def test_what_comes_before_and_after(cpu):
    """In one kernel: an activation, a mask, rows chosen by an index and a joined operand before, a bias, an activation and a sum after."""
    a, b, c, r = normal(90, 24), normal(48, 33), normal(33), normal(120, 33)
    index = RNG.integers(0, 90, 120)
    A, B, C, R, index_ = (Tensor(v) for v in (a, b, c, r, index))
    for t in (A, B, C, R, index_):
        t.realize()
    rows = A[index_].relu().cat(A[index_] * 2, dim=1)
    got = ((rows @ B + C).relu() + R).realize()
    x = np.concatenate([np.maximum(a[index], 0), a[index] * 2], 1).astype(np.float64)
    close(got, np.maximum(x @ b + c, 0) + r)
    with pytest.raises(IndexError):
        (Tensor(a)[Tensor(np.array([3, 90, 1, 5, 0, 8, 4, 2] * 8))] @ Tensor(b[:24])).realize()


@pytest.mark.parametrize("rows", [(64,), (4, 14), (49,), (3, 16)])
def test_what_follows_whole_register_tiles(cpu, rows):
    """Where tiles are whole register tiles, what follows the sum is computed in registers: two results of one product, a residual that is
    written over, columns that are several loops in memory."""
    m = int(np.prod(rows))
    a, b, c, r = normal(*rows, 40), normal(40, 64), normal(64), normal(*rows, 64)
    p, q, v, s = exact(a, b, c, r)
    x, y, w = Tensor(a), Tensor(b), Tensor(c)
    z = x @ y + w
    first, second = z.relu(), z * 2
    Tensor.realize(first, second)
    want = np.matmul(p, q) + v
    close(first, np.maximum(want, 0))
    close(second, want * 2)
    left = Tensor(r.copy()).realize()
    left.assign(left + x @ y).realize()
    close(left, s + np.matmul(p, q))
    heads = (x.reshape(m, 40) @ y).reshape(m, 2, 32) + Tensor(r).reshape(m, 2, 32).flip(0)
    close(heads.transpose(0, 1), (np.matmul(p, q).reshape(m, 2, 32) + s.reshape(m, 2, 32)[::-1]).transpose(1, 0, 2))


@pytest.mark.parametrize("m,k,n", [(63, 40, 40), (200, 64, 47), (29, 33, 17), (1000, 20, 31), (56, 64, 300), (400, 8, 10)])
def test_what_follows_a_last_register_tile_of_fewer_columns(cpu, m, k, n):
    """Lanes beyond the columns are neither read nor stored: a bias, a residual that is written over, a mask, an output beside the memory of others,
    gradients."""
    a, b, c, r = normal(m, k), normal(k, n), normal(n), normal(m + 2, n)
    p, q, v, s = exact(a, b, c, r)
    want = p @ q
    whole = Tensor(r.copy()).realize()
    whole[1:-1].assign(whole[1:-1] + Tensor(a) @ Tensor(b) + Tensor(c)).realize()
    close(whole, np.concatenate([s[:1], s[1:-1] + want + v, s[-1:]]))
    x, w, bias = (Tensor(t, requires_grad=True) for t in (a, b, c))
    out = (x @ w + bias).relu()
    close(out, np.maximum(want + v, 0))
    (out * Tensor(r[1:-1])).sum().backward()
    slope = s[1:-1] * (want + v > 0)
    for got, grad in zip((x.grad, w.grad, bias.grad), (slope @ q.T, p.T @ slope, slope.sum(0))):
        close(got, grad, 2e-6)


def test_a_product_that_several_read(cpu):
    a, b = normal(70, 40), normal(40, 50)
    y = Tensor(a) @ Tensor(b)
    outs = [y.relu().realize(), y.transpose().contiguous(), y.sum(0), y.softmax(1), (y * y).sum()]
    outs[1].realize(*outs[2:])
    want = np.matmul(*exact(a, b))
    close(outs[0], np.maximum(want, 0))
    close(outs[1], want.T)
    close(outs[2], want.sum(0))
    e = np.exp(want - want.max(1, keepdims=True))
    close(outs[3], e / e.sum(1, keepdims=True), 1e-5)
    close(outs[4], (want * want).sum())


def test_normalised_rows_before(cpu):
    """The statistics of a row are reductions of their own beside the product."""
    a, b = normal(60, 96), normal(96, 40)
    x = Tensor(a)
    close((x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True) + 1).sqrt() @ Tensor(b),
          (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, ddof=1, keepdims=True) + 1) @ b.astype(np.float64), 1e-5)  # fmt: skip


def test_statistics_of_rows_are_stored_before_the_product(cpu, capfd):
    """Two reductions in one kernel would leave the product to plain loops."""
    x = Tensor(normal(60, 96)).realize()
    y = ((x - x.mean(1, keepdim=True)) @ Tensor(normal(96, 40)).realize()).relu()
    with Context(DEBUG=3):
        y.realize()
    text = capfd.readouterr().err
    assert "matrix product" in text and "reduction of a kernel with too many" in text


def test_heads_side_by_side(cpu):
    """A sum over heads and features of each, which lie apart in memory, by a linear layer; and the gradient of its weights."""
    x, w, g = normal(3, 4, 20, 16), normal(64, 33), normal(60, 33)
    X, W, G = Tensor(x).realize(), Tensor(w), Tensor(g)
    rows = X.transpose(1, 2).reshape(60, 64)
    a, b, c = exact(x.transpose(0, 2, 1, 3).reshape(60, 64), w, g)
    close(rows @ W, a @ b)
    close(rows.transpose() @ G, a.T @ c)
    close(((rows - rows.max(1, keepdim=True)).exp() @ W), np.exp(a - a.max(1, keepdims=True)) @ b, 2e-6)
    close((((rows - 1).exp() / 2).transpose() @ G), (np.exp(a - 1) / 2).T @ c, 2e-6)


def test_batches(cpu):
    """Heads, relations, gates: many small products."""
    a, b = normal(6, 5, 20, 16), normal(6, 5, 16, 24)
    close(Tensor(a) @ Tensor(b), np.matmul(*exact(a, b)))
    close(Tensor(a) @ Tensor(b[0, 0]), np.matmul(*exact(a, b[0, 0])))
    q, k = normal(3, 17, 4, 8), normal(3, 19, 4, 8)  # heads between rows and features
    got = Tensor(q).permute(0, 2, 1, 3) @ Tensor(k).permute(0, 2, 3, 1)
    close(got, np.einsum("bthd,bshd->bhts", *exact(q, k)))
    got = Tensor.einsum("bthd,bshd->bths", Tensor(q), Tensor(k))
    close(got, np.einsum("bthd,bshd->bths", *exact(q, k)))


def test_long_sums_stay_accurate(cpu):
    """Equal values of one sign, the worst case: the error does not grow with the length."""
    for k in (256, 5000, 70000):
        got = (Tensor(np.full((8, k), 0.1, np.float16)).cast("float32").contiguous().realize() * 1.0 @ Tensor.full((k, 16), 0.1)).numpy()
        want = k * float(np.float32(np.float16(0.1))) * float(np.float32(0.1))
        assert np.abs(got / want - 1).max() < 1e-5


def test_infinities_and_nan(cpu):
    a, b = normal(20, 300), normal(300, 24)
    a[3, 7], b[9, 5], a[8, 2] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        want = a @ b
    got = (Tensor(a) * 1.0 @ Tensor(b)).numpy()
    assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(np.isposinf(got), np.isposinf(want))
    assert np.isfinite(np.delete(np.delete(got, [3, 8], 0), 5, 1)).all()


def test_symbolic_sizes(cpu):
    """One kernel for every number of rows."""
    b, c = normal(40, 27), normal(27)
    B, C = Tensor(b).realize(), Tensor(c).realize()

    @TinyJit
    def layer(x):
        return (x @ B + C).relu().realize()

    for n in (3, 50, 64, 257, 700, 1):
        a = normal(n, 40)
        v = Variable("rows", 1, 1000).bind(n)
        big = Tensor(np.concatenate([a, normal(1000 - n, 40)])).realize()
        got = layer(big.shrink(((0, v), None)))
        close(got.numpy() if got.numpy().shape[0] == n else got.numpy()[:n], np.maximum(np.matmul(*exact(a, b)) + c, 0))


@pytest.mark.parametrize("k,n", [(64, 64), (32, 32), (20, 96), (100, 40)])
def test_symbolic_rows_with_their_gradients(cpu, k, n):
    """Rows in tiles of any number: a bias, a residual and an activation after the product, in registers where columns are whole vectors; the
    gradients of the input and of the weight; each element has the bits that it has alone and on other numbers of threads."""
    w, c = normal(k, n), normal(n)
    W, C = Tensor(w).realize(), Tensor(c).realize()
    every, products = normal(2300, k), []
    for rows in (0, 1, 13, 14, 15, 56, 113, 448, 449, 1023, 2300):
        x, r = every[:rows], normal(rows, n)
        size = Variable("rows", 0, 1 << 20).bind(rows)
        X, R = Tensor(x).sized(size, k).realize(), Tensor(r).sized(size, n).realize()
        found = []
        for threads in (1, 2, 3):
            with Context(THREADS=threads):
                y = (X @ W + C + R).relu()
                gx, gw = (y * R) @ W.transpose(), X.transpose() @ (y * R)
                Tensor.realize(y, gx, gw)
                found.append([t.numpy().tobytes() for t in (y, gx, gw)])
        assert found[0] == found[1] == found[2]
        want = np.maximum(np.matmul(*exact(x, w)) + c + r, 0)
        if rows:
            close(y, want)
            close(gx, (want * r) @ w.T.astype(np.float64), 2e-6)
        close(gw, x.T.astype(np.float64) @ (want * r), 2e-6)
        products.append((X @ W).numpy())
    for part in products:
        assert part.tobytes() == products[-1][: len(part)].tobytes()


def test_bits(cpu):
    """Interpreter, CPU, and any number of threads."""
    a, b, c = normal(150, 200), normal(200, 90), normal(90)
    old = Device.DEFAULT
    try:
        x, y, z, r = normal(230, 40), normal(40, 40), normal(64, 47), normal(230, 40)
        compare(lambda: [(Tensor(r) <= 0).where(0, Tensor(x) @ Tensor(y)), (Tensor(a[:, :64].copy()) @ Tensor(z)).exp()])
        compare(
            lambda: [(Tensor(a) @ Tensor(b) + Tensor(c)).relu(), Tensor(a).transpose().relu() @ Tensor(a), Tensor(a[:, ::2].copy()) @ Tensor(b[::2])]
        )
    finally:
        Device.DEFAULT = old
    found = []
    for threads in (1, 2, 5):
        with Context(THREADS=threads):
            found.append(
                [(Tensor(a) @ Tensor(b) + Tensor(c)).tanh().numpy().tobytes(), (Tensor(a[:, :64].copy()) @ Tensor(b[:64])).numpy().tobytes()]
            )
    assert found[0] == found[1] == found[2]


# ---- convolutions ----


def convolve(x, w, stride, padding, dilation, groups):
    """By the definition, for any number of axes."""
    nd = x.ndim - 2
    x = np.pad(x.astype(np.float64), [(0, 0)] * 2 + [(padding, padding)] * nd)
    span = [dilation * (s - 1) + 1 for s in w.shape[2:]]
    size = [(x.shape[2 + d] - span[d]) // stride + 1 for d in range(nd)]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per, into = w.shape[1], w.shape[0] // groups
    for at in np.ndindex(*w.shape[2:]):
        view = x[(slice(None), slice(None), *(slice(at[d] * dilation, at[d] * dilation + (size[d] - 1) * stride + 1, stride) for d in range(nd)))]
        for g in range(groups):
            weight = w[(slice(g * into, (g + 1) * into), slice(None), *at)].astype(np.float64)
            out[:, g * into : (g + 1) * into] += np.einsum("bc...,oc->bo...", view[:, g * per : (g + 1) * per], weight)
    return out


CONVOLUTIONS = [  # batch, in, sizes, out, kernel, stride, padding, dilation, groups
    (2, 8, (40,), 12, (5,), 1, 2, 1, 1),
    (2, 16, (14, 14), 24, (3, 3), 1, 1, 1, 1),
    (3, 9, (13, 11), 8, (3, 3), 2, 1, 1, 1),
    (2, 8, (15, 17), 16, (3, 3), 1, 2, 2, 2),
    (2, 8, (6, 7, 8), 12, (2, 3, 3), 1, 1, 1, 1),
    (2, 8, (12, 12), 8, (3, 3), 1, 1, 1, 8),
    (1, 64, (9, 9), 32, (1, 1), 1, 0, 1, 1),
    (2, 8, (12, 13), 16, (1, 1), 2, 0, 1, 1),
    (2, 8, (16, 15), 16, (4, 3), 3, 2, 1, 2),
    (2, 8, (16, 15), 16, (3, 2), 2, 1, 2, 1),
    (2, 16, (16, 18), 24, (3, 3), 2, 1, 1, 1),  # loops of the gradient in parts: places, and whether they are even
    (2, 32, (12, 12), 32, (3, 3), 1, 1, 1, 4),  # groups, and channels of one
    (2, 16, (12, 18), 32, (3, 3), 3, 1, 1, 2),
    # windows that overlap in a panel: lines of whole vectors and others, steps, gaps, a line cut in pieces, kernels longer than a block of the sum
    (2, 12, (20, 32), 16, (3, 3), 1, 1, 1, 1),
    (2, 5, (33, 30), 24, (5, 4), 1, 2, 1, 1),
    (3, 3, (40, 44), 16, (7, 7), 2, 3, 1, 1),
    (2, 4, (30, 50), 12, (3, 3), 1, 3, 3, 1),
    (3, 2, (1500,), 9, (80,), 4, 0, 1, 1),
    (2, 1, (900,), 8, (300,), 1, 7, 1, 1),
    (2, 3, (6, 12, 20), 10, (3, 3, 3), 1, 1, 1, 1),
    (2, 3, (6, 12, 20), 10, (3, 5, 5), 2, 2, 1, 1),
    (3, 6, (25, 28), 6, (7, 7), 1, 3, 1, 6),  # one channel in each group: a row of one
    (2, 8, (200,), 8, (9,), 1, 4, 1, 8),
    (2, 6, (40, 40), 12, (5, 5), 2, 2, 1, 6),
    (2, 32, (28, 28), 32, (3, 3), 1, 1, 1, 8),
]


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_and_their_gradients(cpu, case):
    batch, inputs, sizes, outputs, kernel, stride, padding, dilation, groups = case
    x, w, bias = normal(batch, inputs, *sizes), normal(outputs, inputs // groups, *kernel), normal(outputs)
    X, W = Tensor(x, requires_grad=True), Tensor(w, requires_grad=True)
    y = X.conv2d(W, Tensor(bias), groups=groups, stride=stride, dilation=dilation, padding=padding)
    want = convolve(x, w, stride, padding, dilation, groups) + bias.reshape(1, -1, *[1] * len(sizes))
    close(y.relu(), np.maximum(want, 0), 2e-6)
    g = normal(*want.shape)
    (y * Tensor(g)).sum().backward()
    # a convolution is linear in both: <g, conv(d, w)> = <gx, d>
    dx, dw = normal(*x.shape), normal(*w.shape)
    for grad, d, moved in (
        (X.grad, dx, convolve(dx, w, stride, padding, dilation, groups)),
        (W.grad, dw, convolve(x, dw, stride, padding, dilation, groups)),
    ):
        left, right = (grad.numpy().astype(np.float64) * d).sum(), (g * moved).sum()
        assert abs(left - right) <= 1e-5 * np.abs(g * moved).sum()


@pytest.mark.parametrize("case", CONVOLUTIONS[-12:])
def test_bits_of_windows(case):
    """Panels of overlapping windows have the same bits on both devices, with something before and after the product as well."""
    batch, inputs, sizes, outputs, kernel, stride, padding, dilation, groups = case
    x, w, b = normal(batch, inputs, *sizes), normal(outputs, inputs // groups, *kernel), normal(outputs)

    def results():
        X, W = Tensor(x, requires_grad=True), Tensor(w, requires_grad=True)
        y = (X * 0.5 + 1).relu().conv2d(W, Tensor(b), groups=groups, stride=stride, dilation=dilation, padding=padding).relu()
        return [y, *(y * y).sum().gradient(X, W)]

    compare(results)


def test_windows_are_packed_once(cpu, capfd):
    """A panel has each element of the image once, not once for each place of the kernel."""
    with Context(DEBUG=4):
        Tensor(normal(2, 16, 32, 32)).conv2d(Tensor(normal(32, 16, 3, 3)), padding=1).realize()
    out = capfd.readouterr()
    sizes = [int(n) for n in re.findall(r"float p\d+\[(\d+)\] __attribute__", out.out + out.err)]
    assert sizes and max(sizes) < 9 * 16 * 16 * 32


def test_few_channels_need_no_copy(cpu, capfd):
    """Gradients of images of three channels and convolutions with few channels in a group are one kernel, not a copy of all windows and a product."""
    for inputs, outputs, groups in ((3, 16, 1), (32, 32, 8)):
        X, W = Tensor(normal(2, inputs, 24, 24), requires_grad=True), Tensor(normal(outputs, inputs // groups, 3, 3))
        y = X.conv2d(W, padding=1, groups=groups)
        with Context(DEBUG=2):
            y.tanh().sum().gradient(X)[0].realize()
        out = capfd.readouterr()
        assert "matmul" not in out.out + out.err


@pytest.mark.parametrize("options, loops", [({"groups": 4}, "sum_2_4_8_12_12_r"), ({"stride": 2}, "sum_2_32_6_2_6_2_r")])
def test_gradients_of_groups_and_strides_are_in_tiles(cpu, capfd, options, loops):
    """A loop that both factors vary with is one of groups or of even and odd places, and one that a tile has rows of."""
    X, W = Tensor(normal(2, 32, 12, 12), requires_grad=True), Tensor(normal(32, 32 // options.get("groups", 1), 3, 3))
    y = X.conv2d(W, padding=1, **options)
    with Context(DEBUG=4):
        (y * y).sum().gradient(X)[0].realize()
    out = capfd.readouterr()
    text = (out.out + out.err).split(f"void {loops}")[1]
    assert "__attribute__((aligned(64)))" in text  # panels


def test_transposed_convolution(cpu):
    x, w = normal(2, 12, 9, 7), normal(12, 16, 3, 3)
    got = Tensor(x).conv_transpose2d(Tensor(w), stride=2, padding=1, output_padding=1)
    # the transposed map of a convolution: <convT(x), d> = <x, conv(d)>
    d = normal(*got.shape)
    back = convolve(d, w, 2, 1, 1, 1)
    left, right = (got.numpy().astype(np.float64) * d).sum(), (x * back).sum()
    assert back.shape == x.shape and abs(left - right) <= 1e-5 * np.abs(x * back).sum()


@pytest.mark.parametrize("inner, size, window", [(16, 30, 11), (9, 27, 5), (16, 40, 13), (5, 64, 3), (33, 35, 17)])
def test_windows_of_a_product(cpu, inner, size, window):
    """Runs of a factor that are no whole vectors are packed in whole ones, each of which writes over the end of the one before."""
    a = np.random.default_rng(size).standard_normal((inner, size)).astype(np.float32)
    want = np.lib.stride_tricks.sliding_window_view(a.T.astype(np.float64) @ a, window, axis=1)
    x = Tensor(a)
    np.testing.assert_allclose((x.transpose(0, 1) @ x).unfold(1, window, 1).numpy(), want, rtol=1e-4, atol=1e-4)
