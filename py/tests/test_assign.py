"""assign: a tensor keeps its memory, readers before it see the old values, overlapping reads are safe."""

import numpy as np
import pytest

from polygrad import Tensor, Variable, dtypes


def test_assign_and_alias(device):
    a = np.arange(6, dtype=np.float32)
    t = Tensor(a)  # on the array's own memory
    t.assign(t + 1).realize()
    np.testing.assert_array_equal(t.numpy(), np.arange(6) + 1)
    host = np.arange(6) if device == "TEST" else np.arange(6) + 1  # memory of its own: the array is as it was
    np.testing.assert_array_equal(a, host)


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


# ---- views ----

MOVES = {
    "slice": (lambda t: t[1:3], lambda a: a[1:3]),
    "all": (lambda t: t[:], lambda a: a[:]),
    "row": (lambda t: t[2], lambda a: a[2]),
    "element": (lambda t: t[1, 2], lambda a: a[1, 2:3].reshape(())),
    "step": (lambda t: t[::2, 1::2], lambda a: a[::2, 1::2]),
    "backwards": (lambda t: t[::-1], lambda a: a[::-1]),
    "transpose": (lambda t: t.T, lambda a: a.T),
    "flatten": (lambda t: t.flatten(), lambda a: a.reshape(-1)),
    "flat slice": (lambda t: t.reshape(-1)[3:9], lambda a: a.reshape(-1)[3:9]),
    "shrink": (lambda t: t.shrink(((0, 2), (1, 4))), lambda a: a[0:2, 1:4]),
    "flip": (lambda t: t.flip(1)[:, 0:2], lambda a: a[:, ::-1][:, 0:2]),
    "unsqueeze": (lambda t: t.unsqueeze(1)[0], lambda a: a[:, None][0]),
    "chain": (lambda t: t.permute(1, 0)[1:3].reshape(2, 2, 2)[1], lambda a: a.T[1:3, :].reshape(2, 2, 2)[1]),
    "split": (lambda t: t.split(2)[1], lambda a: a[2:4]),
    "detach": (lambda t: t.detach()[0], lambda a: a[0]),
}


def _numpy_assign(a, view, values):
    """What a view shows, by numbering the elements."""
    places = view(np.arange(a.size).reshape(a.shape))
    flat = a.reshape(-1).copy()
    flat[places.reshape(-1)] = values.reshape(-1)
    return flat.reshape(a.shape)


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", MOVES)
def test_assign_to_a_view(name, lazy, read, device):
    move, like = MOVES[name]
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    t = Tensor(a.copy()) + 0 if lazy else Tensor(a.copy())
    before = t * 1
    view = move(t)
    if read:
        np.testing.assert_array_equal(view.numpy(), like(a))
    values = -np.arange(1, like(a).size + 1, dtype=np.float32).reshape(like(a).shape)
    view.assign(Tensor(values))
    want = _numpy_assign(a, like, values)
    np.testing.assert_array_equal(t.numpy(), want)
    np.testing.assert_array_equal(view.numpy(), values)
    view += 1  # still a view
    np.testing.assert_array_equal(t.numpy(), _numpy_assign(a, like, values + 1))
    np.testing.assert_array_equal(before.numpy(), a)


def test_views_of_views():
    t = Tensor(np.arange(6, dtype=np.float32)).reshape(2, 3)
    row = t[0]
    row[1:2].assign(9)
    t[1][2] = 7
    assert t.tolist() == [[0, 9, 2], [3, 4, 7]] and row.tolist() == [0, 9, 2]
    t += 1
    row += 1  # of the values that row has: it was taken before t changed
    assert t.tolist() == [[1, 10, 3], [4, 5, 8]] and row.tolist() == [1, 10, 3]


def test_a_view_of_what_is_gone_is_a_tensor():
    part = Tensor(np.arange(4, dtype=np.float32))[1:3]
    part += 1
    assert part.tolist() == [2, 3]
    x = Tensor(np.arange(4, dtype=np.float32))
    other = x.clone()[1:3]
    other += 1
    assert x.tolist() == [0, 1, 2, 3] and other.tolist() == [2, 3]


def test_a_view_of_what_was_computed_meanwhile(device):
    x = Tensor.arange(5).float()
    y = x[1:]
    np.testing.assert_array_equal(x.numpy(), [0, 1, 2, 3, 4])  # x has other memory now than y was made of
    y[0] = 9
    assert x.tolist() == [0, 9, 2, 3, 4] and y.tolist() == [9, 2, 3, 4]


def test_a_view_of_what_was_assigned_meanwhile():
    x = Tensor([1.0, 2.0, 3.0]).clone()
    y, z = x[1:], x.detach()
    x += 1
    x += 1
    y[0] = 9  # y shows what x was, 2 and 3
    assert x.tolist() == [3, 9, 3] and y.tolist() == [9, 3]
    z[0] = 7
    assert x.tolist() == [7, 2, 3] and z.tolist() == [7, 2, 3]


@pytest.mark.parametrize("computed", [False, True])
def test_a_view_of_a_view_whose_base_is_gone(computed):
    x = Tensor([1.0, 2.0, 3.0]) + 0
    y = x[0:2]
    z = y[1:]
    if computed:
        y.realize(z)
    del x
    z[0] = 9
    y[0] = 5
    z[0] += 1
    assert y.tolist() == [5, 10] and z.tolist() == [10]


def test_a_view_of_what_was_replaced_is_a_tensor():
    x = Tensor([1.0, 2.0, 3.0])
    y = x[1:]
    x.replace(Tensor([4.0, 5.0, 6.0]))
    y[0] = 9
    assert x.tolist() == [4, 5, 6] and y.tolist() == [9, 3]


class Shown:
    """What a handle shows: places of a root, and the values that it saw last."""

    def __init__(self, root, places, above):
        self.root, self.places, self.above = root or self, places, above
        self.values = None if root is None else root.values.reshape(-1)[places]

    def assign(self, values):
        self.root.values = self.root.values.copy()
        self.root.values.reshape(-1)[self.places.reshape(-1)] = values.reshape(-1)
        for h in [*self.above, self]:
            h.values = self.root.values.reshape(-1)[h.places]


def _moves(rng, shape):
    axis = int(rng.integers(len(shape)))
    lo, hi = sorted(int(v) for v in rng.choice(shape[axis] + 1, 2, replace=False))
    part = (slice(None),) * axis + (slice(lo, hi),)
    order = tuple(int(v) for v in rng.permutation(len(shape)))
    return [(lambda a: a[part], lambda t: t[part]), (lambda a: np.flip(a, axis), lambda t: t.flip(axis)),
            (lambda a: a.transpose(order), lambda t: t.permute(*order)), (lambda a: a.reshape(-1), lambda t: t.reshape(-1))][int(rng.integers(4))]  # fmt: skip


@pytest.mark.parametrize("first", ["leaf", "counted", "computed"])
def test_random_views_and_changes(first):
    """Views of views, changes of any of them, and values computed in between, against the rule: a change of a view changes its tensor and the views
    between the two, and nothing else."""
    for seed in range(120):
        rng = np.random.default_rng(seed)
        shape = [(5,), (3, 4), (2, 3, 4)][seed % 3]
        root = Shown(None, np.arange(np.prod(shape)).reshape(shape), [])
        root.values = root.places.astype(np.float32)
        t = {"leaf": lambda v: Tensor(v.copy()), "counted": lambda v: Tensor.arange(v.size).float(), "computed": lambda v: Tensor(v.copy()) * 1}[
            first
        ](root.values)
        handles, tensors = [root], [t.reshape(*shape)]
        for _ in range(7):
            k = int(rng.integers(len(handles)))
            h, t = handles[k], tensors[k]
            what = int(rng.integers(5))
            if what < 2:
                on_array, on_tensor = _moves(rng, h.places.shape)
                view = Shown(h.root, on_array(h.places), [*h.above, h])
                view.values = on_array(h.values)
                handles.append(view)
                tensors.append(on_tensor(t))
            elif what == 2:
                t.realize()
            elif what == 3:
                h.assign(h.values * 2 + 1)
                t.assign(t * 2 + 1)
            else:
                values = h.values.copy()
                values[0] = 50
                h.assign(values)
                t[0] = 50.0
        for h, t in zip(handles, tensors):
            np.testing.assert_array_equal(t.numpy(), h.values, err_msg=f"{seed}")


def test_views_do_not_keep_memory():
    x = Tensor.ones(1000, 10).contiguous().realize()
    before, parts = x.graph.live_bytes, []
    for _ in range(5):
        big = (x * 2).realize()
        parts.append(big[0].realize())
        del big
    assert x.graph.live_bytes - before < 40000


def test_an_expanded_tensor_is_not_assigned():
    t = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="expanded"):
        t.reshape(1, 2).expand(3, 2).assign(Tensor.zeros(3, 2))
    assert t.tolist() == [1, 2]


def test_assign_through_no_grad():
    w = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    with Tensor.test():
        w[1:2].assign(Tensor([5.0]))
    (w * w).sum().backward()
    assert w.grad.tolist() == [2, 10, 6] and w.requires_grad


CHANGES = [(lambda c: c.__setitem__(slice(0, 1), 5.0), [5, 2, 3]), (lambda c: c.assign(c + 1), [2, 3, 4]), (lambda c: c.__iadd__(1), [2, 3, 4])]


@pytest.mark.parametrize("change, values", CHANGES)
def test_detach_after_a_change(change, values, device):
    c, want = Tensor(np.float32([1, 2, 3])), np.float32(values)
    change(c)
    np.testing.assert_array_equal(c.detach().numpy(), want)
    np.testing.assert_array_equal(c.numpy(), want)
    d = c.detach()
    c.assign(c * 2)
    np.testing.assert_array_equal(d.reshape(3, 1).numpy()[:, 0], want)
    np.testing.assert_array_equal(c.numpy(), want * 2)


def test_assigning_to_the_bits():
    x = Tensor([1.0, 2.0, 3.0, 4.0]).realize()
    bits = x.bitcast("int32")
    bits[1] = 0x40800000
    assert x.tolist() == [1.0, 4.0, 3.0, 4.0] and bits.tolist()[1] == 0x40800000
    x[2:].bitcast("uint32").assign(Tensor([0, 0x3F800000], dtype="uint32"))
    assert x.tolist() == [1.0, 4.0, 0.0, 1.0]
    x.reshape(2, 2).bitcast("int32").T[0].assign(0)
    assert x.tolist() == [0.0, 4.0, 0.0, 1.0]
    y = x * 1  # a value of its own, whose bits are nobody else's
    y.bitcast("int32").assign(Tensor([0, 0, 0, 0]))
    assert y.tolist() == [0.0] * 4 and x.tolist() == [0.0, 4.0, 0.0, 1.0]
