"""Degrees."""

from __future__ import annotations

from typing import Any

from ...dtypes import DTypeLike, dtypes
from ...tensor import Tensor
from .._rows import rows_of


def degree(index: Tensor, num_nodes: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    r"""How often each node occurs in index: :math:`d_i = |\{k : \mathrm{index}_k = i\}|`.

    index: [E], e.g. a row of edge_index. num_nodes: the largest index + 1 if it is not given (that reads it). dtype: float32.

    >>> from polygrad import Tensor, dtypes
    >>> from polygrad.geometric.utils import degree
    >>> degree(Tensor([0, 1, 0, 2, 0])).tolist(), degree(Tensor([1]), 3, dtypes.int64).tolist()
    ([3.0, 1.0, 1.0], [0, 1, 0])
    """
    found: Any = rows_of(index, num_nodes).count
    return found.cast(dtypes.float32 if dtype is None else dtype)


__all__ = ["degree"]
