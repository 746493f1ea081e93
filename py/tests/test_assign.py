"""assign: a tensor keeps its memory, readers before it see the old values, overlapping reads are safe."""

import numpy as np
import pytest

from polygrad import Tensor, Variable, dtypes


def test_assign_and_alias(device):
    a = np.arange(6, dtype=np.float32)
    t = Tensor(a)  # on the array's own memory
    t.assign(t + 1).realize()
    np.testing.assert_array_equal(t.numpy(), np.arange(6) + 1)
    np.testing.assert_array_equal(a, np.arange(6) + 1)


@pytest.mark.parametrize("view", [
    lambda t: t.flip(0), lambda t: t.permute(1, 0), lambda t: t[::-1, ::-1] * 2 + t, lambda t: t.roll(1, 0), lambda t: t @ t,
    lambda t: t.sum(0, keepdim=True).expand(4, 4), lambda t: t[Tensor([3, 2, 1, 0])],
])  # fmt: skip
def test_assign_of_itself_moved(view, device):
    """The old values must all be read before the new ones are written."""
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    t, u = Tensor(a.copy()), Tensor(a.copy())
    want = view(u).numpy()
    t.assign(view(t)).realize()
    np.testing.assert_array_equal(t.numpy(), want)


def test_readers_before_and_after(device):
    t = Tensor(np.float32([1, 2, 3]))
    before = t * 10
    t.assign(t + 1)
    after = t * 10
    np.testing.assert_array_equal(after.numpy(), [20, 30, 40])
    np.testing.assert_array_equal(before.numpy(), [10, 20, 30])
    np.testing.assert_array_equal(t.numpy(), [2, 3, 4])


def test_swap(device):
    a, b = Tensor(np.float32([1, 2])), Tensor(np.float32([3, 4]))
    old_a, old_b = a + 0, b + 0
    a.assign(old_b)
    b.assign(old_a)
    a.realize(b)
    np.testing.assert_array_equal(a.numpy(), [3, 4])
    np.testing.assert_array_equal(b.numpy(), [1, 2])


def test_many_assigns():
    t = Tensor(np.zeros(3, np.float32))
    for k in range(50):
        t.assign(t + 1)
    np.testing.assert_array_equal(t.numpy(), [50] * 3)
    for k in range(50):
        t.assign(t + 1).realize()
    np.testing.assert_array_equal(t.numpy(), [100] * 3)


def test_assign_converts_and_checks():
    t = Tensor([1, 2, 3])
    t.assign(Tensor([1.9, -2.9, 3.0]))
    assert t.dtype is dtypes.int32 and t.tolist() == [1, -2, 3]
    t.assign(7)
    assert t.tolist() == [7, 7, 7]
    with pytest.raises(ValueError) as e:
        t.assign(Tensor([1, 2]))
    assert "(3,)" in str(e.value) and "(2,)" in str(e.value)


def test_assign_to_a_lazy_tensor():
    t = Tensor([1.0, 2.0]) * 2
    t.assign(t + 1)
    assert t.tolist() == [3.0, 5.0]


def test_memory_of_a_tensor(device):
    x = Tensor.rand(4, 3)
    y = (x * 2).sum()
    x._data[:] = 1.0
    assert y.item() == 24.0
    x._data[0, 0] = 5.0
    assert x.numpy()[0, 0] == 5.0
    view = x._data
    del x
    assert view[0, 0] == 5.0  # the view keeps the memory


def test_setitem_then_read(device):
    t = Tensor.zeros(3, 4).contiguous().realize()
    early = t + 0
    t[1, 2] = 5.0
    t[0] += 1
    np.testing.assert_array_equal(t.numpy(), [[1, 1, 1, 1], [0, 0, 5, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(early.numpy(), np.zeros((3, 4)))


def test_replace_and_clone():
    a = Tensor([1.0, 2.0])
    b = a.clone()
    a.assign(Tensor([5.0, 6.0])).realize()
    assert b.tolist() == [1.0, 2.0]
    a.replace(Tensor([9.0, 9.0]))
    assert a.tolist() == [9.0, 9.0]


def test_a_product_with_an_assigned_value():
    """The operand of a matrix product is the value that is assigned, not what the memory held."""
    x = np.random.default_rng(0).standard_normal((300, 40)).astype(np.float32)
    w = Tensor.empty(40, 30)
    w.assign(Tensor.arange(1200).reshape(40, 30).cast("float32") / 1200)
    np.testing.assert_allclose((Tensor(x) @ w).numpy(), x @ w.numpy(), rtol=1e-4, atol=1e-4)
    n = Variable("n", 0, 1 << 30).bind(300)
    w = Tensor.empty(2, 40, 30)
    w.assign(Tensor.arange(2400).reshape(2, 40, 30).cast("float32") / 2400)
    np.testing.assert_allclose((Tensor(x).sized(n, 40) @ w[1]).numpy(), x @ w.numpy()[1], rtol=1e-4, atol=1e-4)
