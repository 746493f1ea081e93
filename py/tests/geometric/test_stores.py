"""Stores of features and edges, databases and datasets on disk, summaries; loaders around them."""

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric.data import (
    Data,
    EdgeAttr,
    HeteroData,
    MemoryFeatureStore,
    MemoryGraphStore,
    OnDiskDataset,
    SQLiteDatabase,
    Summary,
    TemporalData,
    TensorAttr,
)  # fmt: skip
from polygrad.geometric.loader import (
    CachedLoader,
    DataListLoader,
    DataLoader,
    DenseDataLoader,
    DynamicBatchSampler,
    NeighborLoader,
    NeighborSampler,
    PrefetchLoader,
    ShaDowKHopSampler,
    TemporalDataLoader,
    ZipLoader,
)  # fmt: skip
from polygrad.geometric.sampler import BidirectionalNeighborSampler, NodeSamplerInput, SamplerOutput
from polygrad.geometric.transforms import RootedEgoNets, RootedRWSubgraph, ToSparseTensor
from polygrad.geometric.utils import coalesce, geodesic_distance


def test_shadow_samples_of_a_sparse_adjacency_are_those_of_its_edges():
    """With all neighbours drawn the subgraphs are certain; values of edges travel with the entries."""
    rng = np.random.default_rng(2)
    pairs = np.unique(rng.integers(0, 12, (2, 30)), axis=1)
    plain = Data(x=Tensor(np.arange(12)), edge_index=Tensor(pairs), edge_weight=Tensor(np.arange(pairs.shape[1], dtype=np.float32)))
    sparse = ToSparseTensor()(plain.clone())
    options = {"depth": 2, "num_neighbors": 40, "node_idx": Tensor([3, 7, 1]), "batch_size": 3}
    (a,), (b,) = list(ShaDowKHopSampler(plain, **options)), list(ShaDowKHopSampler(sparse, **options))
    row, col, value = b.adj_t.coo()
    found = {(int(b.x[i].item()), int(b.x[j].item())): w for i, j, w in zip(col.tolist(), row.tolist(), value.tolist())}
    wanted = {(int(a.x[i].item()), int(a.x[j].item())): w for i, j, w in zip(*a.edge_index.tolist(), a.edge_weight.tolist())}
    assert found == wanted and "edge_index" not in b and "adj_t" in sparse and "edge_index" not in sparse
    assert a.root_n_id.tolist() == b.root_n_id.tolist() and a.batch.tolist() == b.batch.tolist()
    assert b.adj_t.sparse_sizes() == (b.x.shape[0], b.x.shape[0])


def test_feature_store():
    store = MemoryFeatureStore()
    x = Tensor(np.arange(6.0).reshape(3, 2))
    assert store.put_tensor(x, group_name="paper", attr_name="x", index=None)
    assert store.get_tensor(TensorAttr("paper", "x", Tensor([2, 0]))).tolist() == [[4, 5], [0, 1]]
    assert store["paper", "x", None].tolist() == x.tolist() and store["paper"].x[Tensor([1])].tolist() == [[2, 3]]
    assert store.get_tensor_size(group_name="paper", attr_name="x") == (3, 2)
    store.put_tensor(Tensor([[9.0, 9.0]]), group_name="paper", attr_name="x", index=Tensor([1]))
    assert store.view("paper").x[:].tolist() == [[0, 1], [9, 9], [4, 5]]
    assert [a.attr_name for a in store.get_all_tensor_attrs()] == ["x"] and store.remove_tensor("paper", "x", None)
    with pytest.raises(KeyError):
        store.get_tensor("paper", "x", None)
    with pytest.raises(ValueError, match="not fully specified"):
        store.get_tensor("paper")


def test_graph_store():
    store = MemoryGraphStore()
    kind = ("a", "to", "b")
    row, col = Tensor([1, 0, 1]), Tensor([2, 0, 0])
    store.put_edge_index((row, col), edge_type=kind, layout="coo", size=(2, 3))
    assert [v.tolist() for v in store[EdgeAttr(kind, "coo")]] == [[1, 0, 1], [2, 0, 0]]
    rowptr, cols, perm = store.csr()
    assert rowptr[kind].tolist() == [0, 1, 3] and cols[kind].tolist() == [0, 2, 0] and perm[kind].tolist() == [1, 0, 2]
    rows, colptr, perm = store.csc()
    assert colptr[kind].tolist() == [0, 2, 2, 3] and rows[kind].tolist() == [0, 1, 1]
    store.put_edge_index((rows[kind], colptr[kind]), edge_type=kind, layout="csc")
    assert store.remove_edge_index(kind, "coo") and store.coo()[1][kind].tolist() == [0, 0, 2]
    with pytest.raises(KeyError):
        store.get_edge_index(kind, "coo")


def graphs(count=5):
    return [Data(x=Tensor.ones(k + 1, 2), edge_index=Tensor([[0], [k]]), y=Tensor([k]), name=f"g{k}") for k in range(count)]


def test_on_disk(tmp_path):
    dataset = OnDiskDataset(tmp_path)
    dataset.extend(graphs())
    dataset.append(graphs(1)[0])
    dataset.close()
    again = OnDiskDataset(tmp_path)
    assert len(again) == 6 and again[3].name == "g3" and again[3].edge_index.tolist() == [[0], [3]] and again[2:4][1].num_nodes == 4
    assert [int(g.y.item()) for g in again.multi_get([4, 1])] == [4, 1]
    assert [b.num_graphs for b in DataLoader(again, batch_size=4)] == [4, 2]
    with pytest.raises(IndexError):
        again.get(9)
    assert again.get_summary().num_nodes.max == 5 and again.get_summary().num_graphs == 6


def test_on_disk_with_types(tmp_path):
    data = HeteroData()
    data["a"].x, data["b"].num_nodes = Tensor.ones(2, 3), 4
    data["a", "to", "b"].edge_index = Tensor([[0, 1], [3, 0]])
    dataset = OnDiskDataset(tmp_path)
    dataset.append(data)
    out = dataset[0]
    assert out.metadata() == data.metadata() and out["to"].edge_index.tolist() == [[0, 1], [3, 0]] and out["b"].num_nodes == 4
    assert "Number of nodes by node type" in str(Summary.from_dataset(dataset))


def test_database(tmp_path):
    db = SQLiteDatabase(tmp_path / "a.db", "rows")
    db[0:3] = [{"x": Tensor([1, 2]), ("a", 1): None}, [1.5, "text"], np.arange(3, dtype=np.int32)]
    assert db[0]["x"].tolist() == [1, 2] and ("a", 1) in db[0] and db[1] == [1.5, "text"] and db[2].dtype == np.int32 and len(db) == 3
    with pytest.raises(TypeError, match="cannot be stored"):
        db[3] = object()
    db.connection.execute('UPDATE "rows" SET data = ? WHERE id = 1', (b"\x05\x00\x00\x00\x00\x00\x00\x00[1,",))
    with pytest.raises(ValueError, match="damaged"):
        db[1]
    db.close()
    (tmp_path / "b.db").write_bytes(b"no database" * 100)
    with pytest.raises(ValueError, match="not an SQLite database"):
        SQLiteDatabase(tmp_path / "b.db", "rows")


def test_debug_and_memory():
    data = graphs()[2]
    assert data.debug() and data.pin_memory() is data and data.share_memory_() is data and not data.is_shared()
    with pytest.raises(ValueError, match="number of nodes: 7"):
        Data(edge_index=Tensor([[7], [0]]), num_nodes=2).debug()


# ---- loaders ----


def test_temporal_loader():
    events = TemporalData(src=Tensor([0, 1, 2, 0, 1]), dst=Tensor([5, 6, 7, 8, 6]), t=Tensor([1, 2, 3, 4, 5]), msg=Tensor.ones(5, 2))
    loader = TemporalDataLoader(events, batch_size=2, neg_sampling_ratio=2.0, seed=1)
    batches = list(loader)
    assert len(loader) == 3 and [b.t.tolist() for b in batches] == [[1, 2], [3, 4], [5]]
    for b in batches:
        assert b.neg_dst.shape == (2 * b.num_events,) and 5 <= b.neg_dst.numpy().min() and b.neg_dst.numpy().max() <= 8
        assert b.n_id.tolist() == sorted({*b.src.tolist(), *b.dst.tolist(), *b.neg_dst.tolist()})
    assert len(list(TemporalDataLoader(events, batch_size=2, drop_last=True))) == 2


def test_dense_and_lists():
    same = [Data(x=Tensor.full((3, 2), float(k)), y=Tensor([k])) for k in range(3)]
    batches = list(DenseDataLoader(same, batch_size=2))
    assert batches[0].x.shape == (2, 3, 2) and batches[1].y.tolist() == [[2]]
    assert [[g.name for g in b] for b in DataListLoader(graphs(3), batch_size=2)] == [["g0", "g1"], ["g2"]]


def test_dynamic_batches():
    sampler = DynamicBatchSampler(graphs(5), max_num=5)  # graphs of 1 to 5 nodes
    assert list(sampler) == [[0, 1], [2], [3], [4]]
    assert [b.num_nodes for b in DataLoader(graphs(5), batch_sampler=DynamicBatchSampler(graphs(5), max_num=7))] == [6, 4, 5]
    assert list(DynamicBatchSampler(graphs(5), max_num=3, skip_too_big=True)) == [[0, 1], [2]]
    assert list(DynamicBatchSampler(graphs(5), max_num=5, num_steps=2)) == [[0, 1], [2]]
    with pytest.raises(ValueError, match="num_steps"):
        len(sampler)


def ring(n=6):
    a = np.arange(n)
    pairs = np.stack([a, (a + 1) % n])
    return Data(x=Tensor(a.astype(np.float32).reshape(-1, 1)), edge_index=Tensor(pairs), y=Tensor(a), edge_attr=Tensor(a * 10))


def test_shadow():
    data = ring()
    for batch in ShaDowKHopSampler(data, depth=2, num_neighbors=3, node_idx=Tensor([0, 3]), batch_size=2):
        assert batch.num_graphs == 2 and batch.batch.tolist() == [0, 0, 0, 1, 1, 1] and batch.y.tolist() == [0, 3]
        assert sorted(batch.x.numpy()[:3, 0].tolist()) == [0, 4, 5] and sorted(batch.x.numpy()[3:, 0].tolist()) == [1, 2, 3]
        x, e = batch.x.numpy()[:, 0], batch.edge_index.numpy()
        assert ((x[e[0]] + 1) % 6 == x[e[1]]).all() and (batch.edge_attr.numpy() == 10 * x[e[0]]).all() and e.shape[1] == 4
        assert x[batch.root_n_id.numpy()].tolist() == [0, 3]


def test_layers_of_neighbors():
    size, n_id, adjs = next(iter(NeighborSampler(ring().edge_index, [-1, -1], node_idx=Tensor([2, 4]), batch_size=2)))
    assert size == 2 and n_id.tolist()[:2] == [2, 4] and [a.size for a in adjs] == [(n_id.shape[0], 4), (4, 2)]
    nodes = n_id.numpy()
    for a in adjs:
        e = a.edge_index.numpy()
        assert ((nodes[e[0]] + 1) % 6 == nodes[e[1]]).all() and (a.e_id.numpy() == nodes[e[0]]).all()
    size, n_id, adj = next(iter(NeighborSampler(ring().edge_index, [1], batch_size=3)))
    assert adj.size == (int(n_id.shape[0]), 3)


def test_loaders_around_loaders():
    data = ring()
    zipped = ZipLoader(
        [NeighborLoader(data, [-1], input_nodes=Tensor([0, 1, 2])), NeighborLoader(data, [-1], input_nodes=Tensor([3, 4]))], batch_size=2
    )
    ((a, b),) = zipped
    assert a.n_id.tolist()[:2] == [0, 1] and b.n_id.tolist()[:2] == [3, 4]
    cached = CachedLoader(NeighborLoader(data, [1], batch_size=3), transform=lambda batch: batch)
    first, second = list(cached), list(cached)
    assert all(x is y for x, y in zip(first, second)) and len(cached) == 2
    cached.clear()
    assert list(cached)[0] is not first[0]
    assert [b.num_graphs for b in PrefetchLoader(DataLoader(graphs(3), batch_size=2))] == [2, 1]


def test_a_mask_of_nodes_gives_their_numbers():
    mask = Tensor(np.array([False, True, False, True, False, True]))
    assert [b.input_id.tolist() for b in NeighborLoader(ring(), [1], input_nodes=mask, batch_size=2)] == [[1, 3], [5]]
    ids = [b.input_id.tolist() for b in NeighborLoader(ring(), [1], input_nodes=mask, input_id=Tensor([7, 8, 9]), batch_size=2)]
    assert ids == [[7, 8], [9]]
    assert [b.input_id.tolist() for b in NeighborLoader(ring(), [1], input_nodes=Tensor([4, 2]), batch_size=2)] == [[0, 1]]


def test_links_of_a_type_without_edges():
    from polygrad.geometric.loader import LinkNeighborLoader

    data = HeteroData()
    data["a"].x, data["b"].x = Tensor.ones(3, 1), Tensor.ones(2, 1)
    data["a", "to", "a"].edge_index = Tensor([[0, 1], [1, 2]])
    batch = next(iter(LinkNeighborLoader(data, [-1], edge_label_index=(("a", "likes", "b"), Tensor([[2], [1]])), batch_size=1)))
    assert batch["a", "likes", "b"].edge_label_index.tolist() == [[0], [0]] and batch["b"].n_id.tolist() == [1]


def test_coalesce_of_a_pair():
    row, col = coalesce((Tensor([1, 1, 0]), Tensor([0, 0, 1])))
    assert (row.tolist(), col.tolist()) == ([0, 1], [1, 0])
    (row, col), w = coalesce((Tensor([1, 1]), Tensor([0, 0])), Tensor([1.0, 2.0]))
    assert (row.tolist(), col.tolist(), w.tolist()) == ([1], [0], [3.0])


# ---- samples joined ----


def sample(node, row, col, edge):
    t = [Tensor(np.array(v, np.int64)) for v in (node, row, col, edge)]
    return SamplerOutput(*t, num_sampled_nodes=[1, len(node) - 1], num_sampled_edges=[len(edge)])


def test_merge():
    a, b = sample([4, 7, 2], [1, 2], [0, 0], [10, 11]), sample([4, 2, 9], [1, 2], [0, 0], [11, 12])
    out = a.merge_with(b)
    assert out.node.tolist() == [4, 7, 2, 9] and out.row.tolist() == [1, 2, 3] and out.col.tolist() == [0, 0, 0] and out.edge.tolist() == [10, 11, 12]
    assert list(out.num_sampled_nodes) == [1, 2, 0, 1] and list(out.num_sampled_edges) == [2, 1]
    out = a.merge_with(b, replace=False)
    assert out.node.tolist() == [4, 7, 2, 4, 2, 9] and out.row.tolist() == [1, 2, 4, 5] and list(out.num_sampled_nodes) == [1, 2, 1, 2]
    assert SamplerOutput.collate([a, b, a]).node.tolist() == [4, 7, 2, 9]
    with pytest.raises(ValueError, match="empty"):
        SamplerOutput.collate([])
    b.edge = None
    with pytest.raises(ValueError, match="edge"):
        SamplerOutput.collate([a, b])


def test_both_directions():
    data = Data(edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 4]]), num_nodes=5)
    out = BidirectionalNeighborSampler(data, [-1, -1]).sample_from_nodes(NodeSamplerInput(None, Tensor([2])))
    assert sorted(out.node.tolist()) == [0, 1, 2, 3, 4] and sorted(zip(out.global_row.tolist(), out.global_col.tolist())) == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
    ]
    assert sorted(out.edge.tolist()) == [0, 1, 2, 3]


# ---- transforms and distances ----


def test_rooted_subgraphs():
    path = Data(edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3, x=Tensor([[0.0], [1.0], [2.0]]))
    out = RootedEgoNets(1)(path)
    assert out.e_sub_batch.tolist() == [0, 0, 1, 1, 1, 1, 2, 2] and out.sub_edge_index.tolist()[0][:2] == [0, 1]
    assert out.map_data().x.numpy()[:, 0].tolist() == out.n_id.tolist()
    out = RootedRWSubgraph(2)(path)
    assert set(zip(out.n_sub_batch.tolist(), out.n_id.tolist())) >= {(0, 0), (1, 1), (2, 2), (0, 1), (2, 1)}


def test_geodesic():
    pos = Tensor([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    face = Tensor([[0, 0], [1, 2], [2, 3]])
    d = geodesic_distance(pos, face, norm=False)
    assert np.allclose(d.numpy()[1], [1, 0, 1, 2]) and np.allclose(d.numpy()[0, 2], 2**0.5)
    assert np.allclose(geodesic_distance(pos, face, src=Tensor([1, 0]), dst=Tensor([3, 2])).numpy(), [2, 2**0.5])  # an area of 1
