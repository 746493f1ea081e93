"""torch.nn.utils.parametrizations: polygrad.nn.utils.parametrizations with PyTorch's tensors."""

from __future__ import annotations

import sys
from typing import Any

from ....nn.utils import parametrizations as _here
from ..._surface import lift


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(_here, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = lift(getattr(_here, name), __name__)
    setattr(sys.modules[__name__], name, value)
    return value


__all__ = list(_here.__all__)
