"""Nodes of several graphs, side by side."""

from __future__ import annotations

from typing import Any

from ...dtypes import dtypes
from ...symbolic import Dim
from ...tensor import Tensor
from .._rows import Rows, count_of, rows_of
from ..data._sizes import size as variable
from ..experimental import need_sizes


def largest(graphs: Rows) -> Any:
    """Nodes of the largest graph; a variable where the number of graphs is one, so that all batches share one compiled program."""
    n = graphs.longest
    return variable("largest", n, 1) if n and isinstance(graphs.num_rows, Dim) else n


def to_dense_batch(
    x: Tensor, batch: Tensor | None = None, fill_value: Any = 0.0, max_num_nodes: int | None = None, batch_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """Node values [N, ...] as [graphs, nodes of the largest graph, ...], filled up with fill_value, and the mask of what is there.

    batch: the graph of each node, ascending. max_num_nodes: graphs are cut or filled up to this size; without it, and without batch_size,
    batch is read.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import to_dense_batch
    >>> out, mask = to_dense_batch(Tensor([[1.0], [2.0], [3.0]]), Tensor([0, 0, 1]))
    >>> out.tolist(), mask.tolist()
    ([[[1.0], [2.0]], [[3.0], [0.0]]], [[True, True], [True, False]])
    """
    need_sizes(batch_size=batch_size, max_num_nodes=max_num_nodes)
    if batch is None and max_num_nodes is None:
        return x.unsqueeze(0), Tensor.ones(1, x.shape[0], dtype=dtypes.bool)
    if batch is None:
        batch, batch_size = Tensor.zeros(x.shape[0], dtype=dtypes.int32), 1 if batch_size is None else batch_size
    size = count_of(batch, batch_size)
    graphs = rows_of(batch, size)
    count = graphs.count
    if max_num_nodes is None:
        max_num_nodes = largest(graphs)
    fill = fill_value.cast(x.dtype) if isinstance(fill_value, Tensor) else fill_value
    shape = (size, max_num_nodes, *x.shape[1:])
    if not x.numel() or not size or not max_num_nodes:
        filled = fill.expand(shape) if isinstance(fill, Tensor) else Tensor.full(shape, fill, dtype=x.dtype)
        place = Tensor.arange(max_num_nodes, dtype=dtypes.int32).unsqueeze(0)
        return filled, (place < count.unsqueeze(1)) if size and max_num_nodes else Tensor.zeros(size, max_num_nodes, dtype=dtypes.bool)
    begin = graphs.begin.unsqueeze(1)
    place = Tensor.arange(max_num_nodes, dtype=dtypes.int32).unsqueeze(0)
    mask = place < count.unsqueeze(1)
    found = x[mask.where(begin + place, 0)]
    return Tensor.where(mask.reshape(size, max_num_nodes, *[1] * (x.ndim - 1)), found, fill), mask


__all__ = ["largest", "to_dense_batch"]
