"""Values made as many as are needed."""

from __future__ import annotations

import numbers
from typing import Any

from ...tensor import Tensor


def repeat(src: Any, length: int) -> Any:
    """src cut to length, or filled up with its last value; a number is repeated.

    >>> repeat(3, 2), repeat([1, 2], 4)
    ([3, 3], [1, 2, 2, 2])
    """
    if src is None:
        return None
    if isinstance(src, Tensor):
        n = int(src.numel())
        if n == 1:
            return src.reshape(1).expand(length)
        return src[:length] if n >= length else Tensor.cat(src, src[-1:].expand(length - n))
    if isinstance(src, numbers.Number):
        return [src] * length
    return src[:length] if len(src) >= length else src + [src[-1]] * (length - len(src))


__all__ = ["repeat"]
