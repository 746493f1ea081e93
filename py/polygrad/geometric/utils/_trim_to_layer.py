"""Of a sampled neighbourhood, only what a layer still needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graphs import Graph
from ...tensor import Tensor
from ..edge_index import EdgeIndex
from ..sparse_tensor import SparseTensor


def trim_to_layer(
    layer: int, num_sampled_nodes_per_hop: Any, num_sampled_edges_per_hop: Any, x: Any, edge_index: Any, edge_attr: Any = None
) -> tuple[Any, Any, Any]:
    """Leaves out the nodes and edges of the outermost hop, which layer number `layer` of a network over a sampled neighbourhood does not need.

    Call it before each layer with what the call before gave. The arguments are dicts by type for heterogeneous graphs.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import trim_to_layer
    >>> x, e = Tensor([[0.0], [1.0], [2.0]]), Tensor([[1, 2], [0, 1]])
    >>> x, e, _ = trim_to_layer(1, [1, 1, 1], [1, 1], x, e)
    >>> x.shape, e.tolist()
    ((2, 1), [[1], [0]])
    """
    if layer <= 0:
        return x, edge_index, edge_attr
    nodes, edges = num_sampled_nodes_per_hop, num_sampled_edges_per_hop
    if isinstance(edges, dict):
        x = {k: trim_feat(v, layer, nodes[k]) for k, v in x.items()}
        edge_index = {k: trim_adj(v, layer, nodes[k[0]], nodes[k[-1]], edges[k]) for k, v in edge_index.items()}
        if edge_attr is not None:
            edge_attr = {k: trim_feat(v, layer, edges[k]) for k, v in edge_attr.items()}
        return x, edge_index, edge_attr
    x = trim_feat(x, layer, nodes)
    edge_index = trim_adj(edge_index, layer, nodes, nodes, edges)
    return x, edge_index, None if edge_attr is None else trim_feat(edge_attr, layer, edges)


class TrimToLayer:
    """trim_to_layer that leaves everything as it is where no numbers of sampled nodes and edges are given.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import TrimToLayer
    >>> x, edge_index, _ = TrimToLayer()(1, [2, 1], [1, 1], Tensor.ones(3, 4), Tensor([[1, 2], [0, 1]]))
    >>> x.shape, edge_index.tolist()
    ((2, 4), [[1], [0]])
    """

    def __call__(
        self, layer: int, num_sampled_nodes_per_hop: Any, num_sampled_edges_per_hop: Any, x: Any, edge_index: Any, edge_attr: Any = None
    ) -> Any:
        if (num_sampled_nodes_per_hop is None) != (num_sampled_edges_per_hop is None):
            missing = "num_sampled_nodes_per_hop" if num_sampled_nodes_per_hop is None else "num_sampled_edges_per_hop"
            raise ValueError(f"{missing!r} needs to be given")
        if num_sampled_nodes_per_hop is None:
            return x, edge_index, edge_attr
        return trim_to_layer(layer, num_sampled_nodes_per_hop, num_sampled_edges_per_hop, x, edge_index, edge_attr)


def trim_feat(x: Tensor, layer: int, num_samples_per_hop: list[int]) -> Tensor:
    """x without the rows of the outermost hop."""
    return x if layer <= 0 else x[: x.shape[0] - num_samples_per_hop[-layer]]


def trim_adj(edge_index: Any, layer: int, num_src: list[int], num_dst: list[int], num_edges: list[int]) -> Any:
    """edge_index without the edges of the outermost hop; a Graph loses its nodes as well."""
    if layer <= 0:
        return edge_index
    if isinstance(edge_index, Graph):
        e = edge_index.edge_index[:, : edge_index.num_edges - num_edges[-layer]]
        sizes = edge_index.num_src - num_src[-layer], edge_index.num_dst - num_dst[-layer]
        return Graph(e, num_src=sizes[0], num_dst=sizes[1]) if edge_index.is_bipartite else Graph(e, sizes[0])
    if isinstance(edge_index, SparseTensor):
        size = edge_index.sparse_size(0) - num_dst[-layer], edge_index.sparse_size(1) - num_src[-layer]
        return trim_sparse_tensor(edge_index, size, size[0] - num_dst[-(layer + 1)])
    out = edge_index[:, : edge_index.shape[1] - num_edges[-layer]]
    if isinstance(out, EdgeIndex):
        sizes_left = zip(out.sparse_size(), (num_src[-layer], num_dst[-layer]))
        out.sparse_resize_(*[None if n is None else n - gone for n, gone in sizes_left])
    return out


def trim_sparse_tensor(src: SparseTensor, size: tuple[int, int], num_seed_nodes: int) -> SparseTensor:
    """The upper left part of a matrix of a sampled neighbourhood, with the entries of its first num_seed_nodes rows alone."""
    keep = np.flatnonzero(src._row < num_seed_nodes)
    value = None if src._value is None else src._value[Tensor(keep)]
    return src._made(row=src._row[keep], col=src._col[keep], value=value, sparse_sizes=size, is_sorted=True)


__all__ = ["TrimToLayer", "trim_adj", "trim_feat", "trim_sparse_tensor", "trim_to_layer"]
