"""Dense maps of each edge: computed for a tile of edges at a time, whatever the graph, the reduction, the device and the number of threads."""

import os

import numpy as np
import pytest
from graph_helpers import big_graph, stored_by

from polygrad import Device, Graph, Profile, Tensor
from polygrad._ffi import C
from polygrad.autograd import current

V, D, F, H = 23, 9, 12, 10


def graphs():
    rng = np.random.default_rng(3)
    hub = rng.integers(0, V, (2, 2500))
    hub[1, 100:2300] = 4
    return {
        "random": rng.integers(0, V, (2, 300)),
        "isolated nodes": rng.integers(5, 9, (2, 90)),
        "hub": hub,
        "one edge": np.array([[3], [2]]),
        "empty": np.zeros((2, 0), int),
    }


GRAPHS = graphs()


def values(edges, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: (rng.standard_normal(shape) * 0.4).astype(dtype)  # noqa: E731
    return {"x": draw(V, F), "e": draw(edges, D), "w": draw(D, F), "b": draw(F), "u": draw(F, H)}


def message(t, g):
    """relu(e w + b + x_j) u: two products for each edge with a function between them."""
    return (t["e"] @ t["w"] + t["b"] + g.src(t["x"])).relu() @ t["u"]


def reference(a, index, weight):
    """Output of the sum over in-edges and the gradients of (out * weight).sum()."""
    src, dst = index
    pre = a["e"] @ a["w"] + a["b"] + a["x"][src]
    h = np.maximum(pre, 0)
    out = np.zeros((V, H))
    np.add.at(out, dst, h @ a["u"])
    dm = weight[dst]
    dpre = (dm @ a["u"].T) * (pre > 0)
    dx = np.zeros((V, F))
    np.add.at(dx, src, dpre)
    return {"out": out, "x": dx, "e": dpre @ a["w"].T, "w": a["e"].T @ dpre, "b": dpre.sum(0), "u": h.T @ dm}


@pytest.mark.parametrize("kind", GRAPHS)
def test_values_and_gradients(kind, device):
    index = GRAPHS[kind]
    a, weight = values(index.shape[1]), np.random.default_rng(9).standard_normal((V, H))
    want = reference(a, index, weight)
    t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
    g = Graph(index, V)
    out = g.sum(message(t, g))
    grads = (out * Tensor(weight)).sum().gradient(*t.values())
    out.realize(*grads)
    got = {"out": out.numpy()} | {k: v.numpy() for k, v in zip(t, grads)}
    for k, v in want.items():
        np.testing.assert_allclose(got[k], v, rtol=1e-9, atol=1e-9, err_msg=k)


@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "transposed"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_short_maps(kind, turned, device):
    """Few values for each edge through a linear map, whose sum is computed where it is read; its weight has a gradient column by column, beside that of its bias."""
    src, dst = index = GRAPHS[kind]
    a, weight = values(index.shape[1]), np.random.default_rng(9).standard_normal((V, F))
    a["e"], a["w"] = np.ascontiguousarray(a["e"][:, :4]), np.ascontiguousarray(a["w"][:4])
    pre = a["e"] @ a["w"] + a["b"] + a["x"][src]
    dpre = weight[dst] * (pre > 0)
    out, dx = np.zeros((V, F)), np.zeros((V, F))
    np.add.at(out, dst, np.maximum(pre, 0))
    np.add.at(dx, src, dpre)
    want = {"out": out, "x": dx, "e": dpre @ a["w"].T, "w": a["e"].T @ dpre, "b": dpre.sum(0)}
    t = {k: Tensor(np.ascontiguousarray(v.T) if turned and k == "w" else v, requires_grad=True) for k, v in a.items() if k != "u"}
    g = Graph(Tensor(index), num_nodes=V)
    w = t["w"].T if turned else t["w"]
    got = {"out": g.sum((t["e"] @ w + t["b"] + g.src(t["x"])).relu())}
    (got["out"] * Tensor(weight)).sum().backward()
    got |= {k: v.grad for k, v in t.items()}
    for k, v in want.items():
        have = got[k].numpy()
        np.testing.assert_allclose(have.T if turned and k == "w" else have, v, atol=1e-11, err_msg=k)


@pytest.mark.skipif("POLY_TEST_TARGET" in os.environ, reason="other targets cut sums from more edges on")
def test_gradients_of_short_maps_store_nothing_as_wide_as_edges():
    """On devices with groups the sums of all columns are one kernel, which computes what it sums up."""
    Device.DEFAULT = "TEST"
    index = GRAPHS["hub"]
    a = values(index.shape[1])
    e, w, b = Tensor(a["e"][:, :4].copy()), Tensor(a["w"][:4].copy(), requires_grad=True), Tensor(a["b"], requires_grad=True)
    g = Graph(Tensor(index), num_nodes=V)
    g.sum((e @ w + b + g.src(Tensor(a["x"]))).relu()).square().sum().backward()
    text = (w.grad.sum() + b.grad.sum()).explain()
    assert f"({index.shape[1]}, {F})" not in text and "tiles" not in text, text


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min", "std", "logsumexp"])
@pytest.mark.parametrize("side", ["in", "out"])
def test_every_reduction_is_that_of_the_stored_message(op, side):
    """Rows that a tile cuts are combined in order: the same as reducing a message that lies in memory."""
    index = GRAPHS["hub"][:, ::-1] if side == "out" else GRAPHS["hub"]
    a = values(index.shape[1])
    g = Graph(index.copy(), V)
    Device.DEFAULT = "TEST"
    t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
    stored = Tensor(message(t, g).numpy(), requires_grad=True)
    found = {}
    for name, m, leaf in (("tiles", message(t, g), t["w"]), ("stored", stored, stored)):
        out = g.reduce(m, op, side)
        (grad,) = (out * out).sum().gradient(leaf)
        out.realize(grad)
        found[name] = out.numpy(), grad.numpy()
    (want,) = (message(t, g) * Tensor(found["stored"][1])).sum().gradient(t["w"])
    np.testing.assert_allclose(found["tiles"][0], found["stored"][0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found["tiles"][1], want.numpy(), rtol=1e-6, atol=1e-7)


def test_softmax_of_scores_that_are_dense_maps():
    index = GRAPHS["hub"]
    a = values(index.shape[1])
    g = Graph(index, V)
    Device.DEFAULT = "TEST"
    t = {k: Tensor(v) for k, v in a.items()}
    m = message(t, g)
    got = g.sum((g.softmax(m[:, :2]).unsqueeze(-1) * m.reshape(-1, 2, 5)).reshape(-1, H)).numpy()
    src, dst = index
    value = np.maximum(a["e"] @ a["w"] + a["b"] + a["x"][src], 0) @ a["u"]
    score = np.exp(value[:, :2] - value[:, :2].max())
    total = np.zeros((V, 2))
    np.add.at(total, dst, score)
    want = np.zeros((V, H))
    np.add.at(want, dst, np.repeat(score / total[dst], 5, 1) * value)
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


def test_scores_of_a_whole_row_beside_a_product():
    """The largest score of a row is computed from the edges in memory while a product reads their copy in the order of the tile: each reads its own."""
    rng = np.random.default_rng(0)
    index, width, heads = rng.integers(0, 5, (2, 21)), 17, 3
    e, w, u = (rng.uniform(-2, 2, s) for s in ((21, width), (width, heads), (width, 12)))
    g = Graph(index, 5)
    Device.DEFAULT = "INTERP"
    t = Tensor(e)
    got = g.sum((g.softmax(t @ Tensor(w)).unsqueeze(-1) * (t @ Tensor(u)).reshape(-1, heads, 4)).reshape(-1, 12)).numpy()
    dst = index[1]
    score = np.exp(e @ w)
    total = np.zeros((5, heads))
    np.add.at(total, dst, score)
    want = np.zeros((5, 12))
    np.add.at(want, dst, np.repeat(score / total[dst], 4, 1) * (e @ u))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_a_row_of_several_tiles_leaves_pieces_without_edges(device):
    """Pieces have whole rows. One that begins inside a long row has no edge, and its part of the gradient of a weight is zero."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, 3, (2, 2100))
    index[1, ::2] = 1
    e, w, u, weight = (rng.uniform(-1, 1, s) for s in ((2100, 6), (6, 8), (8, 6), (3, 6)))
    g, t = Graph(index, 3), [Tensor(v) for v in (e, w, u)]
    out = g.sum((t[0] @ t[1]).relu() @ t[2])
    grads = (out * Tensor(weight)).sum().gradient(*t)
    out.realize(*grads)
    h, dm = np.maximum(e @ w, 0), weight[index[1]]
    dh = (dm @ u.T) * (h > 0)
    for got, want in zip(grads, (dh @ w.T, e.T @ dh, h.T @ dm)):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-9, atol=1e-9)


def test_what_two_composites_compute_has_one_value(device):
    """The gradient of a minimum compares an edge's value with that of its row: tiles that compute it anew must find the same bits."""
    rng = np.random.default_rng(0)
    nodes, edges = 16, 38
    src, dst = index = rng.integers(0, nodes, (2, edges))
    shapes = ((nodes, 17), (edges, 17), (17, 17), (17, 6), (51, 12), (12, 6), (nodes, 6))
    x, e, w, u, a, b, weight = (rng.uniform(-2, 2, s) for s in shapes)
    t = [Tensor(v) for v in (x, e, w, u, a, b)]
    g = Graph(index, nodes)
    least = g.reduce((t[1] @ t[2] + g.src(t[0])).relu() @ t[3], "min", "in")
    total = g.sum((Tensor.cat(g.src(t[0]), g.dst(t[0]), t[1], dim=1) @ t[4]).relu() @ t[5])
    (grad,) = ((least * Tensor(weight)).sum() + total.sum()).gradient(t[1])
    grad.realize(total)
    h = e @ w + x[src]
    m = np.maximum(h, 0) @ u
    low = np.full((nodes, 6), np.inf)
    np.minimum.at(low, dst, m)
    dm = weight[dst] * (m == low[dst])
    k = np.concatenate([x[src], x[dst], e], 1) @ a
    want = ((dm @ u.T) * (h > 0)) @ w.T + (np.ones((edges, 6)) @ b.T * (k > 0)) @ a[34:].T
    np.testing.assert_allclose(grad.numpy(), want, rtol=1e-9, atol=1e-9)


def test_second_gradient():
    index = GRAPHS["random"]
    a = values(index.shape[1], seed=5)
    g = Graph(index, V)

    def slope(w):
        t = {k: Tensor(v, requires_grad=True) for k, v in (a | {"w": w}).items()}
        out = g.sum((t["e"] @ t["w"] + g.src(t["x"])).sigmoid() @ t["u"])
        (dw,) = (out * out).sum().gradient(t["w"])
        return t, dw

    t, dw = slope(a["w"])
    way = np.random.default_rng(1).standard_normal(a["w"].shape)
    (second,) = (dw * Tensor(way)).sum().gradient(t["w"])
    step = 1e-5
    numeric = (slope(a["w"] + step * way)[1].numpy() - slope(a["w"] - step * way)[1].numpy()) / (2 * step)
    np.testing.assert_allclose(second.numpy(), numeric, rtol=1e-5, atol=1e-5)


def test_threads_change_no_bit(cpu):
    rng = np.random.default_rng(0)
    index = rng.integers(0, 3000, (2, 40_000))
    index[1, :9000] = 7
    a = {"x": (3000, 32), "e": (40_000, 16), "w": (16, 32), "b": (32,), "u": (32, 24)}
    a = {k: rng.standard_normal(s).astype(np.float32) for k, s in a.items()}
    g, before, found = Graph(index, 3000), C.poly_threads(current().ptr), []
    try:
        for threads in (1, 2):
            C.poly_set_threads(current().ptr, threads)
            t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
            out = g.sum(message(t, g))
            grads = (out * out).sum().gradient(*[t[k] for k in "xwbu"])
            out.realize(*grads)
            found.append([v.numpy() for v in (out, *grads)])
    finally:
        C.poly_set_threads(current().ptr, before)
    for one, two in zip(*found):
        np.testing.assert_array_equal(one, two)


def test_nothing_as_wide_as_the_edges_is_stored(cpu):
    """Of 40,000 edges with 32 features; scratch memory counts for the peak."""
    rng = np.random.default_rng(0)
    nodes, edges = 500, 40_000
    g = Graph(rng.integers(0, nodes, (2, edges)), nodes)
    a = {"x": (nodes, 32), "e": (edges, 16), "w": (16, 32), "b": (32,), "u": (32, 24)}
    t = {k: Tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True).realize() for k, s in a.items()}

    def make():
        out = g.sum(message(t, g))
        return [out, *(out * out).sum().gradient(*[t[k] for k in "xwbu"])]

    p = stored_by(make)
    assert max(s.shape[0] for s in p.stored) < edges
    inputs = sum(int(np.prod(s)) * 4 for s in a.values()) + 10 * 4 * edges
    assert p.peak_bytes - inputs < edges * 32 * 4


def test_nodes_that_are_edges_of_another_graph(cpu):
    """As where nodes are pooled into graphs: products of nodes, which edges of the first graph read, do not fit tiles of the second one's edges, which
    are nodes. That leaves alone the products of the first graph's edges."""
    from polygrad.geometric.nn.models.attentive_fp import GATEConv

    rng = np.random.default_rng(0)
    index, batch = rng.integers(0, 40, (2, 600)), np.arange(40) // 10
    conv, within = GATEConv(F, F, D), Graph(np.stack([np.arange(40), batch]), num_src=40, num_dst=4)
    a = {"x": (40, F), "e": (index.shape[1], D), "u": (F, F), "v": (F, F)}
    t = {k: Tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True).realize() for k, s in a.items()}

    def make(pool):
        h = pool(conv(t["x"] @ t["u"], Tensor(index), t["e"]).elu() @ t["v"])
        return [h, *(h * h).sum().gradient(t["x"], t["u"], t["v"], *conv.parameters())]

    pooled = np.zeros((40, 4), np.float32)
    pooled[np.arange(40), batch] = 1
    p = stored_by(lambda: make(lambda h: within.sum(within.src(h))))
    assert {"tiles", "tiles_by_rows"} <= {k.name for k in p.kernels}
    for got, want in zip(make(lambda h: within.sum(within.src(h))), make(lambda h: Tensor(pooled).transpose(0, 1) @ h)):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-3, atol=1e-5 * abs(want.numpy()).max())


def test_sizes_that_change_use_one_plan():
    from polygrad.geometric.data._sizes import size, sized

    w, u = (np.random.default_rng(k).standard_normal(s) for k, s in ((1, (D, F)), (2, (F, H))))
    for nodes, count in ((20, 70), (31, 2000), (12, 1)):
        rng = np.random.default_rng(count)
        index, e = rng.integers(0, nodes, (2, count)), rng.standard_normal((count, D))
        n, m = size("tile_nodes", nodes), size("tile_count", count)
        g = Graph(sized(index, 1, m), sized(np.zeros((nodes, 1)), 0, n).shape[0])
        out = g.sum((sized(e, 0, m) @ Tensor(w)).relu() @ Tensor(u))
        want = np.zeros((nodes, H))
        np.add.at(want, index[1], np.maximum(e @ w, 0) @ u)
        np.testing.assert_allclose(out.numpy()[:nodes], want, rtol=1e-9, atol=1e-9)


def test_what_does_not_fit_tiles_is_stored():
    """A map of each edge that is read through an index of the user's, not edge by edge."""
    index, g = big_graph()
    rng = np.random.default_rng(0)
    e, w, pick = rng.standard_normal((307, D)), rng.standard_normal((D, F)), rng.integers(0, 307, 307)
    t = Tensor(e) @ Tensor(w)
    got = g.sum(t + t[Tensor(pick)].relu()).numpy()
    want = np.zeros((17, F))
    np.add.at(want, index[1], e @ w + np.maximum((e @ w)[pick], 0))
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_sums_over_tiles_above_a_sum_that_is_cut(cpu):
    """The gradients of the weights are made from a long sum, which is cut into pieces beforehand: those over edges are still summed tile by tile."""
    rng = np.random.default_rng(0)
    nodes, edges = 100, 40_000
    g = Graph(rng.integers(0, nodes, (2, edges)), nodes)
    a = {"x": (nodes, 32), "e": (edges, 16), "w": (16, 32), "b": (32,), "long": (200_000,)}
    t = {k: Tensor(rng.standard_normal(s).astype(np.float32), requires_grad=True).realize() for k, s in a.items()}
    out = g.sum((t["e"] @ t["w"] + t["b"] + g.src(t["x"])).relu()) * t["long"].exp().sum()
    p = stored_by(lambda: out.square().sum().gradient(t["w"], t["b"]))
    assert {"tiles_by_rows", "tiles"} <= {k.name for k in p.kernels}


def test_values_of_rows_are_taken_out_of_sums_over_tiles(device):
    """A softmax of scores from a dense map of each edge: its sum and the weighted sum need no values of each other, and rows without edges are zero."""
    index = GRAPHS["isolated nodes"]
    a, weight = values(index.shape[1]), np.random.default_rng(9).standard_normal((V, F))
    g, (src, dst) = Graph(Tensor(index), V), index
    t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
    scores = (t["e"] @ t["w"]).tanh() * g.src(t["x"])
    e = scores.exp()
    out = g.reduce(e / g.dst(g.reduce(e, "sum")) * g.src(t["x"]), "sum")
    grads = (out * Tensor(weight)).sum().gradient(t["w"], t["x"])

    m = np.tanh(a["e"] @ a["w"])
    n = np.exp(m * a["x"][src])
    total, want = np.zeros((V, F)), np.zeros((V, F))
    np.add.at(total, dst, n)
    alpha = n / total[dst]
    np.add.at(want, dst, alpha * a["x"][src])
    dalpha = weight[dst] * a["x"][src]
    ds = alpha * (dalpha - (weight * want)[dst])
    dx = np.zeros((V, F))
    np.add.at(dx, src, alpha * weight[dst] + ds * m)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(grads[0].numpy(), a["e"].T @ (ds * a["x"][src] * (1 - m**2)), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(grads[1].numpy(), dx, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["map of each edge", "computed", "in memory"])
@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "transposed"])
def test_a_product_of_all_edges_with_all_edges(turned, kind, device):
    """a h has a row for each edge, and each of them needs h at all edges: those of its tile are not enough, although h has a row for each edge, too."""
    index, rng = GRAPHS["random"], np.random.default_rng(5)
    edges = index.shape[1]
    e, w, a = rng.standard_normal((edges, D)), rng.standard_normal((D, F)), rng.standard_normal((edges, edges)) / edges
    g, te, tw, ta = Graph(index, V), Tensor(e), Tensor(w), Tensor(a)
    h, th = {"map of each edge": (np.maximum(e @ w, 0), (te @ tw).relu()), "computed": (np.tanh(e), te.tanh()), "in memory": (e, te)}[kind]
    mixed, tmixed = (a.T @ h, ta.transpose(0, 1) @ th) if turned else (a @ h, ta @ th)
    out, want = g.sum(tmixed * th), np.zeros((V, h.shape[1]))
    np.add.at(want, index[1], mixed * h)
    weight = rng.standard_normal(want.shape)
    grad = (out * Tensor(weight)).sum().gradient(ta)[0]
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-9, atol=1e-9)
    outer = (weight[index[1]] * h) @ h.T
    np.testing.assert_allclose(grad.numpy(), outer.T if turned else outer, rtol=1e-9, atol=1e-9)


def test_a_gram_matrix_of_a_softmax_over_edges(device):
    """Its gradient holds both a s and a^T s beside sums over the rows of s, at sizes that change."""
    index, rng = np.array([[5, 5, 2, 0, 3], [2, 5, 3, 5, 5]]), np.random.default_rng(0)
    for features in (7, 1, 3, 4):
        x, a = rng.standard_normal((5, features)), rng.standard_normal((5, 5))
        same = index[1][:, None] == index[1]
        n = np.exp(x)
        s = n / (same @ n)
        ds = (a + a.T) @ s
        t = Tensor(x)
        soft = Graph(Tensor(index), 6).softmax(t, "in")
        grad = ((soft @ soft.transpose(0, 1)) * Tensor(a)).sum().gradient(t)[0]
        np.testing.assert_allclose(grad.numpy(), s * (ds - same @ (s * ds)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("side", ["in", "out"])
def test_values_that_are_looked_for_among_their_minima_have_one_rounding(device, side):
    """The gradient of a minimum compares its elements with it. Products of edges that two kernels computed, each in an order of its own, were found
    nowhere, and the gradient was lost."""
    rng = np.random.default_rng(5)
    for n in (4, 6, 9):
        edges = Tensor(rng.integers(0, n, (2, 8)))
        x, a, w = (rng.standard_normal(s) for s in ((8, 6), (8, 8), (1, 8)))

        def gradient(dtype, stored, edges=edges, n=n, x=x, a=a, w=w):
            s = Graph(edges, n).softmax(Tensor(x.astype(dtype)), side)
            gram, scale = s @ s.transpose(0, 1), Tensor(a.astype(dtype))
            least = ((gram.realize() if stored else gram) * scale).normalize(dim=0).min((0,), True)
            return (least * Tensor(w.astype(dtype))).sum().gradient(scale)[0].numpy()

        np.testing.assert_allclose(gradient(np.float32, False), gradient(np.float64, True), rtol=1e-4, atol=1e-5)


def test_gradients_of_edges_that_join_the_tiles_of_rows(device):
    """The gradient of e is taken in any order of the edges until it shares its tiles with that of x, which has the order of the sources: then it reads what
    the edges are in that order."""
    rng = np.random.default_rng(6)
    index = rng.integers(0, V, (2, 60))
    a = values(60, seed=6)
    weight = [rng.standard_normal(s) for s in ((V, H), (V, D))]

    def gradients():
        g, t = Graph(Tensor(index), V), {k: Tensor(v) for k, v in a.items()}
        outs = [g.max(message(t, g), "out"), g.logsumexp(t["e"], "in")]
        loss = (outs[0] * Tensor(weight[0])).sum() + (outs[1] * Tensor(weight[1])).sum()
        return [*outs, *loss.gradient(t["x"], t["e"])]

    want = [t.numpy() for t in gradients()]  # one plan each
    got = gradients()
    got[0].realize(*got[1:])
    for t, w in zip(got, want, strict=True):
        np.testing.assert_allclose(t.numpy(), w, rtol=1e-9, atol=1e-12)


def test_a_sum_over_edges_times_a_number(device):
    """A number has no axes: it is neither the columns of a map of each edge nor its features."""
    rng = np.random.default_rng(7)
    a, index = rng.standard_normal((4000, 6)), rng.integers(0, 50, (2, 4000))
    e = Tensor(a)
    total, rows = (e.exp() * 0.5).sum(0), Graph(Tensor(index), 50).sum(e.exp())
    total.realize(rows)
    np.testing.assert_allclose(total.numpy(), np.exp(a).sum(0) / 2, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_sums_by_one_end_share_their_tiles_whatever_is_asked_first(seed):
    """The largest score of a row, its softmax, and the gradients by rows of either end: four composites, which sums over all edges join. A sum over all
    edges that took the rows of the first one it has something in common with would keep sums by the same rows apart, and each computes its products anew."""
    from polygrad.geometric.nn import PointTransformerConv
    from polygrad.nn import Linear, ReLU, Sequential

    rng = np.random.default_rng(seed)
    maps = Sequential(Linear(3, 8), ReLU(), Linear(8, F)), Sequential(Linear(F, 8), ReLU(), Linear(8, F))
    conv = PointTransformerConv(H, F, *maps, add_self_loops=False)
    x, pos = (Tensor(rng.standard_normal((V, n)).astype(np.float32), requires_grad=True) for n in (H, 3))
    asked = conv(x, pos, Tensor(GRAPHS["hub"])).square().sum().gradient(x, *conv.parameters())
    first, *rest = (asked[k] for k in rng.permutation(len(asked)))
    with Profile() as p:
        first.realize(*rest)
    assert sum(k.count for k in p.kernels if k.name.startswith("tiles")) == 4
