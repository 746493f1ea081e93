"""The samples of the project's first texts."""

import numpy as np
import pytest

from polygrad import Tensor, TinyJit, Variable, nn
from polygrad.nn import SGD, Linear, compile_step, get_parameters, get_state_dict, load_state_dict


def test_quick_start():
    a, b = Tensor.rand(3, 4), Tensor.rand(4, 5)
    c = (a @ b).softmax(-1).numpy()
    np.testing.assert_allclose(c.sum(-1), np.ones(3), rtol=1e-6)
    x = Tensor([1.0, 2.0, 3.0])
    x.requires_grad = True
    (x * x).sum().backward()
    assert x.grad.numpy().tolist() == [2.0, 4.0, 6.0]


def test_training_example():
    Tensor.manual_seed(42)
    model = Linear(2, 1)
    opt = SGD(get_parameters(model), lr=0.01)
    losses = []
    for _ in range(100):
        opt.zero_grad()
        x = Tensor([[1.0, 2.0], [3.0, 4.0]])
        target = Tensor([[5.0], [11.0]])
        loss = (model(x) - target).square().mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


def test_state_dict():
    a, b = Linear(2, 3), Linear(2, 3)
    sd = get_state_dict(a)
    assert set(sd) == {"weight", "bias"}
    load_state_dict(b, sd)
    assert b.weight.tolist() == a.weight.tolist()


def test_compiled_training_step():
    Tensor.manual_seed(42)
    model = Linear(4, 1)
    opt = SGD(get_parameters(model), lr=0.01)
    x, y = Tensor.rand(8, 4), Tensor.rand(8, 1)

    def train_step(model, opt, x, y):
        loss = (model(x) - y).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    step = compile_step(train_step, model, opt, x, y)
    rng = np.random.default_rng(0)
    first = last = None
    for _ in range(100):
        x._data[:] = rng.random((8, 4))
        y._data[:] = x._data.sum(1, keepdims=True)
        step.run()
        last = step.loss_value()
        first = last if first is None else first
    assert last < first and step.n_kernels > 0 and step.n_intermediates >= 0


def test_basic_operations():
    Tensor.manual_seed(42)
    a = Tensor([[1, 2], [3, 4]])
    b = Tensor.randn(2, 2)
    np.testing.assert_allclose((a + b).numpy(), a.numpy() + b.numpy())
    assert (a * 10).tolist() == [[10, 20], [30, 40]]
    assert (a + Tensor([10, 20])).tolist() == [[11, 22], [13, 24]]


def test_backward_example():
    x = Tensor.eye(3, requires_grad=True)
    y = Tensor([[2.0, 0, -2.0]], requires_grad=True)
    y.matmul(x).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3, [0.0] * 3, [-2.0] * 3]
    assert y.grad.tolist() == [[1.0, 1.0, 1.0]]


def test_simple_network():
    class SimpleNet:
        def __init__(self):
            self.l1 = nn.Linear(64, 32)
            self.l2 = nn.Linear(32, 10)

        def __call__(self, x):
            return x.flatten(1).dot(self.l1).relu().dot(self.l2)

    rng = np.random.default_rng(0)
    centres = rng.random((10, 8, 8)).astype(np.float32)
    labels = rng.integers(0, 10, 200)
    X_train = Tensor(centres[labels] + 0.1 * rng.standard_normal((200, 8, 8)).astype(np.float32))
    Y_train = Tensor(labels)
    model = SimpleNet()
    opt = nn.optim.Adam(nn.state.get_parameters(model), lr=0.01)
    losses = []
    for _ in range(30):
        samples = Tensor.randint(32, high=X_train.shape[0])
        X_batch, Y_batch = X_train[samples], Y_train[samples]
        loss = model(X_batch).sparse_categorical_crossentropy(Y_batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]
    assert 0 <= model(X_train[0:1]).argmax().item() < 10


def test_symbolic_pitfall():
    BS = Variable("BS", 1, 100)

    @TinyJit
    def process_batch(x):
        return x.reshape(BS, -1).sum()

    data = Tensor.randn(10, 10)
    for _ in range(3):
        assert process_batch(data).item() == pytest.approx(data.sum().item(), rel=1e-5, abs=1e-5)


def test_bad_reshape_fails_at_once():
    c = Tensor([1, 2, 3]) + Tensor([4, 5, 6])
    with pytest.raises(ValueError):
        c.reshape((99, 99))


def test_defaults_that_the_description_names():
    """Where tinygrad's defaults are others: the rate of SGD, the axes of transpose and T; requires_grad is a truth value."""
    import inspect

    from polygrad.nn import SGD

    x = Tensor.zeros(2, 3, 4)
    assert inspect.signature(SGD).parameters["lr"].default == 0.01
    assert x.transpose().shape == (2, 4, 3) and Tensor.zeros(3, 4).T.shape == (4, 3)
    assert x.requires_grad is False and (x * 2).requires_grad is False
    x.requires_grad = True
    assert x.requires_grad is True and (x * 2).requires_grad is True
