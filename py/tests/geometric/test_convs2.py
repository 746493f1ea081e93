"""Convolutions from MF to WL, heterogeneous and dense ones: values against loops in numpy, gradients against finite differences, names and
options."""

from __future__ import annotations

import numpy as np
import pytest
from graph_helpers import edges
from helpers import gradcheck

import polygrad.geometric.nn as gnn
from polygrad import Graph, Tensor, TinyJit, nn

F, O, D, H, R, V = 4, 6, 3, 2, 3, 6  # features in and out, of an edge, heads, relations, nodes
EXP = np.exp


def mlp(*widths):
    parts = [[nn.Linear(a, b), nn.ReLU()] for a, b in zip(widths, widths[1:])]
    return nn.Sequential(*[m for both in parts for m in both][:-1])


# ---- references: P holds the parameters by name ----


def add(m):
    return m.sum(0)


def mean(m):
    return m.mean(0)


def top(m):
    return m.max(0)


def at_nodes(index, nodes, message, reduce, width):
    """reduce([message(source, destination, edge)]) at every node, zeros where there are no edges."""
    out = np.zeros((nodes, *np.atleast_1d(width)))
    for v in range(nodes):
        got = [message(s, v, k) for k, (s, d) in enumerate(index.T) if d == v]
        if got:
            out[v] = reduce(np.array(got))
    return out


def looped(index, nodes, w=None):
    """One loop at each node, behind the other edges; the last loop that was there keeps its weight."""
    keep = index[0] != index[1]
    new, loops = np.concatenate([index[:, keep], [np.arange(nodes)] * 2], 1), np.ones(nodes)
    if w is None:
        return new, np.ones(new.shape[1])
    for k in np.flatnonzero(~keep):
        loops[index[0, k]] = w[k]
    return new, np.concatenate([w[keep], loops])


def norm_of(index, nodes, w):
    degree = np.bincount(index[1], w, minlength=nodes)
    n = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1e-30)), 0)
    return n[index[0]] * w * n[index[1]]


def smooth(index, nodes, w, h):
    n = norm_of(index, nodes, w)
    return at_nodes(index, nodes, lambda s, v, k: n[k] * h[s], add, h.shape[1])


def lin(P, name, x):
    return x @ P[f"{name}.weight"].T + P.get(f"{name}.bias", 0)


def sigmoid(x):
    return 1 / (1 + EXP(-x))


def relu(x):
    return np.maximum(x, 0)


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


def softmax(e, axis=0):
    p = EXP(e - e.max(axis, keepdims=True))
    return p / p.sum(axis, keepdims=True)


def attend(index, nodes, score, value, shape):
    """sum of softmax(score) value, for scores [heads] and values [heads, out]."""
    out = np.zeros((nodes, *shape))
    for v in range(nodes):
        near = [(s, k) for k, (s, d) in enumerate(index.T) if d == v]
        if near:
            a = softmax(np.array([score(s, v, k) for s, k in near]))
            out[v] = sum(a[j].reshape(*np.shape(a[j]), *[1] * (len(shape) - a[j].ndim)) * value(s, v, k) for j, (s, k) in enumerate(near))
    return out


def ref_mf(P, index, x):
    h, degree = at_nodes(index, V, lambda s, v, k: x[s], add, F), np.minimum(np.bincount(index[1], minlength=V), 3)
    return np.array([lin(P, f"lins_l.{d}", a) + lin(P, f"lins_r.{d}", b) for d, a, b in zip(degree, h, x)])


def ref_le(P, index, x, w):
    a, b = lin(P, "lin1", x), lin(P, "lin2", x)
    return at_nodes(index, V, lambda s, v, k: w[k] * (a[s] - b[v]), add, O) + lin(P, "lin3", x)


def ref_cluster(P, index, x):
    index, _ = looped(index, V)
    degree = np.bincount(index[1], minlength=V)
    h = at_nodes(index, V, lambda s, v, k: x[s] * (1.3 if s == v else 1) / degree[v], add, F)
    return lin(P, "lin_out", h) + lin(P, "lin_root", x)


def ref_feast(P, index, x):
    h, u = lin(P, "lin", x).reshape(-1, H, O), lin(P, "u", x)
    return at_nodes(looped(index, V)[0], V, lambda s, v, k: softmax(u[s] - u[v] + P["c"]) @ h[s], mean, O) + P["bias"]


def ref_gcn2(P, index, x, x0, w):
    beta = np.log(0.5 / 2 + 1)
    a, b = 0.8 * smooth(*[(i, V, u) for i, u in [looped(index, V, w)]][0], x), 0.2 * x0
    return (1 - beta) * (a + b) + beta * (a @ P["weight1"] + b @ P["weight2"])


def ref_film(P, index, x, t):
    def part(film, target):
        beta, gamma = np.split(lin(P, film, x), 2, 1)
        return lambda h, v: relu(gamma[v] * h + beta[v])

    out = part("film_skip", None)(lin(P, "lin_skip", x), slice(None))
    for r in range(R):
        h, f = lin(P, f"lins.{r}", x), part(f"films.{r}", None)
        out = out + at_nodes(index[:, t == r], V, lambda s, v, k: f(h[s], v), mean, O)  # noqa: B023
    return out


def ref_eg(P, index, x):
    index, w = looped(index, V)
    n, h = norm_of(index, V, w), lin(P, "bases_lin", x)
    square = at_nodes(index, V, lambda s, v, k: h[s] ** 2, mean, h.shape[1])
    std = np.sqrt(np.maximum(square - at_nodes(index, V, lambda s, v, k: h[s], mean, h.shape[1]) ** 2, 1e-5))
    each = [at_nodes(index, V, lambda s, v, k: n[k] * h[s], add, h.shape[1]), at_nodes(index, V, lambda s, v, k: h[s], top, h.shape[1]), std]
    return (lin(P, "comb_lin", x).reshape(V, 2, 9) @ np.stack(each, 1).reshape(V, 9, 3)).reshape(V, O) + P["bias"]


def ref_hypergraph(P, index, x, a):
    h, e = lin(P, "lin", x).reshape(V, H, O), lin(P, "lin", a).reshape(V, H, O)
    l, r = np.split(P["att"][0], 2, 1)
    score = leaky((h * l).sum(-1)[index[0]] + (e * r).sum(-1)[index[1]])
    alpha = np.zeros_like(score)
    for v in range(V):
        if (index[1] == v).any():
            alpha[index[1] == v] = softmax(score[index[1] == v])
    edge = at_nodes(index, V, lambda s, v, k: alpha[k][:, None] * h[s], mean, (H, O))
    return at_nodes(index[::-1], V, lambda s, v, k: alpha[k][:, None] * edge[s], mean, (H, O)).reshape(V, -1) + P["bias"]


def ref_pdn(P, index, x, e):
    w = sigmoid(lin(P, "mlp.2", relu(lin(P, "mlp.0", e))))[:, 0]
    index, w = looped(index, V, w)
    return smooth(index, V, w, lin(P, "lin", x)) + P["bias"]


def ref_general(P, index, x, e):
    a, b, c = (lin(P, name, y).reshape(-1, H, O) for name, y in (("lin_msg", x), ("lin_msg_i", x), ("lin_edge", e)))

    def score(s, v, k):
        return leaky(((a[s] + b[v] + c[k]) * (a[v] + b[s] + c[k])).sum(-1) / np.sqrt(O))

    out = attend(index, V, score, lambda s, v, k: a[s] + b[v] + c[k], (H, O)).mean(1) + lin(P, "lin_self", x)
    return out / np.sqrt((out**2).sum(-1, keepdims=True))


def ref_fa(P, index, x, x0):
    index, w = looped(index, V)
    n, l, r = norm_of(index, V, w), lin(P, "att_l", x)[:, 0], lin(P, "att_r", x)[:, 0]
    return at_nodes(index, V, lambda s, v, k: n[k] * np.tanh(l[s] + r[v]) * x[s], add, F) + 0.1 * x0


def ref_dna(P, index, x, w):
    def grouped(name, y):
        parts = [p @ m for p, m in zip(np.split(y, 2, -1), P[f"multi_head.{name}.weight"])]
        return (np.concatenate(parts, -1) + P[f"multi_head.{name}.bias"]).reshape(*y.shape[:-1], H, F // H)

    x = np.stack([x, np.sin(x)], 1)
    index, w = looped(index, V, w)
    n, q, k_, v_ = norm_of(index, V, w), grouped("lin_q", x[:, -1]), grouped("lin_k", x), grouped("lin_v", x)

    def message(s, v, k):
        p = EXP((q[v] * k_[s]).sum(-1) / np.sqrt(F // H))
        return n[k] * ((p / (1 + p.sum(0)))[..., None] * v_[s]).sum(0).reshape(-1)

    return at_nodes(index, V, message, add, F)


def ref_mixhop(P, index, x, w):
    index, w = looped(index, V, w)
    one = smooth(index, V, w, x)
    return np.concatenate([lin(P, "lins.2", smooth(index, V, w, one)), lin(P, "lins.0", x)], 1) + P["bias"]


def ref_antisymmetric(P, index, x):
    index, w = looped(index, V)
    for _ in range(2):
        h = x @ (P["W"] - P["W"].T - 0.1 * np.eye(F)).T + smooth(index, V, w, lin(P, "phi.lin", x)) + P["bias"]
        x = x + 0.1 * np.tanh(h)
    return x


def ref_dir(P, index, x):
    def half(name, i):
        return lin(P, f"{name}.lin_l", at_nodes(i, V, lambda s, v, k: x[s], mean, F))

    return 0.3 * half("conv_out", index[::-1]) + 0.7 * half("conv_in", index) + lin(P, "lin", x)


def ref_cg(P, index, x, e):
    def message(s, v, k):
        z = np.concatenate([x[v], x[s], e[k]])
        return sigmoid(lin(P, "lin_f", z)) * np.log1p(EXP(lin(P, "lin_s", z)))

    return at_nodes(index, V, message, mean, F) + x


def ref_gmm(P, index, x, e):
    h = (x @ P["g"]).reshape(V, 2, O)
    w = EXP(-0.5 * ((e[:, None] - P["mu"]) ** 2 / (1e-15 + P["sigma"] ** 2)).sum(-1))
    return at_nodes(index, V, lambda s, v, k: w[k] @ h[s], mean, O) + lin(P, "root", x) + P["bias"]


def ref_gmm_separate(P, index, x, e):
    w = EXP(-0.5 * ((e[:, None, None, None] - P["mu"]) ** 2 / (1e-15 + P["sigma"] ** 2)).sum(-1))
    w = (w * P["g"].reshape(F, O, 2)).sum(-1)
    return at_nodes(index, V, lambda s, v, k: x[s] @ w[k], mean, O) + lin(P, "root", x) + P["bias"]


def ref_point(P, index, x, p):
    h = at_nodes(looped(index, V)[0], V, lambda s, v, k: relu(lin(P, "local_nn.0", np.concatenate([x[s], p[s] - p[v]]))), top, O)
    return lin(P, "global_nn.0", h)


def ref_point_transformer(P, index, x, p):
    h, a, b = lin(P, "lin", x), lin(P, "lin_src", x), lin(P, "lin_dst", x)
    delta = lambda s, v: lin(P, "pos_nn", p[v] - p[s])  # noqa: E731
    return attend(looped(index, V)[0], V, lambda s, v, k: b[v] - a[s] + delta(s, v), lambda s, v, k: h[s] + delta(s, v), (O,))


def ref_signed(P, index, x):
    pos, neg = np.split(x, 2, 1)
    around = lambda i, y: at_nodes(i, V, lambda s, v, k: y[s], mean, 2)  # noqa: E731
    a = lin(P, "lin_pos_l", np.concatenate([around(index, pos), around(index[::-1], neg)], 1)) + lin(P, "lin_pos_r", pos)
    b = lin(P, "lin_neg_l", np.concatenate([around(index, neg), around(index[::-1], pos)], 1)) + lin(P, "lin_neg_r", neg)
    return np.concatenate([a, b], 1)


def ref_supergat(P, index, x):
    h = lin(P, "lin", x).reshape(V, H, O)
    l, r = (h * P["att_l"]).sum(-1), (h * P["att_r"]).sum(-1)
    score = lambda s, v, k: leaky((l[s] + r[v]) * sigmoid((h[s] * h[v]).sum(-1)))  # noqa: E731
    return attend(looped(index, V)[0], V, score, lambda s, v, k: h[s], (H, O)).mean(1) + P["bias"]


def ref_wl_continuous(P, index, x, w):
    total = np.bincount(index[1], w, minlength=V)[:, None]
    return 0.5 * (x + at_nodes(index, V, lambda s, v, k: w[k] * x[s], add, F) / np.where(total, total, 1))


# name: layer, what it is called with (x, i: edges, r: edges reversed, w: weights, e: features and t: types of edges, y: other node values, p:
# positions), reference (with x and the rest but the edges)
LAYERS = {
    "MF": (lambda: gnn.MFConv(F, O, max_degree=3), "xi", ref_mf),
    "LE": (lambda: gnn.LEConv(F, O), "xiw", ref_le),
    "ClusterGCN": (lambda: gnn.ClusterGCNConv(F, O, diag_lambda=0.3), "xi", ref_cluster),
    "FeaSt": (lambda: gnn.FeaStConv(F, O, heads=H), "xi", ref_feast),
    "GCN2": (lambda: gnn.GCN2Conv(F, 0.2, theta=0.5, layer=2, shared_weights=False), "xyiw", ref_gcn2),
    "FiLM": (lambda: gnn.FiLMConv(F, O, num_relations=R), "xit", ref_film),
    "EG": (lambda: gnn.EGConv(F, O, ["symnorm", "max", "std"], num_heads=2, num_bases=3), "xi", ref_eg),
    "Hypergraph": (lambda: gnn.HypergraphConv(F, O, use_attention=True, heads=H), "xi-y", ref_hypergraph),
    "LG": (lambda: gnn.LGConv(), "xiw", lambda P, index, x, w: smooth(index, V, w, x)),
    "PDN": (lambda: gnn.PDNConv(F, O, D, 5), "xie", ref_pdn),
    "General": (
        lambda: gnn.GeneralConv(F, O, D, heads=H, attention=True, attention_type="dot_product", directed_msg=False, l2_normalize=True),
        "xie", ref_general,
    ),
    "FA": (lambda: gnn.FAConv(F), "xyi", ref_fa),
    "DNA": (lambda: Stacked(gnn.DNAConv(F, heads=H, groups=2)), "xiw", ref_dna),
    "Simple": (lambda: gnn.SimpleConv("max", "cat"), "xiw", lambda P, i, x, w: np.concatenate([x, at_nodes(i, V, lambda s, v, k: w[k] * x[s], top, F)], 1)),
    "MixHop": (lambda: gnn.MixHopConv(F, O, powers=[2, 0]), "xiw", ref_mixhop),
    "AntiSymmetric": (lambda: gnn.AntiSymmetricConv(F, num_iters=2), "xi", ref_antisymmetric),
    "DirGNN": (lambda: gnn.DirGNNConv(gnn.SAGEConv(F, O), alpha=0.3), "xi", ref_dir),
    "CG": (lambda: gnn.CGConv(F, D, aggr="mean"), "xie", ref_cg),
    "GMM": (lambda: gnn.GMMConv(F, O, D, 2), "xie", ref_gmm),
    "GMM separate": (lambda: gnn.GMMConv(F, O, D, 2, separate_gaussians=True), "xie", ref_gmm_separate),
    "PointNet": (lambda: gnn.PointNetConv(nn.Sequential(nn.Linear(F + 3, O), nn.ReLU()), mlp(O, 2)), "xpi", ref_point),
    "PointTransformer": (lambda: gnn.PointTransformerConv(F, O), "xpi", ref_point_transformer),
    "Signed": (lambda: gnn.SignedConv(2, O, first_aggr=False), "xir", ref_signed),
    "SuperGAT": (lambda: gnn.SuperGATConv(F, O, heads=H, concat=False), "xi", ref_supergat),
    "WLConvContinuous": (lambda: gnn.WLConvContinuous(), "xiw", ref_wl_continuous),
}  # fmt: skip


class Stacked(nn.Module):
    """A layer that takes the results of several layers before it."""

    def __init__(self, conv):
        self.multi_head, self._conv = conv.multi_head, conv

    def forward(self, x, edge_index, w):
        return self._conv(Tensor.stack(x, x.sin(), dim=1), edge_index, w)


def double(layer, seed=11):
    """The layer with random parameters of float64."""
    rng = np.random.default_rng(seed)
    for name, t in nn.get_state_dict(layer).items():
        if t.is_floating_point() and t.requires_grad:
            t.replace(Tensor(rng.standard_normal(t.shape) * 0.6, requires_grad=True))
        elif name in ("scaler", "eye"):
            t.replace(Tensor(t.numpy().astype(np.float64)))
    return layer


def arguments(index, wanted, nodes=V, seed=1):
    rng, count = np.random.default_rng(seed), index.shape[1]
    values = {
        "x": rng.standard_normal((nodes, F)), "y": rng.standard_normal((nodes, F)), "p": rng.standard_normal((nodes, 3)), "i": index, "r": index[::-1].copy(),
        "w": rng.random(count) + 0.5, "e": rng.standard_normal((count, D)), "t": rng.integers(0, R, count), "-": None,
    }  # fmt: skip
    return [values[k] for k in wanted]


def tensors(args):
    return [None if a is None else Tensor(a) for a in args]


def graph(kind):
    index, nodes = edges(kind)
    assert nodes <= V
    return index


@pytest.mark.parametrize("kind", ["random", "empty"])
@pytest.mark.parametrize("name", LAYERS)
def test_values_are_those_of_the_formula(name, kind):
    """Loops, repeated edges, isolated nodes, no edges; in float64."""
    make, wanted, reference = LAYERS[name]
    index, layer = graph(kind), double(make())
    args = arguments(index, wanted)
    got = layer(*tensors(args)).numpy()
    values = {n: t.numpy().astype(np.float64) for n, t in nn.get_state_dict(layer).items()}
    rest = [a for k, a in zip(wanted, args) if k not in "ir-"]
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, reference(values, index, *rest), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_those_of_finite_differences(name):
    """Along one direction in the space of all inputs and parameters."""
    make, wanted, _ = LAYERS[name]
    index = graph("random")
    index = index[:, [k for k in range(index.shape[1]) if index[0, k] != index[1, k] or (index[:, :k] != index[:, k : k + 1]).any(0).all()]]
    layer, rng, args = double(make()), np.random.default_rng(4), arguments(index, wanted)
    params = [(t, t.numpy().copy()) for t in layer.parameters()]
    ways = [rng.standard_normal(np.shape(a)) for a in args + [p for _, p in params]]
    given = tensors(args)

    def along(t):
        for (p, start), d in zip(params, ways[len(args) :]):
            p.replace(Tensor(start) + t * Tensor(d))
        return layer(*[g + t * Tensor(d) if g is not None and g.is_floating_point() else g for g, d in zip(given, ways)])

    gradcheck(along, np.zeros(1), tol=2e-5)


# ---- options ----


def two_sets(seed=2):
    rng = np.random.default_rng(seed)
    index = np.stack([rng.integers(0, V, 9), rng.integers(0, 3, 9)])
    return index, rng.standard_normal((V, F)), rng.standard_normal((4, F)), rng.random(9), rng.standard_normal((9, D))


PAIRS = {
    "MF": (lambda: gnn.MFConv((F, F), O), "xi"),
    "LE": (lambda: gnn.LEConv((F, F), O), "xiw"),
    "FeaSt": (lambda: gnn.FeaStConv(F, O, H, add_self_loops=False), "xi"),
    "FiLM": (lambda: gnn.FiLMConv((F, F), O), "xi"),
    "General": (lambda: gnn.GeneralConv((F, F), O, attention=True, attention_type="dot_product"), "xi"),
    "Simple": (lambda: gnn.SimpleConv("mean", "sum"), "xiw"),
    "CG": (lambda: gnn.CGConv((F, F), D), "xie"),
    "GMM": (lambda: gnn.GMMConv((F, F), O, D, 2), "xie"),
    "Signed": (lambda: gnn.SignedConv(F, O, True), "xii"),
    "WLConvContinuous": (lambda: gnn.WLConvContinuous(), "xiw"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_sets_of_nodes_are_as_one(name):
    """Edges from a to b give b what they give it among all nodes, where a and b stand side by side."""
    make, wanted = PAIRS[name]
    index, a, b, w, e = two_sets()
    layer = double(make())
    got = layer(*[{"x": (Tensor(a), Tensor(b)), "i": Tensor(index), "w": Tensor(w), "e": Tensor(e)}[k] for k in wanted])
    shifted = index + np.array([[0], [V]])
    whole = layer(*[{"x": Tensor(np.concatenate([a, b])), "i": Tensor(shifted), "w": Tensor(w), "e": Tensor(e)}[k] for k in wanted])
    np.testing.assert_allclose(got.numpy(), whole.numpy()[V:], rtol=1e-10, atol=1e-12)


def test_points_of_two_sets():
    """Self loops join points of the same number; PointNet takes no features, too."""
    index, a, b, _, _ = two_sets()
    pos = np.random.default_rng(0).standard_normal((V, 3)), np.random.default_rng(1).standard_normal((4, 3))
    got = gnn.PointNetConv()(None, (Tensor(pos[0]), Tensor(pos[1])), Tensor(index)).numpy()
    keep = index[:, index[0] != index[1]]
    near = np.concatenate([keep, [np.arange(4)] * 2], 1)
    want = at_nodes(near, 4, lambda s, v, k: pos[0][s] - pos[1][v], top, 3)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert gnn.PointConv is gnn.PointNetConv


def test_parameters_have_the_names_of_pyg():
    """A checkpoint of PyTorch Geometric is loaded by these."""
    types = (["a", "b"], [("a", "to", "b"), ("b", "x.y", "a")])
    names = {
        gnn.MFConv(F, O, 1): "lins_l.0.bias lins_l.0.weight lins_l.1.bias lins_l.1.weight lins_r.0.weight lins_r.1.weight",
        gnn.FeaStConv(F, O): "bias c lin.weight u.weight",
        gnn.GCN2Conv(F, 0.1, shared_weights=False): "weight1 weight2",
        gnn.FiLMConv(F, O): "film_skip.weight films.0.bias films.0.weight lin_skip.weight lins.0.weight",
        gnn.EGConv(F, O, num_heads=2): "bases_lin.weight bias comb_lin.bias comb_lin.weight",
        gnn.HypergraphConv(F, O, use_attention=True): "att bias lin.weight",
        gnn.PDNConv(F, O, D, 5): "bias lin.weight mlp.0.bias mlp.0.weight mlp.2.bias mlp.2.weight",
        gnn.GeneralConv(F, F, attention=True, attention_type="dot_product"): "lin_msg.bias lin_msg.weight scaler",
        gnn.DNAConv(F, bias=False): "multi_head.lin_k.weight multi_head.lin_q.weight multi_head.lin_v.weight",
        gnn.MixHopConv(F, O, [0, 2]): "bias lins.0.weight lins.2.weight",
        gnn.AntiSymmetricConv(F): "W bias eye phi.lin.weight",
        gnn.CGConv(F, batch_norm=True, bias=False):
            "bn.bias bn.num_batches_tracked bn.running_mean bn.running_var bn.weight lin_f.weight lin_s.weight",
        gnn.PointTransformerConv(F, O): "lin.weight lin_dst.weight lin_src.weight pos_nn.bias pos_nn.weight",
        gnn.SuperGATConv(F, O): "att_l att_r bias lin.weight",
        gnn.HANConv(F, O, types):
            "k_lin.bias k_lin.weight lin_dst.a__to__b lin_dst.b__x.y__a lin_src.a__to__b lin_src.b__x.y__a proj.a.bias proj.a.weight "
            "proj.b.bias proj.b.weight q",
        gnn.HGTConv(F, O, types):
            "k_rel.weight kqv_lin.lins.a.bias kqv_lin.lins.a.weight kqv_lin.lins.b.bias kqv_lin.lins.b.weight out_lin.lins.a.bias "
            "out_lin.lins.a.weight out_lin.lins.b.bias out_lin.lins.b.weight p_rel.a__to__b p_rel.b__x#y__a skip.a skip.b v_rel.weight",
        gnn.HeteroConv({t: gnn.SAGEConv((F, F), O, bias=False) for t in types[1]}):
            "convs.<a___to___b>.lin_l.weight convs.<a___to___b>.lin_r.weight convs.<b___x#y___a>.lin_l.weight convs.<b___x#y___a>.lin_r.weight",
        gnn.GPSConv(F, None):
            "attn.in_proj_bias attn.in_proj_weight attn.out_proj.bias attn.out_proj.weight mlp.0.bias mlp.0.weight mlp.3.bias mlp.3.weight "
            + " ".join(f"norm{k}.module.{p}" for k in (1, 2, 3) for p in ("bias", "num_batches_tracked", "running_mean", "running_var", "weight")),
        gnn.DenseGATConv(F, O): "att_dst att_src bias lin.weight",
        gnn.DenseGINConv(mlp(F, O)): "eps nn.0.bias nn.0.weight",
    }  # fmt: skip
    for layer, expected in names.items():
        assert sorted(layer.state_dict()) == expected.split(), type(layer).__name__


def test_sizes_can_be_found_from_the_first_input():
    index = Tensor(graph("random"))
    x = Tensor.rand(V, F)
    for layer in (gnn.MFConv(-1, O), gnn.MixHopConv(-1, O), gnn.FiLMConv(-1, O)):
        assert layer(x, index).shape[0] == V
    gmm = gnn.GMMConv(-1, O, D, 2)
    other = gnn.GMMConv(F, O, D, 2)
    nn.load_state_dict(gmm, other.state_dict())
    e = Tensor.rand(index.shape[1], D)
    np.testing.assert_array_equal(gmm(x, index, e).numpy(), other(x, index, e).numpy())


def test_what_is_kept_is_used_again():
    """cached=True: the second call does not look at its edges."""
    x, index, fewer = Tensor.rand(V, F), Tensor(graph("random")), Tensor([[0], [1]])
    for layer in (gnn.GCN2Conv(F, 0.1, cached=True), gnn.EGConv(F, O, num_heads=2, cached=True), gnn.FAConv(F, cached=True)):
        args = [x, x] if not isinstance(layer, gnn.EGConv) else [x]
        before = layer(*args, index).numpy()
        np.testing.assert_allclose(layer(*args, fewer).numpy(), before, rtol=1e-6)
        layer.reset_parameters()
        assert (layer(*args, fewer).numpy() != before).any()


def test_attention_weights_of_fa_come_with_their_edges():
    out, (index, alpha) = gnn.FAConv(F)(Tensor.rand(3, F), Tensor.rand(3, F), Tensor([[0, 1], [1, 1]]), return_attention_weights=True)
    assert out.shape == (3, F) and index.tolist() == [[0, 0, 1, 2], [1, 0, 1, 2]] and alpha.shape == (4,)


def test_supergat_learns_which_edges_there_are():
    """While training the products of edges and of pairs that are none are kept; otherwise the loss is 0."""
    layer, x, index = gnn.SuperGATConv(F, O, heads=H), Tensor.rand(V, F), Tensor(graph("random"))
    layer(x, index)
    assert layer.att_x is None and layer.get_attention_loss().tolist() == [0.0]
    Tensor.training = True
    layer(x, index, Tensor([[0, 1, 5], [5, 4, 4]]))
    edges_now = graph("random")
    count = int((edges_now[0] != edges_now[1]).sum()) + V
    assert layer.att_x.shape == (count + 3, H) and layer.att_y.tolist() == [1.0] * count + [0.0] * 3
    s = layer.att_x.numpy().mean(1)
    want = np.mean(np.log1p(EXP(s)) - s * layer.att_y.numpy())
    np.testing.assert_allclose(layer.get_attention_loss().item(), want, rtol=1e-5)
    assert layer.get_attention_loss().gradient(layer.lin.weight)[0].abs().max().item() > 0
    layer(x, index)  # pairs that are sampled
    assert layer.att_x.shape[0] == count + int(0.5 * count)
    assert sorted(layer.state_dict()) == ["att_l", "att_r", "bias", "lin.weight"]


def test_wl_colours():
    """Colours are numbered as they come, equal neighbourhoods get equal ones, whatever the order of the edges."""
    wl = gnn.WLConv()
    path = Tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    one = wl(Tensor([[1, 0], [1, 0], [1, 0], [1, 0]]), path)
    assert one.tolist() == [0, 1, 1, 0]
    assert wl(Tensor([0, 0, 0, 0]), Tensor([[2, 1, 3, 0, 2, 1], [1, 2, 2, 1, 3, 0]])).tolist() == [0, 1, 1, 0]
    assert wl(one, path).tolist() == [2, 3, 3, 2]
    assert wl.histogram(one, Tensor([0, 0, 1, 1])).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]
    np.testing.assert_allclose(wl.histogram(Tensor([0, 0, 1]), norm=True).numpy(), np.array([[2, 1, 0, 0]]) / np.sqrt(5), rtol=1e-6)
    with pytest.raises(ValueError, match="whole numbers"):
        wl(Tensor([0.5]), path)


# ---- several types of nodes ----

TYPES = (["a", "b"], [("a", "to", "b"), ("b", "back", "a"), ("b", "self", "b")])


def typed(seed=3):
    rng = np.random.default_rng(seed)
    x = {"a": rng.standard_normal((5, O)), "b": rng.standard_normal((4, O))}
    sizes = {"a": 5, "b": 3}  # the last node of b has no edges into it
    return x, {t: np.stack([rng.integers(0, sizes[t[0]], 7), rng.integers(0, sizes[t[-1]], 7)]) for t in TYPES[1]}


def call(layer, x, index):
    return layer({k: Tensor(v) for k, v in x.items()}, {k: Tensor(v) for k, v in index.items()})


def test_han():
    x, index = typed()
    layer = double(gnn.HANConv(O, O, TYPES, heads=H))
    got, P = call(layer, x, index), {n: t.numpy() for n, t in layer.state_dict().items()}
    h = {k: lin(P, f"proj.{k}", v).reshape(-1, H, O // H) for k, v in x.items()}
    for kind, relations in (("a", TYPES[1][1:2]), ("b", [TYPES[1][0], TYPES[1][2]])):
        outs = []
        for t in relations:
            s, d = (h[t[0]] * P["lin_src." + "__".join(t)]).sum(-1), (h[t[-1]] * P["lin_dst." + "__".join(t)]).sum(-1)
            out = attend(index[t], len(h[kind]), lambda j, i, k: leaky(s[j] + d[i]), lambda j, i, k: h[t[0]][j], (H, O // H))  # noqa: B023
            outs.append(relu(out.reshape(-1, O)))
        outs = np.stack(outs)
        beta = softmax((P["q"] * np.tanh(lin(P, "k_lin", outs)).mean(1)).sum(-1))
        np.testing.assert_allclose(got[kind].numpy(), (beta[:, None, None] * outs).sum(0), rtol=1e-9, atol=1e-12)
    out, weights = layer({k: Tensor(v) for k, v in x.items()}, {TYPES[1][0]: Tensor(index[TYPES[1][0]])}, True)
    assert out["a"] is None and weights["a"] is None and weights["b"].tolist() == [1.0]


def test_hgt():
    """One softmax over the edges of all relations."""
    x, index = typed()
    layer = double(gnn.HGTConv(O, O, TYPES, heads=H))
    got, P = call(layer, x, index), {n: t.numpy() for n, t in layer.state_dict().items()}
    kqv = {k: lin(P, f"kqv_lin.lins.{k}", v).reshape(-1, 3, H, O // H) for k, v in x.items()}
    erf = np.vectorize(__import__("math").erf)
    for kind in "ab":
        q, near = kqv[kind][:, 1], []
        for number, t in enumerate(TYPES[1]):
            k, v = (np.einsum("nhd,hde->nhe", kqv[t[0]][:, part], P[name][number::3]) for part, name in ((0, "k_rel.weight"), (2, "v_rel.weight")))
            if t[-1] == kind:
                near += [(d, (q[d] * k[s]).sum(-1) * P["p_rel." + "__".join(t)][0] / np.sqrt(O // H), v[s]) for s, d in index[t].T]
        out = np.zeros((len(q), H, O // H))
        for node in range(len(q)):
            mine = [(a, b) for d, a, b in near if d == node]
            if mine:
                out[node] = (softmax(np.array([a for a, _ in mine]))[..., None] * np.array([b for _, b in mine])).sum(0)
        out = out.reshape(-1, O)
        out = lin(P, f"out_lin.lins.{kind}", out * 0.5 * (1 + erf(out / np.sqrt(2))))
        share = sigmoid(P[f"skip.{kind}"])
        np.testing.assert_allclose(got[kind].numpy(), share * out + (1 - share) * x[kind], rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="divisible"):
        gnn.HGTConv(O, O, TYPES, heads=4)


@pytest.mark.parametrize("aggr", ["sum", "mean", "min", "max", "cat", None])
def test_hetero(aggr):
    x, index = typed()
    layer = double(gnn.HeteroConv({t: gnn.SAGEConv((O, O), 2) for t in TYPES[1]}, aggr))
    got = call(layer, x, index)
    parts = [layer.convs[t]((Tensor(x[t[0]]), Tensor(x[t[-1]])), Tensor(index[t])).numpy() for t in (TYPES[1][0], TYPES[1][2])]
    join = {
        "sum": np.sum(parts, 0), "mean": np.mean(parts, 0), "min": np.min(parts, 0), "max": np.max(parts, 0), "cat": np.concatenate(parts, -1),
        None: np.stack(parts, 1),
    }  # fmt: skip
    np.testing.assert_allclose(got["b"].numpy(), join[aggr], rtol=1e-12)
    assert list(got) == ["b", "a"] and list(call(layer, x, {TYPES[1][1]: index[TYPES[1][1]]})) == ["a"]


def test_hetero_passes_values_of_edges_by_name():
    x, index = typed()
    t = TYPES[1][0]
    with pytest.warns(UserWarning, match="'a'"):
        layer = gnn.HeteroConv({t: gnn.SimpleConv()})
    w = np.arange(7.0)
    got = layer({k: Tensor(v) for k, v in x.items()}, {t: Tensor(index[t])}, edge_weight_dict={t: Tensor(w)})
    np.testing.assert_allclose(got["b"].numpy(), at_nodes(index[t], 4, lambda s, v, k: w[k] * x["a"][s], add, O), rtol=1e-12)
    with pytest.raises(ValueError, match="_dict"):
        layer({}, {}, edge_weight={})
    with pytest.raises(ValueError, match="self loops"):
        gnn.HeteroConv({t: gnn.GATConv((O, O), 2)})


# ---- attention between all nodes ----


def test_gps_attends_within_a_graph():
    """Two graphs in a batch give what they give alone."""
    conv = gnn.GPSConv(8, gnn.GINConv(nn.Linear(8, 8)), heads=2, norm="layer_norm", norm_kwargs={"mode": "node"})
    performer = gnn.GPSConv(8, None, heads=2, norm=None, attn_type="performer", attn_kwargs={"head_channels": 3})
    x, index = Tensor.rand(5, 8), Tensor([[0, 1, 3], [1, 2, 4]])
    for layer in (conv, performer):
        both = layer(x, index, Tensor([0, 0, 0, 1, 1])).numpy()
        one, two = layer(x[:3], Tensor([[0, 1], [1, 2]])).numpy(), layer(x[3:], Tensor([[0], [1]])).numpy()
        if layer is conv:
            np.testing.assert_allclose(both, np.concatenate([one, two]), rtol=1e-5, atol=1e-6)
        else:  # its keys of nodes that are not there are small, but not 0
            np.testing.assert_allclose(both[:3], one, rtol=1e-5, atol=1e-6)
            assert both.shape == (5, 8)
    with pytest.raises(ValueError, match="multihead"):
        gnn.GPSConv(8, None, attn_type="other")


# ---- dense adjacency matrices ----


def dense_pair(seed=5):
    rng = np.random.default_rng(seed)
    index = rng.integers(0, V, (2, 12))
    index = np.unique(index[:, index[0] != index[1]], axis=1)
    adj = np.zeros((V, V))
    adj[index[1], index[0]] = 1  # a row holds what comes in
    return index, adj, rng.standard_normal((V, F))


DENSE = {
    "GCN": (lambda: gnn.DenseGCNConv(F, O), lambda: gnn.GCNConv(F, O), {}),
    "SAGE": (lambda: gnn.DenseSAGEConv(F, O), lambda: gnn.SAGEConv(F, O), {"lin_rel": "lin_l", "lin_root.bias": "lin_l.bias", "lin_root": "lin_r"}),
    "GIN": (lambda: gnn.DenseGINConv(mlp(F, O), 0.3, True), lambda: gnn.GINConv(mlp(F, O), 0.3, True), {}),
    "Graph": (lambda: gnn.DenseGraphConv(F, O, "mean"), lambda: gnn.GraphConv(F, O, "mean"), {}),
    "GAT": (lambda: gnn.DenseGATConv(F, O, heads=H), lambda: gnn.GATConv(F, O, heads=H), {}),
}


@pytest.mark.parametrize("name", DENSE)
def test_dense_layers_are_the_sparse_ones(name):
    """A batch of two equal graphs, with and without a mask."""
    make, sparse, names = DENSE[name]
    index, adj, x = dense_pair()
    dense, other = double(make()), sparse()
    state = {}
    for key, t in dense.state_dict().items():
        for old, new in names.items():
            if key.startswith(old):
                key = key.replace(old, new)
                break
        state[key] = t
    for key, t in other.state_dict().items():
        t.replace(Tensor(state[key].numpy().reshape(t.shape)))
    want = other(Tensor(x), Tensor(index)).numpy()
    batch, adjs, mask = Tensor(np.stack([x, x])), Tensor(np.stack([adj, adj])), np.ones((2, V), bool)
    np.testing.assert_allclose(dense(batch, adjs).numpy(), np.stack([want, want]), rtol=1e-9, atol=1e-12)
    mask[1, 2] = False
    want = np.stack([want, want * mask[1][:, None]])
    np.testing.assert_allclose(dense(batch, adjs, Tensor(mask)).numpy(), want, rtol=1e-9, atol=1e-12)
    assert dense(Tensor(x), Tensor(adj)).shape == (1, *want.shape[1:])


def test_dense_graph_conv_takes_the_largest_of_columns():
    x, adj = Tensor([[1.0], [5.0], [3.0]]), Tensor([[0.0, 1.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    layer = gnn.DenseGraphConv(1, 1, "max", bias=False)
    layer.lin_rel.weight.assign(Tensor([[1.0]]))
    layer.lin_root.weight.assign(Tensor([[0.0]]))
    assert layer(x, adj).tolist() == [[[0.0], [1.0], [5.0]]]


# ---- use ----


def test_layers_run_as_compiled_functions():
    """No layer reads a value on its way, so a traced call gives what a plain one gives."""
    g = Graph(graph("random"), V)
    layers = [gnn.MFConv(F, F), gnn.SuperGATConv(F, F), gnn.FAConv(F), gnn.GPSConv(F, gnn.SimpleConv())]
    parameters = [t for layer in layers for t in nn.get_parameters(layer)]
    parameters[0].realize(*parameters[1:])

    @TinyJit
    def run(x):
        for layer in layers:
            x = layer(x, x, g) if isinstance(layer, gnn.FAConv) else layer(x, g)
        return x.realize()

    for seed in range(3):
        x = Tensor(np.random.default_rng(seed).standard_normal((V, F)).astype(np.float32))
        want = x
        for layer in layers:
            want = layer(want, want, g) if isinstance(layer, gnn.FAConv) else layer(want, g)
        np.testing.assert_allclose(run(x).numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
