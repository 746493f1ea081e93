"""polygrad.torch_geometric: everything that a script gets is of PyTorch's class."""

from importlib import import_module

import numpy as np
import pytest

import polygrad
import polygrad.torch as torch
import polygrad.torch_geometric.transforms as T
from polygrad.torch_geometric.data import Batch, Data, HeteroData
from polygrad.torch_geometric.datasets import FakeDataset, FakeHeteroDataset, KarateClub
from polygrad.torch_geometric.loader import DataLoader, LinkNeighborLoader, NeighborLoader
from polygrad.torch_geometric.nn import GCN, GATConv, GATv2Conv, GCNConv, MessagePassing, Node2Vec
from polygrad.torch_geometric.utils import degree, negative_sampling, to_undirected


def classes(x):
    """The classes of all tensors in a value."""
    if isinstance(x, polygrad.Tensor):
        return {type(x)}
    if hasattr(x, "stores"):
        x = [v for store in x.stores for v in store.values()]
    if isinstance(x, dict):
        x = list(x.values())
    return set().union(*(classes(v) for v in x)) if isinstance(x, (list, tuple)) else set()


def test_data_loaders_and_transforms():
    data = KarateClub()[0]
    hetero = FakeHeteroDataset(avg_num_nodes=20)[0]
    graphs = FakeDataset(num_graphs=6, avg_num_nodes=8)
    things = [
        data, hetero, graphs[0], next(iter(DataLoader(graphs, batch_size=3))), Batch.from_data_list([data, data]),
        Batch.from_data_list([data, data])[1], next(iter(NeighborLoader(data, [2, 2], batch_size=4))),
        next(iter(LinkNeighborLoader(data, [2], batch_size=4, neg_sampling_ratio=1.0))), list(T.RandomLinkSplit()(data)), T.ToUndirected()(data),
        T.RandomNodeSplit()(data), T.AddSelfLoops()(data), data.subgraph(torch.tensor([0, 1, 2])), hetero.to_homogeneous(),
        degree(data.edge_index[0]), negative_sampling(data.edge_index), to_undirected(data.edge_index), T.AddRandomWalkPE(3)(data),
    ]  # fmt: skip
    for thing in things:
        assert classes(thing) == {torch.Tensor}, thing
    data.generate_ids()
    assert classes(data) == {torch.Tensor}


def test_layers():
    conv = GCNConv(4, 2)
    out = conv(torch.ones(3, 4), torch.tensor([[0, 1], [1, 2]]))
    assert classes(list(conv.parameters())) == {torch.Tensor} and type(out) is torch.Tensor
    model = GCN(4, 8, 2)
    assert classes(list(model.parameters())) == {torch.Tensor}
    assert isinstance(model.convs[0], GCNConv) and isinstance(model.convs[0], MessagePassing) and isinstance(conv, torch.nn.Module)
    assert issubclass(GCNConv, MessagePassing) and not isinstance(torch.nn.Linear(1, 1), MessagePassing)
    assert type(Node2Vec(torch.tensor([[0, 1], [1, 0]]), 4, 3, 2)()) is torch.Tensor


def test_parameters_are_taken_one_by_one():
    model = GCN(4, 8, 2)
    assert next(model.parameters()) is list(model.parameters())[0] and next(iter(model.parameters())).device == torch.device("cpu")


def test_own_layers():
    """Classes that a script derives from ours make PyTorch's tensors too."""

    class Layer(MessagePassing):
        def __init__(self):
            super().__init__(aggr="max")
            self.lin = torch.nn.Linear(2, 2)

        def forward(self, x, edge_index):
            return self.propagate(edge_index, x=x)

        def message(self, x_j):
            assert type(x_j) is torch.Tensor
            values, _ = x_j.max(dim=1)
            return self.lin(x_j) + values.view(-1, 1)

    layer = Layer()
    assert type(layer(torch.ones(3, 2), torch.tensor([[0, 1], [1, 2]]))) is torch.Tensor
    assert type(layer.lin.weight) is torch.Tensor


def test_mirrored_modules():
    from polygrad.torch_geometric.nn.conv.gcn_conv import GCNConv as Same
    from polygrad.torch_geometric.nn.conv.gcn_conv import gcn_norm

    torch_geometric = import_module("polygrad.torch_geometric")
    assert Same is GCNConv is torch_geometric.nn.GCNConv
    index, weight = gcn_norm(torch.tensor([[0, 1], [1, 0]]), None, 2)
    assert type(index) is torch.Tensor and type(weight) is torch.Tensor and np.allclose(weight.numpy(), 0.5)
    assert torch_geometric.data.Data is Data and isinstance(HeteroData(), polygrad.geometric.data.HeteroData)
    with pytest.raises(ImportError):
        import_module("polygrad.torch_geometric.no_such_module")


def test_plain_geometric_is_untouched():
    conv = polygrad.geometric.nn.GCNConv(4, 2)
    out = conv(polygrad.Tensor.ones(3, 4), polygrad.Tensor([[0, 1], [1, 2]]))
    assert type(out) is polygrad.Tensor and type(conv.lin.weight) is polygrad.Tensor
    assert classes(polygrad.geometric.datasets.KarateClub()[0]) == {polygrad.Tensor}


def test_rows_of_batches_take_a_mask():
    """Rows of sampled batches, put together again, have a size that is known in this run alone; a mask of that many entries selects from them."""
    from polygrad.torch_geometric.loader import NeighborLoader

    data = Data(x=torch.arange(20.0).view(20, 1), edge_index=torch.randint(20, (2, 60)))
    parts = [batch.x[: batch.batch_size] for batch in NeighborLoader(data, num_neighbors=[-1], batch_size=8)]
    rows, mask = torch.cat(parts, dim=0), torch.arange(20) % 3 == 0
    assert rows[mask].view(-1).tolist() == list(range(0, 20, 3))
    rows[mask] = -1
    assert rows.view(-1).tolist()[:4] == [-1, 1, 2, -1]
    with pytest.raises(IndexError, match="does not fit"):
        rows[torch.ones(19, dtype=torch.bool)]


def test_memory_may_be_updated_before_backward():
    from polygrad.torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator

    from polygrad.torch_geometric.nn import TGNMemory

    memory = TGNMemory(6, 2, 4, 3, IdentityMessage(2, 4, 3), LastAggregator()).train()
    src, dst, message = torch.tensor([0, 1]), torch.tensor([2, 3]), torch.ones(2, 2)
    for step in range(3):
        z, _ = memory(torch.arange(4))
        loss = (z - 1).pow(2).sum()
        memory.update_state(src, dst, torch.tensor([step, step]), message)
        loss.backward()
        memory.detach()
    assert memory.gru.weight_ih.grad.abs().sum() > 0 and memory.memory[:4].abs().sum() > 0


def test_attention_is_explained_over_several_heads():
    from polygrad.torch_geometric.explain import AttentionExplainer, Explainer
    from polygrad.torch_geometric.nn import GATConv

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GATConv(3, 4, heads=2), GATConv(8, 2)

        def forward(self, x, edge_index):
            return self.second(self.first(x, edge_index).relu(), edge_index)

    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    explainer = Explainer(Net(), AttentionExplainer(), explanation_type="model", edge_mask_type="object", model_config=config)
    mask = explainer(torch.randn(4, 3), torch.tensor([[0, 1, 2], [1, 2, 3]])).edge_mask
    assert mask.size() == (3,) and mask.min() >= 0 and mask.max() <= 1


def test_sparse_matrices_as_operands():
    from polygrad.torch_geometric.nn.conv.gcn_conv import gcn_norm
    from polygrad.torch_geometric.typing import EdgeTypeStr, SparseTensor, torch_sparse

    from polygrad.torch_geometric.utils import to_torch_coo_tensor

    edges = torch.tensor([[0, 0, 1, 2], [1, 2, 0, 2]])
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    index, norm = gcn_norm(edges, weight.detach(), 3)
    dense = torch.zeros(3, 3)
    dense[index[1], index[0]] = norm
    adj = SparseTensor.from_edge_index(edges, weight.detach(), (3, 3)).t()
    assert torch.allclose(gcn_norm(adj).to_dense(), dense)
    out, none = gcn_norm(to_torch_coo_tensor(edges.flip(0), weight))
    assert none is None and out.requires_grad and torch.allclose(out.to_dense().detach(), dense)
    x = torch.tensor([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]])
    layer = GCNConv(2, 3)
    assert torch.allclose(layer(x.to_sparse(), edges), layer(x, edges))
    plain = SparseTensor.from_edge_index(edges, sparse_sizes=(3, 3))
    assert torch_sparse.remove_diag(plain) == SparseTensor.from_edge_index(edges[:, :3], sparse_sizes=(3, 3)) and plain != adj
    assert EdgeTypeStr(("a", "b")) == "a__to__b" and EdgeTypeStr("a__r__b").to_tuple() == ("a", "r", "b")
    with pytest.raises(ValueError, match="Cannot convert"):
        EdgeTypeStr("a__b")


def test_edges_beside_attention_weights_keep_their_dtype():
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 0]])
    for layer in (GATConv(2, 3), GATv2Conv(2, 3)):
        edges, weights = layer(torch.ones(3, 2), edge_index, return_attention_weights=True)[1]
        assert edges.dtype == torch.int64 and edges.shape == (2, weights.shape[0])
