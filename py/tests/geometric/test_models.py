"""Models: shapes and names of every option, values against numpy where there is a formula, learning where there is a loss."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from helpers import gradcheck

import polygrad.geometric.nn as gnn
from polygrad import Tensor, nn

RNG = np.random.default_rng(0)
N = 8
X = RNG.standard_normal((N, 4)).astype(np.float32)
EDGES = np.array([[0, 1, 1, 2, 3, 3, 4, 5, 6, 0, 2], [1, 0, 2, 1, 2, 4, 3, 6, 5, 5, 2]])  # node 7 has none
BATCH = np.array([0, 0, 0, 0, 0, 1, 1, 1])
x, edges, batch = Tensor(X), Tensor(EDGES), Tensor(BATCH)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


# ---- MLP ----


def layers(w, norm=None, last=True):
    """An MLP of two layers in numpy."""
    h = X @ w["lins.0.weight"].T + w["lins.0.bias"]
    h = np.maximum(h if norm is None else norm(h), 0)
    return h @ w["lins.1.weight"].T + w["lins.1.bias"]


def test_mlp():
    mlp = gnn.MLP([4, 6, 3])
    assert list(mlp.state_dict())[:4] == ["lins.0.weight", "lins.0.bias", "lins.1.weight", "lins.1.bias"]
    assert "norms.0.module.running_mean" in mlp.state_dict() and len(mlp.norms) == 1
    w = {k: v.numpy() for k, v in mlp.state_dict().items()}
    assert np.allclose(mlp(x).numpy(), layers(w, lambda h: h / np.sqrt(1 + 1e-5)), atol=1e-5)
    with Tensor.train():
        expect = layers(w, lambda h: (h - h.mean(0)) / np.sqrt(h.var(0) + 1e-5))
        assert np.allclose(mlp(x).numpy(), expect, atol=1e-5)


def test_mlp_options():
    same = gnn.MLP(in_channels=4, hidden_channels=6, out_channels=3, num_layers=2, norm=None)
    assert same.channel_list == [4, 6, 3] and (same.in_channels, same.out_channels, same.num_layers) == (4, 3, 2)
    out, emb = same(x, return_emb=True)
    w = {k: v.numpy() for k, v in same.state_dict().items()}
    assert np.allclose(out.numpy(), layers(w), atol=1e-5) and emb.shape == (N, 6) and same(x, return_emb=False)[1] is None
    all_of_it = gnn.MLP([4, 6, 3], norm="layer_norm", act="leaky_relu", act_kwargs={"negative_slope": 0.1}, act_first=True, plain_last=False)
    assert len(all_of_it.norms) == 2 and all_of_it.supports_norm_batch
    assert not np.allclose(all_of_it(x, batch).numpy(), all_of_it(x).numpy())
    assert "lins.1.bias" not in gnn.MLP([4, 6, 3], bias=[True, False]).state_dict()
    assert gnn.MLP([4, 6, 3], dropout=0.5).dropout == [0.5, 0.0] and gnn.MLP([4, 6, 3], dropout=[0.1, 0.2]).dropout == [0.1, 0.2]
    assert gnn.MLP([4, 3], act=None)(x).shape == (N, 3)
    for bad in ({"num_layers": 2}, {"in_channels": 4}, {"channel_list": [4]}, {"channel_list": [4, 3], "bias": [True, True]}):
        with pytest.raises((ValueError, TypeError)):
            gnn.MLP(**{"in_channels": None, **bad})
    before = same.lins[0].weight.numpy()
    same.reset_parameters()
    assert not np.allclose(before, same.lins[0].weight.numpy())


# ---- one kind of layer several times ----

KINDS = {
    "GCN": {},
    "GraphSAGE": {},
    "GIN": {},
    "GAT": {"heads": 2},
    "PNA": {"aggregators": ["mean", "max"], "scalers": ["identity", "amplification"], "deg": Tensor([1, 4, 3])},
    "EdgeCNN": {},
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("jk", [None, "last", "cat", "max", "lstm"])
def test_basic_gnn(name, jk):
    model = getattr(gnn, name)(4, 6, 3, out_channels=2, jk=jk, norm="batch_norm", **KINDS[name])
    out = model(x, edges)
    assert out.shape == (N, 2) and np.isfinite(out.numpy()).all()
    names = set(model.state_dict())
    assert ("lin.weight" in names) == (jk is not None) and ("jk.att.weight" in names) == (jk == "lstm")
    assert ("norms.2.module.weight" in names) == (jk is not None)
    assert repr(model) == f"{name}(4, 2, num_layers=3)"
    assert getattr(gnn, name)(4, 6, 1, **KINDS[name])(x, edges).shape == (N, 6)


def test_basic_gnn_by_hand():
    """The layers are put together as they say: layer, act or norm, dropout; nothing after the last."""
    model = gnn.GCN(4, 6, 2, out_channels=3, act="elu", act_first=True, norm="layer_norm")
    weight = Tensor(RNG.random(EDGES.shape[1]).astype(np.float32))
    h = model.norms[0](model.convs[0](x, edges, weight).elu(), batch)
    assert np.allclose(model(x, edges, weight, batch=batch).numpy(), model.convs[1](h, edges, weight).numpy(), atol=1e-6)
    gat = gnn.GAT(4, 6, 2, out_channels=3, heads=2, v2=True, edge_dim=2, dropout=0.3)
    assert gat.convs[0].heads == 2 and gat.convs[1].concat is False and type(gat.convs[0]).__name__ == "GATv2Conv"
    assert gat(x, edges, edge_attr=Tensor.ones(EDGES.shape[1], 2)).shape == (N, 3)
    assert gnn.GraphSAGE((4, 4), 6, 2)((x, x), edges).shape == (N, 6)
    with pytest.raises(ValueError, match="divisible"):
        gnn.GAT(4, 5, 2, heads=2)


def test_inference_layer_by_layer():
    """Batches of one hop, layer by layer, give what the whole graph gives at once."""
    from polygrad.geometric.data import Data
    from polygrad.geometric.loader import NeighborLoader

    model = gnn.GraphSAGE(4, 6, 2, out_channels=3)
    loader = NeighborLoader(Data(x=x, edge_index=edges), num_neighbors=[-1], batch_size=3)
    assert np.allclose(model.inference(loader).numpy(), model(x, edges).numpy(), atol=1e-5)


def test_jumping_knowledge():
    a, b = RNG.standard_normal((2, N, 4))
    assert np.allclose(gnn.JumpingKnowledge("cat")([Tensor(a), Tensor(b)]).numpy(), np.concatenate([a, b], 1))
    assert np.allclose(gnn.JumpingKnowledge("max")([Tensor(a), Tensor(b)]).numpy(), np.maximum(a, b))
    jk = gnn.JumpingKnowledge("lstm", 4, 2)
    assert "lstm.weight_ih_l0_reverse" in jk.state_dict() and jk.att.weight.shape == (1, 8)
    out = jk([Tensor(a), Tensor(b)]).numpy()
    assert (out <= np.maximum(a, b) + 1e-6).all() and (out >= np.minimum(a, b) - 1e-6).all()  # a weighted mean
    hetero = gnn.HeteroJumpingKnowledge(["p", "q"], "cat")
    assert hetero({"p": [x, x], "q": [x]})["p"].shape == (N, 8)
    with pytest.raises(ValueError, match="mode"):
        gnn.JumpingKnowledge("sum")


# ---- without and with labels ----


def test_label_propagation():
    y, mask = np.array([0, 1, 2, 0, 1, 2, 0, 1]), np.array([1, 1, 0, 1, 0, 0, 1, 1], bool)
    a = np.zeros((N, N))
    np.add.at(a, (EDGES[1], EDGES[0]), 1)
    d = np.divide(1, np.sqrt(a.sum(1)), where=a.sum(1) > 0, out=np.zeros(N))
    a = d[:, None] * a * d[None]
    start = np.eye(3)[y] * mask[:, None]
    out = start
    for _ in range(3):
        out = np.clip(0.9 * a @ out + 0.1 * start, 0, 1)
    model = gnn.LabelPropagation(3, 0.9)
    for known in (mask, np.flatnonzero(mask)):
        assert np.allclose(model(Tensor(y), edges, Tensor(known)).numpy(), out, atol=1e-6)
    weight = RNG.random(EDGES.shape[1])
    w = np.zeros((N, N))
    np.add.at(w, (EDGES[1], EDGES[0]), weight)
    soft = RNG.random((N, 3))
    got = gnn.LabelPropagation(1, 0.5)(Tensor(soft), edges, edge_weight=Tensor(weight), post_step=lambda v: v * 2)
    assert np.allclose(got.numpy(), 2 * (0.5 * w @ soft + 0.5 * soft)) and not got.requires_grad


@pytest.mark.parametrize("autoscale", [True, False])
def test_correct_and_smooth(autoscale):
    """Predictions at labeled nodes become better, and labels go in as they are."""
    soft = np.full((N, 3), 1 / 3, np.float32)
    y, mask = np.array([0, 1, 2]), np.zeros(N, bool)
    mask[[0, 3, 5]] = True
    model = gnn.CorrectAndSmooth(4, 0.5, 2, 0.5, autoscale=autoscale)
    corrected = model.correct(Tensor(soft), Tensor(y), Tensor(mask), edges)
    assert (corrected.numpy()[[0, 3, 5], y] > 1 / 3).all() and np.allclose(corrected.numpy()[7], 1 / 3)
    smoothed = model.smooth(corrected, Tensor(y), Tensor(np.flatnonzero(mask)), edges).numpy()
    assert smoothed.argmax(1)[[0, 3, 5]].tolist() == [0, 1, 2]
    assert np.allclose(model(Tensor(soft), Tensor(y), Tensor(mask), edges).numpy(), smoothed, atol=1e-6)
    with pytest.raises(ValueError, match="2 labels for 3"):
        model.correct(Tensor(soft), Tensor(y[:2].copy()), Tensor(mask), edges)


def test_autoencoders():
    z = RNG.standard_normal((N, 3))
    negative = np.array([[0, 3, 7], [7, 5, 1]])
    model = gnn.GAE(gnn.GCNConv(4, 3))
    p, q = (sigmoid((z[e[0]] * z[e[1]]).sum(1)) for e in (EDGES, negative))
    assert np.isclose(model.recon_loss(Tensor(z), edges, Tensor(negative)).item(), -np.log(p).mean() - np.log(1 - q).mean())
    assert np.allclose(model.decode(Tensor(z), edges).numpy(), p) and np.allclose(model.decoder.forward_all(Tensor(z), False).numpy(), z @ z.T)
    assert model.recon_loss(model.encode(x, edges), edges).item() > 0
    mu, logstd = RNG.standard_normal((2, N, 3))
    model = gnn.VGAE(lambda m, s: (m, s))
    assert np.allclose(model.encode(Tensor(mu), Tensor(logstd * 20)).numpy(), mu)
    clipped = np.minimum(logstd * 20, 10)
    assert np.isclose(model.kl_loss().item(), -0.5 * (1 + 2 * clipped - mu**2 - np.exp(clipped) ** 2).sum(1).mean())
    with Tensor.train():
        assert not np.allclose(model.encode(Tensor(mu), Tensor(logstd)).numpy(), mu)
    model = gnn.ARGVA(lambda m, s: (m, s), nn.Linear(3, 1))
    assert model.encode(Tensor(mu), Tensor(logstd)).shape == (N, 3) and model.kl_loss().item() > 0
    assert model.discriminator_loss(Tensor(mu.astype(np.float32))).item() > 0
    assert sorted(model.state_dict()) == ["discriminator.bias", "discriminator.weight"]


def test_deep_graph_infomax():
    model = gnn.DeepGraphInfomax(6, gnn.GCNConv(4, 6), lambda z, *args: z.mean(0).sigmoid(), lambda v, e: (v.flip(0), e))
    pos, neg, summary = model(x, edges)
    assert np.allclose(neg.numpy(), model.encoder(Tensor(X[::-1].copy()), edges).numpy(), atol=1e-6)
    p, q = (sigmoid(v.numpy() @ model.weight.numpy() @ summary.numpy()) for v in (pos, neg))
    assert np.isclose(model.loss(pos, neg, summary).item(), -np.log(p).mean() - np.log(1 - q).mean(), atol=1e-5)
    assert sorted(model.state_dict()) == ["encoder.bias", "encoder.lin.weight", "weight"]


# ---- random walks ----


def test_node2vec():
    """Walks follow edges, and the loss is that of their nodes' embeddings."""
    ring = np.stack([np.arange(10), (np.arange(10) + 1) % 10])
    model = gnn.Node2Vec(Tensor(ring), 5, walk_length=5, context_size=3, walks_per_node=2, num_negative_samples=3)
    assert list(model.state_dict()) == ["embedding.weight"] and len(model.loader(batch_size=4)) == 3
    pos, neg = next(iter(model.loader(batch_size=4, shuffle=True)))
    assert pos.shape == (4 * 2 * 3, 3) and neg.shape == (4 * 2 * 3 * 3, 3)
    assert (np.diff(pos.numpy(), axis=1) % 10 == 1).all()
    w = model.embedding.weight.numpy()
    p, q = (sigmoid((w[r[:, :1]] * w[r[:, 1:]]).sum(-1)) for r in (pos.numpy(), neg.numpy()))
    assert np.isclose(model.loss(pos, neg).item(), -np.log(p).mean() - np.log(1 - q).mean(), atol=1e-5)
    assert model().shape == (10, 5) and model(Tensor([1, 2])).shape == (2, 5)
    Tensor.manual_seed(1)
    first = model.sample([0, 1, 2])[0].tolist()
    Tensor.manual_seed(1)
    assert model.sample([0, 1, 2])[0].tolist() == first
    back = gnn.Node2Vec(Tensor(np.concatenate([ring, ring[::-1]], 1)), 5, 5, 5, p=1e-6)  # p small: always back to where it came from
    walks = back.pos_sample(np.arange(10)).numpy()
    assert (walks[:, 0] == walks[:, 2]).all() and (walks[:, 1] == walks[:, 3]).all()


def test_metapath2vec():
    forward, backward = ("a", "to", "b"), ("b", "to", "a")
    index = {forward: Tensor([[0, 1, 2], [0, 0, 1]]), backward: Tensor([[0, 1], [1, 2]])}
    model = gnn.MetaPath2Vec(index, 4, [forward, backward], walk_length=4, context_size=5, num_nodes_dict={"a": 4, "b": 2})
    pos, neg = model._sample(np.arange(4))
    assert pos.numpy().tolist() == [[0, 4, 1, 4, 1], [1, 4, 1, 4, 1], [2, 5, 2, 5, 2], [3, 6, 6, 6, 6]]  # a: 0-3, b: 4-5, nowhere: 6
    assert model.embedding.weight.shape == (7, 4) and model("b").shape == (2, 4) and np.isfinite(model.loss(pos, neg).item())
    assert (neg.numpy()[:, 1::2] >= 4).all() and (neg.numpy()[:, ::2] < 4).all()
    with pytest.raises(ValueError, match="invalid metapath"):
        gnn.MetaPath2Vec(index, 4, [forward, forward], 2, 2)


# ---- others ----


def test_linkx():
    model = gnn.LINKX(N, 4, 6, 3, num_layers=2, num_edge_layers=2, num_node_layers=2)
    assert model(x, edges).shape == model(None, edges).shape == (N, 3)
    weight = RNG.random(EDGES.shape[1]).astype(np.float32)
    a = np.zeros((N, N))
    np.add.at(a, (EDGES[1], EDGES[0]), weight)
    lin = model.edge_lin
    assert np.allclose(lin(edges, Tensor(weight)).numpy(), a @ lin.weight.numpy() + lin.bias.numpy(), atol=1e-5)
    assert {n.split(".")[0] for n in model.state_dict()} == {
        "edge_lin", "edge_norm", "edge_mlp", "node_mlp", "cat_lin1", "cat_lin2", "final_mlp"
    }  # fmt: skip


def test_lightgcn():
    model = gnn.LightGCN(N, 3, num_layers=2)
    z = model.get_embedding(edges).numpy()
    assert np.allclose(model(edges).numpy(), (z[EDGES[0]] * z[EDGES[1]]).sum(1), atol=1e-6)
    assert np.allclose(model.alpha.numpy(), 1 / 3) and not model.alpha.requires_grad
    best = model.recommend(edges, src_index=Tensor([0, 3]), dst_index=Tensor([5, 7, 2]), k=2).numpy()
    assert best.tolist() == np.array([5, 7, 2])[np.argsort(-(z[[0, 3]] @ z[[5, 7, 2]].T), 1)[:, :2]].tolist()
    pos, neg = RNG.standard_normal((2, 5))
    loss = model.recommendation_loss(Tensor(pos), Tensor(neg), lambda_reg=0.1).item()
    w = model.embedding.weight.numpy()
    assert np.isclose(loss, -np.log(sigmoid(pos - neg)).mean() + 0.1 * (w**2).sum() / 5, atol=1e-5)
    assert set(model.predict_link(edges).numpy().tolist()) <= {0.0, 1.0} and model.link_pred_loss(model(edges), Tensor([1] * 11)).item() > 0


def test_schnet():
    """Energies do not change when a molecule is turned or moved, and those of a batch are those of its molecules."""
    model = gnn.SchNet(8, 6, 2, 5, cutoff=4.0)
    z, pos = RNG.integers(1, 10, N), RNG.standard_normal((N, 3)).astype(np.float32)
    out = model(Tensor(z), Tensor(pos), batch).numpy()
    turn, _ = np.linalg.qr(RNG.standard_normal((3, 3)))
    assert np.allclose(model(Tensor(z), Tensor((pos @ turn + 1).astype(np.float32)), batch).numpy(), out, atol=1e-4)
    assert np.allclose(model(Tensor(z[:5].copy()), Tensor(pos[:5].copy())).numpy(), out[:1], atol=1e-5)
    names = set(model.state_dict())
    assert {"distance_expansion.offset", "interactions.1.mlp.2.weight", "interactions.1.conv.nn.2.weight", "interactions.0.conv.lin1.weight"} <= names
    model(Tensor([0, 0, 1]), Tensor(pos[:3].copy())).sum().backward()
    assert not model.embedding.weight.numpy()[0].any() and not model.embedding.weight.grad.numpy()[0].any()  # 0 is padding
    ref = Tensor(RNG.standard_normal((100, 1)).astype(np.float32))
    both = gnn.SchNet(8, 6, 1, 5, mean=2.0, std=0.0, atomref=ref, readout="mean")
    assert np.allclose(both(Tensor(z), Tensor(pos)).numpy(), 2 + ref.numpy()[z].mean(), atol=1e-5)


def test_graph_unet():
    model = gnn.GraphUNet(4, 6, 2, depth=3, pool_ratios=[0.8, 0.5])
    assert model(x, edges).shape == (N, 2) and model.pool_ratios == [0.8, 0.5, 0.5]
    assert gnn.GraphUNet(4, 6, 2, depth=1, sum_res=False)(x, edges, batch).shape == (N, 2)
    index, weight = model.augment_adj(edges, Tensor.ones(EDGES.shape[1]), N)
    a = np.zeros((N, N))
    np.add.at(a, tuple(EDGES[:, EDGES[0] != EDGES[1]]), 1)
    a = (a + np.eye(N)) @ (a + np.eye(N))
    np.fill_diagonal(a, 0)
    assert index.shape[1] == np.count_nonzero(a) and np.allclose(weight.numpy(), a[tuple(index.numpy())])
    model(x, edges).sum().backward()
    assert all(t.grad is not None for n, t in model.named_parameters())


def test_deep_gcn_layer():
    conv, norm = gnn.GCNConv(4, 4), gnn.LayerNorm(4)

    def layer(block):
        return gnn.DeepGCNLayer(conv, norm, nn.ReLU(), block)(x, edges).numpy()

    h = norm(conv(x, edges)).relu().numpy()
    assert np.allclose(layer("res+"), X + conv(norm(x).relu(), edges).numpy(), atol=1e-6)
    assert np.allclose(layer("res"), X + h, atol=1e-6) and np.allclose(layer("plain"), h, atol=1e-6)
    assert np.allclose(layer("dense"), np.concatenate([X, h], 1), atol=1e-6)
    with pytest.raises(ValueError, match="block"):
        gnn.DeepGCNLayer(conv, block="skip")


def test_meta_layer():
    u = np.array([[1.0], [2.0]])
    layer = gnn.MetaLayer(
        edge_model=lambda src, dst, attr, u, b: src - dst + attr + u[b],
        node_model=lambda x, e, attr, u, b: x + u[b],
        global_model=lambda x, e, attr, u, b: gnn.global_add_pool(x, b),
    )
    attr = RNG.standard_normal((EDGES.shape[1], 1))
    a, b, c = layer(Tensor(X.astype(np.float64)), edges, Tensor(attr), Tensor(u), batch)
    assert np.allclose(b.numpy(), X[EDGES[0]] - X[EDGES[1]] + attr + u[BATCH[EDGES[0]]])
    assert np.allclose(a.numpy(), X + u[BATCH]) and np.allclose(c.numpy()[1], (X + u[BATCH])[5:].sum(0))
    gradcheck(lambda v: layer(v, edges, Tensor(attr), Tensor(u), batch)[1], X)
    assert gnn.MetaLayer()(x, edges)[0] is x


# ---- Sequential ----


def test_sequential():
    steps = [
        (gnn.GCNConv(4, 6), "x, edge_index -> x1"),
        nn.ReLU(),
        (gnn.GCNConv(6, 6), "x1, edge_index -> x2"),
        (lambda a, b: [a, b], "x1, x2 -> xs"),
        (gnn.JumpingKnowledge("cat"), "xs -> x"),
        (gnn.global_mean_pool, "x, batch -> x"),
        (nn.Linear(12, 2),),
    ]
    model = gnn.Sequential("x, edge_index, batch", steps)
    h = steps[0][0](x, edges).relu()
    expect = steps[-1][0](gnn.global_mean_pool(Tensor.cat(h, steps[2][0](h, edges), dim=-1), batch))
    assert np.allclose(model(x, edges, batch).numpy(), expect.numpy(), atol=1e-6)
    assert np.allclose(model(x, batch=batch, edge_index=edges).numpy(), expect.numpy(), atol=1e-6)
    assert len(model) == 7 and model[1] is steps[1] and "module_2.lin.weight" in model.state_dict()
    assert "(2) - GCNConv(6, 6): x1, edge_index -> x2" in repr(model)
    named = gnn.Sequential("x: Tensor, sizes: Dict[str, int] -> Tensor", OrderedDict([("first", (nn.Linear(4, 2), "x -> x")), ("act", nn.ReLU())]))
    assert sorted(named.state_dict()) == ["first.bias", "first.weight"] and named(x, {}).shape == (N, 2)
    pair = gnn.Sequential("x", [(lambda v: (v, 2 * v), "x -> a, b"), (lambda a, b: a + b, "a, b -> x")])
    assert np.allclose(pair(x).numpy(), 3 * X)


def test_sequential_errors():
    for modules in ([], [nn.ReLU()], [(nn.ReLU(), "x")], [(nn.ReLU(), 3)], [(1, "x -> x")], [(nn.ReLU(), "x -> x", 1)]):
        with pytest.raises(ValueError):
            gnn.Sequential("x", modules)
    with pytest.raises(ValueError, match="Failed to parse"):
        gnn.Sequential("x -> y -> z", [(nn.ReLU(), "x -> x")])
    model = gnn.Sequential("x", [(nn.ReLU(), "y -> x")])
    with pytest.raises(TypeError, match="needs y"):
        model(x)
    with pytest.raises(TypeError, match="multiple"):
        model(x, x=x)
    with pytest.raises(TypeError, match="takes 1"):
        model(x, x)


def test_training(cpu):
    """A model as it is used: a compiled step, with dropout, lowers the loss."""
    Tensor.manual_seed(0)
    model = gnn.GraphSAGE(4, 8, 2, out_channels=3, dropout=0.2, norm="batch_norm")
    opt = nn.Adam(nn.get_parameters(model), lr=0.05)
    y = Tensor(np.array([0, 0, 0, 1, 1, 2, 2, 2]))

    def train(model, opt, v):
        loss = model(v, edges).cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    with Tensor.train():
        step = nn.compile_step(train, model, opt, x)
        step.run()
        first = step.loss_value()
        for _ in range(60):
            step.run()
    assert step.loss_value() < 0.5 * first
    assert (model(x, edges).argmax(1) == y).numpy().mean() >= 0.75
