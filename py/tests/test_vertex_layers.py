"""The layers of examples/vertex: values against dense loops in numpy, gradients against finite differences, and what is stored."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from graph_helpers import KINDS, assert_narrow, big_graph, edges, stored_by
from helpers import gradcheck

from polygrad import Graph, HeteroGraph, Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "vertex"))

from agnn import agnn_layer  # noqa: E402
from appnp import appnp_layer  # noqa: E402
from cheb import cheb_layer  # noqa: E402
from dgmg import dgmg, dgmg_gated  # noqa: E402
from edgeconv import edgeconv  # noqa: E402
from gat import GAT, gat_by_hand, gatv2_layer  # noqa: E402
from gcn import gcn_layer  # noqa: E402
from geomgcn import geomgcn  # noqa: E402
from ggnn import ggnn  # noqa: E402
from gin import gin  # noqa: E402
from rgcn import rgcn  # noqa: E402
from sage import sage_max, sage_mean  # noqa: E402

F, O, H, K = 5, 3, 2, 2  # features in and out, heads, edge features


# ---- references: loops over vertices and edges ----


def loops_added(index, nodes):
    """Edge lists with the missing self loops behind."""
    have = {a for a, b in index.T if a == b}
    more = [k for k in range(nodes) if k not in have]
    return np.concatenate([index, np.array([more, more], np.int64).reshape(2, -1)], 1)


def over(index, nodes, message, reduce, shape):
    """reduce([message(source, destination, edge)]) at every node; zeros where there are no edges."""
    out = np.zeros((nodes, *shape))
    for v in range(nodes):
        got = [message(s, v, k) for k, (s, d) in enumerate(index.T) if d == v]
        if got:
            out[v] = reduce(np.array(got))
    return out


def add(m):
    return m.sum(0)


def norm_of(index, nodes):
    degree = np.bincount(index[1], minlength=nodes).astype(float)
    return np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0)


def softmax(e):
    p = np.exp(e - e.max(0))
    return p / p.sum(0)


def leaky(x, slope=0.2):
    return np.where(x > 0, x, slope * x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def ref_gcn(index, nodes, h, w):
    index = loops_added(index, nodes)
    n = norm_of(index, nodes)
    return over(index, nodes, lambda s, v, k: n[s] * n[v] * (h[s] @ w), add, (w.shape[1],))


def attention(index, nodes, score, value, shape):
    """sum of softmax(score) value, for scores [heads] and values [heads, out]."""
    out = np.zeros((nodes, *shape))
    for v in range(nodes):
        near = [(s, k) for k, (s, d) in enumerate(index.T) if d == v]
        if near:
            a = softmax(np.array([score(s, v, k) for s, k in near]))
            out[v] = sum(a[j].reshape(np.shape(a[j]) + (1,)) * value(s) for j, (s, _) in enumerate(near))
    return out


def ref_gat(index, nodes, h, el, er):
    return attention(index, nodes, lambda s, v, k: leaky(el[s] + er[v]), lambda s: h[s], h.shape[1:])


def ref_gatv2(index, nodes, h, wl, wr, attn):
    l, r = (h @ wl).reshape(-1, *attn.shape), (h @ wr).reshape(-1, *attn.shape)
    return attention(index, nodes, lambda s, v, k: (attn * leaky(l[s] + r[v])).sum(-1), lambda s: l[s], attn.shape)


def ref_sage_mean(index, nodes, h, w_self, w_nbr):
    return h @ w_self + over(index, nodes, lambda s, v, k: h[s], lambda m: m.mean(0), h.shape[1:]) @ w_nbr


def ref_sage_max(index, nodes, h, w_self, w_nbr, w_pool, b_pool):
    pooled = over(index, nodes, lambda s, v, k: np.maximum(h[s] @ w_pool + b_pool, 0), lambda m: m.max(0), b_pool.shape)
    return h @ w_self + pooled @ w_nbr


def ref_gin(index, nodes, h, eps, w1, w2):
    return np.maximum((h * (1 + eps) + over(index, nodes, lambda s, v, k: h[s], add, h.shape[1:])) @ w1, 0) @ w2


def ref_appnp(index, nodes, h):
    index = loops_added(index, nodes)
    n, z = norm_of(index, nodes), h
    for _ in range(3):
        z = 0.9 * over(index, nodes, lambda s, v, k: n[s] * n[v] * z[s], add, h.shape[1:]) + 0.1 * h  # noqa: B023
    return z


def ref_cheb(index, nodes, h, *ws):
    n = norm_of(index, nodes)

    def laplace(x):
        return -over(index, nodes, lambda s, v, k: n[s] * n[v] * x[s], add, h.shape[1:])

    t = [h, laplace(h)]
    while len(t) < len(ws):
        t.append(2 * laplace(t[-1]) - t[-2])
    return sum(x @ w for x, w in zip(t, ws))


def ref_agnn(index, nodes, h, beta):
    index = loops_added(index, nodes)
    u = h / np.maximum(np.sqrt((h * h).sum(-1, keepdims=True)), 1e-12)
    return attention(index, nodes, lambda s, v, k: beta * (u[s] @ u[v]), lambda s: h[s], h.shape[1:])


def ref_edgeconv(index, nodes, h, w, b):
    message = lambda s, v, k: np.maximum(np.concatenate([h[v], h[s] - h[v]]) @ w + b, 0)  # noqa: E731
    return over(index, nodes, message, lambda m: m.max(0), b.shape)


def parts(index):
    """The edges of a graph as those of three relations, the third of them empty if there are few."""
    return [index[:, 0::3], index[:, 1::3], index[:, 2::3]]


def hetero(index, nodes):
    return HeteroGraph({("node", f"r{k}", "node"): np.ascontiguousarray(p) for k, p in enumerate(parts(index))}, {"node": nodes})


def ref_rgcn(index, nodes, h, w_self, *ws):
    out = h @ w_self
    for part, w in zip(parts(index), ws):
        out = out + over(part, nodes, lambda s, v, k: h[s] @ w, lambda m: m.mean(0), (w.shape[1],))  # noqa: B023
    return out


def ref_geomgcn(index, nodes, h, w):
    n = norm_of(index, nodes)
    z = [over(p, nodes, lambda s, v, k: n[s] * n[v] * h[s], add, h.shape[1:]) for p in parts(index)]
    return np.maximum(np.concatenate(z, 1) @ w, 0)


def ref_ggnn(index, nodes, h, w, w_ih, w_hh, b_ih, b_hh):
    for _ in range(2):
        m = over(index, nodes, lambda s, v, k: h[s] @ w, add, h.shape[1:])  # noqa: B023
        (ir, iz, i_n), (hr, hz, hn) = np.split(m @ w_ih + b_ih, 3, 1), np.split(h @ w_hh + b_hh, 3, 1)
        r, z = sigmoid(ir + hr), sigmoid(iz + hz)
        new = np.tanh(i_n + r * hn)
        h = new + z * (h - new)
    return h


def ref_dgmg(index, nodes, h, x, w, b, f=lambda m: m):
    return over(index, nodes, lambda s, v, k: f(np.concatenate([h[s], x[k], h[v]]) @ w + b), add, b.shape)


# ---- the layers: name, inputs (shapes; V and E are sizes of the graph), program, reference, narrowest features of a message ----


def _norm(g, h):
    d = g.in_degree.cast(h.dtype)
    return (d > 0).where(d.maximum(1).rsqrt(), 0.0).unsqueeze(-1)


def _gat_layer(g, x, weight, l, r):
    layer = GAT(F, O, heads=H)
    layer.fc.weight, layer.attn_l, layer.attn_r = weight, l, r
    return layer(g, x)


def _ref_gat_layer(index, nodes, x, weight, l, r):
    h = (x @ weight.T).reshape(-1, H, O)
    return ref_gat(index, nodes, h, (h * l).sum(-1), (h * r).sum(-1))


def _geomgcn(g, h, w, hg):
    return geomgcn(hg, h=h, norm=_norm(g, h), relations=["r0", "r1", "r2"], weight=w)


V, E = "V", "E"
LAYERS = {
    "gcn": ([(V, F), (F, O)], gcn_layer, ref_gcn, O),
    "gat": ([(V, F), (H * O, F), (H, O), (H, O)], _gat_layer, _ref_gat_layer, H * O),
    "gat_by_hand": ([(V, H, O), (V, H), (V, H)], gat_by_hand, ref_gat, H * O),
    "gatv2": ([(V, F), (F, H * O), (F, H * O), (H, O)], gatv2_layer, ref_gatv2, H * O),
    "sage_mean": ([(V, F), (F, O), (F, O)], lambda g, h, a, b: sage_mean(g, h=h, w_self=a, w_nbr=b), ref_sage_mean, F),
    "sage_max": (
        [(V, F), (F, O), (O, O), (F, O), (O,)],
        lambda g, h, a, b, c, d: sage_max(g, h=h, w_self=a, w_nbr=b, w_pool=c, b_pool=d), ref_sage_max, O,
    ),
    "gin": ([(V, F), (), (F, O), (O, O)], lambda g, h, e, a, b: gin(g, h=h, eps=e, w1=a, w2=b), ref_gin, F),
    "appnp": ([(V, F)], appnp_layer, ref_appnp, F),
    "cheb": ([(V, F), (F, O), (F, O), (F, O), (F, O)], lambda g, h, *ws: cheb_layer(g, h, ws), ref_cheb, F),
    "agnn": ([(V, F), ()], agnn_layer, ref_agnn, F),
    "edgeconv": ([(V, F), (2 * F, O), (O,)], lambda g, h, w, b: edgeconv(g, h=h, weight=w, bias=b), ref_edgeconv, O),
    "rgcn": (
        [(V, F), (F, O), (F, O), (F, O), (F, O)],
        lambda g, h, w, *ws: rgcn(g, h=h, w_self=w, w_relation={f"r{k}": x for k, x in enumerate(ws)}), ref_rgcn, O,
    ),
    "geomgcn": ([(V, F), (3 * F, O)], _geomgcn, ref_geomgcn, F),
    "ggnn": (
        [(V, F), (F, F), (F, 3 * F), (F, 3 * F), (3 * F,), (3 * F,)],
        lambda g, h, w, *cell: ggnn(g, h=h, rounds=2, weight=w, cell=cell), ref_ggnn, F,
    ),
    "dgmg": ([(V, F), (E, K), (2 * F + K, O), (O,)], lambda g, h, x, w, b: dgmg(g, h=h, edge={"x": x}, weight=w, bias=b), ref_dgmg, O),
    "dgmg_gated": (
        [(V, F), (E, K), (2 * F + K, O), (O,)],
        lambda g, h, x, w, b: dgmg_gated(g, h=h, edge={"x": x}, weight=w, bias=b), lambda *a: ref_dgmg(*a, f=np.tanh), O,
    ),
}  # fmt: skip
HETERO = ("rgcn",)


def inputs(name, index, nodes, dtype=np.float64, seed=1):
    rng = np.random.default_rng(seed)
    sizes = {V: nodes, E: index.shape[1]}
    return [(rng.standard_normal([sizes.get(s, s) for s in shape]) * 0.7).astype(dtype) for shape in LAYERS[name][0]]


def program(name, index, nodes):
    """The layer as a function of tensors, on a graph."""
    graph = hetero(index, nodes) if name in HETERO else Graph(index, nodes)
    f = LAYERS[name][1]
    if name == "geomgcn":
        hg = hetero(index, nodes)
        return lambda h, w: f(graph, h, w, hg)
    return lambda *args: f(graph, *args)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_values(name, kind):
    index, nodes = edges(kind)
    arrays = inputs(name, index, nodes)
    want = LAYERS[name][2](index, nodes, *arrays)
    got = program(name, index, nodes)(*[Tensor(a) for a in arrays]).numpy()
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_gradients(name, kind):
    index, nodes = edges(kind)
    gradcheck(program(name, index, nodes), *inputs(name, index, nodes))


@pytest.mark.parametrize("name", LAYERS)
def test_compiled(name, cpu):
    """The compiled kernels, forward and backward, agree with the interpreter's."""
    from polygrad import Device

    index, nodes = edges("hub")
    results = []
    for device in ("INTERP", "CPU"):
        Device.DEFAULT = device
        xs = [Tensor(a) for a in inputs(name, index, nodes, np.float32)]
        y = program(name, index, nodes)(*xs)
        grads = y.square().sum().gradient(*xs)
        results.append([t.numpy() for t in (y, *grads)])
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_nothing_wide_is_stored(name):
    index, _ = big_graph()
    nodes = 17
    xs = [Tensor(a) for a in inputs(name, index, nodes, np.float32)]
    f, width = program(name, index, nodes), LAYERS[name][3]
    forward = stored_by(lambda: f(*xs))
    assert_narrow(forward, 307, width)
    both = stored_by(lambda: [(y := f(*xs)), *y.square().sum().gradient(*xs)])
    assert_narrow(both, 307, width)


def test_gcn_is_one_kernel():
    """The aggregation: weights of the sum included."""
    _, g = big_graph()
    h, w = Tensor.randn(17, 11).realize(), Tensor.randn(307).realize()
    from polygrad.vertex import zoomIn, zoomOut

    with zoomIn(g, h=h, edge=dict(w=w)) as v:
        out = sum([e.w * e.src.h for e in v.inedges])
    p = stored_by(lambda: zoomOut(out))
    assert len(p.kernels) == 1 and [s.shape for s in p.stored] == [(17, 11)], p


def test_gat_softmax_and_aggregation_are_one_kernel():
    _, g = big_graph()
    h, el, er = Tensor.randn(17, 3, 7).realize(), Tensor.randn(17, 3).realize(), Tensor.randn(17, 3).realize()
    p = stored_by(lambda: gat_by_hand(g, h, el, er))
    assert len(p.kernels) == 1 and [s.shape for s in p.stored] == [(17, 3, 7)], p


def test_training(cpu):
    """examples/vertex/train.py learns more than the features alone say."""
    from train import train

    assert train(steps=40) > 0.8
