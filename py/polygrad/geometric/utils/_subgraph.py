"""Parts of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host
from .map import places, relabel
from .num_nodes import maybe_num_nodes


def get_num_hops(model: Any) -> int:
    """Number of message passing layers in a model: how far information travels.

    >>> from polygrad.geometric.nn import GCN
    >>> from polygrad.geometric.utils import get_num_hops
    >>> get_num_hops(GCN(4, 8, num_layers=3))
    3
    """
    from ..nn.conv.message_passing import MessagePassing
    from .embedding import modules_of

    return sum(isinstance(m, MessagePassing) for m in modules_of(model))


def _subset(subset: Any, size: Any) -> tuple[np.ndarray, np.ndarray]:
    """A mask or indices, as the mask and the indices. size: a number, or a function that finds it."""
    a = _host.read(subset)
    if a.dtype == np.bool_:
        return a, np.flatnonzero(a)
    index = _host.vector(a, "subset")
    mask = np.zeros(int(size() if callable(size) else size), np.bool_)
    mask[index] = True
    return mask, index


def _nodes(subset: Any, size: Any, relabel_nodes: bool) -> np.ndarray:
    """The nodes of a mask or of indices, for _host.filter_edges: a mask, or their places in the subset."""
    mask, index = _subset(subset, size)
    return places(index, mask.size) if relabel_nodes else mask


def subgraph(
    subset: Any,
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    num_nodes: int | None = None,
    *,
    return_edge_mask: bool = False,
) -> Any:
    """The edges between nodes of subset (indices or a mask), with their edge_attr.

    relabel_nodes: nodes are numbered by their place in subset. return_edge_mask: a third value, the mask of the edges that stay.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import subgraph
    >>> e, _ = subgraph([1, 2], Tensor([[0, 1, 2, 1], [1, 2, 1, 0]]), relabel_nodes=True)
    >>> e.tolist()
    [[0, 1], [1, 0]]
    """
    nodes = _nodes(subset, lambda: maybe_num_nodes(edge_index, num_nodes), relabel_nodes)
    out, keep = _host.filter_edges(edge_index, None, nodes, nodes)
    result = (out, _host.maybe_rows(edge_attr, keep))
    return (*result, keep) if return_edge_mask else result


def bipartite_subgraph(
    subset: Any,
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    size: tuple[int, int] | None = None,
    return_edge_mask: bool = False,
) -> Any:
    """As subgraph, for edges between two sets of nodes: subset is a pair, and so is size.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import bipartite_subgraph
    >>> e, _ = bipartite_subgraph(([0, 2], [1]), Tensor([[0, 1, 2], [1, 1, 0]]))
    >>> e.tolist()
    [[0], [1]]
    """
    sizes = size or tuple(_host.top(ends) for ends in _host.edges(edge_index))
    src, dst = (_nodes(s, n, relabel_nodes) for s, n in zip(subset, sizes))
    out, keep = _host.filter_edges(edge_index, None, src, dst)
    result = (out, _host.maybe_rows(edge_attr, keep))
    return (*result, keep) if return_edge_mask else result


def k_hop_subgraph(
    node_idx: Any,
    num_hops: int,
    edge_index: Tensor,
    relabel_nodes: bool = False,
    num_nodes: int | None = None,
    flow: str = "source_to_target",
    directed: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What reaches node_idx (a node, or several) in num_hops steps along the edges; against them with flow='target_to_source'.

    Gives the nodes, sorted; the edges between them (directed=True: only those that were followed); where node_idx lie among the nodes;
    and the mask of the edges.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import k_hop_subgraph
    >>> subset, e, mapping, mask = k_hop_subgraph(6, 2, Tensor([[0, 1, 2, 3, 4, 5], [2, 2, 4, 4, 6, 6]]), relabel_nodes=True)
    >>> subset.tolist(), e.tolist(), mapping.tolist(), mask.tolist()
    ([2, 3, 4, 5, 6], [[0, 1, 2, 3], [2, 2, 4, 4]], [4], [False, False, True, True, True, True])
    """
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow must be 'source_to_target' or 'target_to_source', not {flow!r}")
    e = _host.edge_tensor(edge_index)
    n = int(maybe_num_nodes(edge_index, num_nodes))
    ahead = flow == "source_to_target"
    seeds = _host.vector(node_idx, "node_idx").astype(e.dtype.np)
    found, followed = [seeds], None
    for _ in range(num_hops):
        here = np.zeros(n, np.bool_)
        here[found[-1]] = True
        step, which = _host.filter_edges(e, None, None if ahead else here, here if ahead else None)
        followed = _host.read(which) if followed is None else followed | _host.read(which)
        found.append(_host.read(step)[0 if ahead else 1])
    subset, inverse = np.unique(np.concatenate(found), return_inverse=True)
    nodes = places(subset, n) if relabel_nodes else np.zeros(n, np.bool_)
    if not relabel_nodes:
        nodes[subset] = True
    if directed:
        keep = np.zeros(e.shape[1], np.bool_) if followed is None else followed
        out, mask = _host.filter_edges(e, keep, nodes, nodes)
    else:
        out, mask = _host.filter_edges(e, None, nodes, nodes)
    mapping = inverse.reshape(-1)[: seeds.size].astype(np.int64)
    return _host.tensor(subset), out, _host.tensor(mapping), mask


def hyper_subgraph(
    subset: Any,
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    num_nodes: int | None = None,
    return_edge_mask: bool = False,
) -> Any:
    """The part of a hypergraph (pairs of node and hyperedge) on the nodes of subset: hyperedges that join at least two of them.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import hyper_subgraph
    >>> e, _ = hyper_subgraph([0, 1], Tensor([[0, 1, 2, 1], [0, 0, 0, 1]]))
    >>> e.tolist()
    [[0, 1], [0, 0]]
    """
    e = _host.edges(edge_index)
    mask, index = _subset(subset, lambda: maybe_num_nodes(edge_index, num_nodes))
    inside = mask[e[0]]
    stays = np.bincount(e[1][inside], minlength=_host.top(e[1])) > 1
    inside &= stays[e[1]]
    node, hyper = e[:, inside]
    hyper = relabel(hyper, np.flatnonzero(stays), stays.size)
    if relabel_nodes:
        node = relabel(node, index, mask.size)
    result = (_host.tensor(np.stack([node, hyper])), _host.maybe_rows(edge_attr, stays))
    return (*result, _host.tensor(stays)) if return_edge_mask else result


__all__ = ["bipartite_subgraph", "get_num_hops", "hyper_subgraph", "k_hop_subgraph", "subgraph"]
