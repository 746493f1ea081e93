"""Layers against numbers of PyTorch Geometric: outputs, gradients of inputs and parameters, parameters under its names. See fixtures.py."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from fixtures import FILES, FOLDER, check

from polygrad import Device

COMPILED = ("gcn_weighted", "gat_edge", "sage_max", "aggr_multi", "rgcn_bases", "pna", "transformer", "topk", "model_gin")  # also on the CPU


def test_all_are_here():
    """A pattern that finds no file would make the tests below pass without running."""
    assert len(FILES) == 72


@pytest.mark.parametrize("name", ["INTERP", "TEST"])  # TEST has memory of its own
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_fixture(path, name):
    Device.DEFAULT = name
    assert not check(path)


@pytest.mark.parametrize("path", [FOLDER / f"{name}.npz" for name in COMPILED], ids=lambda p: p.stem)
def test_compiled(path, cpu):
    """Kernels of the compiler: the interpreter, which the others run on, shares all but the last step with it."""
    assert Device.DEFAULT == "CPU"
    assert not check(path)


@pytest.mark.parametrize(
    "key, line",
    [("out.0", "output 0 differs in 1 of"), ("gin.x", "gradient of x differs in 1 of"), ("gparam.bias", "gradient of bias differs in 1 of")],
)
def test_a_wrong_value_is_seen(tmp_path, key, line):
    """The checker itself: one value that is off by a little more than the tolerance."""
    path = tmp_path / "gcn.npz"
    shutil.copy(FOLDER / "gcn.npz", path)
    with np.load(path) as f:
        arrays = dict(f)
    arrays[key].flat[1] += 0.01 * max(1, np.abs(arrays[key]).max())
    np.savez(path, **arrays)
    (found,) = check(path)
    assert found.startswith(line)
