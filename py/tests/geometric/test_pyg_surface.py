"""What scripts for PyTorch Geometric reach for beside the layers: sparse matrices with PyTorch's names, adj_t in batches, stores, module paths."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad.nn as pnn
from polygrad import Tensor
from polygrad.geometric import SparseTensor
from polygrad.geometric.data import Batch, Data, HeteroData
from polygrad.geometric.data.hypergraph_data import HyperGraphData
from polygrad.geometric.loader import DataLoader, LinkNeighborLoader, NeighborLoader
from polygrad.geometric.nn import GATConv, GCNConv, SAGEConv, TransformerConv
from polygrad.geometric.sampler import BidirectionalNeighborSampler, NodeSamplerInput
from polygrad.torch.sparse import to_torch_csc_tensor

EDGES = np.array([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("make", [lambda: GCNConv(5, 4), lambda: SAGEConv(5, 4), lambda: GATConv(5, 4), lambda: TransformerConv(5, 4)])
def test_layers_take_every_kind_of_matrix(make):
    layer, x, e = make(), Tensor(RNG.standard_normal((4, 5)).astype(np.float32)), Tensor(EDGES)
    want = layer(x, e).numpy()
    for adj in (SparseTensor.from_edge_index(e, sparse_sizes=(4, 4)), to_torch_csc_tensor(e, size=4)):
        np.testing.assert_allclose(layer(x, adj.t()).numpy(), want, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="Flow direction"):
        type(layer)(5, 4, flow="target_to_source")(x, to_torch_csc_tensor(e, size=4))


def test_attention_weights_of_a_matrix_are_one():
    layer, x = GATConv(5, 4, heads=2), Tensor.ones(4, 5)
    _, adj = layer(x, SparseTensor.from_edge_index(Tensor(EDGES), sparse_sizes=(4, 4)).t(), return_attention_weights=True)
    assert adj.sizes() == [4, 4, 2] and adj.nnz() == 10
    _, (adj, alpha) = layer(x, to_torch_csc_tensor(Tensor(EDGES), size=4).t(), return_attention_weights=True)
    assert adj.nnz() == 10 and alpha.shape == (10, 2)


def test_the_kept_graph_has_its_loops_and_weights():
    layer, x = GCNConv(5, 4, cached=True), Tensor.ones(4, 5)
    assert layer._cached_edge_index is None
    want = layer(x, Tensor(EDGES)).numpy()
    index, weight = layer._cached_edge_index
    assert index.shape == (2, 10) and layer._cached_adj_t is None
    plain = GCNConv(5, 4, normalize=False)
    plain.load_state_dict(layer.state_dict())
    np.testing.assert_allclose(plain(x, index, weight).numpy(), want, rtol=1e-5, atol=1e-6)
    layer.reset_parameters()
    layer(x, to_torch_csc_tensor(Tensor(EDGES), size=4).t())
    assert layer._cached_edge_index is None and layer._cached_adj_t.nnz() == 10


def with_matrix(n):
    adj = SparseTensor.from_edge_index(Tensor([[0, 1, 2], [1, 2, 0]]), Tensor([1.0, 2.0, 3.0]), sparse_sizes=(n, n))
    return Data(x=Tensor.ones(n, 2) * n, adj_t=adj)


def test_matrices_are_blocks_of_a_batch():
    graphs = [with_matrix(3), with_matrix(4)]
    batch = Batch.from_data_list(graphs)
    assert batch.adj_t.sparse_sizes() == (7, 7) and batch.num_edges == 6
    assert str(batch) == "DataBatch(x=[7, 2], adj_t=[7, 7, nnz=6], batch=[7], ptr=[3])"
    want = np.zeros((7, 7))
    want[:3, :3], want[3:, 3:] = graphs[0].adj_t.to_dense().numpy(), graphs[1].adj_t.to_dense().numpy()
    np.testing.assert_array_equal(batch.adj_t.to_dense().numpy(), want)
    for k, graph in enumerate(graphs):
        np.testing.assert_array_equal(batch[k].adj_t.to_dense().numpy(), graph.adj_t.to_dense().numpy())
    layer = SAGEConv(2, 3)
    for batch in DataLoader(graphs, batch_size=2):
        whole = np.concatenate([layer(g.x, g.adj_t).numpy() for g in graphs])
        np.testing.assert_allclose(layer(batch.x, batch.adj_t).numpy(), whole, rtol=1e-5, atol=1e-6)


def test_a_class_in_pygs_manner_joins_by_names():
    class Pair(Data):
        def __inc__(self, key, value, *args):
            return self.x_s.shape[0] if key == "edge_index_s" else super().__inc__(key, value, *args)

    pair = Pair(x_s=Tensor.ones(5, 1), edge_index_s=Tensor([[0, 0], [1, 2]]), num_nodes=5)
    assert Batch.from_data_list([pair, pair]).edge_index_s.tolist() == [[0, 0, 5, 5], [1, 2, 6, 7]]


def stores():
    features, edges = HeteroData(), HeteroData()
    features["paper"].x, features["author"].x = Tensor(np.arange(10.0, dtype=np.float32).reshape(-1, 1)), Tensor.ones(20, 3)
    for a, b, n, m in (("paper", "author", 10, 20), ("author", "paper", 20, 10)):
        pairs = Tensor(np.stack([RNG.integers(0, n, 40), RNG.integers(0, m, 40)]))
        edges.put_edge_index(pairs, edge_type=(a, "to", b), layout="coo", size=(n, m))
    return features, edges


def test_loaders_read_stores():
    features, edges = stores()
    for batch in NeighborLoader((features, edges), [3, 2], input_nodes=("paper", Tensor([1, 4, 6])), batch_size=2, seed=0):
        assert batch["paper"].x.numpy()[:, 0].tolist() == batch["paper"].n_id.numpy().tolist() and batch["author"].x.shape[1] == 3
    pairs = Tensor(np.stack([RNG.integers(0, 10, 6), RNG.integers(0, 20, 6)]))
    loader = LinkNeighborLoader((features, edges), [2], edge_label_index=(("paper", "to", "author"), pairs), batch_size=3, seed=0)
    assert [b["paper", "author"].edge_label_index.shape[1] for b in loader] == [3, 3]


def test_graphs_are_stores():
    features, edges = stores()
    assert features.get_tensor("paper", "x", index=Tensor([2, 3])).tolist() == [[2.0], [3.0]]
    assert features.get_tensor_size(group_name="author", attr_name="x") == (20, 3) and len(features.get_all_tensor_attrs()) == 2
    row, colptr, perm = edges.csc()
    kind = ("paper", "to", "author")
    assert row[kind].shape == (40,) and colptr[kind].shape == (21,) and perm[kind].shape == (40,)
    data = Data(x=Tensor.ones(3, 2))
    data.put_edge_index((Tensor([0, 1]), Tensor([1, 2])), layout="coo", size=(3, 3))
    assert data.edge_index.tolist() == [[0, 1], [1, 2]] and data.get_tensor(attr_name="x").shape == (3, 2)
    data.put_edge_index((Tensor([0, 1]), Tensor([0, 0, 1, 2])), layout="csc", size=(3, 3))
    assert data.adj_t.to_dense().tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_disjoint_samples_in_both_directions():
    edges = Tensor([[0, 1, 2, 3, 4, 5, 1], [1, 2, 3, 4, 5, 0, 4]])
    sampler = BidirectionalNeighborSampler(Data(edge_index=edges, num_nodes=6), [-1, -1], disjoint=True)
    out = sampler.sample_from_nodes(NodeSamplerInput(None, Tensor([0, 3])))
    nodes = set(zip(out.node.tolist(), out.seed_node.tolist()))
    assert nodes == {(0, 0), (1, 0), (5, 0), (2, 0), (4, 0), (3, 3), (2, 3), (4, 3), (1, 3), (5, 3)} and len(out.node.tolist()) == 10
    assert out.node[out.batch].tolist() == out.seed_node.tolist()
    drawn = {(a, b, s) for a, b, s in zip(out.node[out.row].tolist(), out.node[out.col].tolist(), out.seed_node[out.row].tolist())}
    assert drawn == {(0, 1, 0), (5, 0, 0), (1, 2, 0), (1, 4, 0), (4, 5, 0), (2, 3, 3), (3, 4, 3), (1, 2, 3), (1, 4, 3), (4, 5, 3)}


def test_hypergraphs():
    data = HyperGraphData(x=Tensor.ones(5, 2), edge_index=Tensor([[0, 1, 2, 1, 2, 3, 4], [0, 0, 0, 1, 1, 1, 1]]), edge_attr=Tensor([[1.0], [2.0]]))
    assert data.num_nodes == 5 and data.num_edges == 2 and data.validate()
    assert Batch.from_data_list([data, data]).edge_index.numpy()[:, -1].tolist() == [9, 3]
    part = data.subgraph(Tensor([1, 3, 4]))
    assert part.x.shape == (3, 2) and part.edge_attr.tolist() == [[2.0]] and part.edge_index.tolist() == [[0, 1, 2], [0, 0, 0]]
    with pytest.raises(ValueError, match="edge_index"):
        HyperGraphData(x=Tensor.ones(2, 1), edge_index=Tensor([[7], [0]])).validate()


def test_modules_are_found_by_pygs_paths():
    from polygrad.geometric.data.feature_store import TensorAttr
    from polygrad.geometric.explain.metric.fidelity import fidelity
    from polygrad.geometric.index import index2ptr, ptr2index
    from polygrad.geometric.nn.pool.max_pool import max_pool as same

    from polygrad.geometric.nn import max_pool

    assert same is max_pool and callable(fidelity) and TensorAttr("paper", "x").attr_name == "x"
    assert index2ptr(Tensor([0, 0, 2]), 4).tolist() == [0, 2, 2, 3, 3] and ptr2index(Tensor([0, 2, 2, 3])).tolist() == [0, 0, 2]


def test_rates_with_a_warm_up():
    from polygrad.geometric.nn import lr_scheduler as s

    def rates(kind, *args):
        schedule = kind(pnn.SGD([Tensor.zeros(1, requires_grad=True)], lr=2.0), *args)
        out = []
        for _ in range(5):
            out.append(schedule.get_last_lr()[0])
            schedule.step()
        return out

    assert rates(s.ConstantWithWarmupLR, 2) == [0.0, 1.0, 2.0, 2.0, 2.0]
    np.testing.assert_allclose(rates(s.CosineWithWarmupLR, 1, 3), [0.0, 2.0, 1.0, 0.0, 1.0], atol=1e-7)
    np.testing.assert_allclose(rates(s.CosineWithWarmupRestartsLR, 0, 4, 2), [2.0, 1.0, 2.0, 1.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(rates(s.PolynomialWithWarmupLR, 0, 2, 0.5, 2.0), [2.0, 0.875, 0.5, 0.5, 0.5], atol=1e-7)


def test_cross_entropy_of_pairs():
    from polygrad.geometric.utils.cross_entropy import sparse_cross_entropy

    x, pairs = RNG.standard_normal((3, 4)), np.array([[0, 0, 2, 1], [1, 3, 0, 2]])
    loss = sparse_cross_entropy(Tensor(x), Tensor(pairs), Tensor([1.0, 0.5, 2.0, -3.0]))
    y = x.copy()
    y[1, 2] += np.log(3.0)
    each = np.log(np.exp(y).sum(1))[pairs[0]] - y[pairs[0], pairs[1]]
    assert loss.item() == pytest.approx((each * [1.0, 0.5, 2.0, 0.0]).sum() / 3)
