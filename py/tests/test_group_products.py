"""Matrix products that groups of threads compute in tiles, on the test device, whose groups the interpreter runs, and on a GPU with
POLY_PRODUCT_WORK=1; elsewhere the products of that device."""

from __future__ import annotations

import os

import numpy as np
import pytest

from polygrad import Device, Graph, Profile, Tensor, Variable, nn

# The Targets of GPUs leave small products to a library.
ALL_IN_TILES = "POLY_TEST_TARGET" not in os.environ


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def close(got, want, digits=2e-6):
    want = np.asarray(want)
    assert np.max(np.abs(got.numpy() - want)) <= digits * max(np.max(np.abs(want)), 1e-30)


@pytest.mark.parametrize("n, k, m", [(32, 8, 8), (64, 32, 16), (33, 8, 9), (100, 50, 40), (128, 128, 64), (300, 37, 130), (257, 129, 47)])
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_layouts(n, k, m, layout):
    rng = np.random.default_rng(n + m)
    a, b = normal(rng, n, k), normal(rng, k, m)
    x = Tensor(a) if layout[0] == "n" else Tensor(a.T.copy()).T
    y = Tensor(b) if layout[1] == "n" else Tensor(b.T.copy()).T
    close(x @ y, a.astype(np.float64) @ b)


@pytest.mark.parametrize("n, m", [(128, 64), (70, 33)])
def test_fused_with_what_surrounds_it(n, m):
    """A bias, an activation, a residual behind it; functions and gathers in front of it."""
    rng = np.random.default_rng(0)
    a, b, bias, old = normal(rng, n, 48), normal(rng, 48, m), normal(rng, m), normal(rng, n, m)
    rows = rng.integers(0, n, 90)
    d = a.astype(np.float64)
    close((Tensor(a) @ Tensor(b) + Tensor(bias)).relu() + Tensor(old), np.maximum(d @ b + bias, 0) + old)
    close((Tensor(a) * 2).exp() @ Tensor(b), np.exp(2 * d) @ b, 4e-6)
    close(Tensor(a)[Tensor(rows)] @ Tensor(b), d[rows] @ b)


@pytest.mark.parametrize("k", [512, 700, 2049])
def test_long_sums_are_cut_into_pieces(k):
    rng = np.random.default_rng(k)
    a, b = normal(rng, k, 40), normal(rng, k, 24)
    close(Tensor(a).T @ Tensor(b), a.astype(np.float64).T @ b)
    close(Tensor(a).T.contiguous().realize() @ Tensor(b), a.astype(np.float64).T @ b)


@pytest.mark.parametrize("n", [4, 11])
def test_sums_over_several_axes_are_cut_into_pieces(n):
    """The gradient of a convolution's weight is a sum over images and places: one tile of results alone would keep one group busy."""
    rng = np.random.default_rng(n)
    x, w, g = normal(rng, n, 8, 16, 16), normal(rng, 16, 8, 3, 3), normal(rng, n, 16, 16, 16)
    weight = Tensor(w, requires_grad=True)
    with Profile() as prof:
        got = Tensor(x).conv2d(weight, padding=1).gradient(weight, gradient=Tensor(g))[0].realize()
    wide = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).astype(np.float64)
    views = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), axis=(2, 3))
    close(got, np.einsum("ncyxij,noyx->ocij", views, g))
    if ALL_IN_TILES and Device.DEFAULT in ("TEST", "CUDA"):
        assert any("16_8_3_3" in k.name and not k.name.startswith("sum_16_8") for k in prof.kernels), [k.name for k in prof.kernels]


def test_batches_and_convolutions():
    rng = np.random.default_rng(1)
    a, b = normal(rng, 3, 40, 20), normal(rng, 3, 20, 16)
    close(Tensor(a) @ Tensor(b), np.einsum("bij,bjk->bik", a.astype(np.float64), b))
    x, w = normal(rng, 2, 8, 12, 12), normal(rng, 16, 8, 3, 3)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    close(Tensor(x).conv2d(Tensor(w), padding=1), np.einsum("ncyxij,ocij->noyx", windows, w))


def test_gradients():
    rng = np.random.default_rng(2)
    a, b, c = normal(rng, 600, 32), normal(rng, 32, 24), normal(rng, 600, 24)
    x, y = Tensor(a), Tensor(b)
    gx, gy = ((x @ y) * Tensor(c)).sum().gradient(x, y)
    close(gx, c.astype(np.float64) @ b.T)
    close(gy, a.astype(np.float64).T @ c)


def test_infinite_and_missing_numbers_spread_as_they_do():
    rng = np.random.default_rng(3)
    a, b = normal(rng, 64, 32), normal(rng, 32, 16)
    a[3, 5], a[7, 9], b[4, 4] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        want = a @ b
    got = (Tensor(a) @ Tensor(b)).numpy()
    assert np.array_equal(np.isnan(got), np.isnan(want)) and np.array_equal(np.isinf(got), np.isinf(want))


def test_sizes_that_change():
    """One plan serves all numbers of rows; what is beyond them is neither read nor stored."""
    rng = np.random.default_rng(4)
    a, b = normal(rng, 200, 32), normal(rng, 32, 16)
    x = Tensor(a)
    for n in (200, 64, 33, 1, 129):
        rows = Variable("rows", 1, 200).bind(n)
        close(x[:rows] @ Tensor(b), a[:n].astype(np.float64) @ b)
    layer = nn.Linear(32, 16)
    weight, bias = layer.weight.numpy(), layer.bias.numpy()
    for n in (40, 50, 61):
        close(Tensor(a[:n]) @ Tensor(weight).T + Tensor(bias), a[:n].astype(np.float64) @ weight.T + bias)


@pytest.mark.parametrize("n, inner, m", [(70, (40, 40), 64), (100, (40, 24, 33), 24), (65, (16, 100, 8, 9), 40), (80, (16,) * 6, 40)])
def test_a_sum_of_products_is_formed_in_one_place(n, inner, m):
    """Products of other inner sizes, a bias between them, and an activation behind them; up to four are one kernel."""
    rng = np.random.default_rng(n)
    a, b, bias = [normal(rng, n, k) for k in inner], [normal(rng, m, k) for k in inner], normal(rng, m)
    x, w = [Tensor(u).realize() for u in a], [Tensor(u).realize() for u in b]
    out, want = x[0] @ w[0].T + Tensor(bias).realize(), a[0].astype(np.float64) @ b[0].T + bias
    for k in range(1, len(inner)):
        out, want = out + x[k] @ w[k].T, want + a[k].astype(np.float64) @ b[k].T
    out = out.relu()
    with Profile() as p:
        out.realize()
    close(out, np.maximum(want, 0))
    if Device.DEFAULT == "TEST" and ALL_IN_TILES and len(inner) <= 4:
        assert sum(k.count for k in p.kernels) == 1


def test_gradient_of_what_several_products_read():
    """Four linear maps of one value: its gradient is a sum of four products; one product that is read twice stays by itself."""
    rng = np.random.default_rng(5)
    a, w, c = normal(rng, 90, 48), [normal(rng, 48, 40) for _ in range(4)], [normal(rng, 90, 40) for _ in range(4)]
    x = Tensor(a)
    outs = [x @ Tensor(u) for u in w]
    (g,) = sum((o * Tensor(u)).sum() for o, u in zip(outs, c)).gradient(x)
    close(g, sum(u.astype(np.float64) @ v.T for u, v in zip(c, w)))
    y, z = x @ Tensor(w[0]), x @ Tensor(w[1])
    close((y + z) * y, (a.astype(np.float64) @ (w[0] + w[1])) * (a.astype(np.float64) @ w[0]), 8e-6)
    close(y + y, 2 * a.astype(np.float64) @ w[0])


def edge_values(edges, nodes, width, inner, out):
    rng = np.random.default_rng(edges + width)
    index = rng.integers(0, nodes, (2, edges))
    a = {"x": normal(rng, nodes, inner), "e": normal(rng, edges, width), "w": normal(rng, width, inner), "b": normal(rng, inner)}
    a |= {"u": normal(rng, inner, out), "c": normal(rng, out), "v": normal(rng, width, out)}
    return index, a, normal(rng, nodes, out)


def edge_reference(index, a, weight):
    """(relu(e w + b + x_j) u + c) * sigmoid(e v), summed over the edges into each node, and the gradients of (out * weight).sum()."""
    src, dst = index
    f = {k: v.astype(np.float64) for k, v in a.items()}
    pre = f["e"] @ f["w"] + f["b"] + f["x"][src]
    h, gate = np.maximum(pre, 0), 1 / (1 + np.exp(-(f["e"] @ f["v"])))
    m = h @ f["u"] + f["c"]
    out, dx = np.zeros(weight.shape), np.zeros(f["x"].shape)
    np.add.at(out, dst, m * gate)
    dm, dgate = weight[dst] * gate, weight[dst] * m * gate * (1 - gate)
    dpre = (dm @ f["u"].T) * (pre > 0)
    np.add.at(dx, src, dpre)
    grads = {
        "x": dx,
        "e": dpre @ f["w"].T + dgate @ f["v"].T,
        "w": f["e"].T @ dpre,
        "b": dpre.sum(0),
        "u": h.T @ dm,
        "c": dm.sum(0),
        "v": f["e"].T @ dgate,
    }
    return {"out": out} | grads


@pytest.mark.parametrize("edges, width, inner, out", [(1, 24, 40, 32), (40, 17, 33, 9), (300, 20, 32, 16), (280, 17, 33, 70)])
def test_products_of_edges_are_kernels_of_their_tiles(edges, width, inner, out):
    """An MLP of each edge with a gather, a bias, an activation and a gate; gradients of weights in parts of the edges, of few rows or columns too."""
    index, a, weight = edge_values(edges, 60, width, inner, out)
    t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
    g = Graph(index, 60)
    result = g.sum(((t["e"] @ t["w"] + t["b"] + g.src(t["x"])).relu() @ t["u"] + t["c"]) * (t["e"] @ t["v"]).sigmoid())
    grads = (result * Tensor(weight)).sum().gradient(*t.values())
    result.realize(*grads)
    for k, want in edge_reference(index, a, weight).items():
        close(result if k == "out" else grads[list(t).index(k)], want, 4e-6)


def test_products_of_edges_go_through_no_library():
    """Where groups compute products, those inside of composites are kernels: no operand is copied into a tile for a library."""
    index, a, _ = edge_values(150, 60, 24, 40, 32)
    t = {k: Tensor(v).realize() for k, v in a.items()}
    g = Graph(index, 60)
    result = g.sum((t["e"] @ t["w"] + t["b"]).relu() @ t["u"])
    with Profile() as p:
        result.realize()
    close(result, edge_sum(index, a), 4e-6)
    if Device.DEFAULT == "CUDA":  # which lists what a composite runs
        names = [k.name for k in p.kernels]
        assert not any("matmul" in n for n in names) and len(names) == 3, names  # a product each, and the sum


def edge_sum(index, a):
    out = np.zeros((60, a["u"].shape[1]))
    np.add.at(out, index[1], np.maximum(a["e"].astype(np.float64) @ a["w"] + a["b"], 0) @ a["u"])
    return out


def test_products_of_edges_spread_what_is_not_finite():
    """A part of the edges that ends inside of a block reads nothing behind it; an infinite value stays where it belongs."""
    index, a, weight = edge_values(133, 60, 24, 40, 32)
    a["e"][130, 3] = np.inf
    a["e"][131] = 0
    t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
    g = Graph(index, 60)
    (gradient,) = (g.sum((t["e"] @ t["w"]).tanh()) * Tensor(normal(np.random.default_rng(1), 60, 40))).sum().gradient(t["w"])
    bad = np.isnan(gradient.numpy()).any(1)
    assert bad[3] and not bad[np.arange(24) != 3].any()


def test_equal_bits_from_run_to_run():
    index, a, weight = edge_values(300, 60, 24, 32, 16)
    got = []
    for _ in range(2):
        t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
        g = Graph(index, 60)
        result = g.sum((t["e"] @ t["w"] + g.src(t["x"])).relu() @ t["u"])
        got.append([v.numpy() for v in (result * Tensor(weight)).sum().gradient(t["w"], t["u"], t["x"])])
    assert all(np.array_equal(x, y) for x, y in zip(*got))


def test_nodes_that_are_edges_of_another_graph():
    """Where nodes are pooled into graphs, edges read products of nodes, which are edges of the second graph; a bias and an activation stand between them."""
    rng = np.random.default_rng(6)
    index, batch, a = rng.integers(0, 40, (2, 80)), np.arange(40) // 10, {"x": (40, 32), "u": (32, 40), "b": (40,), "v": (40, 24), "w": (40, 16)}
    a = {k: normal(rng, *s) * np.float32(0.3) for k, s in a.items()}
    t = {k: Tensor(v, requires_grad=True) for k, v in a.items()}
    g, pool = Graph(index, 40), Graph(np.stack([np.arange(40), batch]), num_src=40, num_dst=4)

    def make(spread, gather, pooled):
        h = (t["x"] @ t["u"] + t["b"]).relu()
        out = pooled((gather((spread(h) * spread(h).sigmoid()) @ t["v"]).relu() @ t["v"].transpose(0, 1)) @ t["w"])
        return [v.numpy() for v in (out, *(out * out).sum().gradient(*t.values()))]

    into = lambda n, to: Tensor((np.arange(n)[:, None] == to).astype(np.float32))  # noqa: E731
    got = make(g.src, g.sum, lambda h: pool.sum(pool.src(h)))
    want = make(lambda h: into(40, index[0]).transpose(0, 1) @ h, lambda m: into(40, index[1]) @ m, lambda h: into(4, batch) @ h)
    for x, y in zip(got, want):
        assert np.max(np.abs(x - y)) <= 2e-5 * np.max(np.abs(y))


@pytest.mark.parametrize("n", [33, 70])
def test_an_index_beyond_the_last_tile_is_not_checked(n):
    """A row that is gathered at a computed index, beside a product and in it: the last tile goes on behind the rows, where the index may be anything."""
    rng = np.random.default_rng(n)
    a, b, table, more = normal(rng, n, 40), normal(rng, 40, 16), normal(rng, 2 * n, 16), normal(rng, 2 * n, 40)
    first = rng.integers(0, 2, n)
    index = Tensor(first).realize() + Tensor.arange(n) * 2
    at = first + 2 * np.arange(n)
    close((Tensor(a).realize() @ Tensor(b).realize() + Tensor(table).realize()[index]).relu(), np.maximum(a.astype(np.float64) @ b + table[at], 0))
    close((Tensor(a).realize() + Tensor(more).realize()[index]) @ Tensor(b).realize(), (a.astype(np.float64) + more[at]) @ b)
    if Device.DEFAULT == "TEST":
        with pytest.raises(IndexError):
            (Tensor(a) @ Tensor(b) + Tensor(table)[index + 1 + n]).realize()
