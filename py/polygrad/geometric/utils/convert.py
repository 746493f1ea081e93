"""To and from other libraries, which are imported when they are needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...tensor import Tensor
from . import _host
from .num_nodes import maybe_num_nodes


def to_scipy_sparse_matrix(edge_index: Tensor, edge_attr: Tensor | None = None, num_nodes: int | None = None) -> Any:
    """The adjacency matrix as scipy's coo_matrix, with ones or edge_attr [E].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import to_scipy_sparse_matrix
    >>> to_scipy_sparse_matrix(Tensor([[0, 1], [1, 0]])).toarray().tolist()  # doctest: +SKIP
    [[0.0, 1.0], [1.0, 0.0]]
    """
    sp = _host.library("scipy.sparse", "to_scipy_sparse_matrix")
    row, col = _host.edges(edge_index)
    values = np.ones(row.size, np.float32) if edge_attr is None else edge_attr.numpy().reshape(-1)
    if values.size != row.size:
        raise ValueError(f"{values.size} edge values do not fit {row.size} edges")
    n = int(maybe_num_nodes(edge_index, num_nodes))
    return sp.coo_matrix((values, (row, col)), (n, n))


def from_scipy_sparse_matrix(A: Any) -> tuple[Tensor, Tensor]:
    """edge_index and edge weights of a scipy sparse matrix: an entry (i, j) is an edge from i to j.

    >>> import scipy.sparse
    >>> from polygrad.geometric.utils import from_scipy_sparse_matrix
    >>> edge_index, weight = from_scipy_sparse_matrix(scipy.sparse.coo_matrix([[0.0, 2.0], [3.0, 0.0]]))
    >>> edge_index.tolist(), weight.tolist()
    ([[0, 1], [1, 0]], [2.0, 3.0])
    """
    a = A.tocoo()
    return _host.tensor(np.stack([a.row, a.col]).astype(np.int64)), _host.tensor(np.array(a.data))


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (Tensor, np.ndarray, np.generic)) else value


def to_networkx(
    data: Any,
    node_attrs: Iterable[str] | None = None,
    edge_attrs: Iterable[str] | None = None,
    graph_attrs: Iterable[str] | None = None,
    to_undirected: bool | str | None = False,
    to_multi: bool = False,
    remove_self_loops: bool = False,
) -> Any:
    """A Data or HeteroData object as a networkx graph (DiGraph; Graph with to_undirected; Multi... with to_multi).

    node_attrs, edge_attrs, graph_attrs: names of attributes that are taken along. to_undirected: True, or 'upper' or 'lower' to take only
    edges of one triangle of the adjacency matrix.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.utils import to_networkx
    >>> g = to_networkx(Data(edge_index=Tensor([[0, 1], [1, 2]]), num_nodes=3))
    >>> sorted(g.edges)
    [(0, 1), (1, 2)]
    """
    from ..data import HeteroData

    nx = _host.library("networkx", "to_networkx")
    hetero = isinstance(data, HeteroData)
    upper, lower = to_undirected == "upper", to_undirected == "lower"
    undirected = to_undirected is True or upper or lower
    if hetero and undirected:
        raise ValueError("'to_undirected' is not supported for a heterogeneous graph")
    if undirected:
        G = nx.MultiGraph() if to_multi else nx.Graph()
    else:
        G = nx.MultiDiGraph() if to_multi else nx.DiGraph()
    for key in graph_attrs or ():
        G.graph[key] = _plain(data[key])
    node_keys, edge_keys = list(node_attrs or ()), list(edge_attrs or ())
    first: dict[Any, int] = {}
    at = 0
    for store in data.node_stores:
        n = int(store.num_nodes)
        first[store._key] = at
        columns = {key: _plain(store[key]) for key in node_keys}
        for i in range(n):
            extra = {key: column[i] for key, column in columns.items()}
            G.add_node(at + i, **({"type": store._key} if hetero else {}), **extra)
        at += n
    for store in data.edge_stores:
        columns = {key: _plain(store[key]) for key in edge_keys}
        loops = remove_self_loops and not (hetero and store._key[0] != store._key[-1])
        kind = {"type": store._key} if hetero else {}
        shift = (first[store._key[0]], first[store._key[-1]]) if hetero else (0, 0)
        for i, (v, w) in enumerate(_host.edges(store.edge_index).T.tolist()):
            if (upper and v > w) or (lower and v < w) or (loops and v == w):
                continue
            G.add_edge(v + shift[0], w + shift[1], **kind, **{key: column[i] for key, column in columns.items()})
    return G


def _stack(values: Any) -> Any:
    """A list of attributes as a tensor, if they are numbers."""
    if isinstance(values, (list, tuple)) and len(values) and isinstance(values[0], Tensor):
        return Tensor.stack(*values)
    try:
        a = np.asarray(values)
    except ValueError:
        return values
    if a.dtype.kind not in "iufb" or a.dtype == object:
        return values
    return _host.tensor(a.astype(np.float32) if a.dtype == np.float64 and not isinstance(values, np.ndarray) else a)


def from_networkx(G: Any, group_node_attrs: Any = None, group_edge_attrs: Any = None) -> Any:
    """A networkx graph as a Data object; an undirected edge becomes two.

    group_node_attrs, group_edge_attrs: names of attributes (or "all") that are put side by side into x and edge_attr.

    >>> import networkx as nx
    >>> from polygrad.geometric.utils import from_networkx
    >>> from_networkx(nx.path_graph(3)).edge_index.tolist()
    [[0, 1, 1, 2], [1, 0, 2, 1]]
    """
    from ..data import Data

    G = G if G.is_directed() else G.to_directed()
    number = {node: k for k, node in enumerate(G.nodes())}
    pairs = [(number[a], number[b]) for a, b in G.edges()]
    found: dict[str, Any] = defaultdict(list)
    node_attrs = list(next(iter(G.nodes(data=True)))[-1]) if G.number_of_nodes() else []
    edge_attrs = list(next(iter(G.edges(data=True)))[-1]) if pairs else []
    if group_node_attrs is not None and not isinstance(group_node_attrs, list):
        group_node_attrs = node_attrs
    if group_edge_attrs is not None and not isinstance(group_edge_attrs, list):
        group_edge_attrs = edge_attrs
    for _, features in G.nodes(data=True):
        if set(features) != set(node_attrs):
            raise ValueError("Not all nodes contain the same attributes")
        for key, value in features.items():
            found[str(key)].append(value)
    for _, _, features in G.edges(data=True):
        if set(features) != set(edge_attrs):
            raise ValueError("Not all edges contain the same attributes")
        for key, value in features.items():
            found[f"edge_{key}" if key in node_attrs else str(key)].append(value)
    for key, value in G.graph.items():
        if key not in ("node_default", "edge_default"):
            found[f"graph_{key}" if key in node_attrs else str(key)] = value
    edge_index = _host.tensor(np.array(pairs, np.int64).reshape(-1, 2).T)
    data = Data.from_dict({"edge_index": edge_index, **{key: _stack(value) for key, value in found.items()}})
    if group_node_attrs is not None:
        data.x = _side_by_side(data, [str(k) for k in group_node_attrs])
    if group_edge_attrs is not None:
        data.edge_attr = _side_by_side(data, [f"edge_{k}" if k in node_attrs else str(k) for k in group_edge_attrs])
    if data.x is None and data.pos is None:
        data.num_nodes = G.number_of_nodes()
    return data


def _side_by_side(data: Any, keys: list[str]) -> Tensor:
    columns = []
    for key in keys:
        value = data[key]
        columns.append(value.reshape(-1, 1) if value.ndim <= 1 else value)
        del data[key]
    return Tensor.cat(*columns, dim=-1)


__all__ = ["from_networkx", "from_scipy_sparse_matrix", "to_networkx", "to_scipy_sparse_matrix"]
