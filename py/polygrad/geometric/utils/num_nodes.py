"""The number of nodes where nobody said it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...graphs import Graph
from . import _host


def maybe_num_nodes(edge_index: Any, num_nodes: int | None = None) -> int:
    """num_nodes, or one more than the largest index of edge_index.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import maybe_num_nodes
    >>> maybe_num_nodes(Tensor([[0, 1], [4, 0]]))
    5
    """
    if num_nodes is not None:
        return num_nodes
    if isinstance(edge_index, Graph):
        return max(edge_index.num_src, edge_index.num_dst)
    if hasattr(edge_index, "sparse_sizes"):
        return max(edge_index.sparse_sizes())
    if isinstance(edge_index, (tuple, list)):
        return max((_host.top(_host.vector(x)) for x in edge_index), default=0)
    return _host.top(_host.read(edge_index))


def maybe_num_nodes_dict(edge_index_dict: Mapping[Any, Any], num_nodes_dict: Mapping[str, int] | None = None) -> dict[str, int]:
    """The number of nodes of each type; what is not in num_nodes_dict is read from the edges.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import maybe_num_nodes_dict
    >>> maybe_num_nodes_dict({("a", "to", "b"): Tensor([[0, 4], [1, 2]])})
    {'a': 5, 'b': 3}
    """
    given = dict(num_nodes_dict or {})
    out = dict(given)
    for kind, edge_index in edge_index_dict.items():
        e = _host.edges(edge_index)
        for name, ends in ((kind[0], e[0]), (kind[-1], e[1])):
            if name not in given:
                out[name] = max(out.get(name, 0), _host.top(ends))
    return out


__all__ = ["maybe_num_nodes", "maybe_num_nodes_dict"]
