"""MessagePassing: what layers are given, in both directions and between two sets of nodes; hooks; what a layer of a user's stores."""

from __future__ import annotations

import numpy as np
import pytest
from graph_helpers import assert_narrow, edges, stored_by
from helpers import gradcheck

from polygrad import Graph, Tensor
from polygrad.geometric.nn import MessagePassing
from polygrad.geometric.utils import scatter, softmax

INDEX = np.array([[0, 1, 2, 2, 3, 0], [1, 1, 0, 3, 3, 1]])  # node 2 gets nothing
X = np.arange(12.0).reshape(4, 3) ** 1.5


class Plain(MessagePassing):
    def forward(self, x, edge_index, size=None, **kwargs):
        return self.propagate(edge_index, size=size, x=x, **kwargs)


class Both(Plain):
    def message(self, x_i, x_j, weight):
        return weight.reshape(-1, 1) * (x_j - 2 * x_i)


def reference(index, x, weight, flow="source_to_target", nodes=4):
    a, b = index if flow == "source_to_target" else index[::-1]
    out = np.zeros((nodes, x.shape[1]))
    for k in range(index.shape[1]):
        out[b[k]] += weight[k] * (x[a[k]] - 2 * x[b[k]])
    return out


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
@pytest.mark.parametrize("as_graph", [False, True])
def test_both_ends_in_both_directions(flow, as_graph):
    weight = np.linspace(1, 2, 6)
    index = Graph(INDEX, 4) if as_graph else Tensor(INDEX)
    got = Both(flow=flow)(Tensor(X), index, weight=Tensor(weight)).numpy()
    np.testing.assert_allclose(got, reference(INDEX, X, weight, flow), rtol=1e-12)


@pytest.mark.parametrize("kind", ["random", "empty"])
def test_gradients(kind):
    index, nodes = edges(kind)
    rng = np.random.default_rng(0)
    index, layer = Tensor(index), Both()
    gradcheck(lambda x, w: layer(x, index, weight=w).square(), rng.standard_normal((nodes, 3)), rng.standard_normal(index.shape[1]))


def test_between_two_sets_of_nodes():
    source, target = np.arange(8.0).reshape(4, 2), np.array([[1.0, 2.0], [3.0, 4.0]])
    index = np.array([[0, 1, 3], [1, 1, 0]])

    class Pair(Plain):
        def message(self, x_i, x_j):
            return x_j if x_i is None else x_j * x_i

    out = Pair()((Tensor(source), Tensor(target)), Tensor(index)).numpy()
    np.testing.assert_allclose(out, [source[3] * target[0], (source[0] + source[1]) * target[1]])
    out = Pair()((Tensor(source), None), Tensor(index), size=(4, 2)).numpy()
    np.testing.assert_allclose(out, [source[3], source[0] + source[1]])
    assert Pair()((Tensor(source), None), Tensor(index)).shape == (4, 2)  # as many as sources, if nothing else is said
    back = Pair(flow="target_to_source")((Tensor(source), Tensor(target)), Tensor(index)).numpy()
    np.testing.assert_allclose(back, [target[1] * source[0], target[1] * source[1], [0, 0], target[0] * source[3]])
    # Where both are of the same nodes, the first of a pair is what is sent, as in PyG, whichever way messages go.
    sent, kept = Tensor(source), Tensor(source + 1)
    back = Pair(flow="target_to_source")((sent, kept), Tensor(index)).numpy()
    np.testing.assert_allclose(back[3], source[0] * (source[3] + 1))


def test_special_arguments():
    seen = {}

    class Looks(Plain):
        def message(self, x_j, edge_index, edge_index_i, edge_index_j, index, ptr, size, size_i, size_j, dim_size, other=7):
            seen.update(locals())
            return x_j

        def update(self, inputs, x, extra):
            seen["x"], seen["extra"] = x, extra
            return inputs

    x, index = Tensor(X), Tensor(INDEX)
    Looks()(x, index, extra="anything")
    assert seen["edge_index"] is index and seen["x"] is x and seen["extra"] == "anything" and seen["other"] == 7
    assert seen["size"] == [4, None] and (seen["size_i"], seen["size_j"], seen["dim_size"], seen["ptr"]) == (4, 4, 4, None)
    for name, row in (("index", 1), ("edge_index_i", 1), ("edge_index_j", 0)):
        assert seen[name].tolist() == INDEX[row].tolist()
    Looks(flow="target_to_source")(x, index, extra=None)
    assert seen["index"].tolist() == INDEX[0].tolist() and seen["edge_index_j"].tolist() == INDEX[1].tolist()


@pytest.mark.parametrize("dim", [0, 1, -2])
def test_the_axis_of_the_nodes(dim):
    """Values [V, H, C] with node_dim=0, and [B, V, C] with another: the same numbers as one by one."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4, 2, 3))
    want = np.stack([reference(INDEX, x[:, k], np.ones(6)) for k in range(2)], 1)

    class Heads(Plain):
        def message(self, x_i, x_j):
            return x_j - 2 * x_i

    given = x if dim == 0 else x.swapaxes(0, 1)
    got = Heads(node_dim=dim)(Tensor(np.ascontiguousarray(given)), Tensor(INDEX)).numpy()
    np.testing.assert_allclose(got, want if dim == 0 else want.swapaxes(0, 1), rtol=1e-12)


@pytest.mark.parametrize("aggr, f", [("mean", np.mean), ("max", np.max), ("min", np.min), ("mul", np.prod)])
def test_aggregations_by_name(aggr, f):
    got = Plain(aggr=aggr)(Tensor(X), Tensor(INDEX)).numpy()
    empty = np.full(3, 1.0 if aggr == "mul" else 0.0)
    want = [f(X[INDEX[0][INDEX[1] == v]], 0) if (INDEX[1] == v).any() else empty for v in range(4)]
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_several_aggregations_and_own_ones():
    x, index = Tensor(X), Tensor(INDEX)
    both = Plain(aggr=["sum", "max"])(x, index).numpy()
    np.testing.assert_allclose(both, np.concatenate([Plain(aggr=a)(x, index).numpy() for a in ("sum", "max")], 1))

    class Own(Plain):
        def aggregate(self, inputs, index, dim_size):
            return scatter(inputs, index, 0, dim_size, "sum") + 1

    np.testing.assert_allclose(Own(aggr=None)(x, index).numpy(), Plain()(x, index).numpy() + 1)
    with pytest.raises(NotImplementedError, match="aggr=None"):
        Plain(aggr=None)(x, index)
    assert Plain(aggr="softmax", aggr_kwargs={"learn": True}).state_dict().keys() == {"aggr_module.t"}


def test_edge_updates():
    class Scores(MessagePassing):
        def forward(self, x, edge_index):
            alpha = self.edge_updater(edge_index, x=x)
            return self.propagate(edge_index, x=x, alpha=alpha), alpha

        def edge_update(self, x_i, x_j, index, ptr, size_i):
            return softmax((x_i * x_j).sum(-1) / 50, index, ptr, size_i)

        def message(self, x_j, alpha):
            return alpha.unsqueeze(-1) * x_j

    out, alpha = Scores()(Tensor(X), Tensor(INDEX))
    score = np.exp((X[INDEX[0]] * X[INDEX[1]]).sum(-1) / 50)
    want = score / np.bincount(INDEX[1], score, 4)[INDEX[1]]
    np.testing.assert_allclose(alpha.numpy(), want, rtol=1e-10)
    np.testing.assert_allclose(out.numpy()[3], want[3] * X[2] + want[4] * X[3], rtol=1e-10)


def test_features_in_parts():
    x, index = Tensor(np.concatenate([X, X + 1], 1)), Tensor(INDEX)
    layer = Plain(aggr="max", decomposed_layers=2)
    np.testing.assert_allclose(layer(x, index).numpy(), Plain(aggr="max")(x, index).numpy())
    layer.decomposed_layers = 3
    np.testing.assert_allclose(layer(x, index).numpy(), Plain(aggr="max")(x, index).numpy())


def test_message_and_aggregate_is_for_graphs():
    """It is called where it says as much as message does."""
    calls = []

    class Fused(Plain):
        def message(self, x_j, weight=None):
            return x_j if weight is None else weight.reshape(-1, 1) * x_j

        def message_and_aggregate(self, edge_index, x):
            calls.append(edge_index)
            return edge_index.sum(edge_index.src(x))

    x, graph = Tensor(X), Graph(INDEX, 4)
    want = Plain()(x, graph).numpy()
    np.testing.assert_allclose(Fused()(x, Tensor(INDEX)).numpy(), want)
    assert not calls
    np.testing.assert_allclose(Fused()(x, graph).numpy(), want)
    assert calls == [graph]
    np.testing.assert_allclose(Fused()(x, graph, weight=Tensor(np.full(6, 2.0))).numpy(), 2 * want)
    Fused(aggr="median")(x, graph)
    assert len(calls) == 1


def test_hooks_see_and_change():
    layer, x, index = Both(), Tensor(X), Tensor(INDEX)
    weight = Tensor(np.ones(6))
    want = layer(x, index, weight=weight).numpy()
    seen = []
    hooks = [
        layer.register_propagate_forward_pre_hook(lambda m, a: seen.append("before")),
        layer.register_message_forward_pre_hook(lambda m, a: seen.append(sorted(a[0]))),
        layer.register_message_forward_hook(lambda m, a, out: out * 2),
        layer.register_aggregate_forward_hook(lambda m, a, out: seen.append(out.shape)),
        layer.register_propagate_forward_hook(lambda m, a, out: out + 1),
    ]
    np.testing.assert_allclose(layer(x, index, weight=weight).numpy(), 2 * want + 1)
    assert seen == ["before", ["weight", "x_i", "x_j"], (4, 3)]
    for hook in hooks:
        hook.remove()
    np.testing.assert_allclose(layer(x, index, weight=weight).numpy(), want)
    layer.register_propagate_forward_pre_hook(lambda m, a: (a[0], a[1], {**a[2], "weight": a[2]["weight"] * 3}))
    np.testing.assert_allclose(layer(x, index, weight=weight).numpy(), 3 * want)


def test_explaining_masks_messages():
    x, mask = Tensor(X), np.linspace(0.1, 0.9, 6)

    class Loops(Plain):
        def forward(self, x, edge_index):
            return self.propagate(Graph(edge_index, x.shape[0]).with_self_loops(only_missing=True), x=x)

    for layer in (Plain(), Loops()):
        layer.explain = True
        with pytest.raises(ValueError, match="mask"):
            layer(x, Tensor(INDEX))
        layer._edge_mask, layer._apply_sigmoid = Tensor(mask), False
        got = layer(x, Tensor(INDEX)).numpy()
        want = np.zeros((4, 3))
        loop = isinstance(layer, Loops)
        for k, (a, b) in enumerate(INDEX.T):
            want[b] += (1.0 if loop and a == b else mask[k]) * X[a]
        if loop:
            for v in (0, 2):
                want[v] += X[v]
        np.testing.assert_allclose(got, want, rtol=1e-12)
        layer.explain = False
    (gradient,) = Both()(x, Tensor(INDEX), weight=(m := Tensor(mask))).sum().gradient(m)
    assert gradient.shape == (6,)


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: Plain()(Tensor(X), Tensor(X)), ValueError, "integer type"),
        (lambda: Plain()(Tensor(X), Tensor(INDEX.T.copy())), ValueError, r"\[2, edges\]"),
        (lambda: Plain()(Tensor(X), INDEX), ValueError, "a Tensor of shape"),
        (lambda: Both()(Tensor(X), Tensor(INDEX)), TypeError, "Both.message needs 'weight'"),
        (lambda: Plain()((Tensor(X), Tensor(X)), Tensor(INDEX), size=(4, 5)), ValueError, "there are 5 nodes"),
        (lambda: Plain()(Tensor(X[:, 0].copy()), Tensor(INDEX)), ValueError, "no axis -2"),
        (lambda: Plain()(Tensor(X[:2].copy()), Tensor(INDEX)), IndexError, "2"),
        (lambda: Plain(flow="sideways"), ValueError, "flow"),
        (lambda: Plain(aggr="avrg"), ValueError, "Could not resolve 'avrg'"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(call, error, match):
    with pytest.raises(error, match=match):
        call()


class MadeUp(MessagePassing):
    """A layer that nobody has: attention by a product over both ends and the edge, a gate by each end, a nonlinear message."""

    def __init__(self, features, edge_features, aggr="sum"):
        super().__init__(aggr=aggr)
        self.lin, self.lin_edge = Tensor.randn(features, features) * 0.3, Tensor.randn(edge_features, features) * 0.3
        self.att = Tensor.randn(features)

    def forward(self, x, edge_index, edge_attr):
        h = x @ self.lin
        return self.propagate(edge_index, h=h, gate=h.sum(-1, keepdim=True).sigmoid(), edge_attr=edge_attr).tanh()

    def message(self, h_i, h_j, gate_i, gate_j, edge_attr, index, ptr, size_i):
        z = (h_i + h_j + edge_attr @ self.lin_edge).leaky_relu(0.2)
        alpha = softmax((z * self.att).sum(-1, keepdim=True), index, ptr, size_i)
        return alpha * (h_j * gate_i).sigmoid() * gate_j


@pytest.mark.parametrize("aggr", ["sum", "max", ["mean", "std"]])
def test_a_made_up_layer_stores_nothing_wide(aggr):
    """Nothing of edges x features is stored, forward or backward; sizes are primes."""
    nodes, count, features = 17, 307, 11
    rng = np.random.default_rng(2)
    index = Tensor(rng.integers(0, nodes, (2, count)))
    x, attr = Tensor.randn(nodes, features).realize(), Tensor.randn(count, 2).realize()
    layer = MadeUp(features, 2, aggr)
    leaves = [x, attr, layer.lin, layer.lin_edge, layer.att]
    leaves[0].realize(*leaves[1:])
    assert_narrow(stored_by(lambda: layer(x, index, attr)), count, features)
    assert_narrow(stored_by(lambda: [(y := layer(x, index, attr)), *y.square().sum().gradient(*leaves)]), count, features)


def test_a_plain_sum_is_one_kernel():
    x, index, weight = Tensor.randn(17, 11).realize(), Tensor(np.random.default_rng(3).integers(0, 17, (2, 307))), Tensor.randn(307).realize()

    class Weighted(Plain):
        def message(self, x_j, weight):
            return weight.reshape(-1, 1) * x_j

    p = stored_by(lambda: Weighted()(x, index, weight=weight))
    assert len(p.kernels) == 1 and [s.shape for s in p.stored] == [(17, 11)], p


def test_a_layer_in_a_compiled_step(cpu):
    """The same numbers from a replayed step as from one that is built each time."""
    from polygrad import TinyJit

    rng = np.random.default_rng(4)
    index, attr = Tensor(rng.integers(0, 9, (2, 30))).realize(), Tensor(rng.standard_normal((30, 2)).astype(np.float32))
    layer = MadeUp(5, 2)
    layer.lin.realize(layer.lin_edge, layer.att)
    step = TinyJit(lambda x: layer(x, index, attr).realize())
    for k in range(4):
        x = Tensor(rng.standard_normal((9, 5)).astype(np.float32))
        np.testing.assert_allclose(step(x).numpy(), layer(x, index, attr).numpy(), rtol=1e-5, atol=1e-6, err_msg=str(k))
