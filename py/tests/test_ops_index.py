"""Indexing, assignment, gather, scatter, sort and selection, against numpy and plain loops."""

import numpy as np
import pytest
from helpers import ALL, FLOATS, INTS, Batch, exact, tensor, values
from hypothesis import given, settings
from hypothesis import strategies as st

from polygrad import Device, Tensor, TinyJit, dtypes

A = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
I1 = np.array([1, 0, 1])
I2 = np.array([[0, 2], [1, 1]])
NEG = np.array([-1, -3, 0])
B3 = np.array([True, False, True])
B23 = np.array([[True, False, True], [False, False, True]])
KEYS = [
    0, -1, (1, 2), (slice(None), 1), slice(1, None), (Ellipsis, 0), (0, Ellipsis, -1), None, (slice(None), None, 1), Ellipsis, (),
    (slice(None, None, -1),), (slice(None), slice(None, None, 2), slice(None, None, -2)), (slice(0, 0),), (slice(5, 2),), (slice(-2, None), slice(-9, 9)),
    (slice(None), slice(2, 0, -1)), (slice(None), slice(None), slice(3, None, -3)),
    I1, (slice(None), I1), (I1, I1), (slice(None), I1, I1), (I1, slice(None), I1), (slice(None), I2), (I2 % 2, slice(None), NEG.reshape(3, 1, 1)),
    (0, slice(None), NEG), (slice(None), NEG), (Ellipsis, NEG), (I1, None, slice(None), 0), (None, I2 % 2), (slice(None), 0, I1),
    (I1, 0), (0, I1, slice(None), I1), (I1[:, None], np.array([0, 2])), [0, 1, 1], (slice(None), [2, 0]),
    (slice(None), B3), B23, (B23, 0), (0, B3, 1), (np.array([True, False]), slice(None)),
    (np.array(1), slice(None)), (np.array([], dtype=np.int64),), (slice(None), np.array([False] * 3)),
]  # fmt: skip


def as_key(key):
    """numpy arrays in a key become tensors."""
    if isinstance(key, tuple):
        return tuple(as_key(k) for k in key)
    return Tensor(key) if isinstance(key, np.ndarray) else key


def select(a, key):
    """numpy's indexing, but with whole numbers taken before arrays, as tinygrad and PyTorch do."""
    keys = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(k, (np.ndarray, list)) for k in keys) or not any(isinstance(k, int) for k in keys):
        return a[key]
    first = tuple(slice(None) if isinstance(k, (np.ndarray, list)) else k for k in keys)
    if any(isinstance(k, np.ndarray) and k.dtype == bool and k.ndim > 1 for k in keys):
        return a[key]
    return a[first][tuple(k if isinstance(k, (np.ndarray, list)) or k is Ellipsis else slice(None) for k in keys if not isinstance(k, int))]


def test_getitem(device):
    batch = Batch()
    a = A.astype(np.float32)
    for k, key in enumerate(KEYS[:: 1 if device == "INTERP" else 2]):
        batch.add(f"{key}", lambda key=key: Tensor(a)[as_key(key)], select(a, key))
    batch.check()


def test_getitem_with_numpy_and_lists():
    np.testing.assert_array_equal(Tensor(A)[:, I1].numpy(), A[:, I1])
    np.testing.assert_array_equal(Tensor(A)[B23].numpy(), A[B23])
    np.testing.assert_array_equal(Tensor(A)[np.int64(1), np.int32(2)].numpy(), A[1, 2])
    np.testing.assert_array_equal(Tensor(A)[[True, False]].numpy(), A[[True, False]])


@pytest.mark.parametrize("d", INTS, ids=repr)
def test_index_dtypes(d):
    i = np.array([1, 0, 1], d.np)
    np.testing.assert_array_equal(Tensor(A)[Tensor(i)].numpy(), A[i.astype(int)])


def test_setitem(device):
    for k, key in enumerate(KEYS[:: 1 if device == "INTERP" else 7]):
        a = A.astype(np.float32).copy()
        shape = a[key].shape
        if any(isinstance(x, np.ndarray) and x.dtype != bool and x.size > 1 for x in (key if isinstance(key, tuple) else (key,))) or isinstance(
            key, list
        ):
            value = np.float32(-7)  # repeated indices: which write wins is tested elsewhere
        else:
            value = -np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        t = Tensor(a.copy())
        t[as_key(key)] = Tensor(value)
        a[key] = value
        np.testing.assert_array_equal(t.numpy(), a, err_msg=str(key))


def test_setitem_broadcast_and_numbers():
    a = A.astype(np.float32).copy()
    t = Tensor(a.copy())
    t[0] = 5
    t[:, 1] = 2.5
    t[..., ::2] = Tensor([1.0, 2.0, 3.0])
    t[1, 2] = np.arange(5, dtype=np.float32)
    a[0] = 5
    a[:, 1] = 2.5
    a[..., ::2] = [1.0, 2.0, 3.0]
    a[1, 2] = np.arange(5)
    np.testing.assert_array_equal(t.numpy(), a)
    i = Tensor([1, 2, 3])
    i[1] = 9
    assert i.tolist() == [1, 9, 3] and i.dtype is dtypes.int32
    with pytest.raises(ValueError):
        t[0] = Tensor.ones(7)


def test_setitem_last_write_wins(device):
    t = Tensor(np.zeros(4, np.float32))
    t[Tensor([1, 1, 2, 1])] = Tensor([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(t.numpy(), [0, 4, 3, 0])


def test_index_errors():
    t = Tensor(A)
    for key in (2, -3, (0, 3), (0, 0, 0, 0, 0), (Ellipsis, Ellipsis), 1.5, "a"):
        with pytest.raises((IndexError, TypeError)):
            t[key]
    with pytest.raises((IndexError, ValueError)):
        t[Tensor(np.array([True, False, True]))]
    with pytest.raises((IndexError, ValueError)):
        t[Tensor([0, 1]), Tensor([0, 1, 2])]
    with pytest.raises((IndexError, TypeError)):
        t[Tensor([0.5])]
    with pytest.raises(ValueError):
        t[::0]


def test_out_of_range_tensors_are_errors(device):
    """Checked when it runs; never a wild read."""
    x = Tensor(np.arange(6, dtype=np.float32))
    for bad in ([0, 6], [-7, 0], [2**30, 0]):
        i = Tensor(np.array(bad, np.int32))
        for make in (
            lambda: x[i],
            lambda: x.gather(0, i),
            lambda: x.index_select(0, i),
            lambda: x.scatter(0, i, Tensor([1.0, 2.0])),
            lambda: x.index_add(0, i, Tensor([1.0, 2.0])),
        ):
            with pytest.raises(IndexError):
                make().numpy()
    np.testing.assert_array_equal((x + 1).numpy(), np.arange(6) + 1)  # the context still works


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_getitem_property(data):
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    a = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    key = []
    for n in shape[: data.draw(st.integers(0, len(shape)))]:
        kind = data.draw(st.integers(0, 4))
        if kind == 0:
            key.append(data.draw(st.integers(-n, n - 1)))
        elif kind == 1:
            bound = st.one_of(st.none(), st.integers(-n - 1, n + 1))
            step = data.draw(st.sampled_from([None, 1, 2, -1, -2, 3]))
            key.append(slice(data.draw(bound), data.draw(bound), step))
        elif kind == 2:
            i = np.array(data.draw(st.lists(st.integers(-n, n - 1), min_size=2, max_size=2)))
            key.append(i)
        elif kind == 3:
            key += [None, slice(None)]
        else:
            key.append(slice(None))
    key = tuple(key)
    want = select(a, key)
    got = Tensor(a)[as_key(key)]
    assert got.shape == want.shape, key
    np.testing.assert_array_equal(got.numpy(), want, err_msg=str(key))


# ---- gather and scatter ----


def reference_scatter(x, axis, index, src, reduce, include_self):
    """By a loop over the index."""
    out = x.astype(np.float64).copy() if x.dtype.kind == "f" or reduce == "mean" else x.copy()
    hits = {}
    for place in np.ndindex(*index.shape):
        to = list(place)
        to[axis] = int(index[place])
        hits.setdefault(tuple(to), []).append(src[place])
    for to, vals in hits.items():
        vals = [np.asarray(v, out.dtype) for v in vals]
        if reduce is None:
            out[to] = vals[-1]
            continue
        everything = ([out[to]] if include_self else []) + vals
        f = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
        with np.errstate(all="ignore"):
            out[to] = f(np.array(everything))
    return out


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_gather(d, device):
    a = values((4, 5), d)
    batch = Batch()
    for axis, shape in ((0, (3, 5)), (1, (4, 2)), (-1, (2, 7)), (0, (6, 3))):
        n = a.shape[axis]
        i = np.random.default_rng(1).integers(0, n, shape)
        want = np.take_along_axis(a[: shape[0]] if axis != 0 else a[:, : shape[1]], i, axis)
        batch.add(f"gather {axis} {shape}", lambda i=i, k=axis: tensor(a, d).gather(k, Tensor(i)), want, d)
    rows = np.array([3, 0, 3, 1])
    batch.add("index_select 0", lambda: tensor(a, d).index_select(0, Tensor(rows)), a[rows], d)
    batch.add("index_select 1", lambda: tensor(a, d).index_select(1, Tensor(rows)), a[:, rows], d)
    batch.check()


@pytest.mark.parametrize("d", [*INTS, *FLOATS], ids=repr)
def test_scatter(d, device):
    batch = Batch()
    rng = np.random.default_rng(2)
    tol = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 1e-5, "float64": 1e-12}.get(d.name)
    cases = ((0, (3, 5)), (1, (4, 3))) if device == "INTERP" or d is dtypes.float32 else ((0, (3, 5)),)
    for axis, shape in cases:
        a, src = values((4, 5), d, "positive"), values(shape, d, "positive", seed=3)
        i = rng.integers(0, a.shape[axis], shape)
        label = f"{axis} {shape}"
        batch.add(
            f"scatter {label}",
            lambda a=a, i=i, s=src, k=axis: tensor(a, d).scatter(k, Tensor(i), tensor(s, d)),
            reference_scatter(a, axis, i, src, None, True),
            d,
        )
        for reduce in ("sum", "prod", "amax", "amin", "mean"):
            if reduce == "mean" and d.kind != "f":
                continue
            for include in (True, False):
                want = reference_scatter(a, axis, i, src, reduce, include)
                batch.add(
                    f"{reduce} {label} {include}",
                    lambda a=a, i=i, s=src, k=axis, r=reduce, c=include: tensor(a, d).scatter_reduce(k, Tensor(i), tensor(s, d), r, c),
                    want,
                    d,
                    tol,
                    tol or 0,
                )  # noqa: E501
    a, rows, src = values((4, 5), d), np.array([1, 3, 1]), values((3, 5), d, seed=4)
    want = exact(a).copy()
    np.add.at(want, rows, exact(src))
    batch.add("index_add", lambda: tensor(a, d).index_add(0, Tensor(rows), tensor(src, d)), want, d, tol, tol or 0)
    want = exact(a).T.copy()
    np.add.at(want, rows, exact(src[:, :4]))
    batch.add("index_add 1", lambda: tensor(a, d).index_add(1, Tensor(rows), tensor(src[:, :4].T, d)), want.T, d, tol, tol or 0)
    batch.check()


def test_scatter_numbers_and_names():
    i = Tensor([[0, 1, 0]])
    x = Tensor.ones(2, 3)
    np.testing.assert_array_equal(x.scatter(0, i, 5.0).numpy(), [[5, 1, 5], [1, 5, 1]])
    np.testing.assert_array_equal(x.scatter(0, i, 5.0, reduce="add").numpy(), [[6, 1, 6], [1, 6, 1]])
    np.testing.assert_array_equal(x.scatter(0, i, 5.0, reduce="multiply").numpy(), [[5, 1, 5], [1, 5, 1]])
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        x.scatter_reduce(0, i, Tensor.ones(1, 3), "median")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_scatter_property(data):
    n, m, k = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3)), data.draw(st.integers(0, 12))
    index = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=k, max_size=k)), np.int64)
    index = np.repeat(index[:, None], m, 1).reshape(k, m)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x, src = rng.standard_normal((n, m)), rng.standard_normal((k, m))
    reduce = data.draw(st.sampled_from([None, "sum", "prod", "mean", "amax", "amin"]))
    include = data.draw(st.booleans())
    t = (
        Tensor(x).scatter(0, Tensor(index), Tensor(src))
        if reduce is None
        else Tensor(x).scatter_reduce(0, Tensor(index), Tensor(src), reduce, include)
    )
    np.testing.assert_allclose(t.numpy(), reference_scatter(x, 0, index, src, reduce, include), rtol=1e-12)


def test_large_scatter_and_gather_are_linear(cpu):
    """O(index + rows): 200k rows into 100k would never end if each row met each index."""
    rng = np.random.default_rng(0)
    i, src = rng.integers(0, 100_000, 200_000), rng.standard_normal((200_000, 8)).astype(np.float32)
    want = np.zeros((100_000, 8), np.float64)
    np.add.at(want, i, src)
    got = Tensor.zeros(100_000, 8).index_add(0, Tensor(i), Tensor(src)).numpy()
    np.testing.assert_allclose(got, want, atol=1e-4)
    np.testing.assert_array_equal(Tensor(src).index_select(0, Tensor(i)).numpy(), src[i])


# ---- sorting and selection ----


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_sort(d, device):
    batch = Batch()
    a = values((4, 6), d, "real")  # few distinct integers: the order of equals must stay
    x = exact(a)
    for axis in (0, 1, -1):
        order = np.argsort(x, axis, kind="stable")
        batch.add(f"sort {axis}", lambda k=axis: tensor(a, d).sort(k)[0], np.sort(x, axis), d)
        batch.add(f"argsort {axis}", lambda k=axis: tensor(a, d).argsort(k), order, dtypes.int32)
        back = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        batch.add(f"descending {axis}", lambda k=axis: tensor(a, d).sort(k, descending=True)[0], np.flip(np.sort(x, axis), axis), d)
        batch.add(f"descending places {axis}", lambda k=axis: tensor(a, d).sort(k, descending=True)[1], back, dtypes.int32)
    batch.add("topk", lambda: tensor(a, d).topk(3)[0], np.flip(np.sort(x, -1), -1)[:, :3], d)
    batch.add("topk smallest", lambda: tensor(a, d).topk(2, dim=0, largest=False)[0], np.sort(x, 0)[:2], d)
    batch.add("topk places", lambda: tensor(a, d).gather(1, tensor(a, d).topk(3)[1]), np.flip(np.sort(x, -1), -1)[:, :3], d)
    batch.check()


def test_sort_edges(device):
    batch = Batch()
    x = np.float32([np.nan, 1, -np.inf, np.inf, -0.0, 0.0, np.nan])
    batch.add("nan last", lambda: Tensor(x).sort()[0], np.sort(x), dtypes.float32)
    batch.add("empty", lambda: Tensor(np.zeros((2, 0), np.float32)).sort()[0], np.zeros((2, 0)), dtypes.float32)
    batch.add("one", lambda: Tensor([[3.0]]).sort()[1], [[0]], dtypes.int32)
    big = np.random.default_rng(0).permutation(5000).astype(np.float32)
    batch.add("long", lambda: Tensor(big).sort()[0], np.arange(5000), dtypes.float32)
    batch.check()
    with pytest.raises((ValueError, IndexError)):
        Tensor([1.0, 2.0]).topk(3)


@pytest.mark.parametrize("d", [dtypes.bool, dtypes.int32, dtypes.float32], ids=repr)
def test_selection(d, device):
    a = values((3, 4), d)
    mask = np.array([[True, False, True, False], [False] * 4, [True] * 4])
    t = tensor(a, d)
    np.testing.assert_array_equal(t.masked_select(Tensor(mask)).numpy(), a[mask])
    np.testing.assert_array_equal(t.masked_select(Tensor(mask[:, :1])).numpy(), a[np.broadcast_to(mask[:, :1], a.shape)])
    np.testing.assert_array_equal(t.nonzero().numpy(), np.argwhere(a))
    assert t.nonzero().dtype is dtypes.int32
    number = True if d.kind == "b" else 7
    got = t.masked_fill(Tensor(mask), number)
    np.testing.assert_array_equal(got.numpy(), np.where(mask, number, a))
    assert got.dtype is d
    assert Tensor(np.zeros((2, 2), np.float32)).nonzero().shape == (0, 2)
    assert Tensor([1.0, 2.0]).masked_select(Tensor([False, False])).shape == (0,)
    np.testing.assert_array_equal(Tensor([5, 6, 7]).masked_select(Tensor([True, False, True]), size=3, fill_value=-1).numpy(), [5, 7, -1])
    np.testing.assert_array_equal(Tensor([5, 6, 7]).masked_select(Tensor([[True], [False]]), size=2).numpy(), [5, 6])
    np.testing.assert_array_equal(Tensor([[0, 5], [6, 1]]).nonzero(size=2).numpy(), [[0, 1], [1, 0]])
    assert Tensor.zeros(0).nonzero(size=2, fill_value=7).tolist() == [[7], [7]] and Tensor(3).nonzero(size=2).shape == (2, 0)
    with pytest.raises(TypeError, match="mask must be bool"):
        Tensor([5, 6]).masked_select(Tensor([1, 0]), size=2)


def test_selection_of_a_known_size_in_a_compiled_step():
    """With a size nothing depends on how many elements there are: each run has its own."""
    select = TinyJit(lambda x, mask: x.masked_select(mask, size=4, fill_value=-1).realize())
    places = TinyJit(lambda x: x.nonzero(size=3, fill_value=-1).realize())
    for _ in range(2):
        for x, mask, want in (
            ([1, 2, 3, 4], [1, 0, 1, 0], [1, 3, -1, -1]),
            ([5, 6, 7, 8], [0, 1, 1, 1], [6, 7, 8, -1]),
            ([1, 1, 1, 1], [0] * 4, [-1] * 4),
        ):
            assert select(Tensor(x), Tensor(mask, dtype=dtypes.bool)).tolist() == want
        for x, want in (([1, 0, 2, 0, 3], [0, 2, 4]), ([0, 0, 5, 0, 0], [2, -1, -1]), ([1, 1, 1, 1, 1], [0, 1, 2])):
            assert places(Tensor(x)).flatten().tolist() == want


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_numbers_by_an_index(dtype):
    """Sums, products and extremes of single numbers: in the order of the entries, float32 rounded once; empty places keep the tensor's own value."""
    rng = np.random.default_rng(3)
    index = rng.integers(0, 40, 3000)
    index[index == 7] = 8  # nobody writes there
    source = (rng.standard_normal(3000) * 10).astype(dtype)
    own = np.arange(40).astype(dtype)
    for reduce, ufunc in (("sum", np.add), ("amax", np.maximum), ("amin", np.minimum)):
        want = own.astype(np.float64)
        ufunc.at(want, index, source.astype(np.float64))
        got = Tensor(own).scatter_reduce(0, Tensor(index), Tensor(source), reduce).numpy()
        np.testing.assert_allclose(got, want, rtol=3e-7 if dtype == np.float32 else 1e-14, atol=1e-5 if dtype == np.float32 else 0)
    hub = Tensor(np.zeros(2, np.float32)).scatter_reduce(0, Tensor(np.ones(200_000, np.int32)), Tensor(np.full(200_000, 0.1, np.float32)), "sum")
    want = np.array([0.0, np.float64(np.float32(0.1)) * 200_000])
    np.testing.assert_allclose(hub.numpy(), want.astype(np.float32), rtol=3e-7 if Device.DEFAULT in ("CUDA", "OPENCL") else 0)  # GPUs sum in pieces
    with pytest.raises(IndexError, match="index 40 at position 1"):
        Tensor(own).scatter_reduce(0, Tensor([3, 40, 2]), Tensor(source[:3]), "sum").tolist()


def test_a_nan_stays_the_extreme_of_its_index():
    got = Tensor([0.0, 0.0, 0.0]).scatter_reduce(0, Tensor([0, 0, 1, 0, 1]), Tensor([1.0, np.nan, 3.0, 5.0, 2.0]), "amax", include_self=False)
    np.testing.assert_array_equal(got.numpy(), [np.nan, 3.0, 0.0])
