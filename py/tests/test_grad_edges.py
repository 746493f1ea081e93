"""Values, gradients and second gradients at the edge of what floats can tell: saturated, infinite, equal, zero, not a number.

PyTorch's results are stored (data/grad_edges.npz, made by tools/grad_edges.py). In float32 each result of ours is equal to PyTorch's, or no further from
the same computation in float64; in float64 it is equal."""

from pathlib import Path

import numpy as np
import pytest
from grad_edge_cases import KINDS, WEIGHT, WEIGHT2, inputs, weighted

import polygrad.nn.functional as F
from polygrad import Tensor
from polygrad.geometric._length import norm

STORED = np.load(Path(__file__).parent / "data" / "grad_edges.npz")
RTOL = {"float32": 2e-5, "float64": 1e-9}


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


def same(a, b, rtol):
    """Equal up to rounding: NaN to NaN, infinity to the same infinity."""
    with np.errstate(all="ignore"):
        return (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= rtol * np.abs(b) + 1e-37)


def distance(a, truth):
    """0 for equal infinities and NaNs; a NaN or an infinity is infinitely far from anything else."""
    with np.errstate(all="ignore"):
        d = np.abs(a - truth)
    return np.where((a == truth) | (np.isnan(a) & np.isnan(truth)), 0, np.where(np.isnan(d), np.inf, d))


def wrong(got, theirs, truth, dtype):
    """Where ours is neither PyTorch's nor as near to the truth."""
    got = got.astype(np.float64)
    theirs = theirs.astype(np.float64)
    if dtype == "float64":
        return ~same(got, truth, RTOL[dtype])
    near = distance(got, truth) <= np.maximum(distance(theirs, truth), RTOL[dtype] * np.abs(truth))
    return ~(same(got, theirs, RTOL[dtype]) | near)


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
            bad = np.flatnonzero(wrong(got, theirs, truth, dtype))
            for i in bad:
                row = i if kind in ("point", "pair", "share") else i // (got.size // len(inputs(kind)[0]))
                failures.append(f"{key} at {[a[row].tolist() for a in inputs(kind)]}: {got[i]:.8g}, PyTorch {theirs[i]:.8g}, float64 {truth[i]:.8g}")
    assert not failures, f"{len(failures)} differ:\n" + "\n".join(failures)
