"""torch.nn: the layers of polygrad.nn with PyTorch's tensors, and where PyTorch has other arguments, with PyTorch's."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import sys
from typing import Any

from ... import nn as _nn
from ...nn import optim as _optim
from .._surface import lift
from ..tensor import Parameter
from . import functional, init, utils
from .files import modules as _modules
from .layers import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    InstanceNorm,
    RMSNorm,
)
from .module import Module, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential

UninitializedParameter = UninitializedBuffer = _nn.UninitializedParameter


def Buffer(data: Any, persistent: bool = True) -> Any:
    """A tensor that is state but no parameter, when it is an attribute of a module."""
    return data.detach().requires_grad_(False)


def _here(name: str) -> Any:
    """Layers that few scripts use, loaded when they are."""
    from importlib import import_module

    if name in ("DataParallel", "parallel"):
        parallel = import_module(".parallel", __name__)
        return parallel.DataParallel if name == "DataParallel" else parallel
    if name.startswith("Lazy"):
        return getattr(import_module(".lazy", __name__), name, None)
    return import_module(".adaptive", __name__).AdaptiveLogSoftmaxWithLoss if name == "AdaptiveLogSoftmaxWithLoss" else None


def __getattr__(name: str) -> Any:
    """The other layers, losses and activations of polygrad.nn."""
    value = _here(name)
    if value is not None:
        setattr(sys.modules[__name__], name, value)
        return value
    if name.startswith("_") or not hasattr(_nn, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = lift(getattr(_nn, name), __name__)
    setattr(sys.modules[__name__], name, value)
    return value


__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "Embedding", "InstanceNorm",
    "Module", "ModuleDict", "ModuleList",
    "Parameter", "ParameterDict", "ParameterList", "RMSNorm", "Sequential", "functional", "init", "utils",
    "AdaptiveLogSoftmaxWithLoss", "Buffer", "DataParallel", "LazyLinear",
    *(n for n in getattr(_nn, "__all__", ()) if n[:1].isupper() and not hasattr(_optim, n)),
]  # fmt: skip
__all__ = sorted({*__all__} - {"BatchNorm", "CompiledTrainingStep", "GradScaler", "InstanceNorm", "LayerNorm2d"})


def __dir__() -> list[str]:
    return __all__


parameter = sys.modules[f"{__name__}.parameter"] = sys.modules[__name__]
modules = _modules(parameter)
