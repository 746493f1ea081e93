"""Functions with a gradient of the user's own, and gradients of tensors that nobody marked."""

import gc

import numpy as np
import pytest

import polygrad
import polygrad.torch as torch
from polygrad import Function, Tensor, custom, nn, with_autograd_graph
from polygrad.autograd import current


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x * x


class Pair(Function):
    @staticmethod
    def forward(ctx, a, b, scale):
        ctx.save_for_backward(a, b)
        ctx.scale = scale
        return a * b * scale, a + b

    @staticmethod
    def backward(ctx, g, h):
        a, b = ctx.saved_tensors
        return g * b * ctx.scale + h, g * a * ctx.scale + h, None


def test_gradients_of_first_and_second_order():
    x = Tensor([2.0, -1.0], requires_grad=True)
    (g,) = Cube.apply(x * 2).sum().gradient(x)
    (h,) = g.sum().gradient(x)
    np.testing.assert_allclose(g.numpy(), [96.0, 24.0])
    np.testing.assert_allclose(h.numpy(), [96.0, -48.0])


def test_several_inputs_and_outputs():
    a, b = Tensor([2.0], requires_grad=True), Tensor([5.0], requires_grad=True)
    p, q = Pair.apply(a, b, 3.0)
    (p * q).sum().backward()  # 3 a b (a + b)
    assert a.grad.item() == 3 * (2 * 2 * 5 + 25) and b.grad.item() == 3 * (4 + 2 * 2 * 5)


def test_a_gradient_that_is_not_the_true_one():
    class Straight(Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    x = Tensor([0.4, 1.6], requires_grad=True)
    y = Straight.apply(x)
    (y * y).sum().backward()
    assert y.tolist() == [0.0, 2.0] and x.grad.tolist() == [0.0, 4.0]


def test_errors_of_backward_come_out():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            raise KeyError("mine")

    class Wrong(Bad):
        @staticmethod
        def backward(ctx, gradient):
            return Tensor.ones(3)

    x = Tensor([1.0], requires_grad=True)
    with pytest.raises(KeyError, match="mine"):
        Bad.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match=r"\(3,\).*\(1,\)"):
        Wrong.apply(x).sum().backward()
    Cube.apply(x).sum().backward()  # the graph still works
    assert x.grad.item() == 3.0


def test_nothing_is_kept():
    for _ in range(3):
        a, b = Tensor([2.0], requires_grad=True), Tensor([5.0], requires_grad=True)
        p, q = Pair.apply(a, b, 3.0)
        (p * q).sum().backward()
        a.grad.item()
    del a, b, p, q
    gc.collect()
    assert not [c for c in custom._calls.values() if c.function is Pair]


def test_in_a_compiled_step():
    w = Tensor([1.0, 2.0])
    opt = polygrad.nn.SGD([w], lr=0.1)

    def step(model, opt, x):
        loss = Cube.apply(w * x).sum()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    x = Tensor([1.0, 1.0])
    run = polygrad.nn.compile_step(step, [w], opt, x)
    expected = np.array([1.0, 2.0], np.float32)
    for _ in range(3):
        run.run()
        np.testing.assert_allclose(run.loss_value(), (expected**3).sum(), rtol=1e-5)
        expected = expected - 0.1 * 3 * expected**2
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-5)


def test_decorator_with_a_gradient():
    @polygrad.function(grad_fxn=lambda g, x: g * 7)
    def f(x):
        return x * 2

    x = Tensor([1.0], requires_grad=True)
    f(x).sum().backward()
    assert x.grad.item() == 7.0


def test_backward_without_marks_fills_every_gradient():
    t, off = Tensor([1.0, 2.0]), Tensor([3.0, 3.0], requires_grad=False)
    u = t * 2
    (u * u * off).sum().backward()
    assert t.grad.tolist() == [24.0, 48.0] and u.grad.tolist() == [12.0, 24.0] and off.grad is None
    w, v = Tensor([1.0], requires_grad=True), Tensor([4.0])
    p = w * v
    p.sum().backward()
    assert w.grad.tolist() == [4.0] and v.grad.tolist() == [1.0] and p.grad.tolist() == [1.0]  # beside a marked leaf too


def test_gradients_that_nobody_asked_for():
    """They accumulate while they are read, and go with a step of an optimizer or when nobody reads them for long: no step's program is kept."""
    x, fixed, w = Tensor([1.0, 2.0]), Tensor([1.0, 1.0], requires_grad=False), Tensor([3.0, 4.0], requires_grad=True)
    y, known = x * fixed, fixed * 2
    (y * w * known).relu().sum().backward()
    assert x.grad.tolist() == [6.0, 8.0] and y.grad.tolist() == [6.0, 8.0] and fixed.grad is None and known.grad is None
    (x * w).sum().backward()
    assert x.grad.tolist() == [9.0, 12.0]
    opt = nn.SGD([w], lr=1.0)
    (x * w).sum().backward()
    opt.step()
    assert x.grad is None and w.tolist() == [-1.0, -4.0]
    for _ in range(40):
        opt.zero_grad()
        nodes = current().live_nodes
        (x * w).sum().backward()
    assert x.grad is None and current().live_nodes <= nodes + 8
    shared = Tensor.ones(2)  # the same constant as inside the program below
    (w * Tensor.ones(2)).sum().backward()
    assert shared.grad is None


def test_gradients_of_torch_tensors_are_those_asked_for():
    a, b = torch.ones(3), torch.ones(3, requires_grad=True)
    y = a * b
    y.sum().backward()
    assert a.grad is None and y.grad is None and b.grad.tolist() == [1.0] * 3 and a.requires_grad is False


def test_requires_grad_that_nobody_set():
    w = Tensor(3.5)
    assert (
        w.requires_grad is False and w.is_param and (w * 2).requires_grad is False and w.detach().requires_grad is False and not w.detach().is_param
    )
    nn.SGD([w], lr=0.1)
    assert w.requires_grad is True and (w * 2).requires_grad is True
    off = Tensor([1.0]).is_param_(False)
    assert off.requires_grad is False and not off.is_param


def test_graphs_have_no_cycles():
    with with_autograd_graph() as graph:
        y = Tensor([1.0]) * 2
        y = y + y
        assert graph.check_cycles() is False
