"""What layers and data objects do with unusual inputs, as PyG does it: no nodes, no edges, batches of one graph, orders of components."""

from __future__ import annotations

import numpy as np
import pytest

from polygrad import Tensor
from polygrad.geometric.data import HeteroData
from polygrad.geometric.nn import ClusterGCNConv, EGConv, GraphNorm, MFConv, MulAggregation, RGCNConv, SimpleConv
from polygrad.geometric.transforms import FaceToEdge

RNG = np.random.default_rng(0)
EDGES = np.array([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 3, 1]])


@pytest.mark.parametrize("make", [lambda: MFConv(4, 3, max_degree=2), lambda: ClusterGCNConv(4, 3), lambda: SimpleConv(combine_root="self_loop")])
def test_static_graphs(make):
    """Features of several runs over one graph: each as if it were alone."""
    conv, x = make(), RNG.standard_normal((2, 5, 4)).astype(np.float32)
    out = conv(Tensor(x), Tensor(EDGES)).numpy()
    for k in range(2):
        np.testing.assert_allclose(out[k], conv(Tensor(x[k]), Tensor(EDGES)).numpy(), rtol=1e-5, atol=1e-6)


def test_nodes_that_get_no_loop():
    """EGConv adds loops up to the last node that has an edge; the others gather nothing, of which the deviation is sqrt(1e-5)."""
    conv = EGConv(4, 4, aggregators=["sum", "std"], num_heads=2, num_bases=2)
    x = Tensor(RNG.standard_normal((6, 4)).astype(np.float32))
    bare = EGConv(4, 4, aggregators=["sum", "std"], num_heads=2, num_bases=2, add_self_loops=False)
    bare.load_state_dict(conv.state_dict())
    alone = bare(x, Tensor(np.zeros((2, 0), np.int64))).numpy()
    np.testing.assert_allclose(conv(x, Tensor(EDGES)).numpy()[4:], alone[4:], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(conv(x, Tensor(np.zeros((2, 0), np.int64))).numpy(), alone, rtol=1e-5, atol=1e-6)


def test_no_nodes():
    conv = RGCNConv(4, 3, 2, aggr="max")
    assert conv(Tensor.zeros(0, 4), Tensor(np.zeros((2, 0), np.int64)), Tensor(np.zeros(0, np.int64))).shape == (0, 3)
    norm = GraphNorm(4)
    grads = norm(Tensor.zeros(0, 4)).sum().gradient(norm.weight, norm.bias, norm.mean_scale, materialize_grads=True)
    assert all(g.tolist() == [0.0] * 4 for g in grads)


def test_products_of_rows_need_an_index():
    x = Tensor([[2.0], [3.0], [5.0]])
    assert MulAggregation()(x, Tensor([0, 0, 1])).tolist() == [[6.0], [5.0]]
    with pytest.raises(NotImplementedError, match="requires 'index'"):
        MulAggregation()(x, ptr=Tensor([0, 2, 3]))


def test_components_come_in_the_order_of_edges():
    data = HeteroData()
    data["a"].x, data["b"].x = Tensor([[0.0], [1.0], [2.0], [3.0]]), Tensor([[10.0], [11.0]])
    data["a", "to", "b"].edge_index = Tensor([[3, 1], [1, 0]])
    found = [(c["a"].x.flatten().tolist(), c["b"].x.flatten().tolist()) for c in data.connected_components()]
    assert found == [([3.0], [11.0]), ([1.0], [10.0]), ([0.0], []), ([2.0], [])]
    assert FaceToEdge()(data) is not None  # nothing to do
