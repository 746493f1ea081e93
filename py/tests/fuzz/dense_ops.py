"""Sums of products that are large enough for tiles: linear maps, batches of products, convolutions, and maps of each edge.

Which of them the compiler computes in tiles of its own, tile by tile over the edges or by a library depends on sizes and on what the factors are
computed from, so both vary here: sizes on either side of the limits, factors that are gathered, joined, transposed or computed.
"""

from __future__ import annotations

from . import functions as F
from . import reference as R
from .graph_ops import G, _index, rows_of_nodes
from .ops import op

WIDTHS = (5, 8, 9, 12, 16, 17, 24, 33)
MOST_PRODUCTS = 60000


def _width(m):
    return int(m.rng.choice(WIDTHS))


def _matrix(m, rows=None, limit=100):
    """A value with two axes, of which the last is summed over."""
    found = m.pick(
        lambda r: r.is_float and r.ndim == 2 and r.shape[1] >= 4 and (rows is None or r.shape[0] == rows) and r.size and m.size_of(r) <= limit
    )
    return found or m.float_leaf((_width(m) if rows is None else rows, _width(m)), m.float_dtype())


def _columns(m, r, limit=MOST_PRODUCTS):
    """How many columns a product with r may have."""
    limit = 20 * limit if m.crowd else limit
    return max(1, min(_width(m), limit // max(r.size, 1)))


def _weight(m, a, transposed=False):
    r = m.refs[a]
    n = _columns(m, r)
    return m.float_leaf((n, r.shape[-1]) if transposed else (r.shape[-1], n), r.dt)


def _linear(m):
    a = _matrix(m)
    w = _weight(m, a)
    return (a, w, m.float_leaf((m.refs[w].shape[1],), m.refs[a].dt)), {}


def _two(transposed):
    def choose(m):
        a = _matrix(m)
        return (a, _weight(m, a, transposed)), {}

    return choose


def _turned(x):
    return R.move(x, lambda i: i.swapaxes(-1, -2))


op("d_linear", "({0} @ {1} + {2}).relu()", lambda x, w, b: F.relu(F.matmul(x, w) + b), _linear, 2.0)
op("d_transposed", "({0} @ {1}.transpose(0, 1)).tanh()", lambda x, w: F.tanh(F.matmul(x, _turned(w))), _two(True), 1.0)
op("d_computed", "({0}.sigmoid() @ ({1} * 2))", lambda x, w: F.matmul(F.sigmoid(x), w * 2.0), _two(False), 1.0)
op("d_normed", "({0}.softmax(1) @ {1})", lambda x, w: F.matmul(F.softmax(x, 1), w), _two(False), 0.7)
op("d_gram", "({0}.transpose(0, 1) @ {0})", lambda x: F.matmul(_turned(x), x), lambda m: ((_matrix(m),), {}), 0.7)


def _gathered(m):
    a = _matrix(m)
    rows = int(m.rng.choice([3, 9, 30]))
    return (a, m.indices((rows,), m.refs[a].shape[0]), m.float_leaf((m.refs[a].shape[1], _width(m)), m.refs[a].dt)), {}


op("d_gathered", "({0}[{1}] @ {2})", lambda x, i, w: F.matmul(F.rows_at(x, i.v), w), _gathered, 1.0)


def _joined(m):
    a = _matrix(m)
    r = m.refs[a]
    b = _matrix(m, r.shape[0])
    b = b if m.refs[b].dt == r.dt else m.float_leaf((r.shape[0], _width(m)), r.dt)
    k = r.shape[1] + m.refs[b].shape[1]
    return (a, b, m.float_leaf((k, max(1, min(_width(m), MOST_PRODUCTS // (r.shape[0] * k)))), r.dt)), {}


op("d_joined", "({0}.cat({1}, dim=1) @ {2})", lambda x, y, w: F.matmul(R.cat([x, y], 1), w), _joined, 1.0)


def _batched(m):
    a = m.pick(lambda r: r.is_float and r.ndim == 3 and r.size and m.size_of(r) <= 100)
    if a is None:
        a = m.float_leaf((int(m.rng.integers(1, 5)), _width(m), _width(m)), m.float_dtype())
    r = m.refs[a]
    return (a, m.float_leaf((r.shape[0], r.shape[2], _columns(m, r)), r.dt)), {}


op("d_batched", "({0} @ {1})", F.matmul, _batched, 1.0)


def _heads(m):
    a = m.pick(lambda r: r.is_float and r.ndim == 3 and r.size and m.size_of(r) <= 30)
    a = a or m.float_leaf((int(m.rng.integers(1, 4)), _width(m), int(m.rng.choice([4, 8, 9]))), m.float_dtype())
    r = m.refs[a]
    return (a, m.float_leaf(r.shape, r.dt), m.float_leaf(r.shape, r.dt)), {}


def _attention(q, k, v):
    return F.matmul(F.softmax(F.matmul(q, _turned(k)) * 0.5, 2), v)


op("d_attention", "(({0} @ {1}.transpose(1, 2) * 0.5).softmax(2) @ {2})", _attention, _heads, 0.7)


def _convolution(m):
    groups = int(m.rng.choice([1, 1, 2]))
    channels, out = groups * int(m.rng.integers(1, 5)), groups * int(m.rng.choice([1, 4, 5, 8]))
    h, w = (int(m.rng.choice([4, 7, 9, 12])) for _ in range(2))
    x = m.pick(
        lambda r: r.is_float and r.ndim == 4 and r.shape[1] == channels and min(r.shape[2:]) >= 3 and 0 < r.size <= 2000 and m.size_of(r) <= 100
    )
    x = x or m.float_leaf((int(m.rng.integers(1, 3)), channels, h, w), m.float_dtype())
    kernel = tuple(int(v) for v in m.rng.choice([1, 2, 3], 2))
    p = {"groups": groups, "stride": int(m.rng.integers(1, 3)), "dilation": 1, "padding": int(m.rng.integers(0, 2))}
    return (x, m.float_leaf((out, channels // groups, *kernel), m.refs[x].dt), m.float_leaf((out,), m.refs[x].dt)), p


def _conv(x, w, b, **p):
    return F.relu(F.conv2d(x, w, **p) + R.reshape(b, (1, b.size, 1, 1)))


op("d_conv", "{0}.conv2d({1}, {2}, {groups}, {stride}, {dilation}, {padding}).relu()", _conv, _convolution, 1.0)


def _einsum(m):
    a = m.pick(lambda r: r.is_float and r.ndim == 3 and 0 < r.size <= 3000 and m.size_of(r) <= 100)
    a = a or m.float_leaf((int(m.rng.integers(2, 6)), _width(m), int(m.rng.choice([4, 8, 9]))), m.float_dtype())
    b, i, k = m.refs[a].shape
    formula, shape = [
        ("bik,kj->bij", (k, 9)),
        ("bik,bj->ikj", (b, 8)),
        ("bik,bij->kj", (b, i, 8)),
        ("bik,ij->bkj", (i, 12)),
        ("bik,ikj->bj", (i, k, 8)),
    ][int(m.rng.integers(5))]
    if m.refs[a].size * shape[-1] > MOST_PRODUCTS:
        return None
    return (a, m.float_leaf(shape, m.refs[a].dt)), {"formula": formula}


op("d_einsum", "Tensor.einsum('{formula}', {0}, {1})", lambda a, b, formula: F.einsum(formula, a, b), _einsum, 1.0)

# ---- maps of each edge ----

REDUCE = ("sum", "mean", "max", "min", "logsumexp")


def _reduced(x, index, n, reduce):
    from .graph_ops import _logsumexp

    return {
        "sum": F.segment_sum,
        "mean": F.segment_mean,
        "max": F.segment_max,
        "min": lambda *a: F.segment_max(*a, -1.0),
        "logsumexp": _logsumexp,
    }[reduce](x, index, n)


def _edge_operands(m, both):
    g = m.the_graph()
    if not g.edges:
        return None
    x, e = _matrix(m, g.n, 30), _matrix(m, g.edges, 30)
    dt = m.refs[x].dt
    if m.refs[e].dt != dt:
        e = m.float_leaf((g.edges, _width(m)), dt)
    f, d = m.refs[x].shape[1], m.refs[e].shape[1]
    hidden = int(m.rng.choice([5, 8, 12])) if both else f
    w, u = m.float_leaf((2 * f + d if both else d, hidden), dt), m.float_leaf((hidden, int(m.rng.choice([5, 6, 9]))), dt)
    p = {"n": g.n, "side": str(m.rng.choice(["in", "out"])), "reduce": str(m.rng.choice(REDUCE))}
    return (g.name, x, e, w, u), p


def _edge_mlp(g, x, e, w, u, n, side, reduce):
    joined = R.cat([rows_of_nodes(x, g.v[0], n), F.rows_at(x, g.v[1]), e], 1)
    return _reduced(F.matmul(F.relu(F.matmul(joined, w)), u), _index(g, side), n, reduce)


def _edge_sum(g, x, e, w, u, n, side, reduce):
    return _reduced(F.matmul(F.relu(F.matmul(e, w) + rows_of_nodes(x, g.v[0], n)), u), _index(g, side), n, reduce)


op("e_mlp", "fuzz_edge_mlp(Graph({0}, {n}), {1}, {2}, {3}, {4}, '{side}', '{reduce}')", _edge_mlp, lambda m: _edge_operands(m, True), 2.0)
op("e_sum", "fuzz_edge_sum(Graph({0}, {n}), {1}, {2}, {3}, {4}, '{side}', '{reduce}')", _edge_sum, lambda m: _edge_operands(m, False), 2.0)


def _layer_operands(m):
    chosen = _edge_operands(m, True)
    if chosen is None:
        return None
    args, p = chosen
    return args, {"n": p["n"], "aggr": str(m.rng.choice(["sum", "mean", "max"]))}


def _layer(g, x, e, w, u, n, aggr):
    return _edge_mlp(g, x, e, w, u, n, "in", aggr)


op("mp_layer", "fuzz_layer({0}, {1}, {2}, {3}, {4}, '{aggr}')", _layer, _layer_operands, 1.5)


def _rows_linear(m):
    """A linear map of values along edges, or of their gathered ends."""
    g = m.the_graph()
    a = _matrix(m, g.edges if g.edges else None)
    return (a, _weight(m, a)), {}


op("e_linear", "({0} @ {1})", F.matmul, _rows_linear, 1.5)
op("g_src_wide", G + "src({1})", lambda g, x, n: rows_of_nodes(x, g.v[0], n), lambda m: _wide_nodes(m), 1.0)


def _wide_nodes(m):
    g = m.the_graph()
    return (g.name, _matrix(m, g.n, 1000)), {"n": g.n}


def _vertex_operands(m):
    g = m.the_graph()
    h = _matrix(m, g.n, 30)
    f = m.refs[h].shape[1]
    w = m.float_leaf((f, int(m.rng.choice([5, 8]))), m.refs[h].dt)
    return (g.name, h, w, m.float_leaf((m.refs[w].shape[1], int(m.rng.choice([5, 7]))), m.refs[h].dt)), {"n": g.n}


def _vertex_mlp(g, h, w, u, n):
    d = rows_of_nodes(h, g.v[0], n) * F.rows_at(h, g.v[1])
    return F.segment_sum(F.matmul(F.tanh(F.matmul(d, w)), u), g.v[1], n)


op("v_mlp", "fuzz_vertex_mlp(Graph({0}, {n}), {1}, {2}, {3})", _vertex_mlp, _vertex_operands, 1.5)


def _scored(m):
    g = m.the_graph()
    if not g.edges:
        return None
    e = _matrix(m, g.edges, 30)
    r = m.refs[e]
    return (g.name, e, m.float_leaf((r.shape[1], 3), r.dt), m.float_leaf((r.shape[1], 12), r.dt)), {"n": g.n}


def _scored_sum(g, e, score, value, n):
    a = F.segment_softmax(F.matmul(e, score), g.v[1], n)
    v = R.reshape(F.matmul(e, value), (e.shape[0], 3, 4))
    return F.segment_sum(R.reshape(R.reshape(a, (e.shape[0], 3, 1)) * v, (e.shape[0], 12)), g.v[1], n)


op("e_scored", "fuzz_scored(Graph({0}, {n}), {1}, {2}, {3})", _scored_sum, _scored, 1.0)

DENSE = ("d_", "e_", "mp_", "v_mlp", "g_src_wide")


def is_dense(name):
    return name.startswith(DENSE)
