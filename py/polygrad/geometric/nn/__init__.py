"""Layers, aggregations, poolings, normalisations and models for graphs."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .._lazy import lazy

_own, _, _names = lazy(
    __name__,
    {
        "sequential": ["Sequential"],
        "resolver": ["activation_resolver", "aggregation_resolver", "normalization_resolver"],
        "inits": [],
        "encoding": ["PositionalEncoding", "TemporalEncoding"],
        "functional": [],
        "reshape": ["Reshape"],
        "to_hetero_transformer": ["to_hetero"],
        "to_hetero_with_bases_transformer": ["to_hetero_with_bases"],
        "model_summary": ["summary"],
    },
)
# Later ones do not hide earlier ones.
_PACKAGES = [import_module(f".{name}", __name__) for name in ("aggr", "conv", "pool", "unpool", "norm", "dense", "kge", "attention", "models")]

__all__ = sorted({*_names, *[n for p in _PACKAGES for n in getattr(p, "__all__", ())]})


def __getattr__(name: str) -> Any:
    if name in _names:
        return _own(name)
    for package in _PACKAGES:
        if name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            setattr(sys.modules[__name__], name, value)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
