"""What a tensor was computed from is known until somebody asks for its value, whatever is computed for others meanwhile."""

import gc

import numpy as np
import pytest

from polygrad import GlobalCounters, Tensor, TinyJit


def vector(*values):
    return Tensor(np.float32(values))


def gradient(y, *targets):
    return [g.numpy().tolist() for g in y.sum().gradient(*targets)]


def test_tensors_that_read_a_pending_change(device):
    a, w = vector(1, 2), vector(3, 4)
    h = a.clone()
    h += 1
    y = h * w
    c = y.detach().clone()
    c.assign(c * 0.5)
    c.realize()  # runs the change of h, and y with it
    assert gradient(y * y, w, h, a) == [[24, 72], [36, 96], [36, 96]]
    np.testing.assert_array_equal(y.numpy(), [6, 12])


def test_a_tensor_that_was_changed_in_place(device):
    a, w, x = vector(1, 2), vector(5, 6), vector(3, 4)
    h = a.clone()
    for _ in range(3):
        h += h
        (h * 2).realize()
    assert gradient(h * h, a) == [[128, 256]]
    x += w * 2  # memory of its own from the beginning
    (x * 2).realize()
    assert gradient(x * x, w) == [[52, 64]]


def test_readers_of_what_is_overwritten(device):
    w, x = vector(1, 2), vector(3, 4)
    plus, times = x + w * w, x * w
    x += 1
    x.realize()
    assert gradient(plus, w) == [[2, 4]]
    np.testing.assert_array_equal(times.numpy(), [3, 8])
    x = vector(3, 4)
    times = x * w
    x += 1
    x.realize()
    for zeros in (False, True):
        with pytest.raises(RuntimeError, match="overwritten"):
            times.sum().gradient(w, materialize_grads=zeros)[0].numpy()
    h = w.clone()  # can be computed again
    times = h * h * w
    h += 1
    h.realize()
    assert gradient(times, w) == [[3, 12]]


def test_targets_whose_value_was_read(device):
    x = Tensor.rand(3)
    y = x * 2
    x.numpy()
    assert gradient(y + x, x) == [[3, 3, 3]]
    a = vector(1, 2)
    c = a * 2
    z = c * c
    c.realize()
    d = c.detach()
    assert gradient(z * 1, c, a) == [[4, 8], [8, 16]]
    assert gradient(z + c * 5, c) == [[9, 13]]
    with pytest.raises(RuntimeError, match="no influence"):
        z.sum().gradient(d)
    c.assign(c + 1).realize()  # another value: z was not made of it
    with pytest.raises(RuntimeError, match="no influence"):
        z.sum().gradient(c)


def test_equal_tensors_are_other_targets(device):
    a, b = Tensor.zeros(3).realize(), Tensor.zeros(3).realize()
    assert gradient(a * 2 + b * 3, a, b) == [[2, 2, 2], [3, 3, 3]]


def test_leaves_of_backward_whose_value_was_read(device):
    x = Tensor.rand(2)
    y = x * x
    v = x.numpy()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * v)


def test_tracing_and_running_steps(device):
    w, s = vector(1, 2), vector(1, 1)
    h = w.clone()
    h += w
    square, reader = h * h, s + w * w

    def step(x):
        s.assign(s + x)
        return (s * 1).realize()

    f = TinyJit(step)
    for _ in range(4):
        f(w * 3)
    assert gradient(square, w) == [[8, 16]]
    assert gradient(reader, w) == [[2, 4]]
    np.testing.assert_array_equal(s.numpy(), [13, 25])


def test_random_tensor_settled_by_a_trace(device):
    w = vector(1, 2)
    y = Tensor.rand(2) * w * w
    f = TinyJit(lambda x: (x + 1).realize())
    for _ in range(3):
        f(vector(1, 1))
    g = y.sum().gradient(w)[0].numpy()
    np.testing.assert_allclose(g, 2 * y.numpy() / w.numpy(), rtol=1e-6)


def test_unread_state_does_not_keep_all_steps(device):
    """A value that nobody reads, made in each step of the one before: its history is dropped now and then, and that is told."""
    mean, total = Tensor(np.zeros(1000, np.float32)), vector(0)
    data, most = None, 0
    for k in range(60):
        data = Tensor(np.full(1000, k, np.float32)) * 1.0
        state = mean * 1.0
        mean.assign(mean * 0.9 + data * 0.1)
        total = total + (mean * data).sum()
        (state + mean).realize()
        gc.collect()
        if k == 30:
            most = GlobalCounters.mem_used
    assert GlobalCounters.mem_used <= most + 20 * 4000
    with pytest.raises(RuntimeError, match="not known any more|no influence"):
        mean.sum().gradient(Tensor.ones(1000), materialize_grads=True)
    assert np.isfinite(total.item())
