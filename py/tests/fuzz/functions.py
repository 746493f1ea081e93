"""Functions of Refs, written plainly out of the operations in reference.py: elementwise functions, softmax, norms, products, windows, segments."""

from __future__ import annotations

import math

import numpy as np

from .reference import (
    ARITHMETIC,
    EXACT,
    Ref,
    _unbroadcast,
    axes_of,
    bounded,
    cast,
    compare,
    detach,
    expand,
    flows,
    in_any_order,
    lift,
    made,
    maximum,
    monotone,
    move,
    promote,
    put,
    reshape,
    rmax,
    rsum,
    take,
    where,
)
from .tolerance import FLOATS

_erf = np.vectorize(math.erf, otypes=[np.float64])


def floating(x):
    """Functions of whole numbers are computed in float32."""
    return x if x.is_float else cast(x, "float32")


def _of_result(x, f, back, kind=None):
    """A monotone function whose derivative is a formula of its result."""
    holder = []
    y = monotone(x, f, lambda g: [back(g, holder[0])], **({} if kind is None else {"roundings": kind}))
    holder.append(y)
    return y


def exp(x):
    return _of_result(floating(x), np.exp, lambda g, y: g * y)


def exp2(x):
    return _of_result(floating(x), np.exp2, lambda g, y: g * y * math.log(2))


def expm1(x):
    return _of_result(floating(x), np.expm1, lambda g, y: g * (y + 1.0))


def log(x):
    x = floating(x)
    return monotone(x, np.log, lambda g: [g / x])


def log2(x):
    x = floating(x)
    return monotone(x, np.log2, lambda g: [g / (x * math.log(2))])


def log10(x):
    x = floating(x)
    return monotone(x, np.log10, lambda g: [g / (x * math.log(10))])


def log1p(x):
    x = floating(x)
    return monotone(x, np.log1p, lambda g: [g / (x + 1.0)])


def sqrt(x):
    return _of_result(floating(x), np.sqrt, lambda g, y: g * 0.5 / y, ARITHMETIC)


def rsqrt(x):
    return _of_result(floating(x), lambda v: 1 / np.sqrt(v), lambda g, y: g * -0.5 * y * y * y)


def reciprocal(x):
    x = floating(x)
    return lift(1.0, x) / x


def sin(x):
    x = floating(x)
    return bounded(x, np.sin, 1.0, lambda g: [g * cos(x)])


def cos(x):
    x = floating(x)
    return bounded(x, np.cos, 1.0, lambda g: [-(g * sin(x))])


def tan(x):
    return sin(x) / cos(x)


def asin(x):
    x = floating(x)
    return monotone(x, np.arcsin, lambda g: [g / sqrt(-(x * x) + 1.0)])


def acos(x):
    x = floating(x)
    return monotone(x, np.arccos, lambda g: [-(g / sqrt(-(x * x) + 1.0))])


def atan(x):
    x = floating(x)
    return monotone(x, np.arctan, lambda g: [g / (x * x + 1.0)])


def sinh(x):
    x = floating(x)
    return monotone(x, np.sinh, lambda g: [g * cosh(x)])


def cosh(x):
    x = floating(x)
    v = np.cosh(x.v)
    slope = np.sinh(np.abs(x.v) + x.e)
    return bounded(x, lambda _: v, slope, lambda g: [g * sinh(x)])


def tanh(x):
    return _of_result(floating(x), np.tanh, lambda g, y: g * (-(y * y) + 1.0))


def asinh(x):
    x = floating(x)
    return monotone(x, np.arcsinh, lambda g: [g / sqrt(x * x + 1.0)])


def erf(x):
    x = floating(x)
    return monotone(x, _erf, lambda g: [g * exp(-(x * x)) * (2 / math.sqrt(math.pi))])


def _logistic(v):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-v))


def sigmoid(x):
    return _of_result(floating(x), _logistic, lambda g, y: g * (y * (-y + 1.0)))


def softplus(x):
    x = floating(x)
    return monotone(x, lambda v: np.logaddexp(v, 0), lambda g: [g * sigmoid(x)])


def logsigmoid(x):
    return -softplus(-x)


def silu(x):
    return x * sigmoid(x)


def quick_gelu(x):
    return x * sigmoid(x * 1.702)


def gelu(x):
    return x * 0.5 * (tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1.0)


def gelu_erf(x):
    return x * 0.5 * (erf(x / math.sqrt(2)) + 1.0)


def mish(x):
    return x * tanh(softplus(x))


def softsign(x):
    return x / (absolute(x) + 1.0)


def absolute(x):
    if not x.is_float:
        return Ref(np.abs(x.v), x.e, x.dt)
    return bounded(x, np.abs, 1.0, lambda g: [g * sign(x)], EXACT)


def sign(x):
    jump = (x.e > 0) & ~(np.abs(x.v) > x.e)
    return Ref(np.sign(x.v), np.where(np.isinf(x.e), np.inf, jump * 2.0), x.dt)


def relu(x):
    return where(compare(x, "<=", 0.0), lift(0.0, x), x)  # NaN stays


def leaky_relu(x, slope):
    """0 counts as negative, as in PyTorch."""
    return where(compare(x, ">", 0.0), x, x * slope)


def elu(x):
    """0 counts as positive, as in PyTorch: only the second derivative tells."""
    return where(compare(x, ">=", 0.0), x, expm1(minimum_detached(x)))


def minimum_detached(x):
    """x where it is not positive, else 0: so that exp of the branch not taken stays finite."""
    return where(compare(x, ">", 0.0), lift(0.0, x), x)


def clamp(x, lo, hi):
    """The ends count as inside; NaN stays, and passes no gradient on."""
    y = where(compare(x, "<", lo), lift(lo, x), x)
    y = where(compare(x, ">", hi), lift(hi, x), y)
    return where(Ref(np.isnan(x.v), np.zeros(x.shape), "bool"), detach(x), y) if np.isnan(x.v).any() else y


def hardtanh(x):
    """The ends count as outside, as in PyTorch."""
    y = where(compare(x, "<=", -1.0), lift(-1.0, x), x)
    return where(compare(x, ">=", 1.0), lift(1.0, x), y)


def step_function(x, f):
    """floor, ceil, round, trunc: no gradient."""
    v = f(x.v)
    e = np.maximum(np.abs(f(x.v + x.e) - v), np.abs(f(x.v - x.e) - v))
    return Ref(v, np.where(np.isnan(e), np.where(x.e == 0, 0.0, np.inf), e), x.dt)


def square(x):
    return x * x


def cube(x):
    return x * x * x


# ---- reductions ----


def count(x, axes):
    axes = tuple(range(x.ndim)) if axes is None else (axes if isinstance(axes, tuple) else (axes,))
    return int(np.prod([x.shape[a] for a in axes]))


def mean(x, axes=None, keep=False):
    x = floating(x)
    return rsum(x, axes, keep) / float(count(x, axes))


def var(x, axes=None, keep=False, correction=1):
    """Its slope is that of PyTorch, 2 d / n, without the gradient of the mean, which adds up to nothing but is rounded: where all values are equal, it
    would cancel what 2 d is off by."""
    d = x - mean(x, axes, True)
    n = float(max(count(x, axes) - correction, 0))
    y = rsum(d * d, axes, keep) / n
    kept = tuple(1 if k in axes_of(x, axes) else size for k, size in enumerate(x.shape))

    def back(g):
        return [expand(reshape(g, kept), x.shape) * d * 2.0 / n]

    return made(y.v, y.e, y.dt, (x,), back, EXACT)


def softmax(x, axis):
    e = exp(x - detach(rmax(x, axis, True)))
    return e / rsum(e, axis, True)


def log_softmax(x, axis):
    d = x - detach(rmax(x, axis, True))
    return d - log(rsum(exp(d), axis, True))


def logsumexp(x, axes=None, keep=False):
    m = detach(rmax(x, axes, True))
    s = log(rsum(exp(x - m), axes, True)) + m
    return s if keep else squeeze(s, axes)


def squeeze(x, axes):
    axes = tuple(range(x.ndim)) if axes is None else (axes if isinstance(axes, tuple) else (axes,))
    axes = tuple(a % x.ndim for a in axes)
    return reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in axes))


def pieces(x, axis):
    """The slices of x along an axis."""
    return [move(x, lambda i, k=k: np.take(i, k, axis)) for k in range(x.shape[axis])]


def stack(parts, axis):
    from .reference import cat

    return cat([reshape(p, (*p.shape[:axis], 1, *p.shape[axis:])) for p in parts], axis)


def unordered(x, axis):
    """x, factors of a product along an axis, and what becomes of the product. The gradient of a factor is the product of the others and of the product's
    own gradient, in no order that anybody promises, or the whole product divided by the factor: where some of them overflow together, anything may
    come out."""
    given = []

    def doubt(g):
        reach = np.prod(np.maximum(np.abs(x.v), 1.0), axis, keepdims=True) * np.maximum(np.abs(given[-1].v), 1.0)
        return made(g.v, np.where(reach <= FLOATS[x.dt].largest, g.e, np.inf), g.dt, (g,), lambda h: [h], EXACT)

    def note(g):
        given.append(reshape(g, tuple(1 if k == axis % x.ndim else n for k, n in enumerate(x.shape))))
        return [g]

    return made(x.v, x.e, x.dt, (x,), lambda g: [doubt(g)], EXACT), lambda total: made(total.v, total.e, total.dt, (total,), note, EXACT)


def prod(x, axis, keep):
    end = lambda total: total  # noqa: E731
    if x.is_float and x.shape[axis]:
        x, end = unordered(x, axis)
    total = None
    for p in pieces(x, axis):
        total = p if total is None else total * p
    if total is None:
        shape = tuple(n for k, n in enumerate(x.shape) if k != axis)
        total = Ref(np.ones(shape), np.zeros(shape), x.dt)
    total = end(total)
    return reshape(total, tuple(1 if k == axis else n for k, n in enumerate(x.shape))) if keep else total


def cumprod(x, axis):
    if x.shape[axis] == 0:
        return x
    out = []
    for p in pieces(x, axis):
        out.append(p if not out else out[-1] * p)
    return stack(out, axis)


def flip(x, axis):
    return move(x, lambda i: np.flip(i, axis))


def running(x, axis):
    """x[..., i, j] = x[..., j] for j <= i, at an axis of its own behind the last, and which of these are there."""
    n = x.shape[axis]
    there = np.tril(np.ones((n, n), bool))
    y = move(x, lambda i: np.broadcast_to(np.moveaxis(i, axis, -1)[..., None, :], (*np.moveaxis(i, axis, -1).shape[:-1], n, n)))
    return y, np.broadcast_to(there, y.shape)


def back_to(y, axis):
    return move(y, lambda i: np.moveaxis(i, -1, axis))


def cumsum(x, axis):
    if not x.is_float:
        dt = rsum(x).dt
        return Ref(np.cumsum(x.v.astype(np.int64), axis), np.cumsum(x.e, axis), dt)
    y, there = running(x, axis)
    return back_to(rsum(take(y, np.where(there, np.arange(y.size).reshape(y.shape), -1)), -1), axis)


def cummax(x, axis, sign=1.0):
    """The running maximum; of equal ones the last has the gradient. NaN is larger than all, and of several the last has it."""
    key = np.moveaxis(x.v * sign, axis, -1)
    best = np.zeros(key.shape, int)
    for k in range(1, key.shape[-1]):
        before = np.take_along_axis(key, best[..., k - 1 : k], -1)[..., 0]
        best[..., k] = np.where((key[..., k] >= before) | np.isnan(key[..., k]), k, best[..., k - 1])
    best = np.moveaxis(best, -1, axis)
    top, err = np.take_along_axis(x.v, best, axis), np.maximum.accumulate(x.e, axis)
    unsure = np.zeros(best.shape, bool)
    for k in range(x.shape[axis]):
        gap = np.abs(np.take(top, range(k, x.shape[axis]), axis) - np.take(x.v, [k], axis))
        slack = np.take(err, range(k, x.shape[axis]), axis) * 2
        rival = ~(gap > slack) & (slack > 0) & (np.take(best, range(k, x.shape[axis]), axis) != k)
        part = np.zeros(best.shape, bool)
        np.moveaxis(part, axis, 0)[k:] = np.moveaxis(rival, axis, 0)
        unsure |= part
    y = take(x, np.take_along_axis(np.arange(x.size).reshape(x.shape), best, axis), unsure)
    return Ref(y.v, np.where(unsure, err, y.e), y.dt, y.src, y.back)


def logcumsumexp(x, axis):
    y, there = running(x, axis)
    low = Ref(np.full((), -np.inf), np.zeros(()), x.dt)
    mask = Ref(there, np.zeros(there.shape), "bool")
    m = detach(rmax(where(mask, y, low), -1, True))
    e = where(mask, exp(where(mask, y - m, lift(0.0, x))), lift(0.0, x))
    return back_to(log(rsum(e, -1)) + squeeze(m, -1), axis)


def layernorm(x, eps):
    d = x - mean(x, -1, True)
    return d / sqrt(mean(d * d, -1, True) + eps)


def rmsnorm(x, eps):
    return x * rsqrt(mean(x * x, -1, True) + eps)


def normalize(x, axis):
    return x / maximum(sqrt(rsum(x * x, axis, True)), lift(1e-12, x))


# ---- products and windows ----


def matmul(a, b):
    """A product of matrices by numpy's own: of each sum the bound is that of its products and of its additions."""
    a, b = _one_dtype(a, b)
    sizes, k = np.abs(a.v) @ np.abs(b.v), a.shape[-1]
    e = np.abs(a.v) @ b.e + a.e @ np.abs(b.v) + a.e @ b.e + k * (FLOATS[a.dt].u * sizes + FLOATS[a.dt].tiny)

    def turned(x):
        return move(x, lambda i: i.swapaxes(-1, -2))

    def back(g):
        return [
            flows(a, lambda: _unbroadcast(matmul(g, turned(b)), a.shape)),
            flows(b, lambda: _unbroadcast(matmul(turned(a), g), b.shape)),
        ]

    return made(a.v @ b.v, in_any_order(e, sizes, a.dt), a.dt, (a, b), back, EXACT)


def _one_dtype(a, b):
    dt = promote(a.dt, b.dt)
    return cast(a, dt), cast(b, dt)


def einsum(formula, *operands):
    """Each operand is laid out along all letters, the product is summed over those that the result does not have."""
    inputs, result = formula.split("->")
    inputs = inputs.split(",")
    letters = sorted(set("".join(inputs)))
    total = None
    for names, x in zip(inputs, operands):
        order = sorted(range(len(names)), key=lambda k: names[k])
        y = move(x, lambda i, order=order: i.transpose(order))
        sizes = iter(y.shape)
        y = reshape(y, tuple(next(sizes) if c in names else 1 for c in letters))
        total = y if total is None else total * y
    y = rsum(total, tuple(k for k, c in enumerate(letters) if c not in result))
    left = [c for c in letters if c in result]
    return move(y, lambda i: i.transpose([left.index(c) for c in result]))


def windows(x, kernel, stride, dilation, padding):
    """x [B, C, H, W] -> places [B, C, OH, OW, kh, kw] of the values under each window, -1 outside."""
    b, c, h, w = x.shape
    index = np.pad(np.arange(x.size).reshape(x.shape), ((0, 0), (0, 0), (padding, padding), (padding, padding)), constant_values=-1)
    oh = (h + 2 * padding - dilation * (kernel[0] - 1) - 1) // stride + 1
    ow = (w + 2 * padding - dilation * (kernel[1] - 1) - 1) // stride + 1
    if oh < 1 or ow < 1:
        raise ValueError("no window fits")
    rows = (np.arange(oh) * stride)[:, None, None, None] + (np.arange(kernel[0]) * dilation)[None, None, :, None]
    cols = (np.arange(ow) * stride)[None, :, None, None] + (np.arange(kernel[1]) * dilation)[None, None, None, :]
    return index[:, :, rows, cols]


def _beside_zeros(x, w):
    """x, whose gradient is a convolution with w of a gradient that zeros stand beside: where weights are not finite, any of it may be NaN."""
    if np.isfinite(w.v).all():
        return x
    return Ref(x.v, x.e, x.dt, (x,), lambda g: [Ref(g.v, np.full(g.shape, np.inf), g.dt, (g,), lambda h: [h])])


def conv2d(x, w, groups, stride, dilation, padding):
    """out[b, o, y, x] = sum over c, i, j of the window times w[o, c, i, j]."""
    x = _beside_zeros(x, w)
    b, cin = x.shape[:2]
    cout, per, kh, kw = w.shape
    p = take(x, windows(x, (kh, kw), stride, dilation, padding))
    oh, ow = p.shape[2:4]
    p = reshape(p, (b, groups, cin // groups, oh, ow, kh, kw))
    p = reshape(move(p, lambda i: i.transpose(0, 1, 3, 4, 2, 5, 6)), (b, groups, oh * ow, per * kh * kw))
    q = move(reshape(w, (1, groups, cout // groups, per * kh * kw)), lambda i: i.swapaxes(-1, -2))
    y = move(matmul(p, q), lambda i: i.swapaxes(-1, -2))
    return reshape(y, (b, cout, oh, ow))


def avg_pool2d(x, kernel, stride):
    return mean(take(x, windows(x, kernel, stride, 1, 0)), (4, 5))


def max_pool2d(x, kernel, stride):
    return rmax(take(x, windows(x, kernel, stride, 1, 0)), (4, 5), first=True)


# ---- rows of edges ----


def rows_at(x, index):
    """x[index] along the first axis, where a negative index counts from the end."""
    n = x.shape[0]
    places = np.arange(x.size).reshape(x.shape)[np.where(index < 0, index + n, index)]
    return take(x, places)


def _row_places(m, index, rows):
    per = int(np.prod(m.shape[1:]))
    return (index[:, None] * per + np.arange(per)[None, :]).reshape(m.shape), (rows, *m.shape[1:])


def segment_sum(m, index, rows):
    """A sum of one value or of none is exact, but computed: its bound is not 0, so of equal sums any may be the maximum."""
    places, shape = _row_places(m, index, rows)
    y = put(m, places, shape)
    return Ref(y.v, y.e + FLOATS[y.dt].tiny, y.dt, y.src, y.back) if y.is_float else y


def segment_mean(m, index, rows):
    n = np.maximum(np.bincount(index, minlength=rows)[:rows], 1).astype(np.float64)
    return segment_sum(m, index, rows) / Ref(n.reshape(-1, *[1] * (m.ndim - 1)), np.zeros([rows] + [1] * (m.ndim - 1)), m.dt)


def segment_table(m, index, rows):
    """[rows, most, ...]: the values of each row side by side, and which places hold one."""
    if m.shape[0] != len(index):
        raise ValueError(f"{m.shape[0]} values for {len(index)} entries")
    lists = [np.flatnonzero(index == r) for r in range(rows)]
    most = max([len(k) for k in lists] + [1])
    table = np.full((rows, most), -1)
    for r, k in enumerate(lists):
        table[r, : len(k)] = k
    per = int(np.prod(m.shape[1:]))
    places = np.where(table[..., None] >= 0, table[..., None] * per + np.arange(per), -1).reshape(rows, most, *m.shape[1:])
    return take(m, places), Ref(places >= 0, np.zeros(places.shape), "bool")


def segment_max(m, index, rows, sign=1.0):
    """The largest of each row, 0 for an empty one; equal ones share the gradient."""
    y, there = segment_table(m, index, rows)
    low = Ref(np.full((), -np.inf * sign), np.zeros(()), m.dt)
    top = rmax(where(there, y, low), 1, sign=sign)
    empty = Ref(~there.v.any(1), np.zeros(top.shape), "bool")
    return where(empty, lift(0.0, m), top)


def segment_softmax(m, index, rows):
    top = rows_at(detach(segment_max(m, index, rows)), index)
    e = exp(m - top)
    return e / rows_at(segment_sum(e, index, rows), index)
