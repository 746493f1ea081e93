"""Attributes of nodes and edges, and their rows that belong to a sample: collected as arrays on any thread, made tensors in one place."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from ...autograd import making
from ...tensor import Tensor
from ..data import HeteroData
from ..data._sizes import size, sized
from ..data._there import join, there
from ..sampler._draw import gather
from ..sampler.neighbor_sampler import host, matrix_of
from ._stores import Remote, remote_of


class Column(NamedTuple):
    """One attribute. values: an array on the host; a list; a tensor whose rows are taken when the batch is made, because it has a
    gradient or a device alone has it; None for a matrix without values."""

    key: str
    values: Any
    dim: int


class Columns(NamedTuple):
    """The attributes of one storage by what they belong to."""

    node: list[Column]
    edge: list[Column]


def _column(store: Any, key: str, value: Any) -> Column:
    if isinstance(value, (list, tuple)):
        return Column(key, value, 0)
    dim = store._cat_dim(key, value) % value.ndim
    if isinstance(value, Tensor):
        value = value if value.requires_grad or value.dtype.np is None or there(value) else host(value)
    return Column(key, value, dim)


def columns_of(store: Any) -> Columns:
    """To be called in the thread that the tensors belong to."""
    node, edge = [], []
    name, matrix = matrix_of(store)
    for key, value in store.items():
        if key in ("edge_index", "num_nodes", "num_edges"):
            continue
        if key == name:
            values = matrix._value
            edge.append(Column(key, None if values is None else host(values) if not values.requires_grad else values, 0))
        elif store.is_node_attr(key):
            node.append(_column(store, key, value))
        elif store.is_edge_attr(key):
            edge.append(_column(store, key, value))
    return Columns(node, edge)


def all_columns(data: Any) -> dict[Any, Columns]:
    """By type; None for an ordinary graph."""
    hetero = isinstance(data, HeteroData)
    out = {key: columns_of(store) for key, store in ([*data.node_items(), *data.edge_items()] if hetero else [(None, data._store)])}
    for key, parts in remote_of(data).items():
        if key in out:
            mine = out[key].edge if isinstance(key, tuple) else out[key].node
            mine.extend(Column(name, part, 0) for name, part in parts.items())
    return out


def collect(columns: list[Column], index: Any, threads: int) -> dict[str, Any]:
    """The rows `index` of every column. Without an index the attributes are not there."""
    out: dict[str, Any] = {}
    if isinstance(index, Tensor) and not all(isinstance(c.values, Tensor) for c in columns):
        index = index.numpy()  # some attributes lie on the host
    for key, values, dim in columns:
        if index is None or values is None:
            out[key] = None
        elif isinstance(values, np.ndarray):
            out[key] = gather(values, index, threads) if dim == 0 else np.take(values, index, axis=dim)
        elif isinstance(values, Remote):
            out[key] = values.rows(index)
        elif isinstance(values, (list, tuple)):
            out[key] = type(values)(values[k] for k in index)
        else:
            out[key] = values  # a tensor: see place
    return out


def place(store: Any, columns: list[Column], found: dict[str, Any], index: Any, rows: Any) -> None:
    """Puts the collected rows into a storage. rows: how many there are, a number or a variable."""
    taken: list[Tensor] = []
    at = sized(index, 0, rows) if any(isinstance(found[key], Tensor) for key, _, _ in columns) else None
    for key, _, dim in columns:
        value = found[key]
        if isinstance(value, np.ndarray):
            value = sized(value, dim, rows)
        elif isinstance(value, Tensor):
            value = value[(*[slice(None)] * dim, at)]
            if not value.requires_grad:
                taken.append(value)
        store[key] = value
    if taken:
        Tensor.realize(*taken)


class Sizes:
    """Numbers of nodes, edges and seeds of a batch: variables, or plain numbers if static. Names of variables say the type."""

    def __init__(self, static: bool):
        self.static = static

    def __call__(self, name: str, n: int, key: Any = None) -> Any:
        if self.static:
            return n
        prefix = "" if key is None else f"{key}_" if isinstance(key, str) else "_".join(key) + "_"
        return size(prefix + name, n)

    def hops(self, name: str, counts: list[int] | None, key: Any = None) -> Any:
        return None if counts is None else [self(f"{name}_{k}", n, key) for k, n in enumerate(counts)]


def pairs_of(row: Any, col: Any) -> Any:
    """[2, E]; the memory that both are rows of, where there is such."""
    if isinstance(row, Tensor):
        return join([row.reshape(1, -1), col.reshape(1, -1)], 0)
    whole = row.base
    if whole is not None and whole is col.base and isinstance(whole, np.ndarray) and whole.shape == (2, row.size):
        first, second = whole.ctypes.data, whole.ctypes.data + 8 * row.size
        if row.ctypes.data == first and col.ctypes.data == second and whole.flags.c_contiguous:
            return whole
    return np.stack([row, col])


def place_sample(data: Any, columns: dict[Any, Columns], out: Any, found: dict[Any, Any], sizes: Sizes) -> Any:
    """A copy of data with the nodes and edges of a sample: SamplerOutput or HeteroSamplerOutput of arrays."""
    made = copy.copy(data)
    if not isinstance(data, HeteroData):
        nodes, edges = sizes("nodes", int(out.node.shape[0])), sizes("edges", int(out.row.shape[0]))
        place_nodes(made._store, columns[None].node, found[None], out.node, nodes)
        place_edges(made._store, columns[None].edge, found[None], pairs_of(out.row, out.col), out.edge, edges)
        place_batch(made._store, out.batch, nodes)
        made._store["num_sampled_nodes"] = sizes.hops("nodes", out.num_sampled_nodes)
        made._store["num_sampled_edges"] = sizes.hops("edges", out.num_sampled_edges)
        return made
    none = np.zeros(0, np.int64)
    for kind, store in made.node_items():
        node = out.node.get(kind, none)
        nodes = sizes("nodes", node.size, kind)
        place_nodes(store, columns[kind].node, found[kind], node, nodes)
        place_batch(store, (out.batch or {}).get(kind), nodes)
        store["num_sampled_nodes"] = sizes.hops("nodes", (out.num_sampled_nodes or {}).get(kind), kind)
    for kind, store in made.edge_items():
        row, col = out.row.get(kind, none), out.col.get(kind, none)
        edge = (out.edge or {}).get(kind, none)
        place_edges(store, columns[kind].edge, found[kind], pairs_of(row, col), edge, sizes("edges", row.size, kind))
        store["num_sampled_edges"] = sizes.hops("edges", (out.num_sampled_edges or {}).get(kind), kind)
    return made


def place_nodes(store: Any, columns: list[Column], found: dict[str, Any], node: Any, nodes: Any) -> None:
    place(store, columns, found, node, nodes)
    if "num_nodes" in store:
        store["num_nodes"] = nodes
    if "n_id" not in store:
        store["n_id"] = sized(node, 0, nodes)


def place_edges(store: Any, columns: list[Column], found: dict[str, Any], pairs: Any, edge: Any, edges: Any) -> None:
    name, matrix = matrix_of(store)
    place(store, [c for c in columns if c.key != name], found, edge, edges)
    if name is None:
        store["edge_index"] = sized(pairs, 1, edges)
    else:
        order = 1 if name == "adj" else -1  # rows of adj are sources, those of adj_t destinations
        store[name] = _part_of(matrix, pairs[::order], found[name], edge, store.size()[::order])
    if edge is not None and "e_id" not in store:
        store["e_id"] = sized(edge, 0, edges)


def _part_of(matrix: Any, pairs: np.ndarray, values: Any, edge: Any, sizes: Any) -> Any:
    """The matrix of some of the entries of a matrix. values: those of the entries, or of all where a gradient is wanted."""
    order = np.lexsort((pairs[1], pairs[0]))
    with making(matrix._kind):
        if isinstance(values, np.ndarray):
            values = Tensor(np.ascontiguousarray(values[order]))
        elif values is not None:
            values = values[Tensor(edge[order])]
    return matrix._made(row=pairs[0][order], col=pairs[1][order], value=values, sparse_sizes=tuple(int(n) for n in sizes), is_sorted=True)


def without_edges(batch: Any, data: Any) -> Any:
    """A sample of a graph of nodes alone has no edge_index either."""
    if not isinstance(data, HeteroData) and not any(key in data for key in ("edge_index", "adj", "adj_t")):
        batch.edge_index = None
    return batch


def place_batch(store: Any, of: np.ndarray | None, rows: Any) -> None:
    """`batch`, the seed that each node belongs to, of a disjoint sample."""
    store["batch"] = None if of is None else sized(of, 0, rows)


def collect_sample(data: Any, columns: dict[Any, Columns], out: Any, threads: int) -> dict[Any, Any]:
    """The rows of all attributes for a sample, by type."""
    if not isinstance(data, HeteroData):
        part = columns[None]
        return {None: {**collect(part.node, out.node, threads), **collect(part.edge, out.edge, threads)}}
    none = np.zeros(0, np.int64)
    found = {kind: collect(columns[kind].node, out.node.get(kind, none), threads) for kind in data.node_types}
    edge = out.edge or {}
    return found | {kind: collect(columns[kind].edge, edge.get(kind, none), threads) for kind in data.edge_types}


__all__ = ["Columns", "Sizes", "all_columns", "collect_sample", "columns_of", "place_sample", "without_edges"]
