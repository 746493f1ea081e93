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
from polygrad.geometric.loader import DataLoader, NeighborLoader
from polygrad.geometric.loader._ahead import copied_ahead
from polygrad.geometric.nn import GCNConv, global_add_pool

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
