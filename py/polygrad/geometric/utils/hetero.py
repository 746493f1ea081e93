"""Several types of nodes and edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host
from .num_nodes import maybe_num_nodes_dict


def group_hetero_graph(edge_index_dict: Mapping[Any, Any], num_nodes_dict: Mapping[str, int] | None = None) -> tuple[Any, ...]:
    """A heterogeneous graph as one: nodes of all types are numbered one after the other.

    Gives edge_index, the type of each edge, the type of each node, the number of each node within its type, the numbers of each type's
    nodes (by name and by number), and the number of each type of node and edge.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils.hetero import group_hetero_graph
    >>> group_hetero_graph({("a", "to", "b"): Tensor([[0, 1], [0, 0]])}, {"a": 2, "b": 1})[0].tolist()
    [[0, 1], [2, 2]]
    """
    counts = maybe_num_nodes_dict(edge_index_dict, num_nodes_dict)
    first = dict(zip(counts, _host.starts(np.array(list(counts.values()), np.int64)).tolist()))
    number: dict[Any, int] = {kind: k for k, kind in enumerate(counts)}
    local = [np.arange(n) for n in counts.values()]
    places: dict[Any, Tensor] = {}
    for k, kind in enumerate(counts):
        places[kind] = places[k] = _host.tensor(local[k] + first[kind])
    node_type = np.repeat(np.arange(len(counts)), list(counts.values()))
    edges, types = [], []
    for k, (kind, edge_index) in enumerate(edge_index_dict.items()):
        number[kind] = k
        e = _host.edges(edge_index)
        edges.append(e + np.array([[first[kind[0]]], [first[kind[-1]]]], e.dtype))
        types.append(np.full(e.shape[1], k, np.int64))
    return (
        _host.tensor(np.concatenate(edges, axis=1)),
        _host.tensor(np.concatenate(types)),
        _host.tensor(node_type),
        _host.tensor(np.concatenate(local)),
        places,
        number,
    )


def get_unused_node_types(node_types: Iterable[str], edge_types: Iterable[Any]) -> set[str]:
    """Node types that no edge type leads to: message passing leaves them without values.

    >>> get_unused_node_types(["a", "b"], [("a", "to", "b")])
    {'a'}
    """
    return set(node_types) - {kind[-1] for kind in edge_types}


def check_add_self_loops(module: Any, edge_types: Iterable[Any]) -> None:
    """An error if a layer that adds self loops is to be used between two types of nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import GCNConv
    >>> from polygrad.geometric.utils import check_add_self_loops
    >>> check_add_self_loops(GCNConv(4, 8), [("a", "to", "a")])
    """
    kinds = list(edge_types)
    if getattr(module, "add_self_loops", False) and any(kind[0] != kind[-1] for kind in kinds):
        raise ValueError(
            f"'add_self_loops' is set in {module!r}, which is to be used for the edge types {kinds}: "
            "between two types of nodes a self loop has no meaning, so this is incorrect message passing"
        )


def construct_bipartite_edge_index(
    edge_index_dict: Mapping[Any, Tensor],
    src_offset_dict: Mapping[Any, int],
    dst_offset_dict: Mapping[str, int],
    edge_attr_dict: Any = None,
    num_nodes: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The edges of several types as one bipartite edge_index, with the nodes of each type shifted by its offset, and their edge_attr.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import construct_bipartite_edge_index
    >>> edges = {("a", "to", "b"): Tensor([[0], [1]])}
    >>> construct_bipartite_edge_index(edges, {("a", "to", "b"): 2}, {"b": 3})[0].tolist()
    [[2], [4]]
    """
    edges, attrs = [], []
    for kind, offset in src_offset_dict.items():
        e = _host.edges(edge_index_dict[kind])
        edges.append(e + np.array([[offset], [dst_offset_dict[kind[-1]]]], e.dtype))
        if edge_attr_dict is not None:
            name = "__".join(kind)
            value = edge_attr_dict[name] if name in edge_attr_dict else edge_attr_dict[kind]
            attrs.append(value if int(value.shape[0]) == e.shape[1] else value.expand(e.shape[1], *value.shape[1:]))
    joined = Tensor.cat(*attrs) if attrs else None
    return _host.tensor(np.concatenate(edges, axis=1)), joined


__all__ = ["check_add_self_loops", "construct_bipartite_edge_index", "get_unused_node_types", "group_hetero_graph"]
