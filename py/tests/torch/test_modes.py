"""Each module has a mode of its own, as in PyTorch: a model that is evaluated does not switch off the dropout of another."""

import pytest

import polygrad.torch as torch
from polygrad.torch_geometric.nn import GAT, GATConv


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.norm = torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(8)

    def forward(self, x):
        return self.drop(x)

    def masked(self, x):
        return torch.nn.functional.dropout(x, 0.5, training=self.training)


def _drops(f, x):
    return bool((f(x) == 0).any())


def test_a_new_module_trains():
    x = torch.ones(40, 8)
    assert Net().training and _drops(Net(), x) and _drops(torch.nn.Dropout(0.5), x) and not _drops(torch.nn.Dropout(0.5).eval(), x)


def test_modes_are_of_modules():
    x, a, b = torch.ones(40, 8), Net(), Net()
    a.eval()
    assert (a.training, a.drop.training, b.training) == (False, False, True)
    assert not _drops(a, x) and _drops(b, x) and not _drops(a.masked, x) and _drops(b.masked, x)
    a.train()
    a.drop.eval()
    assert a.training and a.norm.training and not a.drop.training and not _drops(a, x)
    before = a.norm.running_mean.tolist()
    a.norm.eval()(x)
    assert a.norm.running_mean.tolist() == before
    a.norm.train()(x)
    assert a.norm.running_mean.tolist() != before


def test_layers_inside_library_models_follow():
    model, x = GAT(8, 4, 2, dropout=0.9), torch.randn(6, 8)
    edges = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    other = GATConv(8, 4, dropout=0.9)
    model.eval()
    assert other.training and not any(m.training for m in model.modules())
    assert torch.equal(model(x, edges), model(x, edges)) and not torch.equal(other(x, edges), other(x, edges))


def test_modes_reach_modules_in_containers():
    """train() and eval() change the mode of what lists, dicts and sequences hold: a batch norm in evaluation leaves its statistics alone."""
    inner = torch.nn.ModuleDict({"a": torch.nn.BatchNorm1d(3)})
    norm = torch.nn.BatchNorm1d(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ModuleList([norm]), inner)
    model.eval()
    assert not norm.training and not inner["a"].training
    norm(torch.randn(4, 3))
    assert norm.num_batches_tracked.item() == 0
    model.train()
    assert norm.training and inner["a"].training


def test_views_follow_their_base():
    """A view that is held sees what happens to the tensor it was taken from, at any depth."""
    x = torch.zeros(4)
    pairs, first = x.view(2, 2), x.view(2, 2)[0]
    x.add_(1)
    assert pairs.tolist() == [[1, 1], [1, 1]] and first.tolist() == [1, 1]
    first.fill_(7)
    assert x.tolist() == [7, 7, 1, 1] and pairs.tolist() == [[7, 7], [1, 1]]
    x[2] = 5
    assert pairs[1, 0].item() == 5 and x.detach().tolist() == [7, 7, 5, 1]


def test_gradients_in_place_and_twice():
    """What changes x.grad in place is kept; the graph of a second backward is gone unless it was to be kept."""
    w = torch.ones(2, requires_grad=True)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert w.grad.tolist() == [4, 4] and not w.grad.requires_grad
    w.grad.zero_()
    assert w.grad.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
    h = w * 3
    h.retain_grad()
    h.sum().backward()
    assert h.grad.tolist() == [1, 1]


def test_scalars_are_weak():
    """A tensor without axes does not widen the dtype of one with axes, as in PyTorch."""
    half = torch.ones(2, dtype=torch.float16)
    assert (half + torch.tensor(1.5)).dtype == torch.float16 and (half + torch.ones(2)).dtype == torch.float32
    assert (torch.ones(2) * torch.tensor(2.0, dtype=torch.float64)).dtype == torch.float32
    assert (torch.tensor([1]) + torch.tensor(1.5)).dtype == torch.float32 and (torch.tensor([True]) + 1).dtype == torch.int64
    with pytest.raises(RuntimeError):
        torch.tensor([True]) - torch.tensor([True])


def test_prints_as_pytorch():
    assert str(torch.float32) == "torch.float32" and torch.ones(2).dtype is torch.float32
    assert repr(torch.tensor([True, False])) == "tensor([ True, False])"
    assert repr(torch.tensor([1.5, 1000.0])) == "tensor([   1.5000, 1000.0000])"
    assert repr(torch.zeros(0, 3)) == "tensor([], size=(0, 3))"
    assert repr(torch.arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
