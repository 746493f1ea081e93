"""PyTorch Geometric's manners with PyTorch's tensors: what graphs, batches, loaders and layers keep, take and refuse."""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest
from polygrad.torch_geometric.data.collate import collate
from polygrad.torch_geometric.data.data import DataEdgeAttr
from polygrad.torch_geometric.data.hypergraph_data import HyperGraphData
from polygrad.torch_geometric.data.separate import separate
from polygrad.torch_geometric.data.storage import BaseStorage
from polygrad.torch_geometric.loader.dataloader import Collater
from polygrad.torch_geometric.sampler.neighbor_sampler import BidirectionalNeighborSampler
from polygrad.torch_geometric.typing import SparseTensor
from polygrad.torch_geometric.utils.convert import to_networkit
from polygrad.torch_geometric.utils.dropout import filter_adj
from polygrad.torch_geometric.utils.sparse import cat

import polygrad.torch as torch
from polygrad.torch_geometric import EdgeIndex, Index
from polygrad.torch_geometric import data as pyg_data
from polygrad.torch_geometric import transforms as pyg_transforms
from polygrad.torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from polygrad.torch_geometric.loader import CachedLoader, ClusterData, DataLoader, LinkNeighborLoader, NeighborLoader, ShaDowKHopSampler
from polygrad.torch_geometric.metrics import LinkPredMAP, LinkPredMetricCollection, LinkPredNDCG
from polygrad.torch_geometric.nn import (
    GCN,
    BatchNorm,
    GATConv,
    GATv2Conv,
    HGTConv,
    LabelPropagation,
    Linear,
    LSTMAggregation,
    SAGEConv,
    SortAggregation,
    summary,
    to_hetero,
)
from polygrad.torch_geometric.sampler import NeighborSampler, NodeSamplerInput, NumNeighbors
from polygrad.torch_geometric.testing import MyFeatureStore, MyGraphStore
from polygrad.torch_geometric.transforms import GCNNorm, Pad, RootedEgoNets, ToSparseTensor
from polygrad.torch_geometric.utils import (
    add_self_loops,
    from_networkx,
    get_embeddings_hetero,
    get_laplacian,
    is_undirected,
    maybe_num_nodes,
    spmm,
    subgraph,
    to_edge_index,
    to_torch_csc_tensor,
    to_torch_csr_tensor,
    trim_to_layer,
)


class Kept(InMemoryDataset):
    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


def edges(n, order="row"):
    """A ring of n nodes in both directions, in an order of the edges."""
    a = np.arange(n)
    pairs = np.concatenate([np.stack([a, (a + 1) % n]), np.stack([(a + 1) % n, a])], axis=1)
    pairs = pairs[:, np.argsort(pairs[0 if order == "row" else 1], kind="stable")]
    return EdgeIndex(torch.tensor(pairs), sparse_size=(n, n), sort_order=order, is_undirected=True)


@pytest.mark.parametrize("order", ["row", "col"])
def test_batches_keep_what_is_known_of_edges(order):
    graphs = [Data(x=torch.randn(n, 2), edge_index=edges(n, order)) for n in (3, 5)]
    batch = Batch.from_data_list(graphs)
    assert isinstance(batch.edge_index, EdgeIndex)
    assert batch.edge_index.sparse_size() == (8, 8) and batch.edge_index.sort_order == order and batch.edge_index.is_undirected
    assert batch.edge_index.validate().max() == 7
    for got, graph in zip(batch.to_data_list(), graphs):
        assert isinstance(got.edge_index, EdgeIndex) and got.edge_index.equal(graph.edge_index)
        assert got.edge_index.sparse_size() == graph.edge_index.sparse_size() and got.edge_index.sort_order == order


def test_batches_keep_what_is_known_of_indices():
    parts = [Index([0, 1, 1], dim_size=2, is_sorted=True), Index([0, 2], dim_size=3, is_sorted=True)]
    batch = Batch.from_data_list([Data(index=i, num_nodes=i.dim_size) for i in parts])
    assert isinstance(batch.index, Index) and batch.index.tolist() == [0, 1, 1, 2, 4] and batch.index.dim_size == 5 and batch.index.is_sorted
    assert [(g.index.tolist(), g.index.dim_size) for g in batch.to_data_list()] == [([0, 1, 1], 2), ([0, 2], 3)]


def test_datasets_keep_indices_and_matrices(tmp_path):
    matrix = SparseTensor(row=torch.tensor([0, 2]), col=torch.tensor([1, 0]), value=torch.tensor([1.0, 2.0]), sparse_sizes=(3, 3))
    graphs = [Data(x=torch.full((3, 1), float(k)), edge_index=edges(3), adj=matrix, adj_both=[matrix, matrix]) for k in range(3)]
    dataset = Kept(graphs)
    assert len(dataset) == 3 and dataset[1].adj.sparse_sizes() == (3, 3) and dataset[1].adj_both[1].nnz() == 2
    assert isinstance(dataset[2].edge_index, EdgeIndex) and dataset[2].edge_index.sparse_size() == (3, 3)
    batch = next(iter(DataLoader(dataset, batch_size=3)))
    assert batch.adj.sparse_sizes() == (9, 9) and batch.adj_both[0].sparse_sizes() == (9, 9)
    assert isinstance(batch.edge_index, EdgeIndex) and batch.edge_index.is_sorted_by_row
    kept = Kept([Data(x=g.x, adj=g.adj) for g in graphs])
    kept.save([Data(x=g.x, adj=g.adj) for g in graphs], tmp_path / "kept.pt")
    kept.load(tmp_path / "kept.pt")
    assert kept[2].adj.to_dense().tolist() == matrix.to_dense().tolist() and kept[2].x.tolist() == graphs[2].x.tolist()


def test_rows_of_a_matrix_end():
    matrix = SparseTensor(row=torch.tensor([0]), col=torch.tensor([1]), sparse_sizes=(2, 3))
    assert len(list(matrix)) == 2
    with pytest.raises(IndexError, match="out of range"):
        matrix[2]


def test_masks_of_the_first_graphs():
    batch = Batch.from_data_list([Data(x=torch.zeros(n, 1)) for n in (1, 2, 3)])
    assert [int(g.num_nodes) for g in batch.index_select(np.array([False, True]))] == [2]
    with pytest.raises(IndexError):
        batch.index_select(torch.tensor([True] * 4))


def test_storages_move_and_have_properties():
    class Named(BaseStorage):
        @property
        def title(self):
            return self._title

        @title.setter
        def title(self, value):
            self._title = value

    storage = Named(x=torch.zeros(2))
    storage.title = "a"
    assert storage.title == "a" and "title" not in storage
    assert storage.cpu().detach_().share_memory_().x.is_shared()


def test_ambiguous_and_odd_names_of_types():
    data = HeteroData()
    data["a", "buys", "b"].edge_index = data["a", "sells", "b"].edge_index = torch.zeros(2, 1).long()
    with pytest.raises(TypeError, match="several edge types"):
        data["a", "b"]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        HeteroData()["a", "x__y", "a"].edge_attr = torch.zeros(1, 1)
    assert len(seen) <= 1 and all("underscores" in str(w.message) for w in seen)  # once in a process


def test_number_of_nodes_of_a_hypergraph_is_a_guess():
    with pytest.warns(UserWarning, match="Unable to accurately infer"):
        assert HyperGraphData(edge_index=torch.tensor([[0, 3], [0, 0]])).num_nodes == 4


def test_edges_of_a_store_by_a_tuple():
    store = MyGraphStore()
    pair = torch.tensor([0, 1]), torch.tensor([1, 0])
    store["likes", "coo", False, (2, 2)] = pair
    assert [t.tolist() for t in store["likes", "coo", False, (2, 2)]] == [[0, 1], [1, 0]]


def test_several_dense_matrices():
    matrix = SparseTensor(row=torch.tensor([0, 1, 1]), col=torch.tensor([2, 0, 1]), value=torch.tensor([1.0, 2.0, 3.0]), sparse_sizes=(2, 3))
    x = torch.randn(4, 3, 5)
    assert torch.allclose(matrix.matmul(x), matrix.to_dense() @ x, atol=1e-6)


def test_a_number_divided_by_a_tensor_is_rounded_as_a_product():
    x = torch.tensor([0.6, 3.0])
    assert (0.2 / x).tolist() == (x.reciprocal() * 0.2).tolist()


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_matrices_of_a_graph_in_a_layout(layout):
    data = Data(edge_index=torch.tensor([[2, 0, 1], [0, 1, 1]]), edge_weight=torch.tensor([3.0, 1.0, 2.0]), num_nodes=3)
    adj_t = ToSparseTensor(layout=layout)(data).adj_t
    assert adj_t.layout == layout and adj_t.to_dense().tolist() == [[0, 0, 3], [1, 2, 0], [0, 0, 0]]


def test_subgraphs_of_a_batch():
    data = RootedEgoNets(1)(Data(x=torch.arange(3).view(-1, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])))
    batch = next(iter(DataLoader([data, data], batch_size=2))).map_data()
    assert len(batch) == 2 and batch.x.view(-1).tolist() == [0, 1, 0, 1, 2, 1, 2] * 2
    assert batch.batch.tolist() == [0] * 7 + [1] * 7 and int(batch.edge_index.max()) == 13 and "n_id" not in batch


def test_sizes_too_small_to_pad_to():
    data = Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(AssertionError, match="nodes after padding"):
        Pad(2)(data)
    with pytest.raises(AssertionError, match="edges after padding"):
        Pad(4, 1)(data)


def test_parts_that_are_given():
    data = Data(x=torch.arange(4).view(-1, 1), edge_index=torch.tensor([[0, 1, 2, 3], [2, 3, 0, 1]]))
    parts = ClusterData(data, num_parts=2, log=False)._partition(data.edge_index, torch.tensor([1, 0, 1, 0]))
    assert parts.partptr.tolist() == [0, 2, 4] and parts.node_perm.tolist() == [1, 3, 0, 2] and parts.edge_perm.tolist() == [1, 3, 0, 2]


def test_batches_that_were_seen():
    loader = CachedLoader([1, 2])
    for k, _ in enumerate(loader):
        assert len(loader._cache) == k + 1
        break
    assert list(loader) == [1, 2] and list(loader) == [1, 2]  # a loop that was left early does not count
    loader.clear()
    assert loader._cache == []


def test_samples_of_nodes_alone():
    batch = next(iter(LinkNeighborLoader(Data(num_nodes=5), num_neighbors=[], edge_label_index=torch.tensor([[0, 1], [3, 4]]), batch_size=2)))
    assert "edge_index" not in batch and batch.num_nodes == 4


def test_samplers_read_stores():
    features, edges = MyFeatureStore(), MyGraphStore()
    features.put_tensor(torch.arange(4), group_name="default", attr_name="x", index=None)
    features.put_tensor(torch.arange(3), group_name="default", attr_name="edge_attr", index=None)
    edges.put_edge_index(torch.tensor([[0, 0, 2], [1, 2, 3]]), edge_type=None, layout="coo", is_sorted=True, size=(4, 4))
    out = NeighborSampler((features, edges), [1, 1]).sample_from_nodes(NodeSamplerInput(None, torch.tensor([3])))
    assert out.node.tolist() == [3, 2, 0]
    with pytest.raises(NotImplementedError):
        NeighborSampler((features, edges), [1], weight_attr="w")


def test_numbers_of_neighbours_by_type():
    count = NumNeighbors.cast({("a", "to", "b"): [2, 1]}, [-1, -1])
    assert count.values == {"a__to__b": [2, 1]} and count.num_hops == 2
    assert count.get_mapped_values([("a", "to", "b"), ("b", "to", "a")]) == {"a__to__b": [2, 1], "b__to__a": [-1, -1]}


def test_layers_of_matrices_and_known_edges_are_trimmed():
    edges = EdgeIndex([[1, 2, 3], [0, 1, 2]], sparse_size=(4, 4), sort_order="col")
    x, out, _ = trim_to_layer(1, [1, 1, 1, 1], [1, 1, 1], torch.arange(4), edges)
    assert isinstance(out, EdgeIndex) and out.sparse_size() == (3, 3) and x.tolist() == [0, 1, 2]
    matrix = SparseTensor.from_edge_index(edges.as_tensor(), torch.arange(3), (4, 4)).t()
    row, col, value = trim_to_layer(1, [1, 1, 1, 1], [1, 1, 1], torch.arange(4), matrix)[1].coo()
    assert (row.tolist(), col.tolist(), value.tolist()) == ([0, 1], [1, 2], [0, 1])


@pytest.mark.parametrize("make", [lambda: LSTMAggregation(2, 3), lambda: SortAggregation(2)])
def test_items_in_order(make):
    aggr = make()
    with pytest.raises(ValueError, match="not sorted"):
        aggr(torch.randn(3, 2), torch.tensor([0, 1, 0]))
    assert aggr(torch.randn(3, 2), torch.tensor([0, 0, 1])).size(0) == 2


@pytest.mark.parametrize("layer", [GATConv, GATv2Conv])
def test_loops_of_values_of_a_matrix(layer):
    matrix = SparseTensor.from_edge_index(torch.tensor([[0, 1], [1, 2]]), torch.randn(2), (3, 3))
    with pytest.raises(NotImplementedError):
        layer(2, 4, edge_dim=1)(torch.randn(3, 2), matrix.t())
    assert layer(2, 4, edge_dim=1, add_self_loops=False)(torch.randn(3, 2), matrix.t()).size() == (3, 4)


def test_tables_of_layers():
    x, adj = torch.randn(4, 3), SparseTensor.from_edge_index(torch.tensor([[0], [1]]), sparse_sizes=(4, 4))
    lines = summary(GCN(-1, 2, num_layers=1), x, adj.t()).split("\n")
    assert lines[1].startswith("| Layer") and "[4, 3], [4, 4]" in lines[3] and lines[3].endswith("| -1       |")


def test_a_layer_that_waits_for_its_input():
    lazy = Linear(-1, 2)
    assert hasattr(lazy, "_hook") and not hasattr(Linear(3, 2), "_hook")
    lazy(torch.randn(1, 3))
    assert not hasattr(lazy, "_hook")


def test_layers_of_several_types_take_matrices():
    x = {"a": torch.randn(3, 4), "b": torch.randn(2, 4)}
    pairs = {("a", "to", "b"): torch.tensor([[0, 1, 2], [0, 0, 1]]), ("b", "to", "a"): torch.tensor([[0, 1], [2, 0]])}
    layer = HGTConv(4, 8, (list(x), list(pairs)), heads=2)
    sizes = {k: (x[k[0]].size(0), x[k[2]].size(0)) for k in pairs}
    want = layer(x, pairs)
    got = layer(x, {k: SparseTensor.from_edge_index(e, sparse_sizes=sizes[k]).t() for k, e in pairs.items()})
    also = layer(x, {k: to_torch_csc_tensor(e, size=sizes[k]).t() for k, e in pairs.items()})
    assert all(torch.allclose(want[k], out[k], atol=1e-5) for k in want for out in (got, also))


def test_labels_spread_along_a_normalised_matrix():
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    y, spread = torch.tensor([0, 1, 0]), LabelPropagation(num_layers=2, alpha=0.5)
    assert torch.allclose(spread(y, pairs), spread(y, to_torch_csc_tensor(pairs, size=(3, 3)).t()), atol=1e-6)
    matrix = SparseTensor.from_edge_index(pairs, torch.full((4,), 0.25), (3, 3))
    assert torch.allclose(spread(y, pairs, edge_weight=torch.full((4,), 0.25)), spread(y, matrix.t()), atol=1e-6)


def test_one_row_has_no_statistics():
    with pytest.raises(ValueError, match="more than 1 value"):
        BatchNorm(2)(torch.ones(1, 2))
    assert BatchNorm(2).eval()(torch.ones(1, 2)).size() == (1, 2)


@pytest.mark.parametrize("part", ["graphgym.config", "graphgym.register", "llm", "distributed", "data.lightning", "nn.fx"])
def test_parts_that_are_left_out_say_so(part):
    with pytest.raises(ModuleNotFoundError, match="is left out of"):
        importlib.import_module(f"polygrad.torch_geometric.{part}")


def test_a_measure_is_the_same_alone_and_among_others():
    ranked = torch.rand(10, 50).argsort(dim=1)
    links = torch.stack([torch.randint(0, 10, (200,)), torch.randint(0, 50, (200,))])
    alone, among = LinkPredMAP(k=10), LinkPredMetricCollection([LinkPredMAP(k=10), LinkPredNDCG(k=40)])
    alone.update(ranked[:, :10], links)
    among.update(ranked, links)
    assert float(among.compute()["LinkPredMAP@10"]) == float(alone.compute())


def test_a_batch_of_graphs_without_tensors_has_pytorchs():
    counted = Batch.from_data_list([Data(num_nodes=2), Data(num_nodes=3)])
    assert isinstance(counted, Batch) and issubclass(type(counted), Batch) and isinstance(counted, Data)
    pairs = torch.tensor([[0, 1], [1, 2]])
    sparse = Batch.from_data_list([Data(adj=to_torch_csr_tensor(pairs, size=(3, 3)))] * 2)
    nested = Batch.from_data_list([Data(d={"a": torch.ones(2), "n": 1}), Data(d={"a": torch.ones(3), "n": 2})])
    assert all(isinstance(t, torch.Tensor) for t in (counted.batch, counted.ptr, sparse.batch, sparse.ptr, nested.d["n"], nested[1].d["n"]))
    assert str(sparse) == "DataBatch(adj=[6, 6], batch=[6], ptr=[3])"  # a sparse tensor is shown as tensors are
    made = Batch(x=torch.ones(3, 1), batch=torch.tensor([0, 0, 1]))
    assert isinstance(made, Data) and made.num_graphs == 2


def test_graphs_as_stores_keep_the_class_of_tensors():
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    data = Data(x=torch.arange(6.0).view(3, 2), edge_index=pairs)
    row, colptr, perm = data.csc()  # a graph of one type has no dicts
    assert row.tolist() == [1, 0, 2, 1] and colptr.tolist() == [0, 1, 3, 4] and perm.tolist() == [1, 0, 3, 2]
    assert all(isinstance(t, torch.Tensor) for t in (row, colptr, perm, *data.csr(), *data.coo()[:2]))
    assert data.put_tensor(torch.zeros(1, 2), attr_name="x", index=torch.tensor([1])) and isinstance(data.x, torch.Tensor)
    assert data.x.tolist() == [[0, 1], [0, 0], [4, 5]] and data.get_tensor(attr_name="x", index=2).tolist() == [4, 5]
    store, kind = MyGraphStore(), ("v", "to", "v")
    store.put_edge_index((pairs[0], pairs[1]), edge_type=kind, layout="coo", size=(3, 3))
    rowptr, col, perm = store.csr(store=True)
    assert rowptr[kind].tolist() == [0, 1, 3, 4] and isinstance(perm[kind], torch.Tensor)
    assert [attr.layout.value for attr in store.get_all_edge_attrs()] == ["coo", "csr"]
    assert [t.tolist() for t in store.get_edge_index(kind, "csr")] == [rowptr[kind].tolist(), col[kind].tolist()]
    with pytest.raises(ValueError, match="not found in the graph store"):
        store.csr([("v", "to", "w")])


def test_part_of_a_graph_with_a_type_of_unknown_size():
    data = HeteroData()
    data["a"].x, data["b"].note = torch.arange(3), "nothing tells how many"
    data["a", "b"].edge_index = torch.tensor([[0, 1, 2], [5, 6, 7]])
    part = data.subgraph({"a": torch.tensor([0, 2])})
    assert part["a"].x.tolist() == [0, 2] and part["a", "b"].edge_index.tolist() == [[0, 1], [5, 7]]


def test_sparse_matrices_in_their_layouts():
    pairs = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 1]])
    csr, csc = (make(pairs, torch.arange(4.0), (3, 3)) for make in (to_torch_csr_tensor, to_torch_csc_tensor))
    places, values = to_edge_index(csc)  # the entries of compressed columns come column by column, with their values
    assert places.tolist() == [[2, 0, 2, 1], [0, 1, 1, 2]] and values.tolist() == csc.values().tolist() == [2, 0, 3, 1]
    assert [cat([csr, csr], d).layout for d in (0, 1, (0, 1))] == [torch.sparse_csr, torch.sparse_coo, torch.sparse_csr]
    assert [cat([csc, csc], d).layout for d in (0, 1, (0, 1))] == [torch.sparse_coo, torch.sparse_csc, torch.sparse_csc]
    with pytest.raises(AssertionError):
        cat([csr, csr], 2)
    assert maybe_num_nodes(csr) == 3 and maybe_num_nodes(to_torch_csr_tensor(pairs, size=(3, 7))) == 7
    x = torch.rand(3, 2)
    for matrix in (csc, csr.to_sparse_coo()):
        with pytest.warns(UserWarning, match="Converting sparse tensor"):
            assert torch.allclose(spmm(matrix, x), csr.to_dense() @ x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.allclose(spmm(csr, x), csc @ x)
    normed = GCNNorm()(Data(adj_t=csr.t(), num_nodes=3)).adj_t
    want = GCNNorm()(Data(edge_index=pairs, edge_weight=torch.arange(4.0), num_nodes=3))
    assert torch.allclose(normed.to_dense().t(), to_torch_csr_tensor(want.edge_index, want.edge_weight, (3, 3)).to_dense())


def test_inputs_of_samplers_are_tensors():
    nodes = NodeSamplerInput(None, torch.tensor([4, 5, 6]))[torch.tensor([2, 0])]
    assert isinstance(nodes.input_id, torch.Tensor) and nodes.input_id.tolist() == [2, 0] and nodes.node.tolist() == [6, 4]


def test_names_that_are_deprecated_say_so():
    data = Data(edge_index=torch.tensor([[0, 1], [1, 1]]), num_nodes=3)
    with pytest.warns(UserWarning, match="has_isolated_nodes"):
        assert data.contains_isolated_nodes()
    with pytest.warns(UserWarning, match="has_self_loops"):
        assert data.contains_self_loops()


def test_a_number_of_a_whole_graph_has_no_axis():
    nx = pytest.importorskip("networkx")
    data = from_networkx(nx.Graph([(0, 1)], age=3))
    assert data.age.size() == () and int(data.age) == 3


def test_nodes_of_a_shadow_subgraph_come_by_their_numbers():
    pairs = torch.tensor([[0, 0, 1, 1, 2, 2, 3], [1, 3, 0, 2, 0, 1, 0]])
    data = Data(edge_index=pairs, edge_weight=torch.arange(7), x=torch.arange(4), y=torch.tensor([5, 6, 7, 8]))
    batch = next(iter(ShaDowKHopSampler(data, depth=1, num_neighbors=3, node_idx=torch.tensor([1, 0]), batch_size=2)))
    assert batch.x.tolist() == [0, 1, 2, 0, 1, 2, 3] and batch.ptr.tolist() == [0, 3, 7] and batch.batch.tolist() == [0] * 3 + [1] * 4
    assert batch.root_n_id.tolist() == [1, 3] and batch.y.tolist() == [6, 5]
    assert batch.x[batch.edge_index].tolist() == [data.edge_index[end][batch.edge_weight].tolist() for end in (0, 1)]


def test_graphs_are_joined_and_taken_apart_as_datasets_do():
    graphs = [Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=1), Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[2], [0]]), y=2)]
    joined, slices, raised = collate(Data, graphs, increment=False, add_batch=False)
    assert "batch" not in joined and joined.edge_index.tolist() == [[0, 2], [1, 0]] and isinstance(joined.y, torch.Tensor)
    part = separate(cls=Data, batch=joined, idx=1, slice_dict=slices, decrement=False)
    assert part.edge_index.tolist() == [[2], [0]] and part.x.size() == (3, 1) and part.y.tolist() == [2]
    joined, slices, raised = collate(Data, graphs, follow_batch=["edge_index"])
    assert joined.edge_index.tolist() == [[0, 4], [1, 2]] and joined.edge_index_batch.tolist() == [0, 1] and joined.batch.tolist() == [0, 0, 1, 1, 1]
    assert separate(Data, joined, 1, slices, raised).edge_index.tolist() == [[2], [0]]


def test_old_names_warn():
    graphs = [Data(x=torch.ones(2, 1))] * 2
    with pytest.warns(UserWarning, match="use 'loader.DataLoader' instead"):
        loader = pyg_data.DataLoader(graphs, batch_size=2)
    assert isinstance(loader, DataLoader) and next(iter(loader)).num_graphs == 2 and "DataLoader" not in pyg_data.__all__
    with pytest.warns(UserWarning, match="use 'transforms.RandomJitter' instead"):
        assert pyg_transforms.RandomTranslate(0.0)(Data(pos=torch.ones(2, 2))).pos.tolist() == [[1, 1], [1, 1]]


def test_names_in_the_files_that_scripts_take_them_from():
    assert BidirectionalNeighborSampler.__name__ == "BidirectionalNeighborSampler" and DataEdgeAttr("coo").edge_type is None
    batch = Collater(None, follow_batch=["x"])([(Data(x=torch.ones(2, 1)), 1.5), (Data(x=torch.ones(1, 1)), 2.5)])
    assert batch[0].x_batch.tolist() == [0, 0, 1] and isinstance(batch[1], torch.Tensor) and batch[1].tolist() == [1.5, 2.5]
    kept = filter_adj(torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0]), None, torch.tensor([True, False, True]))
    assert [None if t is None else t.tolist() for t in kept] == [[0, 2], [1, 0], None] and callable(to_networkit)


def test_modules_of_scripts_are_shown_as_pytorchs():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(2, 3)

    assert str(Net()) == "Net(\n  (lin): Linear(in_features=2, out_features=3, bias=True)\n)"


def test_loaders_over_stores_keep_the_order_of_edges():
    features, graph, kind = MyFeatureStore(), MyGraphStore(), ("v", "to", "v")
    pairs = torch.tensor([[0, 1, 2, 3, 0], [3, 2, 1, 0, 1]])  # not sorted by destination
    features.put_tensor(torch.arange(4.0), group_name="v", attr_name="x", index=None)
    features.put_tensor(torch.arange(5) * 10, group_name=kind, attr_name="edge_attr", index=None)
    graph.put_edge_index((pairs[0], pairs[1]), edge_type=kind, layout="coo", size=(4, 4))
    batch = next(iter(NeighborLoader((features, graph), num_neighbors=[-1], input_nodes="v", batch_size=4)))
    edges = batch[kind]
    assert batch["v"].n_id[edges.edge_index].tolist() == pairs[:, edges.e_id].tolist() and edges.edge_attr.tolist() == (edges.e_id * 10).tolist()
    links = next(iter(LinkNeighborLoader((features, graph), num_neighbors=[-1], edge_label_index=kind, batch_size=3)))
    assert links["v"].n_id[links[kind].edge_label_index].tolist() == pairs[:, :3].tolist()


def test_edges_that_know_their_sizes_are_taken_by_functions():
    pairs = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    edges = EdgeIndex(pairs, sparse_size=(4, 4), sort_order="row")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Data(edge_index=edges).num_nodes == 4
    assert add_self_loops(edges, num_nodes=3)[0].tolist() == add_self_loops(pairs)[0].tolist()
    assert subgraph(torch.tensor([0, 1]), edges)[0].tolist() == [[0, 1], [1, 0]] and is_undirected(edges)
    assert get_laplacian(edges, num_nodes=3)[1].tolist() == get_laplacian(pairs)[1].tolist()


def test_embeddings_of_a_model_by_type():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = SAGEConv((-1, -1), 8), SAGEConv((-1, -1), 4)

        def forward(self, x, edge_index):
            return self.conv2(self.conv1(x, edge_index).relu(), edge_index)

    x = {"a": torch.randn(3, 5), "b": torch.randn(2, 6)}
    pairs = {("a", "to", "b"): torch.tensor([[0, 1, 2], [0, 0, 1]]), ("b", "to", "a"): torch.tensor([[0, 1], [2, 0]])}
    model = to_hetero(Net(), (list(x), list(pairs)))
    want = model(x, pairs)
    found = get_embeddings_hetero(model, None, x, pairs)
    assert set(found) == {"a", "b"} and all(len(v) == 1 and torch.allclose(v[0], want[k]) for k, v in found.items())
