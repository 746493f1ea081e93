"""torch.nn.functional: the functions of polygrad.nn.functional, which have PyTorch's names and arguments."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import sys
from typing import Any

from ...nn import functional as _functional
from .._surface import lift
from ..tensor import Tensor


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """1 at the class, else 0, int64."""
    return _functional.one_hot(tensor, num_classes).cast("int64")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if hasattr(_functional, name):
        value = lift(getattr(_functional, name), __name__)
    elif hasattr(Tensor, name):  # such as F.softsign, which is a method
        from ..methods import function_of

        value = function_of(name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return __all__


__all__ = sorted({*_functional.__all__, "one_hot"})
