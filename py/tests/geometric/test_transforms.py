"""polygrad.geometric.transforms: results by hand or by plain loops, properties of the random ones, and that the input stays as it was."""

from __future__ import annotations

import math

import numpy as np
import pytest

from polygrad import Tensor, dtypes
from polygrad.geometric import transforms as T
from polygrad.geometric.data import Data, HeteroData
from polygrad.geometric.transforms import pad as P


def path(n=3, **kwargs):
    """0 - 1 - 2 ... both ways."""
    a = np.arange(n - 1)
    return Data(edge_index=Tensor(np.stack([np.concatenate([a, a + 1]), np.concatenate([a + 1, a])])), num_nodes=n, **kwargs)


def random_graph(n=8, m=20, seed=0, **kwargs):
    return Data(edge_index=Tensor(np.random.default_rng(seed).integers(0, n, (2, m))), num_nodes=n, **kwargs)


def hetero():
    data = HeteroData()
    data["a"].x = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
    data["b"].x = Tensor(np.arange(15, dtype=np.float32).reshape(5, 3))
    data["b"].y = Tensor(np.array([0, 1, 0, 1, 1]))
    data["a", "to", "b"].edge_index = Tensor(np.array([[0, 1, 3, 0], [0, 4, 2, 2]]))
    data["a", "to", "b"].edge_attr = Tensor(np.arange(4, dtype=np.float32))
    data["b", "self", "b"].edge_index = Tensor(np.array([[0, 1, 2], [1, 1, 0]]))
    return data


def pairs(t):
    return list(zip(*t.tolist()))


def close(t, want, **kwargs):
    np.testing.assert_allclose(t.numpy(), want, **{"rtol": 1e-5, "atol": 1e-6, **kwargs})


def test_every_transform_loads_and_shows_itself():
    for name in T.__all__:
        assert issubclass(getattr(T, name), (T.BaseTransform, T.ComposeFilters))
    assert repr(T.AddSelfLoops()) == "AddSelfLoops()" and repr(T.SIGN(2)) == "SIGN(K=2)" and repr(T.KNNGraph(3)) == "KNNGraph(k=3)"
    assert repr(T.Compose([T.Center(), T.RadiusGraph(0.5)])) == "Compose([\n  Center(),\n  RadiusGraph(r=0.5)\n])"
    assert "max_num_nodes=3" in repr(T.Pad(3)) and repr(T.RandomLinkSplit()) == "RandomLinkSplit(num_val=0.1, num_test=0.2)"


def test_the_input_stays_as_it_was():
    data = path(4, x=Tensor.ones(4, 2), edge_attr=Tensor(np.arange(6, dtype=np.float32)), pos=Tensor(np.random.default_rng(0).random((4, 3))))
    before = {key: value.numpy().copy() if isinstance(value, Tensor) else value for key, value in data.items()}
    for t in (T.AddSelfLoops("edge_attr"), T.LineGraph(), T.VirtualNode(), T.Pad(6), T.NormalizeFeatures(), T.Center(), T.ToUndirected(),
              T.OneHotDegree(3), T.RandomNodeSplit(key=None), T.RandomLinkSplit(0.2, 0.2), T.RemoveIsolatedNodes(), T.Cartesian()):  # fmt: skip
        t(data)
        assert list(data.keys()) == list(before), t
        for key, value in data.items():
            assert np.array_equal(value.numpy() if isinstance(value, Tensor) else value, before[key]), (t, key)


def test_compose():
    graphs = [path(3), path(4)]
    out = T.Compose([T.AddSelfLoops(), T.Constant()])(graphs)
    assert [d.num_edges for d in out] == [7, 10]
    keep = T.ComposeFilters([lambda d: d.num_nodes > 2, lambda d: d.num_nodes < 4])
    assert keep(graphs[0]) and not keep(graphs) and keep([graphs[0]])


# ---- features ----


def test_features():
    x = np.array([[1.0, 0.0, 3.0], [0.0, 0.5, 0.0]], np.float32)
    close(T.NormalizeFeatures()(Data(x=Tensor(x))).x, x / np.maximum(x.sum(1, keepdims=True), 1))
    assert T.NormalizeFeatures()(Data(x=Tensor(np.zeros((0, 3), np.float32)))).x.shape == (0, 3)
    out = T.NormalizeFeatures(attrs=["x"])(hetero())
    np.testing.assert_allclose(out["a"].x.numpy().sum(1), 1, rtol=1e-6)
    assert T.Constant(2.0)(path(2, x=Tensor([1.0, 5.0]))).x.tolist() == [[1.0, 2.0], [5.0, 2.0]]
    out = T.Constant(1.0, node_types="a")(hetero())
    assert out["a"].x.shape == (4, 3) and out["b"].x.shape == (5, 3)
    x = np.random.default_rng(0).random((6, 4)).astype(np.float32)
    reduced = T.SVDFeatureReduction(2)(Data(x=Tensor(x))).x.numpy()
    u, s, vt = np.linalg.svd(x)
    np.testing.assert_allclose(np.abs(reduced), np.abs(u[:, :2] * s[:2]), atol=1e-5)
    assert T.SVDFeatureReduction(9)(Data(x=Tensor(x))).x.shape == (6, 4)


def test_degrees():
    data = Data(edge_index=Tensor([[0, 0, 1], [1, 2, 0]]), num_nodes=4, x=Tensor(np.zeros((4, 1))))
    out = T.OneHotDegree(2)(data).x
    assert out.dtype == dtypes.float64 and out.tolist() == [[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert T.OneHotDegree(1, in_degree=True, cat=False)(data).x.tolist() == [[0, 1], [0, 1], [0, 1], [1, 0]]
    with pytest.raises(ValueError, match="node 0 has the degree 2"):
        T.OneHotDegree(1)(data)
    e = np.random.default_rng(0).integers(0, 6, (2, 20))
    d = np.bincount(e[0], minlength=7)
    want = np.zeros((7, 5))
    for v in range(7):
        near = d[e[1][e[0] == v]]
        want[v] = [d[v], near.min(), near.max(), near.mean(), near.std()] if near.size else [0] * 5
    close(T.LocalDegreeProfile()(Data(edge_index=Tensor(e), num_nodes=7)).x, want, atol=1e-5)
    assert T.TargetIndegree(norm=False)(data).edge_attr.tolist() == [[1.0], [1.0], [1.0]]


# ---- edges ----


def test_undirected_of_several_types():
    out = T.ToUndirected()(hetero())
    assert out.edge_types == [("a", "to", "b"), ("b", "self", "b"), ("b", "rev_to", "a")]
    assert pairs(out["b", "rev_to", "a"].edge_index) == [(0, 0), (4, 1), (2, 3), (2, 0)]
    assert out["b", "rev_to", "a"].edge_attr.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert pairs(out["b", "self", "b"].edge_index) == [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
    assert ("b", "rev_self", "b") in T.ToUndirected(merge=False)(hetero()).edge_types
    one = T.ToUndirected(reduce="mean")(Data(edge_index=Tensor([[0, 1, 1], [1, 0, 2]]), edge_attr=Tensor([1.0, 3.0, 5.0]), num_nodes=3))
    assert pairs(one.edge_index) == [(0, 1), (1, 0), (1, 2), (2, 1)] and one.edge_attr.tolist() == [2.0, 2.0, 5.0, 5.0]


def test_self_loops_and_repeated_edges():
    data = Data(edge_index=Tensor([[0, 1, 0, 0], [1, 1, 1, 2]]), edge_weight=Tensor([1.0, 2.0, 3.0, 4.0]), num_nodes=3)
    assert T.AddSelfLoops(fill_value=9.0)(data).edge_weight.tolist() == [1.0, 2.0, 3.0, 4.0, 9.0, 9.0, 9.0]
    out = T.AddRemainingSelfLoops(fill_value="add")(data)
    assert pairs(out.edge_index)[-3:] == [(0, 0), (1, 1), (2, 2)] and out.edge_weight.tolist()[-3:] == [0.0, 2.0, 4.0]
    assert T.RemoveSelfLoops()(data).edge_weight.tolist() == [1.0, 3.0, 4.0]
    out = T.RemoveDuplicatedEdges()(data)
    assert pairs(out.edge_index) == [(0, 1), (0, 2), (1, 1)] and out.edge_weight.tolist() == [4.0, 4.0, 2.0]
    assert T.AddSelfLoops()(hetero())["a", "to", "b"].edge_index.shape == (2, 4)


def test_isolated_nodes_of_several_types():
    out = T.RemoveIsolatedNodes()(hetero())
    assert out["a"].x.tolist() == [[0.0, 1.0], [2.0, 3.0], [6.0, 7.0]] and out["b"].y.tolist() == [0, 1, 0, 1]
    assert pairs(out["a", "to", "b"].edge_index) == [(0, 0), (1, 3), (2, 2), (0, 2)]
    data = T.RemoveIsolatedNodes()(Data(edge_index=Tensor([[1], [3]]), y=Tensor([5, 6, 7, 8]), num_nodes=4))
    assert data.num_nodes == 2 and data.y.tolist() == [6, 8] and pairs(data.edge_index) == [(0, 1)]


@pytest.mark.parametrize("directed", [False, True])
def test_line_graph(directed):
    """A node an edge; joined where edges follow one another, or share a node."""
    e = np.array([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])  # a triangle
    data = Data(edge_index=Tensor(e), edge_attr=Tensor(np.array([1.0, 1, 3, 3, 2, 2], np.float32)), num_nodes=3)
    out = T.LineGraph(force_directed=directed)(data)
    if directed:
        edges = sorted(zip(*e.tolist()))
        want = sorted((i, j) for i, a in enumerate(edges) for j, b in enumerate(edges) if a[1] == b[0])
        assert sorted(pairs(out.edge_index)) == want and out.num_nodes == 6
        assert out.x.tolist() == [1.0, 2.0, 1.0, 3.0, 2.0, 3.0]  # in the order of the sorted edges
    else:
        assert pairs(out.edge_index) == [(i, j) for i in range(3) for j in range(3) if i != j]
        assert out.x.tolist() == [2.0, 4.0, 6.0] and out.num_nodes == 3
    assert out.edge_attr is None


def test_virtual_node():
    data = path(2, x=Tensor.ones(2, 3), edge_attr=Tensor.ones(2, 1), edge_weight=Tensor([5.0, 6.0]), batch=Tensor([0, 0]), y=Tensor([1.0]))
    out = T.VirtualNode()(data)
    assert pairs(out.edge_index) == [(0, 1), (1, 0), (0, 2), (1, 2), (2, 0), (2, 1)] and out.edge_type.tolist() == [0, 0, 1, 1, 2, 2]
    assert out.x.tolist()[2] == [0.0] * 3 and out.edge_weight.tolist() == [5.0, 6.0, 1.0, 1.0, 1.0, 1.0]
    assert out.edge_attr.shape == (6, 1) and out.batch.tolist() == [0, 0, 0] and out.num_nodes == 3 and out.y.shape == (1,)


def test_components_and_two_hops():
    data = Data(edge_index=Tensor([[0, 3, 4, 5], [1, 4, 5, 3]]), x=Tensor(np.arange(6, dtype=np.float32)), num_nodes=6)
    assert T.LargestConnectedComponents()(data).x.tolist() == [3.0, 4.0, 5.0]
    assert T.LargestConnectedComponents(2)(data).x.tolist() == [0.0, 1.0, 3.0, 4.0, 5.0]
    assert T.LargestConnectedComponents(9)(data).num_nodes == 6
    e = np.random.default_rng(0).integers(0, 7, (2, 15))
    a = np.zeros((7, 7), bool)
    a[tuple(e)] = True
    far = (a.astype(int) @ a > 0) & ~np.eye(7, dtype=bool)
    out = T.TwoHop()(Data(edge_index=Tensor(e), num_nodes=7))
    assert pairs(out.edge_index) == list(zip(*np.nonzero(a | far)))


def test_gcn_norm_sign_and_dense():
    e = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    x = np.random.default_rng(0).random((3, 2)).astype(np.float32)
    a = np.zeros((3, 3))
    a[tuple(e)] = 1
    root = np.diag(a.sum(0) ** -0.5)
    s = root @ a @ root
    out = T.SIGN(2)(Data(x=Tensor(x), edge_index=Tensor(e)))
    close(out.x1, s.T @ x)
    close(out.x2, s.T @ s.T @ x)
    looped = a + np.eye(3)
    root = np.diag(looped.sum(0) ** -0.5)
    normed = T.GCNNorm()(Data(edge_index=Tensor(e), num_nodes=3))
    got = np.zeros((3, 3))
    got[tuple(normed.edge_index.numpy())] = normed.edge_weight.numpy()
    np.testing.assert_allclose(got, root @ looped @ root, rtol=1e-5)
    assert normed.edge_index.dtype == dtypes.int64
    matrix = T.GCNNorm()(T.ToSparseTensor()(Data(x=Tensor(x), edge_index=Tensor(e))))
    assert "edge_index" not in matrix and "edge_weight" not in matrix
    np.testing.assert_allclose(matrix.adj_t.to_dense().numpy(), (root @ looped @ root).T, rtol=1e-5)
    dense = T.ToDense(5)(Data(x=Tensor(x), edge_index=Tensor(e), y=Tensor([1, 2, 3])))
    assert np.array_equal(dense.adj.numpy()[:3, :3], a) and dense.mask.tolist() == [True] * 3 + [False] * 2
    assert dense.x.shape == (5, 2) and dense.y.tolist() == [1, 2, 3, 0, 0] and dense.edge_index is None


# ---- diffusion and positions in the graph ----


def transition(e, n, kind):
    a = np.zeros((n, n))
    np.add.at(a, tuple(e), 1.0)
    a += np.eye(n)
    d = a.sum(0) if kind != "row" else a.sum(1)
    return {"sym": d[:, None] ** -0.5 * a * d**-0.5, "col": a / d, "row": a / d[:, None]}[kind]


@pytest.mark.parametrize("kind", ["sym", "col", "row"])
@pytest.mark.parametrize("method", ["ppr", "heat", "coeff"])
def test_gdc(kind, method):
    data = random_graph()
    t = transition(data.edge_index.numpy(), 8, kind)
    series = {
        "ppr": [0.2 * 0.8**k for k in range(120)],
        "heat": [math.exp(-2) * 2**k / math.factorial(k) for k in range(60)],
        "coeff": [0.5, 0.3, 0.2],
    }
    s, power = np.zeros((8, 8)), np.eye(8)
    for c in series[method]:
        s, power = s + c * power, power @ t
    how = {"ppr": dict(alpha=0.2), "heat": dict(t=2.0), "coeff": dict(coeffs=[0.5, 0.3, 0.2])}[method]
    out = T.GDC(1.0, kind, None, dict(method=method, **how), dict(method="threshold", eps=0.03))(data)
    got = np.zeros((8, 8))
    got[tuple(out.edge_index.numpy())] = out.edge_attr.numpy()
    np.testing.assert_allclose(got, np.where(s >= 0.03, s, 0), atol=1e-5)
    top = T.GDC(1.0, kind, "col", dict(method=method, **how), dict(method="topk", k=2, dim=0))(data)
    assert np.bincount(top.edge_index.numpy()[1], minlength=8).tolist() == [2] * 8
    np.testing.assert_allclose(np.bincount(top.edge_index.numpy()[1], weights=top.edge_attr.numpy()), 1, rtol=1e-5)


def test_gdc_by_pushing_is_near_the_exact_one():
    data = T.ToUndirected()(T.RemoveSelfLoops()(random_graph(20, 60, 1)))
    for kind in ("sym", "col", "row"):
        exact = T.GDC(1.0, kind, "col", dict(method="ppr", alpha=0.15), dict(method="threshold", eps=0.03))(data)
        fast = T.GDC(1.0, kind, "col", dict(method="ppr", alpha=0.15, eps=1e-7), dict(method="threshold", eps=0.03), exact=False)(data)
        assert pairs(exact.edge_index) == pairs(fast.edge_index)
        close(fast.edge_attr, exact.edge_attr.numpy(), atol=1e-3)
    average = T.GDC(sparsification_kwargs=dict(method="threshold", avg_degree=4))(data)
    assert abs(average.num_edges - 80) <= 4
    for wrong in (dict(diffusion_kwargs=dict(method="none")), dict(sparsification_kwargs=dict(method="none")), dict(normalization_in="none")):
        with pytest.raises(ValueError, match="none"):
            T.GDC(**wrong)(data)
    with pytest.raises(NotImplementedError, match="heat"):
        T.GDC(diffusion_kwargs=dict(method="heat", t=1.0), exact=False)(data)


def test_laplacian_eigenvectors():
    data = T.ToUndirected()(random_graph(12, 40, 2))
    e = data.edge_index.numpy()
    keep = e[0] != e[1]
    a = np.zeros((12, 12))
    a[tuple(e[:, keep])] = 1
    root = np.diag(a.sum(1) ** -0.5)
    values, vectors = np.linalg.eigh(np.eye(12) - root @ a @ root)
    for undirected in (True, False):
        pe = T.AddLaplacianEigenvectorPE(3, is_undirected=undirected)(data).laplacian_eigenvector_pe
        np.testing.assert_allclose(np.abs(pe.numpy()), np.abs(vectors[:, 1:4]), atol=1e-4)
    assert T.AddLaplacianEigenvectorPE(3, None, True)(data).x.shape == (12, 3)
    assert T.LaplacianLambdaMax("sym", True)(data).lambda_max == pytest.approx(values[-1], rel=1e-5)


def test_random_walk_encoding(monkeypatch):
    data = random_graph(9, 30, 3)
    e = data.edge_index.numpy()
    a = np.zeros((9, 9))
    a[tuple(e)] = (1.0 / np.bincount(e[0], minlength=9).clip(1))[e[0]]
    want = np.stack([np.diagonal(np.linalg.matrix_power(a, k)) for k in (1, 2, 3)], axis=1)
    close(T.AddRandomWalkPE(3)(data).random_walk_pe, want)
    data = Data(edge_index=Tensor(np.stack(np.nonzero(a))), num_nodes=9)
    dense = T.AddRandomWalkPE(3, None)(data).x.numpy()
    monkeypatch.setattr(T.AddRandomWalkPE, "DENSE_LIMIT", 0)
    for columns in (4, 256):  # the powers are more than 4 columns, and fewer than 256
        data = Data(edge_index=data.edge_index, num_nodes=9)
        monkeypatch.setattr(T.AddRandomWalkPE, "COLUMNS", columns)
        close(T.AddRandomWalkPE(3, None)(data).x, dense)


# ---- splits ----


def test_node_splits():
    y = np.repeat(np.arange(3), 30)
    data = Data(x=Tensor.ones(90, 1), y=Tensor(y))

    def masks(d):
        return [m.numpy() for m in (d.train_mask, d.val_mask, d.test_mask)]

    train, val, test = masks(T.RandomNodeSplit("train_rest", num_val=0.1, num_test=20)(data))
    assert (train.sum(), val.sum(), test.sum()) == (61, 9, 20) and (train.astype(int) + val + test == 1).all()
    train, val, test = masks(T.RandomNodeSplit("test_rest", num_train_per_class=5, num_val=10)(data))
    assert np.bincount(y[train]).tolist() == [5, 5, 5] and val.sum() == 10 and test.sum() == 65
    train, val, test = masks(T.RandomNodeSplit("random", num_train_per_class=5, num_val=10, num_test=15)(data))
    assert (train.sum(), val.sum(), test.sum()) == (15, 10, 15) and not (train & val).any() and not (val & test).any()
    assert T.RandomNodeSplit("random", num_splits=4, num_val=5, num_test=5)(data).train_mask.shape == (90, 4)
    out = T.RandomNodeSplit("train_rest", num_val=1, num_test=1)(hetero())
    assert "train_mask" in out["b"] and "train_mask" not in out["a"]
    Tensor.manual_seed(5)
    first = masks(T.RandomNodeSplit(num_val=9, num_test=9)(data))
    Tensor.manual_seed(5)
    assert all(np.array_equal(a, b) for a, b in zip(first, masks(T.RandomNodeSplit(num_val=9, num_test=9)(data))))
    with pytest.raises(ValueError, match="split"):
        T.RandomNodeSplit("half")


def test_link_split():
    e = np.stack(np.nonzero(np.random.default_rng(0).random((20, 20)) < 0.25))
    data = Data(x=Tensor.ones(20, 1), edge_index=Tensor(e), edge_attr=Tensor(np.arange(e.shape[1])))
    m = e.shape[1]
    train, val, test = T.RandomLinkSplit(0.1, 0.2)(data)
    n_val, n_test = int(0.1 * m), int(0.2 * m)
    n_train = m - n_val - n_test
    assert [d.num_edges for d in (train, val, test)] == [n_train, n_train, n_train + n_val]
    whole = set(zip(*e.tolist()))
    seen = []
    for d, count in ((train, n_train), (val, n_val), (test, n_test)):
        assert np.array_equal(e[:, d.edge_attr.numpy()], d.edge_index.numpy())  # attributes went along
        label, found = d.edge_label.numpy(), pairs(d.edge_label_index)
        real = [p for p, y in zip(found, label) if y]
        assert len(real) == count == int((label == 0).sum()) and set(real) <= whole
        assert not {p for p, y in zip(found, label) if not y} & whole
        seen += real
    assert sorted(seen) == sorted(whole)
    assert not set(pairs(test.edge_label_index)) & set(pairs(test.edge_index))
    train, _, _ = T.RandomLinkSplit(0.1, 0.2, disjoint_train_ratio=0.5, add_negative_train_samples=False)(data)
    assert not set(pairs(train.edge_label_index)) & set(pairs(train.edge_index))
    assert train.num_edges + train.edge_label.shape[0] == n_train and train.edge_label.numpy().all()
    train, val, _ = T.RandomLinkSplit(5, 5, split_labels=True, neg_sampling_ratio=2.0)(data)
    assert val.pos_edge_label.shape == (5,) and val.neg_edge_label_index.shape == (2, 10) and "edge_label" not in val
    with pytest.raises(ValueError, match="Insufficient number of edges"):
        T.RandomLinkSplit(0.5, 0.6)(data)


def test_link_split_undirected_and_labelled():
    data = T.ToUndirected()(random_graph(15, 40, 1))
    n = data.num_edges
    data.edge_label = Tensor(np.ones(n, np.int64))
    train, val, test = T.RandomLinkSplit(0.2, 0.2, is_undirected=True)(data)
    for d in (train, val, test):
        assert d.is_undirected() and set(d.edge_label.tolist()) == {0, 2}
        real = d.edge_label_index.numpy()[:, d.edge_label.numpy() > 0]
        assert (real[0] <= real[1]).all()
    held = {(a, b) for (a, b), y in zip(pairs(test.edge_label_index), test.edge_label.tolist()) if y}
    assert not (held | {(b, a) for a, b in held}) & set(pairs(test.edge_index))


def test_link_split_of_several_types():
    data = T.ToUndirected()(hetero())
    kind, back = ("a", "to", "b"), ("b", "rev_to", "a")
    train, val, test = T.RandomLinkSplit(1, 1, edge_types=kind, rev_edge_types=back)(data)
    for d, count in ((train, 2), (val, 2), (test, 3)):
        assert d[kind].num_edges == d[back].num_edges == count
        assert np.array_equal(d[kind].edge_index.numpy()[::-1], d[back].edge_index.numpy()) and d[back].edge_attr.shape == (count,)
        assert int(d[kind].edge_label_index.numpy()[0].max()) < 4
        assert d["b", "self", "b"].num_edges == 5 and "edge_label" not in d["b", "self", "b"]
    with pytest.raises(ValueError, match="edge_types"):
        T.RandomLinkSplit()(data)
    crowded = Data(edge_index=Tensor(np.stack(np.nonzero(~np.eye(5, dtype=bool)))[:, :17]), num_nodes=5)
    with pytest.warns(UserWarning, match="negative"):
        parts = T.RandomLinkSplit(0.2, 0.2)(crowded)
    assert sum(int((d.edge_label.numpy() == 0).sum()) for d in parts) == 3


# ---- padding, masks ----


def test_pad():
    data = path(3, x=Tensor.ones(3, 2), edge_attr=Tensor.ones(4, 1), train_mask=Tensor([True, False, True]), y=Tensor([7]))
    out = T.Pad(5, 6, 2.0, 3.0, add_pad_mask=True)(data)
    assert out.num_nodes == 5 and out.x.tolist()[3:] == [[2.0, 2.0]] * 2 and out.edge_attr.tolist()[4:] == [[3.0]] * 2
    assert pairs(out.edge_index)[4:] == [(3, 3)] * 2 and out.train_mask.tolist() == [True, False, True, False, False]
    assert out.pad_node_mask.tolist() == [True] * 3 + [False] * 2 and out.pad_edge_mask.tolist() == [True] * 4 + [False] * 2
    assert out.y.tolist() == [7]
    assert T.Pad(5)(data).num_edges == 25 and "y" not in T.Pad(5, exclude_keys=["y"])(data)
    named = T.Pad(4, 5, P.AttrNamePadding({"x": 9.0}), mask_pad_value=True)(data)
    assert named.x.tolist()[3] == [9.0, 9.0] and named.train_mask.tolist()[3] is True
    with pytest.raises(AssertionError, match=r"nodes after padding \(2\)"):
        T.Pad(2, 9)(data)
    with pytest.raises(AssertionError, match=r"edges after padding \(3\)"):
        T.Pad(4, 3)(data)


def test_pad_of_several_types():
    kind = ("a", "to", "b")
    pads = [P.NodeTypePadding({"a": 1.0, "b": P.AttrNamePadding({"x": 3.0})}, default=7.0), P.EdgeTypePadding({kind: 5.0})]
    out = T.Pad({"a": 5, "b": 6}, {kind: 6}, *pads)(hetero())
    assert out["a"].x.tolist()[4] == [1.0, 1.0] and out["b"].x.tolist()[5] == [3.0] * 3 and out["b"].y.tolist()[5] == 0
    assert pairs(out[kind].edge_index)[4:] == [(4, 5)] * 2 and out[kind].edge_attr.tolist()[4:] == [5.0, 5.0]
    assert out["b", "self", "b"].num_edges == 36
    with pytest.raises(ValueError, match="NodeTypePadding"):
        T.Pad(5, node_pad_value=pads[0])(path(3))
    for make, match in ((lambda: P.UniformPadding("a"), "integer or float"), (lambda: P.AttrNamePadding({1: 2.0}), "string"),
                        (lambda: P.EdgeTypePadding({"a": 1.0}), "tuple"), (lambda: P.AttrNamePadding([1]), "dictionary")):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            make()


def test_masks():
    data = Data(train_index=Tensor([0, 2]), num_nodes=4)
    out = T.IndexToMask(replace=True)(data)
    assert out.train_mask.tolist() == [True, False, True, False] and "train_index" not in out
    assert T.MaskToIndex()(out).train_index.tolist() == [0, 2]
    assert T.IndexToMask("train_index", 3)(data).train_mask.shape == (3,)
    data = Data(train_mask=Tensor([True, True, True]), y=Tensor([0, 1, 2]))
    assert T.RemoveTrainingClasses([1])(data).train_mask.tolist() == [True, False, True]


# ---- points ----


def test_relative_positions():
    rng = np.random.default_rng(0)
    e, pos = rng.integers(0, 6, (2, 12)), rng.random((6, 3)).astype(np.float32)
    e = e[:, e[0] != e[1]]
    away = pos[e[0]] - pos[e[1]]
    data = Data(pos=Tensor(pos), edge_index=Tensor(e), edge_attr=Tensor(np.ones(e.shape[1], np.float32)))
    assert T.Cartesian()(data).edge_attr.shape == (e.shape[1], 4)
    close(T.Cartesian(cat=False)(data).edge_attr, away / (2 * np.abs(away).max()) + 0.5)
    close(T.Cartesian(True, 2.0, False, (-1, 1))(data).edge_attr, away / 2)
    length = np.linalg.norm(away, axis=1)[:, None]
    close(T.Distance(norm=False, cat=False)(data).edge_attr, length)
    close(T.Distance(cat=False, interval=(-1, 1))(data).edge_attr, 2 * length / length.max() - 1)
    top = np.array([np.abs(away[e[1] == v]).max(initial=0) for v in range(6)])
    close(T.LocalCartesian(cat=False)(data).edge_attr, away / (2 * top[e[1]][:, None]) + 0.5)
    spherical = T.Spherical(norm=False, cat=False)(data).edge_attr.numpy()
    rho, theta, phi = spherical.T
    back = np.stack([np.sin(phi) * np.cos(theta), np.sin(phi) * np.sin(theta), np.cos(phi)], axis=1) * rho[:, None]
    np.testing.assert_allclose(back, -away, atol=1e-5)
    flat = Data(pos=Tensor(pos[:, :2]), edge_index=Tensor(e))
    rho, theta = T.Polar(norm=False)(flat).edge_attr.numpy().T
    np.testing.assert_allclose(np.stack([rho * np.cos(theta), rho * np.sin(theta)], axis=1), -away[:, :2], atol=1e-5)
    with pytest.raises(ValueError, match=r"\[N, 2\]"):
        T.Polar()(data)


@pytest.mark.parametrize(
    "name, width, columns", [("Cartesian", 3, 3), ("LocalCartesian", 3, 3), ("Distance", 3, 1), ("Polar", 2, 2), ("Spherical", 3, 3)]
)
@pytest.mark.parametrize("norm", [True, False])
def test_relative_positions_without_edges(name, width, columns, norm):
    """There is no largest one to scale by."""
    data = Data(pos=Tensor(np.ones((4, width), np.float32)), edge_index=Tensor(np.zeros((2, 0), np.int64)))
    assert getattr(T, name)(norm=norm)(data).edge_attr.shape == (0, columns)


def test_positions():
    pos = np.random.default_rng(1).random((8, 3)).astype(np.float32)
    data = Data(pos=Tensor(pos))
    close(T.Center()(data).pos, pos - pos.mean(0))
    assert 0.9999 < np.abs(T.NormalizeScale()(data).pos.numpy()).max() < 1
    close(T.RandomFlip(1, 1.0)(data).pos, pos * [1, -1, 1])
    assert T.RandomFlip(1, 0.0)(data).pos.numpy().tolist() == pos.tolist()
    close(T.RandomRotate((90, 90), axis=2)(data).pos, np.stack([pos[:, 1], -pos[:, 0], pos[:, 2]], axis=1), atol=1e-6)
    turned = T.RandomRotate(180, axis=1)(data).pos.numpy()
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(pos, axis=1), rtol=1e-5)
    close(T.RandomScale((2, 2))(data).pos, 2 * pos)
    moved = T.RandomJitter([0.1, 0.0, 0.2])(data).pos.numpy() - pos
    assert (np.abs(moved) <= [0.1001, 1e-7, 0.2001]).all() and np.abs(moved[:, 0]).max() > 0.01
    matrix = np.random.default_rng(2).random((3, 3)).astype(np.float32)
    close(T.LinearTransformation(Tensor(matrix))(data).pos, pos @ matrix.T)
    sheared = T.RandomShear(0.3)(data).pos.numpy()
    found = np.linalg.lstsq(pos, sheared, rcond=None)[0]
    np.testing.assert_allclose(np.diag(found), 1, atol=1e-3)
    level = T.NormalizeRotation(sort=True)(data).pos.numpy()
    cov = np.cov(level.T)
    assert np.abs(cov - np.diag(np.diag(cov))).max() < 1e-5 and cov[0, 0] >= cov[1, 1] >= cov[2, 2]
    with pytest.raises(ValueError, match="'pos'"):
        T.NormalizeScale()(Data(x=Tensor([1.0])))


def test_chosen_points_and_meshes():
    data = Data(pos=Tensor(np.arange(6, dtype=np.float32).reshape(6, 1)), y=Tensor(np.arange(6)))
    for t, count in ((T.FixedPoints(9), 9), (T.FixedPoints(4, replace=False), 4), (T.FixedPoints(9, False, True), 9)):
        out = t(data)
        assert out.pos.shape == (count, 1) and out.pos.numpy().reshape(-1).tolist() == out.y.tolist()
    assert len(set(T.FixedPoints(6, replace=False)(data).y.tolist())) == 6
    square = Data(pos=Tensor(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)), face=Tensor(np.array([[0, 0], [1, 2], [2, 3]])))
    edges = T.FaceToEdge(remove_faces=False)(square)
    assert edges.num_edges == 10 and edges.is_undirected() and edges.face is not None
    points = T.SamplePoints(400, include_normals=True)(square)
    p = points.pos.numpy()
    assert (p >= 0).all() and (p <= 1).all() and (p[:, 2] == 0).all() and np.abs(p[:, :2].mean(0) - 0.5).max() < 0.06 and points.face is None
    close(points.normal, np.tile([0.0, 0.0, 1.0], (400, 1)))
    close(T.GenerateMeshNormals()(square).norm, np.tile([0.0, 0.0, 1.0], (4, 1)))
    flat = Data(pos=square.pos, norm=Tensor(np.tile(np.array([0, 0, 1], np.float32), (4, 1))), edge_index=Tensor([[0, 0], [1, 2]]))
    close(T.PointPairFeatures()(flat).edge_attr, [[1, math.pi / 2, math.pi / 2, 0], [math.sqrt(2), math.pi / 2, math.pi / 2, 0]], atol=1e-5)


def test_neighbours_of_points():
    pos = np.random.default_rng(0).random((12, 2)).astype(np.float32)
    far = np.linalg.norm(pos[:, None] - pos[None], axis=-1)
    data = T.KNNGraph(3)(Data(pos=Tensor(pos), edge_attr=Tensor([1.0])))
    want = {(j, i) for i in range(12) for j in [k for k in np.argsort(far[i]) if k != i][:3]}
    assert set(pairs(data.edge_index)) == want and data.edge_attr is None
    assert T.KNNGraph(3, force_undirected=True)(Data(pos=Tensor(pos))).is_undirected()
    near = T.RadiusGraph(0.4)(Data(pos=Tensor(pos)))
    assert set(pairs(near.edge_index)) == {(i, j) for i in range(12) for j in range(12) if i != j and far[i, j] < 0.4}


def test_half_hop_and_feature_propagation():
    data = Data(x=Tensor([[0.0], [4.0]]), edge_index=Tensor([[0, 1], [1, 1]]))
    out = T.HalfHop(0.25)(data)
    assert out.x.tolist() == [[0.0], [4.0], [3.0]] and out.slow_node_mask.tolist() == [False, False, True]
    assert pairs(out.edge_index) == [(1, 1), (0, 2), (2, 1), (1, 2)]
    missing = Tensor([[False], [True], [False]])
    filled = T.FeaturePropagation(missing, 10)(path(3, x=Tensor([[1.0], [0.0], [3.0]]))).x.numpy()
    np.testing.assert_allclose(filled, [[1.0], [4.0 / math.sqrt(2)], [3.0]], rtol=1e-5)


def test_transforms_of_graphs_without_edges_or_with_one_node():
    empty = Data(x=Tensor.ones(3, 2), edge_index=Tensor(np.zeros((2, 0), np.int64)), pos=Tensor.ones(3, 2))
    single = Data(x=Tensor.ones(1, 2), edge_index=Tensor([[0], [0]]), pos=Tensor.ones(1, 2))
    for data in (empty, single):
        for t in (T.ToUndirected(), T.AddSelfLoops(), T.OneHotDegree(3), T.LocalDegreeProfile(), T.GDC(), T.SIGN(1), T.GCNNorm(), T.LineGraph(),
                  T.VirtualNode(), T.AddRandomWalkPE(2), T.AddLaplacianEigenvectorPE(1), T.LargestConnectedComponents(), T.Cartesian(), T.Distance(),
                  T.Pad(5), T.RemoveDuplicatedEdges(), T.TwoHop(), T.ToDense(), T.RandomNodeSplit(key=None)):  # fmt: skip
            t(data)
    assert T.RemoveIsolatedNodes()(empty).x.shape == (0, 2)


def test_metapaths():
    rng = np.random.default_rng(0)
    sizes, data, a = {"a": 6, "b": 5, "c": 4}, HeteroData(), {}
    for kind, n in sizes.items():
        data[kind].num_nodes = n
    steps = [("a", "ab", "b"), ("b", "bc", "c"), ("c", "ca", "a")]
    for kind in steps:
        dense = (rng.random((sizes[kind[0]], sizes[kind[2]])) < 0.4).astype(np.float32) * rng.random((sizes[kind[0]], sizes[kind[2]])).astype(
            np.float32
        )
        a[kind] = dense
        data[kind].edge_index = Tensor(np.stack(np.nonzero(dense)))
        data[kind].edge_weight = Tensor(dense[np.nonzero(dense)])
    want = a[steps[0]] @ a[steps[1]] @ a[steps[2]]
    new = T.AddMetaPaths([steps], weighted=True)(data)["a", "metapath_0", "a"]
    assert pairs(new.edge_index) == list(zip(*np.nonzero(want)))
    close(new.edge_weight, want[np.nonzero(want)])
    dropped = T.AddMetaPaths([steps], drop_orig_edge_types=True, drop_unconnected_node_types=True)(data)
    assert dropped.edge_types == [("a", "metapath_0", "a")] and dropped.node_types == ["a"]
    walks = T.AddRandomMetaPaths([steps], walks_per_node=3)(data)["a", "metapath_0", "a"]
    assert set(pairs(walks.edge_index)) <= set(zip(*np.nonzero(want)))
    assert T.AddMetaPaths([steps], max_sample=1)(data)["a", "metapath_0", "a"].edge_index.shape[1] <= new.edge_index.shape[1]
    with pytest.raises(ValueError, match="does not begin"):
        T.AddMetaPaths([[steps[0], steps[2]]])


def test_points_by_cells_and_triangles():
    pos = np.array([[0.1, 0.1], [0.2, 0.3], [1.5, 0.2], [1.6, 1.7]], np.float32)
    out = T.GridSampling(1.0, start=0.0, end=2.0)(Data(pos=Tensor(pos), y=Tensor([1, 1, 0, 2]), x=Tensor(np.arange(4, dtype=np.float32))))
    close(out.pos, [[0.15, 0.2], [1.5, 0.2], [1.6, 1.7]])
    assert out.y.tolist() == [1, 0, 2] and out.x.tolist() == [0.5, 2.0, 3.0]
    assert T.Delaunay()(Data(pos=Tensor(pos[:3]))).face.tolist() == [[0], [1], [2]]
    assert T.Delaunay()(Data(pos=Tensor(pos))).face.shape == (3, 2)
