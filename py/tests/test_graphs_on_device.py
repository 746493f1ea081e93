"""Graphs of an edge_index that lies on a device with memory of its own: made where the indices are, equal to those of the host bit for bit."""

from __future__ import annotations

import os

import numpy as np
import pytest

from polygrad import Device, Graph, Profile, Tensor, nn
from polygrad.geometric.nn import GCNConv

HERE = os.environ.get("POLY_TEST_DEVICE", "TEST")
EDGES = 32 if HERE == "TEST" and "POLY_TEST_TARGET" not in os.environ else 1 << 16  # from so many on (graph_edges of the Target)


@pytest.fixture(autouse=True)
def on_device():
    before, Device.DEFAULT = Device.DEFAULT, HERE
    yield
    Device.DEFAULT = before


def there(index, dtype=np.int64):
    """An edge_index that only the device has: it was computed there."""
    x = Tensor(np.ascontiguousarray(index.T.astype(dtype))).realize()
    return x.T.contiguous().realize()


def draw(kind, edges, nodes):
    rng = np.random.default_rng(edges)
    index = rng.integers(0, nodes, (2, edges))
    if kind == "hub":
        index[1, : edges // 2] = 3
    if kind == "sorted":
        index[1].sort()
    if kind == "one way":
        index[1] = nodes - 1 - index[0]
    return index


def arrays(g):
    named = {f"{what} {side}": getattr(g, what)(side) for what in ("rowptr", "order", "other") for side in ("in", "out")}
    return {k: v.numpy() for k, v in (named | {"src": g.src_index, "dst": g.dst_index}).items()}


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("kind", ["random", "hub", "sorted", "one way"])
def test_arrays_are_those_of_the_host(kind, dtype):
    nodes = 9 if EDGES < 100 else 1000
    index = draw(kind, 3 * EDGES, nodes)
    got, want = Graph(there(index, dtype), nodes + 2), Graph(index, nodes + 2)
    with_sums(got, want, nodes + 2)
    for k, v in arrays(want).items():
        np.testing.assert_array_equal(arrays(got)[k], v, err_msg=k)


def with_sums(got, want, nodes):
    """Rows of every length are found in the table behind the row pointers, at both ends."""
    x = np.random.default_rng(1).standard_normal((nodes, 16)).astype(np.float32)
    for side in ("src", "dst"):
        sums = [g.sum(g.src(Tensor(x))) if side == "src" else g.sum(g.dst(Tensor(x)), "out") for g in (got, want)]
        assert np.array_equal(*(s.numpy() for s in sums))


def test_the_number_of_nodes_is_found():
    index = draw("random", 2 * EDGES, 40)
    index[0, 5] = 77
    assert Graph(there(index)).num_nodes == 78


@pytest.mark.parametrize("bad, says", [(-1, "source -1 is negative"), (50, "source 50 is out of range for 50 nodes")])
def test_errors_name_the_edge(bad, says):
    index = draw("random", 2 * EDGES, 50)
    index[0, 7] = bad
    with pytest.raises(IndexError, match=f"edge 7: {says}"):
        Graph(there(index), 50)


def test_indices_that_are_written_are_seen():
    index = draw("random", 2 * EDGES, 50)
    t, x = there(index), Tensor(np.arange(50, dtype=np.float32))
    conv = lambda: (lambda g: g.sum(g.src(x)).numpy())(Graph(t, 50))  # noqa: E731
    first = conv()
    assert np.array_equal(conv(), first)
    t.assign(there(index[:, ::-1] // 2))
    want = np.zeros(50, np.float32)
    np.add.at(want, index[1] // 2, (index[0] // 2).astype(np.float32))
    np.testing.assert_allclose(conv(), want)


def test_a_compiled_step_takes_other_graphs():
    index = [draw("random", 2 * EDGES, 50), draw("hub", 2 * EDGES, 50)]
    x = Tensor(np.random.default_rng(2).standard_normal((50, 8)).astype(np.float32)).realize()
    Tensor.manual_seed(3)
    layer = GCNConv(8, 4)

    def loss(layer, opt, x, edge_index):
        value = layer(x, edge_index).square().mean()
        value.backward()
        opt.step()
        opt.zero_grad()
        return value

    step = nn.compile_step(loss, layer, nn.SGD(nn.get_parameters(layer), lr=0.0), x, there(index[0]))
    for i in (0, 1, 0):
        step.run(x, there(index[i]))
        want = layer(x, Tensor(index[i])).square().mean()
        np.testing.assert_allclose(step.loss_value(), want.item(), rtol=1e-5)


def test_nothing_as_long_as_the_edges_comes_to_the_host():
    """The rows are made by routines and kernels of the device."""
    t = there(draw("random", 2 * EDGES, 50))
    with Profile() as p:
        Graph(t, 50).rowptr("in").realize()
    assert sum("segment_order" in k.name for k in p.kernels) >= 1, [k.name for k in p.kernels]
