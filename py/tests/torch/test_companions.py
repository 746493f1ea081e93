"""The packages beside PyTorch that scripts import: what their functions give, and that `polygrad port` puts them in place."""

import struct

import numpy as np
import pytest

import polygrad.torch as torch
from polygrad.cli.port import missing, rewritten
from polygrad.companions import torch_cluster, torch_scatter, torch_sparse
from polygrad.companions.ogb import graphproppred, linkproppred, nodeproppred
from polygrad.companions.torchmetrics.functional import confusion_matrix, jaccard_index
from polygrad.torch_geometric.data import Data
from polygrad.torch_geometric.loader import NeighborSampler
from polygrad.torch_geometric.transforms import FeaturePropagation
from polygrad.torch_geometric.utils import assortativity, homophily


def test_imports_of_companions_are_rewritten():
    text = """import torch_scatter
from torch_sparse import SparseTensor, matmul
from torch_cluster import random_walk, no_such
from ogb.nodeproppred import Evaluator, PygNodePropPredDataset
from ogb.graphproppred.mol_encoder import AtomEncoder
from torchmetrics.functional import jaccard_index
"""
    assert rewritten(text) == text.replace("import torch_scatter", "import polygrad.companions.torch_scatter as torch_scatter").replace(
        "from ", "from polygrad.companions."
    )
    assert [(f.line, f.what) for f in missing(text)] == [(3, "torch_cluster.no_such")]


# ---- torch_scatter ----


def by_hand(src, index, size, reduce):
    """Row by row, with numpy."""
    f = {"sum": np.sum, "mean": np.mean, "mul": np.prod, "min": np.min, "max": np.max}[reduce]
    rows = [src[index == k] for k in range(size)]
    return np.stack([f(r, axis=0) if len(r) else np.full(src.shape[1:], float(reduce == "mul")) for r in rows])


@pytest.mark.parametrize("reduce", ["sum", "mean", "mul", "min", "max"])
def test_scatter(reduce):
    rng = np.random.default_rng(0)
    src, index = rng.normal(size=(7, 3)).astype(np.float32), np.array([0, 3, 3, 1, 0, 3, 1])
    want = by_hand(src, index, 5, reduce)
    x, i = torch.tensor(src), torch.tensor(index)
    np.testing.assert_allclose(torch_scatter.scatter(x, i, 0, dim_size=5, reduce=reduce).numpy(), want, rtol=1e-6)
    np.testing.assert_allclose(torch_scatter.scatter(x.t(), i, -1, dim_size=5, reduce=reduce).numpy(), want.T, rtol=1e-6)
    # an index of each value
    whole = torch.tensor(np.repeat(index[:, None], 3, 1))
    shown = torch_scatter.scatter(x, whole, 0, dim_size=5, reduce=reduce).numpy()
    np.testing.assert_allclose(shown[[0, 1, 3]], want[[0, 1, 3]], rtol=1e-6)


def test_scatter_into_a_tensor():
    out = torch.ones(3)
    same = torch_scatter.scatter_add(torch.tensor([1.0, 2.0]), torch.tensor([0, 0]), out=out)
    assert same is out and out.tolist() == [4.0, 1.0, 1.0]


def test_places_of_extremes():
    src, index = torch.tensor([[1.0, 5.0], [3.0, 5.0], [2.0, -1.0]]), torch.tensor([0, 0, 2])
    value, place = torch_scatter.scatter_max(src, index, dim=0, dim_size=4)
    assert value.tolist() == [[3, 5], [0, 0], [2, -1], [0, 0]] and place.tolist() == [[1, 0], [3, 3], [2, 2], [3, 3]]
    value, place = torch_scatter.scatter_min(src, index, dim=0)
    assert value.tolist() == [[1, 5], [0, 0], [2, -1]] and place.tolist() == [[0, 0], [3, 3], [2, 2]]


def test_composites_have_gradients():
    src, index = torch.tensor([1.0, 2.0, 4.0], requires_grad=True), torch.tensor([0, 0, 1])
    p = torch_scatter.scatter_softmax(src, index)
    np.testing.assert_allclose(p.detach().numpy(), [1 / (1 + np.e), np.e / (1 + np.e), 1], rtol=1e-5)
    np.testing.assert_allclose(torch_scatter.scatter_log_softmax(src, index).exp().detach().numpy(), p.detach().numpy(), rtol=1e-5)
    p[0].backward()
    q = np.e / (1 + np.e) ** 2
    np.testing.assert_allclose(src.grad.numpy(), [q, -q, 0], atol=1e-6)
    np.testing.assert_allclose(torch_scatter.scatter_std(src.detach(), index).numpy(), [np.sqrt(0.5), 0], atol=1e-5)
    np.testing.assert_allclose(torch_scatter.scatter_logsumexp(src.detach(), index).numpy(), [np.log(np.e + np.e**2), 4], rtol=1e-6)


def test_segments():
    x, ptr = torch.arange(6.0), torch.tensor([0, 2, 2, 6])
    assert torch_scatter.segment_csr(x, ptr, reduce="max").tolist() == [1, 0, 5]
    assert torch_scatter.segment_coo(x, torch.tensor([0, 0, 2, 2, 2, 2]), reduce="mean").tolist() == [0.5, 0, 3.5]
    assert torch_scatter.gather_csr(torch.tensor([7.0, 8.0, 9.0]), ptr).tolist() == [7, 7, 9, 9, 9, 9]


# ---- torch_sparse, torch_cluster ----


def test_sparse_matrices():
    index, value = torch.tensor([[1, 0, 1], [0, 2, 0]]), torch.tensor([1.0, 2.0, 3.0])
    i, v = torch_sparse.coalesce(index, value, 2, 3)
    assert i.tolist() == [[0, 1], [2, 0]] and v.tolist() == [2, 4]
    i, v = torch_sparse.transpose(index, value, 2, 3)
    assert i.tolist() == [[0, 2], [1, 0]] and v.tolist() == [4, 2]
    assert torch_sparse.spmm(index, value, 2, 3, torch.eye(3)).tolist() == [[0, 0, 2], [4, 0, 0]]
    adj = torch_sparse.SparseTensor(row=index[0], col=index[1], value=value, sparse_sizes=(2, 3))
    assert torch_sparse.sum(adj, dim=1).tolist() == [2, 4]


def test_clusters():
    walk = torch_cluster.random_walk(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.tensor([0, 1]), 2)
    assert walk.tolist() == [[0, 1, 0], [1, 0, 1]]
    assert torch_cluster.grid_cluster(torch.tensor([[0.5], [1.5], [1.9]]), torch.tensor([1.0]), 0, 2).tolist() == [0, 1, 1]
    pairs = torch_cluster.graclus_cluster(torch.tensor([0, 1]), torch.tensor([1, 0]))
    assert pairs.tolist() == [0, 0]


# ---- ogb ----


def test_evaluators():
    accuracy = nodeproppred.Evaluator("ogbn-products")
    assert accuracy.eval({"y_true": np.array([[1], [2], [3]]), "y_pred": torch.tensor([[1], [0], [3]])}) == {"acc": pytest.approx(2 / 3)}
    roc = graphproppred.Evaluator("ogbg-molhiv")
    true = torch.tensor([[1.0], [0.0], [float("nan")], [0.0]])
    assert roc.eval({"y_true": true, "y_pred": torch.tensor([[0.9], [0.1], [0.99], [0.95]])}) == {"rocauc": 0.5}
    hits = linkproppred.Evaluator("ogbl-collab")
    assert hits.K == 50
    assert hits.eval({"y_pred_pos": torch.tensor([0.9, 0.4]), "y_pred_neg": torch.linspace(0, 0.5, 60)}) == {"hits@50": 1.0}
    ranks = linkproppred.Evaluator("ogbl-citation2").eval({"y_pred_pos": torch.tensor([0.5]), "y_pred_neg": torch.tensor([[0.9, 0.5, 0.1]])})
    assert ranks["mrr_list"].tolist() == [pytest.approx(1 / 2.5)] and ranks["hits@3_list"].tolist() == [1.0]
    with pytest.raises(ValueError, match="Invalid dataset name"):
        nodeproppred.Evaluator("ogbn-none")
    with pytest.raises(RuntimeError, match="the same"):
        accuracy.eval({"y_true": torch.zeros(2, 1), "y_pred": torch.zeros(3, 1)})


def test_encoders_of_atoms():
    from polygrad.companions.ogb.graphproppred.mol_encoder import AtomEncoder
    from polygrad.torch_geometric.data import Data
    from polygrad.torch_geometric.graphgym.models.encoder import BondEncoder, IntegerFeatureEncoder

    encoder = AtomEncoder(4)
    assert "atom_embedding_list.0.weight" in encoder.state_dict() and len(list(encoder.parameters())) == 9
    x = torch.tensor([[5, 0, 0, 0, 0, 0, 0, 0, 0], [7, 1, 1, 1, 1, 1, 1, 1, 1]])
    want = sum(t.weight[x[:, k]] for k, t in enumerate(encoder.atom_embedding_list))
    np.testing.assert_allclose(encoder(x).detach().numpy(), want.detach().numpy(), rtol=1e-6)
    assert BondEncoder(4)(Data(edge_attr=torch.zeros(2, 3, dtype=torch.long))).edge_attr.size() == (2, 4)
    assert IntegerFeatureEncoder(4, 9)(Data(x=torch.tensor([[8], [0]]))).x.size() == (2, 4)


# ---- torchmetrics ----


def test_overlap_of_classes():
    pred, true = torch.tensor([0, 1, 1, 2]), torch.tensor([0, 1, 2, 2])
    assert confusion_matrix(pred, true, num_classes=4).tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    each = jaccard_index(pred, true, task="multiclass", num_classes=4, average="none")
    assert each.tolist() == [1, 0.5, 0.5, 0]
    # a class that does not occur has no part in the mean
    assert float(jaccard_index(pred, true, task="multiclass", num_classes=4)) == pytest.approx(2 / 3)
    assert float(jaccard_index(pred, true, num_classes=4, absent_score=1.0)) == 0.75
    assert float(jaccard_index(pred, true, num_classes=4, average="weighted")) == pytest.approx((1 + 0.5 + 2 * 0.5) / 4)
    assert float(jaccard_index(torch.tensor([0.9, 0.2, 0.7]), torch.tensor([1, 1, 0]), task="binary")) == pytest.approx(1 / 3)


# ---- torch.utils.tensorboard ----


def test_log_for_tensorboard(tmp_path):
    """Records with their lengths, and the numbers in them."""
    from polygrad.torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", torch.tensor(0.25), 3)
        writer.add_scalars("acc", {"train": 1.0, "test": 0.5}, 3)
        writer.add_text("note", "hello")
        writer.add_graph(torch.nn.Linear(2, 3), torch.ones(1, 2))
    (path,) = tmp_path.iterdir()
    data, records = path.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        records.append(data[12 : 12 + size])
        data = data[16 + size :]
    assert len(records) == 6 and b"brain.Event:2" in records[0]
    assert records[1].endswith(b"\n\x04loss\x15" + struct.pack("<f", 0.25)) and b"\x10\x03" in records[1]
    assert b"acc/test" in records[3] and b"hello" in records[4] and b"Linear" in records[5]
    with pytest.raises(ValueError, match="closed"):
        writer.add_scalar("loss", 1)


def test_sparse_matrices_are_cut_and_joined():
    dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 5.0]])
    a = torch_sparse.SparseTensor.from_dense(dense)
    for dim, index in ((0, [2, 0, 2, 1]), (1, [1, 1, 0]), (0, [])):
        index = torch.tensor(index, dtype=torch.long)
        assert a.index_select(dim, index).to_dense().tolist() == dense.index_select(dim, index).tolist()  # a row may be there several times
    with pytest.raises(IndexError):
        a.index_select(0, torch.tensor([3]))
    assert a.narrow(1, 1, 2).to_dense().tolist() == dense[:, 1:].tolist() and a.select(0, 1).to_dense().tolist() == dense[1:2].tolist()
    order = torch.tensor([2, 0, 1])
    assert torch_sparse.permute(a, order).to_dense().tolist() == dense[order][:, order].tolist()
    assert a.sparse_reshape(1, 9).to_dense().tolist() == dense.view(1, 9).tolist()
    assert torch_sparse.cat([a, a], 0).to_dense().tolist() == torch.cat([dense, dense]).tolist()
    both = torch_sparse.cat([a, a], (0, 1)).to_dense()
    assert both[:3, :3].tolist() == both[3:, 3:].tolist() == dense.tolist() and float(both.sum()) == 2 * float(dense.sum())


def test_sparse_matrices_are_added_and_cast():
    dense, column = torch.tensor([[0.0, 2.0], [3.0, 0.0]]), torch.tensor([[10.0], [100.0]])
    a = torch_sparse.SparseTensor.from_dense(dense)
    assert (a + a.t()).to_dense().tolist() == (dense + dense.t()).tolist() and torch_sparse.add(a, column).to_dense().tolist() == [[0, 12], [103, 0]]
    assert (a * column).to_dense().tolist() == (dense * column).tolist() and (a + a.set_value(None)).to_dense().tolist() == [[0, 3], [4, 0]]
    assert a.add_nnz(torch.tensor([1.0, 2.0])).coo()[2].tolist() == [3, 5] and a.mul_nnz(torch.tensor([1.0, 2.0])).coo()[2].tolist() == [2, 6]
    assert a.dtype() == torch.float32 and a.double().dtype() == torch.float64 and a.long().coo()[2].dtype == torch.int64 and not a.is_cuda()
    assert a.device() == torch.device("cpu") == a.set_value(None).device() and a.is_floating_point() and not a.bool().is_floating_point()
    for layout, made in (("coo", a.to_torch_sparse_coo_tensor()), ("csr", a.to_torch_sparse_csr_tensor()), ("csc", a.to_torch_sparse_csc_tensor())):
        assert made.layout == getattr(torch, f"sparse_{layout}") and made.to_dense().tolist() == dense.tolist()
        assert torch_sparse.SparseTensor.from_torch_sparse_coo_tensor(made) == a
    assert a.bandwidth() == 1 and a.avg_row_length() == 1.0 and a.sparsity() == 0.5 and a.random_walk(torch.tensor([0]), 3).tolist() == [[0, 1, 0, 1]]


def test_functions_and_samplers_take_sparse_matrices():
    pairs = torch.tensor([[0, 1, 2, 3, 2], [1, 2, 0, 1, 3]])
    a, y = torch_sparse.SparseTensor.from_edge_index(pairs, torch.arange(5.0), sparse_sizes=(4, 4)), torch.tensor([0, 0, 1, 0])
    assert homophily(a, y) == homophily(pairs, y) and abs(assortativity(a) - assortativity(pairs)) < 1e-6
    missing, x = torch.tensor([[True], [False], [False], [True]]), torch.tensor([[0.0], [1.0], [2.0], [0.0]])
    ours, want = (
        FeaturePropagation(missing)(data).x for data in (Data(x=x, adj_t=a.t()), Data(x=x, edge_index=pairs, edge_weight=torch.arange(5.0)))
    )
    assert torch.allclose(ours, want, atol=1e-6)
    size, nodes, layer = next(iter(NeighborSampler(a.t(), sizes=[-1], batch_size=4)))
    assert size == 4 and layer.adj_t.sparse_sizes() == (4, 4) and layer.size == (4, 4)
    row, col, value = layer.adj_t.coo()
    found = {(int(nodes[c]), int(nodes[r])): v for r, c, v in zip(row.tolist(), col.tolist(), value.tolist())}
    assert found == {(s, d): float(v) for v, (s, d) in enumerate(pairs.t().tolist())}
