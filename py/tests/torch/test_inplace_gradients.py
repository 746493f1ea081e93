"""Tensors that are changed in place: gradients flow as in PyTorch, eagerly and in compiled steps."""

import pytest

import polygrad.torch as torch
from polygrad import TinyJit
from polygrad.nn import compile_step


def doubled(y):
    y.mul_(2)


def added(y):
    y += 1


def part(y):
    y[:, 0:1].mul_(2)


def entry(y):
    y[0, 0] = 1.0


def without_gradient(y):
    with torch.no_grad():
        y.mul_(2)


def by_another_name(y):
    y.detach().mul_(2)


def relu(y):
    y.relu_()


# The losses of four steps in PyTorch.
CHANGES = {
    doubled: [650.0, 175.76, 47.5255, 12.8509],
    added: [198.5, 153.7184, 119.0395, 92.1842],
    part: [253.25, 135.1328, 88.1568, 63.8097],
    entry: [133.25, 103.4144, 80.3097, 62.4174],
    without_gradient: [650.0, 375.44, 216.8541, 125.255],
    by_another_name: [650.0, 375.44, 216.8541, 125.255],
    relu: [162.5, 125.84, 97.4505, 75.4657],
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_training_through_a_change(change, compiled):
    """In a compiled step the changed tensor had lost its history, and nothing was learned."""
    layer, x = torch.nn.Linear(2, 2), torch.tensor([[1.0, 2.0]])
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        layer.bias.fill_(0.5)
    opt = torch.optim.SGD(layer.parameters(), 0.01)

    def train(model, opt, x):
        opt.zero_grad()
        y = model(x)
        change(y)
        loss = (y * y).sum()
        loss.backward()
        opt.step()
        return loss

    if compiled:
        step = compile_step(train, layer, opt, x)
        losses = []
        for _ in range(4):
            step.run(x)
            losses.append(step.loss_value())
    else:
        losses = [train(layer, opt, x).item() for _ in range(4)]
    assert losses == pytest.approx(CHANGES[change], rel=1e-4)


def test_state_is_changed_in_a_traced_function():
    state = torch.zeros(2)

    @TinyJit
    def step(x):
        state.add_(x)
        y = x * 2
        y += state
        return y.realize()

    for k in range(1, 5):
        assert step(torch.tensor([1.0, 2.0])).tolist() == [2.0 + k, 4.0 + 2 * k]
    assert state.tolist() == [4, 8]


def test_a_leaf_is_not_changed_by_what_is_refused():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for view in (lambda: x, lambda: x[1:], lambda: x.T, lambda: x.reshape(-1)[::2]):
        with pytest.raises(RuntimeError, match="leaf"):
            view()[0] = 7.0
        with pytest.raises(RuntimeError, match="leaf"):
            view().mul_(2)
    assert x.tolist() == [[1, 2], [3, 4]]
    with torch.no_grad():
        x[1:][0] = 7.0
    x[:1].detach().mul_(3)
    assert x.tolist() == [[3, 6], [7, 7]] and x.requires_grad


def test_a_name_without_gradient_changes_what_it_is_a_view_of():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = y.reshape(2, 1)
    same = z.detach()
    z.mul_(2)
    same.mul_(2)
    assert y.tolist() == [4, 8] and z.tolist() == [[4], [8]]
    (y * y).sum().backward()
    assert x.grad.tolist() == [16, 32]  # the second change is not recorded


def test_backward_through_a_leaf_that_was_changed_since():
    """The way to the leaf is gone: that is told, not passed over."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="does not require grad"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.zeros(3).sum().backward()
    x.sign().sum().backward()
    assert x.grad.tolist() == [0, 0]
