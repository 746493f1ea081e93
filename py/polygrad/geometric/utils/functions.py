"""Running sums."""

from __future__ import annotations

from ...tensor import Tensor


def cumsum(x: Tensor, dim: int = 0) -> Tensor:
    """Running sums that begin with 0, so one entry longer than x: row pointers out of counts.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import cumsum
    >>> cumsum(Tensor([2, 4, 1])).tolist()
    [0, 2, 6, 7]
    """
    dim = dim + x.ndim if dim < 0 else dim
    return x.cumsum(dim).cast(x.dtype).pad(tuple((1, 0) if k == dim else None for k in range(x.ndim)))


__all__ = ["cumsum"]
