"""Strides as PyTorch counts them, results written into out=, and sparse tensors as tensors."""

import pytest

import polygrad.torch as torch


def test_strides_of_views():
    x = torch.arange(24).reshape(2, 3, 4)
    assert x.is_contiguous() and x.stride() == (12, 4, 1)
    for view, strides in (
        (x.permute(2, 0, 1), (1, 12, 4)), (x.transpose(0, 2), (1, 4, 12)), (x[:, 1], (12, 1)), (x[:, :, ::2], (12, 4, 2)), (x[..., 1:], (12, 4, 1)),
        (x[0].t(), (1, 4)), (x[:1].expand(2, 3, 4), (0, 4, 1)), (x.mT.detach(), (12, 1, 4)), (x.mT.unsqueeze(0).squeeze(0), (12, 1, 4)),
        (x.permute(2, 0, 1).transpose(0, 1), (12, 1, 4)), (x.mT[:1].expand(2, 4, 3), (0, 1, 4)), (x[:1].expand(2, 3, 4).transpose(0, -1), (1, 4, 0)),
        (x[0].expand(5, 3, 4).permute(1, 0, 2), (4, 0, 1)), (x[:, ::2], (12, 8, 1)),
    ):  # fmt: skip
        assert view.stride() == strides and not view.is_contiguous() and view.contiguous().is_contiguous()
    assert x[1].is_contiguous() and x[:1].is_contiguous() and x[:, None].is_contiguous()
    assert x[1:].stride() == (12, 4, 1) and torch.arange(6)[1::2].stride() == (2,)
    assert x[0].t().clone().stride() == (1, 4) and (x[0].t() + 0).sum() == x[0].sum()


def test_a_view_keeps_the_sizes_that_it_was_asked_with():
    """A list of sizes that is changed afterwards does not change the view when its base changes."""
    x, shape, wide = torch.zeros(4), [2, 2], [3, 4]
    view, rows = x.reshape(shape), x.expand(wide)
    shape[:], wide[:] = [4, 1], [2, 4]
    x.add_(1)
    assert view.tolist() == [[1.0, 1.0], [1.0, 1.0]] and rows.tolist() == [[1.0] * 4] * 3


def test_out():
    a, b, c = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.zeros(2)
    assert torch.add(a, b, out=c) is c and c.tolist() == [4.0, 6.0]
    values, places = torch.empty(2), torch.empty(2, dtype=torch.long)
    torch.max(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=1, out=(values, places))
    assert values.tolist() == [5.0, 7.0] and places.tolist() == [1, 0]
    empty = torch.empty(0)
    assert torch.cat([a, b], out=empty).tolist() == [1.0, 2.0, 3.0, 4.0] and empty.shape == (4,)
    with pytest.raises(RuntimeError):
        torch.mul(a, b, out=torch.zeros(2, dtype=torch.long))


def test_sparse_tensors_are_tensors():
    a = torch.sparse_coo_tensor(torch.tensor([[1, 0], [0, 1]]), torch.tensor([5.0, 2.0]), (2, 2))
    assert isinstance(a, torch.Tensor) and not isinstance(a, torch.nn.Parameter)
    assert a._indices().tolist() == [[1, 0], [0, 1]] and a._values().tolist() == [5.0, 2.0] and a.coalesce().values().tolist() == [2.0, 5.0]
    x = torch.tensor([[1.0, 3.0], [2.0, 0.0]])
    assert torch.sparse.mm(torch.ones(2, 2).to_sparse(), x, reduce="amax").tolist() == [[2.0, 3.0], [2.0, 3.0]]


def test_modules_that_hand_things_back():
    model = torch.nn.Linear(2, 2)
    assert torch.fx.symbolic_trace(model) is model and torch.jit.annotate(int, 3) == 3 and torch.torch is torch


def test_a_view_in_another_dtype_is_a_view():
    x = torch.tensor([1.0, 2.0, 3.0])
    bits = x.view(torch.int32)
    bits[0] = 0
    assert x.tolist() == [0.0, 2.0, 3.0]
    bits.fill_(0x3F800000)
    assert x.tolist() == [1.0, 1.0, 1.0]
    x[1] = 0
    assert bits.tolist() == [0x3F800000, 0, 0x3F800000]
    x.view(torch.uint8)[3] = 0xBF  # the sign
    assert x.tolist() == [-1.0, 0.0, 1.0]
