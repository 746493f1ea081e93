"""Graphs that are drawn and joined on a device with memory of its own: the arrays of the host, bit for bit, and nothing long copied to it."""

from __future__ import annotations

import os
from contextlib import contextmanager

import numpy as np
import pytest

from polygrad import Device, Tensor, nn
from polygrad._core import C, copied, current
from polygrad.geometric.data import Batch, Data, InMemoryDataset
from polygrad.geometric.data._there import join as there_join
from polygrad.geometric.datasets import RMAT
from polygrad.geometric.datasets.rmat import rmat_edges, rmat_graph
from polygrad.geometric.loader import DataLoader, LinkNeighborLoader, NeighborLoader, RandomNodeLoader, ShaDowKHopSampler
from polygrad.geometric.loader._ahead import copied_ahead
from polygrad.geometric.nn import GCNConv, global_add_pool
from polygrad.geometric.sampler import NeighborSampler, NodeSamplerInput

HERE = os.environ.get("POLY_TEST_DEVICE", "TEST")
SMALL = HERE == "TEST" and "POLY_TEST_TARGET" not in os.environ
EDGES = 64 if SMALL else 1 << 18  # R-MAT graphs of so many edges are drawn there (rmat_edges of the Target)


SCALE = 1 if SMALL else 600  # batches of so large graphs are made there (batch_bytes of the Target)


@pytest.fixture(autouse=True)
def on_device():
    before, Device.DEFAULT = Device.DEFAULT, HERE
    yield
    Device.DEFAULT = before


@contextmanager
def little_is_read(most):
    """At most so many bytes come from the device to the host. OpenCL's routines (searches, orders) run on the host."""
    before = current().read_bytes_of(HERE)
    yield
    if HERE != "OPENCL":
        assert current().read_bytes_of(HERE) - before <= most


# ---- R-MAT ----


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("nodes", [1, 2, 64, 65, 777])
def test_rmat_edges_are_those_of_the_host(nodes, shuffle):
    with little_is_read(1000):
        got = rmat_edges(nodes, EDGES, seed=nodes, shuffle=shuffle)
    assert got.dtype.np == np.int64 and np.array_equal(got.numpy(), rmat_graph(nodes, EDGES, seed=nodes, shuffle=shuffle))


def test_rmat_of_other_chances():
    for chances in [(0.1, 0.2, 0.3), (0.25, 0.25, 0.25), (1, 0, 0)]:
        assert np.array_equal(rmat_edges(100, EDGES, *chances, seed=3).numpy(), rmat_graph(100, EDGES, *chances, seed=3))


def test_rmat_of_chances_that_lead_out_of_range():
    """All are drawn again for ever: the host gives up after a while, and does it in place of the device."""
    edges = EDGES if SMALL else 8
    assert np.array_equal(rmat_edges(100, edges, 0, 0, 0).numpy(), rmat_graph(100, edges, 0, 0, 0))


def test_small_rmat():
    assert rmat_edges(0, 0).shape == (2, 0)
    assert np.array_equal(rmat_edges(9, 5, seed=2).numpy(), rmat_graph(9, 5, seed=2))


def test_rmat_dataset():
    sizes = {"num_nodes": 99, "num_edges": EDGES, "num_channels": 0, "num_classes": 0, "is_undirected": True}
    got = RMAT(**sizes)[0].edge_index
    Device.DEFAULT = "CPU"
    assert np.array_equal(got.numpy(), RMAT(**sizes)[0].edge_index.numpy())


# ---- batches ----


class Pair(Data):
    """Two kinds of nodes, and a number of its own for each graph."""

    def __inc__(self, key, value, store=None):
        return np.array([[self.x.shape[0]], [7]]) if key == "edge_index" else 3 if key == "kind" else super().__inc__(key, value, store)


def graphs(cls=Data, count=9):
    """With graphs without nodes or edges, and one with many."""
    rng = np.random.default_rng(5)
    out = []
    for k in range(count):
        nodes, edges = SCALE * [1, 0, 3, 40, 2, 5, 0, 1, 4][k % 9], SCALE * [0, 0, 6, 300, 1, 0, 0, 2, 9][k % 9]
        x = rng.normal(size=(nodes, 2)).astype(np.float32)
        pairs, weight = rng.integers(0, max(nodes, 1), (2, edges)), rng.integers(-9, 9, edges).astype(np.int16)
        out.append({"x": x, "edge_index": pairs, "edge_weight": weight, "y": np.array([k]), "kind": np.array(k % 3), "mask": x[:, 0] > 0})
    return out, cls


def made(given, cls, where=None):
    """As tensors of the host, or such as only the device has: they were computed there."""
    move = (lambda a: Tensor(a)) if where is None else (lambda a: there(Tensor(a)))
    return [cls(**{k: move(v) for k, v in g.items()}) for g in given]


def there(t):
    t = t.realize()
    return Tensor.where(t.ones_like().bool(), t, t).contiguous().realize() if t.numel() else t


def same(got, want):
    assert set(got.keys()) == set(want.keys())
    for key in want.keys():
        a, b = got[key], want[key]
        if isinstance(b, Tensor):
            assert a.dtype == b.dtype and np.array_equal(a.numpy(), b.numpy()), key
        else:
            assert a == b, key


@pytest.mark.parametrize("cls", [Data, Pair])
def test_joined_graphs_are_those_of_the_host(cls):
    mine = made(*graphs(cls), HERE)
    with little_is_read(0):
        got = Batch.from_data_list(mine, follow_batch=["y"])
    Device.DEFAULT = "CPU"
    want = Batch.from_data_list(made(*graphs(cls)), follow_batch=["y"])
    Device.DEFAULT = HERE
    same(got, want)
    for k in range(len(mine)):
        same(got[k], want[k])


@pytest.mark.parametrize("cls", [Data, Pair])
@pytest.mark.parametrize("static", [False, True])
def test_batches_are_those_of_the_host(cls, static):
    def batches(data):
        return list(DataLoader(data, batch_size=4, shuffle=True, seed=3, static_sizes=static, follow_batch=["y"]))

    mine = made(*graphs(cls, 27), HERE)
    with little_is_read(0):
        got = batches(mine)
    Device.DEFAULT = "CPU"
    want = batches(made(*graphs(cls, 27)))
    assert len(got) == len(want) == 7
    for a, b in zip(got, want):
        assert [str(s) for s in a.x.shape] == [str(s) for s in b.x.shape] and str(a.edge_index.shape) == str(b.edge_index.shape)
    Device.DEFAULT = HERE
    for a, b in zip(got, want):
        same(a, b)


def test_batches_share_programs():
    """Batches of other sizes run the programs of the first ones."""
    mine = made(*graphs(Data, 90), HERE)
    loader = DataLoader(mine, batch_size=6, shuffle=True, seed=1)
    list(loader)
    before = current().plans_built
    list(loader)
    assert current().plans_built - before <= 2


def test_batches_of_a_dataset():
    data = InMemoryDataset()
    data.data, data.slices = InMemoryDataset.collate(made(*graphs()))
    want = [b for b in DataLoader(data, batch_size=4)]
    for key in ("x", "edge_index"):
        data._data[key] = there(data._data[key])
    data._joined = None
    with little_is_read(0):
        got = [b for b in DataLoader(data, batch_size=4)]
    for a, b in zip(got, want):
        same(a, b)


def test_join_refuses_what_differs():
    a, b = Tensor.ones(2, 3).realize(), Tensor.ones(2, 4).realize()
    assert there_join([a, b], 1).shape == (2, 7) and there_join([a, a], 0).tolist() == [[1.0] * 3] * 4
    for other in (b, a.cast("int32").realize(), a[0].realize()):
        with pytest.raises((ValueError, RuntimeError), match="join"):
            there_join([a, other], 0)


# ---- batches that are copied ahead ----


def test_copies_ahead_are_waited_for():
    """Whoever reads, overwrites or gives back what is on its way comes after the copy."""
    g = current()
    values = [np.arange(k, k + 5000, dtype=np.float32) for k in range(40)]
    C.poly_set_copy_ahead(g.ptr, True)
    made = [copied(g, v) for v in values]
    C.poly_set_copy_ahead(g.ptr, False)
    assert (made[7] + made[3]).numpy().tolist() == (values[7] + values[3]).tolist()
    made[5].assign(made[5] * 2).realize()
    del made[20:30]
    full = [Tensor.full((5000,), 3.0).realize() for _ in range(12)]  # in the memory that was given back
    assert all((f.numpy() == 3).all() for f in full)
    assert np.array_equal(made[5].numpy(), values[5] * 2)
    for k in (0, 6, 19):
        assert np.array_equal(made[k].numpy(), values[k])


def test_large_copies_ahead():
    """More bytes than one chunk of page-locked memory holds."""
    values = np.random.default_rng(1).integers(0, 1 << 40, 3 << 20 if HERE != "TEST" else 5000)
    C.poly_set_copy_ahead(current().ptr, True)
    made = copied(current(), values)
    C.poly_set_copy_ahead(current().ptr, False)
    assert np.array_equal(made.numpy(), values)


def train(data):
    """Losses of some steps on batches whose arrays lie on the host."""
    Tensor.manual_seed(3)
    layer = GCNConv(2, 4)
    optimizer = nn.SGD(nn.get_parameters(layer), lr=0.05)
    losses = []
    for batch in DataLoader(data, batch_size=3, shuffle=True, seed=1):
        loss = global_add_pool(layer(batch.x, batch.edge_index).relu(), batch.batch, size=batch.num_graphs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return [loss.item() for loss in losses]


def test_training_on_batches_copied_ahead():
    Device.DEFAULT = "CPU"
    data = made(*graphs(count=18))  # on memory of the host
    want = train(data)
    Device.DEFAULT = HERE
    np.testing.assert_allclose(train(data), want, rtol=1e-4)


def test_a_batch_is_made_before_the_last_one_is_handed_out():
    order = []

    def batches():
        for k in range(3):
            order.append(("made", k))
            yield k
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        for k in copied_ahead(batches()):
            order.append(("given", k))
    if C.poly_can_copy_ahead(current().ptr):
        assert order == [("made", 0), ("made", 1), ("given", 0), ("made", 2), ("given", 1), ("given", 2)]


def test_neighbours_copied_ahead():
    rng = np.random.default_rng(0)
    x, pairs = rng.normal(size=(300, 4)).astype(np.float32), rng.integers(0, 300, (2, 2000))

    def batches():
        data = Data(x=Tensor(x), edge_index=Tensor(pairs))
        return [b for b in NeighborLoader(data, [4, 3], batch_size=64, shuffle=True, seed=2)]

    got = batches()
    Device.DEFAULT = "CPU"
    want = batches()
    Device.DEFAULT = HERE
    for a, b in zip(got, want):
        for key in ("x", "edge_index", "n_id", "e_id"):
            assert np.array_equal(a[key].numpy(), b[key].numpy()), key


# ---- neighbours ----


def large(kind):
    """A graph whose edges are many enough to draw from on the device (sample_edges of the Target): repeated edges, loops, nodes alone, a hub."""
    edges = 600 if SMALL else 1 << 20
    nodes = 70 if SMALL else 50_000
    rng = np.random.default_rng(4)
    pairs = rng.integers(0, nodes - 9, (2, edges))
    if kind == "hub":
        pairs[1, : edges // 3] = 3
    if kind == "few nodes":
        pairs %= 12
        nodes = 12
    x = rng.normal(size=(nodes, 3)).astype(np.float32)
    return {"x": x, "y": np.arange(nodes), "edge_index": pairs, "edge_attr": rng.normal(size=(edges, 2)).astype(np.float32)}


def loaded(data, counts, replace, seeds):
    options = {"batch_size": max(1, len(seeds) // 3), "shuffle": True, "seed": 5}
    return list(NeighborLoader(data, counts, input_nodes=Tensor(np.asarray(seeds)), replace=replace, **options))


@pytest.mark.parametrize("kind", ["random", "hub", "few nodes"])
@pytest.mark.parametrize("counts, replace", [([3, 2], False), ([3, 0, 2], True), ([-1, 4], False), ([12, 12], False), ([40], True)])
def test_neighbours_are_those_of_the_host(kind, counts, replace):
    arrays = large(kind)
    seeds = [3, 5, 3, len(arrays["x"]) - 1, 0, 11, 7]
    mine = made([arrays], Data, HERE)[0]
    sampler = NeighborSampler(mine, counts, replace=replace)
    assert sampler.draws_there
    with little_is_read(4096):
        got = loaded(mine, counts, replace, seeds)
    Device.DEFAULT = "CPU"
    want = loaded(Data(**{k: Tensor(v) for k, v in arrays.items()}), counts, replace, seeds)
    Device.DEFAULT = HERE
    assert len(got) == len(want) == 4
    for a, b in zip(got, want):
        assert [str(a[k].shape) for k in ("x", "edge_index", "n_id")] == [str(b[k].shape) for k in ("x", "edge_index", "n_id")]
        same(a, b)


def test_what_the_device_does_not_draw_is_drawn_on_the_host():
    arrays = large("random")
    for options in ({"disjoint": True}, {"subgraph_type": "induced"}, {"num_neighbors": [33]}):
        mine = made([arrays], Data, HERE)[0]
        got = next(iter(NeighborLoader(mine, **{"num_neighbors": [3], "batch_size": 4, "seed": 1, **options})))
        Device.DEFAULT = "CPU"
        want = next(
            iter(NeighborLoader(Data(**{k: Tensor(v) for k, v in arrays.items()}), **{"num_neighbors": [3], "batch_size": 4, "seed": 1, **options}))
        )
        Device.DEFAULT = HERE
        same(got, want)


def test_neighbours_are_checked():
    mine = made([large("random")], Data, HERE)[0]
    with pytest.raises(IndexError, match="seed 1: 99999 is out of range"):
        NeighborSampler(mine, [2]).sample_from_nodes(NodeSamplerInput(None, Tensor([1, 99999])))
    assert NeighborSampler(mine, [2]).sample_from_nodes(NodeSamplerInput(None, Tensor([], dtype="int64"))).node.shape == (0,)
    bad = large("random")
    bad["edge_index"][0, 7] = -1
    with pytest.raises(IndexError, match="edge 7"):
        NeighborSampler(made([bad], Data, HERE)[0], [2])


def test_samples_share_programs():
    """Samples of other sizes run the programs of the first ones."""
    mine = made([large("random")], Data, HERE)[0]
    loader = NeighborLoader(mine, [4, 3], batch_size=8, shuffle=True, seed=2, input_nodes=Tensor(np.arange(60)))
    for _ in range(2):
        list(loader)
    before = current().plans_built
    list(loader)
    assert current().plans_built - before <= 3


def test_links_and_shadows_of_a_graph_on_the_device():
    arrays = large("random")
    arrays["edge_index"] = arrays["edge_index"][:, :600]
    arrays["edge_attr"] = arrays["edge_attr"][:600]

    def batches(data):
        links = LinkNeighborLoader(data, [3], batch_size=5, seed=1, neg_sampling_ratio=1.0, edge_label_index=Tensor([[1, 2, 3, 4], [4, 5, 6, 7]]))
        shadows = ShaDowKHopSampler(data, depth=2, num_neighbors=2, node_idx=Tensor([1, 5]), batch_size=2, seed=1)
        return [next(iter(links)), next(iter(shadows)), next(iter(RandomNodeLoader(data, num_parts=5, seed=1)))]

    got = batches(made([arrays], Data, HERE)[0])
    Device.DEFAULT = "CPU"
    want = batches(Data(**{k: Tensor(v) for k, v in arrays.items()}))
    Device.DEFAULT = HERE
    for a, b in zip(got, want):
        same(a, b)


def test_trained_features_are_those_after_the_last_step():
    """Features that a step changes are not read a step ahead."""
    rng = np.random.default_rng(0)
    x, pairs = rng.normal(size=(60, 2)).astype(np.float32), rng.integers(0, 60, (2, 200))

    def losses():
        data = Data(x=Tensor(x, requires_grad=True), edge_index=Tensor(pairs))
        optimizer, out = nn.SGD([data.x], lr=0.5), []
        for batch in NeighborLoader(data, [3], batch_size=20, shuffle=True, seed=2):
            loss = batch.x.square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            out.append(loss.item())
        return out

    got = losses()
    Device.DEFAULT = "CPU"
    np.testing.assert_allclose(got, losses(), rtol=1e-5)
