"""Random parts of point clouds."""

from __future__ import annotations

import numpy as np

from ....autograd import current
from ....tensor import Tensor


def decimation_indices(ptr: Tensor, decimation_factor: float) -> tuple[Tensor, Tensor]:
    """(indices, ptr) of a random part of each cloud: one point of decimation_factor, and one at least. ptr: where the points of each cloud begin.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn.pool.decimation import decimation_indices
    >>> decimation_indices(Tensor([0, 4, 7]), 2)[1].tolist()
    [0, 2, 3]
    """
    if decimation_factor < 1:
        raise ValueError(f"The argument `decimation_factor` should be higher than (or equal to) 1 for downsampling. (got {decimation_factor})")
    first = ptr.numpy().astype(np.int64)
    count = np.diff(first)
    kept = np.maximum((count // decimation_factor).astype(np.int64), 1)
    kept = np.minimum(kept, count)
    cloud = np.repeat(np.arange(count.size), count)
    order = np.lexsort((Tensor.rand(int(cloud.size)).numpy() if cloud.size else np.zeros(0), cloud))  # each cloud in random order
    rank = np.arange(cloud.size) - first[cloud]
    made = current().made
    return made(order[rank < kept[cloud]] + first[0]), made(np.concatenate([[0], np.cumsum(kept)]))


__all__ = ["decimation_indices"]
