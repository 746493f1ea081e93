"""Stores PyTorch's values, gradients and second gradients of the table in grad_edge_cases.py, for test_grad_edges.py.

    python py/tests/tools/grad_edges.py

Needs PyTorch, which the tests do not. Writes py/tests/data/grad_edges.npz: the results of all cases one after the other, in float32 and, of the same
(float32) inputs, in float64, which the test takes for the truth; the names of the results and their sizes. Second gradients that PyTorch does not
have are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))

from grad_edge_cases import KINDS, WEIGHT, WEIGHT2, inputs, weighted  # noqa: E402


def second_gradients(kind, first, args, weight):
    total = sum(weighted(kind, g, weight) for g in first)
    if not total.requires_grad:
        return [torch.zeros_like(a) for a in args]
    try:
        return torch.autograd.grad(total, args, materialize_grads=True)
    except RuntimeError as e:
        if "is not implemented" not in str(e):
            raise
        return []


def results(kind: str, text: str, dtype: str) -> list[np.ndarray]:
    """Value, gradients and second gradients, one after another."""
    args = [torch.tensor(a.astype(dtype), requires_grad=True) for a in inputs(kind)]
    weight, weight2 = (torch.tensor(w, dtype=args[0].dtype) for w in (WEIGHT, WEIGHT2))
    y = eval(text, dict(zip("xy", args), torch=torch, F=F))
    first = torch.autograd.grad(weighted(kind, y, weight), args, create_graph=True, materialize_grads=True)
    second = second_gradients(kind, first, args, weight2)
    return [t.detach().numpy(force=True).reshape(-1) for t in (y, *first, *second)]


def main() -> None:
    names, sizes, single, double = [], [], [], []
    for kind, cases in KINDS.items():
        for name, (ours, theirs) in cases.items():
            both = [results(kind, theirs or ours, dtype) for dtype in ("float32", "float64")]
            for k, (a, b) in enumerate(zip(*both)):
                names.append(f"{kind}/{name}/{k}")
                sizes.append(a.size)
                single.append(a)
                double.append(b)
    out = HERE / "data" / "grad_edges.npz"
    np.savez_compressed(out, names=np.array(names), sizes=np.array(sizes), single=np.concatenate(single), double=np.concatenate(double))
    print(f"{len(names)} results, {out.stat().st_size} bytes in {out}")


if __name__ == "__main__":
    main()
