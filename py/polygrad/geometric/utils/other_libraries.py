"""Graphs of other libraries: NetworKit, trimesh, DGL and cuGraph. Each is imported when it is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ._host import library
from ._host import read as host


def to_networkit(edge_index: Tensor, edge_weight: Tensor | None = None, num_nodes: int | None = None, directed: bool = True) -> Any:
    """A networkit.Graph of edges [2, E] with weights [E]. directed=False: an edge for each pair of opposite ones.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import to_networkit
    >>> to_networkit(Tensor([[0, 1], [1, 2]])).numberOfEdges()  # doctest: +SKIP
    2
    """
    networkit = library("networkit", "graphs of networkit")
    pairs = host(edge_index)
    weight = np.ones(pairs.shape[1]) if edge_weight is None else host(edge_weight)
    count = num_nodes if num_nodes is not None else int(pairs.max(initial=-1)) + 1
    graph = networkit.graph.Graph(count, weighted=edge_weight is not None, directed=directed)
    if not directed:
        once = pairs[0] <= pairs[1]
        pairs, weight = pairs[:, once], weight[once]
    for u, v, w in zip(*pairs.tolist(), weight.tolist()):
        graph.addEdge(u, v, w)
    return graph


def from_networkit(g: Any) -> tuple[Tensor, Tensor | None]:
    """Edges [2, E] and weights [E] of a networkit.Graph; None where it has no weights. An edge without a direction is there twice.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import from_networkit, to_networkit
    >>> from_networkit(to_networkit(Tensor([[0, 1], [1, 2]])))[0].tolist()  # doctest: +SKIP
    [[0, 1], [1, 2]]
    """
    found = [(u, v, w) for a, b, w in g.iterEdgesWeights() for u, v in ([(a, b)] if g.isDirected() else [(a, b), (b, a)])]
    pairs = np.array([e[:2] for e in found], np.int64).reshape(-1, 2).T
    return Tensor(np.ascontiguousarray(pairs)), Tensor(np.array([e[2] for e in found], np.float32)) if g.isWeighted() else None


def to_trimesh(data: Any) -> Any:
    """A trimesh.Trimesh of positions `pos` [V, 3] and triangles `face` [3, N].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.utils import to_trimesh
    >>> mesh = to_trimesh(Data(pos=Tensor.eye(3), face=Tensor([[0], [1], [2]])))  # doctest: +SKIP
    """
    trimesh = library("trimesh", "graphs of trimesh")
    return trimesh.Trimesh(vertices=host(data.pos), faces=host(data.face).T, process=False)


def from_trimesh(mesh: Any) -> Any:
    """Data with the positions and triangles of a trimesh.Trimesh.

    >>> from polygrad.geometric.utils import from_trimesh
    >>> data = from_trimesh(mesh)  # doctest: +SKIP
    """
    from ..data.data import Data

    face = np.ascontiguousarray(np.asarray(mesh.faces, np.int64).T)
    return Data(pos=Tensor(np.asarray(mesh.vertices, np.float32)), face=Tensor(face))


def to_dgl(data: Any) -> Any:
    """A DGL graph of Data or HeteroData, with the attributes of nodes and edges.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.utils import to_dgl
    >>> g = to_dgl(Data(x=Tensor.ones(3, 2), edge_index=Tensor([[0, 1], [1, 2]])))  # doctest: +SKIP
    """
    from ..data.hetero_data import HeteroData

    dgl, torch = library("dgl", "graphs of DGL"), library("torch", "graphs of DGL")

    def given(value: Tensor) -> Any:
        return torch.from_numpy(np.ascontiguousarray(host(value)))

    def pairs(store: Any) -> tuple[Any, Any]:
        if "adj_t" in store and "edge_index" not in store:
            col, row, _ = store["adj_t"].coo()
            return given(row), given(col)
        index = given(store["edge_index"])
        return index[0], index[1]

    def fill(frame: Any, store: Any, keys: Any) -> None:
        for key in keys:
            if key not in ("edge_index", "adj_t") and isinstance(store[key], Tensor):
                frame[key] = given(store[key])

    if isinstance(data, HeteroData):
        graph = dgl.heterograph({kind: pairs(store) for kind, store in data.edge_items()}, {k: s.num_nodes for k, s in data.node_items()})
        for kind, store in data.node_items():
            fill(graph.nodes[kind].data, store, store.keys())
        for edge, values in data.edge_items():
            fill(graph.edges[edge].data, values, values.keys())
        return graph
    graph = dgl.graph(pairs(data), num_nodes=data.num_nodes)
    fill(graph.ndata, data, data.node_attrs())
    fill(graph.edata, data, data.edge_attrs())
    return graph


def from_dgl(g: Any) -> Any:
    """Data, or HeteroData for a graph of several types, out of a DGL graph.

    >>> from polygrad.geometric.utils import from_dgl
    >>> data = from_dgl(g)  # doctest: +SKIP
    """
    from ..data.data import Data
    from ..data.hetero_data import HeteroData

    def taken(value: Any) -> Tensor:
        return Tensor(np.ascontiguousarray(value.detach().cpu().numpy()))

    def edges(found: Any) -> Tensor:
        return Tensor(np.stack([f.cpu().numpy().astype(np.int64) for f in found]))

    if g.is_homogeneous:
        data = Data(edge_index=edges(g.edges()), num_nodes=g.num_nodes())
        for frame in (g.ndata, g.edata):
            for key, value in frame.items():
                data[key] = taken(value)
        return data
    out = HeteroData()
    for kind in g.ntypes:
        out[kind].num_nodes = g.num_nodes(kind)
        for key, value in g.nodes[kind].data.items():
            out[kind][key] = taken(value)
    for edge in g.canonical_etypes:
        out[edge].edge_index = edges(g.edges(etype=edge))
        for key, value in g.edges[edge].data.items():
            out[edge][key] = taken(value)
    return out


def to_cugraph(edge_index: Tensor, edge_weight: Tensor | None = None, relabel_nodes: bool = True, directed: bool = True) -> Any:
    """A cugraph.Graph of edges [2, E] with weights [E].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.utils import to_cugraph
    >>> g = to_cugraph(Tensor([[0, 1], [1, 2]]))  # doctest: +SKIP
    """
    cudf, cugraph = library("cudf", "graphs of cuGraph"), library("cugraph", "graphs of cuGraph")
    pairs = host(edge_index)
    columns = {"source": pairs[0], "destination": pairs[1]} | ({} if edge_weight is None else {"weight": host(edge_weight)})
    graph = cugraph.Graph(directed=directed)
    weight = None if edge_weight is None else "weight"
    graph.from_cudf_edgelist(cudf.DataFrame(columns), source="source", destination="destination", edge_attr=weight, renumber=relabel_nodes)
    return graph


def from_cugraph(g: Any) -> tuple[Tensor, Tensor | None]:
    """Edges [2, E] and weights [E] of a cugraph.Graph; None where it has no weights.

    >>> from polygrad.geometric.utils import from_cugraph
    >>> edge_index, edge_weight = from_cugraph(g)  # doctest: +SKIP
    """
    table = g.view_edge_list()
    pairs = [np.asarray(table[c].to_numpy(), np.int64).reshape(-1) for c in (g.source_columns, g.destination_columns)]
    weight = None if g.weight_column is None else Tensor(np.asarray(table[g.weight_column].to_numpy()).reshape(-1))
    return Tensor(np.stack(pairs)), weight


__all__ = ["from_cugraph", "from_dgl", "from_networkit", "from_trimesh", "to_cugraph", "to_dgl", "to_networkit", "to_trimesh"]
