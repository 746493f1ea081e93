"""torch.optim.lr_scheduler: the learning-rate schedules of polygrad.nn."""

from __future__ import annotations

import sys
from typing import Any

from ...nn import optim as _optim
from .._surface import lift


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(_optim, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = lift(getattr(_optim, name), __name__)
    setattr(sys.modules[__name__], name, value)
    return value


__all__ = sorted(n for n, v in vars(_optim).items() if isinstance(v, type) and issubclass(v, _optim.LRScheduler))


def __dir__() -> list[str]:
    return __all__
