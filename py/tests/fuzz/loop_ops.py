"""Loops over steps (polygrad.scan): the reference writes every step out."""

from __future__ import annotations

import numpy as np

from . import functions as F
from . import reference as R
from .graph_ops import rows_of_nodes
from .ops import op


def _flags(m):
    checkpoint = [False, True, 2][int(m.rng.integers(3))]
    return {"reverse": bool(m.rng.random() < 0.3), "checkpoint": checkpoint, "which": int(m.rng.integers(2))}


def _row(x, t):
    return R.move(x, lambda i: i[t])


def _steps(length, reverse):
    return range(length)[::-1] if reverse else range(length)


def _shapes(carry):
    return [r.shape for r in (carry if isinstance(carry, tuple) else (carry,))]


def _unrolled(step, carry, length, reverse, which):
    """The last carried value (which 0) or all results (1). As in PyTorch's scan, a last carried value that nobody reads has zeros for a gradient rather
    than none: where a step has an infinite slope, the difference shows."""
    results = {}
    for t in _steps(length, reverse):
        before = carry
        carry, results[t] = step(carry, t)
        if _shapes(carry) != _shapes(before):
            raise ValueError(f"carried values of shapes {_shapes(before)} become {_shapes(carry)}")
    if not which:
        return carry
    ys, ends = F.stack([results[t] for t in range(length)], 0), carry if isinstance(carry, tuple) else (carry,)
    zeros = [R.Ref(np.zeros(r.shape), np.zeros(r.shape), r.dt, fixed=True) for r in ends]
    return R.made(ys.v, ys.e, ys.dt, (ys, *ends), lambda g: [g, *zeros], R.EXACT)


def _stacked(m, ndim, limit):
    """A value with 1 to 6 rows, which are the steps."""
    return m.pick(lambda r: r.is_float and ndim[0] <= r.ndim <= ndim[1] and 1 <= r.shape[0] <= 6 and r.size and m.size_of(r) <= limit)


def _recurrent(m):
    xs = _stacked(m, (3, 3), 30) or m.float_leaf(tuple(int(v) for v in m.rng.integers(1, 5, 3)), m.float_dtype())
    r = m.refs[xs]
    return (m.float_leaf(r.shape[1:], r.dt), xs, m.float_leaf((r.shape[2], r.shape[2]), r.dt)), _flags(m)


def _rnn(h, xs, w, reverse, checkpoint, which):
    def step(h, t):
        h = F.tanh(_row(xs, t) + F.matmul(h, w))
        return h, h * 2.0

    return _unrolled(step, h, xs.shape[0], reverse, which)


op("scan_rnn", "fuzz_scan_rnn({0}, {1}, {2}, {reverse}, {checkpoint})[{which}]", _rnn, _recurrent, 1.0)


FUNCTIONS = {
    "var": lambda x: F.var(x, 0, True, 0) + x,
    "softmax": lambda x: F.softmax(x, 0),
    "log_softmax": lambda x: F.log_softmax(x, 1),
    "cumsum": lambda x: F.cumsum(x, 1),
    "cumprod": lambda x: F.cumprod(x, 1),
    "layernorm": lambda x: F.layernorm(x, 1e-5),
    "silu": F.silu,
}


def _function_operands(m):
    operands, flags = _recurrent(m)
    return operands, {"name": list(FUNCTIONS)[int(m.rng.integers(len(FUNCTIONS)))], "carried": bool(m.rng.random() < 0.5), **flags}


def _function(h, xs, w, name, carried, reverse, checkpoint, which):
    def step(h, t):
        x = _row(xs, t)
        h = FUNCTIONS[name](x + F.matmul(h, w)) * 0.5 if carried else F.tanh(h + FUNCTIONS[name](F.matmul(x, w)))
        return h, h * 2.0

    return _unrolled(step, h, xs.shape[0], reverse, which)


op(
    "scan_function",
    "fuzz_scan_function({0}, {1}, {2}, {name!r}, {carried}, {reverse}, {checkpoint})[{which}]",
    _function,
    _function_operands,
    1.0,
)


def _averaged(m):
    xs = _stacked(m, (1, 4), 100)
    if xs is None:
        return None
    r = m.refs[xs]
    return (m.float_leaf(r.shape[1:], r.dt), xs), _flags(m)


def _average(h, xs, reverse, checkpoint, which):
    def step(h, t):
        x = _row(xs, t)
        return h * 0.5 + F.sin(x), h * x

    return _unrolled(step, h, xs.shape[0], reverse, which)


op("scan_average", "fuzz_scan_average({0}, {1}, {reverse}, {checkpoint})[{which}]", _average, _averaged, 1.0)


def _looked_up(m):
    table = m.pick(lambda r: r.is_float and r.ndim == 2 and r.size and m.size_of(r) <= 100)
    if table is None:
        return None
    r = m.refs[table]
    return (m.float_leaf((r.shape[1],), r.dt), m.indices((int(m.rng.integers(1, 6)), 2), r.shape[0]), table), _flags(m)


def _lookup(h, i, table, reverse, checkpoint, which):
    def step(h, t):
        h = h * 0.5 + R.rsum(F.rows_at(table, i.v[t]), 0)
        return h, F.sigmoid(h)

    return _unrolled(step, h, i.shape[0], reverse, which)


op("scan_lookup", "fuzz_scan_lookup({0}, {1}, {2}, {reverse}, {checkpoint})[{which}]", _lookup, _looked_up, 0.7)


def _swap(a, b, xs, reverse, checkpoint, which):
    """Two carried values that change places: what is read must be what the step before wrote."""

    def step(carry, t):
        a, b = carry[1], carry[0] * 0.5 + _row(xs, t)
        return (a, b), a + b

    found = _unrolled(step, (a, b), xs.shape[0], reverse, which)
    return found if which else found[0]


def _swapped(m):
    chosen = _averaged(m)
    if chosen is None:
        return None
    (a, xs), p = chosen
    return (a, m.float_leaf(m.refs[a].shape, m.refs[a].dt), xs), p


op("scan_swap", "fuzz_scan_swap({0}, {1}, {2}, {reverse}, {checkpoint})[{which}]", _swap, _swapped, 0.7)


def _nested(h, xs, reverse, checkpoint, which):
    def step(h, t):
        row = _row(xs, t)
        for k in range(row.shape[0]):
            h = F.tanh(h * 0.5 + _row(row, k))
        return h, h * 2.0

    return _unrolled(step, h, xs.shape[0], reverse, which)


def _nested_operands(m):
    xs = m.pick(lambda r: r.is_float and 2 <= r.ndim <= 3 and 1 <= r.shape[0] <= 4 and 1 <= r.shape[1] <= 4 and r.size and m.size_of(r) <= 100)
    return None if xs is None else ((m.float_leaf(m.refs[xs].shape[2:], m.refs[xs].dt), xs), _flags(m))


op("scan_nested", "fuzz_scan_nested({0}, {1}, {reverse}, {checkpoint})[{which}]", _nested, _nested_operands, 0.5)


def _propagated(m):
    g = m.the_graph()
    x = m.pick(lambda r: r.is_float and r.ndim == 2 and r.shape[0] == g.n and r.size and m.size_of(r) <= 100) or m.float_leaf(
        (g.n, 3), m.float_dtype()
    )
    return (g.name, x), {"n": g.n, "length": int(m.rng.integers(1, 5)), **_flags(m)}


def _propagate(g, x, n, length, reverse, checkpoint, which):
    """Neighbours' means, several times over: no rows to read, and a value from outside in each step."""

    def step(h, t):
        h = F.segment_mean(rows_of_nodes(h, g.v[0], n), g.v[1], n) * 0.5 + x * 0.5
        return h, R.rsum(h, 1)

    return _unrolled(step, x, length, False, which)


op("g_scan", "fuzz_scan_propagate(Graph({0}, {n}), {1}, {length}, {checkpoint})[{which}]", _propagate, _propagated, 0.7)


def _recurrent_edges(m):
    g = m.the_graph()
    if not g.edges:
        return None
    x = m.pick(lambda r: r.is_float and r.ndim == 2 and r.shape[0] == g.n and r.size and m.size_of(r) <= 30) or m.float_leaf(
        (g.n, 5), m.float_dtype()
    )
    f = m.refs[x].shape[1]
    return (g.name, x, m.float_leaf((f, f), m.refs[x].dt)), {"n": g.n, "length": int(m.rng.integers(1, 4)), **_flags(m)}


def _gated(g, x, w, n, length, reverse, checkpoint, which):
    def step(h, t):
        d = rows_of_nodes(h, g.v[0], n) - F.rows_at(h, g.v[1])
        h = F.tanh(F.segment_sum(F.relu(F.matmul(d, w)), g.v[1], n) + h)
        return h, h * 0.5

    return _unrolled(step, x, length, False, which)


op("g_scan_edges", "fuzz_scan_edges(Graph({0}, {n}), {1}, {2}, {length}, {checkpoint})[{which}]", _gated, _recurrent_edges, 0.7)


# ---- loops that are written out, which the compiler finds ----


def _written(m):
    xs = m.float_leaf((int(m.rng.integers(2, 9)), *(int(v) for v in m.rng.integers(1, 5, 2))), m.float_dtype())
    r, n = m.refs[xs], int(m.rng.integers(1, 5))
    leaves = m.float_leaf((r.shape[1], n), r.dt), xs, m.float_leaf((r.shape[2], n), r.dt), m.float_leaf((n, n), r.dt)
    return leaves, {"reverse": bool(m.rng.random() < 0.3), "which": int(m.rng.integers(2))}


def _written_rnn(h, xs, w, u, reverse, which):
    rows = {}
    for t in _steps(xs.shape[0], reverse):
        h = F.tanh(F.matmul(_row(xs, t), w) + F.matmul(h, u))
        rows[t] = h * 2.0
    return F.stack([rows[t] for t in range(xs.shape[0])], 0) if which else h


op("written_rnn", "fuzz_written_rnn({0}, {1}, {2}, {3}, {reverse})[{which}]", _written_rnn, _written, 1.0)


def _normal_operands(m):
    n, dt = int(m.rng.integers(1, 5)), m.float_dtype()
    leaves = m.float_leaf((int(m.rng.integers(1, 4)), n), dt), m.float_leaf((n, n), dt)
    return leaves, {"length": int(m.rng.integers(2, 9)), "which": int(m.rng.integers(2))}


def _written_normal(h, w, length, which):
    total = None
    for t in range(length):
        h = F.matmul(h, w)
        h = h / F.sqrt(R.rsum(h * h, (0, 1)) + 1.0) * float(t + 1)
        row = R.rsum(h, (0, 1))
        total = row if total is None else total + row
    return total if which else h


op("written_normal", "fuzz_written_normal({0}, {1}, {length})[{which}]", _written_normal, _normal_operands, 0.7)


def _written_propagate(g, x, n, length, reverse, checkpoint, which):
    return _propagate(g, x, n, length, False, checkpoint, 0)


def _written_graph(m):
    operands, flags = _propagated(m)
    return operands, {**flags, "length": int(m.rng.integers(2, 8))}


op("g_written", "fuzz_written_propagate(Graph({0}, {n}), {1}, {length})", _written_propagate, _written_graph, 0.7)
