"""Layers, aggregations and models against stored values of PyTorch Geometric: see library_cases.py."""

from __future__ import annotations

import numpy as np
import pytest
from golden import Case
from library_cases import CASES

import polygrad.geometric.nn as gnn
from polygrad import Tensor, nn


def leaves_of(layer, inputs):
    """Tensors that gradients are asked for, by the names they have in the file."""
    found = {f"input/{k}": t for k, t in inputs.items() if t.is_floating_point()}
    if isinstance(layer, nn.Module):
        found |= dict(layer.named_parameters())
    return found


def run(layer, call, inputs, leaves):
    out = call(layer, inputs)
    outs = [t for t in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(t, Tensor) and t.is_floating_point()]
    loss = sum((o * o).sum() for o in outs)
    grads = loss.gradient(*leaves.values(), materialize_grads=True)
    outs[0].realize(*outs[1:], *grads)
    return [o.numpy() for o in outs], [g.numpy() for g in grads]


def close(got, want, what):
    scale = max(1.0, float(np.abs(want).max(initial=0.0)))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=2e-5 * scale, err_msg=what)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    make, _, call = CASES[name]
    case = Case(f"layer_{name}")
    layer = make(gnn, nn)
    if isinstance(layer, nn.Module):
        case.load(layer)
    inputs = case.under("in")
    for t in inputs.values():
        if t.is_floating_point():
            t.requires_grad = True
    leaves = leaves_of(layer, inputs)
    assert sorted(leaves) == sorted(k[5:] for k in case.arrays if k.startswith("grad/"))
    outs, grads = run(layer, call, inputs, leaves)
    wanted = [case[f"out/{k}"] for k in range(len(outs))]
    for k, (got, want) in enumerate(zip(outs, wanted)):
        assert got.shape == want.shape
        close(got, want, f"output {k} of {name}")
    for leaf, got in zip(leaves, grads):
        close(got, case[f"grad/{leaf}"], f"gradient of {leaf} of {name}")
