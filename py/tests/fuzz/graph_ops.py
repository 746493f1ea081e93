"""Operations on graphs: values along edges, sums, maxima and softmax by row, segments and scatters of polygrad.geometric, vertex programs.

The graph of a program is a leaf [2, E] of whole numbers. Node values have n rows, edge values E.
"""

from __future__ import annotations

import numpy as np

from . import functions as F
from . import reference as R
from .ops import op

G = "Graph({0}, {n})."


def _rows(m, count, limit=1000):
    return m.pick(lambda r: r.is_float and 1 <= r.ndim <= 3 and r.shape[0] == count and m.size_of(r) <= limit) or m.float_leaf(
        (count, int(m.rng.integers(1, 4))), m.float_dtype()
    )


def _nodes(m, **p):
    g = m.the_graph()
    return (g.name, _rows(m, g.n, p.pop("limit", 1000))), {"n": g.n, **p}


def _edges(m, limit=1000, nonempty=False):
    g = m.the_graph()
    if nonempty and not g.edges:
        return None
    return (g.name, _rows(m, g.edges, limit)), {"n": g.n, "side": str(m.rng.choice(["in", "out"]))}


def rows_of_nodes(x, index, n):
    """x has a row for each of n nodes: those at the ends of edges."""
    if x.shape[0] != n:
        raise ValueError(f"{x.shape[0]} rows for {n} nodes")
    return F.rows_at(x, index)


def _index(g, side):
    return g.v[1] if side == "in" else g.v[0]


op("g_src", G + "src({1})", lambda g, x, n: rows_of_nodes(x, g.v[0], n), _nodes, 2.0)
op("g_dst", G + "dst({1})", lambda g, x, n: rows_of_nodes(x, g.v[1], n), _nodes, 1.5)
op("g_sum", G + "sum({1}, '{side}')", lambda g, x, n, side: F.segment_sum(x, _index(g, side), n), _edges, 2.0)
op("g_mean", G + "mean({1}, '{side}')", lambda g, x, n, side: F.segment_mean(x, _index(g, side), n), _edges, 1.0)
op("g_max", G + "max({1}, '{side}')", lambda g, x, n, side: F.segment_max(x, _index(g, side), n), _edges, 1.0)
op("g_min", G + "min({1}, '{side}')", lambda g, x, n, side: F.segment_max(x, _index(g, side), n, -1.0), _edges, 0.7)
op("g_softmax", G + "softmax({1}, '{side}')", lambda g, x, n, side: F.segment_softmax(x, _index(g, side), n), lambda m: _edges(m, 100, True), 1.5)


def _var(x, index, n):
    d = x - F.rows_at(F.segment_mean(x, index, n), index)
    return F.segment_mean(d * d, index, n)


op("g_var", G + "var({1}, '{side}')", lambda g, x, n, side: _var(x, _index(g, side), n), _edges, 0.5)


def _logsumexp(x, index, n):
    top = R.detach(F.segment_max(x, index, n))
    total = F.segment_sum(F.exp(x - F.rows_at(top, index)), index, n)
    empty = (np.bincount(index, minlength=n)[:n] == 0).reshape(-1, *[1] * (x.ndim - 1))
    mask = R.Ref(np.broadcast_to(empty, total.shape), np.zeros(total.shape), "bool")
    return R.where(mask, R.lift(0.0, x), F.log(R.where(mask, R.lift(1.0, x), total)) + top)


op("g_logsumexp", G + "logsumexp({1}, '{side}')", lambda g, x, n, side: _logsumexp(x, _index(g, side), n), lambda m: _edges(m, 100), 0.5)
op("g_prod", G + "prod({1}, '{side}')", lambda g, x, n, side: _prod(x, _index(g, side), n), lambda m: _edges(m, 10), 0.4)


def _prod(x, index, n):
    y, there = F.segment_table(x, index, n)
    return F.prod(R.where(there, y, R.lift(1.0, x)), 1, False)


# ---- polygrad.geometric ----

op(
    "pyg_scatter",
    "scatter({1}, {0}[{row}], 0, {n}, '{reduce}')",
    lambda g, x, n, row, reduce: _scatter(x, g.v[row], n, reduce),
    lambda m: _reduced(m),
    1.0,
)
op(
    "pyg_softmax",
    "softmax({1}, {0}[{row}], num_nodes={n})",
    lambda g, x, n, row, reduce: F.segment_softmax(x, g.v[row], n),
    lambda m: _reduced(m, True),
    0.7,
)


def _reduced(m, nonempty=False):
    chosen = _edges(m, 100, nonempty)
    if chosen is None:
        return None
    args, p = chosen
    return args, {"n": p["n"], "row": int(m.rng.integers(2)), "reduce": str(m.rng.choice(["sum", "mean", "max", "min"]))}


def _scatter(x, index, n, reduce):
    f = {"sum": F.segment_sum, "mean": F.segment_mean, "max": F.segment_max, "min": lambda *a: F.segment_max(*a, -1.0)}[reduce]
    return f(x, index, n)


# ---- vertex programs ----


def _attention_operands(m):
    g = m.the_graph()
    h = m.pick(lambda r: r.is_float and r.ndim == 2 and r.shape[0] == g.n and m.size_of(r) <= 100) or m.float_leaf((g.n, 3), "float32")
    dt = m.refs[h].dt
    return (g.name, h, m.float_leaf((g.n, 1), dt), m.float_leaf((g.n, 1), dt)), {"n": g.n}


def _attention(g, h, el, er, n):
    src, dst = g.v
    c = F.exp(F.leaky_relu(F.rows_at(el, src) + F.rows_at(er, dst), 0.25))
    s = F.segment_sum(c, dst, n)
    return F.segment_sum(c / F.rows_at(s, dst) * rows_of_nodes(h, src, n), dst, n)


op("v_attention", "fuzz_attention(Graph({0}, {n}), {1}, {2}, {3})", _attention, _attention_operands, 0.7)
op(
    "v_difference",
    "fuzz_mean_difference(Graph({0}, {n}), {1})",
    lambda g, h, n: F.segment_sum(F.tanh(rows_of_nodes(h, g.v[0], n) - F.rows_at(h, g.v[1])), g.v[1], n),
    _nodes,
    0.7,
)
