"""Clusters by consecutive numbers."""

from __future__ import annotations

import numpy as np

from ....tensor import Tensor
from ...utils import _host


def consecutive_cluster(src: Tensor) -> tuple[Tensor, Tensor]:
    """The clusters as 0 ... n - 1 in their order, and for each the last node in it.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.pool.consecutive import consecutive_cluster
    >>> [t.tolist() for t in consecutive_cluster(Tensor([8, 2, 10, 15, 100, 1, 100]))]
    [[2, 1, 3, 4, 5, 0, 5], [5, 1, 0, 2, 3, 6]]
    """
    values, inverse = np.unique(_host.vector(src, "cluster"), return_inverse=True)
    inverse = inverse.reshape(-1).astype(np.int64)
    last = np.zeros(values.size, np.int64)
    last[inverse] = np.arange(inverse.size)
    out = _host.tensor(inverse)
    out._count = values.size
    return out, _host.tensor(last)


__all__ = ["consecutive_cluster"]
