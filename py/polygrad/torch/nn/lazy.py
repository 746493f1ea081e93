"""Layers that take their number of inputs from the first tensor they are called with, and then are the layers they are named after.

Their parameters are there from the start, without a shape (polygrad/nn/later.py), so that an optimizer can be made before the first call.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import inspect
from typing import Any

from ... import nn as _nn
from ...autograd import making
from ...nn.later import UninitializedParameter, materialize
from .._surface import lift
from ..tensor import Tensor
from . import layers
from .module import Module


class _Lazy(Module):
    """A layer to come."""

    becomes: Any = None
    axis = 1

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        self.__dict__.update(_args=args, _kwargs=kwargs)
        given = inspect.signature(self.becomes.__init__).bind(self, 1, *args, **kwargs)
        given.apply_defaults()
        with making(Tensor):
            self.weight = UninitializedParameter() if given.arguments.get("affine", True) else None
            self.bias = UninitializedParameter() if given.arguments.get("bias", self.weight is not None) else None

    def has_uninitialized_params(self) -> bool:
        """Was it not called yet?"""
        return True

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        mode = self.training
        given, named = self.__dict__.pop("_args"), self.__dict__.pop("_kwargs")
        width = int(x.shape[self.axis])
        waiting = [(name, self.__dict__.get(name)) for name in ("weight", "bias")]
        self.__class__ = self.becomes
        self.__init__(width, *given, **named)
        self.__dict__["_mode"] = mode
        for name, held in waiting:
            if held is not None:  # an optimizer may have it
                made = getattr(self, name)
                setattr(self, name, materialize(held, made.shape).replace(made))
        return self(x, *args, **kwargs)

    def extra_repr(self) -> str:
        return ", ".join([*map(repr, self._args), *(f"{k}={v!r}" for k, v in self._kwargs.items())])


def _lazy(name: str, becomes: Any, axis: int = 1) -> Any:
    text = f"{becomes.__name__} that takes its number of inputs from the first tensor it is called with."
    return type(_Lazy)(name, (_Lazy,), {"becomes": becomes, "axis": axis, "__doc__": text, "__module__": "polygrad.torch.nn"})


def _of(name: str) -> Any:
    return getattr(layers, name) if hasattr(layers, name) else lift(getattr(_nn, name), "polygrad.torch.nn")


LazyLinear = _lazy("LazyLinear", _of("Linear"), -1)
_NAMES = [f"{kind}{n}d" for kind in ("Conv", "ConvTranspose", "BatchNorm", "InstanceNorm") for n in (1, 2, 3)]
_MADE = {f"Lazy{name}": _lazy(f"Lazy{name}", _of(name)) for name in _NAMES if hasattr(layers, name) or hasattr(_nn, name)}
globals().update(_MADE)

__all__ = ["LazyLinear", *sorted(_MADE)]
