"""What every convolution must hold: the order of edges does not matter; no edges, isolated nodes, float64 and pairs of node sets work;
nothing as wide as edges x features is stored, forward or backward.
"""

from __future__ import annotations

import numpy as np
import pytest
from graph_helpers import assert_narrow, stored_by

import polygrad.geometric.nn as gnn
from polygrad import Tensor, TinyJit, Variable, dtypes, nn

F, O, D, H, R = 8, 6, 2, 2, 3  # features in, out, of edges; heads; relations
METADATA = (["a", "b"], [("a", "to", "b"), ("b", "to", "a"), ("a", "near", "a")])


class Edges:
    """Edges, and values on them. `permuted` has the same ones in another order."""

    def __init__(self, index, seed=0):
        rng, count = np.random.default_rng(seed), index.shape[1]
        self.index, self.weight = index, rng.uniform(0.5, 1.5, count)
        self.attr, self.kind = rng.uniform(0, 1, (count, D)), rng.integers(0, R, count)

    def permuted(self, seed=1):
        order, other = np.random.default_rng(seed).permutation(self.index.shape[1]), object.__new__(Edges)
        other.index, other.weight = self.index[:, order].copy(), self.weight[order]
        other.attr, other.kind = self.attr[order], self.kind[order]
        return other

    def tensors(self, dtype):
        return {
            "ei": Tensor(self.index), "w": Tensor(self.weight.astype(dtype)), "attr": Tensor(self.attr.astype(dtype)),
            "kind": Tensor(self.kind), "ei2": Tensor(self.index[::-1].copy()),
        }  # fmt: skip


def mlp(*sizes):
    layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def typed(e):
    """A graph of three relations between two types of nodes: the edges in three parts, the third of them between nodes of one type."""
    return {r: e["ei"] for r in METADATA[1]}


def hetero(layer, x, e):
    out = layer({"a": x, "b": x * 0.5}, typed(e))
    return Tensor.cat(out["a"], out["b"])


def first(layer_output):
    return layer_output[0] if isinstance(layer_output, tuple) else layer_output


# name: (constructor, call, width of a message)
XE = lambda layer, x, e: layer(x, e["ei"])  # noqa: E731
XEW = lambda layer, x, e: layer(x, e["ei"], e["w"])  # noqa: E731
XEA = lambda layer, x, e: layer(x, e["ei"], e["attr"])  # noqa: E731
XET = lambda layer, x, e: layer(x, e["ei"], e["kind"])  # noqa: E731
POS = lambda layer, x, e: layer(x, x[:, :3], e["ei"])  # noqa: E731
X0 = lambda layer, x, e: layer(x, x * 0.3, e["ei"], e["w"])  # noqa: E731
HISTOGRAM = np.array([1, 2, 4, 3, 2, 1])

CONVS = {
    "SimpleConv": (lambda: gnn.SimpleConv("mean", "self_loop"), XEW, F),
    "GCNConv": (lambda: gnn.GCNConv(F, O), XE, O),
    "GCNConv weighted": (lambda: gnn.GCNConv(F, O), XEW, O),
    "ChebConv": (lambda: gnn.ChebConv(F, O, K=3), XEW, O),
    "SAGEConv": (lambda: gnn.SAGEConv(F, O), XE, O),
    "SAGEConv max": (lambda: gnn.SAGEConv(F, O, aggr=["max", "std"], project=True), XE, F),
    "GraphConv": (lambda: gnn.GraphConv(F, O), XEW, O),
    "GatedGraphConv": (lambda: gnn.GatedGraphConv(F, 2), XEW, F),
    "ResGatedGraphConv": (lambda: gnn.ResGatedGraphConv(F, O, edge_dim=D), XEA, O),
    "GATConv": (lambda: gnn.GATConv(F, O, heads=H, edge_dim=D), XEA, O),
    "GATv2Conv": (lambda: gnn.GATv2Conv(F, O, heads=H, edge_dim=D), XEA, O),
    "TransformerConv": (lambda: gnn.TransformerConv(F, O, heads=H, edge_dim=D, beta=True), XEA, O),
    "AGNNConv": (lambda: gnn.AGNNConv(), XE, F),
    "TAGConv": (lambda: gnn.TAGConv(F, O, K=2), XEW, O),
    "GINConv": (lambda: gnn.GINConv(mlp(F, O, O), train_eps=True), XE, F),
    "GINEConv": (lambda: gnn.GINEConv(mlp(F, O), edge_dim=D), XEA, F),
    "ARMAConv": (lambda: gnn.ARMAConv(F, O, num_stacks=2, num_layers=2), XEW, O),
    "SGConv": (lambda: gnn.SGConv(F, O, K=2), XEW, O),
    "SSGConv": (lambda: gnn.SSGConv(F, O, alpha=0.1, K=2), XEW, O),
    "APPNP": (lambda: gnn.APPNP(K=2, alpha=0.1), XEW, F),
    "MFConv": (lambda: gnn.MFConv(F, O, max_degree=3), XE, F),
    "RGCNConv": (lambda: gnn.RGCNConv(F, O, R, num_bases=2), XET, O),
    "RGCNConv blocks": (lambda: gnn.RGCNConv(F, O, R, num_blocks=2), XET, O),
    "FastRGCNConv": (lambda: gnn.FastRGCNConv(F, O, R), XET, O),
    "RGATConv": (lambda: gnn.RGATConv(F, O, R, heads=H, edge_dim=D), lambda l, x, e: l(x, e["ei"], e["kind"], e["attr"]), O),
    "SignedConv": (lambda: gnn.SignedConv(F, O, first_aggr=True), lambda l, x, e: l(x, e["ei"], e["ei2"]), F),
    "DNAConv": (lambda: gnn.DNAConv(F, heads=H), lambda l, x, e: l(Tensor.stack(x, x * 0.5, dim=1), e["ei"], e["w"]), F),
    "PointNetConv": (lambda: gnn.PointNetConv(nn.Linear(F + 3, O), nn.Linear(O, O)), POS, O),
    "GMMConv": (lambda: gnn.GMMConv(F, O, dim=D, kernel_size=2), XEA, O),
    "NNConv": (lambda: gnn.NNConv(F, O, nn.Linear(D, F * O)), XEA, None),
    "CGConv": (lambda: gnn.CGConv(F, dim=D), XEA, F),
    "EdgeConv": (lambda: gnn.EdgeConv(nn.Sequential(nn.Linear(2 * F, O), nn.ReLU())), XE, O),
    "EdgeConv of two layers": (lambda: gnn.EdgeConv(mlp(2 * F, O, O)), XE, None),
    "FeaStConv": (lambda: gnn.FeaStConv(F, O, heads=H), XE, O),
    "PointTransformerConv": (lambda: gnn.PointTransformerConv(F, O), POS, O),
    "HypergraphConv": (lambda: gnn.HypergraphConv(F, O), lambda l, x, e: l(x, e["ei"], num_edges=x.shape[0]), O),
    "HypergraphConv attention": (
        lambda: gnn.HypergraphConv(F, O, use_attention=True, heads=H),
        lambda l, x, e: l(x, e["ei"], hyperedge_attr=x * 0.5, num_edges=x.shape[0]), O,
    ),
    "LEConv": (lambda: gnn.LEConv(F, O), XEW, O),
    "PNAConv": (lambda: gnn.PNAConv(F, O, ["mean", "max", "std"], ["identity", "attenuation"], Tensor(HISTOGRAM), edge_dim=D), XEA, F),
    "ClusterGCNConv": (lambda: gnn.ClusterGCNConv(F, O), XE, O),
    "GENConv": (lambda: gnn.GENConv(F, O, edge_dim=D, learn_t=True), XEA, O),
    "GCN2Conv": (lambda: gnn.GCN2Conv(F, alpha=0.1), X0, F),
    "WLConvContinuous": (lambda: gnn.WLConvContinuous(), XEW, F),
    "FiLMConv": (lambda: gnn.FiLMConv(F, O, num_relations=R), XET, O),
    "SuperGATConv": (lambda: gnn.SuperGATConv(F, O, heads=H), XE, O),
    "FAConv": (lambda: gnn.FAConv(F), lambda l, x, e: l(x, x * 0.3, e["ei"]), F),
    "EGConv": (lambda: gnn.EGConv(F, O, aggregators=["sum", "max"], num_heads=2, num_bases=3), XE, O),
    "PDNConv": (lambda: gnn.PDNConv(F, O, edge_dim=D, hidden_channels=4), XEA, O),
    "GeneralConv": (lambda: gnn.GeneralConv(F, O, in_edge_channels=D, attention=True, heads=H), XEA, O),
    "LGConv": (lambda: gnn.LGConv(), XEW, F),
    "MixHopConv": (lambda: gnn.MixHopConv(F, O), XEW, O),
    "AntiSymmetricConv": (lambda: gnn.AntiSymmetricConv(F), XE, F),
    "DirGNNConv": (lambda: gnn.DirGNNConv(gnn.SAGEConv(F, O)), XE, O),
    "GPSConv": (lambda: gnn.GPSConv(F, gnn.GINConv(nn.Linear(F, F)), heads=H), XE, F),
    "SplineConv": (lambda: gnn.SplineConv(F, O, dim=D, kernel_size=[3, 2]), XEA, O),
    "SplineConv closed": (lambda: gnn.SplineConv(F, O, dim=D, kernel_size=4, is_open_spline=False, degree=2), XEA, O),
    "HEATConv": (
        lambda: gnn.HEATConv(F, O, 2, R, edge_type_emb_dim=3, edge_dim=D, edge_attr_emb_dim=5, heads=H),
        lambda l, x, e: l(x, e["ei"], (x[:, 0] > 0.7).cast("int32"), e["kind"], e["attr"]), O,
    ),
    "PointGNNConv": (lambda: gnn.PointGNNConv(nn.Linear(F, 3), nn.Linear(F + 3, O), nn.Linear(O, F)), POS, O),
    "PPFConv": (lambda: gnn.PPFConv(nn.Linear(F + 4, O), nn.Linear(O, O)), lambda l, x, e: l(x, x[:, :3], x[:, 3:6], e["ei"]), O),
    "HANConv": (lambda: gnn.HANConv(F, O, METADATA, heads=H), hetero, O),
    "HGTConv": (lambda: gnn.HGTConv(F, O, METADATA, heads=H), hetero, O),
    "HeteroConv": (lambda: gnn.HeteroConv({r: gnn.SAGEConv((F, F), O) for r in METADATA[1]}), hetero, O),
}  # fmt: skip


def made(name, dtype=np.float32):
    """The layer, with parameters that are not the first ones: biases are not 0, and gradients go everywhere."""
    Tensor.manual_seed(7)
    layer = CONVS[name][0]()
    rng = np.random.default_rng(3)
    for t in nn.get_parameters(layer):
        if t.is_floating_point() and t.requires_grad:
            value = Tensor((0.5 * rng.standard_normal(tuple(t.shape))).astype(dtype))
            t.replace(value)
            t.requires_grad = True
        elif t.is_floating_point() and dtype == np.float64:
            t.replace(t.cast(dtypes.float64).realize())
    return layer


def small():
    """Nine nodes: 7 and 8 have no edges, 6 sends but gets nothing, an edge occurs twice, and 0 and 3 have loops."""
    return Edges(np.array([[0, 0, 1, 2, 3, 3, 4, 5, 6, 2, 0], [0, 1, 2, 1, 3, 4, 5, 0, 5, 4, 1]]))


def features(nodes, dtype=np.float32, seed=5):
    return Tensor(np.random.default_rng(seed).uniform(0.2, 1.2, (nodes, F)).astype(dtype), requires_grad=True)


def values(layer, call, x, e):
    """Output and gradient of x, as arrays."""
    y = call(layer, x, e)
    (g,) = (y * y).sum().gradient(x)
    y.realize(g)
    return y.numpy(), g.numpy()


@pytest.mark.parametrize("name", CONVS)
def test_order_isolated_nodes_and_float64(name):
    """The edges in another order, in float64: the same numbers, up to float32's rounding, and float64's type."""
    e, call = small(), CONVS[name][1]
    y, g = values(made(name), call, features(9), e.tensors(np.float32))
    assert np.isfinite(y).all() and np.isfinite(g).all()
    y64, g64 = values(made(name, np.float64), call, features(9, np.float64), e.permuted().tensors(np.float64))
    assert y64.dtype == g64.dtype == np.float64
    scale = max(1.0, np.abs(y64).max()), max(1.0, np.abs(g64).max())
    np.testing.assert_allclose(y, y64, rtol=2e-4, atol=2e-5 * scale[0])
    np.testing.assert_allclose(g, g64, rtol=2e-4, atol=2e-5 * scale[1])


@pytest.mark.parametrize("name", CONVS)
def test_gradients(name):
    """Of the features and of all parameters, along one direction, against a difference in float64."""
    layer, call, x, e = made(name, np.float64), CONVS[name][1], features(9, np.float64), small().tensors(np.float64)
    leaves = [x, *[t for t in nn.get_parameters(layer) if t.requires_grad]]
    start = [t.numpy() for t in leaves]
    rng = np.random.default_rng(8)
    along = [rng.standard_normal(a.shape) for a in start]

    def loss():
        y = call(layer, x, e)
        return (y * y).sum()

    grads = loss().gradient(*leaves, materialize_grads=True)
    grads[0].realize(*grads[1:])
    got = sum((g.numpy() * v).sum() for g, v in zip(grads, along))
    sides = []
    for step in (1e-6, -1e-6):
        for t, a, v in zip(leaves, start, along):
            t.assign(Tensor(a + step * v))
        leaves[0].realize(*leaves[1:])
        sides.append(loss().item())
    assert got == pytest.approx((sides[0] - sides[1]) / 2e-6, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", CONVS)
def test_no_edges(name):
    e = Edges(np.zeros((2, 0), np.int64))
    y, g = values(made(name), CONVS[name][1], features(4), e.tensors(np.float32))
    assert np.isfinite(y).all() and np.isfinite(g).all()


@pytest.mark.parametrize("name", [n for n, c in CONVS.items() if c[2] is not None])
def test_nothing_wide_is_stored(name):
    nodes, count = 17, 1009
    make, call, width = CONVS[name]
    index = np.random.default_rng(2).integers(0, nodes, (2, count))
    e = Edges(index).tensors(np.float32)
    layer, x = made(name), features(nodes)
    leaves = [x, *[t for t in nn.get_parameters(layer) if t.requires_grad]]
    leaves[0].realize(*leaves[1:])

    def backward():
        y = call(layer, x, e)
        return [y, *(y * y).sum().gradient(*leaves, materialize_grads=True)]

    assert_narrow(stored_by(lambda: call(layer, x, e)), count, width)
    assert_narrow(stored_by(backward), count, width)


# name: what to call it with, given a pair of node values; constructors as above, without self loops and normalisation
PAIRS = {
    "SimpleConv": (lambda: gnn.SimpleConv("mean"), XEW),
    "SAGEConv": (lambda: gnn.SAGEConv(F, O), XE),
    "GraphConv": (lambda: gnn.GraphConv(F, O, aggr="max"), XEW),
    "ResGatedGraphConv": (lambda: gnn.ResGatedGraphConv(F, O, edge_dim=D), XEA),
    "GATConv": (lambda: gnn.GATConv(F, O, heads=H, add_self_loops=False), XE),
    "GATv2Conv": (lambda: gnn.GATv2Conv(F, O, heads=H, add_self_loops=False, share_weights=True), XE),
    "TransformerConv": (lambda: gnn.TransformerConv(F, O, heads=H, edge_dim=D), XEA),
    "GINConv": (lambda: gnn.GINConv(nn.Linear(F, O)), XE),
    "GINEConv": (lambda: gnn.GINEConv(nn.Linear(F, O), edge_dim=D), XEA),
    "MFConv": (lambda: gnn.MFConv(F, O, max_degree=3), XE),
    "GMMConv": (lambda: gnn.GMMConv(F, O, dim=D, kernel_size=2), XEA),
    "NNConv": (lambda: gnn.NNConv(F, O, nn.Linear(D, F * O)), XEA),
    "SplineConv": (lambda: gnn.SplineConv(F, O, dim=D, kernel_size=3), XEA),
    "CGConv": (lambda: gnn.CGConv(F, dim=D), XEA),
    "EdgeConv": (lambda: gnn.EdgeConv(nn.Linear(2 * F, O)), XE),
    "FeaStConv": (lambda: gnn.FeaStConv(F, O, heads=H, add_self_loops=False), XE),
    "LEConv": (lambda: gnn.LEConv(F, O), XEW),
    "GENConv": (lambda: gnn.GENConv(F, O, edge_dim=D), XEA),
    "FiLMConv": (lambda: gnn.FiLMConv(F, O, num_relations=R), XET),
    "GeneralConv": (lambda: gnn.GeneralConv(F, O), XE),
    "WLConvContinuous": (lambda: gnn.WLConvContinuous(), XEW),
}


@pytest.mark.parametrize("name", PAIRS)
def test_between_two_sets_of_nodes(name):
    """The same as on one graph that has both sets, at the second."""
    make, call = PAIRS[name]
    sources, targets = 5, 3
    layer = make()
    e = Edges(np.array([[0, 1, 4, 2, 2, 0], [0, 0, 1, 1, 0, 1]]))
    joined = Edges(e.index + np.array([[0], [sources]]))
    x = features(sources + targets)
    want = call(layer, x, joined.tensors(np.float32))[sources:]
    got = call(layer, (x[:sources], x[sources:]), e.tensors(np.float32))
    want.realize(got)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


def test_labels_of_weisfeiler_and_lehman():
    """Labels do not depend on the order of edges, and nodes of different neighbourhoods get different ones."""
    e, x = small(), Tensor(np.array([0, 1, 0, 1, 0, 1, 0, 0, 0]))
    a = gnn.WLConv()(x, Tensor(e.index)).numpy()
    b = gnn.WLConv()(x, Tensor(e.permuted().index)).numpy()
    same = lambda v: v[:, None] == v[None]  # noqa: E731
    np.testing.assert_array_equal(same(a), same(b))
    assert a[7] == a[8] and a[7] != a[4]


def test_neighbours_by_distance():
    """DynamicEdgeConv does not depend on the order of points."""
    layer, x = gnn.DynamicEdgeConv(nn.Linear(2 * F, O), k=2), features(7)
    order = Tensor(np.random.default_rng(0).permutation(7))
    np.testing.assert_allclose(layer(x[order]).numpy(), layer(x)[order].numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CONVS)
def test_in_a_compiled_function(name):
    """Nothing is read while a function is traced, and a replay gives what a call gives."""
    layer, call, e = made(name), CONVS[name][1], small().tensors(np.float32)
    call(layer, features(9), e).realize()  # what is made for the edges at first sight
    step = TinyJit(lambda x: call(layer, x, e).realize())
    for seed in (5, 6, 7):
        x = features(9, seed=seed).detach()
        np.testing.assert_allclose(step(x).numpy(), call(layer, x, e).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CONVS)
def test_sizes_that_change(name):
    """Batches of other sizes reuse the plan of the first one, and give what they give with plain sizes."""
    layer, call = made(name), CONVS[name][1]
    Tensor.realize(Tensor.ones(1), *nn.get_parameters(layer))
    for nodes, count in ((9, 30), (12, 47)):
        e, values = Edges(np.random.default_rng(nodes).integers(0, nodes, (2, count))), features(nodes, seed=nodes).numpy()
        plain = e.tensors(np.float32)
        n, m = Variable("nodes", 0, 1000).bind(nodes), Variable("edges", 0, 1000).bind(count)
        changing = {k: t.sized(*[m if s == count else s for s in t.shape]) for k, t in e.tensors(np.float32).items()}
        x = Tensor(values).sized(n, F)
        before = x.graph.plans_reused
        y = call(layer, x, changing)
        (g,) = (y * y).sum().gradient(x)
        y.realize(g)
        reused = x.graph.plans_reused > before
    assert reused
    x = Tensor(values)
    want = call(layer, x, plain)
    (want_g,) = (want * want).sum().gradient(x)
    want.realize(want_g)
    np.testing.assert_allclose(y.numpy(), want.numpy(), rtol=1e-4, atol=1e-5 * max(1, np.abs(want.numpy()).max()))
    np.testing.assert_allclose(g.numpy(), want_g.numpy(), rtol=1e-4, atol=1e-5 * max(1, np.abs(want_g.numpy()).max()))
