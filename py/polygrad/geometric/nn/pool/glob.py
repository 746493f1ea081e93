"""A whole graph to one vector."""

from __future__ import annotations

from ....tensor import Tensor
from ..._rows import rows_of


def _pool(x: Tensor, batch: Tensor | None, size: int | None, op: str) -> Tensor:
    if hasattr(x, "for_each"):  # values by type, see to_hetero
        return x.for_each(_pool, x, batch, size, op)
    dim = -1 if x.ndim == 1 else -2
    if batch is None:
        return getattr(x, "amax" if op == "max" else op)(dim, keepdim=x.ndim <= 2)
    return rows_of(batch, size).reduce(x, op, dim)


def global_add_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """The sum of the node features of each graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import global_add_pool
    >>> global_add_pool(Tensor([[1.0], [2.0], [3.0]]), Tensor([0, 0, 1])).tolist()
    [[3.0], [3.0]]
    """
    return _pool(x, batch, size, "sum")


def global_mean_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """The mean of the node features of each graph.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import global_mean_pool
    >>> global_mean_pool(Tensor([[1.0], [2.0], [3.0]]), Tensor([0, 0, 1])).tolist()
    [[1.5], [3.0]]
    """
    return _pool(x, batch, size, "mean")


def global_max_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """The largest node feature of each graph, channel by channel.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import global_max_pool
    >>> global_max_pool(Tensor([[1.0], [2.0], [3.0]]), Tensor([0, 0, 1])).tolist()
    [[2.0], [3.0]]
    """
    return _pool(x, batch, size, "max")


__all__ = ["global_add_pool", "global_max_pool", "global_mean_pool"]
