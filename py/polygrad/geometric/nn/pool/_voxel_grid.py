"""Points by the cell of a grid that they lie in."""

from __future__ import annotations

from typing import Any

from ....dtypes import dtypes
from ....tensor import Tensor


def _per_axis(value: Any, dim: int, like: Tensor) -> Tensor:
    """A number or up to dim of them (the last is repeated) as a tensor [dim]."""
    values = value.tolist() if isinstance(value, Tensor) else value
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    if not values or len(values) > dim:
        raise ValueError(f"{len(values)} numbers for points with {dim} axes")
    return Tensor([float(v) for v in values] + [float(values[-1])] * (dim - len(values)), dtype=like.dtype)


def voxel_grid(pos: Tensor, size: Any, batch: Tensor | None = None, start: Any = None, end: Any = None) -> Tensor:
    """The cell of each point in a grid of cells of the given size: int64 [N]. Points of different graphs lie in different cells.

    size, start, end: a number, or one for each axis. start and end are the smallest and largest coordinates if they are not given.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import voxel_grid
    >>> voxel_grid(Tensor([[0.0, 0.0], [11.0, 9.0], [2.0, 8.0], [2.0, 2.0], [8.0, 3.0]]), size=5.0).tolist()
    [0, 5, 3, 0, 1]
    """
    pos = (pos.unsqueeze(-1) if pos.ndim == 1 else pos).detach()
    dim = int(pos.shape[1])
    cell = _per_axis(size, dim, pos)
    low = pos.amin(0) if start is None else _per_axis(start, dim, pos)
    high = pos.amax(0) if end is None else _per_axis(end, dim, pos)
    counts = ((high - low) / cell).trunc().cast(dtypes.int64) + 1
    at = ((pos - low) / cell).trunc().cast(dtypes.int64)
    steps = counts.cumprod(0)
    one = Tensor.ones(1, dtype=dtypes.int64)
    out = (at * (one if dim == 1 else Tensor.cat(one, steps[:-1]))).sum(1)
    if batch is None:
        return out
    graph = batch.cast(dtypes.int64)
    return out + (graph if start is not None else graph - graph.min()) * steps[-1]


__all__ = ["voxel_grid"]
