"""The table of operations that programs are made of: how each is written in polygrad, what it is in the reference, and how its operands are chosen.

An Op has the text of a polygrad expression with places for operands and parameters; a reference function of Refs and the same parameters; and
a chooser, which looks for operands in the pool of a program in the making and picks parameters, or gives None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import functions as F
from . import reference as R


class Op(NamedTuple):
    name: str
    text: str
    ref: Callable[..., Any]
    choose: Callable[[Any], Any]
    weight: float = 1.0
    sized: bool = False  # works whatever the size of the first axis: its parameters do not depend on it


OPS: dict[str, Op] = {}


def op(name, text, ref, choose, weight=1.0, sized=False):
    assert name not in OPS, name
    OPS[name] = Op(name, text, ref, choose, weight, sized)


# ---- choosers ----


def one(kind="float", ndim=(0, 9), nonempty=False, limit=np.inf, params=None):
    """One operand of a kind, and parameters that depend on it."""

    def choose(m):
        a = m.pick(lambda r: m.is_kind(r, kind) and ndim[0] <= r.ndim <= ndim[1] and (r.size or not nonempty) and m.size_of(r) <= limit)
        if a is None:
            return None
        p = {} if params is None else params(m, m.refs[a])
        return None if p is None else ((a,), p)

    return choose


def two(kind="float", limit=np.inf):
    """Two operands whose shapes can be broadcast together; the second may be made for it."""

    def choose(m):
        a = m.pick(lambda r: m.is_kind(r, kind) and m.size_of(r) <= limit)
        if a is None:
            return None
        return (a, m.partner(a, limit)), {}

    return choose


def axis_of(m, r):
    return int(m.rng.integers(r.ndim)) - (r.ndim if m.rng.random() < 0.3 and not m.sized else 0)


def with_axis(m, r):
    return {"axis": axis_of(m, r)}


def with_axis_keep(m, r):
    return {"axis": axis_of(m, r), "keep": bool(m.rng.random() < 0.5)}


def with_axes(m, r):
    axes = tuple(int(v) for v in np.flatnonzero(m.rng.random(r.ndim) < 0.5))
    return {"axes": axes or None, "keep": bool(m.rng.random() < 0.5)}


def with_filled_axes(m, r):
    """Axes to take a maximum over: none of them empty."""
    p = with_axes(m, r)
    sizes = r.shape if p["axes"] is None else [r.shape[a] for a in p["axes"]]
    return p if all(sizes) else None


def with_filled_axis(m, r):
    p = with_axis(m, r)
    return p if r.shape[p["axis"]] else None


def filled_axis_keep(m, r):
    p = with_axis_keep(m, r)
    return p if r.shape[p["axis"]] else None


# ---- elementwise ----


def _of_positive(f):
    """f of a number that is surely positive."""
    return lambda x: f(x * x + 0.5)


for _name in (
    "tanh",
    "sigmoid",
    "sin",
    "cos",
    "silu",
    "softsign",
    "atan",
    "asinh",
    "erf",
    "logsigmoid",
    "softplus",
    "relu",
    "mish",
    "quick_gelu",
    "gelu",
):
    op(_name, "{0}." + _name + "()", getattr(F, _name), one(), 0.5, sized=True)
for _name, _limit in (("exp", 8), ("exp2", 8), ("expm1", 8), ("sinh", 8), ("cosh", 8), ("square", 300), ("log1p", 0.9)):
    op(_name, "{0}." + _name + "()", getattr(F, _name), one(limit=_limit), 0.4, sized=True)
for _name in ("sqrt", "rsqrt", "log", "log2", "log10", "reciprocal"):
    op(_name, "({0}.square() + 0.5)." + _name + "()", _of_positive(getattr(F, _name)), one(limit=300), 0.3, sized=True)
op("log_abs", "({0}.abs() + 0.5).log()", lambda x: F.log(F.absolute(x) + 0.5), one(), 0.3, sized=True)
op("log_raw", "{0}.log()", F.log, one(), 0.1, sized=True)
op("sqrt_raw", "{0}.sqrt()", F.sqrt, one(), 0.1, sized=True)
op("reciprocal_raw", "{0}.reciprocal()", F.reciprocal, one(), 0.1, sized=True)
op("neg", "(-{0})", lambda x: -x, one(), 0.4, sized=True)
op("abs", "{0}.abs()", F.absolute, one(), 0.4, sized=True)
op("sign", "{0}.sign()", lambda x: F.sign(x), one(), 0.2, sized=True)
op("asin", "({0} * 0.1).asin()", lambda x: F.asin(x * 0.1), one(limit=8), 0.2, sized=True)
op("acos", "({0} * 0.1).acos()", lambda x: F.acos(x * 0.1), one(limit=8), 0.2, sized=True)
op("tan", "({0} * 0.1).tan()", lambda x: F.tan(x * 0.1), one(limit=12), 0.2, sized=True)
op("gelu_none", "{0}.gelu('none')", F.gelu_erf, one(), 0.2, sized=True)
op("leaky", "{0}.leaky_relu(0.25)", lambda x: F.leaky_relu(x, 0.25), one(), 0.4, sized=True)
op("elu", "{0}.elu()", F.elu, one(), 0.3, sized=True)
op("clamp", "{0}.clamp(-0.5, 1.0)", lambda x: F.clamp(x, -0.5, 1.0), one(), 0.4, sized=True)
op("hardtanh", "{0}.hardtanh()", F.hardtanh, one(), 0.2, sized=True)
op("cube", "({0} ** 3)", F.cube, one(limit=50), 0.3, sized=True)
op(
    "affine",
    "({0} * {c} + {d})",
    lambda x, c, d: x * c + d,
    one(params=lambda m, r: {"c": float(m.rng.integers(1, 8)) / 4, "d": float(m.rng.integers(-8, 8)) / 4}),
    0.6,
    sized=True,
)
op("scale", "({0} * 0.5 + 0.25)", lambda x: x * 0.5 + 0.25, one(), 0.6, sized=True)
for _name, _f in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.rint)):
    op(_name, "{0}." + _name + "()", lambda x, f=_f: F.step_function(x, f), one(), 0.1, sized=True)

op("add", "({0} + {1})", lambda a, b: a + b, two(), 2.0, sized=True)
op("sub", "({0} - {1})", lambda a, b: a - b, two(), 1.0, sized=True)
op("mul", "({0} * {1})", lambda a, b: a * b, two(limit=1000), 2.0, sized=True)
op("div", "({0} / ({1}.square() + 0.5))", lambda a, b: a / (b * b + 0.5), two(limit=300), 0.8, sized=True)
op("div_raw", "({0} / {1})", lambda a, b: a / b, two(limit=1000), 0.1, sized=True)
op("maximum", "{0}.maximum({1})", R.maximum, two(), 0.6, sized=True)
op("minimum", "{0}.minimum({1})", lambda a, b: R.maximum(a, b, -1.0), two(), 0.6, sized=True)
op("lerp", "{0}.lerp({1}, 0.25)", lambda a, b: a + (b - a) * 0.25, two(limit=1000), 0.2, sized=True)
op("where", "({0} > {1}).where({0}, {1} * 2)", lambda a, b: R.where(R.compare(a, ">", b), a, b * 2.0), two(), 0.7, sized=True)
op("masked_fill", "{0}.masked_fill({1} < 0, 0.5)", lambda a, b: R.where(R.compare(b, "<", 0.0), R.lift(0.5, a), a), two(), 0.5, sized=True)
op("compare", "({0} <= {1})", lambda a, b: R.compare(a, "<=", b), two(), 0.3, sized=True)


def _casts(dts):
    return lambda m, r: {"dtype": str(m.rng.choice([d for d in dts if d != r.dt]))}


op(
    "cast",
    "{0}.cast('{dtype}')",
    lambda x, dtype: R.cast(x, dtype),
    one(params=_casts(["float16", "bfloat16", "float32", "float64"])),
    0.4,
    sized=True,
)
op("to_int", "{0}.cast('{dtype}')", lambda x, dtype: R.cast(x, dtype), one(limit=1e6, params=_casts(["int32", "int64", "bool"])), 0.2, sized=True)
op(
    "to_float",
    "{0}.cast('{dtype}')",
    lambda x, dtype: R.cast(x, dtype),
    one("whole", params=_casts(["float16", "float32", "float64"])),
    0.6,
    sized=True,
)

# ---- whole numbers and truth values ----

op("int_add", "({0} + {1})", lambda a, b: a + b, two("int"), 0.4, sized=True)
op("int_mul", "({0} * {1})", lambda a, b: a * b, two("int"), 0.4, sized=True)
op("int_max", "{0}.maximum({1})", R.maximum, two("int"), 0.2, sized=True)
op("int_less", "({0} < {1})", lambda a, b: R.compare(a, "<", b), two("int"), 0.2, sized=True)
for _name, _sign, _f in (("and", "&", np.bitwise_and), ("or", "|", np.bitwise_or), ("xor", "^", np.bitwise_xor)):
    op("int_" + _name, "({0} " + _sign + " {1})", lambda a, b, f=_f: R.Ref(f(a.v, b.v), a.e + b.e, a.dt), two("whole"), 0.2, sized=True)
op("int_div", "({0} // 3)", lambda x: R.Ref(R.wrap(x.v // 3, x.dt), x.e, x.dt), one("int"), 0.2, sized=True)
op("int_mod", "({0} % 3)", lambda x: R.Ref(x.v % 3, x.e, x.dt), one("int"), 0.2, sized=True)
op(
    "int_cast",
    "{0}.cast('{dtype}')",
    lambda x, dtype: R.cast(x, dtype),
    one("whole", params=_casts(["int8", "uint8", "int16", "int32", "int64"])),
    0.3,
    sized=True,
)
op("not", "({0} == 0)", lambda x: R.compare(R.cast(x, "int64"), "==", R.leaf(0, "int64")), one("whole"), 0.2, sized=True)
op("int_sum", "{0}.sum({axes}, {keep})", lambda x, axes, keep: R.rsum(x, axes, keep), one("whole", params=with_axes), 0.5, sized=True)
op("int_top", "{0}.max({axes}, {keep})", lambda x, axes, keep: R.rmax(x, axes, keep), one("int", params=with_filled_axes), 0.3, sized=True)

# ---- reductions ----

op("sum", "{0}.sum({axes}, {keep})", lambda x, axes, keep: R.rsum(x, axes, keep), one(params=with_axes), 2.0, sized=True)
op("mean", "{0}.mean({axes}, {keep})", lambda x, axes, keep: F.mean(x, axes, keep), one(params=with_filled_axes), 1.0, sized=True)
op("max", "{0}.max({axes}, {keep})", lambda x, axes, keep: R.rmax(x, axes, keep), one(params=with_filled_axes), 1.0, sized=True)
op("min", "{0}.min({axes}, {keep})", lambda x, axes, keep: R.rmax(x, axes, keep, -1.0), one(params=with_filled_axes), 0.7, sized=True)
op(
    "prod",
    "{0}.prod({axis}, {keep})",
    lambda x, axis, keep: F.prod(x, axis % x.ndim, keep),
    one(ndim=(1, 9), limit=30, params=with_axis_keep),
    0.5,
    sized=True,
)
op("var", "{0}.var({axes}, {keep}, 0)", lambda x, axes, keep: F.var(x, axes, keep, 0), one(limit=300, params=with_filled_axes), 0.5, sized=True)
op(
    "std",
    "({0}.var({axes}, {keep}, 0) + 0.1).sqrt()",
    lambda x, axes, keep: F.sqrt(F.var(x, axes, keep, 0) + 0.1),
    one(limit=300, params=with_filled_axes),
    0.3,
    sized=True,
)
op(
    "logsumexp",
    "{0}.logsumexp({axes}, {keep})",
    lambda x, axes, keep: F.logsumexp(x, axes, keep),
    one(ndim=(1, 9), params=with_filled_axes),
    0.6,
    sized=True,
)
op("softmax", "{0}.softmax({axis})", lambda x, axis: F.softmax(x, axis), one(ndim=(1, 9), nonempty=True, params=with_axis), 1.0, sized=True)
op(
    "log_softmax",
    "{0}.log_softmax({axis})",
    lambda x, axis: F.log_softmax(x, axis),
    one(ndim=(1, 9), nonempty=True, params=with_axis),
    0.6,
    sized=True,
)
op("argmax", "{0}.argmax({axis})", lambda x, axis: R.first_place(x, axis), one(ndim=(1, 9), params=with_filled_axis), 0.4)
op("argmin", "{0}.argmin({axis})", lambda x, axis: R.first_place(x, axis, -1.0), one(ndim=(1, 9), params=with_filled_axis), 0.2)
op("cumsum", "{0}.cumsum({axis})", lambda x, axis: F.cumsum(x, axis), one(ndim=(1, 9), nonempty=True, params=with_axis), 0.8)
op("cumprod", "{0}.cumprod({axis})", lambda x, axis: F.cumprod(x, axis % x.ndim), one(ndim=(1, 9), nonempty=True, limit=30, params=with_axis), 0.4)
op("cummax", "{0}.cummax({axis})[0]", lambda x, axis: F.cummax(x, axis), one(ndim=(1, 9), nonempty=True, params=with_axis), 0.4)
op(
    "logcumsumexp",
    "{0}.logcumsumexp({axis})",
    lambda x, axis: F.logcumsumexp(x, axis),
    one(ndim=(1, 9), nonempty=True, limit=100, params=with_axis),
    0.4,
)
op("layernorm", "{0}.layernorm(eps=0.125)", lambda x: F.layernorm(x, 0.125), one(ndim=(1, 9), nonempty=True, limit=300), 0.6)
op("rmsnorm", "{0}.rmsnorm(eps=0.125)", lambda x: F.rmsnorm(x, 0.125), one(ndim=(1, 9), nonempty=True, limit=300), 0.4)
op("normalize", "{0}.normalize(dim={axis})", lambda x, axis: F.normalize(x, axis), one(ndim=(1, 9), nonempty=True, limit=300, params=with_axis), 0.3)


# ---- order and selection ----


def _order_params(m, r):
    axis = axis_of(m, r)
    return {"axis": axis, "down": bool(m.rng.random() < 0.5), "k": int(m.rng.integers(0, r.shape[axis] + 1))}


def _argsort(x, axis, down, k=None):
    order, unsure = R.order_of(x, axis, down)
    return R.Ref(order, np.where(unsure, np.inf, 0.0), "int32")


def _topk(x, axis, down, k):
    y = R.sorted_along(x, axis, down)
    return R.move(y, lambda i: np.take(i, range(k), axis))


op("sort", "{0}.sort({axis}, {down})[0]", lambda x, axis, down, k: R.sorted_along(x, axis, down), one(ndim=(1, 9), params=_order_params), 0.5)
op("argsort", "{0}.sort({axis}, {down})[1]", _argsort, one(ndim=(1, 9), params=_order_params), 0.2)
op("topk", "{0}.topk({k}, {axis}, {down})[0]", _topk, one(ndim=(1, 9), params=_order_params), 0.5)


def _select(m):
    a = m.pick(lambda r: r.is_float and r.ndim)
    if a is None:
        return None
    r = m.refs[a]
    axis = axis_of(m, r)
    n = int(m.rng.integers(0, 6)) if r.shape[axis] else 0
    return (a, m.indices((n,), r.shape[axis])), {"axis": axis}


def _index_select(x, i, axis):
    return R.move(x, lambda p: np.take(p, i.v, axis))


op("index_select", "{0}.index_select({axis}, {1})", _index_select, _select, 1.0)
op("index_rows", "{0}[{1}]", lambda x, i, axis: _index_select(x, i, 0), lambda m: _first_axis(_select(m), m), 0.5)


def _first_axis(chosen, m):
    """The same choice, made for the first axis."""
    if chosen is None or m.refs[chosen[0][0]].shape[0] == 0:
        return None
    a = chosen[0][0]
    return (a, m.indices((int(m.rng.integers(1, 6)),), m.refs[a].shape[0])), {"axis": 0}


def _gather_params(m, need_source):
    a = m.pick(lambda r: r.is_float and r.ndim and r.size and r.ndim <= 3)
    if a is None:
        return None
    r = m.refs[a]
    axis = int(m.rng.integers(r.ndim))
    shape = tuple(
        int(m.rng.integers(0 if m.rng.random() < 0.1 else 1, n + 1)) if k != axis else int(m.rng.integers(1, 5)) for k, n in enumerate(r.shape)
    )
    args = (a, m.indices(shape, r.shape[axis]))
    return (args + ((m.float_leaf(shape, r.dt),) if need_source else ())), {"axis": axis}


def _along(x, i, axis, source=None):
    """Flat places of x that an index of gather or scatter names."""
    if source is not None and source.shape != i.shape:
        raise ValueError(f"a source of shape {source.shape} for an index of shape {i.shape}")
    if any(n > m for k, (n, m) in enumerate(zip(i.shape, x.shape)) if k != axis):
        raise ValueError(f"an index of shape {i.shape} for {x.shape}")
    grid = list(np.indices(i.shape))
    grid[axis] = i.v
    return np.arange(x.size).reshape(x.shape)[tuple(grid)]


def _scatter_add(x, i, s, axis):
    return x + R.put(s, _along(x, i, axis, s), x.shape)


def _scatter(x, i, s, axis):
    """The last of several writes to one place wins."""
    places = _along(x, i, axis, s).reshape(-1)
    last = np.full(x.size, -1)
    for k, p in enumerate(places):
        last[p] = k
    last = last.reshape(x.shape)
    hit = R.Ref(last >= 0, np.zeros(x.shape), "bool")
    return R.where(hit, R.take(s, last), x)


def _scatter_max(x, i, s, axis):
    """The largest of what is there and of what arrives."""
    places = _along(x, i, axis, s).reshape(-1)
    both = R.cat([R.reshape(x, (x.size,)), R.reshape(s, (s.size,))], 0)
    return R.reshape(F.segment_max(both, np.concatenate([np.arange(x.size), places]), x.size), x.shape)


op("gather", "{0}.gather({axis}, {1})", lambda x, i, axis: R.take(x, _along(x, i, axis)), lambda m: _gather_params(m, False), 0.8)
op("scatter_add", "{0}.scatter_add({axis}, {1}, {2})", _scatter_add, lambda m: _gather_params(m, True), 0.8)
op("scatter", "{0}.scatter({axis}, {1}, {2})", _scatter, lambda m: _gather_params(m, True), 0.4)
op("scatter_max", "{0}.scatter_reduce({axis}, {1}, {2}, 'amax')", _scatter_max, lambda m: _gather_params(m, True), 0.4)


def _index_add(m):
    a = m.pick(lambda r: r.is_float and r.ndim)
    if a is None:
        return None
    r = m.refs[a]
    axis = int(m.rng.integers(r.ndim))
    n = int(m.rng.integers(0, 5)) if r.shape[axis] else 0
    shape = tuple(n if k == axis else v for k, v in enumerate(r.shape))
    return (a, m.indices((n,), r.shape[axis]), m.float_leaf(shape, r.dt)), {"axis": axis}


def _index_added(x, i, s, axis):
    if s.shape != (*x.shape[:axis], i.size, *x.shape[axis + 1 :]):
        raise ValueError(f"{s.shape} is not {i.size} parts of {x.shape}")
    if i.size and i.v.max() >= x.shape[axis]:  # which numpy does not say of an empty x
        raise IndexError(f"{i.v.max()} is beyond axis {axis} of {x.shape}")
    return x + R.put(s, np.take(np.arange(x.size).reshape(x.shape), i.v, axis), x.shape)


op(
    "index_add",
    "{0}.index_add({axis}, {1}, {2})",
    _index_added,
    _index_add,
    0.8,
)

# ---- products and windows ----


def _matmul(m):
    a = m.pick(lambda r: r.is_float and r.ndim >= 2 and r.size <= 400 and m.size_of(r) <= 300)
    if a is None:
        return None
    r = m.refs[a]
    return (a, m.float_leaf((r.shape[-1], int(m.rng.integers(1, 5))), r.dt)), {}


op("matmul", "({0} @ {1})", F.matmul, _matmul, 1.2, sized=True)
op("gram", "({0} @ {0}.transpose(-1, -2))", lambda x: F.matmul(x, R.move(x, lambda i: i.swapaxes(-1, -2))), one(ndim=(2, 4), limit=100), 0.5)


def _einsum(m):
    a = m.pick(lambda r: r.is_float and r.ndim == 2 and m.size_of(r) <= 100)
    if a is None:
        return None
    n, k = m.refs[a].shape
    formula, shape = [
        ("ij,kj->ik", (3, k)),
        ("ij,ij->j", (n, k)),
        ("ij,j->i", (k,)),
        ("ij,kl->iljk", (2, 3)),
        ("ij,jk->ki", (k, 2)),
        ("ij,ik->jk", (n, 2)),
    ][int(m.rng.integers(6))]
    return (a, m.float_leaf(shape, m.refs[a].dt)), {"formula": formula}


op("einsum", "Tensor.einsum('{formula}', {0}, {1})", lambda a, b, formula: F.einsum(formula, a, b), _einsum, 0.7)


def _conv(m):
    groups, per, more = (int(m.rng.integers(1, 3)) for _ in range(3))
    h, w = (int(m.rng.integers(3, 6)) for _ in range(2))
    kh, kw = (int(m.rng.integers(1, 3)) for _ in range(2))
    dt = m.float_dtype()
    x = m.pick(lambda r: r.is_float and r.ndim == 4 and r.shape[1] == groups * per and r.shape[2] >= 3 and r.shape[3] >= 3 and r.size <= 300)
    x = x if x is not None else m.float_leaf((int(m.rng.integers(1, 3)), groups * per, h, w), dt)
    weight = m.float_leaf((groups * more, per, kh, kw), m.refs[x].dt)
    return (x, weight), {
        "groups": groups,
        "stride": int(m.rng.integers(1, 3)),
        "dilation": int(m.rng.integers(1, 3)),
        "padding": int(m.rng.integers(0, 2)),
    }


op("conv2d", "{0}.conv2d({1}, None, {groups}, {stride}, {dilation}, {padding})", F.conv2d, _conv, 0.5)


def _pool(m, r):
    return (
        {"kernel": (int(m.rng.integers(1, r.shape[2] + 1)), int(m.rng.integers(1, r.shape[3] + 1))), "stride": int(m.rng.integers(1, 3))}
        if r.size
        else None
    )


op("avg_pool", "{0}.avg_pool2d({kernel}, {stride})", F.avg_pool2d, one(ndim=(4, 4), params=_pool), 0.5)
op("max_pool", "{0}.max_pool2d({kernel}, {stride})", F.max_pool2d, one(ndim=(4, 4), params=_pool), 0.5)

# ---- movement ----


def _moved(name, text, f, params, weight=1.0, ndim=(1, 9), kind="any", sized=False):
    op(name, text, lambda x, **p: R.move(x, lambda i: f(i, **p)), one(kind, ndim=ndim, params=params), weight, sized)


_moved(
    "permute",
    "{0}.permute({order})",
    lambda i, order: i.transpose(order),
    lambda m, r: {"order": tuple(int(v) for v in m.rng.permutation(r.ndim))},
    1.2,
)
_moved("flip", "{0}.flip({axis})", lambda i, axis: np.flip(i, axis), with_axis, 0.7)
_moved("transpose", "{0}.transpose(0, 1)", lambda i: i.swapaxes(0, 1), None, 0.4, ndim=(2, 9))
_moved("unsqueeze", "{0}.unsqueeze({axis})", lambda i, axis: np.expand_dims(i, axis), with_axis, 0.4, ndim=(1, 3))
_moved("contiguous", "{0}.contiguous()", lambda i: i, None, 0.6, ndim=(0, 9), sized=True)
_moved(
    "tril",
    "{0}.tril({k})",
    lambda i, k: np.where(np.tril(np.ones(i.shape, bool), k), i, -1),
    lambda m, r: {"k": int(m.rng.integers(-1, 2))},
    0.3,
    ndim=(2, 9),
    kind="float",
)
_moved(
    "roll",
    "{0}.roll({k}, {axis})",
    lambda i, k, axis: np.roll(i, k, axis),
    lambda m, r: {"k": int(m.rng.integers(-3, 4)), "axis": axis_of(m, r)},
    0.3,
)
_moved("diagonal", "{0}.diagonal()", lambda i: np.ascontiguousarray(np.diagonal(i)), None, 0.2, ndim=(2, 2), kind="float")


def _reshape(m, r):
    if r.size == 0:
        return None
    divisors = [d for d in range(1, r.size + 1) if r.size % d == 0]
    a = int(m.rng.choice(divisors))
    b = int(m.rng.choice([d for d in divisors if (r.size // a) % d == 0]))
    return {"shape": [(a, b, -1), (a, -1), (-1,)][int(m.rng.integers(3))]}


_moved("reshape", "{0}.reshape({shape})", lambda i, shape: i.reshape(shape), _reshape, 1.2, ndim=(0, 9))


def _shrink(m, r):
    out = []
    for n in r.shape:
        lo = int(m.rng.integers(0, n + 1)) if m.rng.random() < 0.05 else (int(m.rng.integers(0, n)) if n else 0)
        out.append((lo, int(m.rng.integers(min(lo + 1, n), n + 1))))
    return {"ranges": tuple(out)}


def _shrunk(i, ranges):
    if any(end > n for (_, end), n in zip(ranges, i.shape)):
        raise ValueError(f"{ranges} of {i.shape}")
    return i[tuple(slice(*p) for p in ranges)]


_moved("shrink", "{0}.shrink({ranges})", _shrunk, _shrink, 1.0)


def _slice(m, r):
    return {"steps": tuple(int(v) for v in m.rng.choice([1, 2, -1, -2], r.ndim))}


_moved("slice", "{0}[tuple(slice(None, None, s) for s in {steps})]", lambda i, steps: i[tuple(slice(None, None, s) for s in steps)], _slice, 0.7)


def _pad(m, r):
    return {"widths": tuple(tuple(int(v) for v in m.rng.integers(0, 3, 2)) for _ in r.shape)}


_moved("pad", "{0}.pad({widths})", lambda i, widths: np.pad(i, widths, constant_values=-1), _pad, 0.8)
op("pad_value", "{0}.pad({widths}, value=1.5)", lambda x, widths: _pad_value(x, widths), one(ndim=(1, 9), params=_pad), 0.4)


def _pad_value(x, widths):
    y = R.move(x, lambda i: np.pad(i, widths, constant_values=-1))
    inside = np.pad(np.ones(x.shape, bool), widths)
    return R.where(R.Ref(inside, np.zeros(inside.shape), "bool"), y, R.lift(1.5, x))


_moved(
    "expand",
    "{0}.unsqueeze(0).expand({n}, *{0}.shape)",
    lambda i, n: np.broadcast_to(i, (n, *i.shape)),
    lambda m, r: {"n": int(m.rng.integers(0 if m.rng.random() < 0.1 else 1, 4))},
    0.8,
    ndim=(0, 3),
)
_moved(
    "repeat", "{0}.repeat({n})", lambda i, n: np.tile(i, n), lambda m, r: {"n": tuple(int(v) for v in m.rng.integers(1, 3, r.ndim))}, 0.4, ndim=(1, 3)
)
_moved("unfold", "{0}.unfold({axis}, {size}, {step})", lambda i, axis, size, step: np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(i, size, axis)[(slice(None),) * axis + (slice(None, None, step),)]), lambda m, r: _unfold(m, r), 0.3, ndim=(1, 3), kind="float")  # fmt: skip


def _unfold(m, r):
    axis = int(m.rng.integers(r.ndim))
    return {"axis": axis, "size": int(m.rng.integers(1, r.shape[axis] + 1)), "step": int(m.rng.integers(1, 3))} if r.shape[axis] else None


def _cat(m):
    a = m.pick(lambda r: r.is_float and r.ndim)
    if a is None:
        return None
    r = m.refs[a]
    axis = int(m.rng.integers(r.ndim))
    shape = tuple(int(m.rng.integers(0, 4)) if k == axis else n for k, n in enumerate(r.shape))
    b = m.pick(lambda q: q.dt == r.dt and q.ndim == r.ndim and all(n == k or j == axis for j, (n, k) in enumerate(zip(q.shape, r.shape))))
    return (a, b if b is not None and b != a else m.float_leaf(shape, r.dt)), {"axis": axis}


op("cat", "{0}.cat({1}, dim={axis})", lambda a, b, axis: R.cat([a, b], axis), _cat, 1.0)
op("stack", "{0}.stack({0} * 2, dim=0)", lambda a: F.stack([a, a * 2.0], 0), one(ndim=(0, 3)), 0.4)

# ---- assignment: no gradient flows through these ----


def _assigned(x, y):
    return R.detach(x * 2.0 + y)


def _same_shape(m):
    a = m.pick(lambda r: r.is_float and r.ndim)
    return None if a is None else ((a, m.float_leaf(m.refs[a].shape, m.refs[a].dt)), {})


op("assign", "fuzz_assign({0}.detach(), {1}.detach())", _assigned, _same_shape, 0.4)


def _set_rows(m):
    a = m.pick(lambda r: r.is_float and r.ndim and r.shape[0])
    if a is None:
        return None
    r = m.refs[a]
    lo = int(m.rng.integers(r.shape[0]))
    return (a, m.float_leaf(r.shape[1:], r.dt)), {"lo": lo, "hi": int(m.rng.integers(lo, r.shape[0])) + 1}


def _set(x, y, lo, hi):
    np.broadcast_to(y.v, x.v[lo:hi].shape)  # an error where it does not fit
    inside = np.zeros(x.shape, bool)
    inside[lo:hi] = True
    return R.detach(R.where(R.Ref(inside, np.zeros(x.shape), "bool"), y, x))


op("setitem", "fuzz_setitem({0}.detach(), {1}.detach(), {lo}, {hi})", _set, _set_rows, 0.4)
op("detach", "{0}.detach()", R.detach, one(), 0.2, sized=True)
op("in_place", "fuzz_in_place({0}.detach())", lambda x: R.detach(x * 2.0 + 1.0), one(limit=1000), 0.3)
