"""polygrad.geometric.utils against plain loops over edges, and properties where results are random."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from polygrad import Graph, Tensor, TinyJit, dtypes, nn
from polygrad.geometric import nn as gnn
from polygrad.geometric import transforms as T
from polygrad.geometric import utils as U
from polygrad.geometric.data import Data
from polygrad.geometric.utils import _host

EMPTY = np.zeros((2, 0), np.int64)
# repeated edges and loops; one node; a triangle with an isolated node; nothing at all; nodes without edges
GRAPHS = [
    (np.random.default_rng(0).integers(0, 6, (2, 25)), 7),
    (np.array([[0, 0], [0, 0]]), 1),
    (np.array([[0, 1, 2], [1, 2, 0]]), 4),
    (EMPTY, 0),
    (EMPTY, 3),
]
each_graph = pytest.mark.parametrize("e,n", GRAPHS, ids=["random", "one node", "triangle", "nothing", "no edges"])


def weights(e, width=None, seed=1):
    return np.random.default_rng(seed).random((e.shape[1],) if width is None else (e.shape[1], width)).astype(np.float32)


def pairs(t):
    return list(zip(*t.numpy().tolist())) if isinstance(t, Tensor) else list(zip(*t.tolist()))


def grad_of(function, *arrays):
    """The gradients of a random combination of the function's float result, and by finite differences in float64."""
    leaves = [Tensor(a.astype(np.float64), requires_grad=True) for a in arrays]
    out = function(*leaves)
    c = np.random.default_rng(5).random(tuple(out.shape))
    (out * Tensor(c)).sum().backward()
    got = [t.grad.numpy() for t in leaves]
    want = []
    for k, a in enumerate(arrays):
        g = np.zeros(a.shape)
        for at in itertools.product(*map(range, a.shape)):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [x.astype(np.float64).copy() for x in arrays]
                moved[k][at] += step
                ends.append(float((function(*map(Tensor, moved)).numpy() * c).sum()))
            g[at] = (ends[0] - ends[1]) / 2e-6
        want.append(g)
    return got, want


# ---- order ----


@each_graph
@pytest.mark.parametrize("by_row", [True, False])
def test_sort_edge_index(e, n, by_row):
    w, w2 = weights(e), weights(e, 2)
    got, (a, b) = U.sort_edge_index(Tensor(e), [Tensor(w), Tensor(w2)], n, by_row)
    order = sorted(range(e.shape[1]), key=lambda k: (e[0, k], e[1, k]) if by_row else (e[1, k], e[0, k]))
    assert np.array_equal(got.numpy(), e[:, order])
    assert np.array_equal(a.numpy(), w[order]) and np.array_equal(b.numpy(), w2[order])
    assert np.array_equal(U.sort_edge_index(Tensor(e), num_nodes=n, sort_by_row=by_row).numpy(), e[:, order])
    assert U.sort_edge_index(Tensor(e), None, n)[1] is None


@each_graph
@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max", "mul"])
def test_coalesce(e, n, reduce):
    """Equal edges become one, in lexicographic order, with their values combined."""
    w = weights(e, 2)
    groups = {}
    for k, pair in enumerate(pairs(e)):
        groups.setdefault(pair, []).append(w[k])
    f = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "mul": np.prod}[reduce]
    keys = sorted(groups)
    got, a = U.coalesce(Tensor(e), Tensor(w), n, reduce)
    assert pairs(got) == keys
    np.testing.assert_allclose(a.numpy(), np.array([f(groups[k], axis=0) for k in keys]).reshape(-1, 2), rtol=1e-5)
    assert got.dtype == dtypes.int64


def test_coalesce_keeps_gradients_and_dtypes():
    e = GRAPHS[0][0]
    got, want = grad_of(lambda w: U.coalesce(Tensor(e), w, 7)[1], weights(e))
    np.testing.assert_allclose(got[0], want[0], atol=1e-6)
    assert U.coalesce(Tensor(e.astype(np.int32))).dtype == dtypes.int32
    ints = U.coalesce(Tensor(e), Tensor(np.arange(25)))[1]
    assert ints.dtype == dtypes.int64 and ints.numpy().sum() == 300


def test_pairs_that_do_not_fit_one_number_are_sorted_all_the_same():
    big = 2**33
    e = np.array([[big, 1, big, 0], [3, 2, 1, big]])
    assert pairs(U.sort_edge_index(Tensor(e))) == sorted(pairs(e))


def test_lexsort_and_index_sort():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, 30), rng.integers(0, 3, 30)
    assert np.array_equal(U.lexsort([Tensor(a), Tensor(b)]).numpy(), np.lexsort((a, b)))
    down = U.lexsort([Tensor(a), Tensor(b)], descending=True).numpy()
    assert down.tolist() == sorted(range(30), key=lambda k: (-b[k], -a[k]))  # stable: equal ones keep their order
    values, order = U.index_sort(Tensor(a))
    assert np.array_equal(values.numpy(), np.sort(a)) and np.array_equal(order.numpy(), np.argsort(a, kind="stable"))
    lazy_values, lazy_order = U.index_sort(Tensor(a) + 0)
    assert np.array_equal(lazy_values.numpy(), np.sort(a)) and np.array_equal(lazy_order.numpy(), np.argsort(a, kind="stable"))


# ---- directions and loops ----


@each_graph
def test_undirected(e, n):
    both = sorted(set(pairs(e)) | {(b, a) for a, b in pairs(e)})
    got = U.to_undirected(Tensor(e), num_nodes=n)
    assert pairs(got) == both and U.is_undirected(got, num_nodes=n)
    assert U.is_undirected(Tensor(e), num_nodes=n) == (sorted(pairs(e)) == sorted((b, a) for a, b in pairs(e)))
    w = weights(e)
    total = {}
    for k, (a, b) in enumerate(pairs(e)):
        total[a, b] = total.get((a, b), 0) + w[k]
        total[b, a] = total.get((b, a), 0) + w[k]
    np.testing.assert_allclose(U.to_undirected(Tensor(e), Tensor(w), n)[1].numpy(), [total[k] for k in both], rtol=1e-5)


def test_is_undirected_compares_values():
    e = Tensor([[0, 1], [1, 0]])
    assert U.is_undirected(e, Tensor([2.0, 2.0])) and not U.is_undirected(e, Tensor([2.0, 3.0]))
    assert not U.is_undirected(e, [Tensor([2.0, 2.0]), Tensor([[1.0], [2.0]])])


@each_graph
def test_self_loops(e, n):
    w = weights(e, 2)
    proper = [k for k in range(e.shape[1]) if e[0, k] != e[1, k]]
    loops = [k for k in range(e.shape[1]) if e[0, k] == e[1, k]]
    assert U.contains_self_loops(Tensor(e)) == bool(loops)
    got, a = U.remove_self_loops(Tensor(e), Tensor(w))
    assert np.array_equal(got.numpy(), e[:, proper]) and np.array_equal(a.numpy(), w[proper])
    out = U.segregate_self_loops(Tensor(e), Tensor(w))
    assert np.array_equal(out[2].numpy(), e[:, loops]) and np.array_equal(out[3].numpy(), w[loops])
    got, a = U.add_self_loops(Tensor(e), Tensor(w), 3.0, n)
    assert np.array_equal(got.numpy(), np.concatenate([e, [range(n)] * 2], axis=1))
    assert np.array_equal(a.numpy(), np.concatenate([w, np.full((n, 2), 3.0, np.float32)]))
    got, a = U.add_remaining_self_loops(Tensor(e), Tensor(w), 3.0, n)
    own = np.full((n, 2), 3.0, np.float32)
    for k in loops:
        own[e[0, k]] = w[k]
    assert np.array_equal(got.numpy(), np.concatenate([e[:, proper], [range(n)] * 2], axis=1))
    assert np.array_equal(a.numpy(), np.concatenate([w[proper], own]))
    there = np.zeros((n, 2), np.float32)
    for k in loops:
        there[e[0, k]] = w[k]
    assert np.array_equal(U.get_self_loop_attr(Tensor(e), Tensor(w), n).numpy(), there)


def test_self_loops_filled_from_the_edges():
    e, n = GRAPHS[0]
    w = weights(e)
    want = np.array([w[e[1] == v].mean() if (e[1] == v).any() else 0 for v in range(n)])
    np.testing.assert_allclose(U.add_self_loops(Tensor(e), Tensor(w), "mean", n)[1].numpy()[25:], want, rtol=1e-5)
    tensor_fill = U.add_self_loops(Tensor(e), Tensor(weights(e, 2)), Tensor([7.0, 8.0]), n)[1].numpy()[25:]
    assert (tensor_fill == [7.0, 8.0]).all()
    assert U.add_self_loops(Tensor(e), num_nodes=(9, 4))[0].shape == (2, 29)
    got, want = grad_of(lambda x: U.add_remaining_self_loops(Tensor(e), x, "add", n)[1], w)
    np.testing.assert_allclose(got[0], want[0], atol=1e-6)
    with pytest.raises(AttributeError, match="fill_value"):
        U.add_self_loops(Tensor(e), Tensor(w), [1.0])


@each_graph
def test_isolated_nodes(e, n):
    w = weights(e)
    used = {a for a, b in pairs(e) if a != b} | {b for a, b in pairs(e) if a != b}
    assert U.contains_isolated_nodes(Tensor(e), n) == (len(used) < n)
    got, a, mask = U.remove_isolated_nodes(Tensor(e), Tensor(w), n)
    number = {v: k for k, v in enumerate(sorted(used))}
    last = {p[0]: k for k, p in enumerate(pairs(e)) if p[0] == p[1] and p[0] in used}
    order = [k for k, p in enumerate(pairs(e)) if p[0] != p[1]] + [last[v] for v in sorted(last)]
    assert pairs(got) == [(number[e[0, k]], number[e[1, k]]) for k in order]
    assert np.array_equal(a.numpy(), w[order]) and mask.tolist() == [v in used for v in range(n)]


# ---- parts ----


@each_graph
@pytest.mark.parametrize("relabel", [False, True])
def test_subgraph(e, n, relabel):
    if not n:
        return
    nodes = np.random.default_rng(3).permutation(n)[: max(1, n // 2 + 1)]
    w = weights(e)
    keep = [k for k, (a, b) in enumerate(pairs(e)) if a in nodes and b in nodes]
    place = {v: k for k, v in enumerate(nodes.tolist())}
    want = [(place[e[0, k]], place[e[1, k]]) if relabel else tuple(e[:, k]) for k in keep]
    got, a, mask = U.subgraph(Tensor(nodes), Tensor(e), Tensor(w), relabel, n, return_edge_mask=True)
    assert pairs(got) == want and np.array_equal(a.numpy(), w[keep]) and np.flatnonzero(mask.numpy()).tolist() == keep
    as_mask = U.subgraph(U.index_to_mask(Tensor(nodes), n), Tensor(e), Tensor(w))[0]
    assert pairs(as_mask) == [tuple(e[:, k]) for k in keep]
    assert pairs(U.bipartite_subgraph((nodes.tolist(), nodes.tolist()), Tensor(e), None, relabel, (n, n))[0]) == want


def test_k_hop_subgraph():
    e, n = GRAPHS[0]
    for hops, flow, directed in itertools.product((0, 1, 2), ("source_to_target", "target_to_source"), (False, True)):
        row, col = (e[0], e[1]) if flow == "target_to_source" else (e[1], e[0])
        found, level, followed = {2, 4}, {2, 4}, set()
        for _ in range(hops):
            step = [k for k in range(25) if row[k] in level]
            followed |= set(step)
            level = {col[k] for k in step}
            found |= level
        subset, got, mapping, mask = U.k_hop_subgraph([2, 4], hops, Tensor(e), True, n, flow, directed)
        keep = sorted(followed) if directed else [k for k in range(25) if e[0, k] in found and e[1, k] in found]
        order = sorted(found)
        assert subset.tolist() == order and np.flatnonzero(mask.numpy()).tolist() == keep
        assert pairs(got) == [(order.index(e[0, k]), order.index(e[1, k])) for k in keep]
        assert mapping.tolist() == [order.index(2), order.index(4)]
    with pytest.raises(ValueError, match="flow"):
        U.k_hop_subgraph(0, 1, Tensor(e), flow="up")


def test_dropout_of_nodes_edges_and_paths():
    e = U.erdos_renyi_graph(60, 0.2)
    m = e.shape[1]
    kept, mask = U.dropout_edge(e, p=0.3)
    assert np.array_equal(kept.numpy(), e.numpy()[:, mask.numpy()]) and 0.6 < kept.shape[1] / m < 0.8
    both, where = U.dropout_edge(e, p=0.3, force_undirected=True)
    half = both.shape[1] // 2
    assert U.is_undirected(both) and np.array_equal(e.numpy()[:, where.numpy()][:, :half], both.numpy()[:, :half])
    kept, edge_mask, node_mask = U.dropout_node(e, p=0.5)
    inside = node_mask.numpy()[e.numpy()].all(0)
    assert np.array_equal(inside, edge_mask.numpy()) and np.array_equal(kept.numpy(), e.numpy()[:, inside])
    kept, mask = U.dropout_path(e, p=0.1, walk_length=3)
    assert np.array_equal(kept.numpy(), e.numpy()[:, mask.numpy()]) and 0 < kept.shape[1] < m
    with pytest.warns(UserWarning):
        kept, w = U.dropout_adj(e, Tensor(np.arange(m)), p=0.5)
    assert np.array_equal(e.numpy()[:, w.numpy()], kept.numpy())
    for f in (U.dropout_edge, U.dropout_node, U.dropout_path):
        assert f(e, p=0.5, training=False)[0] is e and f(e, p=0.0)[0] is e
        with pytest.raises(ValueError, match="between 0 and 1"):
            f(e, p=1.5)


# ---- dense forms ----


def test_to_dense_batch_and_gradients():
    batch = np.array([0, 0, 0, 2, 2])  # the second graph is empty
    x = np.random.default_rng(0).random((5, 2)).astype(np.float32)
    for size, longest in ((None, None), (4, None), (None, 2), (4, 5)):
        out, mask = U.to_dense_batch(Tensor(x), Tensor(batch), -1.0, longest, size)
        want = np.full((size or 3, longest or 3, 2), -1.0, np.float32)
        real = np.zeros(want.shape[:2], bool)
        for k, b in enumerate(batch):
            place = k - int((batch < b).sum())
            if place < want.shape[1]:
                want[b, place], real[b, place] = x[k], True
        assert np.array_equal(out.numpy(), want) and np.array_equal(mask.numpy(), real)
    got, want = grad_of(lambda t: U.to_dense_batch(t, Tensor(batch), max_num_nodes=2, batch_size=3)[0], x)
    np.testing.assert_allclose(got[0], want[0], atol=1e-6)
    assert U.to_dense_batch(Tensor(x))[0].shape == (1, 5, 2)
    assert U.to_dense_batch(Tensor(x), max_num_nodes=7)[1].numpy().sum() == 5


def test_to_dense_adj_and_back():
    batch = np.array([0, 0, 1, 1, 1])
    e = np.array([[0, 1, 1, 2, 4, 4], [1, 0, 0, 3, 2, 2]])
    w = weights(e, 2)
    for longest, size in ((None, None), (2, 3), (5, 2)):
        want = np.zeros((size or 2, longest or 3, longest or 3, 2), np.float32)
        for k, (a, b) in enumerate(pairs(e)):
            g = batch[a]
            i, j = a - int((batch < g).sum()), b - int((batch < g).sum())
            if max(i, j) < want.shape[1]:
                want[g, i, j] += w[k]
        got = U.to_dense_adj(Tensor(e), Tensor(batch), Tensor(w), longest, size)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    got, want = grad_of(lambda t: U.to_dense_adj(Tensor(e), Tensor(batch), t, 2, 2), w)
    np.testing.assert_allclose(got[0], want[0], atol=1e-6)
    assert U.to_dense_adj(Tensor(EMPTY)).shape == (1, 0, 0)
    assert U.to_dense_adj(Tensor(EMPTY), max_num_nodes=2).numpy().sum() == 0
    adj = U.to_dense_adj(Tensor(e[:, :5]), Tensor(batch))
    back, values = U.dense_to_sparse(adj, Tensor([[True, True, False], [True, True, True]]))
    assert sorted(pairs(back)) == sorted({(a, b) for a, b in pairs(e[:, :5])}) and values.numpy().sum() == 5
    with pytest.raises(ValueError, match="dimensional"):
        U.dense_to_sparse(Tensor([1.0]))


def test_unbatch():
    batch = Tensor([0, 0, 1, 1, 1])
    x = np.arange(10).reshape(5, 2)
    assert [t.tolist() for t in U.unbatch(Tensor(x), batch)] == [x[:2].tolist(), x[2:].tolist()]
    assert [t.shape for t in U.unbatch(Tensor(x.T), batch, 1, 3)] == [(2, 2), (2, 3), (2, 0)]
    parts = U.unbatch_edge_index(Tensor([[0, 1, 2, 4], [1, 0, 3, 2]]), batch)
    assert [t.tolist() for t in parts] == [[[0, 1], [1, 0]], [[0, 2], [1, 0]]]
    assert U.unbatch_edge_index(Tensor(EMPTY), batch) == []


# ---- small things ----


def test_masks_and_selection():
    assert U.index_to_mask(Tensor([1, 1, 3])).tolist() == [False, True, False, True]
    assert U.index_to_mask(Tensor([1]) + 0, 3).tolist() == [False, True, False]
    assert U.mask_to_index(Tensor([False, True, True])).tolist() == [1, 2]
    x = np.arange(12).reshape(3, 4)
    mask = np.array([True, False, False, True])
    assert np.array_equal(U.mask_select(Tensor(x), 1, Tensor(mask)).numpy(), x[:, mask])
    assert np.array_equal(U.select(Tensor(x), Tensor([3, 0, 3]), -1).numpy(), x[:, [3, 0, 3]])
    assert U.select(["a", "b", "c"], Tensor([2, 0]), 0) == ["c", "a"]
    assert np.array_equal(U.narrow(Tensor(x), 1, 1, 2).numpy(), x[:, 1:3])
    with pytest.raises(ValueError, match="does not fit"):
        U.mask_select(Tensor(x), 0, Tensor(mask))
    with pytest.raises(ValueError, match="other than 0"):
        U.select(["a"], Tensor([0]), 1)


def test_counts_and_one_hot():
    index = np.array([0, 3, 0, 1])
    assert U.degree(Tensor(index)).tolist() == [2.0, 1.0, 0.0, 1.0]
    assert U.degree(Tensor(index), 5, dtypes.int64).tolist() == [2, 1, 0, 1, 0]
    assert U.cumsum(Tensor(index)).tolist() == [0, 0, 3, 3, 4]
    assert U.cumsum(Tensor(index.reshape(2, 2)), 1).tolist() == [[0, 0, 3], [0, 0, 1]]
    assert np.array_equal(U.one_hot(Tensor(index)).numpy(), np.eye(4, dtype=np.float32)[index])
    assert U.one_hot(Tensor(index), 6, dtypes.int64).shape == (4, 6)
    with pytest.raises(ValueError, match="one-dimensional|one axis"):
        U.one_hot(Tensor([[1]]))


def test_trim_to_layer():
    x, e, w = Tensor(np.arange(10)), Tensor(np.arange(24).reshape(2, 12) % 10), Tensor(np.arange(12))
    x1, e1, w1 = U.trim_to_layer(1, [4, 3, 3], [5, 7], x, e, w)
    assert x1.shape == (7,) and e1.shape == (2, 5) and w1.tolist() == list(range(5))
    x2, e2, _ = U.trim_to_layer(2, [4, 3, 3], [5, 7], x1, e1)
    assert x2.shape == (4,) and e2.shape == (2, 0)
    graph = U.trim_to_layer(1, [4, 3, 3], [5, 7], x, Graph(e, 10))[1]
    assert (graph.num_edges, graph.num_nodes) == (5, 7)


def test_spmm():
    e = np.array([[0, 2, 2, 1], [1, 1, 0, 1]])
    w = weights(e)
    x = np.random.default_rng(0).random((3, 2)).astype(np.float32)
    dense = np.zeros((3, 3), np.float32)
    np.add.at(dense, (e[1], e[0]), w)
    graph = Graph(e, 3)
    np.testing.assert_allclose(U.spmm((graph, Tensor(w)), Tensor(x)).numpy(), dense @ x, rtol=1e-5)
    np.testing.assert_allclose(U.spmm(sp.csr_matrix(dense), Tensor(x)).numpy(), dense @ x, rtol=1e-5)
    want = np.array([x[[2]].max(0), x[[0, 2, 1]].max(0), [0, 0]])
    np.testing.assert_allclose(U.spmm(graph, Tensor(x), "max").numpy(), want, rtol=1e-6)
    got, want = grad_of(lambda a, b: U.spmm((graph, a), b, "mean"), w, x)
    for g, h in zip(got, want):
        np.testing.assert_allclose(g, h, atol=1e-6)
    with pytest.raises(ValueError, match="reduce"):
        U.spmm(graph, Tensor(x), "median")


# ---- numbers of graphs ----


@each_graph
@pytest.mark.parametrize("kind", [None, "sym", "rw"])
def test_laplacian(e, n, kind):
    w = weights(e)
    keep = e[0] != e[1]
    a = np.zeros((n, n))
    np.add.at(a, (e[0][keep], e[1][keep]), w[keep])
    d = a.sum(1)
    with np.errstate(divide="ignore"):
        inv, root = (np.where(d > 0, d**-p, 0) for p in (1.0, 0.5))
    want = {None: np.diag(d) - a, "sym": np.eye(n) - root[:, None] * a * root, "rw": np.eye(n) - inv[:, None] * a}[kind]
    index, values = U.get_laplacian(Tensor(e), Tensor(w), kind, num_nodes=n)
    got = np.zeros((n, n))
    np.add.at(got, tuple(index.numpy()), values.numpy())
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_laplacian_gradient_with_an_isolated_node():
    e = np.array([[0, 1, 1, 0], [1, 0, 1, 1]])
    for kind in (None, "sym", "rw"):
        got, want = grad_of(lambda w: U.get_laplacian(Tensor(e), w, kind, num_nodes=3)[1], weights(e) + 0.5)
        np.testing.assert_allclose(got[0], want[0], atol=1e-5)


def test_mesh_laplacian_annihilates_constants():
    rng = np.random.default_rng(0)
    pos, face = Tensor(rng.random((6, 3))), Tensor(np.array([[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]))
    for kind in (None, "rw"):
        index, values = U.get_mesh_laplacian(pos, face, kind)
        rows = np.bincount(index.numpy()[0], weights=values.numpy(), minlength=6)
        np.testing.assert_allclose(rows, 0, atol=1e-9 * np.abs(values.numpy()).max() + 1e-9)


def test_homophily_and_assortativity():
    e, y = Tensor([[0, 1, 2, 3], [1, 2, 0, 4]]), Tensor([0, 0, 0, 0, 1])
    batch = Tensor([0, 0, 0, 1, 1])
    assert U.homophily(e, y) == 0.75 and U.homophily(e, y, batch).tolist() == [1.0, 0.0]
    assert U.homophily(e, y, method="node") == pytest.approx(0.6)
    assert U.homophily(e, y, batch, "node").tolist() == [1.0, 0.0]
    assert U.homophily(e, y, method="edge_insensitive") == pytest.approx(0.2)
    assert U.homophily(e, y, batch, "edge_insensitive").tolist() == [0.0, 0.0]
    r = np.random.default_rng(0).integers(0, 8, (2, 40))
    a, b = np.bincount(r[0], minlength=8)[r[0]], np.bincount(r[1], minlength=8)[r[1]]
    assert U.assortativity(Tensor(r)) == pytest.approx(np.corrcoef(a, b)[0, 1], abs=1e-6)
    assert np.isnan(U.assortativity(Tensor([[0, 1], [1, 0]])))
    with pytest.raises(ValueError, match="method"):
        U.homophily(e, y, method="none")


def test_ppr_is_near_the_exact_one():
    e = U.erdos_renyi_graph(30, 0.2).numpy()
    e = e[:, e[0] != 29]  # one node without a way out
    n, alpha = 30, 0.2
    a = np.zeros((n, n))
    a[tuple(e)] = 1
    t = a / np.maximum(a.sum(1, keepdims=True), 1)
    exact = alpha * np.linalg.inv(np.eye(n) - (1 - alpha) * t)
    index, weight = U.get_ppr(Tensor(e), alpha, 1e-7, num_nodes=n)
    got = np.zeros((n, n))
    got[tuple(index.numpy())] = weight.numpy()
    np.testing.assert_allclose(got, exact, atol=1e-4)
    some, part = U.get_ppr(Tensor(e), alpha, 1e-7, Tensor([4, 2]), n)
    chosen = np.concatenate([np.flatnonzero(index.numpy()[0] == v) for v in (4, 2)])
    assert np.array_equal(some.numpy(), index.numpy()[:, chosen]) and np.array_equal(part.numpy(), weight.numpy()[chosen])
    with pytest.raises(IndexError, match="target 30"):
        U.get_ppr(Tensor(e), target=Tensor([30]), num_nodes=n)
    with pytest.raises(ValueError, match="alpha"):
        U.get_ppr(Tensor(e), alpha=0.0)
    assert U.get_ppr(Tensor(EMPTY), num_nodes=2)[0].tolist() == [[0, 1], [0, 1]]


# ---- random graphs and pairs ----


def test_random_graphs():
    for directed in (False, True):
        e = U.erdos_renyi_graph(200, 0.02, directed).numpy()
        assert (e[0] != e[1]).all() and pairs(e) == sorted(set(pairs(e)))
        assert abs(e.shape[1] / (200 * 199 * 0.02) - 1) < 0.25
        full = U.erdos_renyi_graph(6, 1.0, directed)
        assert pairs(full) == [(a, b) for a in range(6) for b in range(6) if a != b]
        assert U.erdos_renyi_graph(6, 0.0, directed).shape == (2, 0)
        sbm = U.stochastic_blockmodel_graph([3, 0, 4], np.eye(3), directed)
        blocks = [range(3), range(3, 7)]
        assert pairs(sbm) == [(a, b) for nodes in blocks for a in nodes for b in nodes if a != b]
    assert U.is_undirected(U.erdos_renyi_graph(50, 0.1))
    ba = U.barabasi_albert_graph(300, 3)
    assert U.is_undirected(ba) and not U.contains_self_loops(ba) and U.degree(ba[0], 300).numpy().max() > 20
    with pytest.raises(ValueError, match="symmetric"):
        U.stochastic_blockmodel_graph([2, 2], [[0.1, 0.2], [0.3, 0.1]])
    with pytest.raises(ValueError, match="num_edges"):
        U.barabasi_albert_graph(3, 3)


def test_sparse_random_graphs_have_the_right_number_of_edges():
    """Where gaps are drawn instead of one number a pair."""
    counts = [U.erdos_renyi_graph(1000, 0.001, directed=True).shape[1] for _ in range(20)]
    assert abs(np.mean(counts) / 999 - 1) < 0.05


@pytest.mark.parametrize("kind", ["plain", "undirected", "bipartite"])
def test_negative_sampling(kind):
    e = np.random.default_rng(0).integers(0, 20, (2, 60))
    size = (20, 25) if kind == "bipartite" else 20
    taken = set(pairs(e))
    for wanted in (None, 10, 0.5, 10000):
        out = U.negative_sampling(Tensor(e), size, wanted, force_undirected=kind == "undirected")
        found = pairs(out)
        assert len(set(found)) == len(found)
        if kind == "undirected":
            upper = {(min(p), max(p)) for p in taken if p[0] < p[1]}
            assert all((min(p), max(p)) not in upper and p[0] != p[1] and p[::-1] in found for p in found)
        else:
            assert not taken & set(found) and (kind == "bipartite" or all(a != b for a, b in found))
        room = {"plain": 380 - len({p for p in taken if p[0] != p[1]}), "bipartite": 500 - len(taken)}.get(kind)
        count = {None: 60, 10: 10, 0.5: 30, 10000: room}[wanted]
        if count is not None:
            assert len(found) == count
    whole = [(a, b) for a in range(3) for b in range(3) if a != b]
    assert U.negative_sampling(Tensor(np.array(whole).T)).shape == (2, 0)


def test_negative_samples_are_uniform():
    e = np.array([[0, 1], [1, 2]])
    count = np.zeros((4, 4))
    for _ in range(400):
        np.add.at(count, tuple(U.negative_sampling(Tensor(e), 4, 3).numpy()), 1)
    free = count[(count > 0)]
    assert free.size == 10 and abs(free - 120).max() < 45


def test_batched_and_structured_negative_sampling():
    e = np.array([[0, 0, 1, 2, 4, 4, 5, 6], [1, 2, 2, 0, 5, 6, 6, 4]])
    batch = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    out = U.batched_negative_sampling(Tensor(e), Tensor(batch)).numpy()
    assert out.shape[1] == 8 and (batch[out[0]] == batch[out[1]]).all() and not set(pairs(e)) & set(pairs(out))
    for loops in (True, False):
        i, j, k = U.structured_negative_sampling(Tensor(e), 8, loops)
        assert np.array_equal(i.numpy(), e[0]) and np.array_equal(j.numpy(), e[1])
        found = set(zip(i.tolist(), k.tolist()))
        assert not found & set(pairs(e)) and (loops or all(a != b for a, b in found))
    nearly = np.array([[0] * 99, [v for v in range(100) if v != 57]])  # one place is left
    assert set(U.structured_negative_sampling(Tensor(nearly), 100)[2].tolist()) == {57}
    full = np.array([[0, 0], [0, 1]])
    assert not U.structured_negative_sampling_feasible(Tensor(full), 2) and U.structured_negative_sampling_feasible(Tensor(full), 3)
    with pytest.raises(ValueError, match="node 0"):
        U.structured_negative_sampling(Tensor(full), 2)


def test_random_results_follow_the_seed():
    e = U.erdos_renyi_graph(30, 0.2)

    def draw():
        return [
            U.negative_sampling(e).numpy(),
            U.dropout_edge(e)[0].numpy(),
            U.barabasi_albert_graph(30, 2).numpy(),
            U.shuffle_node(Tensor(np.arange(30)))[1].numpy(),
        ]

    Tensor.manual_seed(3)
    first = draw()
    Tensor.manual_seed(3)
    again = draw()
    other = draw()
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not any(np.array_equal(a, b) for a, b in zip(first, other))


def test_augmentation():
    x = np.random.default_rng(0).random((6, 4)).astype(np.float32) + 1
    for mode, axis in (("row", 1), ("col", 0)):
        out, mask = U.mask_feature(Tensor(x), 0.5, mode)
        zero = out.numpy() == 0
        assert np.array_equal(np.broadcast_to(~mask.numpy(), x.shape), zero) and (zero.all(axis) | ~zero.any(axis)).all()
    batch = np.array([0, 0, 0, 1, 1, 1])
    out, order = U.shuffle_node(Tensor(x), Tensor(batch))
    assert np.array_equal(out.numpy(), x[order.numpy()]) and (batch[order.numpy()] == batch).all()
    e = Tensor(np.array([[0, 1, 2, 3], [1, 2, 3, 0]]))
    whole, added = U.add_random_edge(e, 0.5)
    assert whole.shape == (2, 6) and not set(pairs(added)) & set(pairs(e))


# ---- conversions ----


def test_scipy_and_networkx():
    from polygrad.geometric.data import Data

    e, n = GRAPHS[0]
    matrix = U.to_scipy_sparse_matrix(Tensor(e), Tensor(weights(e)), n)
    index, w = U.from_scipy_sparse_matrix(matrix)
    assert np.array_equal(index.numpy(), e) and np.array_equal(w.numpy(), weights(e))
    data = Data(x=Tensor([[1.0], [2.0], [3.0]]), edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), edge_attr=Tensor([1.0, 1.0, 2.0, 2.0]))
    graph = U.to_networkx(data, ["x"], ["edge_attr"], to_undirected="upper")
    assert sorted(graph.edges(data="edge_attr")) == [(0, 1, 1.0), (1, 2, 2.0)]
    back = U.from_networkx(graph)
    assert sorted(pairs(back.edge_index)) == sorted(pairs(data.edge_index)) and back.x.tolist() == data.x.tolist()
    grouped = U.from_networkx(graph, group_node_attrs="all", group_edge_attrs=["edge_attr"])
    assert grouped.x.shape == (3, 1) and grouped.edge_attr.shape == (4, 1)
    assert U.from_networkx(nx.empty_graph(3)).num_nodes == 3


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"\[2, E\]"):
        U.remove_self_loops(Tensor([1, 2]))
    with pytest.raises(TypeError, match="whole numbers"):
        U.coalesce(Tensor([[1.5], [2.0]]))
    for f in (U.coalesce, U.sort_edge_index):
        with pytest.raises(IndexError, match="holds 7, which is not among 5 nodes"):
            f(Tensor([[0, 7], [1, 0]]), num_nodes=5)
        with pytest.raises(IndexError, match="holds -1"):
            f(Tensor([[0, -1], [1, 0]]))
    with pytest.raises(ValueError, match="median"):
        U.coalesce(Tensor([[0, 0], [1, 1]]), Tensor([1.0, 2.0]), reduce="median")


def test_every_name_loads():
    for name in U.__all__:
        assert callable(getattr(U, name))


def test_functions_of_known_size_can_be_compiled_in():
    """With sizes given nothing is read, so a traced function follows other indices when it is replayed."""
    from polygrad import TinyJit

    @TinyJit
    def dense(x, batch, e):
        out, mask = U.to_dense_batch(x, batch, max_num_nodes=3, batch_size=2)
        return (
            out.realize(),
            mask.realize(),
            U.to_dense_adj(e, None, None, 4).realize(),
            U.degree(e[0], 4).realize(),
            U.index_to_mask(e[1], 4).realize(),
        )

    for k in range(4):
        batch, e = np.array([[0, 0, 1, 1], [0, 1, 1, 1]][k % 2]), np.array([[0, 1, k % 3], [1, 3, 2]])
        out, mask, adj, degree, there = dense(Tensor(np.arange(4.0, dtype=np.float32)), Tensor(batch), Tensor(e))
        want = np.zeros((4, 4))
        np.add.at(want, tuple(e), 1)
        assert mask.numpy().sum(1).tolist() == np.bincount(batch).tolist() and out.numpy().sum() == 6
        assert np.array_equal(adj.numpy()[0], want) and np.array_equal(degree.numpy(), want.sum(1))
        assert there.tolist() == [False, True, True, True]


def test_layers_of_a_model():
    from polygrad import nn
    from polygrad.geometric.nn import GCNConv, SAGEConv

    class Net(nn.Module):
        def __init__(self):
            self.first, self.rest = GCNConv(2, 3), [SAGEConv(3, 4)]

        def forward(self, x, e):
            return self.rest[0](self.first(x, e).relu(), e)

    net, x, e = Net(), Tensor(np.ones((4, 2), np.float32)), Tensor([[0, 1, 2], [1, 2, 3]])
    found = U.get_embeddings(net, x, e)
    assert U.get_num_hops(net) == 2 and [t.shape for t in found] == [(4, 3), (4, 4)]
    np.testing.assert_allclose(found[0].numpy(), net.first(x, e).numpy(), rtol=1e-6)
    assert "forward" not in vars(net.first)
    with pytest.warns(UserWarning, match="'MessagePassing' layers"):
        assert U.get_embeddings(nn.Linear(2, 3), x) == []


# ---- programs: gradients without requires_grad, unknown values, traced steps ----

PAIRS = np.array([[2, 1, 1, 2, 0, 0, 1], [1, 0, 1, 1, 1, 2, 1]])
OF_VALUES = {
    "add_self_loops": lambda e, w: U.add_self_loops(e, w, 2.0, 3)[1],
    "add_self_loops mean": lambda e, w: U.add_self_loops(e, w, "mean", 3)[1],
    "add_self_loops tensor": lambda e, w: U.add_self_loops(e, w, Tensor([5.0, 6.0]), 3)[1],
    "add_remaining_self_loops": lambda e, w: U.add_remaining_self_loops(e, w, num_nodes=3)[1],
    "remove_self_loops": lambda e, w: U.remove_self_loops(e, w)[1],
    "segregate_self_loops": lambda e, w: U.segregate_self_loops(e, w)[3],
    "get_self_loop_attr": lambda e, w: U.get_self_loop_attr(e, w, 3),
    "coalesce sum": lambda e, w: U.coalesce(e, w)[1],
    "coalesce mean": lambda e, w: U.coalesce(e, w, reduce="mean")[1],
    "coalesce max": lambda e, w: U.coalesce(e, w, reduce="max")[1],
    "coalesce mul": lambda e, w: U.coalesce(e, [w], reduce="mul")[1][0],
    "coalesce any": lambda e, w: U.coalesce(e, w, reduce="any", sort_by_row=False)[1],
    "to_undirected": lambda e, w: U.to_undirected(e, w)[1],
    "sort_edge_index": lambda e, w: U.sort_edge_index(e, w)[1],
    "subgraph": lambda e, w: U.subgraph([0, 1], e, w)[1],
    "bipartite_subgraph": lambda e, w: U.bipartite_subgraph(([0, 1], [1]), e, w)[1],
    "no edge is left": lambda e, w: U.subgraph([2], e, w)[1],
    "remove_isolated_nodes": lambda e, w: U.remove_isolated_nodes(e, w)[1],
    "mask_select": lambda e, w: U.mask_select(w, 0, Tensor(PAIRS[0] > 0)),
    "get_laplacian": lambda e, w: U.get_laplacian(e, w[:, 0])[1],
    "Data.subgraph": lambda e, w: Data(edge_index=e, edge_attr=w, num_nodes=3).subgraph(Tensor([1, 0])).edge_attr,
    "Data.edge_subgraph": lambda e, w: Data(edge_index=e, edge_attr=w, num_nodes=3).edge_subgraph(Tensor([4, 1])).edge_attr,
    "transform": lambda e, w: T.ToUndirected()(Data(edge_index=e, edge_attr=w, num_nodes=3)).edge_attr,
}


def weigh(y):
    return (y * Tensor(np.arange(1.0, 1 + y.numel()).reshape(tuple(y.shape)).astype(np.float32))).sum()


@pytest.mark.parametrize("name", OF_VALUES)
def test_values_are_programs(name):
    """Values that are known, unknown or a parameter's give the same result and the same gradient, whether or not it was asked for before."""
    f, e, a = OF_VALUES[name], Tensor(PAIRS), np.random.default_rng(0).random((7, 2), np.float32)
    known, leaf = Tensor(a), Tensor(a, requires_grad=True)
    want = f(e, known)
    np.testing.assert_allclose(f(e, known * 1.0).numpy(), want.numpy(), rtol=1e-6)
    if not want.numel():
        return
    (grad,) = weigh(f(e, known)).gradient(known)
    (later,) = weigh(f(e, known * 1.0)).gradient(known)
    weigh(f(e, leaf)).backward()
    np.testing.assert_allclose(grad.numpy(), leaf.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(later.numpy(), leaf.grad.numpy(), rtol=1e-5)
    numeric = np.zeros_like(a)
    for k in np.ndindex(a.shape):
        step = np.zeros_like(a)
        step[k] = 1e-2
        numeric[k] = (weigh(f(e, Tensor(a + step))).item() - weigh(f(e, Tensor(a - step))).item()) / 2e-2
    np.testing.assert_allclose(grad.numpy(), numeric, rtol=2e-2, atol=2e-2)


TRACED = {
    "add_self_loops": lambda e, w: U.add_self_loops(e, w, num_nodes=3),
    "add_self_loops of edges alone": lambda e, w: U.add_self_loops(e, num_nodes=3)[:1],
    "add_self_loops mean": lambda e, w: U.add_self_loops(e, w, "mean", 3),
    "get_self_loop_attr": lambda e, w: [U.get_self_loop_attr(e, w, 3)],
    "sort_edge_index": lambda e, w: U.sort_edge_index(e, [w])[1] + [U.sort_edge_index(e)],
    "sort_edge_index by column": lambda e, w: U.sort_edge_index(e, w, 3, False),
    "index_sort": lambda e, w: U.index_sort(e[0]),
    "lexsort": lambda e, w: [U.lexsort([e[0], e[1]]), U.lexsort([e[1]], descending=True)],
    "index_to_mask": lambda e, w: [U.index_to_mask(e[0], 4)],
    "to_dense_adj": lambda e, w: [U.to_dense_adj(e, None, w, 3)],
    "degree": lambda e, w: [U.degree(e[0], 3)],
    "one_hot": lambda e, w: [U.one_hot(e[0], 3)],
}


@pytest.mark.parametrize("name", TRACED)
def test_traced_as_eager(name):
    f = TRACED[name]
    jit = TinyJit(lambda e, w: [t.realize() for t in f(e, w)])
    for k in range(4):
        rng = np.random.default_rng(k)
        pairs, a = PAIRS[:, rng.permutation(7)], rng.random(7, np.float32)
        got = jit(Tensor(pairs.copy()), Tensor(a))
        for t, want in zip(got, f(Tensor(pairs.copy()), Tensor(a))):
            assert t.dtype == want.dtype, (t.dtype, want.dtype)
            np.testing.assert_allclose(t.numpy(), want.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "name, f",
    [
        ("add_self_loops", lambda e, w: U.add_self_loops(e, w)),
        ("add_remaining_self_loops", lambda e, w: U.add_remaining_self_loops(e, w, num_nodes=3)),
        ("remove_self_loops", lambda e, w: U.remove_self_loops(e, w)),
        ("coalesce", lambda e, w: U.coalesce(e, w, 3)),
        ("to_undirected", lambda e, w: U.to_undirected(e, w, 3)),
        ("subgraph", lambda e, w: U.subgraph([0, 1], e, w, num_nodes=3)),
        ("k_hop_subgraph", lambda e, w: U.k_hop_subgraph(0, 1, e, num_nodes=3)),
        ("mask_select", lambda e, w: U.mask_select(w, 0, w > 0.5)),
        ("dropout_edge", lambda e, w: U.dropout_edge(e)),
        ("get_laplacian", lambda e, w: U.get_laplacian(e, w, num_nodes=3)),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_sizes_that_depend_on_values_are_refused_in_a_trace(name, f):
    jit = TinyJit(lambda e, w: f(e, w))
    jit(Tensor(PAIRS), Tensor(np.ones(7, np.float32)))
    with pytest.raises(RuntimeError, match=f"^{name} inside a compiled step"):
        jit(Tensor(PAIRS), Tensor(np.ones(7, np.float32)))


@pytest.mark.parametrize("name", [n for n in OF_VALUES if n != "no edge is left"])
def test_traced_with_edges_that_stay(name):
    """Edges that are no input are the same in every run: what depends on them is known in the trace. Values and gradients follow the weights."""
    f, e = OF_VALUES[name], Tensor(PAIRS).realize()

    def both(w):
        y = f(e, w)
        (g,) = (y * y).sum().gradient(w)
        y.realize(g)
        return y, g

    jit = TinyJit(both)
    for k in range(4):
        a = np.random.default_rng(k).random((7, 2), np.float32)
        for got, want in zip(jit(Tensor(a)), both(Tensor(a))):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)


def test_a_step_refuses_edges_that_have_changed():
    e = Tensor(PAIRS).realize()
    jit = TinyJit(lambda w: U.remove_self_loops(e, w)[1].realize())
    for _ in range(3):
        jit(Tensor(np.ones(7, np.float32)))
    e.assign(Tensor(PAIRS[::-1].copy())).realize()
    with pytest.raises(RuntimeError, match="changed"):
        jit(Tensor(np.ones(7, np.float32)))


def test_a_layer_of_edges_that_the_step_computes():
    """Edges that are made of others that stay are a graph, too."""
    e, x = Tensor(PAIRS).realize(), Tensor(np.random.default_rng(0).random((3, 4), np.float32))
    conv = gnn.SAGEConv(4, 2)
    jit = TinyJit(lambda x: conv(x, U.to_undirected(e)).realize())
    for _ in range(3):
        got = jit(x)
    np.testing.assert_allclose(got.numpy(), conv(x, U.to_undirected(e)).numpy(), rtol=1e-5)


def test_a_step_learns_through_added_loops():
    weight = Tensor(np.ones(7, np.float32), requires_grad=True)
    target = Tensor([3.0, 1.0, 4.0])

    def step(weights, optimizer, e):
        both, w = U.add_self_loops(e, weights[0], "mean", 3)
        loss = (U.scatter(w, both[1], 0, 3) - target).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    compiled = nn.compile_step(step, [weight], nn.SGD([weight], lr=0.05), Tensor(PAIRS))
    compiled.run(Tensor(PAIRS))
    first = compiled.loss_value()
    for _ in range(60):
        compiled.run(Tensor(PAIRS))
    assert compiled.loss_value() < 0.01 * first


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8"])
def test_coalesce_of_every_dtype(dtype):
    rng = np.random.default_rng(0)
    e, a = rng.integers(0, 4, (2, 60)), rng.integers(1, 3, (60, 3)).astype(dtype)
    groups = {}
    for k, pair in enumerate(zip(*e.tolist())):
        groups.setdefault(pair, []).append(a[k])
    ops = {"sum": np.sum, "add": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "mul": np.prod}
    for reduce, f in ops.items():
        index, out = U.coalesce(Tensor(e), Tensor(a), reduce=reduce)
        want = np.array([f(np.array(groups[p]).astype(np.float64), axis=0) for p in sorted(groups)])
        assert pairs(index) == sorted(groups)
        np.testing.assert_allclose(
            out.numpy().astype(np.float64), want if reduce == "mean" else want.astype(dtype), rtol=1e-3 if dtype == "float16" else 1e-6
        )
        assert out.numpy().dtype == (np.float32 if reduce == "mean" and np.dtype(dtype).kind in "iu" else dtype)


def test_coalesce_of_many_edges_into_one():
    n = 2_000_000
    index, out = U.coalesce(Tensor(np.zeros((2, n), np.int32)), Tensor(np.full(n, 0.1, np.float32)), 1)
    assert index.tolist() == [[0], [0]]
    assert abs(out.item() / (n * float(np.float32(0.1))) - 1) < 1e-6
    _, mean = U.coalesce(Tensor(np.zeros((2, n), np.int32)), Tensor(np.full(n, 0.1, np.float32)), 1, "mean")
    assert abs(mean.item() / float(np.float32(0.1)) - 1) < 1e-6
    with pytest.raises(ValueError, match="reduce must be one of"):
        U.coalesce(Tensor([[0, 0], [1, 1]]), Tensor([1.0, 2.0]), reduce="median")


# ---- filters ----


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("edges", [0, 1, 9, 1500, 70_000])
def test_edges_are_filtered_as_numpy_does_it(dtype, edges):
    """Sizes around a chunk, and one that several threads share; masks of edges and of nodes, new numbers, loops."""
    rng = np.random.default_rng(edges)
    n = 40
    e = rng.integers(0, n, (2, edges)).astype(dtype)
    t, nodes, mask = Tensor(e), rng.random(n) < 0.6, rng.random(edges) < 0.5
    number = np.where(nodes, rng.permutation(n), -1)
    for loops, by_loops in (("a", np.ones(edges, bool)), ("n", e[0] != e[1]), ("l", e[0] == e[1])):
        kept, stays = _host.filter_edges(t, mask, nodes, None, loops)
        want = mask & nodes[e[0]] & by_loops
        assert np.array_equal(stays.numpy(), want) and np.array_equal(kept.numpy(), e[:, want]) and kept.numpy().dtype == dtype
    for new in (number.astype(np.int64), number.astype(np.int32)):
        kept, stays = _host.filter_edges(t, None, new, nodes)
        want = nodes[e[0]] & nodes[e[1]]
        assert np.array_equal(stays.numpy(), want) and np.array_equal(kept.numpy(), np.stack([number[e[0]], e[1]])[:, want])


def test_filtered_edges_name_a_node_that_is_not_there():
    with pytest.raises(IndexError, match="index 7 is out of range for 5 nodes"):
        _host.filter_edges(Tensor([[0, 1, 2], [1, 7, 0]]), None, np.ones(9, bool), np.ones(5, bool))
    with pytest.raises(IndexError, match="index -1"):
        _host.filter_edges(Tensor([[0, -1], [1, 2]]), None, np.ones(9, bool), None)


@pytest.mark.parametrize("shape, dim", [((7,), 0), ((7, 3), 0), ((5, 7), 1), ((2, 7, 8), 1), ((7, 5, 4), 0), ((2, 7, 0), 1), ((3000, 8), 0)])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.int16])
def test_rows_of_a_mask_are_moved_with_their_gradient(shape, dim, dtype):
    rng = np.random.default_rng(3)
    a, mask = (rng.standard_normal(shape) * 9).astype(dtype), rng.random(shape[dim]) < 0.5
    x = Tensor(a)
    out = U.mask_select(x, dim, Tensor(mask))
    assert out.is_realized and np.array_equal(out.numpy(), np.compress(mask, a, dim)) and out.numpy().dtype == dtype
    if dtype == np.float32 and out.numel():
        leaf = Tensor(a, requires_grad=True)
        (U.mask_select(leaf, dim, Tensor(mask)) * 2).sum().backward()
        want = np.zeros(shape, np.float32)
        np.moveaxis(want, dim, 0)[mask] = 2
        assert np.array_equal(leaf.grad.numpy(), want)


def test_random_masks_follow_the_seed_and_the_probability():
    Tensor.manual_seed(4)
    a, b = _host.random_mask(200_000, 0.3), _host.random_mask(200_000, 0.3)
    Tensor.manual_seed(4)
    assert np.array_equal(a.numpy(), _host.random_mask(200_000, 0.3).numpy()) and not np.array_equal(a.numpy(), b.numpy())
    assert abs(a.numpy().mean() - 0.3) < 0.006  # five standard deviations
    assert not _host.random_mask(1000, 0.0).numpy().any() and _host.random_mask(1000, 1.0).numpy().all() and _host.random_mask(0, 0.5).shape == (0,)


def test_results_do_not_share_the_memory_of_what_they_are_made_of():
    """Utilities read a tensor's own memory; what they give is memory of its own."""
    e, w = Tensor(np.array([[0, 1, 2], [1, 2, 0]])), Tensor(np.array([1.0, 2.0, 3.0], np.float32))
    made = [U.add_self_loops(e)[0], U.subgraph([0, 1, 2], e)[0], U.dropout_edge(e, p=1e-9)[0], U.to_undirected(e), U.mask_select(w, 0, w > 0)]
    before = [t.tolist() for t in made]
    e.assign(Tensor(np.zeros((2, 3), np.int64))).realize()
    w.assign(Tensor(np.zeros(3, np.float32))).realize()
    assert [t.tolist() for t in made] == before


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int32, np.int64, np.uint32])
def test_edges_of_any_whole_numbers_keep_their_dtype(dtype):
    e = np.array([[0, 1, 0, 2, 2], [1, 0, 1, 2, 0]], dtype)
    t, wide = Tensor(e), Tensor(e.astype(np.int64))
    for f in (U.coalesce, U.to_undirected, lambda v: U.remove_self_loops(v)[0], lambda v: U.subgraph([0, 1], v)[0], U.sort_edge_index):
        assert np.array_equal(f(t).numpy(), f(wide).numpy()) and f(t).numpy().dtype == dtype
    assert U.maybe_num_nodes(t) == 3 and U.maybe_num_nodes(Tensor(e[:, :0])) == 0


def test_whole_numbers_as_weights_of_a_normalised_laplacian_become_floats():
    e = Tensor(np.array([[0, 1, 1, 2], [1, 0, 2, 1]]))
    for normalization in ("sym", "rw"):
        whole, same = (U.get_laplacian(e, Tensor(np.array([1, 1, 3, 3], d)), normalization)[1] for d in (np.int64, np.float32))
        np.testing.assert_allclose(whole.numpy(), same.numpy())
    assert U.get_laplacian(e, Tensor(np.array([1, 1, 3, 3])))[1].dtype == dtypes.int64


def test_a_dense_batch_of_one_graph_is_filled_up_to_the_batch_size():
    out, mask = U.to_dense_batch(Tensor([[1.0], [2.0]]), fill_value=0.5, max_num_nodes=3, batch_size=2)
    assert out.tolist() == [[[1.0], [2.0], [0.5]], [[0.5]] * 3] and mask.tolist() == [[True, True, False], [False] * 3]
