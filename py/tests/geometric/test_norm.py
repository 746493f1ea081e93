"""Normalisations: values against loops in numpy, gradients against finite differences, what is remembered in training."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import gradcheck

import polygrad.geometric.nn as gnn
from polygrad import Tensor, nn

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 4))
BATCH = np.array([0, 0, 0, 1, 1, 3, 3, 3, 3])  # graph 2 has no nodes
GRAPHS = 5


def each(f, batch=BATCH, x=X):
    """f applied to the nodes of each graph."""
    out = np.zeros_like(x)
    for k in np.unique(batch):
        out[batch == k] = f(x[batch == k])
    return out


def centered(x):
    return x - x.mean(0)


def standard(x, eps=1e-5):
    return centered(x) / np.sqrt(x.var(0) + eps)


def whole(x, eps=1e-5):
    return (x - x.mean()) / np.sqrt(x.var() + eps)


def pair(x, eps=1e-5):
    return centered(x) / np.sqrt(eps + (centered(x) ** 2).sum(1).mean())


def individually(x, eps=1e-5):
    return centered(x) / (eps + np.linalg.norm(centered(x), axis=1, keepdims=True))


LAYERS = {
    "graph": (lambda: gnn.GraphNorm(4), standard),
    "instance": (lambda: gnn.InstanceNorm(4), standard),
    "layer": (lambda: gnn.LayerNorm(4), whole),
    "node": (lambda: gnn.LayerNorm(4, mode="node"), lambda x: standard(x.T).T),
    "pair": (lambda: gnn.PairNorm(), pair),
    "pair individually": (lambda: gnn.PairNorm(scale=2.0, scale_individually=True), lambda x: 2 * individually(x)),
    "mean": (lambda: gnn.MeanSubtractionNorm(), centered),
    "size": (lambda: gnn.GraphSizeNorm(), lambda x: x / np.sqrt(len(x))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_over_each_graph(name):
    """Statistics of one graph leaked into another, or the number of graphs was taken for that of the last one."""
    make, f = LAYERS[name]
    layer = make()
    for args in ((Tensor(BATCH),), (Tensor(BATCH), GRAPHS)):
        assert np.allclose(layer(Tensor(X.copy()), *args).numpy(), each(f), atol=1e-6)
    alone = layer(Tensor(X.copy())).numpy()
    expect = (X - X.mean()) / (X.std() + 1e-5) if name == "layer" else f(X)  # PyG adds eps to the deviation here
    assert np.allclose(alone, expect, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_gradient(name):
    layer = LAYERS[name][0]()
    gradcheck(lambda x: layer(x, Tensor(BATCH), GRAPHS), X)


def test_batch_norm_remembers():
    """Running statistics are those of PyTorch, the unbiased variance included."""
    layer = gnn.BatchNorm(4)
    assert list(layer.state_dict()) == [f"module.{n}" for n in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")]
    x = X.astype(np.float32)
    with Tensor.train():
        out = layer(Tensor(x))
    assert np.allclose(out.numpy(), standard(x), atol=1e-5)
    assert np.allclose(layer.module.running_mean.numpy(), 0.1 * x.mean(0), atol=1e-6)
    assert np.allclose(layer.module.running_var.numpy(), 0.9 + 0.1 * x.var(0, ddof=1), atol=1e-6)
    expect = (x - 0.1 * x.mean(0)) / np.sqrt(0.9 + 0.1 * x.var(0, ddof=1) + 1e-5)
    assert np.allclose(layer(Tensor(x)).numpy(), expect, atol=1e-5)
    layer.reset_parameters()
    assert layer.module.running_mean.tolist() == [0.0] * 4


def test_batch_norm_of_one_node():
    layer = gnn.BatchNorm(4, allow_single_element=True)
    with Tensor.train():
        assert np.allclose(layer(Tensor(np.ones((1, 4), np.float32))).numpy(), 1 / np.sqrt(1 + 1e-5))
    with pytest.raises(ValueError, match="track_running_stats"):
        gnn.BatchNorm(4, track_running_stats=False, allow_single_element=True)


def test_instance_norm_remembers():
    layer = gnn.InstanceNorm(4, affine=True, track_running_stats=True)
    x = X.astype(np.float32)
    with Tensor.train():
        layer(Tensor(x), Tensor(BATCH)).realize()
    means = np.stack([x[BATCH == k].mean(0) if (BATCH == k).any() else np.zeros(4) for k in range(4)])
    assert np.allclose(layer.running_mean.numpy(), 0.1 * means.mean(0), atol=1e-6)
    expect = (x - layer.running_mean.numpy()) / np.sqrt(layer.running_var.numpy() + 1e-5)
    assert np.allclose(layer(Tensor(x), Tensor(BATCH)).numpy(), expect, atol=1e-5)


def test_types():
    """Each type of nodes has statistics and weights of its own; those of a type that is not there stay."""
    types = np.array([0, 2, 0, 2, 2, 0, 0, 2, 2])
    layer = gnn.HeteroBatchNorm(4, 3)
    layer.weight.assign(Tensor([[1.0] * 4, [2.0] * 4, [3.0] * 4]))
    x = X.astype(np.float32)
    with Tensor.train():
        out = layer(Tensor(x), Tensor(types))
    expect = each(lambda v: standard(v, 0), types, x) * np.array([1.0, 2.0, 3.0])[types][:, None]
    assert np.allclose(out.numpy(), expect, atol=1e-4)
    assert layer.running_mean.numpy()[1].tolist() == [0.0] * 4 and layer.running_var.numpy()[1].tolist() == [1.0] * 4
    assert np.allclose(layer.running_mean.numpy()[2], 0.1 * x[types == 2].mean(0), atol=1e-6)

    layer = gnn.HeteroLayerNorm(4, 3)
    layer.bias.assign(Tensor([[1.0] * 4, [2.0] * 4, [3.0] * 4]))
    expect = standard(x.T).T + np.array([1] * 2 + [3] * 7)[:, None]
    for given in ({"type_ptr": [0, 2, 2, 9]}, {"type_ptr": Tensor([0, 2, 2, 9])}, {"type_vec": Tensor([0, 0, *[2] * 7])}):
        assert np.allclose(layer(Tensor(x), **given).numpy(), expect, atol=1e-5)
    with pytest.raises(ValueError, match="type_vec"):
        layer(Tensor(x))


def test_message_norm():
    """A message of zeros has no direction: it stays, and its gradient is finite."""
    m = X.copy()
    m[2] = 0
    for p in (1.0, 2.0, 3.0):
        expect = m / np.maximum(np.linalg.norm(m, p, 1, keepdims=True), 1e-12) * np.linalg.norm(X, p, 1, keepdims=True)
        assert np.allclose(gnn.MessageNorm()(Tensor(X.copy()), Tensor(m), p).numpy(), expect)
    assert [t.requires_grad for t in gnn.MessageNorm(True).state_dict().values()] == [True]
    x = Tensor(np.zeros((2, 3)), requires_grad=True)
    gnn.MessageNorm()(x, x + 0.0).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()


def test_diff_group_norm():
    layer = gnn.DiffGroupNorm(4, groups=3, lamda=0.5)
    x = X.astype(np.float32)
    with Tensor.train():
        out = layer(Tensor(x)).numpy()
    s = np.exp(x @ layer.lin.weight.numpy().T)
    s /= s.sum(1, keepdims=True)
    parts = standard((s[:, :, None] * x[:, None, :]).reshape(9, 12)).reshape(9, 3, 4)
    assert np.allclose(out, x + 0.5 * parts.sum(1), atol=1e-4)
    assert sorted(n.split(".")[0] for n in layer.state_dict()) == ["lin"] + ["norm"] * 5
    y = Tensor([0, 0, 0, 0, 1, 1, 1, 1, 1])
    near, far = x.copy(), x.copy()
    far[4:] += 100
    assert gnn.DiffGroupNorm.group_distance_ratio(Tensor(far), y) > 10 * gnn.DiffGroupNorm.group_distance_ratio(Tensor(near), y)


def test_in_a_compiled_step(cpu):
    """Layers read no values: a step with them can be traced, and the running statistics move with every run."""
    model = nn.Sequential(gnn.BatchNorm(4), gnn.GraphNorm(4))
    opt = nn.SGD(nn.get_parameters(model), lr=0.01)
    batch = Tensor(BATCH)

    def train(model, opt, x):
        loss = model[1](model[0](x), batch, GRAPHS).square().sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    with Tensor.train():
        step = nn.compile_step(train, model, opt, Tensor(X.astype(np.float32)))
        for k in range(3):
            step.run()
            assert model[0].module.num_batches_tracked.item() == k + 1


def test_names_and_errors():
    assert repr(gnn.LayerNorm(4)) == "LayerNorm(4, affine=True, mode=graph)"
    assert repr(gnn.BatchNorm(4)) == "BatchNorm(4, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"
    with pytest.raises(ValueError, match="mode"):
        gnn.LayerNorm(4, mode="edge")(Tensor.ones(2, 4))
