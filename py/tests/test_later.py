"""Parameters that take their shape from the first input belong to optimizers, copies and state dicts that were made before it."""

import copy
import pickle

import numpy as np
import pytest

import polygrad.geometric.nn as gnn
import polygrad.torch as torch
from polygrad import Tensor, nn

EDGES = Tensor([[0, 1, 2, 2], [1, 2, 0, 1]])


def layer(kind):
    if kind == "linear":
        return gnn.Linear(-1, 3), lambda m, x: m(x)
    if kind == "hetero":
        return gnn.HeteroLinear(-1, 3, 2), lambda m, x: m(x, Tensor([0, 1, 0]))
    if kind == "sage":
        return gnn.SAGEConv((-1, -1), 3), lambda m, x: m(x, EDGES)
    if kind == "arma":
        return gnn.ARMAConv(-1, 3, num_stacks=2), lambda m, x: m(x, EDGES)
    pseudo = Tensor([[0.1, 0.9], [0.5, 0.5], [0.3, 0.2], [0.0, 1.0]])
    cls = gnn.SplineConv if kind == "spline" else gnn.GMMConv
    return cls(-1, 3, dim=2, kernel_size=2), lambda m, x: m(x, EDGES, pseudo)


@pytest.mark.parametrize("make", [lambda p: nn.SGD(p, lr=0.01), lambda p: nn.Adam(p, lr=0.01)], ids=["sgd", "adam"])
@pytest.mark.parametrize("kind", ["linear", "hetero", "sage", "arma", "spline", "gmm"])
def test_optimizer_made_before_the_first_input(kind, make):
    """Every weight learns, although the optimizer has seen it without a shape."""
    Tensor.manual_seed(0)
    model, call = layer(kind)
    optimizer = make(model.parameters())
    x = Tensor.randn(3, 5)
    losses = []
    for k in range(4):
        loss = (call(model, x) - 1).square().sum()
        loss.backward()
        if k == 0:
            before = {n: p.numpy().copy() for n, p in model.named_parameters()}
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    used = {n for n, p in model.named_parameters() if not (kind == "arma" and n == "weight")}  # of further layers, which there are not
    assert all((p.numpy() != before[n]).any() for n, p in model.named_parameters() if n in used)


def test_copies_and_state():
    """A copy waits by itself; a state dict gives the shape."""
    lazy = gnn.Linear(-1, 3)
    assert nn.is_lazy(lazy.weight) and isinstance(lazy.weight, nn.UninitializedParameter)
    for other in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert other(Tensor.ones(2, 4)).shape == (2, 3) and nn.is_lazy(lazy.weight)
    whole = gnn.Linear(4, 3)
    lazy.load_state_dict(whole.state_dict())
    assert np.array_equal(lazy.weight.numpy(), whole.weight.numpy()) and lazy.in_channels == 4


def test_first_input_inside_a_compiled_step():
    """The shape of a parameter cannot change there, and the message says what to do; after one call outside it can be compiled."""
    model = gnn.Linear(-1, 1)
    optimizer = nn.Adam(model.parameters(), lr=0.1)

    def step(model, optimizer, x):
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    x = Tensor.ones(4, 3)
    with pytest.raises(RuntimeError, match="call it once before"):
        nn.compile_step(step, model, optimizer, x)
    model(x)
    run = nn.compile_step(step, model, optimizer, x)
    run.run()
    first = run.loss_value()
    for _ in range(5):
        run.run()
    assert run.loss_value() < first


def test_lazy_layers_of_torch():
    net = torch.nn.Sequential(torch.nn.LazyConv2d(4, 3), torch.nn.LazyBatchNorm2d(), torch.nn.Flatten(), torch.nn.LazyLinear(2, bias=False))
    held = list(net.parameters())
    assert len(held) == 5 and all(isinstance(p, torch.nn.UninitializedParameter) for p in held)
    optimizer = torch.optim.Adam(held, lr=0.1)
    x = torch.randn(3, 2, 5, 5)
    net(x)
    before = [p.numpy().copy() for p in net.parameters()]
    net(x).square().sum().backward()
    optimizer.step()
    assert [id(p) for p in net.parameters()] == [id(p) for p in held]
    assert all((p.numpy() != b).any() for p, b in zip(held[1:], before[1:], strict=True) if p is not held[1])
    assert type(net).__name__ == "Sequential" and type(net[3]).__name__ == "Linear"
