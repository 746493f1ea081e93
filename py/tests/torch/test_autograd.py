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


def test_leaves_are_found_near_and_far_and_not_behind_a_detached_value():
    w = torch.ones(3, requires_grad=True)
    near, far = (w * 2).sum(), w * 2
    for k in range(200):
        far = far.sin() if k % 2 else far.cos()
    for loss in (near, far.sum()):
        w.grad = None
        loss.backward()
        assert w.grad is not None
    for none in (torch.ones(3).sum(), (w.detach() * 2).sum(), (w > 0).float().sum().detach()):
        with pytest.raises(RuntimeError, match="does not require grad"):
            none.backward()
