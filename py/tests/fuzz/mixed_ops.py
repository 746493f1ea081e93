"""Programs of several parts that the other tables hold apart: products of all edges or nodes with each other beside sums by rows, views that are assigned,
further vertex programs, and loops over steps whose bodies have attention or products in them.

They have a table of their own, which some programs draw from: what the seeds of the others mean stays as it is.
"""

from __future__ import annotations

import numpy as np

from . import functions as F
from . import reference as R
from .graph_ops import _index, rows_of_nodes
from .loop_ops import _flags, _unrolled
from .ops import op

MOST = 130  # rows that are multiplied with each other


def _turned(x):
    return R.move(x, lambda i: i.swapaxes(-1, -2))


def _matrix(m, limit=30, rows=None):
    """A value with two axes and few rows."""
    fits = lambda r: r.is_float and r.ndim == 2 and r.size and r.shape[0] <= MOST and r.shape[0] in (rows or (r.shape[0],))  # noqa: E731
    return m.pick(lambda r: fits(r) and m.size_of(r) <= limit)


def _of_graph(m, limit=30):
    """A value of the edges or nodes of the graph with two axes."""
    g = m.the_graph()
    if not g.edges:
        return None, None
    rows = (g.edges, g.n)[int(m.rng.integers(2))]
    if rows > MOST:
        return None, None
    return g, _matrix(m, limit, (rows,)) or m.float_leaf((rows, int(m.rng.integers(1, 10))), m.float_dtype())


def _like(m, a, limit=30):
    """Another value of the same dtype and rows; it may be the same."""
    r = m.refs[a]
    found = m.pick(lambda q: q.is_float and q.ndim == 2 and q.shape[0] == r.shape[0] and q.dt == r.dt and q.size and m.size_of(q) <= limit)
    return found or m.float_leaf((r.shape[0], int(m.rng.integers(1, 6))), r.dt)


# ---- products ----


def _square(m):
    _, x = _of_graph(m)
    if x is None:
        return None
    r = m.refs[x]
    return (x, m.float_leaf((r.shape[0], r.shape[0]), r.dt)), {}


op("x_all", "({1} @ {0})", lambda x, a: F.matmul(a, x), _square, 1.5)
op("x_all_turned", "({1}.transpose(0, 1) @ {0})", lambda x, a: F.matmul(_turned(a), x), _square, 1.0)
op("x_weighted", "(({1} @ {0}) * {0})", lambda x, a: F.matmul(a, x) * x, _square, 1.0)


def _gram(m):
    _, x = _of_graph(m)
    if x is None:
        return None
    r = m.refs[x]
    y = m.pick(lambda q: q.is_float and q.ndim == 2 and q.shape[1] == r.shape[1] and q.dt == r.dt and 0 < q.shape[0] <= MOST and m.size_of(q) <= 30)
    return (x, y or x), {}


op("x_gram", "({0} @ {1}.transpose(0, 1))", lambda x, y: F.matmul(x, _turned(y)), _gram, 1.0)
op("x_einsum", "Tensor.einsum('ij,kj->ik', {0}, {1})", lambda x, y: F.einsum("ij,kj->ik", x, y), _gram, 0.7)
op(
    "x_attention",
    "(({0} @ {1}.transpose(0, 1) * 0.5).softmax(1) @ {1})",
    lambda x, y: F.matmul(F.softmax(F.matmul(x, _turned(y)) * 0.5, 1), y),
    _gram,
    1.0,
)


def _both(m):
    _, x = _of_graph(m, 10)
    return None if x is None else ((x, _like(m, x, 10)), {})


op("x_inner", "({0}.transpose(0, 1) @ {1})", lambda x, y: F.matmul(_turned(x), y), _both, 1.0)
op("x_linear_attention", "({0} @ ({0}.transpose(0, 1) @ {1}))", lambda x, y: F.matmul(x, F.matmul(_turned(x), y)), _both, 1.0)
op("x_sums", "Tensor.einsum('ij,ik->i', {0}, {1})", lambda x, y: F.einsum("ij,ik->i", x, y), _both, 0.5)


def _columns(m):
    _, x = _of_graph(m)
    return None if x is None else ((x,), {})


op("x_centred", "({0} - {0}.mean(0, True))", lambda x: x - F.mean(x, 0, True), _columns, 0.7)
op("x_standard", "({0} / ({0}.var(0, True, 0) + 0.1).sqrt())", lambda x: x / F.sqrt(F.var(x, 0, True, 0) + 0.1), _columns, 0.7)
op("x_columns", "{0}.softmax(0)", lambda x: F.softmax(x, 0), _columns, 0.7)


def _normed(m):
    g = m.the_graph()
    if not g.edges or g.edges > MOST:
        return None
    x = _matrix(m, 30, (g.edges,)) or m.float_leaf((g.edges, int(m.rng.integers(1, 10))), m.float_dtype())
    r = m.refs[x]
    return (g.name, x, m.float_leaf((r.shape[0], r.shape[0]), r.dt)), {"n": g.n, "side": str(m.rng.choice(["in", "out"]))}


def _soft_products(g, x, a, n, side):
    s = F.segment_softmax(x, _index(g, side), n)
    return F.matmul(s, _turned(s)) * a


def _product_sums(g, x, a, n, side):
    return F.segment_sum(F.matmul(a, F.tanh(x)) * x, _index(g, side), n)


op("x_soft_gram", "fuzz_soft_gram(Graph({0}, {n}), {1}, {2}, '{side}')", _soft_products, _normed, 1.0)
op("x_product_sum", "Graph({0}, {n}).sum(({2} @ {1}.tanh()) * {1}, '{side}')", _product_sums, _normed, 1.0)

# ---- views that are assigned: no gradient flows through them ----


def _changes(m):
    a = m.pick(lambda r: r.is_float and 1 <= r.ndim <= 3 and r.size and m.size_of(r) <= 100)
    if a is None:
        return None
    shapes, script = [m.refs[a].shape], []
    for _ in range(int(m.rng.integers(2, 8))):
        k = int(m.rng.integers(len(shapes)))
        what = str(m.rng.choice(["part", "flip", "permute", "flat", "scale", "scale", "first", "read", "use"]))
        axis = int(m.rng.integers(len(shapes[k])))
        lo = int(m.rng.integers(shapes[k][axis]))
        detail = {"part": (axis, lo), "flip": axis, "permute": tuple(int(v) for v in m.rng.permutation(len(shapes[k])))}.get(what, 0)
        script.append((what, k, detail))
        if what in ("part", "flip", "permute", "flat"):
            shapes.append(_seen(np.zeros(shapes[k]), what, detail).shape)
    return (a,), {"script": tuple(script), "which": int(m.rng.integers(len(shapes)))}


def _seen(a, what, detail):
    if what == "part":
        axis, lo = detail
        if lo >= a.shape[axis]:
            raise ValueError("an empty part")
        return a[(slice(None),) * axis + (slice(lo, None),)]
    return np.flip(a, detail) if what == "flip" else a.transpose(detail) if what == "permute" else a.reshape(-1)


def _changed(x, script, which):
    """A change of a view changes its tensor and the views between the two, and nothing else."""
    root = R.detach(x)
    handles = [(root, np.arange(x.size).reshape(x.shape), ())]  # value, places, the handles above it
    for what, k, detail in script:
        value, places, above = handles[k]
        if what in ("part", "flip", "permute", "flat"):
            handles.append((R.detach(R.move(value, lambda i, w=what, d=detail: _seen(i, w, d))), _seen(places, what, detail), (*above, k)))
        elif what in ("scale", "first"):
            new = value * 0.5 + 1.0
            if what == "first":
                rest = np.zeros(places.shape, bool)
                rest[0] = True
                new = R.where(R.Ref(rest, np.zeros(places.shape), "bool"), R.lift(0.25, value), value)
            hit = np.full(x.size, -1)
            hit[places.reshape(-1)] = np.arange(places.size)
            hit = hit.reshape(x.shape)
            first = handles[0][0]
            root = R.detach(R.where(R.Ref(hit >= 0, np.zeros(x.shape), "bool"), R.take(new, hit), first))
            for h in {0, *above, k}:
                at = handles[h][1]
                handles[h] = (R.detach(R.take(root, at)), at, handles[h][2])
    return handles[which][0]


op("x_views", "fuzz_views({0}.detach(), {script}, {which})", _changed, _changes, 1.5)

# ---- vertex programs ----


def _vertex(m, limit=30):
    g = m.the_graph()
    h = m.pick(lambda r: r.is_float and r.ndim == 2 and r.shape[0] == g.n and r.size and m.size_of(r) <= limit)
    return g, h or m.float_leaf((g.n, int(m.rng.integers(1, 6))), m.float_dtype())


def _two_layers(m):
    g, h = _vertex(m, 10)
    f = m.refs[h].shape[1]
    return (g.name, h, m.float_leaf((f, f), m.refs[h].dt)), {"n": g.n}


def _layers(g, h, w, n):
    for _ in range(2):
        h = F.tanh(F.segment_sum(rows_of_nodes(F.matmul(h, w), g.v[0], n), g.v[1], n) + h)
    return h


op("x_v_layers", "fuzz_vertex_layers(Graph({0}, {n}), {1}, {2})", _layers, _two_layers, 0.7)


def _edge_features(m):
    g, h = _vertex(m)
    if not g.edges:
        return None
    return (g.name, h, m.float_leaf((g.edges, 1), m.refs[h].dt)), {"n": g.n}


def _by_edges(g, h, e, n):
    src, dst = g.v
    top = F.segment_max(e * rows_of_nodes(h, src, n), dst, n)
    out = F.segment_sum(F.sigmoid(e) * (rows_of_nodes(h, dst, n) - F.rows_at(h, src)), src, n)
    return top + out


op("x_v_edges", "fuzz_vertex_edges(Graph({0}, {n}), {1}, {2})", _by_edges, _edge_features, 0.7)

# ---- loops over steps ----


def _steps_of_attention(m):
    g, h = _vertex(m, 10)
    if not g.edges:
        return None
    f = m.refs[h].shape[1]
    return (g.name, h, m.float_leaf((f, 1), m.refs[h].dt)), {"n": g.n, "length": int(m.rng.integers(1, 4)), **_flags(m)}


def _attended(g, x, w, n, length, reverse, checkpoint, which):
    def step(h, t):
        score = F.matmul(F.tanh(rows_of_nodes(h, g.v[0], n) + F.rows_at(h, g.v[1])), w)
        h = F.segment_sum(F.segment_softmax(score, g.v[1], n) * F.rows_at(h, g.v[0]), g.v[1], n) * 0.5 + x * 0.5
        return h, F.tanh(h)

    return _unrolled(step, x, length, False, which)


op("x_scan_attention", "fuzz_scan_attention(Graph({0}, {n}), {1}, {2}, {length}, {checkpoint})[{which}]", _attended, _steps_of_attention, 0.7)


def _steps_of_products(m):
    x = _matrix(m, 10) or m.float_leaf((int(m.rng.integers(1, 8)), int(m.rng.integers(1, 8))), m.float_dtype())
    r = m.refs[x]
    if r.shape[0] > 24:
        return None
    return (x, m.float_leaf((r.shape[0], r.shape[0]), r.dt)), {"length": int(m.rng.integers(1, 5)), **_flags(m)}


def _mixed(x, a, length, reverse, checkpoint, which):
    def step(h, t):
        h = F.softmax(F.matmul(a, h) + F.matmul(_turned(a), h), 0) + x * 0.25
        return h, R.rsum(h * h, 1)

    return _unrolled(step, x, length, False, which)


op("x_scan_products", "fuzz_scan_products({0}, {1}, {length}, {checkpoint})[{which}]", _mixed, _steps_of_products, 0.7)

MIXED = "x_"
