"""Selection, search and counting beside numpy: topk, kthvalue, median, mode, searchsorted, isin, bincount, sorted edges."""

import numpy as np
import pytest

import polygrad.torch as pt
from polygrad import Context
from polygrad.autograd import current
from polygrad.geometric import utils

RNG = np.random.default_rng(5)


def values(dtype, shape, ties=False):
    if dtype.startswith("uint"):
        return RNG.integers(0, 200, shape).astype(dtype)
    a = RNG.standard_normal(shape) * 50
    a = (np.round(a / 10) * 10 if ties else a).astype(dtype)
    if dtype.startswith("float") and a.size > 5:
        a.reshape(-1)[RNG.integers(0, a.size, 3)] = np.nan
        a.reshape(-1)[RNG.integers(0, a.size, 3)] = -np.inf
        a.reshape(-1)[RNG.integers(0, a.size, 2)] = -0.0
    return a


def order_of(a, axis, descending):
    """The stable order, with NaN as the largest of all."""
    if not descending:
        return np.argsort(a, axis=axis, kind="stable")
    _, rank = np.unique(a, return_inverse=True, equal_nan=True)
    return np.argsort(-rank.reshape(a.shape), axis=axis, kind="stable")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8", "int16"])
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 1000), (2, 20000), (4, 70, 6)])
def test_topk_and_kthvalue_are_the_first_of_a_stable_sort(dtype, shape):
    for ties in (False, True):
        a = values(dtype, shape, ties)
        t = pt.tensor(a)
        for dim in range(a.ndim):
            n = shape[dim]
            for k in sorted({1, min(10, n), min(100, n), n}):
                for largest in (True, False):
                    want = np.take(order_of(a, dim, largest), range(k), axis=dim)
                    got = t.topk(k, dim, largest)
                    np.testing.assert_array_equal(got.indices.numpy(), want)
                    np.testing.assert_array_equal(got.values.numpy(), np.take_along_axis(a, want, dim))
                place = np.take(order_of(a, dim, False), k - 1, axis=dim)
                np.testing.assert_array_equal(t.kthvalue(k, dim).indices.numpy(), place)


def test_a_long_row_is_selected_the_same_by_all_threads():
    a = RNG.integers(0, 1000, 300_000).astype(np.float32)
    first = None
    for threads in (1, 2):
        with Context(THREADS=threads):
            t = pt.tensor(a)
            got = [t.topk(k, 0).indices.numpy() for k in (10, 1000, 9000)] + [t.kthvalue(150_000, 0).indices.numpy(), t.argsort(0).numpy()]
        first = first or got
        for x, y in zip(first, got):
            np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(first[-1], np.argsort(a, kind="stable"))
    assert pt.tensor(a).median().item() == np.sort(a)[(a.size + 1) // 2 - 1]


def test_gradients_go_to_what_was_selected():
    x = pt.tensor([3.0, 1.0, 2.0, 5.0], requires_grad=True)
    (x.topk(2).values * pt.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [10.0, 0.0, 0.0, 1.0]
    y = pt.tensor([[3.0, 1.0, 2.0]], requires_grad=True)
    y.median(1).values.sum().backward()
    assert y.grad.tolist() == [[0.0, 0.0, 1.0]]


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_searchsorted_mode_and_isin(dtype):
    a = values(dtype, (40, 30), ties=True)
    a = np.nan_to_num(a) if dtype == "float32" else a
    b = np.sort(a.reshape(-1)[:77])
    for right, side in ((False, "left"), (True, "right")):
        got = pt.tensor(b).searchsorted(pt.tensor(a), right=right)
        np.testing.assert_array_equal(got.numpy(), np.searchsorted(b, a, side))
        rows = pt.tensor(np.sort(a, 1)).searchsorted(pt.tensor(a[:, :5]), right=right).numpy()
        np.testing.assert_array_equal(rows, [np.searchsorted(np.sort(r), r[:5], side) for r in a])
    np.testing.assert_array_equal(pt.tensor(a).isin(pt.tensor(a[0, :4])).numpy(), np.isin(a, a[0, :4]))
    counted = [max(np.unique(r), key=lambda v, r=r: ((r == v).sum(), -v if dtype != "uint8" else -int(v))) for r in a]
    np.testing.assert_array_equal(pt.tensor(a).mode(1).values.numpy(), np.array(counted, a.dtype))
    assert pt.tensor([1, 2]).isin(pt.tensor(np.zeros(0, np.int64))).tolist() == [False, False]


def test_bincount_counts_and_refuses():
    i = RNG.integers(0, 50, 4000)
    np.testing.assert_array_equal(pt.tensor(i).bincount(minlength=60).numpy(), np.bincount(i, minlength=60))
    with pytest.raises(IndexError, match="index -1 at position 1"):
        pt.tensor([3, -1]).bincount().numpy()


def test_errors_name_what_was_asked_for():
    with pytest.raises(ValueError, match="no element 5 along axis 0"):
        pt.tensor([1.0, 2.0]).kthvalue(5)
    with pytest.raises(ValueError, match="searchsorted"):
        pt.zeros(3, 4).searchsorted(pt.zeros(2, 4))


@pytest.mark.parametrize(
    "nodes, edges", [(1, 3), (5, 40), (300, 5000), (1, 2000), (3, 60_000), (5000, 70_000), (1 << 12, 300_000), (5_000_000, 300_000)]
)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_edges_are_sorted_and_merged(nodes, edges, dtype):
    e = RNG.integers(0, nodes, (2, edges)).astype(dtype)
    w = RNG.integers(0, 100, (edges, 2)).astype(np.float32)
    for by_row in (True, False):
        first, second = e if by_row else e[::-1]
        order = np.lexsort((second, first))
        got, moved = utils.sort_edge_index(pt.tensor(e), pt.tensor(w), nodes, by_row)
        np.testing.assert_array_equal(got.numpy(), e[:, order])
        np.testing.assert_array_equal(moved.numpy(), w[order])
        new = np.ones(edges, bool)
        new[1:] = (e[:, order][:, 1:] != e[:, order][:, :-1]).any(0)
        once, added = utils.coalesce(pt.tensor(e), pt.tensor(w), nodes, sort_by_row=by_row)
        np.testing.assert_array_equal(once.numpy(), e[:, order][:, new])
        np.testing.assert_array_equal(added.numpy(), np.add.reduceat(w[order].astype(np.float64), np.flatnonzero(new)))
        again, same = utils.coalesce(once, added, nodes, sort_by_row=by_row)
        np.testing.assert_array_equal(again.numpy(), once.numpy())
        np.testing.assert_array_equal(same.numpy(), added.numpy())


def test_edges_outside_the_graph_are_an_error():
    with pytest.raises(IndexError, match="holds 7, which is not among 3"):
        utils.coalesce(pt.tensor([[0, 7], [1, 2]]), num_nodes=3)


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 8, 11])
def test_running_sums_of_any_number_of_rows(rows):
    """Rows are walked four at a time; the rest by themselves."""
    a = values("float32", (rows, 37))
    a[np.isnan(a) | np.isinf(a)] = 1
    np.testing.assert_array_equal(pt.tensor(a).cumsum(1).numpy(), np.cumsum(a.astype(np.float64), 1).astype(np.float32))
    np.testing.assert_array_equal(pt.tensor(a).cummax(1).values.numpy(), np.maximum.accumulate(a, 1))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100, 70_001])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_places_of_true_values_of_any_length(n, share):
    a = RNG.random(n) < share
    np.testing.assert_array_equal(pt.tensor(a).nonzero().numpy()[:, 0], np.flatnonzero(a))


@pytest.mark.parametrize("source", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_casts_of_integers_between_all_sizes(source):
    """Compiled kernels convert vectors in steps; every step keeps sign and low bits."""
    a = RNG.integers(-(2**62), 2**62, 1003).astype(source) if source != "bool" else RNG.random(1003) < 0.5
    for to in ("int8", "uint8", "int16", "int32", "int64", "float32"):
        np.testing.assert_array_equal(pt.tensor(a).to(getattr(pt, to)).numpy(), a.astype(to))


@pytest.mark.parametrize("shape", [(1,), (9,), (40, 5), (3, 1024), (3, 1025), (2, 30000)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int16"])
def test_medians_are_of_the_order_and_of_numbers(dtype, shape):
    """The lower median with its place; the first NaN of a row, unless numbers alone count. Rows of NaN alone have one."""
    a = values(dtype, shape, True)
    if dtype.startswith("float"):
        a[0 if a.ndim > 1 else slice(None)] = np.nan
    for dim in range(a.ndim):
        n, nan = shape[dim], np.isnan(a) if dtype.startswith("float") else np.zeros(a.shape, bool)
        order = order_of(a, dim, False)
        number = np.take_along_axis(order, np.maximum(((~nan).sum(dim, keepdims=True) - 1) // 2, 0), dim)
        whole = np.take_along_axis(order, np.full(number.shape, (n - 1) // 2), dim)
        whole = np.where(nan.any(dim, keepdims=True), np.argmax(nan, dim).reshape(number.shape), whole)
        number = np.where(nan.all(dim, keepdims=True), 0, number)
        for name, want in (("median", whole), ("nanmedian", number)):
            got = getattr(pt.tensor(a), name)(dim, keepdim=True)
            np.testing.assert_array_equal(got.indices.numpy(), want)
            np.testing.assert_array_equal(got.values.numpy(), np.take_along_axis(a, want, dim))


def test_medians_of_changing_sizes_compile_nothing():
    x = RNG.standard_normal((400, 8)).astype(np.float32)
    for n in (100, 130):
        pt.tensor(x[:n]).median(0).values.numpy()
    before = current().compilations
    for n in range(140, 400, 20):
        np.testing.assert_array_equal(pt.tensor(x[:n]).median(0).values.numpy(), np.sort(x[:n], 0)[(n - 1) // 2])
    assert current().compilations == before


@pytest.mark.parametrize("a", [[], [4], [4, 4, 4], [1, 1, 2, 1, 1, 1], [3, 2, 1]])
def test_runs_of_equal_values(a):
    a = np.array(a, np.int64)
    new = np.flatnonzero(np.append(True, a[1:] != a[:-1])[: a.size])
    values, inverse, counts = pt.tensor(a).unique_consecutive(return_inverse=True, return_counts=True)
    assert values.tolist() == a[new].tolist() and counts.tolist() == np.diff(np.append(new, a.size)).tolist() and counts.dtype == pt.int64
    assert values[inverse].tolist() == a.tolist() if a.size else inverse.tolist() == []
    for x in (
        pt.tensor(a),
        pt.tensor(a) + 0,
        pt.tensor(a).float(),
        pt.tensor(a).float().requires_grad_(),
    ):  # values that are there, and those that are not
        assert x.unique_consecutive().tolist() == a[new].tolist() and x.unique_consecutive().dtype == x.dtype
        assert x.reshape(1, -1).unique_consecutive().tolist() == a[new].tolist() and type(x.unique_consecutive()) is pt.Tensor
    assert pt.tensor(a).unique(return_counts=True)[1].tolist() == np.unique(a, return_counts=True)[1].tolist()


def test_numbers_that_are_none_are_runs_of_their_own():
    x = pt.tensor([1.0, np.nan, np.nan, 2.0, 2.0])
    for values in (x.unique_consecutive(), (x + 0).unique_consecutive(), x.unique_consecutive(return_counts=True)[0]):
        np.testing.assert_array_equal(values.numpy(), np.array([1, np.nan, np.nan, 2], np.float32))
