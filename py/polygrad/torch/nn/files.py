"""torch.nn.modules with its files (torch.nn.modules.conv and so on): the names of torch.nn, and bases that scripts ask modules for."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

_FILES = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold instancenorm lazy linear loss module normalization"
    " padding pixelshuffle pooling rnn sparse transformer upsampling utils"
).split()


def _tuples(n: int) -> Callable[[Any], tuple[Any, ...]]:
    def make(x: Any) -> tuple[Any, ...]:
        return tuple(x) if hasattr(x, "__iter__") else (x,) * n

    return make


def _old(nn: Any, name: str) -> Any:
    from ... import nn as plain
    from .._surface import lift

    bases = {"_BatchNorm": "BatchNorm", "_NormBase": "BatchNorm", "_InstanceNorm": "InstanceNorm", "_ConvNd": "Conv2d"}
    if name in bases:
        return lift(getattr(plain, bases[name]), nn.__name__)
    if name in ("_Loss", "_WeightedLoss"):
        from ...nn.losses import _Loss

        return lift(_Loss, nn.__name__)
    counts = {"_single": 1, "_pair": 2, "_triple": 3, "_quadruple": 4}
    return _tuples if name == "_ntuple" else _tuples(counts[name])


def modules(nn: Any) -> Any:
    """The module torch.nn.modules, whose files are entered so that they can be imported."""

    def get(name: str) -> Any:
        try:
            return getattr(nn, name)
        except AttributeError:
            try:
                return _old(nn, name)
            except KeyError:
                raise AttributeError(f"module '{nn.__name__}.modules' has no attribute {name!r}") from None

    def made(path: str) -> Any:
        module = types.ModuleType(f"{nn.__name__}.{path}", nn.__doc__)
        module.__getattr__ = get  # type: ignore[method-assign]
        sys.modules[module.__name__] = module
        return module

    out = made("modules")
    out.__path__ = []
    out.__all__ = nn.__all__
    for name in _FILES:
        setattr(out, name, made(f"modules.{name}"))
    return out


__all__ = ["modules"]
