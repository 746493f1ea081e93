"""Programs whose numbers change from run to run: sizes, bounds of slices, indices, scalar constants. They share plans, and compute what plans of
their own would compute."""

import contextlib

import numpy as np
import pytest
from fuzz.resize import MAPS, eager, resized
from fuzz.run import run

from polygrad import Device, Tensor, TinyJit, Variable, nn, scan, with_autograd_graph
from polygrad.autograd import current
from polygrad.geometric import nn as gnn
from polygrad.geometric import utils
from polygrad.geometric.data import Batch, Data
from polygrad.geometric.loader import DataLoader
from polygrad.nn import compile_step, get_parameters

rng = np.random.default_rng(5)
X = rng.standard_normal((120, 6)).astype(np.float32)


@contextlib.contextmanager
def fresh():
    """A context that has met no program."""
    with with_autograd_graph() as g:
        Device.DEFAULT = "INTERP"
        yield g


@contextlib.contextmanager
def exact(monkeypatch):
    """One in which every program has a plan of its own."""
    with monkeypatch.context() as m:
        m.setenv("POLY_EXACT", "1")
        with fresh():
            yield


@pytest.fixture(autouse=True)
def own_context():
    with fresh():
        yield


def close(got, want):
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=2e-5)


def plans_of(f, runs):
    before = current().plans_built
    for k in range(runs):
        f(k)
    return current().plans_built - before


# Each takes a tensor or an array; k says which numbers it is about.
CASES = {
    "elementwise": lambda x, k: x[: 3 + 5 * k] * 2 + 1,
    "sum": lambda x, k: (x[: 3 + 5 * k] * 2).sum(),
    "rows summed": lambda x, k: (x[: 3 + 5 * k] * 2).sum(0),
    "slice": lambda x, k: x[k : 20 + 3 * k] * 2,
    "two slices": lambda x, k: x[k : 20 + k] * x[2 * k + 1 : 21 + 2 * k],
    "index": lambda x, k: x[7 * k + 1] * 2,
    "last rows": lambda x, k: x[-3 - k :] * 2,
    "every other row": lambda x, k: x[2 * k : 40 : 2] * 2,
    "scalar": lambda x, k: x * (0.25 * k + 0.5) + k,
    "columns and rows": lambda x, k: x[: 5 + k, : 2 + k % 4] * 2,
    "product": lambda x, k: x[: 5 + k] @ x[: 9 + 2 * k].transpose(1, 0),
    "gram": lambda x, k: x[: 5 + 3 * k].transpose(1, 0) @ x[: 5 + 3 * k],
    "flattened": lambda x, k: x[: 5 + k].reshape(-1) * 2,
    "split axis": lambda x, k: x[: 6 + 2 * k].reshape(3 + k, 2, 6).sum(1),
    "merged axes": lambda x, k: x[: 6 + 2 * k].reshape(3 + k, 2, 6).sum(2).reshape(-1) * 2,
    "unlike axes": lambda x, k: x[: 4 * (2 + k)].reshape(2 * (2 + k), 2, 6).sum(2),
}


def test_rows_that_edges_read_and_rows_that_they_are_summed_to():
    """Work that is moved from edges to nodes puts both side by side: a general plan knows that they are equally many."""
    from polygrad import Graph

    def once(n, edges, features, hidden):
        r = np.random.default_rng(n)
        index, x, w, weight = r.integers(0, n, (2, edges)), *(r.uniform(0.5, 2, s) for s in ((n, features), (features, hidden), (n, hidden)))
        g, tx, tw = Graph(Tensor(index), n), Tensor(x), Tensor(w)
        out = g.prod(g.dst(tx) @ tw, "in")
        grads = (out * Tensor(weight)).sum().gradient(tx, tw)
        out.realize(*grads)
        value, want = x[index[1]] @ w, np.ones((n, hidden))
        np.multiply.at(want, index[1], value)
        slope, dx = weight[index[1]] * want[index[1]] / value, np.zeros((n, features))
        np.add.at(dx, index[1], slope @ w.T)
        for got, expected in zip((out, *grads), (want, dx, x[index[1]].T @ slope)):
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-9, atol=1e-9)

    sizes = [(4, 6, 3, 2), (9, 12, 8, 3), (4, 12, 5, 11), (7, 6, 7, 7), (5, 9, 4, 3)]
    built = current().plans_built
    for size in sizes[:2]:
        once(*size)
    general = current().plans_built
    for size in sizes[2:]:
        once(*size)
    assert general > built and current().plans_built == general


@pytest.mark.parametrize("name", CASES)
def test_numbers_that_change_are_arguments(name):
    """The second program builds a general plan, which serves all others."""
    f = CASES[name]
    x = Tensor(X).realize()
    assert plans_of(lambda k: close(f(x, k), f(X, k)), 8) <= 2


def test_joined_and_padded():
    x = Tensor(X).realize()

    def joined(k):
        close(Tensor.cat(x[: 3 + k], x[k + 5 : 20 + 2 * k]) * 2, 2 * np.concatenate([X[: 3 + k], X[k + 5 : 20 + 2 * k]]))

    def padded(k):
        close(x[: 3 + k].pad(((k + 1, 2 * k + 3), (0, 0))) * 2, 2 * np.pad(X[: 3 + k], ((k + 1, 2 * k + 3), (0, 0))))

    def to_a_fixed_size(k):
        close(x[: 3 + k].pad(((0, 29 - k), (0, 0))) + x[:32], np.pad(X[: 3 + k], ((0, 29 - k), (0, 0))) + X[:32])

    assert [plans_of(f, 6) for f in (joined, padded, to_a_fixed_size)] == [2, 2, 2]


def test_a_thousand_sizes_in_a_training_loop():
    """Two plans, one more for size 1, and no memory that grows."""
    with fresh() as g:
        a, b = nn.Linear(6, 8), nn.Linear(8, 3)
        opt = nn.Adam([*get_parameters(a), *get_parameters(b)], lr=0.01)
        y = rng.integers(0, 3, 120)

        def step(n):
            opt.zero_grad()
            loss = b(a(Tensor(X[:n])).relu()).sparse_categorical_crossentropy(Tensor(y[:n]))
            loss.backward()
            opt.step()
            return loss.item()

        before = g.plans_built  # the first values of the parameters have one
        plans, peak = [], []
        for k in range(1000):
            g.reset_peak()
            assert np.isfinite(step(2 + 37 * k % 119))
            plans.append(g.plans_built - before)
            peak.append(g.peak_bytes)
        assert plans[1] == plans[-1] == 2
        assert max(peak[-119:]) == max(peak[119:238])
        step(1)
        step(1)
        assert g.plans_built - before == 3


def test_sizes_that_are_equal_by_chance_stay_two():
    """Rows of two tensors, equal in the first runs, are two numbers of the plan; so are a size and a constant one that it happens to have."""
    x, y = Tensor(X).realize(), Tensor(X + 1).realize()

    def both(k):
        n, m = (5, 5) if k == 0 else (9, 9) if k == 1 else (6 + k, 20 - k)
        close((x[:n] * 2).sum(0) + (y[:m] * 3).sum(0), (X[:n] * 2).sum(0) + ((X + 1)[:m] * 3).sum(0))

    assert plans_of(both, 6) == 2

    def against_columns(k):
        n = (6, 9, 6, 7, 6)[k]
        close(x[:n].transpose(1, 0) @ x[:n], X[:n].T @ X[:n])

    assert plans_of(against_columns, 5) <= 2


def test_a_number_that_varies_later_makes_the_plan_more_general():
    x = Tensor(X).realize()
    used = [(5, 2.0), (7, 2.0), (9, 2.0), (9, 3.0), (11, 4.0), (5, 7.0)]
    assert plans_of(lambda k: close(x[: used[k][0]] * used[k][1], X[: used[k][0]] * used[k][1]), len(used)) == 3


def test_scalars_of_every_dtype():
    for dt in (np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64):
        a = (rng.integers(0, 5, (4, 3))).astype(dt)
        x = Tensor(a).realize()
        values = [2, 3, 0, 1, 5]
        assert plans_of(lambda k: np.testing.assert_array_equal((x * values[k]).numpy(), a * np.array(values[k], dt)), 5) <= 2
    x = Tensor(X).realize()
    special = [0.5, 1e-30, np.inf, -0.0, np.nan, 3e38]
    with np.errstate(all="ignore"):
        assert plans_of(lambda k: np.testing.assert_array_equal((x + x * special[k]).numpy(), X + X * np.float32(special[k])), 6) <= 2


def test_in_place_updates_of_other_sizes():
    """The target of an assignment and those who still read it, with another size each time."""

    def update(k):
        a = X[: 5 + 2 * k].copy()
        t = Tensor(a.copy()).realize()
        old = t * 3
        t.assign(t * 2 + k)
        close(t, a * 2 + k)
        close(old, a * 3)

    assert plans_of(update, 6) <= 4


def graphs(n, degree=0):
    draw = np.random.default_rng(3)
    for _ in range(n):
        nodes, edges = int(draw.integers(5, 30)), int(draw.integers(8, 60))
        edges = degree * nodes if degree else edges
        yield draw.standard_normal((nodes, 6)).astype(np.float32), draw.integers(0, nodes, (2, edges)), draw.integers(0, 3, nodes)


@pytest.mark.parametrize("layer", ["GCNConv", "SAGEConv", "GATConv", "GraphConv", "TransformerConv"])
def test_another_graph_in_every_step(layer, monkeypatch):
    """A training step over graphs that were never seen before: two plans, and the losses of exact plans."""

    def train():
        Tensor.manual_seed(1)
        model = [getattr(gnn, layer)(6, 8), getattr(gnn, layer)(8, 3)]
        opt = nn.SGD([p for m in model for p in get_parameters(m)], lr=0.1)
        before, losses = current().plans_built, []
        for x, edge_index, y in graphs(7):
            edge_index = Tensor(edge_index)
            opt.zero_grad()
            loss = model[1](model[0](Tensor(x), edge_index).relu(), edge_index).sparse_categorical_crossentropy(Tensor(y))
            loss.backward()
            opt.step()
            losses.append(loss.item())
        return losses, current().plans_built - before

    with fresh():
        losses, plans = train()
    assert plans <= 4  # of the parameters' first values, and two of the step
    with exact(monkeypatch):
        np.testing.assert_allclose(losses, train()[0], rtol=1e-4)


def _pooled(pool):
    """Convolution, pooling to a part of the nodes, convolution, pooling again, and the mean of each graph."""
    first, second, pools = gnn.GraphConv(6, 8), gnn.GraphConv(8, 8), [pool(8), pool(8)]

    def forward(x, edge_index, batch):
        x, edge_index, _, batch, *_ = pools[0](first(x, edge_index).relu(), edge_index, None, batch)
        x, edge_index, _, batch, *_ = pools[1](second(x, edge_index).relu(), edge_index, None, batch)
        return gnn.global_mean_pool(x, batch)

    return [first, second, *pools], forward


def _normed():
    gin = gnn.GIN(6, 8, 2, norm="batch_norm")
    return [gin], lambda x, edge_index, batch: gnn.global_add_pool(gin(x, edge_index), batch)


def _unet():
    net = gnn.GraphUNet(6, 8, 8, depth=2)
    return [net], lambda x, edge_index, batch: gnn.global_mean_pool(net(x, edge_index, batch), batch)


def _dense():
    conv, assign, after = gnn.GCNConv(6, 8), nn.Linear(8, 4), gnn.DenseGraphConv(8, 8)

    def forward(x, edge_index, batch):
        x, mask = utils.to_dense_batch(conv(x, edge_index).relu(), batch)
        x, adj, cut, ortho = gnn.dense_mincut_pool(x, utils.to_dense_adj(edge_index, batch), assign(x), mask)
        return after(x, adj).mean(1) + cut + ortho

    return [conv, assign, after], forward


CHANGING = {
    "topk": lambda: _pooled(lambda n: gnn.TopKPooling(n, ratio=0.6)),
    "sag": lambda: _pooled(lambda n: gnn.SAGPooling(n, ratio=0.6)),
    "unet": _unet,
    "dense": _dense,
    "batch norm": _normed,
}


@pytest.mark.parametrize("loader", [False, True])
@pytest.mark.parametrize("name", CHANGING)
def test_many_sizes_through_pooling(name, loader):
    """Batches of other sizes, and pooled graphs of sizes that depend on values: what is planned is planned in the first steps. There are edges
    enough that a pooled graph has never one or none, which would be a plan of its own."""
    parts, forward = CHANGING[name]()
    head = nn.Linear(8, 3)
    opt = nn.Adam([p for m in (*parts, head) for p in get_parameters(m)], lr=0.01)
    data = [Data(x=Tensor(x), edge_index=Tensor(e), y=Tensor(y[:1])) for x, e, y in graphs(60, degree=4)]
    if loader:
        batches = (b for _ in range(3) for b in DataLoader(data, batch_size=4, shuffle=True))
    else:
        batches = (Batch.from_data_list(data[k % 50 : k % 50 + 3 + k % 5]) for k in range(45))
    plans = []
    with Tensor.train():
        for b in batches:
            opt.zero_grad()
            loss = head(forward(b.x, b.edge_index, b.batch)).sparse_categorical_crossentropy(b.y)
            loss.backward()
            opt.step()
            assert np.isfinite(loss.item())
            plans.append(current().plans_built)
    assert plans[8] == plans[-1], [b - a for a, b in zip(plans, plans[1:])]


def test_scatter_and_pooling_of_other_sizes():
    x = Tensor(X).realize()

    def pooled(k):
        index = rng.integers(0, 4 + k, 20 + k)
        want = np.zeros((4 + k, 6), np.float32)
        np.add.at(want, index, X[: 20 + k])
        close(utils.scatter(x[: 20 + k], Tensor(index), 0, 4 + k), want)

    assert plans_of(pooled, 6) <= 2


def test_loops_over_other_numbers_of_steps(monkeypatch):
    """Steps and rows of a recurrence are numbers of its plan, in values and gradients."""

    def run_all():
        w = Tensor(X[:4, :4] * np.float32(0.3)).realize().requires_grad_(True)
        before, out = current().plans_built, []
        for k in range(5):
            xs = Tensor(X[: (5 + k) * (3 + 2 * k), :4].reshape(5 + k, 3 + 2 * k, 4))
            last, states = scan(lambda c, x: ((c @ w + x).tanh(),) * 2, Tensor.zeros(3 + 2 * k, 4), xs)
            out.append((last.square().sum() + states.sum()).gradient(w)[0].numpy())
        return out, current().plans_built - before

    with fresh():
        got, plans = run_all()
    assert plans <= 2
    with exact(monkeypatch):
        for a, b in zip(got, run_all()[0]):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("block", range(8))
def test_programs_on_other_sizes(block, monkeypatch):
    """Random programs, each on several sizes after another, against the reference; one that fails must fail with plans of its own too."""
    for seed in range(20 * block, 20 * block + 20):
        programs = [eager(seed), *(resized(seed, k) for k in range(len(MAPS)))]
        with fresh():
            failures = [f for f in (run(p, "INTERP") for p in programs if p) if f]
        for f in failures:
            with exact(monkeypatch):
                assert run(f.program, "INTERP"), f"seed {seed}: {f.text}"


# ---- compiled steps ----


def test_jit_of_other_sizes():
    f = TinyJit(lambda x, y: (x * 2 + y).sum(0).realize())
    assert plans_of(lambda k: close(f(Tensor(X[: 3 + k % 6]), Tensor(X[: 3 + k % 6])), 3 * X[: 3 + k % 6].sum(0)), 14) <= 3


def test_compiled_step_of_other_sizes():
    """Losses are those of plain steps, whatever sizes come."""

    def made():
        Tensor.manual_seed(2)
        model = nn.Linear(6, 2)
        return model, nn.Adam(get_parameters(model), lr=0.05)

    def train(model, opt, x):
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    sizes = [8, 5, 8, 9, 30, 5, 6, 7, 8, 2]
    model, opt = made()
    step = compile_step(train, model, opt, Tensor(X[:8]))
    plain = made()
    for n in sizes:
        step.run(Tensor(X[:n]))
        np.testing.assert_allclose(step.loss_value(), train(*plain, Tensor(X[:n])).item(), rtol=1e-5)


# ---- sizes that are equal in this run ----


def sized(a, name):
    return Tensor(a).sized(Variable(name, 0, 100).bind(len(a)), *a.shape[1:])


def test_equal_symbolic_sizes_work_together():
    for n in (5, 6, 8):
        a, b = X[:n], X[n : 2 * n]
        x, y, z = sized(a, "n"), sized(b, "m"), Tensor(b)
        close(x + y, a + b)
        close(z * x, a * b)
        close(x.transpose(1, 0) @ z, a.T @ b)
        close(Tensor.cat(x, z, dim=1), np.concatenate([a, b], 1))
        close(Tensor.stack(x, z, y), np.stack([a, b, b]))
        close((x.requires_grad_(True) * y * z).sum().gradient(x)[0], b * b)
        target = sized(a.copy(), "n").realize()
        close(target.assign(z), b)
        with pytest.raises(ValueError, match="cannot be broadcast"):
            x + Tensor(X[: n + 1])


def test_a_compiled_step_compares_sizes_that_it_took_for_one():
    f = TinyJit(lambda x, y: (x + y).realize())
    for n in (4, 4, 5, 7):
        close(f(sized(X[:n], "n"), sized(X[:n], "m")), 2 * X[:n])
    with pytest.raises(ValueError, match="n = 4 and m = 5|m = 5 and n = 4"):
        f(sized(X[:4], "n"), sized(X[:5], "m"))


def test_chunks_of_a_symbolic_size():
    for n in (7, 8, 5):
        parts = sized(X[:n], "n").chunk(3)
        want = [X[:n][k : k + -(-n // 3)] for k in range(0, n, -(-n // 3))]
        assert len(parts) == len(want)
        for p, w in zip(parts, want):
            close(p, w)


class Normalised(nn.Module):
    def __init__(self):
        self.first, self.norm, self.last = nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

    def forward(self, x, edges):
        return self.last(self.norm(self.first(x)).relu().dropout(0.3))


class Convolved(nn.Module):
    def __init__(self):
        self.first, self.last = gnn.GCNConv(6, 8), gnn.GCNConv(8, 3)

    def forward(self, x, edges):
        return self.last(self.first(x, edges).relu(), edges)


@pytest.mark.parametrize("way", ["plain", "step", "jit"])
@pytest.mark.parametrize("network", [Normalised, Convolved])
def test_steps_of_other_sizes_leave_nothing_behind(network, way):
    """Nodes, tensors and plans stay as many as they were, whatever size comes next."""

    def train(model, opt, x, edges, y):
        opt.zero_grad()
        loss = model(x, edges).cross_entropy(y)
        loss.backward()
        opt.step()
        return loss

    with fresh() as g, Tensor.train():
        model = network()
        opt = nn.Adam(get_parameters(model), lr=0.01)
        jitted = TinyJit(lambda *a: train(model, opt, *a).realize())
        step = None
        seen = []
        for k in range(48):
            n = 5 + 37 * k % 50
            data = Tensor(X[:n]), Tensor(rng.integers(0, n, (2, 3 * n))), Tensor(rng.integers(0, 3, n))
            if way == "step":
                step = step or compile_step(train, model, opt, *data)
                step.run(*data)
            else:
                (jitted(*data) if way == "jit" else train(model, opt, *data)).realize()
            seen.append((g.plans_built, g.live_tensors, g.live_nodes))
        assert seen[-1][:2] == seen[12][:2]
        assert max(s[2] for s in seen[30:]) <= max(s[2] for s in seen[12:30]) + 5


def test_gradients_of_empty_tensors_whose_other_sizes_change(device):
    """Their memory has no elements, so steps along the other axes are of none: lanes along those were not legal."""
    for shape in ((2, 3, 0), (7, 7, 0), (3, 8, 0), (5, 2, 0)):
        x = Tensor(np.zeros(shape, np.float32))
        gram = x @ x.transpose(-1, -2)
        both = gram.stack(gram * 2, dim=0)
        soft, low = both.log_softmax(0), both.tril(0)
        weights = [Tensor(rng.standard_normal(t.shape).astype(np.float32)) for t in (soft, both, low, gram)]
        (gradient,) = sum((t * w).sum() for t, w in zip((soft, both, low, gram), weights, strict=True)).gradient(x)
        soft.realize(both, low, gram, gradient)
        assert gradient.numpy().shape == shape
