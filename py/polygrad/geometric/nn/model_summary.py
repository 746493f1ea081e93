"""A table of a model's layers with shapes and numbers of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import nn
from ...nn.later import is_lazy
from ...nn.module import evaluation
from ...nn.state import get_parameters
from ...tensor import Tensor
from ..sparse_tensor import SparseTensor


def summary(model: Any, *args: Any, max_depth: int = 3, leaf_module: Any = "MessagePassing", **kwargs: Any) -> str:
    """Runs model(*args, **kwargs) and tells of each layer in it the shapes that go in and out, and how many parameters it has.

    max_depth: how far inside modules are looked at. leaf_module: classes whose insides are not shown; by default message passing layers, None for
    none. A layer that is called several times is shown with its first call.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCN, summary
    >>> print(summary(GCN(4, 8, num_layers=2, out_channels=3), Tensor.ones(5, 4), Tensor([[0, 1], [1, 2]])))
    +---------------------+----------------+----------------+----------+
    | Layer               | Input Shape    | Output Shape   | #Param   |
    |---------------------+----------------+----------------+----------|
    | GCN                 | [5, 4], [2, 2] | [5, 3]         | 67       |
    | ├─(dropout)Dropout  | [5, 8]         | [5, 8]         | --       |
    | ├─(act)ReLU         | [5, 8]         | [5, 8]         | --       |
    | ├─(convs)ModuleList | --             | --             | 67       |
    | │    └─(0)GCNConv   | [5, 4], [2, 2] | [5, 8]         | 40       |
    | │    └─(1)GCNConv   | [5, 8], [2, 2] | [5, 3]         | 27       |
    | ├─(norms)ModuleList | --             | --             | --       |
    | │    └─(0)Identity  | [5, 8]         | [5, 8]         | --       |
    | │    └─(1)Identity  | --             | --             | --       |
    +---------------------+----------------+----------------+----------+
    """
    if isinstance(leaf_module, str) and leaf_module == "MessagePassing":
        from .conv.message_passing import MessagePassing

        leaf_module = MessagePassing
    leaves = None if leaf_module is None else tuple(leaf_module) if isinstance(leaf_module, (list, tuple)) else (leaf_module,)
    rows = _rows(model, _name(model), 0, max_depth, leaves)
    counts = [_count(module) for _, _, module in rows]  # before the run, which makes weights whose size is not known
    seen: dict[int, tuple[str, str]] = {}
    try:
        for _, _, module in rows:
            _watch(module, seen)
        with evaluation(model), Tensor.no_grad():
            model(*args, **kwargs)
    finally:
        for _, _, module in rows:
            module.__dict__.pop("forward", None)
    lines = [["Layer", "Input Shape", "Output Shape", "#Param"]]
    for (depth, name, module), count in zip(rows, counts):
        lead = "" if depth == 0 else "├─" if depth == 1 else "│    " * (depth - 1) + "└─"
        lines.append([lead + name, *seen.get(id(module), ("--", "--")), count])
    return _table(lines)


def children(module: Any) -> list[tuple[str, Any]]:
    """The modules that are attributes of a module, by name."""
    parts = module._state_items()
    out = []
    for name, value in parts.items():
        if isinstance(value, nn.Module):
            out.append((name, value))
        elif isinstance(value, (list, tuple)):
            out += [(f"{name}.{k}", v) for k, v in enumerate(value) if isinstance(v, nn.Module)]
        elif isinstance(value, dict):
            out += [(f"{name}.{k}", v) for k, v in value.items() if isinstance(v, nn.Module)]
    return out


def _name(module: Any) -> str:
    """What a module is called in the table: its class, or what it stands for."""
    return getattr(type(module), "stands_for", type(module).__name__)


def _rows(module: Any, name: str, depth: int, most: int, leaves: Any) -> list[tuple[int, str, Any]]:
    rows = [(depth, name, module)]
    if depth < most and not (leaves and isinstance(module, leaves)):
        for key, child in children(module):
            rows += _rows(child, f"({key}){_name(child)}", depth + 1, most, leaves)
    return rows


def _watch(module: Any, seen: dict[int, tuple[str, str]]) -> None:
    if "forward" in module.__dict__ or _name(module) == "ModuleDict":  # the same module under another name, or one that holds others
        return
    forward = module.forward

    def watched(*args: Any, **kwargs: Any) -> Any:
        out = forward(*args, **kwargs)
        seen.setdefault(id(module), (_shapes(args), _shapes(out)))
        return out

    module.__dict__["forward"] = watched


def _shapes(values: Any) -> str:
    values = values if isinstance(values, (tuple, list)) else (values,)
    sizes = [v.sparse_sizes() if isinstance(v, SparseTensor) else getattr(v, "shape", None) for v in values]
    return ", ".join(str([int(n) for n in size]) for size in sizes if isinstance(size, tuple))


def _count(module: Any) -> str:
    from .dense.linear import Linear

    if any(isinstance(m, Linear) and is_lazy(m.weight) for m in _all(module)):
        return "-1"  # not known before the first input
    total = sum(int(np.prod(p.shape)) for p in get_parameters(module) if p.requires_grad)
    return f"{total:,}" if total else "--"


def _all(module: Any) -> list[Any]:
    from ..utils.embedding import modules_of

    return list(modules_of(module))


def _table(lines: list[list[str]]) -> str:
    numbers = [all(line[k].removeprefix("-").replace(",", "").isdigit() for line in lines[1:]) for k in range(len(lines[0]))]  # to the right
    wide = [max(len(head) + 2, *(len(line[k]) for line in lines)) for k, head in enumerate(lines[0])]  # as tabulate sets headers

    def row(line: list[str]) -> str:
        return "| " + " | ".join(cell.rjust(w) if n else cell.ljust(w) for cell, w, n in zip(line, wide, numbers)) + " |"

    rule = "+".join("-" * (w + 2) for w in wide)
    return "\n".join([f"+{rule}+", row(lines[0]), f"|{rule}|", *map(row, lines[1:]), f"+{rule}+"])


__all__ = ["children", "summary"]
