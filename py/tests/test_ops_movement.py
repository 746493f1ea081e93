"""Movement: values after every operation, chains of them against numpy, errors with the shapes in the text."""

import numpy as np
import pytest
from helpers import ALL, Batch, tensor
from hypothesis import given, settings
from hypothesis import strategies as st

from polygrad import Tensor, dtypes


def blocks(a, dim, size, step):
    a = np.moveaxis(a, dim, -1)
    w = np.stack([a[..., k : k + size] for k in range(0, a.shape[-1] - size + 1, step)], -2)
    return np.moveaxis(w, -2, dim)


A = np.arange(24).reshape(2, 3, 4)
# label, on a tensor, on an array: input [2, 3, 4]
MOVES = [
    ("reshape", lambda t: t.reshape(4, 6), lambda a: a.reshape(4, 6)),
    ("reshape -1", lambda t: t.reshape(-1, 2), lambda a: a.reshape(-1, 2)),
    ("reshape tuple", lambda t: t.reshape((24,)), lambda a: a.reshape(24)),
    ("view", lambda t: t.view(6, 4), lambda a: a.reshape(6, 4)),
    ("permute", lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    ("permute negative", lambda t: t.permute(-1, 0, 1), lambda a: a.transpose(2, 0, 1)),
    ("transpose", lambda t: t.transpose(0, 2), lambda a: a.swapaxes(0, 2)),
    ("transpose negative", lambda t: t.transpose(-1, 0), lambda a: a.swapaxes(0, 2)),
    ("T", lambda t: t.T, lambda a: a.swapaxes(-2, -1)),
    ("expand", lambda t: t.reshape(2, 1, 3, 4).expand(2, 5, 3, 4), lambda a: np.broadcast_to(a[:, None], (2, 5, 3, 4))),
    ("expand -1", lambda t: t.reshape(2, 1, 3, 4).expand(-1, 5, -1, -1), lambda a: np.broadcast_to(a[:, None], (2, 5, 3, 4))),
    ("expand leading", lambda t: t.expand(5, 2, 3, 4), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    ("shrink", lambda t: t.shrink(((0, 1), None, (1, 3))), lambda a: a[0:1, :, 1:3]),
    ("shrink empty", lambda t: t.shrink(((0, 2), (1, 1), (0, 4))), lambda a: a[:, 1:1]),
    ("pad", lambda t: t.pad(((1, 0), None, (0, 2))), lambda a: np.pad(a, ((1, 0), (0, 0), (0, 2)))),
    (
        "pad value",
        lambda t: t.pad(((1, 0), None, (0, 2)), value=True if t.dtype.kind == "b" else 1),
        lambda a: np.pad(a, ((1, 0), (0, 0), (0, 2)), constant_values=1),
    ),
    ("pad flat", lambda t: t.pad((1, 2, 0, 1)), lambda a: np.pad(a, ((0, 0), (0, 1), (1, 2)))),
    ("pad negative", lambda t: t.pad((None, (-1, 1), (1, -2))), lambda a: np.pad(a[:, 1:, :-2], ((0, 0), (0, 1), (1, 0)))),
    ("pad reflect", lambda t: t.pad((None, (1, 2), (3, 0)), mode="reflect"), lambda a: np.pad(a, ((0, 0), (1, 2), (3, 0)), "reflect")),
    ("pad replicate", lambda t: t.pad((None, (1, 2), (5, 0)), mode="replicate"), lambda a: np.pad(a, ((0, 0), (1, 2), (5, 0)), "edge")),
    ("pad circular", lambda t: t.pad((None, (1, 2), (3, 4)), mode="circular"), lambda a: np.pad(a, ((0, 0), (1, 2), (3, 4)), "wrap")),
    ("pad_to", lambda t: t.pad_to(2, None, 6), lambda a: np.pad(a, ((0, 0), (0, 0), (0, 2)))),
    ("shrink_to", lambda t: t.shrink_to(1, None, 2), lambda a: a[:1, :, :2]),
    ("flip", lambda t: t.flip(0), lambda a: a[::-1]),
    ("flip two", lambda t: t.flip(-1, 1), lambda a: a[:, ::-1, ::-1]),
    ("flip tuple", lambda t: t.flip((0, 2)), lambda a: a[::-1, :, ::-1]),
    ("squeeze", lambda t: t.reshape(1, 2, 1, 12).squeeze(), lambda a: a.reshape(2, 12)),
    ("squeeze one", lambda t: t.reshape(1, 2, 1, 12).squeeze(2), lambda a: a.reshape(1, 2, 12)),
    ("squeeze other size", lambda t: t.squeeze(1), lambda a: a),
    ("unsqueeze", lambda t: t.unsqueeze(1), lambda a: a[:, None]),
    ("unsqueeze last", lambda t: t.unsqueeze(-1), lambda a: a[..., None]),
    ("flatten", lambda t: t.flatten(), lambda a: a.reshape(-1)),
    ("flatten some", lambda t: t.flatten(1, 2), lambda a: a.reshape(2, 12)),
    ("unflatten", lambda t: t.unflatten(2, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
    ("repeat", lambda t: t.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    ("repeat leading", lambda t: t.repeat(2, 1, 1, 2), lambda a: np.tile(a, (2, 1, 1, 2))),
    ("repeat zero", lambda t: t.repeat(1, 0, 1), lambda a: np.tile(a, (1, 0, 1))),
    ("repeat_interleave", lambda t: t.repeat_interleave(3, dim=1), lambda a: a.repeat(3, 1)),
    ("repeat_interleave all", lambda t: t.repeat_interleave(2), lambda a: a.repeat(2)),
    ("roll", lambda t: t.roll(1, 2), lambda a: np.roll(a, 1, 2)),
    ("roll far", lambda t: t.roll(-7, 1), lambda a: np.roll(a, -7, 1)),
    ("roll two", lambda t: t.roll((1, -1), (0, 2)), lambda a: np.roll(a, (1, -1), (0, 2))),
    ("roll flat", lambda t: t.roll(5), lambda a: np.roll(a, 5)),
    ("cat", lambda t: t.cat(t, t[:, :1], dim=1), lambda a: np.concatenate([a, a, a[:, :1]], 1)),
    ("cat static", lambda t: Tensor.cat(t, t, dim=-1), lambda a: np.concatenate([a, a], -1)),
    ("cat empty", lambda t: t.cat(t[:, :0], dim=1), lambda a: a),
    ("stack", lambda t: Tensor.stack(t, t * 2 if t.dtype.kind != "b" else t, dim=1), lambda a: np.stack([a, a * 2 if a.dtype != bool else a], 1)),
    ("stack last", lambda t: t.stack(t, dim=-1), lambda a: np.stack([a, a], -1)),
    ("tril", lambda t: t.tril(), lambda a: np.tril(a)),
    ("tril 1", lambda t: t.tril(1), lambda a: np.tril(a, 1)),
    ("triu -1", lambda t: t.triu(-1), lambda a: np.triu(a, -1)),
    ("triu far", lambda t: t.triu(9), lambda a: np.triu(a, 9)),
    ("diag", lambda t: t[0, 0].diag(), lambda a: np.diag(a[0, 0])),
    ("diagonal", lambda t: t[:, :2, :2].diagonal(0, 1, 2), lambda a: np.diagonal(a[:, :2, :2], 0, 1, 2)),
    ("diagonal offset", lambda t: t.diagonal(1, 1, 2), lambda a: np.diagonal(a, 1, 1, 2)),
    ("diagonal below", lambda t: t.diagonal(-1, 2, 0), lambda a: np.diagonal(a, -1, 2, 0)),
    ("unfold", lambda t: t.unfold(2, 2, 1), lambda a: blocks(a, 2, 2, 1)),
    ("unfold step", lambda t: t.unfold(1, 2, 2), lambda a: blocks(a, 1, 2, 2)),
    ("split", lambda t: t.split(2, dim=1)[1], lambda a: a[:, 2:]),
    ("split sizes", lambda t: t.split([1, 3], dim=2)[1], lambda a: a[:, :, 1:]),
    ("chunk", lambda t: t.chunk(3, dim=2)[1], lambda a: a[:, :, 2:4]),
    ("rearrange", lambda t: t.rearrange("a b (c d) -> (d b) a c", c=2), lambda a: a.reshape(2, 3, 2, 2).transpose(3, 1, 0, 2).reshape(6, 2, 2)),
    ("rearrange ellipsis", lambda t: t.rearrange("... c -> c ..."), lambda a: a.transpose(2, 0, 1)),
    ("rearrange ones", lambda t: t.rearrange("a b c -> a 1 (b c)"), lambda a: a.reshape(2, 1, 12)),
    ("contiguous", lambda t: t.permute(2, 1, 0).contiguous(), lambda a: a.transpose(2, 1, 0)),
]


@pytest.mark.parametrize("d", ALL, ids=repr)
def test_moves(d, device):
    batch = Batch()
    a = A % 2 == 0 if d.kind == "b" else A.astype(d.np or np.float32)
    for label, on_tensor, on_array in MOVES:
        batch.add(label, lambda f=on_tensor: f(tensor(a, d)), on_array(a), d)
    if device == "CPU" and d not in (dtypes.float32, dtypes.bool):
        batch.rows = batch.rows[::6]
    batch.check()


def test_moves_of_moves(device):
    """Each movement after another: the index arithmetic composes."""
    a = A.astype(np.float32)
    batch = Batch()
    pairs = [(f, g) for k, f in enumerate(MOVES) for j, g in enumerate(MOVES) if (k * 7 + j) % (11 if device == "INTERP" else 67) == 0]
    for (la, ta, aa), (lb, tb, ab) in pairs:
        mid = aa(a)
        if mid.size != 24:
            continue
        try:
            want = ab(mid.reshape(2, 3, 4))
        except Exception:
            continue
        batch.add(f"{la}, {lb}", lambda f=ta, g=tb: g(f(Tensor(a)).reshape(2, 3, 4)), want)
    assert len(batch.rows) > 5
    batch.check()


def test_edges(device):
    batch = Batch()
    batch.add("0-d reshape", lambda: Tensor(5.0).reshape(1, 1), [[5.0]])
    batch.add("to 0-d", lambda: Tensor([5.0]).reshape(()), 5.0)
    batch.add("0-d expand", lambda: Tensor(5.0).expand(2, 3), np.full((2, 3), 5.0))
    batch.add("0-d unsqueeze", lambda: Tensor(5.0).unsqueeze(0), [5.0])
    batch.add("0-d flatten", lambda: Tensor(5.0).flatten(), [5.0])
    batch.add("zero size reshape", lambda: Tensor(np.zeros((0, 3), np.float32)).reshape(3, 0, 2), np.zeros((3, 0, 2)))
    batch.add("zero size pad", lambda: Tensor(np.zeros((0,), np.float32)).pad(((1, 2),), value=3.0), [3.0] * 3)
    batch.add("zero size cat", lambda: Tensor(np.zeros((0, 2), np.float32)).cat(Tensor([[1.0, 2.0]])), [[1.0, 2.0]])
    batch.add("zero size flip", lambda: Tensor(np.zeros((0, 2), np.float32)).flip(0), np.zeros((0, 2)))
    batch.add("pad inf", lambda: Tensor([1.0]).pad(((1, 1),), value=-np.inf), [-np.inf, 1.0, -np.inf])
    batch.add("pad nan", lambda: Tensor([np.nan]).pad(((1, 1),)), [0.0, np.nan, 0.0])
    batch.add("cat promotes", lambda: Tensor([1, 2]).cat(Tensor([1.5])), [1, 2, 1.5], dtypes.float32)
    batch.add("stack promotes", lambda: Tensor.stack(Tensor([True]), Tensor([3])), [[1], [3]], dtypes.int32)
    batch.check()


def test_one_hot_meshgrid(device):
    i = np.array([[0, 2], [1, 3]])
    batch = Batch()
    for d in (dtypes.int32, dtypes.uint8, dtypes.int64):
        batch.add(f"one_hot {d}", lambda d=d: Tensor(i.astype(d.np)).one_hot(4), np.eye(4)[i], dtypes.int32)
    batch.add("one_hot by itself", lambda: Tensor(i).one_hot(), np.eye(4)[i], dtypes.int32)
    x, y, z = np.arange(2.0), np.arange(3.0), np.arange(4.0)
    for mode in ("ij", "xy"):
        for k, want in enumerate(np.meshgrid(x, y, z, indexing=mode)):
            batch.add(f"meshgrid {mode} {k}", lambda k=k, m=mode: Tensor(x).meshgrid(Tensor(y), Tensor(z), indexing=m)[k], want, dtypes.float64)
    batch.check()


def test_split_and_chunk():
    a = np.arange(10)
    for n in (1, 3, 4, 10, 12):
        got = [t.tolist() for t in Tensor(a).chunk(n)]
        step = -(-10 // n)
        assert got == [a[k : k + step].tolist() for k in range(0, 10, step)]
        got = [t.tolist() for t in Tensor(a).split(n)]
        assert got == [a[k : k + n].tolist() for k in range(0, 10, n)]
    with pytest.raises(ValueError):
        Tensor(a).split([3, 3])


@st.composite
def chain(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    return shape, draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2**30)), min_size=1, max_size=6))


@settings(max_examples=100, deadline=None)
@given(chain())
def test_chains(case):
    """Random chains of movement operations give what numpy gives."""
    shape, steps = case
    a = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape) + 1
    t = Tensor(a.copy())
    for kind, seed in steps:
        rng = np.random.default_rng(seed)
        if kind == 0:
            order = rng.permutation(a.ndim)
            a, t = a.transpose(order), t.permute(*[int(k) for k in order])
        elif kind == 1:
            axis = int(rng.integers(a.ndim))
            a, t = np.flip(a, axis), t.flip(axis)
        elif kind == 2:
            ranges = [sorted(int(v) for v in rng.integers(0, n + 1, 2)) for n in a.shape]
            ranges = [(lo, hi if hi > lo else min(lo + 1, n)) if lo < n else (0, n) for (lo, hi), n in zip(ranges, a.shape)]
            a, t = a[tuple(slice(*r) for r in ranges)], t.shrink(tuple(ranges))
        elif kind == 3:
            pads = [tuple(int(v) for v in rng.integers(0, 2, 2)) for _ in a.shape]
            a, t = np.pad(a, pads), t.pad(tuple(pads))
        elif kind == 4:
            n = a.size
            divisors = [k for k in range(1, n + 1) if n % k == 0] if n else [1]
            k = int(rng.choice(divisors))
            a, t = a.reshape(k, -1) if n else a, t.reshape(k, -1) if n else t
        elif a.size < 200:
            a, t = np.broadcast_to(a[None], (2, *a.shape)), t.unsqueeze(0).expand(2, *t.shape)
        assert t.shape == a.shape
    np.testing.assert_array_equal(t.numpy(), a)


# What must fail, with which parts of both shapes in the text.
BAD = [
    (lambda: Tensor.ones(2, 3).reshape(4, 2), ["(2, 3)", "(4, 2)"]),
    (lambda: Tensor.ones(2, 3).reshape(-1, 4), ["(2, 3)"]),
    (lambda: Tensor.ones(2, 3).reshape(-1, -1), []),
    (lambda: Tensor.ones(2, 3).expand(2, 4), ["(2, 3)", "(2, 4)"]),
    (lambda: Tensor.ones(2, 3).expand(3), ["(2, 3)", "(3,)"]),
    (lambda: Tensor.ones(2, 3).permute(0, 0), []),
    (lambda: Tensor.ones(2, 3).permute(0), []),
    (lambda: Tensor.ones(2, 3).shrink(((0, 5), None)), ["(2, 3)"]),
    (lambda: Tensor.ones(2, 3).shrink(((0, 1),)), ["(2, 3)"]),
    (lambda: Tensor.ones(2, 3) + Tensor.ones(4), ["(2, 3)", "(4,)"]),
    (lambda: Tensor.ones(2, 3).cat(Tensor.ones(2, 4)), ["(2, 3)", "(2, 4)"]),
    (lambda: Tensor.stack(Tensor.ones(2, 3), Tensor.ones(3, 2)), ["(2, 3)", "(3, 2)"]),
    (lambda: Tensor.ones(2, 3).unflatten(1, (2, 2)), []),
    (lambda: Tensor.ones(2, 3).rearrange("a b -> a c"), []),
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_errors_name_the_shapes(case):
    make, parts = BAD[case]
    with pytest.raises(ValueError) as e:
        make()
    for part in parts:
        assert part in str(e.value), str(e.value)


@pytest.mark.parametrize("make", [
    lambda: Tensor.ones(2, 3).sum(2), lambda: Tensor.ones(2, 3).flip(5), lambda: Tensor.ones(2, 3).transpose(0, 2),
    lambda: Tensor.ones(2, 3).unsqueeze(4), lambda: Tensor.ones(2, 3).squeeze(-3), lambda: Tensor.ones(2).cat(Tensor.ones(2), dim=1),
    lambda: Tensor.ones(2, 3).argmax(3), lambda: Tensor.ones(2, 3).softmax(2), lambda: Tensor.ones(2, 3).cumsum(2),
])  # fmt: skip
def test_axis_out_of_range(make):
    with pytest.raises((IndexError, ValueError)) as e:
        make()
    assert "axis" in str(e.value) or "dim" in str(e.value)
