"""Lengths of vectors, with a gradient of 0 for the vector of zeros."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor


def norm(x: Tensor, p: float = 2.0, dim: Any = None, keepdim: bool = False) -> Tensor:
    """(sum |x|^p)^(1/p) over the axes dim, all of them by default.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric._length import norm
    >>> norm(Tensor([[3.0, 4.0], [0.0, 0.0]]), dim=-1).tolist()
    [5.0, 0.0]
    """
    return x._norm(p, dim, keepdim)


def normalize(x: Tensor, p: float = 2.0, dim: int = -1, eps: float = 1e-12) -> Tensor:
    """x / max(norm(x), eps) along dim.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric._length import normalize
    >>> [round(v, 6) for v in normalize(Tensor([3.0, 4.0])).tolist()]
    [0.6, 0.8]
    """
    return x / norm(x, p, dim, True).maximum(eps)


__all__ = ["norm", "normalize"]
