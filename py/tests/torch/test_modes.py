"""Each module has a mode of its own, as in PyTorch: a model that is evaluated does not switch off the dropout of another."""

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
