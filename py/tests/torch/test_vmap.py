"""torch.vmap against loops over the slices, inside and around derivatives, and what it refuses."""

import numpy as np
import pytest

import polygrad.torch as torch

A = torch.from_numpy(np.random.default_rng(0).uniform(0.2, 1, (5, 3)).astype(np.float32))
B = torch.from_numpy(np.random.default_rng(1).uniform(0.2, 1, (5, 3)).astype(np.float32))
M = torch.from_numpy(np.random.default_rng(2).uniform(0, 1, (5, 3, 3)).astype(np.float32))


def looped(f, *args):
    return np.stack([f(*(a[k] for a in args)).numpy() for k in range(len(args[0]))])


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (torch.dot, (A, B)),
        (lambda x: x.softmax(0), (A,)),
        (lambda x: (x - x.mean()) / x.std(), (A,)),
        (lambda x: torch.sort(x)[0][1:], (A,)),
        (lambda m, x: torch.linalg.solve(m + 3 * torch.eye(3), x), (M, A)),
        (lambda x: torch.where(x > 0.5, x, torch.zeros_like(x)), (A,)),
        (lambda x: torch.func.grad(lambda y: (y**3).sum())(x), (A,)),
        (lambda x: torch.vmap(lambda y: (x * y).sum())(B), (A,)),
        (lambda m: torch.nn.functional.conv2d(m[None, None], torch.ones(1, 1, 2, 2)), (M,)),
    ],
)
def test_is_a_loop_over_slices(f, args):
    np.testing.assert_allclose(torch.vmap(f)(*args).numpy(), looped(f, *args), rtol=1e-5, atol=1e-6)


def test_axes():
    np.testing.assert_array_equal(torch.vmap(lambda x, y: x * y, in_dims=(0, None))(A, B[0]).numpy(), (A * B[0]).numpy())
    np.testing.assert_array_equal(torch.vmap(lambda x: x + 1, in_dims=1, out_dims=1)(A).numpy(), (A + 1).numpy())
    np.testing.assert_array_equal(torch.vmap(lambda x: x * 2, out_dims=1)(A).numpy(), (A * 2).T.numpy())
    rows = torch.vmap(torch.vmap(torch.dot, in_dims=(None, 0)), in_dims=(0, None))(A, B)
    np.testing.assert_allclose(rows.numpy(), (A @ B.T).numpy(), rtol=1e-6)


def test_trees():
    out = torch.vmap(lambda d: {"sum": d["x"] + d["y"][0], "both": (d["x"].sum(), d["y"][0])})({"x": A, "y": [B]})
    np.testing.assert_array_equal(out["sum"].numpy(), (A + B).numpy())
    np.testing.assert_allclose(out["both"][0].numpy(), A.sum(1).numpy(), rtol=1e-6)
    np.testing.assert_array_equal(out["both"][1].numpy(), B.numpy())


def test_gradients_for_each_sample():
    layer = torch.nn.Linear(3, 2)

    def loss(parameters, x, y):
        return (torch.func.functional_call(layer, parameters, (x,)) - y).square().sum()

    parameters = {k: v.detach() for k, v in layer.named_parameters()}
    found = torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(parameters, A, B[:, :2])
    for k in range(5):
        layer.zero_grad()
        (layer(A[k]) - B[k, :2]).square().sum().backward()
        np.testing.assert_allclose(found["weight"][k].numpy(), layer.weight.grad.numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found["bias"][k].numpy(), layer.bias.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_gradient_through():
    x = A.clone().requires_grad_()
    torch.vmap(lambda v: (v**2).sum())(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * A.numpy(), rtol=1e-6)


def test_what_is_refused():
    with pytest.raises(ValueError, match="same size"):
        torch.vmap(torch.dot)(A, B[:4])
    with pytest.raises(ValueError, match="no input is mapped"):
        torch.vmap(torch.dot, in_dims=(None, None))(A[0], B[0])
    with pytest.raises(ValueError, match="in_dims"):
        torch.vmap(torch.dot, in_dims=(0,))(A, B)
    with pytest.raises(RuntimeError, match="randomness"):
        torch.vmap(torch.dot, randomness="some")
