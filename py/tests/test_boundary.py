"""What Python gives to C: integers that do not fit, tensors in the place of numbers, addresses that are no handles."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest

from polygrad import Tensor, dtypes
from polygrad import _signatures as sig
from polygrad._ffi import C, int64_array, int_array, struct_type, whole
from polygrad.autograd import current

BIG = [2**31, 2**32, 2**32 + 1, 2**40, 2**63, 2**64, 2**64 + 1, 2**70, -(2**31) - 1, -(2**41), -(2**63) - 1, -(2**64)]
WRONG = (IndexError, ValueError, OverflowError)


@pytest.fixture
def x():
    return Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))


def test_generated_files_are_current():
    sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
    try:
        import gen_api
    finally:
        sys.path.pop(0)
    functions = gen_api.parse()
    for path, make in ((gen_api.CHECKED, gen_api.checked), (gen_api.NAMES, gen_api.names), (gen_api.CALLS, gen_api.calls)):
        assert path.read_text() == make(functions), f"{path} is out of date: run python py/tools/gen_api.py"


# ---- integers ----


@pytest.mark.parametrize("n", BIG)
def test_numbers_that_do_not_fit(x, n):
    for wrong in (
        lambda: x[n], lambda: x[0, n], lambda: x.sum(n), lambda: x.sum((0, n)), lambda: x.permute(n, 1), lambda: x.flip(n), lambda: x.squeeze(n),
        lambda: x.unsqueeze(n), lambda: x.softmax(n), lambda: x.cumsum(n), lambda: x.transpose(n, 0), lambda: x.gather(n, Tensor([[0]])),
        lambda: x.index_select(n, Tensor([0])), lambda: x.argmax(n), lambda: x.sort(n), lambda: x.cat(x, dim=n), lambda: x.stack(x, dim=n),
        lambda: x.unfold(n, 1, 1), lambda: x.flatten(n),
    ):  # fmt: skip
        with pytest.raises(WRONG):
            wrong()


@pytest.mark.parametrize("n", [2**63, 2**64, 2**64 + 1, 2**64 + 3, 2**70, -(2**41), -(2**64)])
def test_sizes_that_do_not_fit(x, n):
    for wrong in (
        lambda: Tensor.ones(n), lambda: Tensor.zeros(2, n), lambda: Tensor.rand(n), lambda: Tensor.empty(n), lambda: x.reshape(n, -1),
        lambda: x.expand(n, 4), lambda: x.repeat(n, 1), lambda: Tensor.eye(n), lambda: x.pad(((n, 0), (0, 0))), lambda: x.shrink(((0, n), (0, 1))),
        lambda: x.topk(n), lambda: Tensor([0]).one_hot(n), lambda: x.unfold(0, n, 1), lambda: Tensor.full((n,), 1.0), lambda: x.unflatten(0, (n, 3)),
        lambda: Tensor.randperm(n), lambda: Tensor.linspace(0, 1, n),
    ):  # fmt: skip
        with pytest.raises((*WRONG, MemoryError)):
            wrong().realize()


def test_slices_end_where_the_axis_ends(x):
    a = x.numpy()
    for key in (slice(2**70), slice(-(2**70), 2**70), slice(None, None, 2**70), slice(2**70, None), slice(None, -(2**70), -1), slice(1, 2**63)):
        np.testing.assert_array_equal(x[key].numpy(), a[key])


@pytest.mark.parametrize("value", [1.5, 1.0, "1", None, [1, 2], np.float32(1), np.array([1, 2]), 1j, object()])
def test_what_is_no_integer(x, value):
    for wrong in (lambda: x.tril(value), lambda: Tensor.eye(value), lambda: x.sort(value), lambda: x.unsqueeze(value), lambda: x.topk(value)):
        with pytest.raises(TypeError, match="whole number"):
            wrong()
    if value is not None and not isinstance(value, list):
        with pytest.raises(TypeError):
            x.sum(value)


@pytest.mark.parametrize("one", [1, np.int8(1), np.int64(1), np.uint64(1), True, Tensor(1), Tensor([1])])
def test_what_is_an_integer(x, one):
    np.testing.assert_array_equal(x.tril(one).numpy(), np.tril(x.numpy(), 1))
    if one is not True:  # as an axis it is refused: keepdim was meant
        np.testing.assert_array_equal(x.sum(one).numpy(), x.numpy().sum(1))
    assert Tensor.ones(one, 2).shape == (1, 2) and x.softmax(one).shape == (3, 4)


def test_a_tensor_is_no_integer(x):
    two = Tensor([1, 2])
    for wrong in (
        lambda: x.tril(two),
        lambda: x.triu(two),
        lambda: Tensor.eye(two),
        lambda: x.sum(two),
        lambda: x.softmax(two),
        lambda: Tensor.ones(two),
    ):
        with pytest.raises(TypeError, match=r"Tensor of shape \(2,\)|one whole number"):
            wrong()
    for wrong in (lambda: x.leaky_relu(two), lambda: x.elu(two), lambda: x.leaky_relu("0.1")):
        with pytest.raises(TypeError, match="must be a number"):
            wrong()


def test_repeat_interleave_by_counts(x):
    a = x.numpy()
    for counts, dim in (([1, 0, 2], 0), ([2, 0, 0, 3], 1), ([0, 0, 0], 0), ([3], 0), (list(range(12)), None)):
        for given in (Tensor(counts), np.array(counts), counts, Tensor(counts).cast(dtypes.int64)):
            np.testing.assert_array_equal(x.repeat_interleave(given, dim).numpy(), np.repeat(a, counts, dim))
    w = Tensor(a, requires_grad=True)
    w.repeat_interleave(Tensor([1, 0, 2]), 0).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), np.repeat([[1.0], [0.0], [2.0]], 4, 1))
    with pytest.raises(ValueError, match="negative"):
        x.repeat_interleave(Tensor([1, -1, 2]), 0)
    with pytest.raises(ValueError, match="2 entries for an axis of size 3"):
        x.repeat_interleave(Tensor([1, 2]), 0)
    with pytest.raises(TypeError, match="whole numbers"):
        x.repeat_interleave(Tensor([1.0, 2.0, 3.0]), 0)


def test_numbers_in_arithmetic(x):
    np.testing.assert_allclose((x + 2**70).numpy(), x.numpy() + np.float32(2.0**70))
    assert (x < 2**70).all().item() and not (x > 2**70).any().item() and (2**70 > x).all().item()
    top = Tensor([1], dtype=dtypes.uint64)
    assert (top * (2**64 - 1)).tolist() == [2**64 - 1] and Tensor.full((1,), 2**64 - 1, dtype=dtypes.uint64).tolist() == [2**64 - 1]
    for wrong in (
        lambda: Tensor([1, 2]) + 2**70, lambda: top + 2**64, lambda: Tensor(2**40), lambda: Tensor.full((2,), 300, dtype=dtypes.int8),
        lambda: Tensor.full((2,), -1, dtype=dtypes.uint8), lambda: Tensor([2**70]), lambda: Tensor.randint(3, low=0, high=2**70),
    ):  # fmt: skip
        with pytest.raises(OverflowError):
            wrong()


def test_numbers_beside_integers_that_do_not_hold_them():
    """Sums, products and bits wrap around, as all arithmetic of integers does. Of a remainder or a maximum nothing right would be left."""
    x, big = Tensor([1, -5, 2**31 - 1]), 2**32 + 3
    for f in (lambda a: a + big, lambda a: big - a, lambda a: a * big, lambda a: a & big, lambda a: a ^ big):
        np.testing.assert_array_equal(f(x).numpy(), f(x.numpy().astype(np.int64)).astype(np.int32))
    for n in (big, -(2**31) - 1, 2**63 - 1):
        for wrong in (
            lambda: x.minimum(n), lambda: x.maximum(n), lambda: x % n, lambda: n % x, lambda: x // n, lambda: n // x, lambda: x.fmod(n), lambda: x**n,
            lambda: n**x, lambda: x << n, lambda: x.gcd(n),
        ):  # fmt: skip
            with pytest.raises(WRONG, match="does not fit int32"):
                wrong()
        assert (x < n).tolist() == [v < n for v in x.tolist()] and (x == n).tolist() == [False] * 3
    with pytest.raises(WRONG):
        Tensor([1, 200], dtype=dtypes.uint8) % -3
    assert (Tensor([True, False]) + 2**40).tolist() == [2**40 + 1, 2**40]


def test_comparisons_with_the_upper_half_of_uint64(device):
    x = Tensor([1, 2**63, 2**64 - 1], dtype=dtypes.uint64)
    for n in (2**64 - 1, 2**63, 2**63 - 1, 5, 0, -1, -(2**63)):
        for f in (lambda a: a < n, lambda a: a <= n, lambda a: a == n, lambda a: a != n, lambda a: a > n, lambda a: n >= a):
            assert f(x).tolist() == [f(v) for v in (1, 2**63, 2**64 - 1)], n
    assert x.maximum(2**63).tolist() == [2**63, 2**63, 2**64 - 1] and (x % (2**63 + 1)).tolist() == [1, 2**63, 2**63 - 2]


def test_random_integers_fit_their_dtype():
    for low, high, dtype in ((0, 2**32 + 10, "int32"), (0, 300, "uint8"), (-5, 3, "uint8"), (0, 2**31 + 1, "int32"), (-(2**31) - 1, 0, "int32")):
        with pytest.raises(WRONG, match="does not fit"):
            Tensor.randint(3, low=low, high=high, dtype=dtype)
    for low, high, dtype in ((0, 2**31, "int32"), (255, 256, "uint8"), (-(2**31), -(2**31) + 1, "int32"), (2**40, 2**40 + 1, "int64")):
        drawn = Tensor.randint(50, low=low, high=high, dtype=dtype).numpy()
        assert low <= drawn.min() and drawn.max() < high


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.array, Tensor])
def test_numbers_of_numpy_and_tensors(kind):
    """Where a plain number is taken, so is one of numpy's or a tensor of one element."""
    two = kind(2)
    assert Tensor.full((2,), two).tolist() == [2, 2]
    assert [t.tolist() for t in Tensor.arange(5).split(two)] == [[0, 1], [2, 3], [4]]
    assert [t.tolist() for t in Tensor.arange(4).chunk(two)] == [[0, 1], [2, 3]]
    Tensor.manual_seed(two)
    drawn = Tensor.rand(3).tolist()
    Tensor.manual_seed(2)
    assert drawn == Tensor.rand(3).tolist()


def test_seeds_and_parts_that_are_none():
    for wrong in (
        lambda: Tensor.manual_seed(1.5),
        lambda: Tensor.manual_seed("1"),
        lambda: Tensor.arange(4).split(2.0),
        lambda: Tensor.arange(4).chunk(2.5),
    ):
        with pytest.raises(TypeError, match="whole number"):
            wrong()
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError):
            Tensor.manual_seed(seed)


def test_long_ranges():
    big = 2**62
    assert Tensor.arange(big, big + 3, dtype=dtypes.int64).tolist() == [big, big + 1, big + 2]
    assert Tensor.arange(0, 2**63, 2**61, dtype=dtypes.int64).tolist() == list(range(0, 2**63, 2**61))
    assert Tensor.arange(big, -big, -(2**61) + 1, dtype=dtypes.int64).tolist() == list(range(big, -big, -(2**61) + 1))
    assert Tensor.arange(big, 0, dtype=dtypes.int64).tolist() == []
    for wrong in (
        lambda: Tensor.arange(10, 2**70, 2**69),
        lambda: Tensor.arange(2**63, 2**63 + 2),
        lambda: Tensor.arange(0, 2**60, 0, dtype=dtypes.int64),
    ):
        with pytest.raises(WRONG):
            wrong()


@pytest.mark.parametrize("kind", [int, np.int64])
def test_integers_that_a_double_does_not_hold(kind):
    """Numbers beside 64-bit integers arrive with all their digits, also where the C function takes a double."""
    big = kind(2**53 + 1)
    x = Tensor([1, 2, 3], dtype=dtypes.int64)
    mask = Tensor([True, False, True])
    for made in (
        x.full_like(big), Tensor.full((2,), big, dtype=dtypes.int64), x.masked_fill(mask, big), x.clamp(big, None), x.maximum(big),
        x.pad((1, 0), value=big), Tensor.arange(big, big + 2, dtype=dtypes.int64), mask.where(big, x),
    ):  # fmt: skip
        assert made.tolist()[0] == 2**53 + 1
    assert Tensor([2**53 + 3, -(2**53) - 3], dtype=dtypes.int64).clip(-big, big).tolist() == [2**53 + 1, -(2**53) - 1]
    for wrong in (lambda: Tensor([1]).full_like(2**40), lambda: Tensor([1]).masked_fill(Tensor([True]), 2**40)):
        with pytest.raises(OverflowError):
            wrong()


# ---- every function ----

LIMITS = {"i": (-(2**31), 2**31 - 1), "l": (-(2**63), 2**63 - 1), "L": (0, 2**64 - 1), "z": (0, 2**64 - 1)}


def test_every_integer_of_every_function_is_checked():
    """With NULL for all else nothing is called that could do harm: the check comes first."""
    for name, (_, codes, names) in sig.FUNCTIONS.items():
        for k, (code, argument) in enumerate(zip(codes, names.split())):
            if code not in LIMITS:
                continue
            for bad, kind in (
                (LIMITS[code][1] + 1, WRONG),
                (LIMITS[code][0] - 1, WRONG),
                (1.5, TypeError),
                (Tensor([1, 2]), TypeError),
                ("1", TypeError),
            ):
                given = [{"c": b"i", "s": b"x", "d": 0.0, "b": False, "p": None}.get(c, 0) for c in codes]
                given[k] = bad
                with pytest.raises(kind, match=argument):
                    getattr(C, name)(*given)


def test_every_pointer_of_every_function_is_checked():
    """Addresses that are no handles: a call fails, and its error names the argument. Functions without handles are left out."""
    memory = ctypes.create_string_buffer(64)
    ctx = current().ptr
    C.poly_clear_error(ctx)
    for name, (result, codes, names) in sig.FUNCTIONS.items():
        if codes[:1] != "p" or names.split()[0] in ("allocator", "from"):
            continue
        for bad in (1, 4096, ctypes.addressof(memory), 2**63 - 8):
            given = [{"c": b"i", "s": b"x", "d": 0.0, "b": False, "p": None}.get(c, 0) for c in codes]
            given[0] = (ctypes.c_void_p * 1)(bad) if codes[:2] == "pi" and names.split()[0] in ("t", "params") and names.split()[1] == "n" else bad
            if names.split()[:2] == [names.split()[0], "n"]:
                given[1] = 1
            if names.startswith("inputs"):
                continue
            getattr(C, name)(*given)
            if name not in ("poly_error_code", "poly_error_text", "poly_clear_error"):
                assert C.poly_error_code(None) and name in C.poly_error_text(None).decode(), name
            C.poly_clear_error(ctx)
    assert Tensor([1.0, 2.0]).sum().item() == 3


def test_arrays_and_structs_are_checked():
    assert int64_array((1, np.int64(2), True)) == np.array([1, 2, 1], np.int64).tobytes()
    assert int_array(range(40)) == np.arange(40, dtype=np.int32).tobytes()
    for make, n in ((int64_array, 2**63), (int_array, 2**31), (int_array, -(2**31) - 1)):
        with pytest.raises(WRONG):
            make((1, n))
        with pytest.raises(TypeError):
            make((1, 1.5))
    spec = struct_type("PolySampleSpec")()
    spec.hops = 3
    for field, value in (("hops", 2**31), ("seed", -1), ("batch", 2**64)):
        with pytest.raises(OverflowError, match=field):
            setattr(spec, field, value)
    with pytest.raises(TypeError, match="hops"):
        spec.hops = 1.5
    assert whole(np.int32(5), "i", "n") == 5


def test_double_free_is_an_error():
    t = Tensor([1.0, 2.0])
    h = C.poly_neg(t._h)
    C.poly_free(h)
    C.poly_free(h)
    assert b"freed before" in C.poly_error_text(t._g.ptr)
    C.poly_clear_error(t._g.ptr)
    assert (t + 1).tolist() == [2.0, 3.0]
