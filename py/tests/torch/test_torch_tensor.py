"""PyTorch's Tensor: kinds of results, dtypes, changes in place. Expected values are PyTorch's, written down."""

import weakref

import numpy as np
import pytest

import polygrad
import polygrad.torch as torch
from polygrad import Graph


def test_the_class_follows_the_operands():
    """A mixture would mean that a method has one meaning on one line and another on the next."""
    x, plain = torch.ones(3, 4), polygrad.Tensor.ones(3, 4)
    index = torch.tensor([0, 2])
    for out in (
        x + plain, plain + x, plain * 2 + x, 2 / x, x @ plain.T, plain @ x.t(), plain[index], plain.gather(0, index.reshape(1, 2)), x.sum(), x[0], x.relu(),
        x.where(x > 0, 1.0), plain.stack(x), plain.cat(x), plain.masked_fill(x > 0, 1), plain.cross_entropy(torch.tensor([0, 1, 2])), x.chunk(2)[0],
        x.einsum("ij,ij->i", plain, x), plain.scatter_add(0, torch.zeros(3, 4, dtype=torch.long), plain), -x, x == plain, np.ones((3, 4)) + x,
    ):  # fmt: skip
        assert type(out) is torch.Tensor
    assert type(plain + plain) is polygrad.Tensor and type(plain.sum()) is polygrad.Tensor
    graph = Graph(torch.tensor([[0, 1], [1, 2]]), 3)
    assert type(graph.sum(graph.src(plain))) is torch.Tensor and type(graph.in_degree) is torch.Tensor


def test_plain_tensors_are_made_as_before():
    """The new class must not leak into code that does not use it."""
    torch.ones(2)
    torch.nn.Linear(2, 2)
    assert type(polygrad.Tensor([1])) is polygrad.Tensor and polygrad.Tensor([1]).dtype == "int32"
    assert type(polygrad.nn.Linear(2, 2).weight) is polygrad.Tensor
    assert polygrad.Tensor.arange(3).dtype == "int32"


def test_gradients_and_parameters_have_the_class():
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    loss = (p * p).sum()
    loss.backward()
    assert type(loss) is torch.Tensor and type(p.grad) is torch.Tensor and p.grad.tolist() == [2.0, 4.0]
    assert isinstance(p, torch.Tensor) and p.is_leaf and not loss.is_leaf


def test_pairs_are_named():
    x = torch.tensor([[1, 4, 2], [7, 0, 7]])
    assert x.max(dim=1).values.tolist() == [4, 7] and x.max(1)[1].tolist() == [1, 0] and x.max().item() == 7
    values, indices = x.min(1, keepdim=True)
    assert values.tolist() == [[1], [0]] and indices.tolist() == [[0], [1]]
    assert x.sort(1, descending=True).indices.tolist() == [[1, 2, 0], [0, 2, 1]]
    assert x.topk(2).values.tolist() == [[4, 2], [7, 7]] and x.median(1).values.tolist() == [2, 7]
    assert x.mode(1).values.tolist() == [1, 7] and x.cummax(1).values.tolist() == [[1, 4, 4], [7, 7, 7]]
    assert x.kthvalue(2, 1).values.tolist() == [2, 7] and torch.max(x, torch.tensor(3)).tolist() == [[3, 4, 3], [7, 3, 7]]
    for t in (indices, x.argmax(), x.sort().indices, x.topk(1).indices, x.nonzero(), x.sum(), x.cumsum(0), torch.arange(3), torch.randperm(3)):
        assert t.dtype == torch.long


def test_dtypes():
    assert torch.tensor([1, 2]).dtype == torch.int64 and torch.tensor([1.5]).dtype == torch.float32 and torch.tensor([True]).dtype == torch.bool
    assert torch.tensor(np.ones(2)).dtype == torch.float64 and torch.full((2,), 1).dtype == torch.long and torch.zeros(2).dtype == torch.float
    assert (torch.tensor([1, 2]) / 2).dtype == torch.float32 and (torch.tensor([1]) + 0.5).dtype == torch.float32
    x = torch.ones(2)
    assert x.long().dtype == torch.long and x.to(torch.int32).dtype == torch.int and x.type("torch.LongTensor").dtype == torch.long
    assert torch.tensor([1]).type_as(x).dtype == torch.float and x.double().to(x).dtype == torch.float
    assert (torch.ones(3, dtype=torch.bool).sum()).dtype == torch.long


def test_in_place():
    x = torch.zeros(2, 3)
    assert x.add_(2).mul_(3) is x and x.tolist() == [[6.0] * 3] * 2
    x[0].fill_(1)
    x[:, 2] = 9
    assert x.tolist() == [[1, 1, 9], [6, 6, 9]]
    x.clamp_(max=5)
    x += 1
    assert x.tolist() == [[2, 2, 6], [6, 6, 6]]
    x.zero_().copy_(torch.tensor([1, 2, 3])).relu_()
    assert x.tolist() == [[1, 2, 3], [1, 2, 3]]
    y = torch.zeros(3).scatter_add_(0, torch.tensor([0, 0, 2]), torch.ones(3))
    assert y.tolist() == [2, 0, 1]
    y.index_fill_(0, torch.tensor([1]), -1).masked_fill_(y > 1, 7)
    assert y.tolist() == [7, -1, 1]


def test_changes_of_views_change_the_whole():
    """Expected values are PyTorch's: a view of a view, a view of rows, a diagonal and an alias all reach the tensor that they lie in."""
    x = torch.zeros(2, 3)
    x[0].add_(1)
    x.view(-1)[2:4].add_(7)  # the view in between is gone when its part is changed
    assert x.tolist() == [[1, 1, 8], [7, 0, 0]]
    x.t()[0].fill_(5)
    x.diagonal().mul_(2)
    assert x.tolist() == [[10, 1, 8], [5, 0, 0]]
    y = x.view(3, 2)
    y[0, 1] = 9
    y[2].sub_(1)
    assert x.tolist() == [[10, 9, 8], [5, -1, -1]] and y.tolist() == [[10, 9], [8, 5], [-1, -1]]
    for column in x.unbind(1):
        column.add_(1)
    x.split([1, 2], 1)[1].zero_()
    assert x.tolist() == [[11, 0, 0], [6, 0, 0]]
    x[torch.tensor([0])].zero_()  # an index of tensors copies
    x[0:1, ::2] += 5
    assert x.tolist() == [[16, 0, 5], [6, 0, 0]]


def test_changes_of_views_and_gradients():
    p = torch.nn.Parameter(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="leaf"):
        p[0].add_(1)
    with torch.no_grad():
        p[0].mul_(3)
        p.view(-1)[3].fill_(7)
    p.data.t()[0].add_(1)
    assert p.tolist() == [[4, 3], [2, 7]] and p.requires_grad and p.is_leaf
    z = p * 2
    z[0].mul_(5)
    z.view(-1)[3:].mul_(3)
    z.sum().backward()
    assert p.grad.tolist() == [[10, 10], [2, 6]]


def test_in_place_and_gradients():
    p = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        p.add_(1)
    with torch.no_grad():
        p.add_(1)
    p.data.mul_(2)
    assert p.tolist() == [4, 4] and p.requires_grad
    y = p * 3
    y.relu_()
    y += 1
    y.sum().backward()
    assert p.grad.tolist() == [3, 3]


def test_values_by_index():
    x = torch.tensor([3, 1, 1, 2])
    assert [t.tolist() for t in x.unique(return_inverse=True, return_counts=True)] == [[1, 2, 3], [2, 0, 0, 1], [2, 1, 1]]
    assert x.bincount(minlength=5).tolist() == [0, 2, 1, 1, 0] and torch.isin(x, torch.tensor([1, 2])).tolist() == [False, True, True, True]
    assert torch.arange(3).repeat_interleave(torch.tensor([0, 2, 1])).tolist() == [1, 1, 2]
    assert [t.tolist() for t in (x > 1).nonzero(as_tuple=True)] == [[0, 3]]
    assert torch.where(x > 1, x, 0).tolist() == [3, 0, 0, 2] and torch.where(x > 1)[0].tolist() == [0, 3]
    assert torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4])).tolist() == [1, 2]
    assert x.unbind()[1].item() == 1 and [t.tolist() for t in x.split([1, 3])] == [[3], [1, 1, 2]]
    assert torch.tensor([1.0, float("nan"), float("inf")]).nan_to_num(posinf=5.0).tolist() == [1, 0, 5]
    assert torch.zeros(2, 2).index_put((torch.tensor([0, 0]), torch.tensor([1, 1])), torch.tensor(1.0), accumulate=True).tolist() == [[0, 2], [0, 0]]
    three = torch.tensor([True, False])
    assert three.where(torch.tensor([False, True]), torch.tensor([False, False])).tolist() == [False, False]


def test_norms_and_products():
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True)
    n = x.norm(dim=1)
    n.sum().backward()
    assert n.tolist() == [5, 0] and np.allclose(x.grad.numpy(), [[0.6, 0.8], [0, 0]])
    a = torch.arange(4.0).view(2, 2)
    assert a.mm(a).tolist() == [[2, 3], [6, 11]] and a.t().tolist() == [[0, 2], [1, 3]] and torch.norm(a, 1).item() == 6
    assert a.unsqueeze(0).bmm(a.unsqueeze(0)).shape == (1, 2, 2) and torch.outer(a[0], a[1]).tolist() == [[0, 0], [2, 3]]
    with pytest.raises(RuntimeError):
        a.mm(torch.ones(3))


def test_text_and_sizes():
    x = torch.tensor(0.123456)
    assert f"{x:.4f}" == "0.1235" and f"{torch.tensor(7):03d}" == "007" and repr(torch.tensor([1, 2])) == "tensor([1, 2])"
    y = torch.ones(2, 3)
    assert repr(y.size()) == "torch.Size([2, 3])" and y.size(1) == 3 and y.shape.numel() == 6 and y.dim() == 2
    assert y.device == torch.device("cpu") and str(y.device) == "cpu" and not y.is_cuda and y.cpu() is y
    assert torch.device("cuda", 1).index == 1 and torch.device("cuda:0").type == "cuda"


@pytest.mark.parametrize("wrong", [lambda x: x + torch.ones(3), lambda x: x.reshape(5), lambda x: x @ x, lambda x: torch.cat([x, torch.ones(1, 2)])])
def test_shapes_raise_what_pytorch_raises(wrong):
    with pytest.raises(RuntimeError):
        wrong(torch.ones(2, 4))
    with pytest.raises(ValueError):  # and what is raised elsewhere in this library
        wrong(torch.ones(2, 4))


def test_saving(tmp_path):
    model = torch.nn.Linear(2, 3)
    torch.save({"model": model.state_dict(), "epoch": 3, "x": torch.tensor([1, 2])}, tmp_path / "m.pt")
    back = torch.load(tmp_path / "m.pt")
    assert back["epoch"] == 3 and type(back["x"]) is torch.Tensor and back["x"].dtype == torch.long
    other = torch.nn.Linear(2, 3)
    other.load_state_dict(back["model"])
    assert other.weight.tolist() == model.weight.tolist()


def test_loading_runs_nothing(tmp_path):
    import os
    import pickle

    class Evil:
        def __reduce__(self):
            return os.system, ("echo gotcha",)

    torch.save(Evil(), tmp_path / "evil.pt")
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        torch.load(tmp_path / "evil.pt")


def test_grad_switches():
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
        with torch.enable_grad():
            assert (x * 2).requires_grad
    with torch.inference_mode():
        assert not torch.is_grad_enabled()

    @torch.no_grad()
    def f():
        return x * 2

    assert not f().requires_grad and (x * 2).requires_grad
    assert torch.autograd.grad((x * x).sum(), x)[0].tolist() == [2]


def test_random_sources():
    torch.manual_seed(1)
    a = torch.rand(3).tolist()
    torch.manual_seed(1)
    assert torch.rand(3).tolist() == a
    g = torch.Generator().manual_seed(5)
    first = torch.randperm(10, generator=g).tolist()
    assert first != torch.randperm(10, generator=g).tolist() or first != torch.randperm(10, generator=g).tolist()
    assert torch.randperm(10, generator=torch.Generator().manual_seed(5)).tolist() == first


def test_sums_in_a_loop_stay_short():
    """A sum of many terms must not become one program of that length."""
    total = torch.zeros(3)
    for k in range(400):
        total += torch.ones(3)
    assert total.tolist() == [400, 400, 400]


def test_every_function_is_documented():
    missing = [n for n in torch.__all__ if callable(getattr(torch, n)) and not (getattr(torch, n).__doc__ or "").strip()]
    methods = [n for n in dir(torch.Tensor) if not n.startswith("_") and callable(getattr(torch.Tensor, n)) and not getattr(torch.Tensor, n).__doc__]
    assert not missing and set(methods) <= {"mro"}, (missing, methods)


def test_views_are_freed_at_once():
    x = torch.arange(6)
    views = [x.reshape(2, 3), x.unsqueeze(0), x[1:3], x.detach(), x.view(3, 2).t(), x.view(3, 2).permute(1, 0), *x.split(2)]
    seen = [weakref.ref(v) for v in views]
    del views
    assert all(r() is None for r in seen)


def test_dtypes_of_both_namespaces_are_one():
    """A dtype is compared by what it says: float64 images keep their digits, and a plain tensor takes what is scattered of PyTorch's class."""
    image = np.random.default_rng(0).random((1, 1, 5, 5))
    wide = torch.nn.functional.interpolate(torch.from_numpy(image), size=(7, 7), mode="bilinear")
    np.testing.assert_array_equal(wide.numpy(), polygrad.Tensor(image).interpolate((7, 7)).numpy())
    total = polygrad.Tensor.zeros(3).scatter_add(0, polygrad.Tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
    assert total.tolist() == [3.0, 0.0, 3.0]
