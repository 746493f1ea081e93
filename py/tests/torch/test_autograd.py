"""torch.autograd.grad, as PyTorch has its arguments."""

import pytest

import polygrad.torch as torch


def test_inputs_that_are_not_used():
    x, other = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    y = (x * x).sum()
    with pytest.raises(RuntimeError, match="at index 1"):
        torch.autograd.grad(y, [x, other])
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(y, torch.ones(2))
    found, none = torch.autograd.grad(y, {"x": x, "other": other}.values(), allow_unused=True)
    assert found.tolist() == [2, 4] and none is None
    found, zeros = torch.autograd.grad(y, [x, other], materialize_grads=True)
    assert found.tolist() == [2, 4] and zeros.tolist() == [0, 0]
    assert torch.autograd.grad([y, other.sum()], [other], allow_unused=True)[0].tolist() == [1, 1]
    with pytest.raises(ValueError, match="allow_unused"):
        torch.autograd.grad(y, [x], allow_unused=False, materialize_grads=True)


def test_an_argument_that_is_not_here_is_refused():
    x = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="batch"):
        torch.autograd.grad(x * 2, x, torch.ones(3, 1), is_grads_batched=True)
    with pytest.raises(TypeError):
        torch.autograd.grad(x * 2, x, only_inputs_of=3)
