"""Loaders that sample: what a batch may hold, that it follows the seed and nothing else, that draws are fair, and what is refused."""

import ctypes.util
import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from polygrad import Graph, Tensor
from polygrad._ffi import C
from polygrad.autograd import current
from polygrad.geometric.data import Data, HeteroData
from polygrad.geometric.loader import (
    ClusterData,
    ClusterLoader,
    GraphSAINTEdgeSampler,
    GraphSAINTNodeSampler,
    GraphSAINTRandomWalkSampler,
    HGTLoader,
    ImbalancedSampler,
    LinkLoader,
    LinkNeighborLoader,
    NeighborLoader,
    NodeLoader,
    RandomNodeLoader,
)
from polygrad.geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    NegativeSampling,
    NeighborSampler,
    NodeSamplerInput,
    NumNeighbors,
    SamplerOutput,
    random_walk,
)
from polygrad.geometric.utils import trim_to_layer

N, E = 120, 700
rng = np.random.default_rng(1)
PAIRS = rng.integers(0, N - 10, (2, E))  # the last ten nodes are alone
PAIRS[:, 5] = PAIRS[:, 6] = PAIRS[:, 7]  # an edge three times
PAIRS[0, 9] = PAIRS[1, 9]  # a loop
X, Y, ATTR = rng.normal(size=(N, 3)).astype(np.float32), rng.integers(0, 4, N), rng.normal(size=(E, 2)).astype(np.float32)


def graph(**kwargs):
    return Data(x=Tensor(X), edge_index=Tensor(PAIRS), edge_attr=Tensor(ATTR), y=Tensor(Y), **kwargs)


def library():
    """Authors, papers and places of three sizes; four kinds of edges."""
    data = HeteroData()
    sizes = {"author": 30, "paper": 50, "place": 5}
    for kind, n in sizes.items():
        data[kind].x = Tensor(np.arange(n * 2, dtype=np.float32).reshape(n, 2))
    for kind, n in (("author writes paper", 150), ("paper cites paper", 200), ("paper rev_writes author", 150), ("author at place", 30)):
        src, name, dst = kind.split()
        pairs = np.stack([rng.integers(0, sizes[src], n), rng.integers(0, sizes[dst], n)])
        data[src, name, dst].edge_index = Tensor(pairs)
        data[src, name, dst].weight = Tensor(np.arange(n, dtype=np.float32))
    return data


def check_batch(batch, counts=None, replace=False):
    """Nodes and edges are those of the graph, attributes theirs, and no node takes more than it may."""
    node, edge, pairs = batch.n_id.numpy(), batch.e_id.numpy(), batch.edge_index.numpy()
    assert pairs.dtype == np.int64 and node.dtype == np.int64
    np.testing.assert_array_equal(node[pairs], PAIRS[:, edge])
    np.testing.assert_array_equal(batch.x.numpy(), X[node])
    np.testing.assert_array_equal(batch.y.numpy(), Y[node])
    np.testing.assert_array_equal(batch.edge_attr.numpy(), ATTR[edge])
    if "batch" not in batch:
        assert np.unique(node).size == node.size
        assert replace or np.unique(edge).size == edge.size
    if counts is None:
        return
    assert (np.diff(pairs[1]) >= 0).all()  # by hop and destination
    hops = np.concatenate([[0], np.cumsum([int(n) for n in batch.num_sampled_nodes])])
    assert hops[-1] == node.size and sum(batch.num_sampled_edges) == edge.size
    taken = np.bincount(pairs[1], minlength=node.size)
    degree = np.bincount(PAIRS[1], minlength=N)[node]
    for k, count in enumerate(counts):
        mine, have = taken[hops[k] : hops[k + 1]], degree[hops[k] : hops[k + 1]]
        want = have if count < 0 else np.where(have > 0, count, 0) if replace else np.minimum(have, count)
        np.testing.assert_array_equal(mine, want)
        assert mine.sum() == batch.num_sampled_edges[k]
    assert not taken[hops[len(counts)] :].any()


def same(a, b):
    return all(np.array_equal(a[key].numpy(), b[key].numpy()) for key in ("n_id", "e_id", "edge_index"))


# ---- neighbours of nodes ----


@pytest.mark.parametrize(
    "counts, replace, batch_size",
    [([3, 2], False, 50), ([-1], False, 7), ([0, 3], False, 60), ([], False, 40), ([2, -1, 1], False, 16), ([4, 40], True, 30), ([40], False, 120)],
)
def test_neighbours_are_those_of_the_graph(counts, replace, batch_size):
    loader = NeighborLoader(graph(), counts, batch_size=batch_size, shuffle=True, replace=replace)
    assert len(loader) == -(-N // batch_size)
    seeds = []
    for batch in loader:
        check_batch(batch, counts, replace)
        size = int(batch.batch_size)
        np.testing.assert_array_equal(batch.n_id.numpy()[:size], batch.input_id.numpy())
        seeds.append(batch.n_id.numpy()[:size])
    assert len(seeds) == len(loader)
    np.testing.assert_array_equal(np.sort(np.concatenate(seeds)), np.arange(N))


def test_input_nodes():
    mask = np.zeros(N, bool)
    mask[[3, 60, 119]] = True
    for given in (Tensor(mask), mask, Tensor([3, 60, 119]), [3, 60, 119]):
        (batch,) = NeighborLoader(graph(), [2], input_nodes=given, batch_size=10)
        assert batch.n_id.numpy()[:3].tolist() == [3, 60, 119] and batch.batch_size == 3
        masked = getattr(given, "shape", None) == (N,)  # the nodes of a mask are called by their numbers, as in PyTorch Geometric
        assert batch.input_id.tolist() == ([3, 60, 119] if masked else [0, 1, 2])
        check_batch(batch, [2])
    (batch,) = NeighborLoader(graph(), [2], input_nodes=[3, 60], input_id=Tensor([10, 20]), batch_size=10)
    assert batch.input_id.tolist() == [10, 20]
    assert [int(b.batch_size) for b in NeighborLoader(graph(), [1], batch_size=50)] == [50, 50, 20]
    assert [int(b.batch_size) for b in NeighborLoader(graph(), [1], batch_size=50, drop_last=True)] == [50, 50]
    batches = list(NeighborLoader(graph(), [1], batch_sampler=[[4, 2], [7]]))
    assert [b.n_id.tolist()[: int(b.batch_size)] for b in batches] == [[4, 2], [7]]
    assert NeighborLoader(graph(), [1])(Tensor([5, 6])).n_id.tolist()[:2] == [5, 6]


def test_the_seed_decides_and_nothing_else():
    def run(**kwargs):
        return list(NeighborLoader(graph(), [3, 3], batch_size=32, shuffle=True, **kwargs))

    first = run(seed=4)
    for other in (
        run(seed=4, num_threads=1),
        run(seed=4, num_threads=3),
        run(seed=4, num_workers=3),
        run(seed=4, prefetch=0),
        run(seed=4, prefetch_factor=5),
    ):
        assert all(same(a, b) for a, b in zip(first, other))
    assert not all(same(a, b) for a, b in zip(first, run(seed=5)))
    loader = NeighborLoader(graph(), [3, 3], batch_size=32, shuffle=True, seed=4)
    assert all(same(a, b) for a, b in zip(first, loader)) and not all(same(a, b) for a, b in zip(first, loader))  # another epoch
    Tensor.manual_seed(9)
    a, b = run(), run()
    Tensor.manual_seed(9)
    c, d = run(), run()
    assert all(same(x, y) for x, y in zip(a + b, c + d)) and not all(same(x, y) for x, y in zip(a, b))


def test_draws_are_fair():
    data = Data(edge_index=Tensor(np.stack([np.arange(1, 41), np.zeros(40, np.int64)])), num_nodes=41)
    for count, replace in ((5, False), (35, False), (8, True)):
        loader = NeighborLoader(data, [count], batch_sampler=[[0]] * 1000, seed=3, replace=replace)
        seen = np.zeros(40)
        for batch in loader:
            assert batch.num_edges == count
            np.add.at(seen, batch.e_id.numpy(), 1)
        want = 1000 * count / 40
        assert np.abs(seen - want).max() < 5 * np.sqrt(want)


def test_weights():
    weight = np.array([0.0, 1.0, 3.0, 6.0], np.float32)
    data = Data(edge_index=Tensor([[1, 2, 3, 4], [0, 0, 0, 0]]), num_nodes=5, w=Tensor(weight))
    seen = np.zeros(4)
    for batch in NeighborLoader(data, [1], batch_sampler=[[0]] * 1000, weight_attr="w", seed=1):
        seen[batch.e_id.numpy()] += 1
    assert seen[0] == 0 and np.abs(seen - 100 * weight).max() < 5 * np.sqrt(600)
    with pytest.raises(ValueError, match="no attribute 'v'"):
        NeighborLoader(data, [1], weight_attr="v")
    data.w = Tensor([1.0, -1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="edge 1: the weight -1"):
        NeighborLoader(data, [1], weight_attr="w")


def test_kinds_of_subgraphs():
    data = graph()
    (batch,) = NeighborLoader(data, [2, 2], input_nodes=np.arange(20), batch_size=20, subgraph_type="induced", seed=1)
    check_batch(batch)
    node = batch.n_id.numpy()
    assert sorted(batch.e_id.tolist()) == np.flatnonzero(np.isin(PAIRS, node).all(axis=0)).tolist()
    assert "num_sampled_nodes" not in batch
    with pytest.warns(UserWarning, match="induced"):
        (other,) = NeighborLoader(data, [2, 2], input_nodes=np.arange(20), batch_size=20, directed=False, seed=1)
    assert same(batch, other)
    (batch,) = NeighborLoader(data, [2, 2], input_nodes=np.arange(20), batch_size=20, subgraph_type="bidirectional")
    pairs, edge = batch.edge_index.numpy(), batch.e_id.numpy()
    assert {tuple(p) for p in pairs.T} == {tuple(p[::-1]) for p in pairs.T}
    ends = np.sort(batch.n_id.numpy()[pairs], axis=0)
    np.testing.assert_array_equal(ends, np.sort(PAIRS[:, edge], axis=0))  # an edge or its opposite
    with pytest.raises(ValueError):
        NeighborLoader(data, [2], subgraph_type="whole")


def test_disjoint():
    (batch,) = NeighborLoader(graph(), [3, 3], input_nodes=[1, 2, 1], batch_size=3, disjoint=True)
    check_batch(batch, [3, 3])
    of, pairs = batch.batch.numpy(), batch.edge_index.numpy()
    assert of[:3].tolist() == [0, 1, 2] and batch.n_id.tolist()[:3] == [1, 2, 1] and batch.batch._count == 3
    np.testing.assert_array_equal(of[pairs[0]], of[pairs[1]])
    for k in range(3):
        assert np.unique(batch.n_id.numpy()[of == k]).size == (of == k).sum()


@pytest.mark.parametrize("strategy", ["uniform", "last"])
@pytest.mark.parametrize("of_edges", [False, True])
def test_times(strategy, of_edges):
    when = rng.integers(0, 100, E if of_edges else N)
    data, seeds, latest = graph(), np.arange(30), rng.integers(0, 100, 30)
    data.when = Tensor(when)
    kwargs = {"time_attr": "when", "temporal_strategy": strategy, "input_nodes": seeds, "batch_size": 30}
    (batch,) = NeighborLoader(data, [3, 2], input_time=Tensor(latest), **kwargs)
    assert batch.seed_time.tolist() == latest.tolist()
    edge_time = when if of_edges else when[PAIRS[0]]
    edge, pairs, of = batch.e_id.numpy(), batch.edge_index.numpy(), batch.batch.numpy()
    assert edge.size > 20 and (edge_time[edge] <= latest[of[pairs[1]]]).all()
    for k in range(30):
        ok = np.flatnonzero((PAIRS[1] == seeds[k]) & (edge_time <= latest[k]))
        mine = edge[pairs[1] == k]
        assert mine.size == min(3, ok.size)
        if strategy == "last":
            assert sorted(edge_time[mine]) == sorted(edge_time[ok])[-3:]
    if of_edges:
        with pytest.raises(ValueError, match="input_time"):
            list(NeighborLoader(data, [3], **kwargs))
    else:
        (batch,) = NeighborLoader(data, [3], **kwargs)  # the times of the nodes themselves
        edge, pairs = batch.e_id.numpy(), batch.edge_index.numpy()
        assert (when[PAIRS[0, edge]] <= when[batch.n_id.numpy()[pairs[1]]]).all()
    with pytest.raises(ValueError, match="not in the order of their times"):
        NeighborLoader(data, [3], is_sorted=True, **kwargs)
    with pytest.raises(ValueError, match="time_attr"):
        NeighborLoader(data, [3], input_time=Tensor(latest))


def test_types():
    data = library()
    counts = {kind: [3, 2] for kind in data.edge_types}
    counts["paper", "cites", "paper"] = [0, -1]
    loader = NeighborLoader(data, counts, input_nodes=("paper", np.arange(10, 20)), batch_size=5)
    for batch in loader:
        paper = batch["paper"]
        assert paper.batch_size == 5 and paper.n_id.tolist()[:5] == [paper.input_id.tolist()[k] + 10 for k in range(5)]
        for kind in data.node_types:
            np.testing.assert_array_equal(batch[kind].x.numpy(), data[kind].x.numpy()[batch[kind].n_id.numpy()])
            assert sum(batch[kind].num_sampled_nodes) == batch[kind].n_id.shape[0]
        for kind in data.edge_types:
            edge, pairs = batch[kind].e_id.numpy(), batch[kind].edge_index.numpy()
            ends = np.stack([batch[kind[0]].n_id.numpy()[pairs[0]], batch[kind[2]].n_id.numpy()[pairs[1]]])
            np.testing.assert_array_equal(ends, data[kind].edge_index.numpy()[:, edge])
            np.testing.assert_array_equal(batch[kind].weight.numpy(), edge)
            assert sum(batch[kind].num_sampled_edges) == edge.size
        assert batch["paper", "cites", "paper"].num_sampled_edges[0] == 0
        assert batch["place"].num_nodes == 0 and batch["author", "at", "place"].num_edges == 0
    assert len(list(NeighborLoader(data, [2], input_nodes="author", batch_size=30))) == 1
    with pytest.raises(ValueError, match="no nodes of type 'book'"):
        NeighborLoader(data, [2], input_nodes="book")
    with pytest.raises(ValueError, match="node type"):
        NeighborLoader(data, [2])
    with pytest.raises(ValueError, match="Missing number of neighbors"):
        NeighborLoader(data, {("author", "at", "place"): [1]}, input_nodes="author")


def test_opposites_by_type():
    with pytest.warns(UserWarning, match="'at', 'place'"):
        (batch,) = NeighborLoader(library(), [4, 2], input_nodes="author", batch_size=30, subgraph_type="bidirectional")
    there, back = batch["author", "writes", "paper"].edge_index.numpy(), batch["paper", "rev_writes", "author"].edge_index.numpy()
    assert {tuple(p) for p in there.T} == {tuple(p[::-1]) for p in back.T}
    assert "e_id" not in batch["author", "writes", "paper"]


def test_hgt():
    data = library()
    loader = HGTLoader(data, {"author": [4, 4], "paper": [6, 0], "place": [1, 1]}, ("paper", np.arange(20)), batch_size=10, seed=2)
    first = list(loader)
    for batch in first:
        assert batch["paper"].num_nodes <= 16 and batch["author"].num_nodes <= 8
        for kind in data.edge_types:
            src, dst, pairs = batch[kind[0]].n_id.numpy(), batch[kind[2]].n_id.numpy(), data[kind].edge_index.numpy()
            want = np.flatnonzero(np.isin(pairs[0], src) & np.isin(pairs[1], dst))
            assert sorted(batch[kind].e_id.tolist()) == want.tolist()  # all edges between the nodes
    again = list(HGTLoader(data, loader.node_sampler.num_samples, ("paper", np.arange(20)), batch_size=10, seed=2, num_threads=1))
    assert all(a["author"].n_id.tolist() == b["author"].n_id.tolist() for a, b in zip(first, again))
    with pytest.raises(NotImplementedError):
        HGTLoader(graph(), [2], None)


# ---- neighbours of links ----


def ends(batch, index):
    return batch.n_id.numpy()[index.numpy()]


def test_links():
    data = graph()
    links = rng.integers(0, N, (2, 45))
    seen = 0
    for batch in LinkNeighborLoader(data, [3, 3], edge_label_index=Tensor(links), edge_label=Tensor(np.arange(45)), batch_size=20):
        check_batch(batch, [3, 3])
        at = batch.input_id.numpy()
        np.testing.assert_array_equal(ends(batch, batch.edge_label_index), links[:, at])
        np.testing.assert_array_equal(batch.edge_label.numpy(), at)
        seen += at.size
    assert seen == 45
    (batch,) = LinkNeighborLoader(data, [1], batch_size=E)
    np.testing.assert_array_equal(ends(batch, batch.edge_label_index), PAIRS)
    assert "edge_label" not in batch


def test_negative_links():
    data = graph()
    loader = LinkNeighborLoader(data, [2], batch_size=100, neg_sampling=NegativeSampling("binary", 1.5), seed=1)
    batch = next(iter(loader))
    assert batch.edge_label_index.shape == (2, 250) and batch.edge_label.tolist() == [1.0] * 100 + [0.0] * 150
    np.testing.assert_array_equal(ends(batch, batch.edge_label_index)[:, :100], PAIRS[:, :100])
    batch = next(iter(LinkNeighborLoader(data, [2], edge_label=Tensor(np.arange(E) % 3), batch_size=6, neg_sampling="binary")))
    assert batch.edge_label.tolist() == [1, 2, 3, 1, 2, 3] + [0] * 6
    for disjoint in (False, True):
        loader = LinkNeighborLoader(data, [2], batch_size=50, neg_sampling={"mode": "triplet", "amount": 3}, disjoint=disjoint)
        batch = next(iter(loader))
        np.testing.assert_array_equal(ends(batch, batch.src_index), PAIRS[0, :50])
        np.testing.assert_array_equal(ends(batch, batch.dst_pos_index), PAIRS[1, :50])
        assert batch.dst_neg_index.shape == (50, 3)
        if disjoint:
            of = batch.batch.numpy()
            for index in (batch.src_index, batch.dst_pos_index, batch.dst_neg_index[:, 2]):
                np.testing.assert_array_equal(of[index.numpy()], np.arange(50))
    weight = np.zeros(N, np.float32)
    weight[[7, 9]] = [1, 3]
    drawn = NegativeSampling("triplet", 1, dst_weight=Tensor(weight)).sample(400, "dst", N).numpy()
    assert set(drawn) == {7, 9} and abs((drawn == 9).sum() - 300) < 60
    with pytest.raises(ValueError, match="edge_label"):
        LinkNeighborLoader(data, [2], edge_label=Tensor(np.ones(E)), neg_sampling="triplet")
    for wrong in (("double", 1), ("binary", 0), ("triplet", 1.5)):
        with pytest.raises(ValueError):
            NegativeSampling(*wrong)


def test_links_by_type():
    data, kind = library(), ("author", "writes", "paper")
    pairs = data[kind].edge_index.numpy()
    for disjoint in (False, True):
        loader = LinkNeighborLoader(data, [3], edge_label_index=kind, batch_size=40, neg_sampling="binary", disjoint=disjoint)
        batch = next(iter(loader))
        index = batch[kind].edge_label_index.numpy()
        np.testing.assert_array_equal(batch["author"].n_id.numpy()[index[0, :40]], pairs[0, :40])
        np.testing.assert_array_equal(batch["paper"].n_id.numpy()[index[1, :40]], pairs[1, :40])
        batch = next(iter(LinkNeighborLoader(data, [3], (kind, None), batch_size=40, neg_sampling={"mode": "triplet"}, disjoint=disjoint)))
        np.testing.assert_array_equal(batch["author"].n_id.numpy()[batch["author"].src_index.numpy()], pairs[0, :40])
        assert batch["paper"].dst_neg_index.shape == (40,)
    data["author"].when, data["paper"].when = Tensor(np.arange(30) % 10), Tensor(np.arange(50) % 10)
    time_of = Tensor(np.full(150, 4))
    loader = LinkNeighborLoader(data, [3, 3], (kind, None), edge_label_time=time_of, time_attr="when", batch_size=40, neg_sampling="binary")
    batch = next(iter(loader))
    for name in ("author", "paper"):
        first = batch[name].num_sampled_nodes[0]
        assert (batch[name].when.numpy()[first:] <= 4).all()  # what was drawn; seeds are as they are
    negative = batch[kind].edge_label_index.numpy()[:, 40:]
    assert (batch["author"].when.numpy()[negative[0]] <= 4).all() and (batch["paper"].when.numpy()[negative[1]] <= 4).all()
    with pytest.raises(ValueError, match="go together"):
        LinkNeighborLoader(data, [3], (kind, None), edge_label_time=time_of)


# ---- parts of a graph ----


def check_induced(batch, node):
    want = np.flatnonzero(np.isin(PAIRS, node).all(axis=0))
    have = node[batch.edge_index.numpy()]
    assert sorted(map(tuple, have.T)) == sorted(map(tuple, PAIRS[:, want].T))
    np.testing.assert_array_equal(batch.x.numpy(), X[node])
    return want


def test_random_nodes():
    data = graph()
    data.number = Tensor(np.arange(N))
    seen = []
    for batch in RandomNodeLoader(data, num_parts=4, shuffle=True, seed=1):
        node = batch.number.numpy()
        want = check_induced(batch, node)
        np.testing.assert_array_equal(node[batch.edge_index.numpy()], PAIRS[:, want])  # in the order of the graph
        np.testing.assert_array_equal(batch.edge_attr.numpy(), ATTR[want])
        seen.append(node)
    assert len(seen) == 4 and np.sort(np.concatenate(seen)).tolist() == list(range(N)) and seen[0].tolist() != list(range(30))
    whole = sum(batch.num_nodes for batch in RandomNodeLoader(library(), num_parts=3, shuffle=True))
    assert whole == 85


needs_metis = pytest.mark.skipif(ctypes.util.find_library("metis") is None, reason="METIS is not installed (libmetis5)")


@needs_metis
@pytest.mark.parametrize("sparse_format", ["csr", "csc"])
@pytest.mark.parametrize("recursive", [False, True])
def test_clusters(sparse_format, recursive, tmp_path):
    data = graph()
    data.number = Tensor(np.arange(N))
    made = ClusterData(data, 6, recursive=recursive, log=False, sparse_format=sparse_format, save_dir=str(tmp_path))
    again = ClusterData(data, 6, recursive=recursive, log=False, sparse_format=sparse_format, save_dir=str(tmp_path))
    np.testing.assert_array_equal(made.partition.node_perm.numpy(), again.partition.node_perm.numpy())
    assert len(made) == 6 and repr(made) == "ClusterData(6)"
    parts = [made[k] for k in range(6)]
    np.testing.assert_array_equal(np.sort(np.concatenate([p.number.numpy() for p in parts])), np.arange(N))
    for part in parts:
        want = check_induced(part, part.number.numpy())
        assert sorted(map(tuple, part.edge_attr.tolist())) == sorted(map(tuple, ATTR[want].tolist()))
    for batch in ClusterLoader(made, batch_size=2, shuffle=True):
        node, pairs = batch.number.numpy(), batch.edge_index.numpy()
        want = check_induced(batch, node)
        assert (np.diff(pairs[0 if sparse_format == "csr" else 1]) >= 0).all() and batch.edge_attr.shape == (want.size, 2)
        attr = {tuple(a): tuple(p) for a, p in zip(ATTR.tolist(), PAIRS.T.tolist())}
        assert [attr[tuple(a)] for a in batch.edge_attr.tolist()] == [tuple(p) for p in node[pairs].T.tolist()]
    whole = ClusterData(data, 6, recursive=recursive, log=False, keep_inter_cluster_edges=True, sparse_format=sparse_format)
    assert sum(p.num_edges for p in (whole[k] for k in range(6))) == E


@needs_metis
def test_clusters_are_found():
    """Six cliques of ten nodes with one edge between neighbours: the parts are the cliques."""
    pairs = [(a, b) for a in range(60) for b in range(60) if a // 10 == b // 10 and a != b] + [(10 * k, (10 * k + 11) % 60) for k in range(6)]
    data = Data(edge_index=Tensor(np.array(pairs).T), num_nodes=60)
    order = ClusterData(data, 6, log=False).partition.node_perm.numpy().reshape(6, 10)
    assert {tuple(sorted(part)) for part in order.tolist()} == {tuple(range(10 * k, 10 * k + 10)) for k in range(6)}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="hides the library as Linux finds it")
def test_missing_metis_names_the_package(tmp_path):
    """In a process that finds broken files in the place of the library."""
    for name in ("libmetis.so.5", "libmetis.so", "libmetis.dylib"):
        (tmp_path / name).write_text("")
    program = "import numpy as np\nfrom polygrad.geometric.loader.cluster import metis\nmetis(np.array([[0, 1], [1, 0]]), 2, 2)"
    paths = os.pathsep.join([str(tmp_path), os.environ.get("LD_LIBRARY_PATH", "")])
    env = {**os.environ, "LD_LIBRARY_PATH": paths, "PYTHONPATH": os.pathsep.join(sys.path)}
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env)
    assert out.returncode and "RuntimeError: METIS was not found" in out.stderr and "libmetis5" in out.stderr


@pytest.mark.parametrize("cls, kwargs", [(GraphSAINTNodeSampler, {}), (GraphSAINTEdgeSampler, {}), (GraphSAINTRandomWalkSampler, {"walk_length": 2})])
def test_graph_saint(cls, kwargs, tmp_path):
    data = graph()
    data.number = Tensor(np.arange(N))
    loader = cls(data, batch_size=12, num_steps=3, sample_coverage=20, save_dir=str(tmp_path), log=False, seed=5, **kwargs)
    assert len(loader) == 3
    batches = list(loader)
    assert len(batches) == 3
    for batch in batches:
        node = batch.number.numpy()
        want = check_induced(batch, node)
        assert (np.diff(node) > 0).all() and batch.edge_norm.shape == (want.size,)
        np.testing.assert_array_equal(batch.node_norm.numpy(), loader.node_norm[node])
        row = batch.edge_index.numpy()[0]
        assert (np.diff(row) >= 0).all()
    again = cls(data, batch_size=12, num_steps=3, sample_coverage=20, save_dir=str(tmp_path), log=False, **kwargs)
    np.testing.assert_array_equal(again.node_norm, loader.node_norm)
    # Sums over subgraphs, weighted, are sums over the graph on average: the mean weight of a node that is ever drawn is 1 / N a subgraph.
    mean, steps = np.zeros(N), 600
    for batch in cls(data, batch_size=12, num_steps=steps, sample_coverage=60, log=False, seed=6, **kwargs):
        mean[batch.number.numpy()] += batch.node_norm.numpy() / steps
    drawn = mean[mean > 0] * N
    assert abs(drawn.mean() - 1) < 0.1


def test_graph_saint_refuses():
    with pytest.raises(ValueError, match="edge_index"):
        GraphSAINTNodeSampler(Data(x=Tensor(X)), batch_size=3)
    data = graph()
    data.node_norm = Tensor(X[:, 0])
    with pytest.raises(ValueError, match="node_norm"):
        GraphSAINTNodeSampler(data, batch_size=3)
    empty = Data(x=Tensor(X), edge_index=Tensor(np.zeros((2, 0), np.int64)))
    with pytest.raises(ValueError, match="no nodes could be drawn"):
        GraphSAINTNodeSampler(empty, batch_size=3, sample_coverage=1)


def test_imbalanced():
    y = np.array([0] * 90 + [1] * 10)
    for given, nodes in ((Tensor(y), None), (Data(x=Tensor(np.ones((100, 1), np.float32)), y=Tensor(y)), np.arange(50, 100))):
        sampler = ImbalancedSampler(given, input_nodes=nodes, num_samples=2000)
        drawn = np.array(list(sampler))
        kept = y if nodes is None else y[nodes]
        assert len(sampler) == 2000 and drawn.max() < kept.size
        assert abs(kept[drawn].mean() - 0.5) < 0.06
    data = graph()
    loader = NeighborLoader(data, [2], sampler=ImbalancedSampler(data, num_samples=30), batch_size=10)
    assert len(loader) == 3 and [int(b.batch_size) for b in loader] == [10, 10, 10]
    with pytest.raises(ValueError, match="whole numbers"):
        ImbalancedSampler(Tensor([0.5]))


# ---- samplers, and loaders of one's own ----


def test_samplers_give_tensors():
    sampler = NeighborSampler(graph(), [3, 2])
    out = sampler.sample_from_nodes(NodeSamplerInput(None, Tensor([4, 5])))
    assert isinstance(out, SamplerOutput) and isinstance(out.row, Tensor) and len(out.num_sampled_nodes) == 3
    np.testing.assert_array_equal(out.global_row.numpy(), PAIRS[0, out.edge.numpy()])
    out = sampler.sample_from_edges(EdgeSamplerInput(None, Tensor([4]), Tensor([5])), NegativeSampling("binary"))
    assert out.metadata[2].tolist() == [1.0, 0.0]
    back = NeighborSampler(graph(), [-1], sample_direction="backward").sample_from_nodes(NodeSamplerInput(None, Tensor([4])))
    assert sorted(back.edge.tolist()) == np.flatnonzero(PAIRS[0] == 4).tolist() and (back.row.numpy() == 0).all()
    assert NumNeighbors({("a", "to", "b"): [1, 2]}, default=[0, 0]).get_values([("a", "to", "b"), ("b", "to", "a")]) == {
        ("a", "to", "b"): [1, 2],
        ("b", "to", "a"): [0, 0],
    }


class Stars(BaseSampler):
    """Every seed with the edges of node 0."""

    def sample_from_nodes(self, inputs, **kwargs):
        assert isinstance(inputs.node, Tensor)
        node = Tensor(np.concatenate([inputs.node.numpy(), [0]]))
        return SamplerOutput(node, Tensor([0]), Tensor([1]), Tensor([2]), metadata=(inputs.input_id, inputs.time))

    def sample_from_edges(self, inputs, neg_sampling=None):
        node = Tensor(np.concatenate([inputs.row.numpy(), inputs.col.numpy()]))
        index = Tensor(np.arange(node.shape[0]).reshape(2, -1))
        return SamplerOutput(node, Tensor([0]), Tensor([1]), Tensor([2]), metadata=(inputs.input_id, index, inputs.label, inputs.time))

    @property
    def edge_permutation(self):
        return Tensor(np.arange(E)[::-1].copy())


def test_own_samplers_and_transforms():
    batches = list(NodeLoader(graph(), Stars(), batch_size=50, transform=lambda b: (b, "seen")))
    assert len(batches) == 3 and batches[0][1] == "seen" and batches[0][0].e_id.tolist() == [E - 3]
    (batch,) = LinkLoader(graph(), Stars(), edge_label_index=[[1], [2]], batch_size=4)
    assert batch.n_id.tolist() == [1, 2]

    def halve(out):
        assert isinstance(out.row, Tensor)
        out.row, out.col, out.edge = out.row[:1], out.col[:1], out.edge[:1]
        return out

    assert {b.num_edges for b in NeighborLoader(graph(), [3], batch_size=40, transform_sampler_output=halve, input_nodes=np.arange(80))} == {1}


def test_walks():
    pairs = np.stack([np.arange(10), (np.arange(10) + 1) % 10])
    walk, edges = random_walk(Tensor(pairs), Tensor([0, 7]), 4, return_edge_indices=True)
    assert walk.tolist() == [[0, 1, 2, 3, 4], [7, 8, 9, 0, 1]] and edges.tolist() == [[0, 1, 2, 3], [7, 8, 9, 0]]
    stuck, edges = random_walk(Tensor([[0], [1]]), Tensor([0]), 3, num_nodes=3, return_edge_indices=True)
    assert stuck.tolist() == [[0, 1, 1, 1]] and edges.tolist() == [[0, -1, -1]]
    with pytest.raises(IndexError, match="3 is out of range for 3 nodes"):
        random_walk(Tensor([[0], [1]]), Tensor([3]), 3, num_nodes=3)
    with pytest.raises(ValueError, match="above 0"):
        random_walk(Tensor([[0], [1]]), Tensor([0]), 3, p=0)


# ---- attributes ----


def test_attributes_of_every_kind():
    data = graph()
    data.names, data.note, data.wide = [f"n{k}" for k in range(N)], "whole", np.arange(N)
    data.table = Tensor(rng.normal(size=(N, 4)).astype(np.float32), requires_grad=True)
    data.flag, data.half = Tensor(Y > 1), Tensor(X).cast("bfloat16")
    (batch,) = NeighborLoader(data, [2], input_nodes=[3, 4], batch_size=2, static_sizes=True)
    node = batch.n_id.numpy()
    assert batch.names == [f"n{k}" for k in node] and batch.note == "whole" and batch.wide.tolist() == node.tolist()
    np.testing.assert_array_equal(batch.flag.numpy(), Y[node] > 1)
    np.testing.assert_array_equal(batch.half.numpy(), data.half.numpy()[node])
    np.testing.assert_array_equal(batch.table.numpy(), data.table.numpy()[node])
    batch.table.sum().backward()
    want = np.zeros((N, 1))
    want[node] = 1
    np.testing.assert_array_equal(data.table.grad.numpy(), np.broadcast_to(want, (N, 4)))
    assert type(batch.num_nodes) is int
    sized = Data(edge_index=Tensor(PAIRS), num_nodes=N)
    (batch,) = NeighborLoader(sized, [2], input_nodes=[3, 4], batch_size=2)
    assert batch.num_nodes == batch.n_id.shape[0]


def test_changed_attributes_are_seen():
    data = graph()
    loader = NeighborLoader(data, [1], input_nodes=[0], batch_size=1)
    data.x = Tensor(X + 1)
    (batch,) = loader
    np.testing.assert_array_equal(batch.x.numpy(), X[batch.n_id.numpy()] + 1)


# ---- edges of the possible ----


def test_graphs_with_little():
    empty = Data(x=Tensor(np.ones((3, 2), np.float32)), edge_index=Tensor(np.zeros((2, 0), np.int64)))
    (batch,) = NeighborLoader(empty, [5, 5], batch_size=3)
    assert batch.edge_index.shape == (2, 0) and batch.n_id.tolist() == [0, 1, 2] and list(map(int, batch.num_sampled_edges)) == [0, 0]
    assert list(NeighborLoader(Data(edge_index=Tensor(np.zeros((2, 0), np.int64)), num_nodes=0), [5])) == []
    assert list(NeighborLoader(empty, [5], input_nodes=[])) == []
    (batch,) = NeighborLoader(Data(x=Tensor(np.ones((3, 2), np.float32))), [2], batch_size=3)  # no edge_index at all
    assert batch.n_id.tolist() == [0, 1, 2]
    (batch,) = NeighborLoader(graph(), [-1, -1], input_nodes=[N - 1], batch_size=1)  # a node alone
    assert batch.n_id.tolist() == [N - 1] and batch.num_edges == 0


def test_what_is_refused():
    data = graph()
    for given in ([N], [-N - 1], Tensor(np.ones(N + 1, bool)), [0.5]):
        with pytest.raises(IndexError):
            NeighborLoader(data, [1], input_nodes=given)
    wrong = Data(edge_index=Tensor([[0, 5], [1, 1]]), num_nodes=3)
    with pytest.raises(IndexError, match="source of edge 1: 5 is out of range for 3 nodes"):
        NeighborLoader(wrong, [1])
    for kwargs, error in (
        ({"batch_size": 0}, ValueError),
        ({"surprise": 1}, TypeError),
        ({"num_workers": -1}, ValueError),
        ({"shuffle": True, "sampler": [1]}, ValueError),
        ({"batch_sampler": [[1]], "batch_size": 4}, ValueError),
        ({"temporal_strategy": "first"}, ValueError),
        ({"time_attr": "when"}, ValueError),
    ):
        with pytest.raises(error):
            NeighborLoader(data, [1], **kwargs)
    with pytest.raises(ValueError, match="-1"):
        NeighborLoader(data, [-2])
    with pytest.raises(IndexError, match="entry 500"):
        list(NeighborLoader(data, [1], sampler=[500]))
    with pytest.raises(IndexError, match="seed 0: 200 is out of range"):
        NeighborSampler(data, [1]).sample_from_nodes(NodeSamplerInput(None, Tensor([200])))
    with pytest.raises(ValueError):
        LinkNeighborLoader(data, [1], edge_label_index=Tensor([1, 2]))
    with pytest.raises(ValueError, match="edge_label has"):
        LinkNeighborLoader(data, [1], edge_label=Tensor([1, 2]))
    with pytest.raises(ValueError, match="num_parts"):
        RandomNodeLoader(data, 0)


def test_errors_in_the_background_come_back():
    data = graph()
    loader = NeighborLoader(data, [1], batch_size=10)
    loader.input_data.node[25] = 5000
    it = iter(loader)
    next(it), next(it)
    with pytest.raises(IndexError, match="5000"):
        next(it)


def test_threads_end_with_the_loop():
    for batch in NeighborLoader(graph(), [1], batch_size=1):
        break
    it = iter(NeighborLoader(graph(), [1], batch_size=1, num_workers=2))
    next(it)
    del it, batch
    gc.collect()
    for _ in range(100):
        if not any("polygrad-loader" in t.name for t in threading.enumerate()):
            return
        time.sleep(0.02)
    raise AssertionError([t.name for t in threading.enumerate()])


def test_batches_share_one_plan(cpu):
    """Programs are made for the first batch; batches of other sizes run them."""
    data = graph()
    weight = Tensor(np.ones((3, 2), np.float32), requires_grad=True)
    made, sizes = [], set()
    for batch in NeighborLoader(data, [3, 2], batch_size=50, shuffle=True, seed=1):
        before = C.poly_plans_built(current().ptr)
        g = Graph(batch.edge_index, batch.num_nodes)
        out = (batch.x + g.mean(g.src(batch.x))) @ weight
        loss = (out[: batch.batch_size] ** 2).mean()
        loss.backward()
        node, pairs = batch.n_id.numpy(), batch.edge_index.numpy()
        mean = np.zeros((node.size, 3))
        np.add.at(mean, pairs[1], X[node[pairs[0]]])
        mean /= np.maximum(np.bincount(pairs[1], minlength=node.size), 1)[:, None]
        want = ((X[node] + mean) @ np.ones((3, 2)))[: int(batch.batch_size)]
        np.testing.assert_allclose(loss.item(), (want**2).mean(), rtol=1e-4)
        assert np.isfinite(weight.grad.numpy()).all()
        weight.grad = None
        made.append(C.poly_plans_built(current().ptr) - before)
        sizes.add((int(batch.num_nodes), int(batch.num_edges), int(batch.batch_size)))
    assert len(sizes) == 3 and made[0] > 0 and made[1:] == [0, 0]


def test_layers_on_fewer_and_fewer_nodes():
    """Rows and edges of hops that a layer does not need can be left out; their numbers are variables too."""
    data, made = graph(), []
    for batch in NeighborLoader(data, [3, 2], batch_size=50, shuffle=True, seed=1):
        before = C.poly_plans_built(current().ptr)
        x, trimmed, edge_index = batch.x, batch.x, batch.edge_index
        for layer in range(2):
            g = Graph(batch.edge_index, batch.num_nodes)
            x = x + g.sum(g.src(x))
            trimmed, edge_index, _ = trim_to_layer(layer, batch.num_sampled_nodes, batch.num_sampled_edges, trimmed, edge_index)
            g = Graph(edge_index, trimmed.shape[0])
            trimmed = trimmed + g.sum(g.src(trimmed))
        assert trimmed.shape[0] == sum(batch.num_sampled_nodes[:2])
        n = int(batch.batch_size)
        np.testing.assert_allclose(trimmed.numpy()[:n], x.numpy()[:n], rtol=1e-5)
        made.append(C.poly_plans_built(current().ptr) - before)
    assert made[0] > 0 and made[1:] == [0, 0]
