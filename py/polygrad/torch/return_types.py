"""torch.return_types: the named tuples that functions of several results give.

>>> import polygrad.torch as torch
>>> torch.tensor([1, 3, 2]).max(dim=0)
torch.return_types.max(
values=tensor(3),
indices=tensor(1))
"""

# mypy: disable-error-code="misc"

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .tensor import Tensor


class Sorted(NamedTuple):
    """Values and their places."""

    values: Tensor
    indices: Tensor


class Bounds(NamedTuple):
    """What aminmax gives."""

    min: Tensor
    max: Tensor


def shown(self: Any) -> str:
    """PyTorch's text of a named tuple."""
    cls = type(self)
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(cls._fields, self))
    return f"torch.return_types.{cls.__name__}(\n{parts})"


def _named(base: Any, name: str) -> Any:
    return type(name, (base,), {"__slots__": (), "__module__": __name__, "__doc__": base.__doc__, "__repr__": shown})


cummax, cummin, kthvalue, max, median, min, mode, nanmedian, sort, topk = (
    _named(Sorted, name) for name in ("cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk")
)
aminmax = _named(Bounds, "aminmax")

__all__ = builtins.sorted(["aminmax", "cummax", "cummin", "kthvalue", "max", "median", "min", "mode", "nanmedian", "sort", "topk"])
