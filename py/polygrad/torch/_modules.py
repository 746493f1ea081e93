"""Modules of PyTorch that only regroup names that are elsewhere, such as torch.utils.data.sampler: entered so that they can be imported."""

from __future__ import annotations

import sys
import types
from typing import Any


def regrouped(parent: str, name: str, text: str, **members: Any) -> types.ModuleType:
    """The module parent.name, with these members."""
    module = types.ModuleType(f"{parent}.{name}", text)
    module.__dict__.update(members, __all__=sorted(members))
    sys.modules[module.__name__] = module
    return module


def same(parent: str, *names: str) -> types.ModuleType:
    """parent.name for each of the names: the module parent itself."""
    for name in names:
        sys.modules[f"{parent}.{name}"] = sys.modules[parent]
    return sys.modules[parent]


__all__ = ["regrouped", "same"]
