"""Numbers of axes, as PyTorch takes them: below zero from the end, and never beyond it."""

from __future__ import annotations

import operator
from typing import Any


def axis_of(x: Any, dim: Any) -> int:
    """The axis that dim is of x."""
    n, axis = max(x.ndim, 1), operator.index(dim)
    if not -n <= axis < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {axis})")
    return axis % n


def axes_of(x: Any, dims: Any) -> list[int]:
    """Those of one number or several."""
    return [axis_of(x, d) for d in (dims if isinstance(dims, (tuple, list)) else [dims])]


def check_span(size: Any, start: int, length: int) -> None:
    """Are there `length` slices from `start` on?"""
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if isinstance(size, int) and not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if isinstance(size, int) and start % max(size, 1) + length > size and not (start == size and length == 0):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
