"""Memory of several devices: values follow the computation from one to another, and a compiled step keeps to its own device. TEST is the
interpreter on memory that the host cannot read."""

import numpy as np
import pytest

from polygrad import Device, Graph, Tensor, TinyJit, dtypes
from polygrad.autograd import current
from polygrad.nn import SGD, Linear, compile_step, get_parameters

DEVICES = ["INTERP", "CPU", "TEST"]


def on(name):
    Device.DEFAULT = name


def test_values_follow_the_device():
    x = Tensor(np.float32([1, 2, 3])).realize()
    want = np.float32([1, 2, 3])
    for name in ("TEST", "CPU", "TEST", "INTERP", "TEST"):
        on(name)
        x = (x * 2 + 1).realize()
        want = want * 2 + 1
    on("CPU")
    np.testing.assert_array_equal(x.numpy(), want)
    assert x[1].item() == want[1] and x.sum().item() == want.sum()


@pytest.mark.parametrize("first, second", [("INTERP", "TEST"), ("TEST", "INTERP"), ("CPU", "TEST"), ("TEST", "CPU")])
def test_assignment_makes_other_copies_invalid(first, second):
    """Both devices have a copy; after writing on one of them the other must not read its own."""
    t = Tensor(np.float32([1, 2, 3, 4])).contiguous().realize()
    want = np.float32([1, 2, 3, 4])
    for k in range(3):
        for name in (first, second):
            on(name)
            np.testing.assert_array_equal((t + 0).numpy(), want)  # a copy here
        on((first, second)[k % 2])
        t.assign(t * 3 - k).realize()
        want = want * 3 - k
        for name in (first, second):
            on(name)
            np.testing.assert_array_equal((t + 0).numpy(), want)


@pytest.mark.parametrize("home, away", [("INTERP", "TEST"), ("TEST", "INTERP"), ("CPU", "TEST"), ("TEST", "CPU")])
def test_device_switched_between_runs_of_a_step(home, away):
    """A live step, the device switched between its runs, its parameters used and assigned in between."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((8, 4), np.float32), rng.standard_normal((8, 2), np.float32)
    w = rng.standard_normal((2, 4)).astype(np.float32)

    def train_step(model, opt, x, y):
        loss = (model(x) - y).square().mean()
        loss.backward()
        opt.step()
        return loss

    on(home)
    model = Linear(4, 2, bias=False)
    model.weight.assign(Tensor(w)).realize()
    opt = SGD(get_parameters(model), lr=0.1)
    step = compile_step(train_step, model, opt, Tensor(x), Tensor(y))
    for k in range(6):
        on(home if k % 2 == 0 else away)
        error = x @ w.T - y
        step.run(Tensor(x), Tensor(y))
        np.testing.assert_allclose(step.loss_value(), (error**2).mean(), rtol=2e-5)
        w = w - 0.1 * 2 / error.size * error.T @ x
        np.testing.assert_allclose((model.weight + 0).numpy(), w, rtol=2e-5, atol=2e-6)  # on the current device
        if k == 3:  # assigned on a device that is not the step's
            on(away)
            model.weight.assign(model.weight * 0.5).realize()
            w = w * 0.5


def test_a_jit_that_moves_with_the_device():
    @TinyJit
    def f(x):
        return (x * x + 1).realize()

    for name in ("INTERP", "TEST", "INTERP", "TEST", "CPU", "TEST"):
        on(name)
        for k in range(3):
            np.testing.assert_array_equal(f(Tensor(np.float32([k, 2]))).numpy(), [k * k + 1, 5])


@pytest.mark.parametrize("name", DEVICES)
def test_array_that_is_written_after_it_was_used(name):
    """A tensor on the memory of an array shows what the array holds when it is computed with, on any device."""
    on(name)
    a = np.float32([1, 2, 3])
    t = Tensor(a)
    np.testing.assert_array_equal((t + 1).numpy(), [2, 3, 4])
    a[:] = 7
    np.testing.assert_array_equal((t * 2).numpy(), [14, 14, 14])
    a[:] = 9
    np.testing.assert_array_equal(t.numpy(), [9, 9, 9])


def test_own_memory_of_a_tensor():
    """What is written through the memory is seen by the device, and what the device writes through a new look at it."""
    on("TEST")
    t = Tensor.zeros(4).contiguous().realize()
    t._data[:] = [1, 2, 3, 4]
    np.testing.assert_array_equal((t + 1).numpy(), [2, 3, 4, 5])
    t._data[0] = 10
    np.testing.assert_array_equal((t + 1).numpy(), [11, 3, 4, 5])
    t.assign(t * 2).realize()
    np.testing.assert_array_equal(t._data, [20, 4, 6, 8])


def test_graph_moves_too():
    edge_index = np.array([[0, 1, 2, 2], [1, 2, 0, 1]])
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    want = np.zeros((3, 2), np.float32)
    np.add.at(want, edge_index[1], x[edge_index[0]])
    results = []
    on("TEST")
    g = Graph(Tensor(edge_index.astype(np.int32)), num_nodes=3)
    for name in ("TEST", "CPU", "TEST", "INTERP"):
        on(name)
        results.append(g.sum(g.src(Tensor(x))).numpy())
    for r in results:
        np.testing.assert_array_equal(r, want)


def test_bytes_of_each_device():
    g = current()
    on("TEST")
    live, host = g.live_bytes_on("TEST"), g.live_bytes_on("CPU")
    x = Tensor.ones(1000).contiguous().realize()
    assert g.live_bytes_on("TEST") - live == 4000 and g.live_bytes_on("CPU") == host == g.live_bytes_on("INTERP")
    on("CPU")
    y = (x + 1).realize()
    assert g.live_bytes_on("TEST") - live == 4000 and g.live_bytes_on("CPU") - host == 8000  # x has a copy there
    assert g.live_bytes == g.live_bytes_on("TEST") + g.live_bytes_on("CPU")
    x.assign(x * 2).realize()
    assert g.live_bytes_on("TEST") == live  # its copy was invalid
    del x, y
    assert g.live_bytes_on("CPU") == host and g.peak_bytes_on("TEST") >= live + 4000
    with pytest.raises(ValueError, match='unknown device "TPU"'):
        g.live_bytes_on("TPU")


@pytest.mark.parametrize("name", DEVICES)
def test_out_of_memory_names_the_device(name):
    on(name)
    refused = "more elements than the 32-bit indices of TEST reach" if name == "TEST" else f"out of memory on {name}: 640.0 TB"
    with pytest.raises((MemoryError, ValueError), match=refused):
        (Tensor.ones(40000000, 1).contiguous() * Tensor.ones(1, 4000000).contiguous()).contiguous().realize()


def test_index_width():
    """32-bit indices: a tensor that they cannot reach is refused, on the device that has them."""
    on("TEST")
    t = Tensor.ones(1, dtype=dtypes.uint8).expand(1 << 32)
    with pytest.raises((ValueError, MemoryError), match="32-bit indices|out of memory"):
        t.contiguous().realize()
