"""Pooling: searches among points against loops over all pairs, clusters against numpy, gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import gradcheck

import polygrad.geometric.nn as gnn
from polygrad import Context, Graph, Tensor
from polygrad.geometric._product import _paths, product
from polygrad.geometric.nn.pool.consecutive import consecutive_cluster

RNG = np.random.default_rng(0)
N = 12
X = RNG.standard_normal((N, 4))
BATCH = np.array([0] * 5 + [1] * 4 + [2] * 3)
EDGES = np.concatenate([s + RNG.integers(0, n, (2, 4 * n)) for s, n in ((0, 5), (5, 4), (9, 3))], 1)  # within each graph
WEIGHT = RNG.random(EDGES.shape[1])


# ---- points ----


def squared(x, y):
    return ((y[:, None].astype(np.float64) - x[None]) ** 2).sum(-1)


def knn_pairs(distance, k, allowed):
    """The k nearest allowed columns of each row: by distance, then by number."""
    out = []
    for i, row in enumerate(distance):
        where = np.flatnonzero(allowed[i])
        out += [(i, j) for j in where[np.argsort(row[where], kind="stable")][:k]]
    return np.array(out, np.int64).reshape(-1, 2).T


CLOUDS = [(300, 80, 3, 1), (300, 60, 2, 4), (40, 50, 1, 7), (200, 30, 20, 2), (1, 1, 3, 1)]  # points, queries, features, graphs


@pytest.mark.parametrize("n, m, features, graphs", CLOUDS)
@pytest.mark.parametrize("kind", ["float32", "float64", "grid"])
def test_knn_and_radius(n, m, features, graphs, kind):
    """The tree left out a neighbour, graphs were mixed, or equal distances came in another order ('grid' has many)."""
    rng = np.random.default_rng(features)
    x, y = rng.standard_normal((n, features)), rng.standard_normal((m, features))
    x, y = (np.round(2 * x), np.round(2 * y)) if kind == "grid" else (x.astype(kind), y.astype(kind))
    bx, by = np.sort(rng.integers(0, graphs, n)), np.sort(rng.integers(0, graphs, m))
    args = (Tensor(bx), Tensor(by))
    distance, together = squared(x, y), by[:, None] == bx[None]
    for k in (1, 7, 1000):
        got = gnn.knn(Tensor(x), Tensor(y), k, *args, batch_size=graphs)
        assert np.array_equal(got.numpy(), knn_pairs(distance, k, together))
    for r, most in ((1.0, None), (2.0, 5)):
        got = gnn.radius(Tensor(x), Tensor(y), r, *args, max_num_neighbors=most, batch_size=graphs).numpy()
        pairs = knn_pairs(distance, most, together & (distance < r * r))
        assert np.array_equal(got, pairs[:, np.lexsort((pairs[1], pairs[0]))])


def test_graphs_of_points():
    x = RNG.standard_normal((60, 2))
    batch = np.repeat([0, 1, 2], 20)
    distance, together = squared(x, x), batch[:, None] == batch[None]
    others = together & ~np.eye(60, dtype=bool)
    t, b = Tensor(x), Tensor(batch)
    assert np.array_equal(gnn.knn_graph(t, 4, b).numpy(), knn_pairs(distance, 4, others)[::-1])
    assert np.array_equal(gnn.knn_graph(t, 4, b, loop=True, flow="target_to_source").numpy(), knn_pairs(distance, 4, together))
    near = np.stack(np.nonzero(others & (distance < 0.25)))
    assert np.array_equal(gnn.radius_graph(t, 0.5, b).numpy(), near[::-1])
    assert np.array_equal(gnn.nearest(t, Tensor(x[::3].copy()), b, Tensor(batch[::3].copy())).numpy()[::3], np.arange(20))
    copies = Tensor(np.zeros((5, 2)))  # a point is not its own neighbour, even where others lie in the same place
    assert gnn.knn_graph(copies, 2).numpy().tolist() == [[1, 2, 0, 2, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]


def test_cosine():
    x, y = RNG.standard_normal((50, 3)), RNG.standard_normal((20, 3))
    x[7] = 0
    unit = [v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300) for v in (x, y)]
    expect = knn_pairs(1 - unit[1] @ unit[0].T, 3, np.ones((20, 50), bool))
    assert np.array_equal(gnn.knn(Tensor(x), Tensor(y), 3, cosine=True).numpy(), expect)


def farthest(x, start, count):
    distance, out = np.full(len(x), np.inf), [start]
    while len(out) < count:
        distance = np.minimum(distance, ((x - x[out[-1]]) ** 2).sum(1))
        out.append(int(distance.argmax()))
    return out


def test_fps():
    x = RNG.standard_normal((60, 3))
    batch = np.repeat([0, 2], [25, 35])  # graph 1 has no points
    got = gnn.fps(Tensor(x), Tensor(batch), 0.3, random_start=False).numpy()
    assert got.tolist() == farthest(x[:25], 0, 8) + [25 + k for k in farthest(x[25:], 0, 11)]
    Tensor.manual_seed(5)
    first = gnn.fps(Tensor(x), ratio=0.1).numpy().tolist()
    assert first == farthest(x, first[0], 6)
    Tensor.manual_seed(5)
    assert gnn.fps(Tensor(x), ratio=0.1).numpy().tolist() == first


def test_large_enough_for_threads(cpu):
    """The same result by several threads: parts of the work must come together in order."""
    x = RNG.standard_normal((20000, 3)).astype(np.float32)
    pairs = gnn.knn(Tensor(x), Tensor(x), 3).numpy()
    assert np.array_equal(pairs[0], np.repeat(np.arange(20000), 3)) and np.array_equal(pairs[1, ::3], np.arange(20000))
    few = RNG.choice(20000, 20)
    assert np.array_equal(pairs.reshape(2, -1, 3)[1, few], knn_pairs(squared(x, x[few]), 3, np.ones((20, 20000), bool))[1].reshape(-1, 3))
    assert gnn.fps(Tensor(x), ratio=0.001, random_start=False).numpy().tolist() == farthest(x.astype(np.float64), 0, 20)


def test_bad_points():
    x = Tensor.ones(4, 3)
    with pytest.raises(ValueError, match="3 and of 2 features"):
        gnn.knn(x, Tensor.ones(2, 2), 1)
    with pytest.raises(ValueError, match="sorted"):
        gnn.knn_graph(x, 1, Tensor([0, 1, 0, 1]))
    with pytest.raises(ValueError, match="graph 3"):
        gnn.knn_graph(x, 1, Tensor([0, 1, 2, 3]), batch_size=2)
    with pytest.raises(ValueError, match="ratio"):
        gnn.fps(x, ratio=2.0)
    with pytest.raises(ValueError, match="none in y"):
        gnn.nearest(x, x[:2], Tensor([0, 0, 1, 1]), Tensor([0, 0]))
    with pytest.raises(ValueError, match="flow"):
        gnn.radius_graph(x, 1.0, flow="sideways")
    empty = Tensor(np.zeros((0, 3), np.float32))
    assert gnn.knn(empty, x, 2).shape == gnn.knn(x, empty, 2).shape == (2, 0) and gnn.fps(empty).shape == (0,)
    nan = np.full((50, 3), np.nan)
    assert gnn.knn(Tensor(nan), Tensor(nan), 2).shape == (2, 0)  # NaN is near nothing


def test_knn_interpolate():
    x, a, b = RNG.standard_normal((10, 3)), RNG.standard_normal((10, 2)), RNG.standard_normal((4, 2))
    d = squared(a, b)
    near = np.argsort(d, 1)[:, :3]
    w = 1 / np.take_along_axis(d, near, 1)
    expect = (x[near] * w[..., None]).sum(1) / w.sum(1, keepdims=True)
    assert np.allclose(gnn.knn_interpolate(Tensor(x), Tensor(a), Tensor(b)).numpy(), expect)
    gradcheck(lambda v: gnn.knn_interpolate(v, Tensor(a), Tensor(b)), x)
    assert np.allclose(gnn.knn_interpolate(Tensor(x), Tensor(a), Tensor(a.copy())).numpy(), x, atol=1e-6)


def test_voxel_grid():
    pos = RNG.standard_normal((40, 3)) * 4
    batch = np.repeat([0, 1], 20)
    cell = np.floor((pos - pos.min(0)) / [2.0, 1.0, 3.0])
    same = (cell[:, None] == cell[None]).all(-1) & (batch[:, None] == batch[None])
    got = gnn.voxel_grid(Tensor(pos), [2.0, 1.0, 3.0], Tensor(batch)).numpy()
    assert got.dtype == np.int64 and np.array_equal(got[:, None] == got[None], same)
    assert gnn.voxel_grid(Tensor([0.0, 3.0, 7.0]), 2.0, start=-1.0, end=9.0).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="4 numbers"):
        gnn.voxel_grid(Tensor(pos), [1.0] * 4)


# ---- clusters ----


@pytest.mark.parametrize("weighted", [False, True])
def test_graclus(weighted):
    """Pairs are neighbours, no node is in two, and no two neighbours are left alone."""
    e = RNG.integers(0, 50, (2, 80))
    e, w = np.concatenate([e, e[::-1]], 1), np.tile(RNG.random(80).astype(np.float32), 2)
    cluster = gnn.graclus(Tensor(e), Tensor(w) if weighted else None, num_nodes=52).numpy()
    values, count = np.unique(cluster, return_counts=True)
    pairs = {tuple(p) for p in e.T.tolist()}
    assert cluster.shape == (52,) and count.max() == 2
    for v in values[count == 2]:
        a, b = np.flatnonzero(cluster == v)
        assert v == a and (a, b) in pairs
    alone = set(values[count == 1].tolist())
    assert not any(a != b and a in alone and b in alone for a, b in pairs)


def test_graclus_takes_the_heaviest():
    e, w = Tensor([[0, 0, 1, 2], [1, 2, 0, 0]]), Tensor([1.0, 5.0, 1.0, 5.0])
    seen = set()
    for seed in range(8):
        Tensor.manual_seed(seed)
        seen.add(tuple(gnn.graclus(e, w).tolist()))
    assert seen <= {(0, 1, 0), (0, 0, 2)} and (0, 1, 0) in seen  # 1 takes 0 only if it comes first


def test_product():
    g, h = Graph(EDGES, N), Graph(EDGES[::-1].copy(), N)
    back = WEIGHT[::-1].copy()
    c, values = product(g, Tensor(WEIGHT), h, Tensor(back))
    a, b = np.zeros((N, N)), np.zeros((N, N))
    np.add.at(a, tuple(EDGES), WEIGHT)
    np.add.at(b, tuple(EDGES[::-1]), back)
    dense, e = a @ b, c.edge_index.numpy()
    assert np.allclose(dense[tuple(e)], values.numpy()) and len({tuple(p) for p in e.T.tolist()}) == e.shape[1]
    dense[tuple(e)] = 0
    assert not dense.any()
    gradcheck(lambda u, v: product(g, u, h, v)[1], WEIGHT, back)
    none, nothing = product(Graph([[], []], 3), None, Graph([[0], [1]], 3), None)
    assert none.num_edges == 0 and nothing is None
    with pytest.raises(ValueError, match="3 nodes, the second comes from 12"):
        product(Graph([[0], [1]], 3), None, g, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_product_of_many_rows(dtype):
    """More edges than are computed at a time, also from several threads: sums in the order of paths, edges in the order in which they are met."""
    rng, n = np.random.default_rng(0), 1500
    e = rng.integers(0, n, (2, 30 * n))
    e[1, e[0] < 100] %= 7  # many paths to one edge
    weight = rng.standard_normal(e.shape[1]).astype(dtype)
    g = Graph(e, n)
    pattern, paths = _paths(g, g)
    sums = np.zeros(pattern.num_edges)
    np.add.at(sums, paths[2], weight[paths[0]].astype(np.float64) * weight[paths[1]])  # in their order
    for threads in (1, 3):
        with Context(THREADS=threads):
            c, values = product(g, Tensor(weight), g, Tensor(weight))
        assert np.array_equal(c.edge_index.numpy(), pattern.edge_index.numpy())
        assert values.numpy().tobytes() == sums.astype(dtype).tobytes()


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pool_clusters(kind):
    from polygrad.geometric.data import Batch, Data

    cluster = np.array([0, 0, 4, 4, 4, 5, 5, 7, 7, 9, 9, 11])
    reduce = np.max if kind == "max" else np.mean
    names = np.unique(cluster)
    x, batch = getattr(gnn, f"{kind}_pool_x")(Tensor(cluster), Tensor(X), Tensor(BATCH))
    assert np.allclose(x.numpy(), [reduce(X[cluster == k], 0) for k in names]) and batch.tolist() == [0, 0, 1, 1, 2, 2]
    x, none = getattr(gnn, f"{kind}_pool_x")(Tensor(cluster), Tensor(X), Tensor(BATCH), size=4)
    assert none is None and x.shape == (12, 4) and np.allclose(x.numpy()[names], [reduce(X[cluster == k], 0) for k in names])

    data = Batch(batch=Tensor(BATCH), x=Tensor(X), edge_index=Tensor(EDGES), edge_attr=Tensor(WEIGHT), pos=Tensor(X[:, :2].copy()))
    out = getattr(gnn, f"{kind}_pool")(Tensor(cluster), data)
    dense, new = np.zeros((6, 6)), np.searchsorted(names, cluster)[EDGES]
    np.add.at(dense, tuple(new), WEIGHT)
    np.fill_diagonal(dense, 0)
    assert np.array_equal(out.edge_index.numpy(), np.stack(np.nonzero(dense))) and np.allclose(out.edge_attr.numpy(), dense[dense > 0])
    assert np.allclose(out.pos.numpy(), [X[cluster == k, :2].mean(0) for k in names])

    for flow in ("source_to_target", "target_to_source"):
        got = getattr(gnn, f"{kind}_pool_neighbor_x")(Data(x=Tensor(X), edge_index=Tensor(EDGES)), flow).x
        src, dst = EDGES if flow == "source_to_target" else EDGES[::-1]
        assert np.allclose(got.numpy(), [reduce(X[np.append(src[dst == v], v)], 0) for v in range(N)])


def test_consecutive():
    cluster, last = consecutive_cluster(Tensor([8, 2, 8, 2, 9]))
    assert cluster.tolist() == [1, 0, 1, 0, 2] and last.tolist() == [3, 2, 4]


# ---- layers ----


def chosen(score, ratio):
    """Nodes by falling score, graph after graph."""
    out = []
    for k in range(3):
        where = np.flatnonzero(BATCH == k)
        count = ratio if ratio >= 1 else int(np.ceil(ratio * where.size))
        out += where[np.argsort(-score[where], kind="stable")][:count].tolist()
    return out


@pytest.mark.parametrize("ratio", [0.5, 2])
def test_topk(ratio):
    layer = gnn.TopKPooling(4, ratio=ratio, multiplier=2.0)
    p = layer.select.weight.numpy()[0]
    score = np.tanh(X @ p / np.linalg.norm(p))
    x, e, attr, batch, perm, kept = layer(Tensor(X), Tensor(EDGES), Tensor(WEIGHT), Tensor(BATCH))
    nodes = chosen(score, ratio)
    assert perm.tolist() == nodes and batch.tolist() == BATCH[nodes].tolist()
    assert np.allclose(kept.numpy(), score[nodes]) and np.allclose(x.numpy(), 2 * X[nodes] * score[nodes][:, None])
    place = {v: k for k, v in enumerate(nodes)}
    stay = [k for k, (a, b) in enumerate(EDGES.T.tolist()) if a in place and b in place]
    assert e.tolist() == [[place[v] for v in row] for row in EDGES[:, stay].tolist()] and np.allclose(attr.numpy(), WEIGHT[stay])
    gradcheck(lambda v: layer(v, Tensor(EDGES), None, Tensor(BATCH))[0], X)


def test_highest():
    """Equal scores keep their order, NaN comes last, and groups need not lie in order nor have as many as they may keep."""
    from polygrad.geometric.utils._host import highest

    score, group = np.array([1, 3, np.nan, 3, -0.0, 0.0, 5]), np.array([1, 1, 1, 1, 0, 0, 3])
    for kind, index in ((np.float32, np.int32), (np.float64, np.int64)):
        found = highest(Tensor(score.astype(kind)), Tensor(group.astype(index)), np.array([1, 4, 2, 2]))
        assert found.tolist() == [4, 1, 3, 0, 2, 6]
    assert highest(Tensor(score), Tensor(group), np.array([0, 2, 0, 0])).tolist() == [1, 3]
    assert highest(Tensor(score[:0]), Tensor(group[:0]), np.array([1])).shape == (0,)
    with pytest.raises(IndexError, match="out of range for 2 groups"):
        highest(Tensor(score), Tensor(group), np.array([1, 1]))
    with pytest.raises(ValueError, match="7 scores"):
        highest(Tensor(score), Tensor(group[:2]), np.array([1, 1]))


def test_min_score():
    """Every graph keeps a node, though all its scores may be too low."""
    layer = gnn.TopKPooling(4, min_score=0.99)
    _, _, _, batch, perm, score = layer(Tensor(X), Tensor(EDGES), None, Tensor(BATCH))
    assert batch.tolist() == [0, 1, 2] and perm.tolist() == sorted(perm.tolist())
    logits = X @ layer.select.weight.numpy()[0]
    best = [int(np.flatnonzero(BATCH == k)[logits[BATCH == k].argmax()]) for k in range(3)]
    assert perm.tolist() == best and 0 < score.numpy().min()


def test_sag_and_pan():
    layer = gnn.SAGPooling(4, ratio=0.5, GNN=gnn.GCNConv)
    x, e, attr, batch, perm, score = layer(Tensor(X.astype(np.float32)), Tensor(EDGES))
    assert x.shape == (6, 4) and batch.tolist() == [0] * 6 and attr is None and np.all(np.diff(score.numpy()) <= 0)
    conv, pool = gnn.PANConv(4, 4, filter_size=2), gnn.PANPooling(4)
    conv.weight.assign(Tensor([0.3, 0.7, 0.2]))
    simple = np.unique(EDGES, axis=1)
    out, m = conv(Tensor(X.astype(np.float32)), Tensor(simple))
    a = np.zeros((N, N))
    a[simple[1], simple[0]] = 1
    total, some = 0.3 * np.eye(N) + 0.21 * a + 0.042 * a @ a, np.eye(N) + a + a @ a > 0
    scale = some.sum(1) ** -0.5
    expect = scale[:, None] * total * scale[None]
    assert np.allclose(out.numpy(), expect @ X @ conv.lin.weight.numpy().T + conv.lin.bias.numpy(), atol=1e-5)
    x, e, weight, batch, perm, score = pool(out, m, Tensor(BATCH))
    assert np.allclose(weight.numpy(), expect[perm.numpy()[e.numpy()[1]], perm.numpy()[e.numpy()[0]]], atol=1e-6)
    logits = (0.5 * out.numpy().sum(1) + 0.5 * expect.sum(0)) * np.sign(pool.select.weight.numpy()[0, 0])
    assert perm.tolist() == chosen(logits, 0.5)


def test_edge_pooling():
    """Edges are contracted by falling score; unpool takes features back."""
    e = np.array([[0, 1, 1, 2, 3, 4, 0], [1, 2, 2, 3, 4, 3, 3]])
    layer = gnn.EdgePooling(4, gnn.EdgePooling.compute_edge_score_tanh, add_to_edge_score=0.25)
    w, b = layer.lin.weight.numpy()[0], layer.lin.bias.numpy()
    score = np.tanh(np.concatenate([X[e[0]], X[e[1]]], 1) @ w + b) + 0.25
    batch = np.zeros(6, np.int64)
    x, index, new_batch, info = layer(Tensor(X[:6].copy()), Tensor(e), Tensor(batch))
    cluster, scores = np.full(6, -1), []
    for k in np.argsort(-score):
        if cluster[e[0, k]] < 0 and cluster[e[1, k]] < 0:
            cluster[e[:, k]] = len(scores)
            scores.append(score[k])
    left = np.flatnonzero(cluster < 0)
    cluster[left] = np.arange(len(scores), len(scores) + left.size)
    scores += [1.0] * left.size
    assert info.cluster.tolist() == cluster.tolist() and np.allclose(info.new_edge_score.numpy(), scores)
    assert np.allclose(x.numpy(), [s * X[:6][cluster == k].sum(0) for k, s in enumerate(scores)])
    assert {tuple(p) for p in index.numpy().T.tolist()} == {tuple(p) for p in cluster[e].T.tolist()}
    old, _, _ = layer.unpool(x, info)
    assert np.allclose(old.numpy()[5], X[5]) and new_batch.tolist() == [0] * len(scores)
    layer = gnn.EdgePooling(4)
    gradcheck(lambda v: layer(v, Tensor(EDGES), Tensor(BATCH))[0], X)


def test_cluster_pooling():
    layer = gnn.ClusterPooling(4, "sigmoid")
    w, b = layer.lin.weight.numpy()[0], layer.lin.bias.numpy()
    e = np.unique(EDGES[:, EDGES[0] != EDGES[1]], axis=1)
    x, index, batch, info = layer(Tensor(X), Tensor(e), Tensor(BATCH))
    score = 1 / (1 + np.exp(-(np.concatenate([X[e[0]], X[e[1]]], 1) @ w + b)))
    cluster, s = info.cluster.numpy(), np.zeros((N, N))
    s[tuple(e)] = score
    touched = np.unique(e[:, score > 0.5])
    s[np.setdiff1d(np.arange(N), touched), np.setdiff1d(np.arange(N), touched)] = 1
    assert all(cluster[a] == cluster[b] for a, b in e[:, score > 0.5].T)
    assert np.allclose(x.numpy(), (s @ np.eye(cluster.max() + 1)[cluster]).T @ X) and (batch.numpy()[cluster] == BATCH).all()
    assert (index.numpy()[0] != index.numpy()[1]).all()


def test_asap():
    """S^T A S and the features, computed densely."""
    layer = gnn.ASAPooling(4, ratio=0.5)
    e = np.unique(EDGES[:, EDGES[0] != EDGES[1]], axis=1)
    w = RNG.random(e.shape[1])
    x, index, weight, batch, perm = layer(Tensor(X), Tensor(e), Tensor(w), Tensor(BATCH))
    full = np.concatenate([e, np.stack([np.arange(N)] * 2)], 1)
    top = np.array([X[full[0][full[1] == v]].max(0) for v in range(N)])
    query = top @ layer.lin.weight.numpy().T + layer.lin.bias.numpy()
    raw = np.concatenate([query[full[1]], X[full[0]]], 1) @ layer.att.weight.numpy()[0] + layer.att.bias.numpy()
    raw = np.exp(np.where(raw > 0, raw, 0.2 * raw))
    s = np.zeros((N, N))
    s[tuple(full)] = raw
    s /= s.sum(0)
    a = np.zeros((N, N))
    a[tuple(full)] = np.append(w, np.ones(N))
    p = perm.numpy()
    coarse = s[:, p].T @ a @ s[:, p]
    np.fill_diagonal(coarse, 0)
    assert np.allclose(weight.numpy(), coarse[tuple(index.numpy())]) and index.shape[1] == np.count_nonzero(coarse)
    fitness = 1 / (1 + np.exp(-layer.gnn_score(Tensor(s.T @ X), Tensor(full)).numpy().reshape(-1)))
    assert np.allclose(x.numpy(), (s.T @ X * fitness[:, None])[p]) and batch.tolist() == BATCH[p].tolist()
    assert layer(Tensor(X), Tensor(e))[2] is None
    gradcheck(lambda u: layer(Tensor(X), Tensor(e), u.requires_grad_(), Tensor(BATCH))[2], w)


def test_mem_pooling():
    layer = gnn.MemPooling(4, 6, heads=2, num_clusters=3, tau=2.0)
    x, s = layer(Tensor(X), Tensor(BATCH))
    assert x.shape == (3, 3, 6) and s.shape == (3, 5, 3)
    distance = ((X[:5, None, None] - layer.k.numpy()[None]) ** 2).sum(-1)  # [N, H, K]
    near = (1 + distance / 2) ** -1.5
    near /= near.sum(-1, keepdims=True)
    logits = (near * layer.conv.weight.numpy().reshape(1, 2, 1)).sum(1)
    expect = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert np.allclose(s.numpy()[0], expect) and not s.numpy()[1, 4:].any()
    assert np.allclose(x.numpy()[0], expect.T @ X[:5] @ layer.lin.weight.numpy().T)
    assert sorted(layer.state_dict()) == ["conv.weight", "k", "lin.weight"] and gnn.MemPooling.kl_loss(s).item() > 0


@pytest.mark.parametrize("masked", [False, True])
def test_dense(masked):
    x, s = RNG.standard_normal((2, 5, 3)), RNG.standard_normal((2, 5, 4))
    adj = RNG.random((2, 5, 5))
    adj = adj + adj.transpose(0, 2, 1)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool) if masked else None
    m = None if mask is None else Tensor(mask)
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True) * (1 if mask is None else mask[..., None])
    xm, pt = x * (1 if mask is None else mask[..., None]), p.transpose(0, 2, 1)
    out, coarse, link, entropy = gnn.dense_diff_pool(Tensor(x), Tensor(adj), Tensor(s), m)
    assert np.allclose(out.numpy(), pt @ xm) and np.allclose(coarse.numpy(), pt @ adj @ p)
    assert np.isclose(link.item(), np.linalg.norm(adj - p @ pt) / adj.size)
    assert np.isclose(entropy.item(), -(p * np.log(p + 1e-15)).sum(-1).mean())

    out, coarse, cut, ortho = gnn.dense_mincut_pool(Tensor(x), Tensor(adj), Tensor(s), m)
    c = pt @ adj @ p
    degrees = [np.diag(a.sum(1)) for a in adj]
    assert np.isclose(cut.item(), -np.mean([np.trace(a) / np.trace(u.T @ d @ u) for a, u, d in zip(c, p, degrees)]))
    c = c * (1 - np.eye(4))
    d = np.sqrt(c.sum(-1))
    assert np.allclose(coarse.numpy(), c / d[:, None] / d[:, :, None])
    ss = pt @ p
    expect = [np.linalg.norm(v / np.linalg.norm(v) - np.eye(4) / 2) for v in ss]
    assert np.isclose(ortho.item(), np.mean(expect))

    layer = gnn.DMoNPooling([3, 6], k=4)
    got = layer(Tensor(x), Tensor(adj), m)
    assert [t.shape for t in got] == [(2, 5, 4), (2, 4, 3), (2, 4, 4), (), (), ()] and np.isclose(got[0].numpy().sum(), 10 if mask is None else 8)
    gradcheck(lambda v: layer(v, Tensor(adj), m)[3], x)


@pytest.mark.parametrize("name", ["global_add_pool", "global_mean_pool", "global_max_pool"])
def test_global(name):
    f = getattr(gnn, name)
    reduce = {"global_add_pool": np.sum, "global_mean_pool": np.mean, "global_max_pool": np.max}[name]
    expect = np.stack([reduce(X[BATCH == k], 0) for k in range(3)])
    assert np.allclose(f(Tensor(X), Tensor(BATCH)).numpy(), expect)
    assert np.allclose(f(Tensor(X), Tensor(BATCH), 5).numpy(), np.append(expect, np.zeros((2, 4)), 0))
    assert np.allclose(f(Tensor(X), None).numpy(), reduce(X, 0, keepdims=True))
    assert np.allclose(f(Tensor(np.stack([X, 2 * X])), Tensor(BATCH)).numpy(), np.stack([expect, 2 * expect]))
    assert np.allclose(f(Tensor(X[:, 0].copy()), Tensor(BATCH)).numpy(), expect[:, 0])
    gradcheck(lambda v: f(v, Tensor(BATCH), 4), X)


def test_weighted_mean(device):
    """A value of each edge that two reductions of one kernel read: the one that runs first must be the one that stores it."""
    a, b = X[:, :2].copy(), RNG.standard_normal((N, 2))
    g = Graph(EDGES, N)
    weight = (g.src(Tensor(a)) - g.dst(Tensor(b))).square().sum(-1, keepdim=True)
    out = (g.sum(g.src(Tensor(X)) * weight) / (g.sum(weight) + 1.0)).numpy()
    w = ((a[EDGES[0]] - b[EDGES[1]]) ** 2).sum(1)
    total = np.zeros((N, 5))
    np.add.at(total, EDGES[1], np.column_stack([X[EDGES[0]] * w[:, None], w]))
    assert np.allclose(out, total[:, :4] / (total[:, 4:] + 1))


def test_points_kept_for_searching():
    """Both indices against all scores, with points that are added later and pairs that are not to be found."""
    rng = np.random.default_rng(4)
    points, queries = (rng.standard_normal((n, 5)).astype(np.float32) for n in (30, 7))
    banned = np.array([[0, 0, 0, 3], [1, 4, 9, 2]])
    for make, sign, score in (
        (gnn.L2KNNIndex, 1, ((queries[:, None] - points) ** 2).sum(-1)),
        (gnn.MIPSKNNIndex, -1, queries @ points.T),
    ):
        index = make(Tensor(points[:20]))
        index.add(Tensor(points[20:]))
        assert index.numel == 30
        found = index.search(Tensor(queries), k=4)
        want = np.argsort(sign * score, axis=1)[:, :4]
        np.testing.assert_array_equal(found.index.numpy(), want)
        np.testing.assert_allclose(found.score.numpy(), np.take_along_axis(score, want, 1), rtol=1e-4, atol=1e-5)
        left = sign * score
        left[banned[0], banned[1]] = np.inf
        found = index.search(Tensor(queries), k=4, exclude_links=Tensor(banned))
        np.testing.assert_array_equal(found.index.numpy(), np.argsort(left, axis=1)[:, :4])
        few = make(Tensor(points[:3])).search(Tensor(queries[:1]), k=3, exclude_links=Tensor([[0], [1]]))
        assert few.index.numpy()[0, -1] == -1 and few.score.numpy()[0, -1] == -np.inf
