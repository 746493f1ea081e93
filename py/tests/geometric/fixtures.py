"""Layers against stored numbers of PyTorch Geometric: outputs, gradients of inputs and of parameters.

A fixture (py/tests/golden/*.npz) holds, in `meta`, the class, its arguments and the names of the inputs in the order of the call, and arrays:

    in.NAME, in.NAME.K   inputs (K: the element of a list)      param.NAME   parameters under PyTorch Geometric's names
    out.K                outputs                                cot.K        the weight of output K in the scalar that is differentiated
    gin.NAME             gradients of inputs                    gparam.NAME  gradients of parameters

As a script, for any device:  PYTHONPATH=py python py/tests/geometric/fixtures.py [--device CPU] [-k gat] [FILE ...]
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from polygrad import Device, Tensor, nn
from polygrad.geometric import nn as gnn

FOLDER = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(FOLDER.glob("*.npz"))
RTOL, ATOL = 1e-3, 1e-4  # float32 sums in another order, and PyTorch's own approximations; ATOL is relative to the largest value


def _layer_of(text: str) -> Any:
    """A module from how PyTorch prints it: Linear(...), ReLU() or a Sequential of these."""
    made: list[Any] = []
    for name, inner in re.findall(r"\b(Linear|ReLU)\(([^()]*)\)", text):
        given = {k.strip(): ast.literal_eval(v) for k, v in (pair.split("=") for pair in inner.split(",") if pair.strip())}
        made.append(nn.ReLU() if name == "ReLU" else nn.Linear(given["in_features"], given["out_features"], bias=given["bias"]))
    return nn.Sequential(*made) if text.startswith("Sequential") else made[0]


def _argument(name: str, value: Any) -> Any:
    if name == "deg":
        return Tensor(np.array(value))
    return _layer_of(value) if isinstance(value, str) and value.startswith(("Sequential(", "Linear(")) else value


def _input(arrays: dict[str, np.ndarray], name: str) -> Any:
    """A tensor, a list of tensors, or None where the call leaves an argument out."""

    def tensor(array: np.ndarray) -> Tensor:
        return Tensor(array, requires_grad=bool(np.issubdtype(array.dtype, np.floating)))

    if name in arrays:
        return tensor(arrays[name])
    parts = sorted(int(n.removeprefix(f"{name}.")) for n in arrays if n.startswith(f"{name}."))
    return [tensor(arrays[f"{name}.{k}"]) for k in parts] or None


def _differs(got: np.ndarray, wanted: np.ndarray) -> str | None:
    if got.shape != wanted.shape:
        return f"has shape {got.shape} instead of {wanted.shape}"
    largest = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    wrong = ~np.isclose(got.astype(np.float64), wanted, rtol=RTOL, atol=ATOL * largest, equal_nan=True)
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"differs in {wrong.sum()} of {wrong.size} values, first at {at}: {got[at]} instead of {wanted[at]}"


def check(path: Path) -> list[str]:
    """What differs from the fixture, a line each; an empty list if nothing does."""
    with np.load(path, allow_pickle=False) as f:
        stored: dict[str, dict[str, np.ndarray]] = {group: {} for group in ("in", "param", "out", "cot", "gin", "gparam")}
        meta = json.loads(str(f["meta"]))
        for key in f.files:
            if key != "meta":
                group, name = key.split(".", 1)
                stored[group][name] = f[key]
    Tensor.training = False
    inputs = {name: _input(stored["in"], name) for name in meta["call"]}
    target = getattr(gnn, meta["cls"])
    parameters: dict[str, Tensor] = {}
    if isinstance(target, type):
        layer = target(*(_argument("", a) for a in meta["args"]), **{n: _argument(n, a) for n, a in meta["kwargs"].items()})
        nn.load_state_dict(layer, {n: Tensor(a) for n, a in stored["param"].items()})
        for p in nn.get_parameters(layer):
            p.requires_grad = True
        parameters, target = nn.get_state_dict(layer), layer
    returned = target(*inputs.values())
    outputs = {
        str(k): t for k, t in enumerate(t for t in (returned if isinstance(returned, (tuple, list)) else (returned,)) if isinstance(t, Tensor))
    }
    if stored["cot"]:
        sum((outputs[k] * Tensor(c)).sum() for k, c in stored["cot"].items()).backward()

    def gradient(name: str) -> Tensor | None:
        whole, _, k = name.partition(".")
        found = inputs[whole][int(k)] if k else inputs[whole]
        return found.grad

    wanted = [("output", n, outputs.get(n), a) for n, a in stored["out"].items()]
    wanted += [("gradient of", n, gradient(n), a) for n, a in stored["gin"].items()]
    wanted += [("gradient of", n, parameters[n].grad if n in parameters else None, a) for n, a in stored["gparam"].items()]
    wrong = [(what, name, "is missing" if t is None else _differs(t.numpy(), a)) for what, name, t, a in wanted]
    return [f"{what} {name} {why}" for what, name, why in wrong if why]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="fixtures; by default all")
    parser.add_argument("-k", default="", metavar="TEXT", help="only fixtures whose name has TEXT in it")
    parser.add_argument("--device", default=Device.DEFAULT)
    options = parser.parse_args()
    Device.DEFAULT = options.device
    files = [p for p in options.files or FILES if options.k in p.stem]
    failed = 0
    for path in files:
        try:
            wrong = check(path)
        except Exception as e:  # a layer that cannot be built is one failure among others
            wrong = [f"{type(e).__name__}: {e}"]
        failed += bool(wrong)
        for line in wrong:
            print(f"{path.stem}: {line}")
    print(f"{options.device}: {len(files) - failed} passed, {failed} failed")
    return int(failed > 0 or not files)


if __name__ == "__main__":
    sys.exit(main())
