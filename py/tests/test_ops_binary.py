"""Binary operations: values, dtypes, broadcasting, numbers, conversion, where, clamp."""

import itertools
import operator

import numpy as np
import pytest
from helpers import ALL, FLOATS, INTS, Batch, exact, tensor, to_dtype_values, values
from hypothesis import given, settings
from hypothesis import strategies as st

from polygrad import Tensor, dtypes
from polygrad.dtypes import least_upper_dtype

# The lattice: each dtype to those right above it.
LATTICE = {
    "bool": ["int8", "uint8"], "int8": ["int16"], "int16": ["int32"], "int32": ["int64"], "int64": ["float16", "bfloat16"],
    "uint8": ["int16", "uint16"], "uint16": ["int32", "uint32"], "uint32": ["int64", "uint64"], "uint64": ["float16", "bfloat16"],
    "float16": ["float32"], "bfloat16": ["float32"], "float32": ["float64"], "float64": [],
}  # fmt: skip


def above(name):
    out = {name}
    for n in LATTICE[name]:
        out |= above(n)
    return out


def promoted(a, b):
    common = above(a.name) & above(b.name)
    return min((getattr(dtypes, n) for n in common), key=lambda d: d.code)


def test_promotion_is_the_lattice():
    for a, b in itertools.product(ALL, ALL):
        want = promoted(a, b)
        if {a.kind, b.kind} <= {"i", "u", "b"} and want.kind == "f":
            want = least_upper_dtype(a, b)  # uint64 with a signed type: some float
            assert want.kind == "f"
        assert least_upper_dtype(a, b) is want, (a, b)


def trunc_div(a, b):
    return (np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))).astype(a.dtype) if a.dtype.kind in "iu" else np.trunc(a / b)


# name, on tensors, reference, domain of the left and right sides
ARITHMETIC = [
    ("add", operator.add, lambda a, b: a + b, "real", "real"),
    ("sub", operator.sub, lambda a, b: a - b, "real", "real"),
    ("mul", operator.mul, lambda a, b: a * b, "real", "real"),
    ("floordiv", operator.floordiv, lambda a, b: np.floor(a / b) if a.dtype.kind == "f" else a // b, "wide", "nonzero"),
    ("truncdiv", lambda a, b: a.div(b, rounding_mode="trunc"), trunc_div, "wide", "nonzero"),
    ("mod", operator.mod, lambda a, b: np.mod(a, b), "wide", "nonzero"),
    ("fmod", lambda a, b: a.fmod(b), lambda a, b: np.fmod(a, b), "wide", "nonzero"),
    ("pow", lambda a, b: a**b, lambda a, b: a**b, "positive", "positive"),
    ("maximum", lambda a, b: a.maximum(b), np.maximum, "real", "real"),
    ("minimum", lambda a, b: a.minimum(b), np.minimum, "real", "real"),
]
COMPARE = [
    ("lt", operator.lt, np.less), ("le", operator.le, np.less_equal), ("gt", operator.gt, np.greater), ("ge", operator.ge, np.greater_equal),
    ("eq", operator.eq, np.equal), ("ne", operator.ne, np.not_equal),
]  # fmt: skip
BITS = [
    ("and", operator.and_, np.bitwise_and), ("or", operator.or_, np.bitwise_or), ("xor", operator.xor, np.bitwise_xor),
]  # fmt: skip


def wrapped(f, a, b, d):
    """The reference in float64 or, for integers, with wrap-around in dtype d."""
    with np.errstate(all="ignore"):
        if d.kind == "f":
            return f(a.astype(np.float64), b.astype(np.float64))
        return f(a.astype(d.np), b.astype(d.np))


@pytest.mark.parametrize("d", [*INTS, *FLOATS], ids=repr)
def test_arithmetic(d, device):
    batch = Batch()
    shape = (3, 5) if device == "INTERP" else (3, 67)  # long enough for vectors and what is left over
    for name, op, f, left, right in ARITHMETIC:
        a, b = values(shape, d, left), values(shape, d, right, seed=1)
        want = wrapped(f, a, b, d)
        rtol = {"pow": 2e-5}.get(name) if d is dtypes.float32 else None
        atol = (
            {"float16": 4e-3, "bfloat16": 6e-2, "float32": 2e-6, "float64": 1e-13}[d.name]
            if d.kind == "f" and name in ("mod", "fmod", "add", "sub")
            else 0
        )
        batch.add(name, lambda o=op, x=a, y=b: o(tensor(x, d), tensor(y, d)), want, d, rtol, atol)
    a, b = values(shape, d, "real"), values(shape, d, "nonzero", seed=1)
    out = d if d.kind == "f" else dtypes.float32
    batch.add("div", lambda: tensor(a, d) / tensor(b, d), a.astype(np.float64) / b.astype(np.float64), out)
    for name, op, f in COMPARE:
        x, y = values(shape, d, "real"), values(shape, d, "real", seed=2)
        y[::2] = x[::2]
        batch.add(name, lambda o=op, x=x, y=y: o(tensor(x, d), tensor(y, d)), f(x, y), dtypes.bool)
    if d.kind != "f":
        x, y = values(shape, d, "bits"), values(shape, d, "bits", seed=4)
        for name, op, f in BITS:
            batch.add(name, lambda o=op: o(tensor(x, d), tensor(y, d)), f(x, y), d)
        s = np.arange(np.prod(shape)).reshape(shape).astype(d.np) % (8 * d.itemsize - 1)
        batch.add("shl", lambda: tensor(x, d) << tensor(s, d), x << s, d)
        batch.add("shr", lambda: tensor(x, d) >> tensor(s, d), x >> s, d)
    batch.check()


def test_bool_arithmetic(device):
    """add is or, mul is and, as in tinygrad; division of bools gives float32."""
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    batch = Batch()
    rows = [
        ("add", operator.add, a | b), ("mul", operator.mul, a & b), ("and", operator.and_, a & b), ("or", operator.or_, a | b),
        ("xor", operator.xor, a ^ b), ("maximum", lambda x, y: x.maximum(y), a | b), ("minimum", lambda x, y: x.minimum(y), a & b),
        ("lt", operator.lt, ~a & b), ("eq", operator.eq, a == b), ("ne", operator.ne, a != b),
    ]  # fmt: skip
    for name, op, want in rows:
        batch.add(name, lambda o=op: o(Tensor(a), Tensor(b)), want, dtypes.bool)
    batch.add("div", lambda: Tensor(a) / Tensor(np.array([True] * 4)), a.astype(np.float32), dtypes.float32)
    batch.check()


def test_integers_wrap(device):
    batch = Batch()
    for d in INTS:
        hi, lo = np.array([d.max], d.np), np.array([d.min], d.np)
        one = np.array([1], d.np)
        batch.add(f"{d} max+1", lambda: Tensor(hi) + Tensor(one), lo, d)
        batch.add(f"{d} min-1", lambda: Tensor(lo) - Tensor(one), hi, d)
        with np.errstate(over="ignore"):
            batch.add(f"{d} max*max", lambda: Tensor(hi) * Tensor(hi), hi * hi, d)
    batch.check()


def test_integer_division_by_zero_does_not_crash(device):
    for d in (dtypes.int8, dtypes.int32, dtypes.uint64):
        x, z = Tensor(np.array([7, 0], d.np)), Tensor(np.array([0, 0], d.np))
        for t in (x // z, x % z, x.fmod(z), x.div(z, rounding_mode="trunc")):
            assert t.numpy().shape == (2,)
    t = Tensor(np.array([-(2**31)], np.int32)) // Tensor(np.array([-1], np.int32))
    assert t.numpy().shape == (1,)


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_numbers(d, device):
    """A Python number takes the tensor's dtype where that can hold its kind."""
    batch = Batch()
    a = values((5,) if device == "INTERP" else (70,), d, "nonzero")
    x = exact(a)
    for number in (True, 3, 2.5):
        kind = type(number)
        if d.kind == "f" or kind is bool:
            out = d
        elif kind is int:
            out = dtypes.int32 if d.kind == "b" else d
        else:
            out = dtypes.float32
        rows = [("+", operator.add), ("-", operator.sub), ("*", operator.mul)]
        if d.kind == "b" and kind is bool:
            rows = []  # see test_bool_arithmetic
        calc = out.np if out.kind != "f" else np.float64
        with np.errstate(all="ignore"):
            for name, op in rows:
                n = np.array(number).astype(calc)
                want, back = op(x.astype(calc), n), op(n, x.astype(calc))
                batch.add(f"x {name} {number}", lambda o=op, v=number: o(tensor(a, d), v), want, out, rtol=1e-5)
                batch.add(f"{number} {name} x", lambda o=op, v=number: o(v, tensor(a, d)), back, out, rtol=1e-5)
            div = d if d.kind == "f" else dtypes.float32
            batch.add(f"x / {number}", lambda v=number: tensor(a, d) / v, x.astype(np.float64) / float(number), div, rtol=1e-5)
            if d.kind != "b":
                batch.add(f"{number} / x", lambda v=number: v / tensor(a, d), float(number) / x.astype(np.float64), div, rtol=1e-5)
            batch.add(f"x < {number}", lambda v=number: tensor(a, d) < v, x.astype(np.float64) < float(number), dtypes.bool)
            batch.add(f"{number} < x", lambda v=number: v < tensor(a, d), x.astype(np.float64) > float(number), dtypes.bool)
            batch.add(f"x == {number}", lambda v=number: tensor(a, d) == v, x.astype(np.float64) == float(number), dtypes.bool)
    batch.check()


@pytest.mark.parametrize("a", ALL, ids=repr)
def test_mixed_dtypes(a):
    batch = Batch()
    for b in ALL:
        out = least_upper_dtype(a, b)
        x, y = values((4,), a, "real"), values((4,), b, "real", seed=1)
        calc = np.float64 if out.kind == "f" else out.np
        want = x.astype(calc) * y.astype(calc)
        batch.add(f"{a} * {b}", lambda x=x, y=y, b=b: tensor(x, a) * tensor(y, b), want, out)
        batch.add(f"{a} < {b}", lambda x=x, y=y, b=b: tensor(x, a) < tensor(y, b), x.astype(np.float64) < y.astype(np.float64), dtypes.bool)
    batch.check()


BROADCAST = [((), (3,)), ((3,), ()), ((3, 1), (1, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((0,), (1,)), ((3, 0), (1,)), ((1,), (1, 1)), ((), ())]


def test_broadcasting(device):
    batch = Batch()
    for s, t in BROADCAST:
        a, b = values(s), values(t, seed=1)
        batch.add(f"{s} + {t}", lambda a=a, b=b: Tensor(a) + Tensor(b), a + b, dtypes.float32)
        batch.add(f"{s} < {t}", lambda a=a, b=b: Tensor(a) < Tensor(b), a < b, dtypes.bool)
    batch.check()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_broadcasting_property(data):
    """Any two shapes that numpy broadcasts give numpy's result; others are a ValueError."""
    dims = st.lists(st.integers(0, 3), min_size=0, max_size=4)
    s, t = tuple(data.draw(dims)), tuple(data.draw(dims))
    a, b = values(s, dtypes.float64), values(t, dtypes.float64, seed=1)
    try:
        want = a - b
    except ValueError:
        with pytest.raises(ValueError):
            Tensor(a) - Tensor(b)
        return
    got = Tensor(a) - Tensor(b)
    assert got.shape == want.shape
    np.testing.assert_array_equal(got.numpy(), want)


def test_where(device):
    batch = Batch()
    c = np.array([[True], [False], [True]])
    for d in ALL:
        a, b = values((4,), d), values((3, 4), d, seed=1)
        batch.add(f"where {d}", lambda a=a, b=b, d=d: Tensor(c).where(tensor(a, d), tensor(b, d)), np.where(c, a, b), d)
    batch.add("numbers", lambda: Tensor(c).where(1, 0), np.where(c, 1, 0), dtypes.int32)
    batch.add("floats", lambda: Tensor(c).where(1.5, 0), np.where(c, 1.5, 0), dtypes.float32)
    a = values((3, 4), dtypes.int8)
    batch.add("int8 or 7", lambda: Tensor(c).where(Tensor(a), 7), np.where(c, a, 7), dtypes.int8)
    batch.add("7 or int8", lambda: Tensor(c).where(7, Tensor(a)), np.where(c, 7, a), dtypes.int8)
    batch.add("int8 or 2.5", lambda: Tensor(c).where(Tensor(a), 2.5), np.where(c, a, 2.5), dtypes.float32)
    batch.add(
        "mixed",
        lambda: Tensor(c).where(Tensor(a), Tensor(values((4,), dtypes.float64))),
        np.where(c, a, values((4,), dtypes.float64)),
        dtypes.float64,
    )
    batch.check()


def test_clamp_lerp_isclose(device):
    batch = Batch()
    for d in [*INTS, *FLOATS]:
        a = values((4, 5), d, "wide")
        batch.add(f"clamp {d}", lambda a=a, d=d: tensor(a, d).clamp(1, 5), np.clip(exact(a), 1, 5), d)
        batch.add(f"low {d}", lambda a=a, d=d: tensor(a, d).clamp(min_=2), np.maximum(exact(a), 2), d)
        batch.add(f"high {d}", lambda a=a, d=d: tensor(a, d).clip(max_=2), np.minimum(exact(a), 2), d)
    i = values((4, 5), dtypes.int32, "wide")
    batch.add("clamp to floats", lambda: Tensor(i).clamp(-0.5, 2.5), np.clip(i, -0.5, 2.5), dtypes.float32)
    a, b, w = values((3, 4)), values((4,), seed=1), values((3, 1), domain="positive", seed=2)
    batch.add("lerp", lambda: Tensor(a).lerp(Tensor(b), Tensor(w)), a + (b - a) * w, dtypes.float32, 1e-5, 1e-5)
    batch.add("lerp number", lambda: Tensor(a).lerp(Tensor(b), 0.25), a + (b - a) * 0.25, dtypes.float32, 1e-5, 1e-5)
    x = np.array([1.0, 1.0, np.nan, np.inf, -np.inf, np.inf, 0.0])
    y = np.array([1.0 + 1e-9, 1.1, np.nan, np.inf, -np.inf, -np.inf, -0.0])
    for nan in (False, True):
        batch.add(f"isclose {nan}", lambda n=nan: Tensor(x).isclose(Tensor(y), equal_nan=n), np.isclose(x, y, equal_nan=nan), dtypes.bool)
    batch.add("isclose tol", lambda: Tensor(x).isclose(Tensor(y), rtol=0.2), np.isclose(x, y, rtol=0.2), dtypes.bool)
    batch.check()


@pytest.mark.parametrize("a", ALL, ids=repr)
def test_cast(a, device):
    batch = Batch()
    for b in ALL:
        x = values((4, 5) if device == "INTERP" else (2, 70), a, "positive" if b.kind == "u" or a.kind == "u" else "real")
        want = x != 0 if b.kind == "b" else to_dtype_values(np.trunc(x) if a.kind == "f" and b.kind != "f" else x, b)
        batch.add(f"{a} to {b}", lambda x=x, b=b: tensor(x, a).cast(b), want, b)
    batch.check()


def test_cast_edges(device):
    batch = Batch()
    halves = np.float32([65504, 65519, 65520, 1e-8, 6e-8, 5.9604645e-08, 1e-7, -1e-5, np.inf, np.nan, 2049, 2051])
    with np.errstate(over="ignore"):
        batch.add("to half", lambda: Tensor(halves).half(), halves.astype(np.float16), dtypes.float16)
    wide = np.float32([1.00390625, 1.01171875, 3.3895314e38, 3.4e38, np.inf, np.nan, 1e-40, -1.5])
    batch.add("to bfloat16", lambda: Tensor(wide).bfloat16(), to_dtype_values(wide, dtypes.bfloat16), dtypes.bfloat16)
    ints = np.array([300, -1, 2**31 - 1, -(2**31)], np.int32)
    for d in INTS:
        batch.add(f"wrap to {d}", lambda d=d: Tensor(ints).cast(d), ints.astype(d.np), d)
    big = np.array([2**63, 2**64 - 1, 2**53 + 1], np.uint64)
    batch.add("uint64 to double", lambda: Tensor(big).double(), big.astype(np.float64), dtypes.float64)
    batch.add("uint64 to int64", lambda: Tensor(big).long(), big.astype(np.int64), dtypes.int64)
    batch.add("nan to bool", lambda: Tensor(np.float32([np.nan, 0, -0.0, 1e-40])).bool(), [True, False, False, True], dtypes.bool)
    batch.check()


def test_bitcast(device):
    batch = Batch()
    f = values((6,), dtypes.float32, "wide")
    batch.add("float to int", lambda: Tensor(f).bitcast(dtypes.int32), f.view(np.int32), dtypes.int32)
    batch.add("int to float", lambda: Tensor(f.view(np.int32)).bitcast(dtypes.float32), f, dtypes.float32)
    h = values((6,), dtypes.float16, "wide")
    batch.add("half to ushort", lambda: Tensor(h).bitcast(dtypes.uint16), h.view(np.uint16), dtypes.uint16)
    i = values((6,), dtypes.int8, "bits")
    batch.add("char to uchar", lambda: Tensor(i).bitcast(dtypes.uint8), i.view(np.uint8), dtypes.uint8)
    d = values((6,), dtypes.float64, "wide")
    batch.add("double to long", lambda: Tensor(d).bitcast(dtypes.int64), d.view(np.int64), dtypes.int64)
    batch.check()
    np.testing.assert_array_equal(Tensor(f).bitcast(dtypes.int64).numpy(), f.view(np.int64))
    with pytest.raises((ValueError, RuntimeError), match="bitcast"):
        Tensor(f[:5].copy()).bitcast(dtypes.int64)


def test_large_integers_are_exact(device):
    """Whole numbers beyond 2^53 must not pass through a double."""
    a = np.array([2**62 + 1, -(2**62) - 3, 2**53 + 1], np.int64)
    batch = Batch()
    batch.add("number", lambda: Tensor(a) + (2**53 + 1), a + (2**53 + 1), dtypes.int64)
    batch.add("full", lambda: Tensor.full((2,), 2**62 + 1, dtype=dtypes.int64), np.full(2, 2**62 + 1), dtypes.int64)
    batch.add("max", lambda: Tensor(a).max(), a.max(), dtypes.int64)
    batch.add("uint64", lambda: Tensor(np.array([2**64 - 1], np.uint64)) - 1, np.array([2**64 - 2], np.uint64), dtypes.uint64)
    batch.check()
    assert Tensor(np.array([2**64 - 1], np.uint64)).item() == 2**64 - 1
    assert Tensor(a)[0].item() == 2**62 + 1


def test_reflected_and_in_place():
    a = values((4,), dtypes.float32, "positive")
    t = Tensor(a.copy())
    np.testing.assert_allclose((2.0**t).numpy(), 2.0**a, rtol=1e-5)
    np.testing.assert_allclose((7 // t).numpy(), 7 // a, rtol=1e-6)
    np.testing.assert_allclose((7 % t).numpy(), np.mod(7, a), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal((a + t).numpy(), a + a)
    np.testing.assert_array_equal((a @ t).numpy().shape, ())
    i = Tensor([1, 2, 3])
    np.testing.assert_array_equal((1 << i).numpy(), [2, 4, 8])
    np.testing.assert_array_equal((255 >> i).numpy(), [127, 63, 31])
    np.testing.assert_array_equal((7 & i).numpy(), [1, 2, 3])
    same = i
    for op, want in [("+= 1", [2, 3, 4]), ("*= 3", [6, 9, 12]), ("-= 1", [5, 8, 11]), ("//= 2", [2, 4, 5]), ("%= 3", [2, 1, 2]),
                     ("<<= 1", [4, 2, 4]), (">>= 1", [2, 1, 2]), ("|= 4", [6, 5, 6]), ("&= 5", [4, 5, 4]), ("^= 1", [5, 4, 5]), ("**= 2", [25, 16, 25])]:  # fmt: skip
        space = {"i": i}
        exec(f"i {op}", space)
        i = space["i"]
        assert i is same, op
        assert i.tolist() == want, op


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_division_of_whole_numbers_of_all_sizes(dtype):
    """Quotients and remainders towards minus infinity, for lanes and one by one: around multiples, at the ends of the range, by 0 and -1."""
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    edge = [0, 1, -1, 2, -3, 7, 1 << 30, -(1 << 30), info.max, info.min, info.max - 1, info.min + 1]
    edge = np.array(edge + ([1 << 52, (1 << 53) + 1, -(1 << 53) - 1, (1 << 62) + 1, -(1 << 62), (1 << 63) - 513] if dtype is np.int64 else []), dtype)
    a, b = (x.ravel() for x in np.meshgrid(edge, edge))
    for _ in range(30):
        shift = rng.integers(0, info.bits, 2).astype(dtype)
        x, y = (rng.integers(info.min, info.max, 256, dtype=dtype) >> s for s in shift)
        whole = x // np.where((y == 0) | (y == -1), 1, y) * y
        a, b = np.concatenate([a, x, whole, whole - 1, whole + 1]), np.concatenate([b, y, y, y, y])
    special = (b == 0) | (b == -1)
    divisor = np.where(special, 1, b)
    quotient, rest = np.where(special, np.where(b == 0, 0, -a), a // divisor), np.where(special, 0, a % divisor)
    for n in (a.size, 4 * 33 + 1):
        x, y = Tensor(a[:n].copy()), Tensor(b[:n].copy())
        np.testing.assert_array_equal((x // y).numpy(), quotient[:n])
        np.testing.assert_array_equal((x % y).numpy(), rest[:n])
