"""Layers and hooks that few scripts use. Expected values are PyTorch's, written down."""

import numpy as np

import polygrad.torch as torch
from polygrad.torch import nn


def test_lazy_layers_take_the_width_of_their_first_input():
    net = nn.Sequential(nn.LazyConv2d(4, 3, padding=1), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    assert net[3].has_uninitialized_params() and net(torch.ones(2, 3, 4, 4)).shape == (2, 2)
    assert [tuple(p.shape) for p in net.parameters()] == [(4, 3, 3, 3), (4,), (4,), (4,), (2, 64), (2,)] and type(net[3]) is nn.Linear


def test_fractional_pooling():
    x, samples = torch.arange(36.0).reshape(1, 1, 6, 6), torch.tensor([[[0.3, 0.7]]])
    pooled, places = nn.functional.fractional_max_pool2d(x, 2, (3, 4), return_indices=True, _random_samples=samples)
    assert pooled.tolist() == nn.FractionalMaxPool2d(2, output_size=(3, 4), _random_samples=samples)(x).tolist()
    assert pooled.tolist() == places.tolist() == [[[[7, 8, 10, 11], [19, 20, 22, 23], [31, 32, 34, 35]]]]


def test_adaptive_softmax():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0)
    x, target = torch.randn(5, 8), torch.tensor([2, 7, 15, 19, 0])
    out, loss = layer(x, target)
    full = layer.log_prob(x)
    assert np.allclose(full.exp().sum(1).numpy(), 1, atol=1e-5) and np.allclose(
        out.numpy(), full.gather(1, target.unsqueeze(1)).squeeze(1).numpy(), atol=1e-5
    )
    assert np.isclose(loss.item(), -out.mean().item()) and layer.predict(x).tolist() == full.argmax(1).tolist()
    loss.backward()
    assert all(p.grad is not None for p in layer.parameters())


def test_backward_hooks():
    layer, seen = nn.Linear(2, 2, bias=False), []
    layer.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = torch.ones(1, 2, requires_grad=True)
    handle = layer.register_full_backward_hook(lambda m, inputs, outputs: seen.append((inputs[0].tolist(), outputs[0].tolist())))
    layer(x).sum().backward()
    assert seen == [([[4, 6]], [[1, 1]])]
    handle.remove()
    with layer.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 10,)):
        x.grad = None
        layer(x).sum().backward()
    assert x.grad.tolist() == [[40, 60]]
    with layer.register_full_backward_pre_hook(lambda m, outputs: (outputs[0] * 2,)):
        x.grad = None
        layer(x).sum().backward()
    assert x.grad.tolist() == [[8, 12]]


def test_functions_of_ones_own_are_given_tensors_of_the_class():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return 2 * x * gradient.max(0).values

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Square.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_first_values():
    w = torch.empty(3, 5)
    nn.init.orthogonal_(w)
    assert np.allclose((w @ w.t()).numpy(), np.eye(3), atol=1e-5)
    kernel = torch.empty(2, 2, 3)
    nn.init.dirac_(kernel)
    assert kernel.tolist() == [[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]]
    nn.init.sparse_(w := torch.empty(10, 4), 0.3)
    assert (w == 0).sum(0).tolist() == [3, 3, 3, 3]
