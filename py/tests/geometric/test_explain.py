"""polygrad.geometric.explain: masks in layers, algorithms, explanations, measures and pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from golden import Case, close, names

import polygrad.geometric.nn as gnn
from polygrad import Profile, Tensor, nn
from polygrad.geometric.data import HeteroData
from polygrad.geometric.datasets import BA2MotifDataset, BAShapes, ExplainerDataset, InfectionDataset
from polygrad.geometric.datasets.graph_generator import BAGraph, ERGraph, GraphGenerator, GridGraph, TreeGraph
from polygrad.geometric.datasets.motif_generator import CustomMotif, CycleMotif, GridMotif, HouseMotif, MotifGenerator
from polygrad.geometric.explain import (
    AttentionExplainer,
    CaptumExplainer,
    DummyExplainer,
    Explainer,
    ExplainerConfig,
    Explanation,
    GNNExplainer,
    GraphMaskExplainer,
    HeteroExplanation,
    ModelConfig,
    PGExplainer,
    ThresholdConfig,
    characterization_score,
    clear_masks,
    fidelity,
    fidelity_curve_auc,
    groundtruth_metrics,
    set_masks,
    unfaithfulness,
    write_page,
)  # fmt: skip

NODE = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
GRAPH = {**NODE, "task_level": "graph"}
LAYERS = {
    "gcn": lambda: gnn.GCNConv(5, 4), "gat": lambda: gnn.GATConv(5, 4, heads=2), "sage": lambda: gnn.SAGEConv(5, 4),
    "transformer": lambda: gnn.TransformerConv(5, 4, heads=2), "cheb": lambda: gnn.ChebConv(5, 4, K=3), "sg": lambda: gnn.SGConv(5, 4, K=2),
    "arma": lambda: gnn.ARMAConv(5, 4), "gatv2": lambda: gnn.GATv2Conv(5, 4),
}  # fmt: skip


def gcn():
    return gnn.GCN(5, 8, num_layers=2, out_channels=3)


# ---- masks ----


@pytest.mark.parametrize("name", names("mask_"))
def test_mask_as_pyg(name):
    """A mask is a factor of each message, not of self loops that a layer adds; its gradient goes to the edges alone."""
    case = Case(name)
    layer = case.load(LAYERS[name.split("_")[1]]())
    mask = case.t("mask").requires_grad_()
    set_masks(layer, mask, case.t("edge_index"))
    out = layer(case.t("x"), case.t("edge_index"))
    (slope,) = out.square().sum().gradient(mask)
    close(out, case["out"])
    close(slope, case["slope"], 1e-3, 1e-5)
    clear_masks(layer)
    assert layer.explain is None and layer._edge_mask is None


def test_mask_stores_nothing_as_wide_as_edges():
    """The mask joins the loop over the edges: nothing of edges x features is stored."""
    conv, edges = gnn.SAGEConv(16, 16), 600
    x, edge_index = Tensor.rand(50, 16).realize(), Tensor(np.random.default_rng(0).integers(0, 50, (2, edges)))
    mask = Tensor.rand(edges).realize().requires_grad_()
    for p in conv.parameters():
        p.realize()
    set_masks(conv, mask, edge_index)
    with Profile() as p:
        out = conv(x, edge_index)
        out.realize(*out.square().sum().gradient(mask))
    assert max(int(np.prod(s.shape)) for s in p.stored) < edges * 16


@pytest.mark.parametrize("loops", [False, True])
def test_mask_of_ones_changes_nothing(loops):
    rng = np.random.default_rng(1)
    edges = rng.integers(0, 9, (2, 40))
    edges = edges if loops else edges[:, edges[0] != edges[1]]
    x, edge_index = Tensor(rng.standard_normal((9, 5)).astype(np.float32)), Tensor(edges)
    for make in LAYERS.values():
        layer = make()
        plain = layer(x, edge_index).numpy()
        set_masks(layer, Tensor.ones(edges.shape[1]), edge_index, apply_sigmoid=False)
        close(layer(x, edge_index), plain)
        clear_masks(layer)


def test_every_node_with_a_loop():
    """Where the graph with added loops has as many edges as before, a mask still belongs to the edges that were given."""
    edges = Tensor([[0, 1, 1, 2, 0, 2], [0, 1, 0, 1, 2, 2]])
    mask = Tensor([0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    conv, x = gnn.GATConv(2, 3), Tensor.rand(3, 2).realize()
    alpha = conv(x, edges, return_attention_weights=True)[1]
    pairs, weight = alpha[0].numpy(), alpha[1].numpy()[:, 0]
    kept = {(0, 0): 1, (1, 1): 1, (2, 2): 1, (1, 0): 1, (0, 2): 1, (2, 1): 0}
    h = conv.lin(x).numpy()
    want = np.zeros((3, 3))
    for (a, b), w in zip(pairs.T, weight):
        want[b] += kept[int(a), int(b)] * w * h[a]
    set_masks(conv, mask, edges, apply_sigmoid=False)
    close(conv(x, edges), want + conv.bias.numpy())


def test_hooks_see_the_messages_of_the_formula():
    """A message hook of GCNConv sees the self loops, and messages that are scaled already."""
    conv, x, edges = gnn.GCNConv(3, 4), Tensor.rand(4, 3).realize(), Tensor([[0, 1, 2], [1, 2, 3]])
    plain, seen = conv(x, edges).numpy(), []
    hook = conv.register_message_forward_hook(lambda layer, inputs, out: seen.append(out))
    close(conv(x, edges), plain)
    hook.remove()
    assert seen[0].shape == (7, 4)
    total = np.zeros((4, 4))
    np.add.at(total, [1, 2, 3, 0, 1, 2, 3], seen[0].numpy())
    close(total + conv.bias.numpy(), plain)
    close(conv(x, edges), plain)


def test_layers_can_be_left_out():
    model, edges = gcn(), Tensor([[0, 1], [1, 0]])
    model.convs[0].explain = False
    set_masks(model, Tensor.zeros(2), edges)
    assert model.convs[0]._edge_mask is None and model.convs[1]._edge_mask is not None
    clear_masks(model)
    assert model.convs[0].explain is False and model.convs[1].explain is None


def test_wrong_mask():
    conv = gnn.SAGEConv(2, 2)
    set_masks(conv, Tensor.ones(3), None)
    with pytest.raises(ValueError, match="mask of 3 edges does not fit messages of 2"):
        conv(Tensor.ones(2, 2), Tensor([[0, 1], [1, 0]]))


# ---- GNNExplainer ----


class Fixed(GNNExplainer):
    """With given first masks."""

    def __init__(self, node, edge, **kwargs):
        super().__init__(**kwargs)
        self._first = node, edge

    def _node_mask(self, x):
        from polygrad.geometric.explain.algorithm.gnn_explainer import _Mask

        return _Mask(self._first[0], "node_feat")

    def _edge_mask(self, edge_index, nodes):
        from polygrad.geometric.explain.algorithm.gnn_explainer import _Mask

        return _Mask(self._first[1], "edge")


@pytest.mark.parametrize("name", names("gnn_explainer_"))
def test_gnn_explainer_as_pyg(name):
    """From the same first masks, sixty steps end at the same ones, and the measures of them are the same."""
    case, kind = Case(name), name.split("_", 3)[3]
    index = None if case["index"][0] < 0 else int(case["index"][0]) if "_one_" in name else case.t("index")
    algorithm = Fixed(case.t("node"), case.t("edge"), epochs=60)
    explainer = Explainer(case.load(gcn()), algorithm, "model", NODE, node_mask_type=kind, edge_mask_type="object")
    found = explainer(case.t("x"), case.t("edge_index"), index=index)
    close(found.prediction, case["prediction"])
    close(found.node_mask, case["node_mask"], 2e-3, 1e-4)
    close(found.edge_mask, case["edge_mask"], 2e-3, 1e-4)
    close(fidelity(explainer, found), case["fidelity"])
    close(unfaithfulness(explainer, found), case["unfaithfulness"], 1e-3, 1e-5)
    if kind == "attributes":
        assert 0 <= unfaithfulness(explainer, found, top_k=2) <= 1


@pytest.mark.parametrize("mode, returns, wide", [
    ("binary_classification", "raw", 1), ("binary_classification", "probs", 1), ("multiclass_classification", "raw", 3),
    ("multiclass_classification", "probs", 3), ("multiclass_classification", "log_probs", 3), ("regression", "raw", 1), ("regression", "raw", 2),
])  # fmt: skip
@pytest.mark.parametrize("index", [None, 2, "several"])
def test_modes(mode, returns, wide, index):
    last = {"raw": lambda t: t, "probs": lambda t: t.sigmoid() if wide == 1 else t.softmax(-1), "log_probs": lambda t: t.log_softmax(-1)}[returns]

    class Net(nn.Module):
        def __init__(self):
            self.conv = gnn.GCNConv(4, wide)

        def forward(self, x, edge_index):
            return last(self.conv(x, edge_index))

    x, edges = Tensor.rand(6, 4).realize(), Tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    config = {"mode": mode, "task_level": "node", "return_type": returns}
    at = Tensor([1, 3]) if index == "several" else index
    found = Explainer(Net(), GNNExplainer(epochs=5), "model", config, "attributes", "object")(x, edges, index=at)
    assert found.validate() and np.isfinite(found.edge_mask.numpy()).all()
    if mode != "regression":
        target = Explainer(Net(), GNNExplainer(epochs=2), "phenomenon", config, None, "object")(x, edges, target=found.target, index=at)
        assert "node_mask" not in target and target.edge_mask.shape == (5,)


def test_explaining_leaves_the_model_as_it_was():
    model, x, edges = gcn(), Tensor.rand(6, 5).realize(), Tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    before = {n: t.numpy().copy() for n, t in model.state_dict().items()}
    Explainer(model, GNNExplainer(epochs=10), "model", NODE, "object", "object")(x, edges, index=1)
    assert all((t.numpy() == before[n]).all() for n, t in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert all(layer.explain is None and layer._edge_mask is None for layer in model.convs)


def test_what_the_output_does_not_depend_on():
    model = nn.Sequential(nn.Linear(3, 2))
    model.forward = lambda x, edge_index: nn.Sequential.forward(model, x)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="Could not compute gradients for edges"):
        Explainer(model, GNNExplainer(epochs=2), "model", NODE, "object", "object")(Tensor.rand(3, 3), Tensor([[0], [1]]))
    with pytest.raises(TypeError, match="no coefficients"):
        GNNExplainer(edge_sise=1)


def train(model, forward, y, epochs, lr):
    opt = nn.Adam(model.parameters(), lr=lr, weight_decay=5e-4)

    def step(model, opt, y):
        loss = forward().cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    compiled = nn.compile_step(step, model, opt, y)
    for _ in range(epochs):
        compiled.run()
    return float((forward().argmax(-1) == y).cast("float32").mean().item())


def test_houses_of_ba_shapes(cpu):
    """The edges of the house around a node are found."""
    Tensor.manual_seed(0)
    data = BAShapes()[0]
    model = gnn.GCN(10, 20, num_layers=3, out_channels=4)
    assert train(model, lambda: model(data.x, data.edge_index), data.y, 1500, 2e-3) > 0.8
    explainer = Explainer(model, GNNExplainer(epochs=100), "model", NODE, "attributes", "object")
    truth, hits = data.edge_label.numpy() > 0, []
    for node in (403, 517, 589, 633):
        mask = explainer(data.x, data.edge_index, index=node).edge_mask.numpy()
        hits.append(truth[np.argsort(-mask)[:12]].mean())
    assert np.mean(hits) > 0.65  # one edge in four is one of a house


# ---- other algorithms ----


def test_attention_as_pyg():
    case = Case("attention")
    model = case.load(gnn.GAT(5, 8, num_layers=2, out_channels=3, heads=2))
    for reduce in ("max", "mean"):
        explainer = Explainer(model, AttentionExplainer(reduce), "model", NODE, edge_mask_type="object")
        close(explainer(case.t("x"), case.t("edge_index"), index=3).edge_mask, case[reduce])
    with pytest.raises(ValueError, match="Could not collect any attention"):
        Explainer(gcn(), AttentionExplainer(), "model", NODE, edge_mask_type="object")(case.t("x"), case.t("edge_index"))
    with pytest.raises(ValueError, match="phenomenon"):
        Explainer(model, AttentionExplainer(), "phenomenon", NODE, edge_mask_type="object")


def test_pg_explainer_as_pyg():
    case = Case("pg_explainer")
    model, algorithm = case.load(gcn()), PGExplainer(epochs=3)
    explainer = Explainer(model, algorithm, "phenomenon", NODE, edge_mask_type="object")
    given = {"target": case.t("target"), "index": 3}
    with pytest.raises(ValueError, match="0 of 3 epochs"):
        explainer(case.t("x"), case.t("edge_index"), **given)
    before = {n: t.numpy().copy() for n, t in model.state_dict().items()}
    losses = [algorithm.train(epoch, model, case.t("x"), case.t("edge_index"), **given) for epoch in range(3)]
    assert np.isfinite(losses).all() and all((t.numpy() == before[n]).all() for n, t in model.state_dict().items())
    algorithm.mlp.load_state_dict(case.under("mlp"))
    close(explainer(case.t("x"), case.t("edge_index"), **given).edge_mask, case["edge_mask"], 1e-3, 1e-5)
    with pytest.raises(ValueError, match="needs the 'index'"):
        explainer(case.t("x"), case.t("edge_index"), target=case.t("target"))
    with pytest.raises(ValueError, match="Only scalars are supported"):
        explainer(case.t("x"), case.t("edge_index"), target=case.t("target"), index=Tensor([1, 2]))


def test_pg_explainer_learns():
    """A model that listens to some edges only: their masks grow above those of the others."""
    Tensor.manual_seed(0)
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 30, (2, 150))
    loud = (rng.random(30) < 0.5).astype(np.float32)
    x, edge_index = Tensor(np.stack([loud, rng.random(30).astype(np.float32)], 1)), Tensor(edges)

    class Net(nn.Module):
        def __init__(self):
            self.conv = gnn.SimpleConv()

        def forward(self, x, edge_index):
            h = self.conv(x, edge_index)
            return Tensor.cat(h[:, :1] - 1.0, 1.0 - h[:, :1], dim=1).sum(0, keepdim=True) * 0.3

    model, algorithm = Net(), PGExplainer(epochs=40, lr=0.02, edge_size=0.01)
    explainer = Explainer(model, algorithm, "phenomenon", GRAPH, edge_mask_type="object")
    target = Tensor([0])
    for epoch in range(40):
        algorithm.train(epoch, model, x, edge_index, target=target)
    mask = explainer(x, edge_index, target=target).edge_mask.numpy()
    assert mask[loud[edges[0]] > 0].mean() > mask[loud[edges[0]] == 0].mean()


def test_gradients_as_formulas():
    case, model = Case("gradients"), gcn()
    case.load(model)
    for method, name, kwargs in (
        ("Saliency", "saliency", {}),
        ("InputXGradient", "input", {}),
        ("IntegratedGradients", "integrated", {"n_steps": 20}),
    ):
        explainer = Explainer(model, CaptumExplainer(method, **kwargs), "model", NODE, "attributes", "object")
        found = explainer(case.t("x"), case.t("edge_index"), index=3)
        close(found.node_mask, case[f"{name}_x"], 1e-3, 1e-5)
        close(found.edge_mask, case[f"{name}_edge"], 1e-3, 1e-5)


@pytest.mark.parametrize("method", ["IntegratedGradients", "ShapleyValueSampling"])
def test_attributions_add_up(method):
    """They add up to the difference that the features make."""
    Tensor.manual_seed(0)
    model, x, edges = gcn(), Tensor.rand(4, 5).realize(), Tensor([[0, 1, 2], [1, 2, 3]])
    kwargs = {"n_steps": 200} if method == "IntegratedGradients" else {"n_samples": 2}
    explainer = Explainer(model, CaptumExplainer(method, **kwargs), "model", NODE, node_mask_type="attributes")
    found = explainer(x, edges, index=2)
    with_x, without = model(x, edges).numpy()[2], model(x * 0, edges).numpy()[2]
    kind = int(found.target.numpy()[2])
    close(found.node_mask.numpy().sum(), with_x[kind] - without[kind], 2e-2, 2e-3)


@pytest.mark.parametrize("method", ["gausslegendre", "riemann_left", "riemann_right", "riemann_middle", "riemann_trapezoid"])
def test_ways_to_integrate(method):
    """Of f = x^3 from a baseline b: (x^3 - b^3), however the way is cut; and steps share one program."""

    class Net(nn.Module):
        def forward(self, x, edge_index):
            return x**3

    x, config = Tensor([[1.0], [2.0]]), {"mode": "regression", "task_level": "node"}
    algorithm = CaptumExplainer("IntegratedGradients", n_steps=400 if method != "gausslegendre" else 4, method=method, baselines=0.5)
    before = x._g.plans_built
    found = Explainer(Net(), algorithm, "model", config, node_mask_type="attributes")(x, Tensor([[0], [1]]))
    close(found.node_mask, [[0.875], [7.875]], 2e-2)
    assert x._g.plans_built - before < 12
    with pytest.raises(ValueError, match="method must be"):
        Explainer(Net(), CaptumExplainer("IntegratedGradients", method="simpson"), "model", config, "attributes")(x, Tensor([[0], [1]]))


def test_guided_and_deconvolution():
    """By hand: f = v . relu(W x), whose backward pass is changed at the ReLU."""
    rng = np.random.default_rng(3)
    w, v = rng.standard_normal((6, 4)).astype(np.float32), rng.standard_normal((1, 6)).astype(np.float32)

    class Net(nn.Module):
        def __init__(self):
            self.first, self.act, self.last = nn.Linear(4, 6, bias=False), nn.ReLU(), nn.Linear(6, 1, bias=False)

        def forward(self, x, edge_index):
            return self.last(self.act(self.first(x)))

    model = Net()
    model.load_state_dict({"first.weight": Tensor(w), "last.weight": Tensor(v)})
    x = rng.standard_normal((3, 4)).astype(np.float32)
    config = {"mode": "regression", "task_level": "node"}
    h, g = x @ w.T, np.broadcast_to(v, (3, 6))
    for method, at_relu in (("GuidedBackprop", np.maximum(g, 0) * (h > 0)), ("Deconvolution", np.maximum(g, 0))):
        found = Explainer(model, CaptumExplainer(method), "model", config, node_mask_type="attributes")(Tensor(x), Tensor([[0], [1]]))
        close(found.node_mask, at_relu @ w)
    assert model.act(Tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="has the methods"):
        CaptumExplainer("DeepLift")
    with pytest.raises(TypeError, match="n_steps"):
        CaptumExplainer("IntegratedGradients", steps=3)
    with pytest.raises(ValueError, match="probabilities"):
        Explainer(
            model, CaptumExplainer("Saliency"), "model", {"mode": "binary_classification", "task_level": "node", "return_type": "raw"}, "attributes"
        )


def test_graph_mask():
    Tensor.manual_seed(0)
    model, x, edges = gcn(), Tensor.rand(8, 5).realize(), Tensor([[0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]])
    before = model(x, edges).numpy()
    explainer = Explainer(model, GraphMaskExplainer(2, epochs=15), "model", NODE, "attributes", "object")
    found = explainer(x, edges, index=3)
    assert found.edge_mask.shape == (7,) and set(np.unique(found.edge_mask.numpy())) <= {0.0, 0.5, 1.0}
    assert found.node_mask.shape == (8, 5) and (found.node_mask.numpy()[4:] == 0).all()
    close(model(x, edges), before)
    with pytest.raises(ValueError, match="allowance"):
        GraphMaskExplainer(2, allowance=2)


def test_graph_mask_of_several_heads():
    """A gate for each head: the mask of an edge is their mean."""
    from polygrad.geometric.nn import GAT

    Tensor.manual_seed(0)
    model = GAT(5, 8, 2, 3, heads=4)
    model.eval()
    x, edges = Tensor.rand(8, 5).realize(), Tensor([[0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]])
    found = Explainer(model, GraphMaskExplainer(2, epochs=3), "model", NODE, "attributes", "object")(x, edges, index=3)
    mask = found.edge_mask.numpy()
    assert mask.shape == (7,) and ((mask >= 0) & (mask <= 1)).all()


def test_graph_level(cpu):
    dataset = BA2MotifDataset(num_graphs=4)

    class Net(nn.Module):
        def __init__(self):
            self.conv, self.lin = gnn.GraphConv(10, 8), nn.Linear(8, 2)

        def forward(self, x, edge_index, batch, batch_size=1):
            return self.lin(gnn.global_mean_pool(self.conv(x, edge_index).relu(), batch, batch_size))

    graph, model = dataset[1], Net()
    zeros = Tensor(np.zeros(graph.num_nodes, np.int64))
    found = Explainer(model, GNNExplainer(epochs=10), "model", GRAPH, None, "object", ("topk_hard", 6))(graph.x, graph.edge_index, batch=zeros)
    assert found.edge_mask.numpy().sum() == 6 and found.batch is zeros
    assert 0 <= fidelity(Explainer(model, GNNExplainer(), "model", GRAPH, None, "object"), found)[0] <= 1


@pytest.mark.parametrize("kind", ["pool", "value", "graph"])
def test_models_that_cannot_be_traced(kind):
    """Those that read values or make their own graphs are called anew in each step, and give the same."""

    class Net(nn.Module):
        def __init__(self):
            self.conv, self.lin = gnn.GraphConv(4, 8), nn.Linear(8, 2)

        def forward(self, x, edge_index, batch):
            if kind == "value":
                x = x * float(x.sum().item() > 0)
            if kind == "graph":
                edge_index = Tensor(edge_index.numpy()[:, ::-1].copy())[:, Tensor(np.arange(4)[::-1].copy())]
            return self.lin(gnn.global_mean_pool(self.conv(x, edge_index).relu(), batch))

    model, x, edges, batch = Net(), Tensor.rand(5, 4).realize(), Tensor([[0, 1, 2, 3], [1, 2, 3, 4]]), Tensor([0, 0, 0, 1, 1])
    found = Explainer(model, Fixed(Tensor.zeros(5, 4), Tensor.zeros(4), epochs=8), "model", GRAPH, "attributes", "object")(x, edges, batch=batch)
    kind = "pool"
    plain = Explainer(model, Fixed(Tensor.zeros(5, 4), Tensor.zeros(4), epochs=8), "model", GRAPH, "attributes", "object")(x, edges, batch=batch)
    close(found.edge_mask, plain.edge_mask.numpy())
    close(found.node_mask, plain.node_mask.numpy())


# ---- several types ----


def hetero():
    rng = np.random.default_rng(0)
    data = HeteroData()
    data["paper"].x, data["author"].x = Tensor(rng.random((6, 5), np.float32)), Tensor(rng.random((4, 5), np.float32))
    for kind, ends in ((("paper", "cites", "paper"), (6, 6)), (("author", "writes", "paper"), (4, 6)), (("paper", "by", "author"), (6, 4))):
        data[kind].edge_index = Tensor(np.stack([rng.integers(0, n, 8) for n in ends]))

    class Net(nn.Module):
        def __init__(self):
            convs = {kind: gnn.GATConv((-1, -1), 8, add_self_loops=False) for kind in data.edge_types}
            self.first, self.second = gnn.HeteroConv(convs), gnn.HeteroConv({k: gnn.SAGEConv((-1, -1), 8) for k in data.edge_types})
            self.lin = nn.Linear(8, 3)

        def forward(self, x_dict, edge_index_dict):
            h = {k: v.relu() for k, v in self.first(x_dict, edge_index_dict).items()}
            return self.lin(self.second(h, edge_index_dict)["paper"])

    return data, Net()


@pytest.mark.parametrize("algorithm", [
    lambda: GNNExplainer(epochs=5), lambda: CaptumExplainer("Saliency"), lambda: DummyExplainer(), lambda: CaptumExplainer("InputXGradient"),
])  # fmt: skip
@pytest.mark.parametrize("index", [1, Tensor([0, 2])])
def test_hetero(algorithm, index):
    data, model = hetero()
    model(data.x_dict, data.edge_index_dict)
    explainer = Explainer(model, algorithm(), "model", NODE, "attributes", "object")
    found = explainer(data.x_dict, data.edge_index_dict, index=index)
    assert isinstance(found, HeteroExplanation) and found.validate()
    assert set(found.edge_mask_dict) == set(data.edge_types) and set(found.node_mask_dict) == set(data.node_types)
    assert all(0 <= v <= 1 for v in fidelity(explainer, found))
    assert found.available_explanations == ["node_mask", "edge_mask"]
    close(explainer.get_masked_prediction(data.x_dict, data.edge_index_dict), found.prediction.numpy())
    part = found.threshold("topk", 3).get_explanation_subgraph()
    assert all(part[k].num_edges <= 3 for k in part.edge_types)


def test_hetero_attention_and_pg():
    data, model = hetero()
    model(data.x_dict, data.edge_index_dict)
    found = Explainer(model, AttentionExplainer(), "model", NODE, edge_mask_type="object")(data.x_dict, data.edge_index_dict, index=1)
    assert set(found.edge_mask_dict) == set(data.edge_types)
    algorithm = PGExplainer(epochs=1)
    explainer = Explainer(model, algorithm, "phenomenon", NODE, edge_mask_type="object")
    target = Tensor(np.zeros(6, np.int64))
    algorithm.train(0, model, data.x_dict, data.edge_index_dict, target=target, index=1)
    assert set(explainer(data.x_dict, data.edge_index_dict, target=target, index=1).edge_mask_dict) == set(data.edge_types)


# ---- settings and explanations ----


def test_configs():
    assert ModelConfig.cast({"mode": "regression", "task_level": "node"}).return_type.value == "raw"
    assert ExplainerConfig("phenomenon", "object").edge_mask_type is None
    for call, match in (
        (lambda: ExplainerConfig("model"), "must be provided"), (lambda: ExplainerConfig("model", edge_mask_type="attributes"), "'object'"),
        (lambda: ExplainerConfig("modell", "object"), "modell"), (lambda: ModelConfig("regression", "node", "probs"), "raw outputs"),
        (lambda: ModelConfig("binary_classification", "node", "log_probs"), "log_probs"), (lambda: ThresholdConfig("hard", 1.5), "between 0 and 1"),
        (lambda: ThresholdConfig("topk", 0), "positive"), (lambda: ThresholdConfig("topk", 0.5), "an integer"), (lambda: ThresholdConfig("topk", "1"), "float or int"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            call()


def some():
    return Explanation(
        x=Tensor.rand(4, 3).realize(), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), edge_mask=Tensor([0.9, 0.0, 0.2, 0.5]),
        node_mask=Tensor([[0.3, 0.0, 0.1], [0.0, 0.0, 0.0], [0.2, 0.4, 0.0], [0.0, 0.0, 1.0]]), edge_attr=Tensor([[0.0], [1.0], [2.0], [3.0]]),
    )  # fmt: skip


def test_threshold():
    found = some()
    assert found.threshold("hard", 0.3).edge_mask.tolist() == [1.0, 0.0, 0.0, 1.0]
    close(found.threshold("topk", 2).node_mask, [[0, 0, 0], [0, 0, 0], [0, 0.4, 0], [0, 0, 1]])
    assert found.threshold(ThresholdConfig("topk_hard", 3)).edge_mask.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert found.threshold("topk_hard", 100).edge_mask.tolist() == [1.0] * 4 and found.threshold(None) is found
    assert found.threshold("topk", 100).edge_mask.tolist() == found.edge_mask.tolist()


def test_parts():
    found = some()
    part, rest = found.get_explanation_subgraph(), found.get_complement_subgraph()
    assert part.num_nodes == 3 and part.edge_index.tolist() == [[1, 2], [2, 0]] and part.edge_attr.tolist() == [[2.0], [3.0]]
    assert rest.num_nodes == 1 and rest.num_edges == 0
    assert part.validate_masks()
    with pytest.raises(ValueError, match="with 4 edges"):
        Explanation(edge_index=found.edge_index, edge_mask=Tensor([1.0]), num_nodes=4).validate_masks()
    with pytest.warns(UserWarning, match="two dimensions"):
        assert not Explanation(x=found.x, edge_index=found.edge_index, node_mask=Tensor([1.0] * 4)).validate_masks(raise_on_error=False)


def test_target_and_phenomenon():
    model, x, edges = gcn(), Tensor.rand(3, 5).realize(), Tensor([[0, 1], [1, 2]])
    with pytest.raises(ValueError, match="has to be provided"):
        Explainer(model, DummyExplainer(), "phenomenon", NODE, "object")(x, edges)
    with pytest.warns(UserWarning, match="not used"):
        Explainer(model, DummyExplainer(), "model", NODE, "object")(x, edges, target=Tensor([0, 1, 2]))
    explainer = Explainer(model, DummyExplainer(), "phenomenon", NODE, "object", "object")
    found = explainer(x, edges, target=Tensor([0, 1, 2]))
    assert all(0 <= v <= 1 for v in fidelity(explainer, found)) and 0 <= unfaithfulness(explainer, found) < 1


# ---- measures ----


def test_groundtruth_metrics():
    rng = np.random.default_rng(0)
    score, truth = rng.random(50).round(1), rng.random(50) < 0.4
    found = score > 0.5
    hits, pairs = (found & truth).sum(), (score[truth][:, None] > score[~truth]) + 0.5 * (score[truth][:, None] == score[~truth])
    precision, recall = hits / found.sum(), hits / truth.sum()
    want = ((found == truth).mean(), recall, precision, 2 * precision * recall / (precision + recall), pairs.mean())
    close(groundtruth_metrics(Tensor(score.astype(np.float32)), Tensor(truth.astype(np.float32))), want, 1e-6)
    assert groundtruth_metrics(Tensor([0.1]), Tensor([0.0]), "accuracy") == 1.0
    assert groundtruth_metrics(Tensor([0.1]), Tensor([0.0]), ["recall", "auroc"]) == (0.0, 0.0)
    with pytest.raises(ValueError, match="not 'loss'"):
        groundtruth_metrics(Tensor([0.1]), Tensor([0.0]), "loss")


def test_scores_of_fidelity():
    pos, neg = Tensor([0.4, 0.6, 1.0]), Tensor([0.2, 0.1, 0.5])
    close(characterization_score(pos, neg, 0.3, 0.7), 1 / (0.3 / np.array([0.4, 0.6, 1.0]) + 0.7 / np.array([0.8, 0.9, 0.5])))
    close(fidelity_curve_auc(pos, neg, Tensor([0.0, 1.0, 3.0])), 0.5 * (0.5 + 2 / 3) + (2 / 3 + 2.0))
    with pytest.raises(ValueError, match="sum up to 1"):
        characterization_score(pos, neg, 0.5, 0.7)
    with pytest.raises(ValueError, match="ascending"):
        fidelity_curve_auc(pos, neg, Tensor([1.0, 0.0, 2.0]))
    with pytest.raises(ValueError, match="division by zero"):
        fidelity_curve_auc(pos, Tensor([1.0, 0.0, 0.0]), Tensor([0.0, 1.0, 2.0]))


# ---- pictures ----


def test_pictures(tmp_path):
    found = some()
    svg = found.visualize_graph(tmp_path / "graph.svg", node_labels=["a", "<b>", "c", "d"])
    assert ElementTree.fromstring(svg) is not None and (tmp_path / "graph.svg").read_text() == svg
    assert svg.count("<circle") == 4 and svg.count("marker-end") == 3 and "&lt;b&gt;" in svg
    found.visualize_graph(tmp_path / "graph.html")
    assert "<!DOCTYPE html>" in (tmp_path / "graph.html").read_text()
    bars = found.visualize_feature_importance(tmp_path / "bars.svg", ["x", "y", "z"], top_k=2)
    assert ElementTree.fromstring(bars) is not None and bars.index(">z<") < bars.index(">x<") and ">y<" not in bars.replace("font", "")
    page = write_page(found, tmp_path / "page.html", "Why", "because")
    assert page.count("<svg") == 2 and "0 → 1" in page
    with pytest.raises(ValueError, match="3 labels for 4 nodes"):
        found.visualize_graph(node_labels=["a", "b", "c"])
    with pytest.raises(ValueError, match="'edge_mask' is not available"):
        Explanation(x=found.x).visualize_graph()
    with pytest.raises(ValueError, match="single features"):
        Explanation(x=found.x, node_mask=Tensor.ones(4, 1)).visualize_feature_importance()


def test_hetero_pictures(tmp_path):
    data, model = hetero()
    model(data.x_dict, data.edge_index_dict)
    found = Explainer(model, DummyExplainer(), "model", NODE, "attributes", "object")(data.x_dict, data.edge_index_dict)
    svg = found.visualize_graph(tmp_path / "graph.svg")
    assert ElementTree.fromstring(svg) is not None and ">paper<" in svg and ">author<" in svg
    assert "paper#0" in found.visualize_feature_importance()
    assert "<svg" in write_page(found, tmp_path / "page.html")
    with pytest.raises(ValueError, match="Number of labels"):
        found.visualize_graph(node_labels={"paper": ["a"]})


# ---- data ----


def test_motifs():
    assert HouseMotif()().num_nodes == 5 and GridMotif()().num_edges == 24 and repr(CycleMotif(6)) == "CycleMotif(6)"
    assert CycleMotif(4)().edge_index.tolist() == [[0, 0, 1, 1, 2, 2, 3, 3], [1, 3, 0, 2, 1, 3, 0, 2]]
    assert isinstance(MotifGenerator.resolve("house"), HouseMotif) and isinstance(GraphGenerator.resolve("BAGraph", 10, 2), BAGraph)
    assert ERGraph(20, 0.5)().num_nodes == 20 and GridGraph(2, 3)().num_nodes == 6 and TreeGraph(2, 3)().num_nodes == 13
    with pytest.raises(ValueError, match="Could not resolve"):
        MotifGenerator.resolve("tower")
    with pytest.raises(ValueError, match="Expected a motif"):
        CustomMotif([1])


def test_explainer_dataset():
    data = ExplainerDataset(BAGraph(30, 2), HouseMotif(), num_motifs=4, num_graphs=3)
    assert len(data) == 3 and isinstance(data[1], Explanation) and "num_motifs=4" in repr(data)
    graph = data[2]
    assert graph.num_nodes == 50 and graph.is_undirected() and int(graph.edge_mask.sum().item()) == 48 and int(graph.node_mask.sum().item()) == 20
    assert sorted(np.bincount(graph.y.numpy()).tolist()) == [4, 8, 8, 30]
    ends = graph.node_mask.numpy()[graph.edge_index.numpy()]
    assert ((ends.min(0) == 1) == (graph.edge_mask.numpy() == 1)).all()
    with pytest.raises(ValueError, match="positive"):
        ExplainerDataset(BAGraph(30, 2), HouseMotif(), num_motifs=0)


def test_infection_dataset():
    data = InfectionDataset(ERGraph(40, 0.08), num_infected_nodes=[3, 5], max_path_length=[2, 3])
    assert len(data) == 2
    graph = data[1]
    y, edges = graph.y.numpy(), graph.edge_index.numpy()
    assert (y == 0).sum() == 5 and (graph.x.numpy()[y == 0, 1] == 1).all() and y.max() <= 4
    want = np.where(y == 0, 0, 99)
    for _ in range(4):
        np.minimum.at(want, edges[1], want[edges[0]] + 1)
    assert (np.minimum(want, 4) == y).all()
    assert ((want[edges[0]] < 3) == (graph.edge_mask.numpy() == 1)).all()
    with pytest.raises(ValueError, match="positive"):
        InfectionDataset(ERGraph(40, 0.1), 0, 2)


def test_ba2motif_file(tmp_path):
    """The file of the authors: adjacency matrices, features, classes."""
    import pickle

    rng = np.random.default_rng(0)
    adj = (rng.random((3, 25, 25)) < 0.1).astype(np.float64)
    y = np.eye(2)[[0, 1, 1]]
    folder = tmp_path / "BA-2motif" / "raw"
    folder.mkdir(parents=True)
    with open(folder / "BA-2motif.pkl", "wb") as f:
        pickle.dump((adj, np.full((3, 25, 10), 0.1), y), f)
    for _ in range(2):  # from the file, and from what was kept
        data = BA2MotifDataset(str(tmp_path))
        assert len(data) == 3 and [int(g.y.item()) for g in data] == [0, 1, 1]
        assert data[2].edge_index.numpy().tolist() == np.stack(np.nonzero(adj[2])).tolist()


@pytest.mark.parametrize("content", [(np.zeros((2, 3, 3)), np.zeros((2, 4, 1)), np.eye(2)), (np.zeros(3),), np.zeros(3)])
def test_ba2motif_damaged(tmp_path, content):
    import pickle

    (tmp_path / "raw").mkdir()
    with open(tmp_path / "raw" / "BA-2motif.pkl", "wb") as f:
        pickle.dump(content, f)
    with pytest.raises(ValueError, match="BA-2motif.pkl"):
        BA2MotifDataset(str(tmp_path))


def test_command(tmp_path, capsys):
    from polygrad.cli import main

    path = tmp_path / "page.html"
    assert main(["explain", "--epochs", "20", "--steps", "20", "--node", "8", "--output", str(path)]) == 0
    assert "node 8" in path.read_text() and "edges drawn" in capsys.readouterr().out
    assert main(["explain", "--epochs", "2", "--model", "gat", "--method", "attention", "--output", str(path)]) == 0
    assert main(["explain", "--epochs", "2", "--node", "99", "--output", str(path)]) == 2
