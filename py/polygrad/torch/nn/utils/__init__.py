"""torch.nn.utils: clipping of gradients, parameters as one vector."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .... import nn as _nn
from ... import functions as torch
from ..._inplace import write
from ..._surface import lift

clip_grad_norm_, clip_grad_value_ = lift(_nn.clip_grad_norm_, __name__), lift(_nn.clip_grad_value_, __name__)


def parameters_to_vector(parameters: Any) -> Any:
    """All parameters one after another."""
    return torch.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Any) -> None:
    """The parameters take their values from a vector."""
    at = 0
    for p in parameters:
        write(p, vec[at : at + p.numel()].reshape(p.shape).detach())
        at += p.numel()


def __getattr__(name: str) -> Any:
    if name == "stateless":
        return import_module("....func", __name__)
    if name in ("parametrizations", "parametrize", "prune", "rnn"):
        return import_module(f".{name}", __name__)
    for where in (getattr(_nn, "utils", None), _nn):
        if where is not None and not name.startswith("_") and hasattr(where, name):
            value = lift(getattr(where, name), __name__)
            setattr(sys.modules[__name__], name, value)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "parametrizations", "parametrize", "prune", "rnn", "vector_to_parameters"]
