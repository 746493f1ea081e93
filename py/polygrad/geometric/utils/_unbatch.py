"""A batch, back to its graphs."""

from __future__ import annotations

from ...tensor import Tensor
from . import _host
from ._select import narrow


def unbatch(src: Tensor, batch: Tensor, dim: int = 0, batch_size: int | None = None) -> list[Tensor]:
    """src in parts along dim, one for each graph of batch (ascending).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import unbatch
    >>> [t.tolist() for t in unbatch(Tensor([5, 6, 7]), Tensor([0, 0, 1]))]
    [[5, 6], [7]]
    """
    sizes = _host.count(batch, batch_size)
    if not isinstance(src, Tensor):
        ptr = _host.starts(sizes)
        return [narrow(src, dim, int(a), int(b - a)) for a, b in zip(ptr, ptr[1:])]
    return list(src.split(sizes.tolist(), dim)) if sizes.size else []


def unbatch_edge_index(edge_index: Tensor, batch: Tensor, batch_size: int | None = None) -> list[Tensor]:
    """The edges of each graph of batch, with the nodes numbered from 0 in each.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import unbatch_edge_index
    >>> [t.tolist() for t in unbatch_edge_index(Tensor([[0, 1, 2, 3], [1, 0, 3, 2]]), Tensor([0, 0, 1, 1]))]
    [[[0, 1], [1, 0]], [[0, 1], [1, 0]]]
    """
    e, b = _host.edges(edge_index), _host.vector(batch, "batch")
    ptr = _host.starts(_host.count(b, batch_size))
    graph = b[e[0]]
    local = (e - ptr[graph]).astype(e.dtype)
    ends = _host.starts(_host.count(graph, batch_size))
    return [_host.tensor(local[:, a:b]) for a, b in zip(ends, ends[1:])]


__all__ = ["unbatch", "unbatch_edge_index"]
