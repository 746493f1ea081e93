"""torch.optim.lr_scheduler: the learning-rate schedules of polygrad.nn."""

from __future__ import annotations

from ...nn import optim as _optim
from .._surface import lifted_names

__getattr__ = lifted_names(__name__, _optim)
__all__ = sorted(n for n, v in vars(_optim).items() if isinstance(v, type) and issubclass(v, _optim.LRScheduler))


def __dir__() -> list[str]:
    return __all__
