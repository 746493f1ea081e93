"""to_hetero, to_hetero_with_bases and summary."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from golden import Case, close, names

import polygrad.geometric.nn as gnn
from polygrad import Tensor, nn
from polygrad.geometric.typing import SparseTensor
from polygrad.nn import functional as F

TYPES = (["paper", "author"], [("paper", "cites", "paper"), ("author", "writes", "paper"), ("paper", "by", "author")])


class Net(nn.Module):
    def __init__(self):
        self.conv1, self.conv2 = gnn.SAGEConv((-1, -1), 6), gnn.SAGEConv((-1, -1), 6)
        self.skip, self.lin = gnn.Linear(-1, 6), gnn.Linear(-1, 2)

    def forward(self, x, edge_index):
        h = self.conv1(x, edge_index).relu() + self.skip(x)
        return self.lin(Tensor.cat(h, self.conv2(h, edge_index), dim=-1))


class Pooled(nn.Module):
    def __init__(self):
        self.lin, self.elin = gnn.Linear(-1, 6), gnn.Linear(4, 6)
        self.conv = gnn.GATConv((-1, -1), 6, add_self_loops=False, edge_dim=6)
        self.pool, self.out = gnn.MeanAggregation(), gnn.Linear(6, 2)

    def forward(self, x, edge_index, edge_attr, batch):
        x = self.conv(self.lin(x), edge_index, self.elin(edge_attr)).tanh()
        return self.out(self.pool(x, batch))


class Narrow(nn.Module):
    def __init__(self):
        self.conv, self.lin = gnn.SAGEConv((8, 8), 6), gnn.Linear(6, 2)

    def forward(self, x, edge_index):
        return self.lin(self.conv(x, edge_index).relu())


CASE = Case("to_hetero_sum")
X, EDGES, ATTR, BATCH = (CASE.types(n) for n in ("x", "edge_index", "edge_attr", "batch"))


@pytest.mark.parametrize("name", names("to_hetero_"))
def test_as_pyg(name):
    """Parameters have PyG's names, and outputs its values."""
    case, kind = Case(name), name.removeprefix("to_hetero_")
    if kind == "bases":
        model, args = gnn.to_hetero_with_bases(Narrow(), TYPES, num_bases=3, in_channels={"x": 8}), (X, EDGES)
    elif kind == "pooled":
        model, args = gnn.to_hetero(Pooled(), TYPES), (X, EDGES, ATTR, BATCH)
    else:
        model, args = gnn.to_hetero(Net(), TYPES, aggr=kind), (X, EDGES)
    case.load(model)
    out = model(*args)
    if kind == "pooled":
        close(out, case["out"])
        return
    assert set(out) == set(TYPES[0])
    for key, value in out.items():
        close(value, case[f"out/{key}"])


def test_copies():
    model = gnn.to_hetero(Net(), TYPES)
    state = model.state_dict()
    assert {n.split(".")[1] for n in state if n.startswith("conv1.")} == {"paper__cites__paper", "author__writes__paper", "paper__by__author"}
    assert {n.split(".")[1] for n in state if n.startswith("skip.")} == {"paper", "author"}
    model(X, EDGES)
    a, b = (model.conv1[k].lin_r.weight.numpy() for k in ("author__writes__paper", "paper__cites__paper"))
    assert a.shape == (6, 5) and not np.allclose(a, b)
    model.reset_parameters()
    assert not np.allclose(model.conv1["paper__cites__paper"].lin_r.weight.numpy(), b)


def test_learns_in_a_compiled_step(cpu):
    Tensor.manual_seed(0)
    model = gnn.to_hetero(Net(), TYPES)
    y = Tensor([0, 1, 0, 1, 0, 1])
    model(X, EDGES)["paper"].realize()
    opt = nn.Adam(model.parameters(), lr=0.05)

    def step(model, opt, y):
        loss = model(X, EDGES)["paper"].cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    compiled = nn.compile_step(step, model, opt, y)
    compiled.run()
    first = compiled.loss_value()
    for _ in range(60):
        compiled.run()
    assert compiled.loss_value() < 0.3 * first


def test_what_a_forward_may_do():
    class Many(nn.Module):
        def __init__(self):
            self.lins = nn.ModuleList([gnn.Linear(-1, 4), gnn.Linear(4, 4)])
            self.mlp = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            self.norm, self.drop = gnn.LayerNorm(4), nn.Dropout(0.5)
            self.conv = gnn.GraphConv((4, 4), 4)
            self.scale = Tensor([2.0], requires_grad=True)

        def forward(self, x, edge_index, edge_weight=None):
            for lin in self.lins:
                x = F.relu(lin(x))
            x = self.drop(self.norm(self.mlp(x))) * self.scale
            h = self.conv(x, edge_index, edge_weight) if edge_weight is not None else self.conv(x, edge_index)
            h = (1.0 - h.square()) / 2 + x[:, :4] ** 2
            both = Tensor.stack(h, x, dim=0).sum(0)
            return {"out": both, "list": [h.mean(-1), -x]}, gnn.global_add_pool(h, None)

    model = gnn.to_hetero(Many(), TYPES)
    out, pooled = model(X, EDGES)
    assert set(out["out"]) == set(TYPES[0]) and out["list"][0]["paper"].shape == (6,) and pooled["author"].shape == (1, 4)
    weighted, _ = model(X, EDGES, {k: v[:, 0] for k, v in ATTR.items()})
    assert not np.allclose(weighted["out"]["paper"].numpy(), out["out"]["paper"].numpy())
    assert len([n for n in model.state_dict() if n.startswith("mlp.0.")]) == 4 and "scale" in model.state_dict()


def test_models_of_the_library():
    model = gnn.to_hetero(gnn.GraphSAGE((-1, -1), 8, num_layers=2, out_channels=3), TYPES)
    assert {k: v.shape for k, v in model(X, EDGES).items()} == {"paper": (6, 3), "author": (4, 3)}
    steps = [(gnn.SAGEConv((-1, -1), 8), "x, edge_index -> x"), nn.ReLU(), (nn.Linear(8, 2), "x -> x")]
    model = gnn.to_hetero(gnn.Sequential("x, edge_index", steps), TYPES)
    assert {k: v.shape for k, v in model(X, EDGES).items()} == {"paper": (6, 2), "author": (4, 2)}


def test_types_that_are_missing():
    """A batch without edges of some type: the others bring what they have."""
    model = gnn.to_hetero(Net(), TYPES)
    model(X, EDGES)
    some = {k: v for k, v in EDGES.items() if k != ("paper", "cites", "paper")}
    assert set(model(X, some)) == {"paper", "author"}
    with pytest.warns(UserWarning, match="do not get updated"):
        gnn.to_hetero(Net(), (["paper", "author"], TYPES[1][:2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gnn.to_hetero(Net(), TYPES)


def test_errors():
    with pytest.raises(ValueError, match="aggr must be"):
        gnn.to_hetero(Net(), TYPES, aggr="median")
    with pytest.raises(ValueError, match="add_self_loops"):
        gnn.to_hetero(gnn.GCN(4, 4, 1), TYPES)
    with pytest.raises(ValueError, match="metadata"):
        gnn.to_hetero(Net(), (["paper"], []))
    with pytest.raises(ValueError, match="input_map"):
        gnn.to_hetero(Net(), TYPES, input_map={"x": "nodes"})
    with pytest.raises(ValueError, match="in_channels"):
        gnn.to_hetero_with_bases(Narrow(), TYPES, 2, in_channels={"z": 8})
    with pytest.raises(ValueError, match="num_bases"):
        gnn.to_hetero_with_bases(Narrow(), TYPES, 0)


def test_bases():
    model = gnn.to_hetero_with_bases(Narrow(), TYPES, num_bases=2, in_channels={"x": 8})
    out = model(X, EDGES)
    assert {k: v.shape for k, v in out.items()} == {"paper": (6, 2), "author": (4, 2)}
    weights = [n for n in model.state_dict() if n.endswith("edge_type_weight")]
    assert weights == ["conv.convs.0.edge_type_weight", "conv.convs.1.edge_type_weight"]
    slopes = out["paper"].sum().gradient(*[model.state_dict()[n] for n in weights])
    assert all(np.abs(g.numpy()).sum() > 0 for g in slopes)


def test_bases_of_matrices():
    """Transposed matrices by type are the same edges; the copies of a layer are found by its name."""
    model = gnn.to_hetero_with_bases(Narrow(), TYPES, num_bases=2, in_channels={"x": 8})
    sizes = {kind: x.shape[0] for kind, x in X.items()}
    adj = {k: SparseTensor.from_edge_index(e, sparse_sizes=(sizes[k[0]], sizes[k[-1]])).t() for k, e in EDGES.items()}
    expected, out = model(X, EDGES), model(X, adj)
    for kind in X:
        np.testing.assert_allclose(out[kind].numpy(), expected[kind].numpy(), atol=1e-5)
    assert len(model.conv.convs) == model.conv.num_bases == 2
    valued = {k: a.set_value(Tensor.ones(a.nnz())) for k, a in adj.items()}
    with pytest.raises(ValueError, match="matrices with values"):
        model(X, valued)


def test_bases_without_layers_of_messages():
    """A model of maps alone needs no edges: values of edges tell how many there are of each type."""

    class Maps(nn.Module):
        def __init__(self):
            self.nodes, self.edges = gnn.Linear(8, 3), gnn.Linear(2, 5)

        def forward(self, x, edge_attr):
            return self.nodes(x), self.edges(edge_attr)

    attr = {kind: Tensor.ones(e.shape[1], 2) for kind, e in EDGES.items()}
    model = gnn.to_hetero_with_bases(Maps(), TYPES, num_bases=2, in_channels={"x": 8})
    nodes, edges = model(X, attr)
    assert {k: v.shape for k, v in nodes.items()} == {"paper": (6, 3), "author": (4, 3)}
    assert {k: v.shape for k, v in edges.items()} == {k: (e.shape[1], 5) for k, e in EDGES.items()}
    with pytest.raises(ValueError, match="edges by type"):
        gnn.to_hetero_with_bases(Narrow(), TYPES, 2, in_channels={"x": 8})(X)


def test_input_map():
    class Net2(nn.Module):
        def __init__(self):
            self.lin, self.conv = gnn.Linear(-1, 4), gnn.SAGEConv((-1, -1), 4)

        def forward(self, features, links, shift):
            return self.conv(self.lin(features), links) + shift

    model = gnn.to_hetero(Net2(), TYPES, input_map={"links": "edge", "shift": "graph"})
    assert set(model(X, EDGES, 1.0)) == set(TYPES[0])


def test_summary():
    model = gnn.to_hetero(Net(), TYPES)
    model(X, EDGES)
    text = gnn.summary(model, X, EDGES)
    assert "(paper__cites__paper)SAGEConv" in text and "[6, 5], [2, 9]" in text
    lines = text.splitlines()
    assert lines[1].endswith("|   #Param |") and lines[3].startswith("| GraphModule ")  # numbers alone stand to the right
    held = next(line for line in lines if "(conv1)" in line)
    assert held.split("|")[1].strip() == "├─(conv1)ModuleDict" and [cell.strip() for cell in held.split("|")[2:4]] == ["--", "--"]
    text = gnn.summary(gnn.GCN(4, 8, 2, out_channels=3), Tensor.ones(5, 4), Tensor([[0, 1], [1, 2]]), max_depth=1)
    assert "(convs)ModuleList" in text and "GCNConv" not in text and "| 67 " in text
    text = gnn.summary(gnn.GCN(4, 8, 2), Tensor.ones(5, 4), Tensor([[0, 1], [1, 2]]), leaf_module=None)
    assert "(lin)Linear" in text
    assert gnn.summary(gnn.Linear(-1, 3), Tensor.ones(2, 4)).splitlines()[-2].endswith("-1 |")
