"""The CUDA device, on a GPU or on the fake driver (make fake-cuda): what it shares with no other device. Skipped where there is neither."""

import ctypes
import os

import numpy as np
import pytest

from polygrad import Device, Graph, Profile, Tensor, TinyJit, nn
from polygrad.autograd import current


def opens():
    """Can the device be opened here?"""
    old = Device.DEFAULT
    try:
        Device.DEFAULT = "CUDA"
    except RuntimeError:
        return False
    finally:
        Device.DEFAULT = old
    return True


pytestmark = [pytest.mark.integration, pytest.mark.skipif(not opens(), reason="no CUDA here")]


def fake():
    """The fake driver; None on a GPU and where there is neither."""
    if not opens():
        return None
    driver = ctypes.CDLL("libcuda.so.1")
    if not hasattr(driver, "fake_cuda_count"):
        return None
    driver.fake_cuda_count.restype = ctypes.c_long
    driver.fake_cuda_set.argtypes = [ctypes.c_char_p, ctypes.c_long]
    return driver


LARGE = 1 if fake() else 300  # the fake driver runs threads one by one


@pytest.fixture(autouse=True)
def on_cuda():
    Device.DEFAULT = "CUDA"
    yield
    Device.DEFAULT = "INTERP"


def on_cpu(build):
    """The same expression on the CPU, as an array."""
    Device.DEFAULT = "INTERP"
    try:
        return build().numpy()
    finally:
        Device.DEFAULT = "CUDA"


def test_random_numbers_are_those_of_the_cpu():
    for build in (lambda: Tensor.rand(1000), lambda: Tensor.randn(1000), lambda: Tensor.randint(1000, low=0, high=77)):
        Tensor.manual_seed(5)
        mine = build().numpy()
        Tensor.manual_seed(5)
        np.testing.assert_array_equal(mine, on_cpu(build))


def test_a_thread_takes_several_turns_of_a_large_grid():
    rng = np.random.default_rng(4)
    x, at = rng.standard_normal(100).astype(np.float32), rng.integers(0, 100, (1 << 22) + 777).astype(np.int32)
    np.testing.assert_array_equal((Tensor(x)[Tensor(at)] * 2 + 1).numpy(), x[at] * 2 + 1)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable_and_that_of_the_cpu(dtype, descending):
    rng = np.random.default_rng(1)
    for shape in ((5000 * LARGE,), (7, 300), (50, 3), (1, 1)):
        x = rng.integers(0, 2, shape).astype(bool) if dtype == "bool" else rng.integers(-50, 50, shape).astype(dtype)
        if dtype.startswith("float"):
            x.flat[:: max(1, x.size // 9)] = np.nan
            x.flat[1 :: max(2, x.size // 5)] = -0.0
        order = lambda x=x: Tensor(x).argsort(-1, descending)  # noqa: E731
        np.testing.assert_array_equal(order().numpy(), on_cpu(order))


@pytest.mark.parametrize("op", ["cumsum", "cumprod", "cummax"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_running_reductions(op, dtype):
    rng = np.random.default_rng(2)
    for shape in ((9000 * LARGE,), (3, 5000), (40, 20), (1, 1)):
        x = rng.integers(-3, 4, shape).astype(dtype) if dtype.startswith("int") else rng.uniform(0.999, 1.001, shape).astype(dtype)
        build = lambda x=x: (lambda r: r[0] if isinstance(r, tuple) else r)(getattr(Tensor(x), op)(-1))  # noqa: E731
        if dtype.startswith("int") or op == "cummax":
            np.testing.assert_array_equal(build().numpy(), on_cpu(build))
        else:
            np.testing.assert_allclose(build().numpy(), on_cpu(build), rtol=2e-5 if LARGE == 1 else 1e-3)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_selection_and_searches_are_those_of_the_cpu(dtype):
    """Without a copy to the host: results come from kernels of the card."""
    from polygrad.torch import Tensor

    rng = np.random.default_rng(5)
    x = rng.integers(-50, 50, (3, 700)).astype(dtype)
    if dtype != "int32":
        x[1, ::90] = np.nan
    edges, values = np.sort(x, 1), rng.integers(-60, 60, (3, 40)).astype(dtype)
    builds = [
        lambda: Tensor(x).topk(9)[1],
        lambda: Tensor(x).topk(4, -1, False)[1],
        lambda: Tensor(x).topk(300)[0],
        lambda: Tensor(x).kthvalue(350)[0],
        lambda: Tensor(x).kthvalue(1)[1],
        lambda: Tensor(edges).searchsorted(Tensor(values)),
        lambda: Tensor(edges[0]).searchsorted(Tensor(values), right=True),
    ]
    for build in builds:
        np.testing.assert_array_equal(build().numpy(), on_cpu(build))


def test_counts_are_those_of_the_cpu():
    from polygrad.torch import Tensor

    index = np.random.default_rng(6).integers(0, 40, 5000 * LARGE)
    for build in (
        lambda: Tensor(index).bincount(),
        lambda: Tensor(index.astype(np.int32)).bincount(minlength=99),
        lambda: Tensor(index[:0]).bincount(),
    ):
        np.testing.assert_array_equal(build().numpy(), on_cpu(build))


@pytest.mark.parametrize("rows, entries", [(1, 1), (5, 0), (7, 10000), (3000, 9000), (100000, 50)])
def test_segment_order(rows, entries):
    """A scatter goes through the order of its entries: sums of each row in the order of the entries."""
    rng = np.random.default_rng(3)
    index, x = rng.integers(0, rows, entries), rng.standard_normal((entries, 2)).astype(np.float32)
    got = Tensor.zeros(rows, 2).contiguous().scatter_reduce(0, Tensor(np.stack([index, index], 1)), Tensor(x), "sum").numpy()
    want = np.zeros((rows, 2))
    np.add.at(want, index, x)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_nonzero():
    rng = np.random.default_rng(4)
    for n in (1, 10000 * LARGE):
        x = rng.integers(0, 3, n)
        np.testing.assert_array_equal(Tensor(x).nonzero().numpy().reshape(-1), np.flatnonzero(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_matrix_products(dtype):
    rng = np.random.default_rng(5)
    r = lambda *s: rng.standard_normal(s).astype(dtype)  # noqa: E731
    a, b = r(17, 33), r(33, 9)
    cases = [
        (a, b), (a.T.copy().T, b), (a, b.T.copy().T), (r(3, 17, 33), r(3, 33, 9)), (r(3, 17, 33), b), (a[:, :1], b[:1]), (a[:1], b), (a, b[:, :1]),
        (r(4, 2, 5, 6), r(4, 2, 6, 7)),
    ]  # fmt: skip
    for x, y in cases:
        np.testing.assert_allclose((Tensor(x) @ Tensor(y)).numpy(), x @ y, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-5)
        want = np.swapaxes(y, -1, -2) @ np.swapaxes(x, -1, -2)
        got = (Tensor(y).transpose(-1, -2) @ Tensor(x).transpose(-1, -2)).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_in_parts(dtype, monkeypatch):
    """Few results of long sums: the inner axis is cut into parts, and what is left over is one more."""
    monkeypatch.setenv("POLY_CUDA_PARTS", "2")
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((9001, 12)).astype(dtype), rng.standard_normal((9001, 33)).astype(dtype)
    want = x.astype(np.float64).T @ y.astype(np.float64)
    np.testing.assert_allclose((Tensor(x).T @ Tensor(y)).numpy(), want, rtol=1e-5, atol=2e-4 if dtype == "float32" else 1e-10)


def test_products_in_parts_are_recorded(monkeypatch):
    monkeypatch.setenv("POLY_CUDA_PARTS", "1")
    losses = {}
    for device in ("CUDA", "INTERP"):
        Device.DEFAULT = device
        rng = np.random.default_rng(6)
        x, y = Tensor(rng.standard_normal((8200, 3)).astype(np.float32)).realize(), Tensor(rng.integers(0, 3, 8200)).realize()
        Tensor.manual_seed(7)
        net = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 3))

        def train(net, opt, x, y):
            loss = net(x).cross_entropy(y)
            loss.backward()
            opt.step()
            opt.zero_grad()
            return loss

        step = nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.01), x, y)
        losses[device] = [(step.run(), step.loss_value())[1] for _ in range(5)]
    np.testing.assert_allclose(losses["CUDA"], losses["INTERP"], rtol=2e-5)


def test_short_maps_of_edges():
    """The features of an edge are loaded four at a time, from rows that begin at multiples of 16 bytes; the gradient of their weights is summed by columns."""
    rng = np.random.default_rng(8)
    index, weight = rng.integers(0, 20, (2, 300)), rng.standard_normal((20, 16))
    a = {"e": rng.standard_normal((300, 8)), "w": rng.standard_normal((8, 16)), "x": rng.standard_normal((20, 16))}
    t = {k: Tensor(v.astype(np.float32), requires_grad=True) for k, v in a.items()}
    g = Graph(Tensor(index), num_nodes=20)
    out = g.sum((t["e"] @ t["w"] + g.src(t["x"])).relu())
    (out * Tensor(weight.astype(np.float32))).sum().backward()
    pre = a["e"] @ a["w"] + a["x"][index[0]]
    want = np.zeros((20, 16))
    np.add.at(want, index[1], np.maximum(pre, 0))
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(t["w"].grad.numpy(), a["e"].T @ (weight[index[1]] * (pre > 0)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(64,), (40,), (8, 4), (8,), (), (3,)])
def test_the_longest_rows(shape):
    """A sum, a maximum and a softmax over rows of a few edges, of hundreds and of thousands, which are kernels of their own."""
    rng = np.random.default_rng(12)
    nodes = 4200
    degree = rng.integers(0, 3, nodes)
    degree[[7, 2000, 4199, 30]] = 9000, 2100, 4097, 500
    index = np.stack([rng.integers(0, nodes, degree.sum()), np.repeat(np.arange(nodes), degree)])
    x = rng.standard_normal((nodes, *shape)).astype(np.float32)
    g, t = Graph(Tensor(index), num_nodes=nodes), Tensor(x)
    message = x[index[0]].astype(np.float64)
    total, most, weight = (np.full((nodes, *shape), v) for v in (0.0, -np.inf, 0.0))
    np.add.at(total, index[1], message)
    np.maximum.at(most, index[1], message)
    np.add.at(weight, index[1], np.exp(message - most[index[1]]))
    np.testing.assert_allclose(g.sum(g.src(t)).numpy(), total, rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(g.max(g.src(t)).numpy(), np.where(np.isinf(most), 0, most))
    np.testing.assert_allclose(g.sum(g.softmax(g.src(t))).numpy()[degree > 0], 1.0, rtol=1e-5)
    np.testing.assert_allclose(g.softmax(g.src(t)).numpy(), np.exp(message - most[index[1]]) / weight[index[1]], rtol=2e-5, atol=1e-9)


def test_an_index_out_of_range_inside_a_sum_over_edges():
    """It is noted in the loop and told at the end of the kernel."""
    rng = np.random.default_rng(0)
    ends, at = rng.integers(0, 20, (2, 100)), rng.integers(0, 30, 100)
    g, x = Graph(Tensor(ends), num_nodes=20), Tensor(rng.standard_normal((30, 8)).astype(np.float32))
    want = np.zeros((20, 8))
    np.add.at(want, ends[1], x.numpy()[at])
    bad = at.copy()
    bad[77] = 30
    with pytest.raises(IndexError, match="index 30 is out of range for an axis of size 30"):
        g.sum(x[Tensor(bad)]).numpy()
    np.testing.assert_allclose(g.sum(x[Tensor(at)]).numpy(), want, atol=1e-5)


def test_a_product_over_nothing_is_zero():
    np.testing.assert_array_equal((Tensor(np.zeros((3, 0), np.float32)) @ Tensor(np.zeros((0, 4), np.float32))).numpy(), np.zeros((3, 4)))


def train(net, opt, y, *inputs):
    loss = net(*inputs).cross_entropy(y)
    loss.backward()
    opt.step()
    opt.zero_grad()
    return loss


def make_step(dropout=0.0):
    rng = np.random.default_rng(6)
    x, y = Tensor(rng.standard_normal((64, 10)).astype(np.float32)).realize(), Tensor(rng.integers(0, 3, 64)).realize()
    Tensor.manual_seed(7)
    net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 3))

    Tensor.training = True
    return nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.01), y, x)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_replayed_steps_are_those_of_the_cpu(dropout):
    """With random numbers the counter of each step goes into the recorded run."""
    step = make_step(dropout)
    mine = []
    for _ in range(8):
        step.run()
        mine.append(step.loss_value())
    Device.DEFAULT = "INTERP"
    step = make_step(dropout)
    for m in mine:
        step.run()
        np.testing.assert_allclose(m, step.loss_value(), rtol=2e-5)
    if fake():
        assert fake().fake_cuda_count(b"replays") > 0


def graph_step():
    import polygrad.geometric.nn as gnn

    rng = np.random.default_rng(8)
    index = Tensor(np.stack([rng.integers(0, 30, 400), np.where(rng.random(400) < 0.75, 0, rng.integers(0, 30, 400))])).realize()
    x, y = Tensor(rng.standard_normal((30, 5)).astype(np.float32)).realize(), Tensor(rng.integers(0, 3, 30)).realize()
    Tensor.manual_seed(9)

    class Net(nn.Module):
        def __init__(self):
            self.one, self.two = gnn.GCNConv(5, 4), gnn.GATConv(4, 3)

        def forward(self, x, index):
            return self.two(self.one(x, index).relu(), index)

    def train(net, opt, x, y):
        loss = net(x, index).cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    net = Net()
    return nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.01), x, y)


def test_what_shares_no_memory_is_recorded_side_by_side():
    """The fake driver replays what may run side by side in the reverse order. One row has more edges than a group takes."""
    before = fake().fake_cuda_count(b"unordered") if fake() else 0
    step = graph_step()
    mine = [(step.run(), step.loss_value())[1] for _ in range(5)]
    assert not fake() or fake().fake_cuda_count(b"unordered") > before
    Device.DEFAULT = "INTERP"
    step = graph_step()
    for m in mine:
        step.run()
        np.testing.assert_allclose(m, step.loss_value(), rtol=2e-5)


def pooled_step(x, of, y):
    """Rows are normed, summed by an index that the step computes, sorted and summed up along each group."""
    import polygrad.geometric.nn as gnn

    Tensor.manual_seed(9)

    class Net(nn.Module):
        def __init__(self):
            self.one, self.norm, self.two = nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)

        def forward(self, x, of):
            h = self.norm(self.one(x)).relu().dropout(0.2)  # its counter changes from step to step
            order = h[:, 0].detach().argsort()
            h = h + h[order].cumsum(0) * 0.01
            return self.two(gnn.global_add_pool(h, of + 1, 7))

    Tensor.training = True
    net = Net()
    return nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.01), y, x, of), net


def test_routines_are_recorded():
    """Sorting, running sums and the order of a scatter are part of a recorded run, with memory of its own. A bad index is told, and nothing is lost."""
    rng = np.random.default_rng(3)
    xs = [rng.standard_normal((300, 5)).astype(np.float32) for _ in range(2)]
    of, y = rng.integers(0, 6, 300), rng.integers(0, 3, 7)
    losses = {}
    for device in ("CUDA", "INTERP"):
        Device.DEFAULT = device
        x, index = Tensor(xs[0]).realize(), Tensor(of).realize()
        step, net = pooled_step(x, index, Tensor(y).realize())
        before = fake().fake_cuda_count(b"replays") if fake() else 0
        losses[device] = []
        for k in range(8):
            step.run()
            losses[device].append(step.loss_value())
            if k % 3 == 2:  # other values in the same places
                x.assign(Tensor(xs[k // 3 % 2])).realize()
        if fake() and device == "CUDA":
            assert fake().fake_cuda_count(b"replays") > before
            other = Tensor(rng.standard_normal((40_000,)).astype(np.float32)).realize()  # works in memory that no recorded run has
            np.testing.assert_array_equal(other.sort()[0].numpy(), np.sort(other.numpy()))
            step.run()
            losses[device].append(step.loss_value())
        weight = net.two.weight.numpy()
        index.assign(Tensor(np.where(np.arange(300) == 17, 6, of))).realize()
        with pytest.raises(IndexError, match="7"):
            step.run()
            step.loss_value()
        np.testing.assert_array_equal(net.two.weight.numpy(), weight)
    n = len(losses["INTERP"])
    np.testing.assert_allclose(losses["CUDA"][:n], losses["INTERP"], rtol=5e-5)


def edge_maps_step(index):
    import polygrad.geometric.nn as gnn

    rng = np.random.default_rng(8)
    x, y = Tensor(rng.standard_normal((30, 5)).astype(np.float32)).realize(), Tensor(rng.integers(0, 3, 30)).realize()
    Tensor.manual_seed(9)
    net = gnn.EdgeConv(nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3)), aggr="sum")

    def train(net, opt, x, y, index):
        loss = net(x, index).cross_entropy(y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    return nn.compile_step(train, net, nn.Adam(nn.get_parameters(net), lr=0.01), x, y, Tensor(index).realize()), x, y


def test_routines_of_the_host_are_not_recorded():
    from polygrad.torch.linalg import solve_triangular

    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((4, 4)).astype(np.float32) + 4 * np.eye(4, dtype=np.float32), rng.standard_normal((4, 1)).astype(np.float32)
    solve = TinyJit(lambda a, b: (solve_triangular(a.tril(), b, upper=False) * 2).realize())
    x, y = Tensor(a).realize(), Tensor(b).realize()
    for _ in range(5):
        np.testing.assert_allclose(solve(x, y).numpy(), 2 * np.linalg.solve(np.tril(a), b), rtol=1e-4)


def test_dense_maps_of_edges_are_recorded():
    """What runs by tiles of edges is part of a recorded run, which is not replayed for a graph whose tiles are others."""
    rng = np.random.default_rng(3)
    graphs = [np.stack([rng.integers(0, 30, 400), np.sort(rng.integers(0, 30, 400) // (k + 1))]) for k in range(3)]
    order = [0, 0, 0, 1, 0, 1, 1, 2, 0]
    losses = {}
    for device in ("CUDA", "INTERP"):
        Device.DEFAULT = device
        before = fake().fake_cuda_count(b"replays") if fake() else 0
        step, x, y = edge_maps_step(graphs[0])
        losses[device] = [(step.run(x, y, Tensor(graphs[k])), step.loss_value())[1] for k in order]
        if fake() and device == "CUDA":
            assert fake().fake_cuda_count(b"replays") > before
        with Profile() as prof:
            step.run(x, y, Tensor(graphs[0]))
        if device == "CUDA":  # what a tile launches is timed by itself
            assert any("tile_edges" in k.name for k in prof.kernels) and not any(k.name.startswith("tiles") for k in prof.kernels)
    np.testing.assert_allclose(losses["CUDA"], losses["INTERP"], rtol=5e-5)


def test_the_same_bits_in_every_run():
    losses = []
    for _ in range(3):
        step = make_step(0.5)
        for _ in range(5):
            step.run()
        losses.append(step.loss_value())
    assert losses[0] == losses[1] == losses[2]


def test_an_index_out_of_range_is_an_error_and_the_next_result_is_not():
    x = Tensor(np.arange(6, dtype=np.float32))
    with pytest.raises(IndexError, match="index 9 is out of range for an axis of size 6"):
        x[Tensor(np.array([1, 9]))].numpy()
    np.testing.assert_array_equal((x + 1).numpy(), np.arange(6) + 1)
    with pytest.raises(IndexError, match="index 7 at position 1 is out of range"):
        Tensor.zeros(3).contiguous().scatter_reduce(0, Tensor(np.array([1, 7])), Tensor([1.0, 2.0]), "sum").numpy()
    np.testing.assert_array_equal((x + 2).numpy(), np.arange(6) + 2)


def test_memory_is_counted_and_given_back():
    before = current().live_bytes_on("CUDA")
    x = Tensor(np.zeros(1 << 20, np.float32)).realize()
    y = (x + 1).realize()
    assert current().live_bytes_on("CUDA") >= before + (4 << 20)
    del x, y
    assert current().live_bytes_on("CUDA") <= before + (1 << 20)
    held = current().held_bytes_on("CUDA")
    assert held >= before + (8 << 20)  # kept for the next tensor, and then given back
    current().trim("CUDA")
    assert current().held_bytes_on("CUDA") <= held - (8 << 20)


def test_out_of_memory_says_how_much():
    with pytest.raises(MemoryError, match="CUDA"):
        Tensor.ones(1 << 38).contiguous().realize()
    assert Tensor([1.0, 2.0]).sum().item() == 3.0


def test_values_follow_between_devices():
    x = Tensor(np.arange(5, dtype=np.float32)).realize()
    y = (x * 2).realize()
    Device.DEFAULT = "INTERP"
    z = (y + 1).realize()
    Device.DEFAULT = "CUDA"
    np.testing.assert_array_equal((z * y).numpy(), (np.arange(5) * 2 + 1) * np.arange(5) * 2)


def test_a_card_that_is_not_there():
    with pytest.raises((ValueError, RuntimeError), match="there is no CUDA:77"):
        Device.DEFAULT = "CUDA:77"
    assert Device.DEFAULT == "CUDA"


@pytest.mark.skipif("not fake()")
def test_a_fault_of_a_kernel_leaves_the_process_usable():
    """In a process of its own: the device is lost there."""
    import subprocess
    import sys

    code = """
import ctypes, numpy as np
from polygrad import Device, Tensor
Device.DEFAULT = "CUDA"
x = (Tensor(np.arange(4.0)) + 1).realize()
ctypes.CDLL("libcuda.so.1").fake_cuda_set(b"fault", ctypes.c_long(700))
for _ in range(2):
    try:
        print(x.numpy())
    except RuntimeError as e:
        print("error:", e)
Device.DEFAULT = "INTERP"
print((Tensor(np.arange(4.0)) + 1).tolist())
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "POLY_DEVICE": ""})
    assert out.stdout.count("CUDA_ERROR_ILLEGAL_ADDRESS") == 2 and "context is lost" in out.stdout, out
    assert "[1.0, 2.0, 3.0, 4.0]" in out.stdout, out


def test_naming_the_gpu_moves_the_graph_there():
    Device.DEFAULT = "INTERP"
    a = np.arange(4, dtype=np.float32)
    net, x = nn.Linear(4, 2), Tensor(a)
    want = net(x).numpy()
    net.to("cuda")
    x = x.to("cuda:0")
    a[:] = 9  # x has memory of its own on the card
    assert x.device == "CUDA"
    np.testing.assert_allclose(net(x).numpy(), want, rtol=1e-5)
    assert x.to("cpu").tolist() == [0, 1, 2, 3] and Tensor([1.0]).device == "CUDA"


def test_dlpack_shares_memory_on_the_card():
    x = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4)).realize()
    assert x.__dlpack_device__() == (2, 0)
    live = current().live_bytes_on("CUDA")
    y = Tensor.from_dlpack(x)
    assert current().live_bytes_on("CUDA") == live
    np.testing.assert_array_equal((y * 2).numpy(), np.arange(12).reshape(3, 4) * 2)
    x.assign(x + 1).realize()
    np.testing.assert_array_equal(y.numpy(), np.arange(12).reshape(3, 4) + 1)
    del x
    np.testing.assert_array_equal((y + 1).numpy(), np.arange(12).reshape(3, 4) + 2)
    capsule = y.__dlpack__()
    del capsule, y


@pytest.mark.skipif("fake()")
def test_dlpack_with_pytorch():
    torch = pytest.importorskip("torch")
    t = torch.arange(6, device="cuda", dtype=torch.float32).reshape(2, 3)
    x = Tensor.from_dlpack(t * 2)
    np.testing.assert_array_equal((x + 1).numpy(), np.arange(6).reshape(2, 3) * 2 + 1)
    back = torch.from_dlpack((x * 3).realize())
    assert back.is_cuda
    np.testing.assert_array_equal(back.cpu().numpy(), np.arange(6).reshape(2, 3) * 6)


def test_times_of_the_profile_are_the_cards():
    with Profile() as p:
        (Tensor.rand(1000) + 1).realize()
    assert p.kernels and all(k.device == "CUDA" and k.ms >= 0 for k in p.kernels)


def test_info_names_the_card(capsys):
    from polygrad.cli import main

    assert main(["info"]) == 0
    assert "CUDA (" in capsys.readouterr().out


def test_parameters_survive_a_bad_index():
    """Kernels after the one that has found it do not change what they update."""
    w = Tensor(np.ones((5, 3), np.float32)).realize()
    index = Tensor(np.array([1, 99])).realize()
    w.assign(w - w[index].sum() * 0.1).realize()
    with pytest.raises(IndexError, match="index 99"):
        w.numpy()
    np.testing.assert_array_equal(w.numpy(), np.ones((5, 3)))
