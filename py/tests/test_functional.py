"""polygrad.nn.functional: torch's names and argument orders over Tensor's methods; dim for axis; Module.to and training."""

import numpy as np
import pytest

import polygrad.nn.functional as F
from polygrad import Tensor, dtypes, nn

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], np.float32)
Y = np.array([2, 0])


def test_every_name_is_there_and_says_what_it_does():
    assert all(getattr(F, name).__doc__ for name in F.__all__) and len(F.__all__) == len(set(F.__all__)) > 30


def test_losses_against_their_formulas(cpu):
    logp = X - np.log(np.exp(X).sum(1, keepdims=True))
    each = -logp[[0, 1], Y]
    weight = np.array([1.0, 2.0, 4.0], np.float32)
    w = weight[Y]
    assert np.isclose(F.cross_entropy(Tensor(X), Tensor(Y)).item(), each.mean(), atol=1e-6)
    assert np.isclose(F.cross_entropy(Tensor(X), Tensor(Y), Tensor(weight)).item(), (w * each).sum() / w.sum(), atol=1e-6)
    assert np.allclose(F.nll_loss(F.log_softmax(Tensor(X), dim=1), Tensor(Y), reduction="none").numpy(), each, atol=1e-6)
    t = np.float32(Y[:, None] == np.arange(3))
    p = 1 / (1 + np.exp(-X))
    bce = -(t * np.log(p) + (1 - t) * np.log(1 - p))
    assert np.isclose(F.binary_cross_entropy_with_logits(Tensor(X), Tensor(t)).item(), bce.mean(), atol=1e-6)
    assert np.isclose(F.binary_cross_entropy(Tensor(p), Tensor(t), Tensor(t + 1), reduction="sum").item(), (bce * (t + 1)).sum(), atol=1e-5)
    smooth = F.cross_entropy(Tensor(X), Tensor(Y), Tensor(weight), label_smoothing=0.1)
    every = -(logp * weight).sum(1)
    assert np.isclose(smooth.item(), (0.9 * w * each + 0.1 / 3 * every).sum() / w.sum(), atol=1e-6)


def test_torch_argument_orders(cpu):
    """A positional argument must not end up as another one."""
    x, w = Tensor(X), Tensor(np.ones((4, 3), np.float32))
    assert F.leaky_relu(x, 0.1).numpy()[0, 1] == np.float32(-0.1)
    assert F.softmax(x, 0).sum(dim=0).tolist() == pytest.approx([1, 1, 1])
    assert np.allclose(F.linear(x, w, Tensor.ones(4)).numpy(), X.sum(1, keepdims=True) + 1, atol=1e-6)
    assert F.embedding(Tensor(Y), Tensor(X.T)).shape == (2, 2) and F.one_hot(Tensor(Y), 5).shape == (2, 5)
    assert np.isclose(F.cosine_similarity(x, x * 3).numpy(), 1, atol=1e-6).all()
    assert np.allclose(F.layer_norm(x, (3,), Tensor.full((3,), 2.0)).numpy().std(1), 2, atol=1e-3)
    assert F.pad(x, (1, 0), value=7.0).numpy()[:, 0].tolist() == [7, 7]


def test_dropout_goes_by_its_argument(cpu):
    """Not by Tensor.training, which stays as it was."""
    x = Tensor.ones(64)
    assert not Tensor.training and F.dropout(x, 0.5, training=False) is x
    assert set(F.dropout(x, 0.5).tolist()) == {0.0, 2.0} and not Tensor.training


def test_dim_is_axis(cpu):
    x = Tensor(X)
    for name in ("sum", "mean", "prod", "argmax", "argmin", "logsumexp", "std", "var", "softmax", "log_softmax", "cumsum"):
        assert np.array_equal(getattr(x, name)(dim=1).numpy(), getattr(x, name)(axis=1).numpy()), name
    with pytest.raises(TypeError, match="two names"):
        x.sum(axis=0, dim=1)
    for name in ("max", "min"):  # PyTorch's name gives PyTorch's pair
        pair = getattr(x, name)(dim=1)
        assert np.array_equal(pair.values.numpy(), getattr(X, name)(1)) and np.array_equal(pair.indices.numpy(), getattr(X, f"arg{name}")(1))


def test_module_to_and_training(cpu):
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    assert net.to("cpu") is net and not net.training
    try:
        assert net.train().training
    finally:
        net.eval()
    net.to("float64")
    weight = net.parameters()[0]
    assert weight.dtype == dtypes.float64 and weight.requires_grad
    net(Tensor(X.astype(np.float64))).sum().backward()
    assert weight.grad.dtype == dtypes.float64
