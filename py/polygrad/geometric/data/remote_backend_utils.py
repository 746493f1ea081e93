"""Numbers of nodes that a pair of stores tells: by the sizes of its edges, or by its features."""

from __future__ import annotations

from typing import Any


def _found(feature_store: Any, graph_store: Any, node_type: str) -> int | None:
    for attr in graph_store.get_all_edge_attrs():
        if attr.size is not None:
            for end, count in ((attr.edge_type[0], attr.size[0]), (attr.edge_type[-1], attr.size[-1])):
                if end == node_type and count is not None:
                    return int(count)
    for attr in feature_store.get_all_tensor_attrs():
        if attr.group_name == node_type:
            shape = feature_store.get_tensor_size(attr)
            if shape is not None:
                return int(shape[0])
    return None


def num_nodes(feature_store: Any, graph_store: Any, query: str) -> int:
    """The number of nodes of a type."""
    count = _found(feature_store, graph_store, query)
    if count is None:
        raise ValueError(f"Unable to accurately infer the number of nodes of {query!r}: neither an edge with a size nor features have this type")
    return count


def size(feature_store: Any, graph_store: Any, query: tuple[str, str, str]) -> tuple[int, int]:
    """The numbers of nodes at both ends of a type of edges."""
    return num_nodes(feature_store, graph_store, query[0]), num_nodes(feature_store, graph_store, query[-1])


__all__ = ["num_nodes", "size"]
