"""Layers, aggregations and models against stored values of PyTorch Geometric: see library_cases.py."""

from __future__ import annotations

import numpy as np
import pytest
from golden import Case
from library_cases import CASES, FORCES, TGN, tgn_model

import polygrad.geometric.nn as gnn
from polygrad import Tensor, nn
from polygrad.geometric.nn.models import tgn


def leaves_of(case, layer, inputs):
    """Tensors that gradients are asked for, by the names they have in the file; of a tensor with several names, one is there."""
    found = {f"input/{k}": t for k, t in inputs.items() if t.is_floating_point()}
    if isinstance(layer, nn.Module):
        found |= dict(layer.named_parameters())
    named = [k[5:] for k in case.arrays if k.startswith("grad/")]
    if not named:  # the output has no gradient
        return {}
    assert {id(found[k]) for k in named} == {id(t) for t in found.values()}
    return {k: found[k] for k in named}


def loaded(name, prefix="layer"):
    """The stored case, the layer with its parameters, and its inputs."""
    case = Case(f"{prefix}_{name}")
    layer = CASES[name][0](gnn, nn) if prefix == "layer" else FORCES[name](gnn)
    if isinstance(layer, nn.Module):
        case.load(layer)
    inputs = case.under("in")
    for t in inputs.values():
        t.requires_grad = t.is_floating_point()
    return case, layer, inputs


def run(layer, call, inputs, leaves):
    out = call(layer, inputs)
    outs = [t for t in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(t, Tensor) and t.is_floating_point()]
    loss = sum((o * o).sum() for o in outs)
    grads = loss.gradient(*leaves.values(), materialize_grads=True) if leaves else []
    outs[0].realize(*outs[1:], *grads)
    return [o.numpy() for o in outs], [g.numpy() for g in grads]


def close(got, want, what, share=2e-5):
    """share: of the largest value, the error that small values may have."""
    scale = max(1.0, float(np.abs(want).max(initial=0.0)))
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=share * scale, err_msg=what)


# Gradients of 1e5 at the frequencies of a network of random weights: float32 itself, PyG's and ours, is up to 1e-4 of the largest from float64.
COARSE = {"dimenet": 1e-4}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    case, layer, inputs = loaded(name)
    leaves = leaves_of(case, layer, inputs)
    call = CASES[name][2]
    outs, grads = run(layer, call, inputs, leaves)
    wanted = [case[f"out/{k}"] for k in range(len(outs))]
    for k, (got, want) in enumerate(zip(outs, wanted)):
        assert got.shape == want.shape
        close(got, want, f"output {k} of {name}")
    for leaf, got in zip(leaves, grads):
        close(got, case[f"grad/{leaf}"], f"gradient of {leaf} of {name}", COARSE.get(name, 2e-5))


@pytest.mark.parametrize("name", FORCES)
def test_forces(name):
    """Energies, forces, and what a loss of forces is differentiated to: second derivatives."""
    case, model, i = loaded(name, "forces")
    energy = model(i["z"], i["pos"], i["batch"])
    energy = energy[0] if isinstance(energy, tuple) else energy
    (slope,) = energy.sum().gradient(i["pos"])
    leaves = leaves_of(case, model, i)
    grads = (slope * slope).sum().gradient(*leaves.values(), materialize_grads=True)
    energy.realize(slope, *grads)
    np.testing.assert_allclose(energy.numpy(), case["energy"], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(-slope.numpy(), case["force"], rtol=1e-4, atol=1e-4)
    for leaf, got in zip(leaves, grads):
        # In float32 two saturated layers alone cost a second derivative 1e-5 of its scale, in PyTorch too.
        close(got.numpy(), case[f"grad/{leaf}"], f"gradient of {leaf} of {name}", share=1e-4)


@pytest.mark.parametrize("name", TGN)
def test_memory_of_events(name):
    """TGNMemory in training and after it, its gradients, and the last neighbours, batch by batch."""
    case = Case(f"tgn_{name}")
    memory, loader, batches = tgn_model(tgn, gnn.TGNMemory, name)
    memory.load_state_dict(case.under("param"), strict=False)
    memory.train()
    try:
        for k, batch in enumerate(batches):
            src, dst, t, msg = (Tensor(v) for v in batch)
            if k == 3:
                memory.eval()
            n_id, edge_index, e_id = loader(Tensor(np.unique(np.concatenate(batch[:2]))))
            for what, got in (("n_id", n_id), ("edge_index", edge_index), ("e_id", e_id)):
                np.testing.assert_array_equal(got.numpy(), case[f"{what}/{k}"])
            z, last = memory(n_id)
            close(z.numpy(), case[f"z/{k}"], f"memory in batch {k}")
            np.testing.assert_array_equal(last.numpy(), case[f"last/{k}"])
            if k < 3:
                named = dict(memory.named_parameters())
                for leaf, got in zip(named, (z * z).sum().gradient(*named.values(), materialize_grads=True)):
                    close(got.numpy(), case[f"grad{k}/{leaf}"], f"gradient of {leaf} in batch {k}")
            memory.update_state(src, dst, t, msg)
            loader.insert(src, dst)
            memory.detach()
        close(memory.memory.numpy(), case["memory"], "memory")
        np.testing.assert_array_equal(memory.last_update.numpy(), case["last_update"])
    finally:
        memory.train(False)
