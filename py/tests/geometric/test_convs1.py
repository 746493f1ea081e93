"""Convolutions from GCN to GEN: values against loops in numpy, gradients against finite differences, what is stored, and their options."""

from __future__ import annotations

import numpy as np
import pytest
from graph_helpers import assert_narrow, big_graph, edges, stored_by
from helpers import gradcheck

import polygrad.geometric.nn as gnn
from polygrad import Graph, Tensor, TinyJit, Variable, nn
from polygrad.geometric.nn.conv.gcn_conv import gcn_norm

F, O, D, H, R = 4, 3, 2, 2, 3  # features in and out, of an edge, heads, relations


def mlp(*widths):
    parts = [[nn.Linear(a, b), nn.ReLU()] for a, b in zip(widths, widths[1:])]
    return nn.Sequential(*[m for pair in parts for m in pair][:-1])


# ---- references: P holds the parameters by name, and x, w (weights), e (features) and t (types) of edges ----


def at_nodes(index, nodes, message, reduce=lambda m: m.sum(0), width=O):
    """reduce([message(source, destination, edge)]) at every node, zeros where there are no edges."""
    out = np.zeros((nodes, width))
    for v in range(nodes):
        got = [message(s, v, k) for k, (s, d) in enumerate(index.T) if d == v]
        if got:
            out[v] = reduce(np.array(got))
    return out


def looped(index, nodes, values=None, fill=1.0):
    """One loop at each node, behind the other edges; the last loop of a node keeps its value."""
    keep = index[0] != index[1]
    new = np.concatenate([index[:, keep], [np.arange(nodes)] * 2], 1)
    if values is None:
        return new, np.ones(new.shape[1])
    loops = np.full(nodes, fill)
    for k in np.flatnonzero(~keep):
        loops[index[0, k]] = values[k]
    return new, np.concatenate([values[keep], loops])


def smooth(index, nodes, w, h):
    """D^-1/2 A D^-1/2 h."""
    degree = np.bincount(index[1], w, minlength=nodes)
    n = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1e-30)), 0)
    return at_nodes(index, nodes, lambda s, v, k: n[s] * w[k] * n[v] * h[s], width=h.shape[1])


def lin(P, name, x):
    return x @ P[f"{name}.weight"].T + P.get(f"{name}.bias", 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def relu(x):
    return np.maximum(x, 0)


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


def attend(index, nodes, score, value):
    """sum of softmax(score) value over the edges of each node, for scores [heads] and values [heads, out]."""

    def mix(pairs):
        a = np.exp(pairs[:, :, 0] - pairs[:, :, 0].max(0))
        return ((a / a.sum(0))[:, :, None] * pairs[:, :, 1:]).sum(0).reshape(-1)

    width = np.size(value(0, 0)) if index.size else H * O
    return at_nodes(index, nodes, lambda s, v, k: np.concatenate([score(s, v, k)[:, None], value(s, k)], 1), mix, width)


def ref_gcn(P, index, n, x, w):
    index, w = looped(index, n, w)
    return smooth(index, n, w, x @ P["lin.weight"].T) + P["bias"]


def ref_sg(P, index, n, x, w):
    index, w = looped(index, n, w)
    return lin(P, "lin", smooth(index, n, w, smooth(index, n, w, x)))


def ref_ssg(P, index, n, x, w):
    index, w = looped(index, n, w)
    one = smooth(index, n, w, x)
    return lin(P, "lin", 0.2 * x + 0.4 * one + 0.4 * smooth(index, n, w, one))


def ref_tag(P, index, n, x, w):
    one = smooth(index, n, w, x)
    return lin(P, "lins.0", x) + lin(P, "lins.1", one) + lin(P, "lins.2", smooth(index, n, w, one)) + P["bias"]


def ref_appnp(P, index, n, x):
    (index, w), z = looped(index, n), x
    for _ in range(3):
        z = 0.9 * smooth(index, n, w, z) + 0.1 * x
    return z


def ref_arma(P, index, n, x, w):
    out = []
    for k in range(2):
        h = relu(smooth(index, n, w, x @ P["init_weight"][k]) + x @ P["root_weight"][0, k] + P["bias"][0, k])
        out.append(relu(smooth(index, n, w, h @ P["weight"][0, k]) + x @ P["root_weight"][1, k] + P["bias"][1, k]))
    return np.mean(out, 0)


def ref_cheb(P, index, n, x, w):
    keep = index[0] != index[1]
    index, w = index[:, keep], w[keep]
    a = np.zeros((n, n))
    np.add.at(a, (index[1], index[0]), w)
    degree = np.bincount(index[0], w, minlength=n)
    s = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1e-30)), 0)
    laplacian = np.eye(n) - s[:, None] * a * s
    scaled = 2 * laplacian / (2 * max(laplacian.max(), 1.0)) - np.eye(n)
    one = scaled @ x
    return lin(P, "lins.0", x) + lin(P, "lins.1", one) + lin(P, "lins.2", 2 * scaled @ one - x) + P["bias"]


def loop_features(index, nodes, e):
    """Edges with one loop at each node, whose features are the mean of those that come in."""
    keep = index[0] != index[1]
    index, e = index[:, keep], e[keep]
    return looped(index, nodes)[0], np.concatenate([e, at_nodes(index, nodes, lambda s, v, k: e[k], lambda m: m.mean(0), D)])


def ref_gat(P, index, n, x, e):
    index, e = loop_features(index, n, e)
    h = (x @ P["lin.weight"].T).reshape(-1, H, O)
    f = (e @ P["lin_edge.weight"].T).reshape(-1, H, O)
    a, b, c = (h * P["att_src"]).sum(-1), (h * P["att_dst"]).sum(-1), (f * P["att_edge"]).sum(-1)
    return attend(index, n, lambda s, v, k: leaky(a[s] + b[v] + c[k]), lambda s, k: h[s]) + P["bias"]


def ref_gatv2(P, index, n, x, e):
    index, e = loop_features(index, n, e)
    l, r, f = (lin(P, name, y).reshape(-1, H, O) for name, y in (("lin_l", x), ("lin_r", x), ("lin_edge", e)))
    return attend(index, n, lambda s, v, k: (leaky(l[s] + r[v] + f[k]) * P["att"][0]).sum(-1), lambda s, k: l[s]) + P["bias"]


def ref_transformer(P, index, n, x, e):
    q, k, v, f = (lin(P, f"lin_{m}", y).reshape(-1, H, O) for m, y in (("query", x), ("key", x), ("value", x), ("edge", e)))
    score = lambda s, d, m: (q[d] * (k[s] + f[m])).sum(-1) / np.sqrt(O)  # noqa: E731
    out, skip = attend(index, n, score, lambda s, m: v[s] + f[m]), lin(P, "lin_skip", x)
    b = sigmoid(np.concatenate([out, skip, out - skip], 1) @ P["lin_beta.weight"].T)
    return b * skip + (1 - b) * out


def ref_sage(P, index, n, x):
    got = at_nodes(index, n, lambda s, v, k: x[s], lambda m: m.mean(0), F)
    out = lin(P, "lin_l", got) + lin(P, "lin_r", x)
    return out / np.maximum(np.sqrt((out * out).sum(-1, keepdims=True)), 1e-12)


def ref_gin(P, index, n, x):
    h = 1.3 * x + at_nodes(index, n, lambda s, v, k: x[s], width=F)
    return lin(P, "nn.2", relu(lin(P, "nn.0", h)))


def ref_gine(P, index, n, x, e):
    return lin(P, "nn.0", x + at_nodes(index, n, lambda s, v, k: relu(x[s] + lin(P, "lin", e[k])), width=F))


def ref_graph(P, index, n, x, w):
    return lin(P, "lin_rel", at_nodes(index, n, lambda s, v, k: w[k] * x[s], lambda m: m.max(0), F)) + lin(P, "lin_root", x)


def ref_edge(P, index, n, x):
    def message(s, v, k):
        return lin(P, "nn.2", relu(lin(P, "nn.0", np.concatenate([x[v], x[s] - x[v]]))))

    return at_nodes(index, n, message, lambda m: m.max(0))


def ref_agnn(P, index, n, x):
    u = x / np.sqrt((x * x).sum(-1, keepdims=True))
    return attend(looped(index, n)[0], n, lambda s, v, k: P["beta"] * (u[s] * u[v]).sum(), lambda s, k: x[s][None])


def ref_gated(P, index, n, x, w):
    h = np.concatenate([x, np.zeros((n, 1))], 1)
    for k in range(2):
        m = h @ P["weight"][k]
        m = at_nodes(index, n, lambda s, v, e: w[e] * m[s], width=F + 1)  # noqa: B023
        i = np.split(m @ P["rnn.weight_ih"].T + P["rnn.bias_ih"], 3, 1)
        j = np.split(h @ P["rnn.weight_hh"].T + P["rnn.bias_hh"], 3, 1)
        r, z = sigmoid(i[0] + j[0]), sigmoid(i[1] + j[1])
        new = np.tanh(i[2] + r * j[2])
        h = new + z * (h - new)
    return h


def ref_resgated(P, index, n, x, e):
    def message(s, v, k):
        i, j = np.concatenate([x[v], e[k]]), np.concatenate([x[s], e[k]])
        return sigmoid(lin(P, "lin_key", i) + lin(P, "lin_query", j)) * lin(P, "lin_value", j)

    return at_nodes(index, n, message) + lin(P, "lin_skip", x) + P["bias"]


def ref_nn(P, index, n, x, e):
    matrix = lin(P, "nn.2", relu(lin(P, "nn.0", e))).reshape(-1, F, O)
    return at_nodes(index, n, lambda s, v, k: x[s] @ matrix[k]) + lin(P, "lin", x) + P["bias"]


def by_relation(P, index, n, message, t):
    return sum(at_nodes(index[:, t == r], n, lambda s, v, k: message(s, r), lambda m: m.mean(0)) for r in range(R))  # noqa: B023


def ref_rgcn(P, index, n, x, t):
    weight = np.einsum("rb,bio->rio", P["comp"], P["weight"])
    return by_relation(P, index, n, lambda s, r: x[s] @ weight[r], t) + x @ P["root"] + P["bias"]


def ref_rgcn_blocks(P, index, n, x, t):
    def message(s, r):
        return np.concatenate([x[s][2 * b : 2 * b + 2] @ P["weight"][r, b] for b in range(2)])

    return sum(at_nodes(index[:, t == r], n, lambda s, v, k: message(s, r), width=4) for r in range(R)) + x @ P["root"] + P["bias"]  # noqa: B023


def ref_rgcn_rows(P, index, n, t):
    weight = np.einsum("rb,bio->rio", P["comp"], P["weight"])
    return by_relation(P, index, n, lambda s, r: weight[r, s], t) + P["root"] + P["bias"]


def ref_rgat(P, index, n, x, t, e):
    h = np.einsum("vi,rio->rvo", x, P["weight"])
    q, k, f = h @ P["q"], h @ P["k"], lin(P, "lin_edge", e) @ P["e"]
    return attend(index, n, lambda s, v, m: leaky(q[t[m], v] + k[t[m], s] + f[m]), lambda s, m: h[t[m], s].reshape(H, O)) + P["bias"]


def ref_pna(P, index, n, x, e):
    edge = lin(P, "edge_encoder", e)
    degree = np.bincount(index[1], minlength=n)[:, None]
    scale = np.log(degree + 1) / P["aggr_module.avg_deg_log"], P["aggr_module.avg_deg_log"] / np.log(np.maximum(degree, 1) + 1)
    out = []
    for tower in range(2):
        y = x[:, 2 * tower : 2 * tower + 2]
        message = lambda s, v, k: lin(P, f"pre_nns.{tower}.0", np.concatenate([y[v], y[s], edge[k]]))  # noqa: B023, E731
        got = np.concatenate([at_nodes(index, n, message, f, 2) for f in (lambda m: m.mean(0), lambda m: m.max(0))], 1)
        out.append(lin(P, f"post_nns.{tower}.0", np.concatenate([y, got, got * scale[0], got * scale[1]], 1)))
    return lin(P, "lin", np.concatenate(out, 1))


def ref_gen(P, index, n, x, e):
    h, f = x @ P["lin_src.weight"].T, e @ P["lin_edge.weight"].T

    def weighted(m):
        a = np.exp(P["aggr_module.t"] * m)
        return (a / a.sum(0) * m).sum(0)

    y = at_nodes(index, n, lambda s, v, k: relu(h[s] + f[k]) + 1e-7, weighted) + x @ P["lin_dst.weight"].T
    y = y @ P["mlp.0.weight"].T
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5) * P["mlp.1.weight"] + P["mlp.1.bias"]
    return relu(y) @ P["mlp.4.weight"].T


# name: layer, what it takes beside x and edge_index, reference
DEG = [1, 2, 5, 3, 2]
LAYERS = {
    "GCN": (lambda F=F, O=O: gnn.GCNConv(F, O), "w", ref_gcn),
    "SG": (lambda F=F, O=O: gnn.SGConv(F, O, K=2), "w", ref_sg),
    "SSG": (lambda F=F, O=O: gnn.SSGConv(F, O, alpha=0.2, K=2), "w", ref_ssg),
    "TAG": (lambda F=F, O=O: gnn.TAGConv(F, O, K=2), "w", ref_tag),
    "APPNP": (lambda F=F, O=O: gnn.APPNP(K=3, alpha=0.1), "", ref_appnp),
    "ARMA": (lambda F=F, O=O: gnn.ARMAConv(F, O, num_stacks=2, num_layers=2), "w", ref_arma),
    "Cheb": (lambda F=F, O=O: gnn.ChebConv(F, O, K=3), "w", ref_cheb),
    "GAT": (lambda F=F, O=O: gnn.GATConv(F, O, heads=H, edge_dim=D), "e", ref_gat),
    "GATv2": (lambda F=F, O=O: gnn.GATv2Conv(F, O, heads=H, edge_dim=D), "e", ref_gatv2),
    "Transformer": (lambda F=F, O=O: gnn.TransformerConv(F, O, heads=H, edge_dim=D, beta=True), "e", ref_transformer),
    "SAGE": (lambda F=F, O=O: gnn.SAGEConv(F, O, normalize=True), "", ref_sage),
    "GIN": (lambda F=F, O=O: gnn.GINConv(mlp(F, 5, O), eps=0.3), "", ref_gin),
    "GINE": (lambda F=F, O=O: gnn.GINEConv(mlp(F, O), edge_dim=D), "e", ref_gine),
    "Graph": (lambda F=F, O=O: gnn.GraphConv(F, O, aggr="max"), "w", ref_graph),
    "Edge": (lambda F=F, O=O: gnn.EdgeConv(mlp(2 * F, 5, O)), "", ref_edge),
    "AGNN": (lambda F=F, O=O: gnn.AGNNConv(), "", ref_agnn),
    "GatedGraph": (lambda F=F, O=O: gnn.GatedGraphConv(F + 1, num_layers=2), "w", ref_gated),
    "ResGatedGraph": (lambda F=F, O=O: gnn.ResGatedGraphConv(F, O, edge_dim=D), "e", ref_resgated),
    "NN": (lambda F=F, O=O: gnn.NNConv(F, O, mlp(D, 5, F * O)), "e", ref_nn),
    "RGCN": (lambda F=F, O=O: gnn.RGCNConv(F, O, R, num_bases=2), "t", ref_rgcn),
    "FastRGCN": (lambda F=F, O=4: gnn.FastRGCNConv(F, O, R, num_blocks=2, aggr="add"), "t", ref_rgcn_blocks),
    "RGAT": (lambda F=F, O=O: gnn.RGATConv(F, O, R, heads=H, edge_dim=D), "te", ref_rgat),
    "PNA": (
        lambda F=F, O=4: gnn.PNAConv(F, O, ["mean", "max"], ["identity", "amplification", "attenuation"], Tensor(DEG), edge_dim=D, towers=2, divide_input=True),
        "e", ref_pna,
    ),
    "GEN": (lambda F=F, O=O: gnn.GENConv(F, O, edge_dim=D, norm="layer", learn_t=True), "e", ref_gen),
}  # fmt: skip
KINDS = ["random", "hub", "empty"]


def double(layer, seed=11):
    """The layer with random parameters of float64."""
    rng = np.random.default_rng(seed)
    for name, t in nn.get_state_dict(layer).items():
        if t.is_floating_point() and "avg_deg" not in name and name != "eps":
            t.replace(Tensor(rng.standard_normal(t.shape) * 0.6, requires_grad=t.requires_grad))
    return layer


def arguments(index, nodes, wanted, seed=1):
    """x, and what a layer takes beside edge_index."""
    rng, count = np.random.default_rng(seed), index.shape[1]
    more = {"w": rng.random(count) + 0.5, "e": rng.standard_normal((count, D)), "t": rng.integers(0, R, count)}
    return rng.standard_normal((nodes, F)), [more[k] for k in wanted]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", LAYERS)
def test_values_are_those_of_the_formula(name, kind):
    """Loops, repeated edges, isolated nodes, no edges; in float64."""
    make, wanted, reference = LAYERS[name]
    index, nodes = edges(kind)
    layer = double(make())
    x, more = arguments(index, nodes, wanted)
    got = layer(Tensor(x), Tensor(index), *[Tensor(a) for a in more])
    values = {n: t.numpy().astype(np.float64) for n, t in nn.get_state_dict(layer).items()}
    assert got.dtype.name == "float64" or got.numpy().dtype == np.float64
    np.testing.assert_allclose(got.numpy(), reference(values, index, nodes, x, *more), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_those_of_finite_differences(name):
    """Along one direction in the space of all inputs and parameters."""
    make, wanted, _ = LAYERS[name]
    index, nodes = edges("random")
    again = [k for k in range(index.shape[1]) if index[0, k] == index[1, k] and (index[:, :k] == index[:, k : k + 1]).all(0).any()]
    index = np.delete(index, again, 1)  # of several loops the last one counts, but all get its gradient, as in PyG
    layer, rng = double(make()), np.random.default_rng(4)
    x, more = arguments(index, nodes, wanted)
    moving = [a for a in [x, *more] if a.dtype.kind == "f"]
    params = [(t, t.numpy().copy()) for t in layer.parameters()]
    ways = [rng.standard_normal(a.shape) for a in moving + [p for _, p in params]]
    edge_index = Tensor(index)

    def along(t):
        stepped = [Tensor(a) + t * Tensor(d) for a, d in zip(moving, ways)]
        for (p, start), d in zip(params, ways[len(moving) :]):
            p.replace(Tensor(start) + t * Tensor(d))
        args = [stepped.pop(0) if a.dtype.kind == "f" else Tensor(a) for a in [x, *more]]
        return layer(args[0], edge_index, *args[1:])

    gradcheck(along, np.zeros(1), tol=2e-5)


@pytest.mark.parametrize("name", [*LAYERS, "GCN plain", "GAT plain", "SAGE max", "RGCN max", "RGCN rows"])
def test_nothing_as_wide_as_edges_times_features_is_stored(name):
    """Forward and backward, in one plan."""
    extra = {
        "GCN plain": (lambda: gnn.GCNConv(8, 8), ""), "GAT plain": (lambda: gnn.GATConv(8, 8, heads=2), ""),
        "SAGE max": (lambda: gnn.SAGEConv(8, 8, aggr=["max", "std"]), ""), "RGCN max": (lambda: gnn.RGCNConv(8, 8, R, aggr="max"), "t"),
        "RGCN rows": (lambda: gnn.RGCNConv(17, 8, R, num_bases=2), "t"),
    }  # fmt: skip
    make, wanted = extra.get(name) or LAYERS[name][:2]
    index, graph = big_graph()
    rng, count = np.random.default_rng(2), index.shape[1]
    layer = make() if name in extra else make(8, 8)
    x = None if name == "RGCN rows" else Tensor(rng.standard_normal((graph.num_nodes, 8)).astype(np.float32))
    known = {"w": rng.random(count).astype(np.float32), "e": rng.standard_normal((count, D)).astype(np.float32), "t": rng.integers(0, R, count)}
    more = [Tensor(known[k]) for k in wanted]
    wrt = [t for t in [x, *more] if t is not None and t.is_floating_point()] + layer.parameters()
    for t in wrt:
        t.realize()

    def run():
        out = layer(x, graph, *more)
        return [out, *out.square().sum().gradient(*wrt, materialize_grads=True)]

    assert_narrow(stored_by(run), count, 8)


@pytest.mark.parametrize("name", LAYERS)
def test_graphs_of_any_size_share_one_compiled_step(name):
    """Sizes are symbolic; the edges of every run are its own, with and without loops among them."""
    make, wanted, _ = LAYERS[name]

    def batch(nodes, count):
        rng = np.random.default_rng(100 * nodes + count)
        more = {"w": rng.random(count) + 0.5, "e": rng.standard_normal((count, D)), "t": rng.integers(0, R, count)}
        x, index = rng.standard_normal((nodes, F)), rng.integers(0, nodes, (2, count))
        return [a.astype(np.float32) if a.dtype.kind == "f" else a for a in (x, index, *[more[k] for k in wanted])]

    def sized(x, index, *more):
        n, e = Variable("nodes", 0, 1 << 30).bind(x.shape[0]), Variable("edges", 0, 1 << 30).bind(index.shape[1])
        return [Tensor(x).sized(n, F), Tensor(index).sized(2, e), *[Tensor(a).sized(e, *a.shape[1:]) for a in more]]

    layer = make()
    run = TinyJit(lambda *args: layer(*args).realize())
    for nodes, count in ((5, 9), (5, 9), (11, 40), (30, 4), (3, 0)):
        arrays = batch(nodes, count)
        got = run(*sized(*arrays)).numpy()
        np.testing.assert_allclose(got, layer(*[Tensor(a) for a in arrays]).numpy(), rtol=1e-4, atol=1e-5)


# ---- options ----


INDEX, NODES = edges("random")


def given(layer, *args):
    return layer(Tensor(arguments(INDEX, NODES, "")[0]), Tensor(INDEX), *args).numpy()


def test_parameters_have_the_names_of_pyg():
    """A checkpoint of PyTorch Geometric is loaded by these."""
    names = {
        "gat": (gnn.GATConv((F, F), O, edge_dim=D, residual=True), "att_dst att_edge att_src bias lin_dst.weight lin_edge.weight lin_src.weight res.weight"),
        "sage": (gnn.SAGEConv(F, O, project=True), "lin.bias lin.weight lin_l.bias lin_l.weight lin_r.weight"),
        "gatv2": (gnn.GATv2Conv(F, O, share_weights=True), "att bias lin_l.bias lin_l.weight lin_r.bias lin_r.weight"),
        "gine": (gnn.GINEConv(mlp(F, O), train_eps=True, edge_dim=D), "eps lin.bias lin.weight nn.0.bias nn.0.weight"),
        "rgcn": (gnn.RGCNConv(F, O, R, num_bases=2), "bias comp root weight"),
        "gen": (gnn.GENConv(F, O, msg_norm=True, norm="layer"), "lin_dst.weight lin_src.weight mlp.0.weight mlp.1.bias mlp.1.weight mlp.4.weight msg_norm.scale"),
    }  # fmt: skip
    for layer, expected in names.values():
        assert sorted(layer.state_dict()) == expected.split()
    assert gnn.GINConv(mlp(F, O)).eps.requires_grad is False and gnn.GINConv(mlp(F, O), train_eps=True).eps.requires_grad


def test_gcn_norm_gives_edges_and_weights():
    index, weight = gcn_norm(Tensor([[0, 1, 1], [1, 1, 0]]), Tensor([2.0, 3.0, 4.0]), improved=True)
    assert index.tolist() == [[0, 1, 0, 1], [1, 0, 0, 1]]  # the loop at node 1 keeps its 3, that of node 0 is new and has 2
    np.testing.assert_allclose(weight.numpy(), np.array([2, 4, 2, 3]) / np.sqrt([5 * 6, 6 * 5, 6 * 6, 5 * 5]), rtol=1e-6)
    graph, _ = gcn_norm(Graph([[0], [1]], 2), add_self_loops=False)
    assert isinstance(graph, Graph) and graph.num_edges == 1


@pytest.mark.parametrize("name", ["GCN", "GAT", "Transformer", "SAGE", "RGCN"])
def test_a_graph_is_as_good_as_an_edge_index(name):
    make, wanted, _ = LAYERS[name]
    layer = make()
    x, more = arguments(INDEX, NODES, wanted)
    more = [Tensor(a) for a in more]
    np.testing.assert_array_equal(layer(Tensor(x), Graph(INDEX, NODES), *more).numpy(), layer(Tensor(x), Tensor(INDEX), *more).numpy())


def test_the_other_direction_is_the_reversed_graph():
    for make in (lambda **k: gnn.GCNConv(F, O, **k), lambda **k: gnn.SAGEConv(F, O, **k), lambda **k: gnn.AGNNConv(**k)):
        layer, other = make(), make(flow="target_to_source")
        other.load_state_dict(layer.state_dict())
        x = Tensor(arguments(INDEX, NODES, "")[0])
        turned = np.ascontiguousarray(INDEX[::-1])
        np.testing.assert_allclose(other(x, Tensor(INDEX)).numpy(), layer(x, Tensor(turned)).numpy(), rtol=1e-6, atol=1e-7)


def test_two_sets_of_nodes():
    """Sizes of the outputs, loops only where both sets have the node, and no features for the targets."""
    rng = np.random.default_rng(0)
    source, target = Tensor(rng.standard_normal((5, F))), Tensor(rng.standard_normal((3, 2)))
    index = Tensor([[0, 4, 2, 1], [0, 2, 2, 1]])
    for layer in (
        gnn.SAGEConv((F, 2), O),
        gnn.GraphConv((F, 2), O),
        gnn.GATConv((F, 2), O),
        gnn.GATv2Conv((F, 2), O),
        gnn.ResGatedGraphConv((F, 2), O),
    ):
        assert layer((source, target), index).shape == (3, O)
    out, (edges_, alpha) = gnn.GATConv((F, 2), O, heads=H)((source, target), index, return_attention_weights=True)
    assert edges_.tolist() == [[4, 0, 1, 2], [2, 0, 1, 2]] and alpha.shape == (4, H)
    assert gnn.SAGEConv((F, 2), O)((source, None), index, size=(5, 3)).shape == (3, O)
    assert gnn.SAGEConv((-1, -1), O)((source, target), index).shape == (3, O)


def test_attention_weights_add_up_at_each_node():
    x, index = Tensor(arguments(INDEX, NODES, "")[0]), Tensor(INDEX)
    for layer in (gnn.GATConv(F, O, heads=H), gnn.GATv2Conv(F, O, heads=H), gnn.TransformerConv(F, O, heads=H)):
        _, (edge_index, alpha) = layer(x, index, return_attention_weights=True)
        total = np.zeros((NODES, H))
        np.add.at(total, edge_index.numpy()[1], alpha.numpy())
        has = np.isin(np.arange(NODES), edge_index.numpy()[1])
        np.testing.assert_allclose(total, np.repeat(has[:, None], H, 1) * 1.0, rtol=1e-6)


@pytest.mark.parametrize("fill", [0.5, "add", "max", "tensor"])
def test_features_of_added_loops(fill):
    """A constant, a reduction over the edges into the node, or a given row: as if the loops had been there."""
    x, (e,) = arguments(INDEX, NODES, "e")
    layer = gnn.GATConv(F, O, heads=H, edge_dim=D, fill_value=Tensor([1.0, 2.0]) if fill == "tensor" else fill)
    bare = gnn.GATConv(F, O, heads=H, edge_dim=D, add_self_loops=False)
    bare.load_state_dict(layer.state_dict())
    keep = INDEX[0] != INDEX[1]
    rest = INDEX[:, keep]
    reduce = {"add": lambda m: m.sum(0), "max": lambda m: m.max(0)}.get(fill)
    loops = np.tile([1.0, 2.0], (NODES, 1)) if fill == "tensor" else np.full((NODES, D), 0.5)
    loops = loops if reduce is None else at_nodes(rest, NODES, lambda s, v, k: e[keep][k], reduce, D)
    full = Tensor(np.concatenate([rest, [np.arange(NODES)] * 2], 1))
    expected = bare(Tensor(x), full, Tensor(np.concatenate([e[keep], loops]))).numpy()
    np.testing.assert_allclose(layer(Tensor(x), Tensor(INDEX), Tensor(e)).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_what_is_cached_is_used_again():
    x = arguments(INDEX, NODES, "")[0]
    for make in (lambda **k: gnn.GCNConv(F, O, **k), lambda **k: gnn.SGConv(F, O, K=2, **k), lambda **k: gnn.APPNP(2, 0.1, **k)):
        layer, fresh = make(cached=True), make()
        fresh.load_state_dict(layer.state_dict())
        first = layer(Tensor(x), Tensor(INDEX)).numpy()
        np.testing.assert_allclose(first, fresh(Tensor(x), Tensor(INDEX)).numpy(), rtol=1e-6)
        again = layer(Tensor(x), Tensor(np.array([[0], [1]]))).numpy()  # other edges are not looked at
        np.testing.assert_array_equal(again, first)
        layer.reset_parameters()
        assert layer._cached is None and getattr(layer, "_cached_x", None) is None


def test_layers_can_be_compiled():
    """No value is read while a layer is traced, and one that caches does so from the first trace on."""
    index, x = Tensor(INDEX), arguments(INDEX, NODES, "")[0]
    for layer in (gnn.GCNConv(F, O, cached=True), gnn.GATConv(F, O, heads=H), gnn.SGConv(F, O, cached=True)):
        step = TinyJit(lambda h: layer(h, index).realize())  # noqa: B023
        got = [step(Tensor(x)).numpy() for _ in range(3)]
        np.testing.assert_allclose(got[2], got[0], rtol=1e-6)


def test_dropout_only_while_training():
    x, index = Tensor(arguments(INDEX, NODES, "")[0]), Tensor(INDEX)
    for layer in (
        gnn.GATConv(F, O, dropout=0.9),
        gnn.TransformerConv(F, O, dropout=0.9),
        gnn.APPNP(2, 0.1, dropout=0.9),
        gnn.ARMAConv(F, O, dropout=0.9),
    ):
        for weight in layer.parameters():
            weight.realize()
        still = layer(x, index).numpy()
        np.testing.assert_array_equal(layer(x, index).numpy(), still)
        with Tensor.train():
            assert np.abs(layer(x, index).numpy() - still).max() > 1e-3


def test_chebyshev_with_eigenvalues_given():
    """One for all, and one a graph."""
    layer = gnn.ChebConv(F, O, K=3)
    x = Tensor(arguments(INDEX, NODES, "")[0])
    index = Tensor([[0, 1, 3, 4], [1, 0, 4, 3]])
    batch = Tensor([0, 0, 0, 1, 1, 1])
    one = layer(x, index, None, None, 2.5).numpy()
    np.testing.assert_allclose(layer(x, index, None, batch, Tensor([2.5, 2.5])).numpy(), one, rtol=1e-6)
    two = layer(x, index, None, batch, Tensor([2.5, 3.0])).numpy()
    np.testing.assert_allclose(two[:3], one[:3], rtol=1e-6)
    assert np.abs(two[3:5] - one[3:5]).max() > 1e-3


def test_relations_without_features():
    """Each node has a row of its own in every relation's matrix; whole numbers say which."""
    t = arguments(INDEX, NODES, "t")[1][0]
    layer = double(gnn.RGCNConv(NODES, O, R, num_bases=2))
    values = {n: p.numpy() for n, p in layer.state_dict().items()}
    got = layer(None, Tensor(INDEX), Tensor(t)).numpy()
    np.testing.assert_allclose(got, ref_rgcn_rows(values, INDEX, NODES, t), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(layer(Tensor(np.arange(NODES)), Tensor(INDEX), Tensor(t)).numpy(), got)
    plain = double(gnn.RGCNConv(NODES, O, R))
    eye = plain(Tensor(np.eye(NODES)), Tensor(INDEX), Tensor(t)).numpy()
    np.testing.assert_allclose(plain(None, Tensor(INDEX), Tensor(t)).numpy(), eye, rtol=1e-9, atol=1e-12)


def test_nearest_neighbours_are_found_anew():
    rng = np.random.default_rng(3)
    x, batch = rng.standard_normal((8, 3)), np.array([0] * 5 + [1] * 3)
    layer = double(gnn.DynamicEdgeConv(mlp(6, 4, O), k=2))
    apart = ((x[:, None] - x) ** 2).sum(-1) + 1e9 * (batch[:, None] != batch)
    near = np.argsort(apart, 1)[:, :2]
    index = np.stack([near.reshape(-1), np.repeat(np.arange(8), 2)])
    values = {n: p.numpy() for n, p in layer.state_dict().items()}
    np.testing.assert_allclose(layer(Tensor(x), Tensor(batch)).numpy(), ref_edge(values, index, 8, x), rtol=1e-6, atol=1e-8)


def test_degree_histogram():
    from types import SimpleNamespace

    data = [SimpleNamespace(edge_index=Tensor([[0, 1], [1, 1]]), num_nodes=3), SimpleNamespace(edge_index=Tensor([[0], [1]]), num_nodes=2)]
    assert gnn.PNAConv.get_degree_histogram(data).tolist() == [3, 1, 1]


def test_a_message_of_ones_own_is_used():
    """A subclass that changes the message gets it called with the weight of each edge."""

    class Doubled(gnn.GCNConv):
        def message(self, x_j, edge_weight):
            return 2 * edge_weight.reshape(-1, 1) * x_j

    layer, plain = Doubled(F, O, bias=False), gnn.GCNConv(F, O, bias=False)
    plain.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(given(layer), 2 * given(plain), rtol=1e-6)


def test_mistakes_are_named():
    x, index = Tensor.ones(NODES, F), Tensor(INDEX)
    for make, text in [
        (lambda: gnn.GCNConv(F, O, add_self_loops=True, normalize=False), "normalize"),
        (lambda: gnn.GCNConv(F, O)((x, x), index), "bipartite"),
        (lambda: gnn.GATv2Conv(F, O)(x, index, Tensor.ones(INDEX.shape[1], D)), "edge_dim"),
        (lambda: gnn.GINEConv(mlp(F, O))(x, index, Tensor.ones(INDEX.shape[1], D)), "edge_dim=2"),
        (lambda: gnn.RGCNConv(F, O, R, num_bases=2, num_blocks=2), "num_blocks"),
        (lambda: gnn.RGCNConv(F, O, R)(x, index), "edge_type"),
        (lambda: gnn.GatedGraphConv(2, 2)(x, index), "larger than the number of output channels"),
        (lambda: gnn.ChebConv(F, O, K=2, normalization="left"), "normalization"),
        (lambda: gnn.RGATConv(F, O, R, dim=2), "dim=2"),
        (lambda: gnn.SAGEConv(-1, O, project=True), "project"),
    ]:
        with pytest.raises(ValueError, match=text):
            make()
