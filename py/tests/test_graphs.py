"""The Graph class: making, checking, derived graphs, the moves and their gradients, on every awkward kind of graph."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from graph_helpers import KINDS, assert_narrow, big_graph, edges, stored_by
from helpers import gradcheck, gradgradcheck
from scipy import sparse

import polygrad.nn.functional as F
from polygrad import Context, Graph, HeteroGraph, Profile, Tensor
from polygrad._ffi import C
from polygrad.autograd import current
from polygrad.graphs import REDUCTIONS

INDEX = np.array([[0, 1, 2, 2], [2, 2, 0, 2]])


# ---- making ----


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_every_way_of_giving_edges(dtype):
    a = INDEX.astype(dtype)
    strided = np.zeros((2, 8), dtype)[:, ::2]
    strided[:] = a
    swapped = a.astype(a.dtype.newbyteorder())
    made = [Graph(x, 3) for x in (a, a.tolist(), np.asfortranarray(a), strided, swapped, Tensor(a.copy()))]
    made += [Graph.from_coo(a[0], a[1], 3), Graph.from_coo(a[0].astype(np.int32), a[1].astype(np.int64), 3)]
    for g in made:
        assert (g.num_nodes, g.num_edges, g.num_src, g.num_dst) == (3, 4, 3, 3)
        np.testing.assert_array_equal(g.edge_index.numpy(), a)
        assert g.src_index.tolist() == [0, 1, 2, 2] and g.dst_index.tolist() == [2, 2, 0, 2]


def test_count_of_nodes_is_found():
    assert Graph([[0, 4], [1, 2]]).num_nodes == 5
    assert Graph([[0], [7]]).num_nodes == 8
    assert Graph(np.zeros((2, 0), np.int64)).num_nodes == 0


def test_from_csr():
    g = Graph.from_csr([0, 1, 1, 4], [2, 0, 1, 2])
    assert g.num_nodes == 3
    np.testing.assert_array_equal(g.edge_index.numpy(), [[2, 0, 1, 2], [0, 2, 2, 2]])
    b = Graph.from_csr(np.array([0, 2, 3], np.int32), np.array([4, 0, 1], np.int64), num_src=5)
    assert b.is_bipartite and (b.num_src, b.num_dst) == (5, 2)


def test_from_scipy():
    a = sparse.csr_matrix(np.array([[0, 1.5, 0], [0, 0, 2], [3, 0, 4]]))
    g, w = Graph.from_scipy(a, weights=True)
    dense = np.zeros((3, 3))
    dense[g.src_index.numpy(), g.dst_index.numpy()] = w.numpy()
    np.testing.assert_array_equal(dense, a.toarray())
    assert Graph.from_scipy(sparse.coo_matrix(np.ones((2, 5)))).is_bipartite


def test_from_networkx():
    g, w = Graph.from_networkx(nx.Graph([("a", "b", {"w": 2.0}), ("b", "c"), ("c", "c")]), weight="w")
    assert g.num_nodes == 3
    pairs = sorted(zip(g.src_index.tolist(), g.dst_index.tolist(), w.tolist()))
    assert pairs == [(0, 1, 2.0), (1, 0, 2.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, 1.0)]
    assert Graph.from_networkx(nx.DiGraph([(0, 1), (1, 2)])).num_edges == 2


def test_same_tensor_gives_the_same_graph():
    t = Tensor(INDEX.astype(np.int64))
    a, b = Graph(t, 3), Graph(t, 3)
    assert a._p == b._p and a.edge_index is t
    assert Graph(Tensor(INDEX.astype(np.int64)), 3)._p != a._p


def test_a_changed_tensor_gives_another_graph():
    t = Tensor(INDEX.astype(np.int64)).realize()
    a = Graph(t, 3)
    t.assign(Tensor(INDEX[::-1].astype(np.int64).copy())).realize()
    assert Graph(t, 3).src_index.tolist() == INDEX[1].tolist()
    assert a.src_index.tolist() == INDEX[0].tolist()


def test_a_graph_does_not_follow_the_array():
    a = INDEX.astype(np.int64).copy()
    g = Graph(a, 3)
    a[:] = 0
    np.testing.assert_array_equal(g.edge_index.numpy(), INDEX)


def test_pickle_and_repr():
    g = pickle.loads(pickle.dumps(Graph(INDEX, 5)))
    assert g.num_nodes == 5 and g.edge_index.tolist() == INDEX.tolist() and repr(g) == "<Graph of 5 nodes, 4 edges>"
    b = pickle.loads(pickle.dumps(Graph.bipartite([[3], [0]], 4, 1)))
    assert b.is_bipartite and repr(b) == "<Graph of 4 to 1 nodes, 1 edges>"


def test_bad_graphs_say_what_is_wrong():
    cases = [
        (lambda: Graph([[0, 1], [1, 7]], 3), IndexError, r"edge 1.*7.*3"),
        (lambda: Graph([[0, -2], [1, 1]], 3), IndexError, r"edge 1.*-2"),
        (lambda: Graph([[0, 1, 2], [1, 1]], 3), ValueError, "length"),
        (lambda: Graph(np.ones((2, 3), np.float32), 3), TypeError, "int32 or int64, not float32"),
        (lambda: Graph(np.ones((2, 3), np.uint8), 3), TypeError, "uint8"),
        (lambda: Graph(np.ones((3, 2), np.int64), 3), ValueError, r"\[2, E\]"),
        (lambda: Graph(Tensor([[0.0], [1.0]]), 3), TypeError, "int32 or int64"),
        (lambda: Graph(Tensor([0, 1]), 3), ValueError, r"\[2, E\]|shape"),
        (lambda: Graph.from_coo([0, 1], [1], 3), ValueError, "2 and 1"),
        (lambda: Graph.from_coo([[0]], [[1]], 3), ValueError, "one axis"),
        (lambda: Graph(INDEX, -3), ValueError, "negative"),
        (lambda: Graph(INDEX, 3, num_src=3), ValueError, "not both"),
        (lambda: Graph(INDEX, 2**31 + 1), ValueError, "2147483649|too many|2\\^31"),
        (lambda: Graph.from_csr([0, 3, 2], [0, 1]), ValueError, "rowptr|row"),
        (lambda: Graph.from_csr([0, 1, 3], [0, 1]), ValueError, "3.*2"),
        (lambda: Graph.from_csr([], []), ValueError, "rowptr"),
        (lambda: Graph.bipartite([[0], [4]], 5, 4), IndexError, "4"),
        (lambda: Graph.bipartite([[0], [1]], 5, 4).num_nodes, ValueError, "num_src"),
        (lambda: Graph.bipartite([[0], [1]], 5, 4).undirected(), ValueError, "nodes|bipartite"),
        (lambda: Graph(INDEX, 3).src(Tensor.ones(4, 2)), ValueError, "4"),
        (lambda: Graph(INDEX, 3).sum(Tensor.ones(3, 2)), ValueError, "3"),
        (lambda: Graph(INDEX, 3).sum(Tensor.ones(4, 2), side="up"), ValueError, "side"),
        (lambda: Graph(INDEX, 3).reduce(Tensor.ones(4, 2), "median"), ValueError, "median"),
        (lambda: Graph(INDEX, 3).sum(np.ones((4, 2))), TypeError, "ndarray"),
        (lambda: Graph(INDEX, 3).carry(Tensor.ones(4)), ValueError, "made from another"),
    ]
    for k, (make, error, text) in enumerate(cases):
        with pytest.raises(error, match=text):
            make()
            pytest.fail(f"case {k} gave no error")


# ---- what is built ----


@pytest.mark.parametrize("kind", KINDS)
def test_rows_and_degrees(kind):
    index, nodes = edges(kind)
    g = Graph(index, nodes)
    for side, key, far in (("in", index[1], index[0]), ("out", index[0], index[1])):
        order = np.argsort(key, kind="stable")
        np.testing.assert_array_equal(g.order(side).numpy(), order)
        np.testing.assert_array_equal(g.other(side).numpy(), far[order])
        np.testing.assert_array_equal(g.degree(side).numpy(), np.bincount(key, minlength=nodes))
        np.testing.assert_array_equal(g.rowptr(side).numpy(), np.concatenate([[0], np.cumsum(np.bincount(key, minlength=nodes))]))


@pytest.mark.parametrize("kind", KINDS)
def test_derived_graphs(kind):
    index, nodes = edges(kind)
    g = Graph(index, nodes)
    all_loops = np.tile(np.arange(nodes), (2, 1))
    has = set(index[0][index[0] == index[1]].tolist())
    missing = np.array([k for k in range(nodes) if k not in has], np.int64)
    np.testing.assert_array_equal(g.with_self_loops().edge_index.numpy(), np.concatenate([index, all_loops], 1))
    np.testing.assert_array_equal(g.with_self_loops(only_missing=True).edge_index.numpy(), np.concatenate([index, np.stack([missing] * 2)], 1))
    np.testing.assert_array_equal(g.without_self_loops().edge_index.numpy(), index[:, index[0] != index[1]])
    np.testing.assert_array_equal(g.reversed().edge_index.numpy(), index[::-1])
    both = {(a, b) for a, b in index.T} | {(b, a) for a, b in index.T}
    assert {tuple(p) for p in g.undirected().edge_index.numpy().T} == both
    once = g.coalesced().edge_index.numpy().T
    assert len(once) == len({tuple(p) for p in index.T}) and {tuple(p) for p in once} == {tuple(p) for p in index.T}
    for d in (g.with_self_loops(), g.without_self_loops(), g.reversed(), g.undirected(), g.coalesced()):
        origin = d.origin.numpy()
        assert origin.shape == (d.num_edges,) and (origin < index.shape[1]).all()
    assert g.origin is None


def test_derived_graphs_are_kept():
    g = Graph(INDEX, 3)
    assert g.with_self_loops()._p == g.with_self_loops()._p and g.reversed().reversed()._p == g._p


def test_carry():
    g, w = Graph(INDEX, 3), Tensor([1.0, 2.0, 3.0, 4.0])
    assert g.with_self_loops().carry(w, 9.0).tolist() == [1.0, 2.0, 3.0, 4.0, 9.0, 9.0, 9.0]
    assert g.without_self_loops().carry(w).tolist() == [1.0, 2.0, 3.0]
    assert Graph(np.zeros((2, 0), np.int64), 2).with_self_loops().carry(Tensor.ones(0, 2), 5.0).tolist() == [[5.0, 5.0], [5.0, 5.0]]


# ---- the moves ----


def reduce_rows(m, key, nodes, op):
    """numpy's answer; 0 for a node without edges, 1 for prod."""
    f = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod, "var": np.var, "std": np.std}
    f["logsumexp"] = lambda x, axis: np.log(np.exp(x).sum(axis))
    out = np.full((nodes, *m.shape[1:]), 1.0 if op == "prod" else 0.0)
    for v in range(nodes):
        if (key == v).any():
            out[v] = f[op](m[key == v], axis=0)
    return out


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_moves(kind, shape):
    """Values of any rank."""
    index, nodes = edges(kind)
    g, rng = Graph(index, nodes), np.random.default_rng(1)
    x, m = rng.standard_normal((nodes, *shape)), rng.standard_normal((index.shape[1], *shape))
    np.testing.assert_array_equal(g.src(Tensor(x)).numpy(), x[index[0]])
    np.testing.assert_array_equal(g.dst(Tensor(x)).numpy(), x[index[1]])
    for side, key in (("in", index[1]), ("out", index[0])):
        for op in REDUCTIONS:
            got, want = g.reduce(Tensor(m), op, side).numpy(), reduce_rows(m, key, nodes, op)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=op)
            np.testing.assert_array_equal(getattr(g, op)(Tensor(m), side).numpy(), got)
        a = g.softmax(Tensor(m), side).numpy()
        want = np.exp(m) / np.maximum(reduce_rows(np.exp(m), key, nodes, "sum"), 1e-300)[key]
        np.testing.assert_allclose(a, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", [*REDUCTIONS, "softmax"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind, op):
    index, nodes = edges(kind)
    index = np.concatenate([index, index], 1)  # no node has one edge alone: std has a kink there
    g, rng = Graph(index, nodes), np.random.default_rng(2)
    x, w = rng.standard_normal((nodes, 2)), rng.standard_normal((index.shape[1], 1))

    def f(x, w):
        m = g.src(x) * w + g.dst(x)
        return g.sum(g.softmax(m) * g.src(x)) if op == "softmax" else g.reduce(m, op) + g.reduce(m, op, "out")

    gradcheck(f, x, w)


def test_std_and_its_gradient_have_no_nan():
    """Also where a node has one edge or none, or equal values."""
    g = Graph([[0, 1, 1, 2], [1, 1, 1, 2]], 4)
    x = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    y = g.std(g.src(x))
    y.sum().backward()
    assert np.isfinite(y.numpy()).all() and np.isfinite(x.grad.numpy()).all()


def test_bipartite():
    index = np.array([[0, 3, 3, 1], [1, 1, 0, 1]])
    g = Graph.bipartite(index, num_src=4, num_dst=3)
    x, y = np.arange(8.0).reshape(4, 2), np.arange(6.0).reshape(3, 2)
    assert g.in_degree.tolist() == [1, 3, 0] and g.out_degree.tolist() == [1, 1, 0, 2]
    np.testing.assert_array_equal(g.sum(g.src(Tensor(x))).numpy(), reduce_rows(x[index[0]], index[1], 3, "sum"))
    np.testing.assert_array_equal(g.max(g.dst(Tensor(y)), "out").numpy(), reduce_rows(y[index[1]], index[0], 4, "max"))
    gradcheck(lambda x, y: g.sum(g.src(x) * g.dst(y)), x, y)
    r = g.reversed()
    assert (r.num_src, r.num_dst) == (3, 4)


def test_softmax_is_stable():
    g = Graph([[0, 1, 2], [0, 0, 1]], 3)
    m = Tensor([1e4, 1e4, -1e4])
    assert g.softmax(m).tolist() == [0.5, 0.5, 1.0]
    assert np.isfinite(g.logsumexp(m).numpy()).all()


def test_empty_neighbourhoods_give_no_nan_gradients():
    g = Graph([[0, 1], [1, 1]], 3)
    for op in REDUCTIONS:
        x = Tensor([0.5, 2.0, 3.0], requires_grad=True)
        g.reduce(g.src(x) * x.sum(), op).sum().backward()
        assert np.isfinite(x.grad.numpy()).all(), op


def test_same_bits_from_run_to_run_and_for_every_thread_count(cpu):
    index, g = big_graph(97, 4001)
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((97, 13)).astype(np.float32), rng.standard_normal((4001, 1)).astype(np.float32)
    results = []
    for threads in (1, 2, 3, 2):
        with Context(THREADS=threads):
            t = Tensor(x.copy(), requires_grad=True)
            y = g.sum(g.softmax(g.src(t) * Tensor(w.copy())) * g.src(t))
            results.append([y.numpy().tobytes(), y.square().sum().gradient(t)[0].numpy().tobytes()])
    assert all(r == results[0] for r in results) and any(results[0][1])


def test_order_of_edges_changes_only_rounding(device):
    index, g = big_graph(17, 307)
    order = np.random.default_rng(3).permutation(307)
    h = Graph(np.ascontiguousarray(index[:, order]), 17)
    x, w = np.random.default_rng(0).standard_normal((17, 5)), np.random.default_rng(1).standard_normal((307, 1))
    for op in REDUCTIONS[:-1]:
        a = g.reduce(g.src(Tensor(x)) * Tensor(w), op).numpy()
        b = h.reduce(h.src(Tensor(x)) * Tensor(np.ascontiguousarray(w[order])), op).numpy()
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=op)


def test_one_kernel_and_nothing_wide():
    _, g = big_graph()
    x, w = Tensor.randn(17, 11).realize(), Tensor.randn(307, 1).realize()
    for op in ("sum", "mean", "max", "min", "prod"):
        p = stored_by(lambda op=op: g.reduce(g.src(x) * w, op))
        assert len(p.kernels) == 1, p
        assert_narrow(p, 307, 11)
    for op in REDUCTIONS:
        assert_narrow(stored_by(lambda op=op: g.reduce(g.src(x) * w, op).square().sum().gradient(x)), 307, 11)


def test_a_large_graph_builds():
    """A million edges, with a hub: rows agree with numpy's."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, 50_000, (2, 1_000_000)).astype(np.int32)
    index[1, ::2] = 7
    g = Graph(index, 50_000)
    np.testing.assert_array_equal(g.order("in").numpy(), np.argsort(index[1], kind="stable"))
    assert int(g.in_degree.max().item()) == int((index[1] == 7).sum())


# ---- several types ----


def test_hetero_graph():
    g = HeteroGraph({("a", "likes", "b"): [[0, 1], [1, 0]], ("b", "knows", "b"): Graph([[0], [1]], 2)}, {"a": 3})
    assert g.num_nodes == {"a": 3, "b": 2} and g.node_types == ["a", "b"] and len(g) == 2
    assert g["likes"].num_src == 3 and g["b", "knows", "b"].num_nodes == 2
    assert "HeteroGraph" in repr(g) and list(g) == g.edge_types


def test_bad_hetero_graphs():
    with pytest.raises(TypeError, match="relation"):
        HeteroGraph({"likes": [[0], [0]]})
    with pytest.raises(ValueError, match="no count.*'b'"):
        HeteroGraph({("a", "likes", "b"): [[0], [0]]}, {"a": 1})
    with pytest.raises(ValueError, match="there are 3"):
        HeteroGraph({("a", "likes", "a"): Graph([[0], [0]], 2)}, {"a": 3})
    with pytest.raises(IndexError):
        HeteroGraph({("a", "likes", "b"): [[0], [5]]}, {"a": 1, "b": 2})
    g = HeteroGraph({("a", "r", "b"): [[0], [0]], ("b", "r", "a"): [[0], [0]]}, {"a": 1, "b": 1})
    with pytest.raises(KeyError, match="several"):
        g["r"]
    with pytest.raises(KeyError, match="no relation"):
        g["s"]


@pytest.mark.parametrize("op", ["max", "min"])
def test_the_largest_of_messages_that_are_sums(device, op):
    """What a kernel adds up anew may differ in the last bit from what another one did: the gradient must still find its edge."""
    rng = np.random.default_rng(5)
    index, v, e = rng.integers(0, 6, (2, 40)), 7, 40
    a, w, u = (rng.standard_normal(s) for s in ((e, 3), (5, 3), (4, 5)))
    x, w1, w2 = (Tensor(t, requires_grad=True) for t in (a, w, u))
    out = Graph(index, v).reduce(F.linear(F.linear(x, w1), w2), op)
    weights = rng.standard_normal((v, 4))
    (out * Tensor(weights)).sum().backward()
    m = a @ w.T @ u.T
    g = np.zeros_like(m)
    for node in range(v):
        edges = np.flatnonzero(index[1] == node)
        if edges.size:
            best = edges[getattr(m[edges], "arg" + op)(0)]
            g[best, np.arange(4)] = weights[node]
    np.testing.assert_allclose(x.grad.numpy(), g @ u @ w, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(w2.grad.numpy(), g.T @ (a @ w.T), rtol=1e-6, atol=1e-9)


def test_a_sum_inside_a_sum_over_the_same_axis():
    """The value at k of a reduction, in a sum over k, and in another sum over k inside it: two values, not one."""
    rng = np.random.default_rng(4)
    g = Graph(rng.integers(0, 5, (2, 9)), 5)
    edge, first, second, att, way = (Tensor(rng.standard_normal(s)) for s in ((9, 2), (3, 2), (3, 3), (3,), (3,)))
    loss = g.softmax((F.linear(edge, first) * att).sum(-1)).square().sum()
    inside, apart = (loss.gradient(att)[0] * way).sum().item(), (loss.gradient(att)[0].realize() * way).sum().item()
    assert abs(inside - apart) < 1e-9 * abs(apart)
    gradcheck(lambda e: g.max(F.linear(F.linear(e, first).relu(), second)), edge.numpy())


def test_rows_that_no_edge_reads_have_no_gradient(device):
    """Functions of one end are computed for every node; where no edge looks, infinities must not come back as NaN."""
    g = Graph([[0, 1, 1, 2, 2, 3], [1, 1, 2, 3, 0, 0]], num_nodes=5)  # node 4 has no edges
    x = Tensor(np.random.default_rng(1).standard_normal((5, 3)), requires_grad=True)
    count = Tensor(np.array([1.0, 2.0, 2.0, 1.0, 0.0]), requires_grad=True)
    for program in (
        lambda: g.sum(g.src(x) / g.src(count).unsqueeze(-1)),
        lambda: g.sum(g.src(count).log().unsqueeze(-1) * g.src(x)),
        lambda: g.sum(g.src(count).rsqrt().unsqueeze(-1) * g.src(x)),
        lambda: g.softmax(g.softmax(g.dst(x))).sin(),
    ):
        x.grad = count.grad = None
        program().sum().backward()
        assert np.isfinite(x.grad.numpy()).all()
        assert count.grad is None or np.isfinite(count.grad.numpy()[:4]).all()
    np.testing.assert_allclose((g.src(x) / g.src(count).unsqueeze(-1)).sum().gradient(count)[0].numpy()[4], 0)


def test_the_largest_of_scaled_and_shifted_values(device):
    """A product may be rounded before it is added, or not, in each kernel: the gradient must find the largest all the same."""
    r = np.random.default_rng(3)
    index, n, v = np.stack([r.integers(0, 9, 60), r.integers(0, 7, 60)]), 9, 7
    h, scale, shift = (Tensor(r.standard_normal(s).astype(np.float32), requires_grad=True) for s in ((n, 5), (v, 5), (v, 5)))
    g = Graph.bipartite(index, n, v)
    g.max((g.dst(scale) * g.src(h) + g.dst(shift)).tanh()).sum().backward()
    m = np.tanh(scale.numpy()[index[1]].astype(np.float64) * h.numpy()[index[0]] + shift.numpy()[index[1]])
    want = np.zeros((v, 5))
    for k in np.unique(index[1]):
        want[k] = 1 - m[index[1] == k].max(0) ** 2
    np.testing.assert_allclose(shift.grad.numpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_over_all_edges(name):
    """Along the axis of the edges a softmax sees every edge, so its gradient may not be moved to the nodes."""
    edges, w = np.array([[0, 0, 1, 0], [1, 0, 0, 1]]), np.float32([[1, -2], [3, 0.5], [-1, 2], [0.25, 1]])
    x = Tensor([[0.3, -1.0], [0.7, 0.2]], requires_grad=True)
    (getattr(Graph(edges, 2).src(x), name)(0) * Tensor(w)).sum().backward()
    y = Tensor([[0.3, -1.0], [0.7, 0.2]], requires_grad=True)
    (getattr(y[Tensor(edges[0])], name)(0) * Tensor(w)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_a_map_that_makes_rows_narrower_comes_before_the_sum_over_edges(capfd):
    """((1 + eps) x + sum of x_j w_j) @ w carries the features of the result along edges, with the same value and gradients."""
    rng = np.random.default_rng(1)
    index, x = rng.integers(0, 6, (2, 20)), rng.standard_normal((6, 5)).astype("f4")
    w, e, eps = rng.standard_normal((5, 2)).astype("f4"), rng.random((20, 1)).astype("f4"), np.array([0.25], "f4")
    dense = np.zeros((6, 6))
    np.add.at(dense, (index[1], index[0]), e[:, 0])
    dense += np.eye(6) * 1.25
    g = Graph(index, 6)
    tx, tw, te = Tensor(x, requires_grad=True), Tensor(w, requires_grad=True), Tensor(e, requires_grad=True)

    def narrow(wide):
        C.poly_set_debug(current().ptr, 5)
        try:
            out = (tx * (1 + Tensor(eps)) + g.sum(g.src(tx) * te)) @ (Tensor.cat(tw, tw, tw, dim=1) if wide else tw)
        finally:
            C.poly_set_debug(current().ptr, 0)
        return out, "a sum's map" in capfd.readouterr().err

    out, moved = narrow(False)
    assert moved and not narrow(True)[1]  # six features are more than five
    np.testing.assert_allclose(out.numpy(), dense @ x @ w, rtol=1e-5, atol=1e-5)
    (out * Tensor(np.arange(12, dtype="f4").reshape(6, 2))).sum().backward()
    up = np.arange(12).reshape(6, 2)
    np.testing.assert_allclose(tw.grad.numpy(), (dense @ x).T @ up, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(tx.grad.numpy(), dense.T @ up @ w.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(te.grad.numpy()[:, 0], ((up @ w.T)[index[1]] * x[index[0]]).sum(1), rtol=1e-4, atol=1e-4)


def test_edge_to_node_shows_what_it_moves(capfd):
    """Linear maps of sums and joins of both ends are computed once per node, however they are written; DEBUG=5 shows each step."""
    rng = np.random.default_rng(0)
    index, x, y = rng.integers(0, 4, (2, 9)), rng.standard_normal((4, 3)).astype("f4"), rng.standard_normal((4, 3)).astype("f4")
    e, a, w = rng.standard_normal((9, 2)).astype("f4"), rng.standard_normal(3).astype("f4"), rng.standard_normal((8, 5)).astype("f4")
    g, tx, ty = Graph(index, 4), Tensor(x), Tensor(y)
    s, d = x[index[0]], y[index[1]]
    C.poly_set_debug(current().ptr, 5)
    try:
        score = ((g.src(tx) - g.dst(ty)) * Tensor(a)).sum(-1)
        mapped = g.src(tx).cat(Tensor(e), g.dst(ty) + g.src(tx), dim=1) @ Tensor(w)
    finally:
        C.poly_set_debug(current().ptr, 0)
    shown = capfd.readouterr().err
    assert shown.count("edge_to_node: REDUCE (9, 3) -> (4, 1)") == 2, shown
    assert "edge_to_node: REDUCE (9, 5, 3) -> (4, 5, 1)" in shown and "edge_to_node: REDUCE (9, 5, 2)" not in shown, shown
    np.testing.assert_allclose(score.numpy(), ((s - d) * a).sum(-1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(mapped.numpy(), np.concatenate([s, e, d + s], 1) @ w, rtol=1e-4, atol=1e-5)


def test_slices_of_no_edges(device):
    """Reshaping what no edge has must not be taken for a reshape of the nodes."""
    x = Tensor(np.ones((2, 1), "f"))
    along = Graph(Tensor(np.zeros((2, 0), np.int64)), 2).src(x)
    for step in (2, -2, -1):
        assert along[::step].numpy().shape == (0, 1)
    assert along.reshape(0, 3, 2).numpy().shape == (0, 3, 2)


def test_arrays_of_a_large_graph_are_made_again():
    """Arrays that a sum over neighbours does not read give their memory back, and are the same when somebody asks for them later."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, 3000, (2, 1 << 16))
    g, e = Graph(index.astype(np.int32), 3000), rng.random((1 << 16, 1), dtype=np.float32)
    full = current().live_bytes
    out = g.sum(g.src(Tensor.ones(3000, 4))).numpy()
    assert current().live_bytes < full + 2 * 4 * (1 << 16)  # the rows of both ends are two arrays each, and what was given back is three
    np.testing.assert_array_equal(out[:, 0], np.bincount(index[1], minlength=3000))
    for side, end in (("in", 1), ("out", 0)):
        order = np.argsort(index[end], kind="stable")
        np.testing.assert_array_equal(g.order(side).numpy(), order)
        np.testing.assert_array_equal(g.other(side).numpy(), index[1 - end][order])
    np.testing.assert_array_equal(g.edge_index.numpy(), index)
    want = np.bincount(index[0], e[:, 0].astype(np.float64), minlength=3000)
    np.testing.assert_allclose(g.sum(Tensor(e), "out").numpy()[:, 0], want, rtol=1e-5)
    back = Graph(index.astype(np.int32), 3000).reversed()
    np.testing.assert_allclose(back.sum(Tensor(e)).numpy()[:, 0], want, rtol=1e-5)
    np.testing.assert_array_equal(back.edge_index.numpy(), index[::-1])


def test_origins_of_a_large_graph_are_made_when_asked_for():
    """Where the edges of a graph without loops, or with one at each node, came from takes no memory until somebody asks, and is right then, also where the ends that
    it is made of have given back their memory."""
    rng, nodes = np.random.default_rng(0), 300
    index = rng.integers(0, nodes, (2, 1 << 17)).astype(np.int32)
    loops, edges = index[0] == index[1], np.arange(1 << 17)
    last = np.full(nodes, -1)
    last[index[0][loops]] = edges[loops]
    for thin in (False, True):
        g = Graph(index, nodes)
        if thin:
            g.sum(g.src(Tensor.ones(nodes, 1))).realize()
        for made, want in ((g.without_self_loops, edges[~loops]), (g.with_own_loops, np.concatenate([edges[~loops], last]))):
            before = current().live_bytes
            h = made()
            if not thin:
                assert current().live_bytes < before + 2.1 * 4 * len(want)  # both ends
            np.testing.assert_array_equal(h.origin.numpy(), want)


def test_sums_are_taken_on_the_narrower_side_of_a_product():
    """(x + A x) @ w reads w's columns at the edges and not x's, and so do both gradients; nothing as wide as x is stored for the nodes."""
    rng, nodes, wide, narrow = np.random.default_rng(0), 300, 48, 12
    index = rng.integers(0, nodes, (2, 2000))
    a = sparse.coo_matrix((np.ones(2000), (index[1], index[0])), (nodes, nodes)).toarray() + np.eye(nodes)
    x, w = rng.standard_normal((nodes, wide)), rng.standard_normal((wide, narrow))
    scale = rng.random((nodes, 1))
    g, tx, tw = Graph(index, nodes), Tensor(x, requires_grad=True), Tensor(w, requires_grad=True)
    with Profile() as p:
        y = ((g.sum(g.src(tx * Tensor(scale))) + tx * Tensor(scale)) @ tw).tanh()
        (y * y).sum().backward()
        Tensor.realize(y, tx.grad, tw.grad)
    m = a @ (x * scale)
    want = np.tanh(m @ w)
    d = 2 * want * (1 - want**2)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tw.grad.numpy(), m.T @ d, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tx.grad.numpy(), (a.T @ (d @ w.T)) * scale, rtol=1e-9, atol=1e-9)
    stored = [s.shape for s in p.stored if np.prod(s.shape) >= nodes * wide]
    assert len(stored) <= 1, stored  # the gradient that was asked for


def test_some_rows_of_a_sum(device):
    """Devices take rows in the order of their lengths, which they have of all rows: a kernel may need some of them only, or more of each."""
    rng = np.random.default_rng(0)
    index = np.stack([rng.integers(0, 60, 700), (rng.random(700) ** 3 * 60).astype(int)]).astype(np.int32)
    x, want, g = rng.standard_normal((60, 40), dtype=np.float32), np.zeros((60, 40), np.float32), Graph(index, 60)
    np.add.at(want, index[1], x[index[0]])
    cases = {
        "diagonal": (lambda y: y.diagonal(), np.diagonal(want)),
        "first": (lambda y: y[:30], want[:30]),
        "last": (lambda y: y[30:], want[30:]),
        "columns": (lambda y: y[:, :8] * 2, want[:, :8] * 2),
        "flip": (lambda y: y.flip(0), want[::-1]),
        "scaled": (lambda y: y * y.sum(-1, keepdim=True), want * want.sum(1, keepdims=True)),
        "mean": (lambda y: y - Tensor(x[0]).mean(), want - x[0].mean()),
        "norm": (lambda y: y + (Tensor(x) * Tensor(x)).sum(-1, keepdim=True), want + (x * x).sum(1, keepdims=True)),
    }
    for name, (f, value) in cases.items():
        np.testing.assert_allclose(f(g.sum(g.src(Tensor(x)))).numpy(), value, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("width", [128, 256])
def test_some_rows_of_wide_sums(device, width):
    """A warp of a device has one row: its threads load the numbers of edges for each other. Enough rows for strips; hubs, single edges, none."""
    rng = np.random.default_rng(width)
    nodes, edges = 2100, 2500
    index = np.stack([rng.integers(0, nodes, edges), (rng.random(edges) ** 6 * nodes).astype(int)]).astype(np.int32)
    x, w = rng.integers(-9, 10, (nodes, width)).astype(np.float32), rng.integers(-3, 4, (edges, 8, 1)).astype(np.float32)
    want, weighed, g = np.zeros((nodes, width), np.float32), np.zeros((nodes, 8, width // 8), np.float32), Graph(index, nodes)
    np.add.at(want, index[1], x[index[0]])
    np.add.at(weighed, index[1], x.reshape(nodes, 8, -1)[index[0]] * w)
    assert np.array_equal(g.sum(g.src(Tensor(x))).numpy(), want)
    assert np.array_equal(g.sum(g.src(Tensor(x).reshape(nodes, 8, -1)) * Tensor(w)).numpy(), weighed)


@pytest.mark.parametrize("width", [13, 41, 47])
def test_some_rows_of_odd_width(device, width):
    """Devices store rows that are read through an index further apart. What else reads them, whole or in part, and what is left of the last strip."""
    rng = np.random.default_rng(width)
    index = np.stack([rng.integers(0, 60, 700), (rng.random(700) ** 3 * 60).astype(int)]).astype(np.int32)
    x, b = rng.standard_normal((60, width), dtype=np.float32), rng.standard_normal(width, dtype=np.float32)
    w, g = rng.standard_normal((700, 1), dtype=np.float32), Graph(index, 60)
    h = np.exp(np.sin(x) + b)
    rows = np.zeros((60, width), np.float32)
    np.add.at(rows, index[1], h[index[0]] * w)
    dots = (h[index[0]] * rows[index[1]]).sum(1)

    def ours():
        th = (Tensor(x).sin() + Tensor(b)).exp()
        total = g.sum(g.src(th) * Tensor(w))
        return total, (g.src(th) * g.dst(total)).sum(-1), th.sum(0), g.max(g.src(th)[:, 3:]), th.reshape(-1)[7:-7].sum(), th

    most = np.stack([np.max(h[index[0][index[1] == k]], 0, initial=-np.inf) for k in range(60)])
    most[np.isinf(most)] = 0
    for got, want in zip(ours(), (rows, dots, h.sum(0), most[:, 3:], h.reshape(-1)[7:-7].sum(), h)):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-3)
    total, score, *others = ours()
    with Profile():
        total.realize(score, *others[:3])
    for got, want in zip((total, score, *others[:3]), (rows, dots, h.sum(0), most[:, 3:], h.reshape(-1)[7:-7].sum())):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("heads, width", [(16, 8), (2, 6), (8, 18), (4, 41), (1, 128), (8, 32)])
def test_some_rows_of_attention(device, heads, width):
    """Forward and backward, beside the interpreter: rows of a hub and of few edges, heads that fill a warp's threads and that do not."""
    rng = np.random.default_rng(width)
    dst, src = (rng.random(500) ** 4 * 30).astype(np.int64), (rng.random(500) ** 2 * 30).astype(np.int64)
    arrays = [rng.standard_normal((30, heads, width)).astype(np.float32) for _ in range(3)]

    def run():
        g = Graph(np.stack([src, dst]), 30)
        x, q, c = (Tensor(a, requires_grad=True) for a in arrays)
        w = g.softmax((g.src(x.sin() + 0.5) * g.dst(q)).sum(-1) * 0.1)
        out = g.sum(g.src(x.cos()) * w.unsqueeze(-1))
        (out * c).sum().backward()
        x.grad.realize(q.grad)
        return [t.numpy() for t in (out, x.grad, q.grad)]

    got = run()
    with Context(DEVICE="INTERP"):
        want = run()
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_sum_over_edges_of_a_product_of_both_ends_is_a_sum_over_nodes():
    """The gradient of one matrix for all edges, the sum of x_src g_dst^T: summed over the edges of each node first. Rows that no edge reads do not matter."""
    rng, nodes, wide, narrow = np.random.default_rng(0), 40, 12, 9
    index = rng.integers(0, nodes - 3, (2, 500))
    x, y = rng.standard_normal((nodes, wide)), rng.standard_normal((nodes, narrow))
    x[-1], y[-2] = np.inf, np.nan
    g, tx, ty = Graph(Tensor(index), nodes), Tensor(x), Tensor(y)

    def pairs():
        return (g.src(tx).unsqueeze(-1) * g.dst(ty).unsqueeze(1)).reshape(500, wide * narrow).sum(0)

    np.testing.assert_allclose(pairs().numpy().reshape(wide, narrow), x[index[0]].T @ y[index[1]], rtol=1e-9)
    assert (nodes, narrow) in [s.shape for s in stored_by(pairs).stored]


def test_weights_see_no_rows_without_edges():
    """Second gradients of the logarithm of a sum over edges, which is infinite for rows without any: no edge reads these, and no weight sees them."""
    rng = np.random.default_rng(3)
    src, dst = np.array([4, 1, 5]), np.array([2, 1, 1])
    g = Graph(Tensor(np.stack([src, dst])), 6)
    t, w, u, c, d = (Tensor(rng.uniform(0.5, 1.5, s), requires_grad=True) for s in ((6, 3), (3, 3), (3, 4), (6, 4), (3, 3)))
    out = g.sum(((g.src(t) * g.dst(t)) @ w).tanh() @ u)
    (first,) = (out.log() * c).sum().gradient(w)
    (got,) = (first * d).sum().gradient(u)
    t, w, u, c, d = (a.numpy() for a in (t, w, u, c, d))
    m = t[src] * t[dst]
    h = np.tanh(m @ w)
    slope = (1 - h**2) * (m @ d)  # of each edge's h by w, along d
    rows = np.eye(6)[dst].T[[1, 2]]  # the rows that have edges
    sums, along = rows @ h, rows @ slope
    out, c = sums @ u, c[[1, 2]]
    want = along.T @ (c / out) - sums.T @ (c / out**2 * (along @ u))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("kind", ["max", "min"])
def test_weights_see_no_empty_maxima(kind):
    """Second gradients of an extremum over edges of what their row itself has: rows without edges share nothing, rather than 0 / 0."""
    rng = np.random.default_rng(4)
    edges = np.array([[0, 2, 0, 3, 3, 3], [3, 1, 3, 3, 2, 1]])
    g = Graph(Tensor(edges), 4)
    x, w, c, d = (Tensor(rng.standard_normal(s).astype("f"), requires_grad=True) for s in ((4, 2), (2, 4), (4, 4), (4, 2)))
    (first,) = (getattr(g, kind)(g.src(x @ w), "out") * c).sum().gradient(x)
    (got,) = (first * d).sum().gradient(w)
    c, d = c.numpy(), d.numpy()
    c[1] = 0  # it has no edges
    np.testing.assert_allclose(got.numpy(), d.T @ c, rtol=1e-5, atol=1e-6)


ROW_TERMS = {
    "sum": lambda g, x, y: g.src(x) + g.dst(y),
    "difference": lambda g, x, y: g.dst(y) - g.src(x),  # falls where x grows
    "leaky": lambda g, x, y: (g.src(x) - g.dst(y)).leaky_relu(0.2) * -1.5 + g.dst(x),
    "relu": lambda g, x, y: -(g.src(x).reshape(-1, 3, 1) - g.dst(y).reshape(-1, 3, 1)).relu(),
    "bounded": lambda g, x, y: (g.src(x) / 2 + g.dst(y)).maximum(g.dst(x)).minimum(0.75),
    "scaled by the row": lambda g, x, y: g.src(x) * g.dst(y) + g.dst(x),  # no monotone step
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ROW_TERMS)
@pytest.mark.parametrize("reduce", ["mean", "max", "min", "var", "std", "softmax"])
def test_terms_of_the_row(reduce, name, kind):
    """What edges take from the row that reduces them: values, first and second gradients, with rows that have no edges."""
    index, nodes = edges(kind)
    rng = np.random.default_rng(9)
    x, y = rng.standard_normal((nodes, 3)), rng.standard_normal((nodes, 3))
    g = Graph(index, nodes)

    def ours(x, y):
        m = ROW_TERMS[name](g, x, y)
        return g.sum(g.softmax(m) * m) if reduce == "softmax" else getattr(g, reduce)(m)

    message = ROW_TERMS[name](g, Tensor(x), Tensor(y)).numpy()
    want = np.zeros((nodes, *message.shape[1:]))
    for k in np.unique(index[1]):
        m = message[index[1] == k]
        e = np.exp(m - m.max(0))
        want[k] = (m * e).sum(0) / e.sum(0) if reduce == "softmax" else getattr(m, reduce)(0)
    np.testing.assert_allclose(ours(Tensor(x), Tensor(y)).numpy(), want, rtol=1e-9, atol=1e-12)
    if nodes and reduce != "std":  # whose slope at 0 is not finite
        gradcheck(ours, x, y)
        gradgradcheck(ours, x, y)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ROW_TERMS)
def test_terms_of_the_row_change_no_bit_of_an_extreme(name, dtype):
    """Rounding keeps the order of numbers. The messages are stored first, so that nothing can be taken out of them."""
    rng = np.random.default_rng(2)
    index, g = big_graph()
    x, y = (Tensor((rng.standard_normal((17, 3)) * 100).astype(dtype)) for _ in range(2))
    for reduce in ("max", "min"):
        m = ROW_TERMS[name](g, x, y)
        np.testing.assert_array_equal(getattr(g, reduce)(m).numpy(), getattr(g, reduce)(Tensor(m.numpy())).numpy())


def test_an_extreme_reads_no_value_of_the_row_at_edges():
    """The gradient of what the row adds to each edge is that of the result: the edges are read once, for the maximum alone."""
    _, g = big_graph()
    x, y, c = (Tensor.rand(17, 3).realize().requires_grad_() for _ in range(3))
    (g.max((g.src(x) + g.dst(y)).leaky_relu(0.2)) * c).sum().backward()
    p = stored_by(lambda: y.grad)
    assert [k.name for k in p.kernels] == ["max_17_3_r_x"]


def test_a_mean_is_taken_of_what_a_variance_reads():
    """Both are made of the mean of the rows at the other end: there is one kernel that reads edges, and the row is added to its result."""
    _, g = big_graph()
    x, y = (Tensor.rand(17, 3).realize() for _ in range(2))
    m = g.src(x) + g.dst(y)
    p = stored_by(lambda: [g.mean(m), g.var(m)])
    assert len([k for k in p.kernels if k.name.endswith("_x")]) == 1, [k.name for k in p.kernels]


def test_a_variance_has_no_gradient_by_way_of_its_mean():
    """The distances from the mean add up to 0: no loop over edges does that."""
    _, g = big_graph()
    x, c = (Tensor.rand(17, 3).realize().requires_grad_() for _ in range(2))
    (g.var(g.src(x)) * c).sum().backward()
    p = stored_by(lambda: x.grad)
    assert {k.name for k in p.kernels if k.name.endswith("_x")} == {"sum_17_3_r_x"}


@pytest.mark.parametrize("sign", [1, -1])
def test_values_read_at_one_end_are_added_before(device, sign):
    """The gradient of a variance and a mean reads two values of the row for each edge: the distances from the mean are no third."""
    index, g = big_graph()
    rng = np.random.default_rng(3)
    x, a, b = rng.standard_normal((17, 3)), *(Tensor(rng.standard_normal((17, 3))) for _ in range(2))

    def loss(x):
        m = g.src(x)
        return (g.var(m) * a + sign * g.mean(m) * b).tanh().sum()

    gradcheck(loss, x)
    gradgradcheck(loss, x)
    t = Tensor(x, requires_grad=True)
    loss(t).backward()
    p = stored_by(lambda: t.grad)
    assert len([s for s in p.stored if s.shape == (17, 3)]) == 3, [s.shape for s in p.stored]


def test_products_with_a_common_factor_are_one():
    """The gradient of a weight that both ends of an edge are multiplied with: what comes from both is added first, and stored as one value."""
    _, g = big_graph()
    rng = np.random.default_rng(6)
    x, a, b = rng.standard_normal((17, 5)), rng.standard_normal((5, 7)), rng.standard_normal((5, 7))
    c = rng.standard_normal((17, 7))

    def loss(x, a, b):
        return (g.max(g.dst(x @ a) + (g.src(x) - g.dst(x)) @ b) * Tensor(c)).sum()

    gradcheck(loss, x, a, b)
    tx, ta, tb = (Tensor(v, requires_grad=True) for v in (x, a, b))
    loss(tx, ta, tb).backward()
    p = stored_by(lambda: [ta.grad, tb.grad])
    assert len([s for s in p.stored if s.shape[0] == 17]) == 4, [s.shape for s in p.stored]
