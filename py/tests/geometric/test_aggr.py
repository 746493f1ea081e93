"""Aggregations, and the reductions by index under them: values against loops in numpy, gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from graph_helpers import assert_narrow, stored_by
from helpers import gradcheck

import polygrad.geometric.nn as gnn
from polygrad import Graph, Tensor, Variable, nn
from polygrad.geometric._rows import mark, rows_of
from polygrad.geometric.nn import inits
from polygrad.geometric.nn.resolver import activation_resolver, aggregation_resolver, normalization_resolver
from polygrad.geometric.utils import group_argsort, group_cat, scatter, scatter_argmax, segment, segment_logsumexp, softmax

INDEX = np.array([0, 0, 2, 2, 2, 4])  # rows 1, 3 and 5 are empty
ROWS = 6
X = np.array([[1.0, 4.0], [3.0, 1.5], [2.0, 6.0], [0.5, 2.0], [5.0, 3.0], [1.2, 0.7]])


def quantile(method, q=0.3):
    return lambda m: np.quantile(m, q, axis=0, method=method)


def weighted(m, t=0.7):
    p = np.exp(t * m)
    return (p / p.sum(0) * m).sum(0)


AGGRS = {
    "sum": (lambda: "sum", lambda m: m.sum(0)),
    "add": (lambda: "add", lambda m: m.sum(0)),
    "mean": (lambda: "mean", lambda m: m.mean(0)),
    "max": (lambda: "max", lambda m: m.max(0)),
    "min": (lambda: "MinAggregation", lambda m: m.min(0)),
    "mul": (lambda: "mul", lambda m: m.prod(0)),
    "var": (lambda: "var", lambda m: m.var(0)),
    "std": (lambda: "std", lambda m: m.std(0)),
    "median": (lambda: "median", quantile("lower", 0.5)),
    "vpa": (lambda: "variance_preserving", lambda m: m.sum(0) / np.sqrt(len(m))),
    "softmax": (lambda: gnn.SoftmaxAggregation(0.7), weighted),
    "power mean": (lambda: gnn.PowerMeanAggregation(3.0), lambda m: (m**3).mean(0) ** (1 / 3)),
    "linear": (lambda: gnn.QuantileAggregation(0.3), quantile("linear")),
    "higher": (lambda: gnn.QuantileAggregation(0.3, "higher"), quantile("higher")),
    "midpoint": (lambda: gnn.QuantileAggregation(0.3, "midpoint"), quantile("midpoint")),
    "multi": (lambda: ["mean", "max"], lambda m: np.concatenate([m.mean(0), m.max(0)])),
    "multi sum": (lambda: gnn.MultiAggregation(["mean", "max"], mode="sum"), lambda m: m.mean(0) + m.max(0)),
    "multi var": (lambda: gnn.MultiAggregation(["sum", "max"], mode="var"), lambda m: np.var([m.sum(0), m.max(0)], axis=0, ddof=1)),
    "deep sets": (lambda: gnn.DeepSetsAggregation(), lambda m: m.sum(0)),
    "sort": (lambda: gnn.SortAggregation(2), lambda m: np.concatenate([m[np.argsort(-m[:, -1])], np.zeros((2, 2))])[:2].ravel()),
}


def reference(name, x, index, rows):
    f = AGGRS[name][1]
    width = f(x[:1]).shape
    fill = {"mul": 1.0, "power mean": 1e-4 ** (1 / 3)}.get(name, 0.0)
    return np.stack([f(x[index == r]) if (index == r).any() else np.full(width, fill) for r in range(rows)])


@pytest.mark.parametrize("name", AGGRS)
def test_values_by_index_by_pointers_and_by_graph(name):
    aggr = aggregation_resolver(AGGRS[name][0]())
    want = reference(name, X, INDEX, ROWS)
    x = Tensor(X)
    order = np.array([5, 2, 0, 3, 1, 4])
    ptr = Tensor(np.concatenate([[0], np.cumsum(np.bincount(INDEX, minlength=ROWS))]))
    graph = Graph.bipartite(np.stack([np.arange(6), INDEX]), 6, ROWS)
    results = {
        "index": aggr(x, Tensor(INDEX), dim_size=ROWS),
        "shuffled": aggr(Tensor(X[order].copy()), Tensor(INDEX[order].copy()), dim_size=ROWS),
        "ptr": aggr(x, ptr=ptr) if name != "mul" else aggr(x, Tensor(INDEX), ptr),  # pointers alone are refused
        "graph": aggr(x, mark(graph.dst_index, graph, "in"), dim_size=ROWS),
    }
    for how, got in results.items():
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6 if name != "power mean" else 1e-5, atol=1e-9, err_msg=how)
    assert aggr(x, Tensor(INDEX)).shape[0] == 5  # as many rows as the index names
    np.testing.assert_allclose(aggr(x).numpy(), reference(name, X, np.zeros(6, int), 1), rtol=1e-6)  # all of it one row


@pytest.mark.parametrize("name", ["mean", "max", "std", "softmax", "median", "multi", "vpa"])
def test_another_axis(name):
    aggr = aggregation_resolver(AGGRS[name][0]())
    x = np.stack([X, X[::-1] + 1])
    got = aggr(Tensor(x), Tensor(INDEX), dim_size=ROWS, dim=1).numpy()
    np.testing.assert_allclose(got, np.stack([reference(name, v, INDEX, ROWS) for v in x]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in AGGRS if n not in ("add", "deep sets")])
def test_gradients(name):
    aggr = aggregation_resolver(AGGRS[name][0]())
    gradcheck(lambda x: aggr(x, Tensor(INDEX), dim_size=ROWS), X)


def learned():
    yield "softmax", gnn.SoftmaxAggregation(0.5, learn=True, channels=4)
    yield "power mean", gnn.PowerMeanAggregation(2.0, learn=True, channels=4)
    yield "attention", gnn.AttentionalAggregation(nn.Linear(4, 1), nn.Linear(4, 3))
    yield "lstm", gnn.LSTMAggregation(4, 3)
    yield "gru", gnn.GRUAggregation(4, 3)
    yield "set2set", gnn.Set2Set(4, processing_steps=2)
    yield "scaler", gnn.DegreeScalerAggregation(["mean", "max"], ["identity", "linear", "attenuation"], Tensor([1, 2, 3]), train_norm=True)
    yield "set transformer", gnn.SetTransformerAggregation(4, num_seed_points=2, heads=2)
    yield "attention among", gnn.MultiAggregation(["mean", "max"], mode="attn", mode_kwargs={"in_channels": 4, "out_channels": 4})
    yield "projection", gnn.MultiAggregation(["mean", "max"], mode="proj", mode_kwargs={"in_channels": 4, "out_channels": 3})
    yield "mlp", gnn.MLPAggregation(4, 3, max_num_elements=3, num_layers=1)


@pytest.mark.parametrize("name, aggr", list(learned()))
def test_those_with_parameters(name, aggr):
    """Every parameter gets a gradient, rows without items give numbers, and no items at all work."""
    x = Tensor.rand(6, 4, requires_grad=True)
    leaves = [x, *aggr.parameters()]
    y = aggr(x, Tensor(INDEX), dim_size=ROWS)
    grads = (y * y).sum().gradient(*leaves)
    y.realize(*grads)
    assert y.shape[0] == ROWS and np.isfinite(y.numpy()).all()
    for t, g in zip(leaves, grads):
        assert np.isfinite(g.numpy()).all() and g.shape == t.shape
    empty = aggr(Tensor.zeros(0, 4), Tensor(np.zeros(0, np.int64)), dim_size=2)
    assert empty.shape == (2, *y.shape[1:]) and np.isfinite(empty.numpy()).all()
    aggr.reset_parameters()


@pytest.mark.parametrize("name", ["sum", "mean", "max", "std", "softmax", "power mean", "multi"])
@pytest.mark.parametrize("plain", [False, True])
def test_simple_ones_store_no_items(name, plain):
    """What is aggregated is computed in the loop, forward and backward, by an index as by a graph."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, 17, (2, 1009))
    graph, x, w = Graph(index, 17), Tensor.rand(17, 8).realize(), Tensor.rand(1009, 1).realize()
    at = Tensor(index[1]) if plain else mark(graph.dst_index, graph, "in")
    aggr = aggregation_resolver(AGGRS[name][0]())

    def run():
        y = aggr(graph.src(x) * w, at, dim_size=17)
        return [y, *(y * y).sum().gradient(x, w)]

    assert_narrow(stored_by(run), 1009, 8)


SIZED = {name: make[0]() for name, make in AGGRS.items()} | {f"learned {name}": aggr for name, aggr in learned()}


@pytest.mark.parametrize("name", SIZED)
def test_sizes_that_change(name):
    """Batches of other sizes reuse the plan of the first one, and give what they give with plain sizes."""
    aggr = aggregation_resolver(SIZED[name])
    Tensor.ones(1).realize(*nn.get_parameters(aggr))
    longest = {"max_num_elements": 12} if name in ("sort", "learned lstm", "learned gru", "learned set transformer") else {}
    for items, rows in ((20, 5), (31, 6)):
        rng = np.random.default_rng(items)
        values, index = rng.uniform(0.2, 1.2, (items, 4)).astype(np.float32), np.sort(rng.integers(0, rows, items))
        n, r = Variable("n", 0, 1000).bind(items), Variable("r", 0, 1000).bind(rows)
        x = Tensor(values).sized(n, 4)
        before = x.graph.plans_reused
        y = aggr(x, Tensor(index).sized(n), dim_size=r, **longest).realize()
        reused = x.graph.plans_reused > before
    assert reused
    np.testing.assert_allclose(y.numpy(), aggr(Tensor(values), Tensor(index), dim_size=rows, **longest).numpy(), rtol=1e-4, atol=1e-5)


def test_names_and_errors():
    assert repr(aggregation_resolver("power-mean")) == "PowerMeanAggregation(learn=False)"
    assert repr(aggregation_resolver(["mean", "max"])).startswith("MultiAggregation([\n  MeanAggregation(),\n")
    same = gnn.SumAggregation()
    assert aggregation_resolver(same) is same
    for call, match in [
        (lambda: aggregation_resolver("sun"), "Could not resolve 'sun'"),
        (lambda: gnn.MultiAggregation([]), "empty"),
        (lambda: gnn.MultiAggregation("mean"), "list"),
        (lambda: gnn.MultiAggregation(["mean", "max"], mode="best"), "mode"),
        (lambda: gnn.MultiAggregation(["mean", "max"], mode="proj"), "in_channels"),
        (lambda: gnn.QuantileAggregation(1.5), "in the range"),
        (lambda: gnn.SoftmaxAggregation(channels=3), "channels"),
        (lambda: gnn.SoftmaxAggregation(learn=True, semi_grad=True), "semi_grad"),
        (lambda: same(Tensor(X), Tensor(INDEX), dim=5), "dimension '5'"),
        (lambda: same(Tensor(X), ptr=Tensor([0, 2, 6]), dim_size=3), "dim_size"),
        (lambda: same(Tensor(X), Tensor(INDEX[:4].copy()), dim_size=6), "do not fit"),
        (lambda: gnn.LSTMAggregation(2, 3)(Tensor.rand(2, 6, 2), Tensor(INDEX)), "two-dimensional"),
        (lambda: scatter(Tensor(X), Tensor(INDEX), reduce="avg"), "'avg'"),
        (lambda: scatter(Tensor(X), Tensor(INDEX.reshape(2, 3).copy())), "one-dimensional"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()
    with pytest.raises(NotImplementedError, match="index"):
        softmax(Tensor(X))
    with pytest.raises(ValueError, match="dim_size"):
        same(Tensor(X), Tensor(INDEX), dim_size=3).numpy()


# ---- by index ----


@pytest.mark.parametrize("reduce, empty", [("sum", 0), ("mean", 0), ("max", 0), ("min", 0), ("mul", 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_scatter(reduce, empty, dtype):
    f = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "mul": np.prod}[reduce]
    x = np.array([[3, -2], [1, 5], [-4, 2], [2, 2], [7, -1], [0, 3]], dtype)
    want = np.stack([f(x[INDEX == r], 0) if (INDEX == r).any() else np.full(2, empty) for r in range(ROWS)])
    np.testing.assert_allclose(scatter(Tensor(x), Tensor(INDEX), 0, ROWS, reduce).numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(scatter(Tensor(x.T.copy()), Tensor(INDEX), -1, ROWS, reduce).numpy(), want.T, rtol=1e-6)


def test_number_of_rows():
    """Given, carried by the index, or found from it."""
    index = Tensor(INDEX)
    assert rows_of(index).num_rows == 5
    index._count = 9
    assert rows_of(index).num_rows == 9 and rows_of(index, 7).num_rows == 7
    assert rows_of(Tensor(np.zeros(0, np.int64))).num_rows == 0
    assert rows_of(Tensor(INDEX), 6).count.tolist() == [2, 0, 3, 0, 1, 0]


def test_softmax_segments_and_sorted_groups():
    p = np.exp(X)
    want = p / np.stack([np.bincount(INDEX, p[:, k], ROWS) for k in range(2)], 1)[INDEX]
    ptr = Tensor(np.array([0, 2, 2, 5, 5, 6, 6]))
    np.testing.assert_allclose(softmax(Tensor(X), Tensor(INDEX)).numpy(), want, rtol=1e-9)
    np.testing.assert_allclose(softmax(Tensor(X), ptr=ptr).numpy(), want, rtol=1e-9)
    np.testing.assert_allclose(softmax(Tensor(X.T.copy()), Tensor(INDEX), dim=-1).numpy(), want.T, rtol=1e-9)
    assert np.isfinite(softmax(Tensor(X * 1e5), Tensor(INDEX)).numpy()).all()
    np.testing.assert_allclose(segment(Tensor(X), ptr, "max").numpy(), reference("max", X, INDEX, ROWS))
    np.testing.assert_allclose(segment(Tensor(X.T.copy()), ptr.reshape(1, -1), "mean").numpy().T, reference("mean", X, INDEX, ROWS))
    logs = [np.log(np.exp(X[INDEX == r]).sum(0)) if (INDEX == r).any() else np.zeros(2) for r in range(ROWS)]
    np.testing.assert_allclose(segment_logsumexp(Tensor(X), ptr, 0).numpy(), logs, rtol=1e-9)
    assert scatter_argmax(Tensor(X[:, 0].copy()), Tensor(INDEX), dim_size=ROWS).tolist() == [1, 5, 4, 5, 5, 5]
    src, index = np.array([0, 1, 5, 4, 3, 2, 6, 7, 8]), np.array([0, 0, 1, 1, 1, 1, 2, 2, 2])
    assert group_argsort(Tensor(src), Tensor(index)).tolist() == [0, 1, 3, 2, 1, 0, 0, 1, 2]
    assert group_argsort(Tensor(src), Tensor(index), descending=True).tolist() == [1, 0, 0, 1, 2, 3, 2, 1, 0]
    assert group_argsort(Tensor(src), Tensor(index), return_consecutive=True).tolist() == [0, 1, 5, 4, 3, 2, 6, 7, 8]
    out, where = group_cat([Tensor([1, 2]), Tensor([3, 4])], [Tensor([0, 2]), Tensor([0, 1])], return_index=True)
    assert out.tolist() == [1, 3, 4, 2] and where.tolist() == [0, 0, 1, 2]


# ---- linear layers, first values, names ----


def test_linear_layers_of_unknown_size():
    x = Tensor.rand(5, 4)
    lin = gnn.Linear(-1, 3, weight_initializer="glorot", bias_initializer="zeros")
    assert repr(lin) == "Linear(-1, 3, bias=True)" and sorted(lin.state_dict()) == ["bias", "weight"]
    assert lin(x).shape == (5, 3) and repr(lin) == "Linear(4, 3, bias=True)" and len(lin.parameters()) == 2
    other = nn.Sequential(gnn.Linear(-1, 3))
    nn.load_state_dict(other, {f"0.{k}": v for k, v in lin.state_dict().items()})
    np.testing.assert_array_equal(other(x).numpy(), lin(x).numpy())
    with pytest.raises(RuntimeError, match="bias"):
        gnn.Linear(-1, 3, bias=False).load_state_dict(lin.state_dict())
    with pytest.raises(RuntimeError, match="'best'"):
        gnn.Linear(4, 3, weight_initializer="best")


def test_linear_layers_by_type():
    kind, x = np.array([1, 0, 2, 1, 1]), np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    lin = gnn.HeteroLinear(-1, 3, num_types=3)
    want = lin(Tensor(x), Tensor(kind)).numpy()
    w, b = lin.weight.numpy(), lin.bias.numpy()
    np.testing.assert_allclose(want, [v @ w[k] + b[k] for v, k in zip(x, kind)], rtol=1e-5, atol=1e-6)
    gradcheck(lambda v, m: (v.unsqueeze(-1) * m.index_select(0, Tensor(kind))).sum(-2), x, w)
    both = gnn.HeteroDictLinear(-1, 3, types=["a", "b"])
    out = both({"a": Tensor(x)})
    assert out.keys() == {"a"} and both.in_channels == {"a": 4, "b": -1}
    assert sorted(gnn.HeteroDictLinear({"a": 2}, 3).state_dict()) == ["lins.a.bias", "lins.a.weight"]
    with pytest.raises(ValueError, match="types"):
        gnn.HeteroDictLinear(4, 3)


def test_first_values():
    w, m = Tensor.zeros(30, 20, requires_grad=True), nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    for f, bound in [(inits.glorot, (6 / 50) ** 0.5), (lambda t: inits.uniform(16, t), 0.25), (lambda t: inits.kaiming_uniform(t, 6, 0), 1.0)]:
        f(w)
        a = np.abs(w.numpy())
        assert bound * 0.9 < a.max() <= bound and w.requires_grad
    inits.constant(m, 3)
    assert all((t.numpy() == 3).all() for t in m.parameters())
    inits.reset(m)
    assert all((np.abs(t.numpy()) <= 0.5).all() for t in m.parameters())
    inits.normal(w, 5.0, 0.1)
    assert abs(w.numpy().mean() - 5) < 0.05
    inits.glorot_orthogonal(w, 2.0)
    a = w.numpy()
    np.testing.assert_allclose(a.T @ a, np.eye(20) * (a.T @ a)[0, 0], atol=1e-5)
    assert a.var(ddof=1) == pytest.approx(2 / 50, rel=1e-3)


def test_names_of_activations_and_normalisations():
    x = Tensor([-1.0, 2.0])
    assert activation_resolver("leaky_relu", 0.5)(x).tolist() == [-0.5, 2.0]
    assert activation_resolver("LeakyReLU", negative_slope=0.5)(x).tolist() == [-0.5, 2.0]
    assert activation_resolver("PReLU")(x).tolist() == [-0.25, 2.0]
    np.testing.assert_allclose(activation_resolver("swish")(x).numpy(), activation_resolver("silu")(x).numpy(), rtol=1e-6)
    assert activation_resolver(None) is None
    for name in ("relu", "ELU", "tanh", "gelu", "softplus", "sigmoid"):
        assert activation_resolver(name)(x).shape == (2,)
    for name in ("batch_norm", "BatchNorm", "batch", "LayerNorm", "graph_norm", "instance"):
        assert normalization_resolver(name, 4)(Tensor.rand(3, 4)).shape == (3, 4)
    with pytest.raises(ValueError, match="'rectify'"):
        activation_resolver("rectify")
    with pytest.raises(ValueError, match="'norm1'"):
        normalization_resolver("norm1", 4)


def test_the_edges_of_a_known_graph_are_gathered_by_it():
    g = Graph(np.stack([np.arange(6), INDEX]), num_src=6, num_dst=ROWS)
    index = mark(g.dst_index, g, "in")
    for op in ("sum", "mean", "max", "mul"):
        aggr = aggregation_resolver(op)
        for dim in (0, -2):
            np.testing.assert_array_equal(aggr(Tensor(X), index, dim_size=ROWS, dim=dim).numpy(), rows_of(index).reduce(Tensor(X), op).numpy())
        np.testing.assert_array_equal(aggr(Tensor(X.T.copy()), index, dim_size=ROWS, dim=1).numpy(), rows_of(index).reduce(Tensor(X), op).numpy().T)
        assert aggr(Tensor(X), index, dim_size=9).shape == (9, 2)  # more rows than the graph has nodes
        for dim in (0, -2):
            with pytest.raises(ValueError, match="do not fit the 6 edges"):
                aggr(Tensor(X[:5]), index, dim_size=ROWS, dim=dim)
    with pytest.raises(ValueError, match="'best'"):
        aggr.reduce(Tensor(X), index, reduce="best")
