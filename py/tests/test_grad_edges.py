"""Values, gradients and second gradients at the edge of what floats can tell: saturated, infinite, equal, zero, not a number.

PyTorch's results are stored (data/grad_edges.npz, made by tools/grad_edges.py). In float32 each result of ours is equal to PyTorch's, or no further from
the same computation in float64; in float64 it is equal."""

from pathlib import Path

import numpy as np
import pytest
from grad_edge_cases import KINDS, WEIGHT, WEIGHT2, excused, inputs, weighted

import polygrad.nn.functional as F
from polygrad import Tensor
from polygrad.geometric._length import norm

STORED = np.load(Path(__file__).parent / "data" / "grad_edges.npz")
RTOL = {"float32": 2e-5, "float64": 1e-7}  # PyTorch keeps some constants in float32
ATOL = {"float32": 5e-7, "float64": 1e-14}  # terms of size 1 that cancel


def stored():
    """name of a result -> (PyTorch's in float32, in float64)"""
    ends = np.cumsum(STORED["sizes"])
    begin = ends - STORED["sizes"]
    single, double = STORED["single"], STORED["double"]
    return {str(name): (single[a:b], double[a:b]) for name, a, b in zip(STORED["names"], begin, ends)}


WANT = stored()


def results(kind, text, dtype):
    args = [Tensor(a.astype(dtype)) for a in inputs(kind)]
    y = eval(text, dict(zip("xy", args), Tensor=Tensor, F=F, norm=norm))
    weight, weight2 = (Tensor(np.array(w, dtype)) for w in (WEIGHT, WEIGHT2))
    first = weighted(kind, y, weight).gradient(*args)
    total = weighted(kind, first[0], weight2)
    for g in first[1:]:
        total = total + weighted(kind, g, weight2)
    return [y, *first, *total.gradient(*args, materialize_grads=True)]


def slack(truth, dtype):
    """What rounding may do to a result. One that is as tiny as the tiny arguments has no terms of size 1 behind it."""
    size = np.abs(truth)
    return RTOL[dtype] * size + np.where((size > 1e-31) & (size < 9e-30), 0, ATOL[dtype])


def same(a, b, dtype):
    """Equal up to rounding: NaN to NaN, infinity to the same infinity."""
    with np.errstate(all="ignore"):
        return (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= slack(b, dtype))


def distance(a, truth):
    """0 for equal infinities and NaNs; a NaN or an infinity is infinitely far from anything else."""
    with np.errstate(all="ignore"):
        d = np.abs(a - truth)
    return np.where((a == truth) | (np.isnan(a) & np.isnan(truth)), 0, np.where(np.isnan(d), np.inf, d))


def wrong(got, theirs, truth, dtype, numbers):
    """Where ours is neither PyTorch's nor as near to the truth. Where PyTorch finds no number for arguments that are numbers, any will do."""
    got, theirs = got.astype(np.float64), (theirs if dtype == "float32" else truth).astype(np.float64)
    nearer = distance(got, truth) <= distance(theirs, truth)
    return ~(same(got, theirs, dtype) | same(got, truth, dtype) | nearer | (numbers & np.isnan(theirs) & np.isnan(truth)))


def by_element(kind, size):
    """The arguments behind each element of a result: rows of [x..., y...]."""
    rows = np.concatenate([a.reshape(len(a), -1) for a in inputs(kind)], 1)
    return np.repeat(rows, size // len(rows), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
def test_table(kind, dtype, device):
    made = {name: results(kind, text, dtype) for name, (text, _) in KINDS[kind].items()}
    every = [t for ts in made.values() for t in ts]
    every[0].realize(*every[1:])
    failures = []
    for name, ts in made.items():
        for k, t in enumerate(ts):
            key = f"{kind}/{name}/{k}"
            if key not in WANT:
                continue
            theirs, truth = WANT[key]
            got = t.numpy().reshape(-1)
            at = by_element(kind, got.size)
            bad = wrong(got, theirs, truth, dtype, ~np.isnan(at).any(1)) & ~excused(kind, name, k, at)
            for i in np.flatnonzero(bad):
                failures.append(f"{key} at {at[i].tolist()}: {got[i]:.8g}, PyTorch {theirs[i]:.8g}, float64 {truth[i]:.8g}")
    assert not failures, f"{len(failures)} differ:\n" + "\n".join(failures)
