"""torch.optim.lr_scheduler: the learning-rate schedules of polygrad.nn."""

from __future__ import annotations

from typing import Any

from ...nn import optim as _optim
from .._surface import lifted_names

_names = lifted_names(__name__, _optim)


def __getattr__(name: str) -> Any:
    return _names("LRScheduler" if name == "_LRScheduler" else name)  # its name in older scripts


__all__ = sorted(n for n, v in vars(_optim).items() if isinstance(v, type) and issubclass(v, _optim.LRScheduler))


def __dir__() -> list[str]:
    return __all__
