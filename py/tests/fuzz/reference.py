"""The reference: numpy arrays in float64 that know how far a computation in their dtype may be off, and how they were made.

A Ref holds v, the value in float64 (whole numbers as int64 or bool), and e, a bound of the absolute error that a computation of it in dtype
`dt` may have. e is infinite where anything is allowed: next to a jump, a pole or an overflow. Gradients are built out of Refs again, so they
carry bounds too, and second gradients are gradients of gradients. Every movement is a gather by flat places, every sum a scatter by them:
these two are each other's gradient. Knows nothing of polygrad.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .tolerance import FLOATS, ROUNDINGS

EXACT, ARITHMETIC, FUNCTION = ROUNDINGS["exact"], ROUNDINGS["arithmetic"], ROUNDINGS["function"]


class Ref:
    """A value, its error bound, its dtype, what it was made of, how its gradient flows back (gradient Ref -> list of Refs or None), and whether it is
    fixed: nobody will ask for a gradient by it or through it."""

    __slots__ = ("v", "e", "dt", "src", "back", "fixed")

    def __init__(self, v, e, dt, src=(), back=None, fixed=False):
        self.v, self.e, self.dt, self.src, self.back, self.fixed = v, e, dt, src, back, fixed

    @property
    def shape(self):
        return self.v.shape

    @property
    def ndim(self):
        return self.v.ndim

    @property
    def size(self):
        return self.v.size

    @property
    def is_float(self):
        return self.dt in FLOATS

    def __add__(self, o):
        return add(self, o)

    def __sub__(self, o):
        return add(self, mul(lift(o, self), lift(-1.0, self)))

    def __mul__(self, o):
        return mul(self, o)

    def __truediv__(self, o):
        return div(self, o)

    def __neg__(self):
        return mul(self, -1.0)


class _Mode:
    backward = False  # whether a gradient is being built: what is not finite there is not compared


def leaf(values, dt, fixed=False):
    """An input: what dtype dt holds, exactly."""
    v = np.asarray(values)
    v = v.astype(np.float64) if dt in FLOATS else (v.astype(bool) if dt == "bool" else v.astype(np.int64))
    return Ref(v, np.zeros(v.shape), dt, fixed=fixed)


def lift(x, like):
    """A number as a Ref: exact as the dtype holds it to a rounding."""
    if isinstance(x, Ref):
        return x
    v = np.asarray(x, np.float64)
    exact = float(x) == round(float(x) * 256) / 256
    return Ref(v, np.zeros(()) if exact or like.dt not in FLOATS else np.abs(v) * FLOATS[like.dt].u, like.dt, fixed=True)


def detach(x):
    return Ref(x.v, x.e, x.dt, fixed=True)


def made(v, e, dt, src=(), back=None, roundings=ARITHMETIC):
    """A result: e from the operands, plus the roundings of the operation itself."""
    if dt not in FLOATS:
        return Ref(v, e, dt)
    unit = FLOATS[dt]
    size = np.abs(v)
    unknown = np.isnan(e)  # infinity times 0, among values or among their errors
    if unknown.any():
        e = np.where(unknown, np.inf if any(s.e.any() for s in src) else 0.0, e)
    if roundings:
        inexact = e + (roundings * unit.u * size + unit.tiny)
    else:
        inexact = e
    bad = ~(size + inexact <= unit.largest)
    if bad.any():
        # an exact infinity or NaN out of exact operands must be just that; anything else out there may be whatever it is
        free = bad if _Mode.backward else bad & ((e > 0) | np.isfinite(v))
        inexact = np.where(free, np.inf, np.where(bad, 0.0, inexact))
    for s in src:
        if not s.fixed and s.dt in FLOATS:
            return Ref(v, inexact, dt, src, back)
    return Ref(v, inexact, dt, fixed=True)


def in_any_order(e, sizes, dt):
    """The error bound e of a sum whose terms have sizes that add up to `sizes`: in some order a part of them may overflow, and then anything may come
    out, although the whole does not."""
    return np.where(np.isnan(e) | ~(sizes <= FLOATS[dt].largest), np.inf, e)


def flows(operand, part):
    """part(), the gradient of an operand, if anybody will ask for it."""
    return None if operand.fixed else part()


def cast(x, dt):
    if dt == x.dt:
        return x
    if dt in FLOATS:
        v = x.v.astype(np.float64)
        unit = FLOATS[dt]
        exact = x.dt in FLOATS and unit.u <= FLOATS[x.dt].u or (not x.is_float and x.dt in ("bool", "int8", "uint8"))
        return made(v, x.e, dt, (x,), (lambda g: [cast(g, x.dt)]) if x.is_float else None, EXACT if exact and unit.tiny <= 2.0**-126 else ARITHMETIC)
    if dt == "bool":
        v = x.v != 0
        return Ref(v, np.where((np.abs(np.asarray(x.v, np.float64)) <= x.e) & (x.e > 0), np.inf, 0.0), dt)
    if x.is_float:
        limit = 2.0**31 if dt == "int32" else (2.0**63 if dt == "int64" else 0.0)
        v = np.trunc(x.v)
        jump = (np.trunc(x.v + x.e) != v) | (np.trunc(x.v - x.e) != v)
        e = np.where(jump | ~(np.abs(x.v) < limit), np.inf, 0.0)
        return Ref(np.where(np.isfinite(e), v, 0).astype(np.int64), e, dt)
    return Ref(wrap(x.v.astype(np.int64), dt), x.e, dt)


WIDTH = {k: np.dtype(k) for k in ("int8", "uint8", "int16", "int32", "uint32", "int64", "bool")}


def wrap(v, dt):
    """Whole numbers as the dtype holds them."""
    return v.astype(WIDTH[dt]).astype(bool if dt == "bool" else np.int64)


_ORDER = ["float16", "bfloat16", "float32", "float64"]


def promote(a, b):
    """The dtype of a + b."""
    if a == b:
        return a
    fa, fb = a in FLOATS, b in FLOATS
    if fa != fb:
        return a if fa else b
    if fa:
        return "float32" if {a, b} == {"float16", "bfloat16"} else max(a, b, key=_ORDER.index)
    raise ValueError(f"the generator does not mix {a} and {b}")


def _both(a, b):
    a = a if isinstance(a, Ref) else lift(a, b)
    b = lift(b, a)
    dt = promote(a.dt, b.dt)
    return cast(a, dt), cast(b, dt), dt


def _unbroadcast(g, shape):
    if g.shape == shape:
        return g
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(k + extra for k, n in enumerate(shape) if n == 1 and g.shape[k + extra] != 1)
    return reshape(rsum(g, axes), shape)


def add(a, b):
    a, b, dt = _both(a, b)
    v = a.v + b.v
    if dt not in FLOATS:
        return Ref(wrap(v, dt), a.e + b.e, dt)
    return made(v, a.e + b.e, dt, (a, b), lambda g: [flows(a, lambda: _unbroadcast(g, a.shape)), flows(b, lambda: _unbroadcast(g, b.shape))])


def _product_error(a, b):
    e = np.abs(a.v) * b.e + np.abs(b.v) * a.e + a.e * b.e
    nan = np.isnan(e)
    return np.where(nan, np.where((a.e == 0) & (b.e == 0), 0.0, np.inf), e) if nan.any() else e


def mul(a, b):
    a, b, dt = _both(a, b)
    v = a.v * b.v
    if dt not in FLOATS:
        return Ref(wrap(v, dt), a.e + b.e, dt)

    def back(g):
        return [flows(a, lambda: _unbroadcast(g * b, a.shape)), flows(b, lambda: _unbroadcast(g * a, b.shape))]

    return made(v, _product_error(a, b), dt, (a, b), back)


def div(a, b):
    a, b, dt = _both(a, b)
    if dt not in FLOATS:
        a, b, dt = cast(a, "float32"), cast(b, "float32"), "float32"
    v = a.v / b.v
    low = np.abs(b.v) - b.e
    e = np.where(low > 0, (a.e * np.abs(b.v) + np.abs(a.v) * b.e) / (np.abs(b.v) * low), np.where((a.e == 0) & (b.e == 0), 0.0, np.inf))

    def back(g):
        q = g / b
        return [flows(a, lambda: _unbroadcast(q, a.shape)), flows(b, lambda: _unbroadcast(-(q * (a / b)), b.shape))]

    return made(v, e, dt, (a, b), back)


def monotone(x, f, back, roundings=FUNCTION):
    """f is monotone wherever the interval of x allows it to be finite: its error is that at the ends. Where nothing is known of x, it may be NaN, and so
    may a function be that has bounds."""
    v = f(x.v)
    e = np.maximum(np.abs(f(x.v + x.e) - v), np.abs(f(x.v - x.e) - v))
    e = np.where(np.isnan(e) | np.isinf(x.e), np.where(x.e == 0, 0.0, np.inf), e)
    return made(v, e, x.dt, (x,), back, roundings)


def bounded(x, f, slope, back, roundings=FUNCTION):
    """f changes by at most slope(x) times the change of x."""
    return made(f(x.v), slope * x.e, x.dt, (x,), back, roundings)


def where(mask, a, b):
    a, b, dt = _both(a, b)
    v = np.where(mask.v, a.v, b.v)
    e = np.where(mask.v, a.e, b.e) + np.zeros(v.shape)
    if mask.e.any():
        other = np.maximum(np.abs(v - a.v) + a.e, np.abs(v - b.v) + b.e)
        e = np.where(mask.e > 0, np.where(np.isnan(other), np.inf, other), e)
    zero = Ref(np.zeros(()), np.zeros(()), dt, fixed=True)

    def back(g):
        return [
            flows(a, lambda: _unbroadcast(where(mask, g, zero), a.shape)),
            flows(b, lambda: _unbroadcast(where(mask, zero, g), b.shape)),
        ]

    return made(v, e, dt, (a, b), back, EXACT)


_COMPARE = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}


def compare(a, op, b):
    a, b, _ = _both(a, b)
    e = a.e + b.e
    gap = np.abs(np.asarray(a.v, np.float64) - np.asarray(b.v, np.float64))
    return Ref(_COMPARE[op](a.v, b.v), np.where((e > 0) & ~(gap > e), np.inf, 0.0), "bool")


def logical(op, a, b):
    return Ref(op(a.v, b.v), a.e + b.e, "bool")


def maximum(a, b, sign=1.0):
    """The larger (sign -1: the smaller); equal operands share the gradient, and NaN passes it on to both."""
    a, b, dt = _both(a, b)
    v = np.maximum(a.v, b.v) if sign > 0 else np.minimum(a.v, b.v)
    e = np.maximum(a.e, b.e)
    if dt not in FLOATS:
        return Ref(v, e, dt)
    unsure = (a.e + b.e > 0) & ~(np.abs(a.v - b.v) > a.e + b.e)

    def share(low):
        return Ref(np.where(a.v == b.v, 0.5, np.where(low, 0.0, 1.0)), unsure * 1.0, dt)

    def back(g):
        return [_unbroadcast(g * share(sign * a.v < sign * b.v), a.shape), _unbroadcast(g * share(sign * b.v < sign * a.v), b.shape)]

    return made(v, e, dt, (a, b), back, EXACT)


# ---- movement and sums ----


def take(x, places, unsure=None):
    """x's values at flat places (-1: zero). unsure: places that a rounding could have made others."""
    flat, err = x.v.reshape(-1), x.e.reshape(-1)
    inside = places >= 0
    at = np.where(inside, places, 0)
    if x.size == 0:
        v, e = np.zeros(places.shape, x.v.dtype), np.zeros(places.shape)
    else:
        v, e = np.where(inside, flat[at], flat.dtype.type(0)), np.where(inside, err[at], 0.0)
        if unsure is not None and unsure.any():
            lo, hi = (flat.min(), flat.max()) if x.is_float else (0.0, np.inf)
            e = np.where(unsure, hi - lo + err.max(), e)
    return made(v, e, x.dt, (x,), lambda g: [put(g, places, x.shape, unsure)], EXACT)


def put(x, places, shape, unsure=None):
    """Zeros with x's values added at flat places (-1: dropped)."""
    n = int(np.prod(shape))
    flat = places.reshape(-1)
    keep = flat >= 0
    at = flat[keep]

    def total(a):
        return np.bincount(at, np.ascontiguousarray(a.reshape(-1)[keep]), minlength=n)[:n].reshape(shape)

    if x.dt not in FLOATS:
        v = np.zeros(n, np.int64)
        np.add.at(v, at, x.v.reshape(-1)[keep].astype(np.int64))
        return Ref(wrap(v.reshape(shape), x.dt), total(x.e), x.dt)
    adds = np.maximum(np.bincount(at, minlength=n)[:n].reshape(shape) - 1, 0)
    sizes = total(np.abs(x.v))
    e = total(x.e) + adds * FLOATS[x.dt].u * sizes
    if unsure is not None and unsure.any():
        e = e + np.where(unsure, np.abs(x.v) + x.e, 0.0).sum()
    return made(total(x.v), in_any_order(e, sizes, x.dt), x.dt, (x,), lambda g: [take(g, places, unsure)], EXACT)


def move(x, f):
    """A movement: what f does to an array of x's flat places, it does to x. A place of -1 is a zero."""
    return take(x, np.array(f(np.arange(x.size).reshape(x.shape))))


def reshape(x, shape):
    return Ref(x.v.reshape(shape), x.e.reshape(shape), x.dt, (x,) if x.is_float else (), lambda g: [reshape(g, x.shape)], x.fixed)


def expand(x, shape):
    return move(x, lambda i: np.broadcast_to(i, shape))


def cat(xs, axis):
    if len({(*x.shape[:axis], *x.shape[axis + 1 :]) for x in xs}) > 1:
        raise ValueError(f"shapes {[x.shape for x in xs]} do not agree")
    ends = np.cumsum([0, *[x.shape[axis] for x in xs]])

    def part(g, k):
        return move(g, lambda i: np.take(i, range(ends[k], ends[k + 1]), axis))

    v, e = np.concatenate([x.v for x in xs], axis), np.concatenate([x.e for x in xs], axis)
    return made(v, e, xs[0].dt, tuple(xs), lambda g: [flows(x, lambda k=k: part(g, k)) for k, x in enumerate(xs)], EXACT)


def axes_of(x, axes):
    if axes is None:
        return tuple(range(x.ndim))
    axes = axes if isinstance(axes, tuple) else (axes,)
    return tuple(a % x.ndim for a in axes)


def rsum(x, axes=None, keep=False):
    axes = axes_of(x, axes)
    kept = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    n = int(np.prod([x.shape[k] for k in axes]))
    if not x.is_float:
        dt = {"int8": "int32", "int16": "int32", "uint8": "uint32", "bool": "int32"}.get(x.dt, x.dt)
        return Ref(wrap(x.v.astype(np.int64).sum(axes, keepdims=keep), dt), x.e.sum(axes, keepdims=keep), dt)
    sizes = np.abs(x.v).sum(axes, keepdims=keep)
    e = x.e.sum(axes, keepdims=keep) + max(n - 1, 0) * FLOATS[x.dt].u * sizes
    v = x.v.sum(axes, keepdims=keep)
    return made(v, in_any_order(e, sizes, x.dt), x.dt, (x,), lambda g: [expand(reshape(g, kept), x.shape)], EXACT if n <= 1 else ARITHMETIC)


def rmax(x, axes=None, keep=False, sign=1.0, first=False):
    """The largest (sign -1: the smallest); equal ones share the gradient, or the first has it."""
    axes = axes_of(x, axes)
    top = x.v.max(axes, keepdims=True) if sign > 0 else x.v.min(axes, keepdims=True)
    slack = x.e.max(axes, keepdims=True)
    v, e = (top, slack) if keep else (top.squeeze(axes), slack.squeeze(axes))
    if not x.is_float:
        return Ref(v, e, x.dt)
    near = ~(np.abs(top - x.v) > x.e + slack)
    unsure = near & (near.sum(axes, keepdims=True) > 1) & ((x.e > 0) | (slack > 0))
    ties = x.v == top
    nobody = np.where(np.isnan(top), np.nan, 0.0)  # no element is equal to NaN
    unknown = np.where(np.isinf(slack), np.inf, 0.0)  # the largest may be NaN
    part = _first_along(ties | np.isnan(x.v), axes) * 1.0 if first else ties / np.maximum(ties.sum(axes, keepdims=True), 1) + nobody
    share = Ref(part, unsure * 1.0 + unknown, x.dt)
    return made(v, e, x.dt, (x,), lambda g: [expand(reshape(g, top.shape), x.shape) * share], EXACT)


def _first_along(hit, axes):
    """Of the true elements of each group along the axes, the first in C order."""
    rest = tuple(k for k in range(hit.ndim) if k not in axes)
    turned = hit.transpose(rest + axes)
    flat = turned.reshape(*turned.shape[: len(rest)], -1)
    alone = (flat & (np.cumsum(flat, -1) == 1)).reshape(turned.shape)
    return alone.transpose(np.argsort(rest + axes))


def first_place(x, axis, sign=1.0):
    """argmax (sign -1: argmin), as int32."""
    v = np.argmax(x.v * int(sign) if x.dt != "bool" else x.v, axis)
    top = np.take_along_axis(x.v, np.expand_dims(v, axis), axis)
    gap = np.abs(np.asarray(top, np.float64) - np.asarray(x.v, np.float64))
    slack = np.take_along_axis(x.e, np.expand_dims(v, axis), axis) + x.e
    rivals = (~(gap > slack) & (slack > 0)).sum(axis) > 1
    return Ref(np.asarray(v), np.where(rivals, np.inf, 0.0), "int32")


def order_of(x, axis, descending):
    """The stable order along axis, and where errors could have changed it."""
    key = x.v.astype(np.float64)
    if descending:  # NaN counts as the largest
        nan = np.isnan(key)
        order = np.lexsort((np.where(nan, 0.0, -key), ~nan), axis=axis)
    else:
        order = np.argsort(key, axis, kind="stable")
    v = np.moveaxis(np.take_along_axis(key, order, axis), axis, 0)
    unsure = np.zeros(v.shape, bool)
    worst = np.moveaxis(x.e, axis, 0).max(0, initial=0) * 2
    near = ~(np.abs(np.diff(v, axis=0)) > worst) & (worst > 0)  # neighbours that could change places
    unsure[1:] |= near
    unsure[:-1] |= near
    unsure = np.moveaxis(unsure, 0, axis)
    return order, unsure


def take_along(x, order, axis, unsure):
    places = np.take_along_axis(np.arange(x.size).reshape(x.shape), order, axis)
    return take(x, places, unsure)


def sorted_along(x, axis, descending):
    order, unsure = order_of(x, axis, descending)
    y = take_along(x, order, axis, unsure)
    worst = np.broadcast_to(x.e.max(axis, keepdims=True, initial=0), y.shape)
    return Ref(y.v, np.where(unsure, worst, y.e), y.dt, y.src, y.back)  # sorting moves no value further than the largest error


# ---- gradients ----


def _topological(roots: list[Ref]) -> list[Ref]:
    done: set[int] = set()
    out: list[Ref] = []
    stack: list[tuple[Ref, bool]] = [(r, False) for r in roots]
    while stack:
        node, ready = stack.pop()
        if ready:
            out.append(node)
        elif id(node) not in done:
            done.add(id(node))
            stack.append((node, True))
            stack.extend((s, False) for s in node.src if id(s) not in done)
    return out


def gradients(roots: list[Ref], seeds: list[Ref], targets: list[Ref]) -> list[Ref]:
    """The sum over roots of <seed, d root / d target>, for each target."""
    grad: dict[int, Ref] = {}

    def give(node: Ref, g: Ref) -> None:
        have = grad.get(id(node))
        grad[id(node)] = g if have is None else have + g

    before, _Mode.backward = _Mode.backward, True
    try:
        for r, s in zip(roots, seeds):
            give(r, s)
        for node in reversed(_topological(roots)):
            g = grad.get(id(node))
            if g is None or node.back is None or not node.src:
                continue
            back: Callable[[Ref], list[Ref]] = node.back
            for s, part in zip(node.src, back(g)):
                if part is not None and s.is_float:
                    give(s, part)
    finally:
        _Mode.backward = before
    return [grad.get(id(t), Ref(np.zeros(t.shape), np.zeros(t.shape), t.dt)) for t in targets]
