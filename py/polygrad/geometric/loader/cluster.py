"""Cluster-GCN: a graph in parts with few edges between them (by METIS), and batches of parts (Chiang et al., 2019)."""

from __future__ import annotations

import copy
import os
import sys
from typing import Any, NamedTuple

import numpy as np

from ..._core import C
from ...graphs import Graph
from ...tensor import Tensor
from ..data._values import select, to_array
from ..sampler import SamplerOutput
from ..sampler._draw import Plan, Relations, Seeds
from ..sampler.neighbor_sampler import count_of, edges_of
from ._columns import Sizes, collect_sample, columns_of, place_sample
from ._loop import SamplingLoader


def metis(pairs: np.ndarray, num_nodes: int, num_parts: int, recursive: bool = False) -> np.ndarray:
    """The part of each node. Directions, loops and repeated edges do not matter."""
    graph = Graph(np.ascontiguousarray(pairs), num_nodes)
    out = np.empty(num_nodes, np.int64)
    graph._g.check(C.poly_graph_partition(graph._p, num_parts, recursive, out.ctypes.data))
    return out


class Partition(NamedTuple):
    """Nodes in the order of their parts, node_perm; those of part k are partptr[k] to partptr[k + 1]. Edges sorted by source ('csr') or by
    destination ('csc'), edge_perm: row pointers and other ends, by the new numbers of nodes."""

    indptr: Any
    index: Any
    partptr: Any
    node_perm: Any
    edge_perm: Any
    sparse_format: str


def _as_tensors(parts: Partition) -> Partition:
    return Partition._make([*(Tensor(a) for a in parts[:5]), parts.sparse_format])


class ClusterData:
    """Splits the nodes of data into num_parts parts with few edges between them. `cluster_data[k]` is the graph of part k.

    recursive: by recursive bisection instead of k-way. save_dir, filename: where the parts are kept. keep_inter_cluster_edges: the graph of a
    part has the edges out of it as well, with the numbers that nodes have among all parts. METIS comes from the system (Debian and
    Ubuntu: the package libmetis5).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import ClusterData
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> parts = ClusterData(data, num_parts=2, log=False)
    >>> len(parts), parts[0].num_nodes + parts[1].num_nodes
    (2, 4)
    """

    def __init__(
        self,
        data: Any,
        num_parts: int,
        recursive: bool = False,
        save_dir: str | None = None,
        filename: str | None = None,
        log: bool = True,
        keep_inter_cluster_edges: bool = False,
        sparse_format: str = "csr",
    ):
        if data.edge_index is None:
            raise ValueError("the data has no edge_index")
        if sparse_format not in ("csr", "csc"):
            raise ValueError(f"sparse_format must be 'csr' or 'csc', not {sparse_format!r}")
        if num_parts < 1:
            raise ValueError(f"num_parts must be at least 1, got {num_parts}")
        self.num_parts, self.recursive, self.sparse_format = num_parts, recursive, sparse_format
        self.keep_inter_cluster_edges = keep_inter_cluster_edges
        self._count = count_of(data, "nodes")
        self._pairs = np.array(edges_of(data._store), np.int64)
        self._arrays = self._divided(self._pairs, self._parts(save_dir, filename, log))
        self.partition = _as_tensors(self._arrays)
        self.data = self._permuted(data)

    def _parts(self, save_dir: str | None, filename: str | None, log: bool) -> np.ndarray:
        """The part of each node, computed or read."""
        folder = os.path.join(save_dir or "", f"part_{self.num_parts}{'_recursive' if self.recursive else ''}")
        path = os.path.join(folder, filename or "metis.npy")
        if save_dir is not None and os.path.exists(path):
            parts = np.load(path, allow_pickle=False)
            if parts.shape != (self._count,) or parts.dtype != np.int64 or (parts.size and not 0 <= parts.min() <= parts.max() < self.num_parts):
                raise ValueError(f"{path} does not hold {self.num_parts} parts of {self._count} nodes: remove it")
            return parts
        if log:
            print("Computing METIS partitioning...", file=sys.stderr)
        parts = metis(self._pairs, self._count, self.num_parts, self.recursive)
        if save_dir is not None:
            os.makedirs(folder, exist_ok=True)
            with open(path, "wb") as f:
                np.save(f, parts)
        if log:
            print("Done!", file=sys.stderr)
        return parts

    def _partition(self, edge_index: Any, cluster: Any) -> Partition:
        """Nodes and edges in the order of parts that are given: cluster has the part of each node."""
        return _as_tensors(self._divided(to_array(edge_index), to_array(cluster)))

    def _divided(self, pairs: np.ndarray, parts: np.ndarray) -> Partition:
        order = np.argsort(parts, kind="stable")
        partptr = np.zeros(self.num_parts + 1, np.int64)
        partptr[1:] = np.cumsum(np.bincount(parts, minlength=self.num_parts))
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        row, col = number[pairs]
        csr = self.sparse_format == "csr"
        edges = np.lexsort((col, row) if csr else (row, col))
        key, other = (row, col) if csr else (col, row)
        indptr = np.zeros(self._count + 1, np.int64)
        indptr[1:] = np.cumsum(np.bincount(key, minlength=self._count))
        return Partition(indptr, np.ascontiguousarray(other[edges]), partptr, order, edges, self.sparse_format)

    def _permuted(self, data: Any) -> Any:
        """Attributes in the order of the parts, without edge_index."""
        out = copy.copy(data)
        for key, value in data.items():
            if key == "edge_index":
                continue
            if data.is_node_attr(key):
                out[key] = select(value, self._arrays.node_perm, data.__cat_dim__(key, value))
            elif data.is_edge_attr(key):
                out[key] = select(value, self._arrays.edge_perm, data.__cat_dim__(key, value))
        out["num_nodes"] = self._count if "num_nodes" in data else None
        out.edge_index = None
        known = copy.copy(out)  # says what belongs to nodes and what to edges, although there is no edge_index
        known["num_nodes"], known["num_edges"] = self._count, self._arrays.index.size
        self._columns = columns_of(known._store)
        return out

    def __len__(self) -> int:
        return self.num_parts

    def __getitem__(self, idx: int) -> Any:
        """The graph of one part."""
        if not -self.num_parts <= idx < self.num_parts:
            raise IndexError(f"part {idx} of {self.num_parts}")
        p = self._arrays
        first, last = (int(v) for v in p.partptr[idx % self.num_parts : idx % self.num_parts + 2])
        begin, end = int(p.indptr[first]), int(p.indptr[last])
        key = np.repeat(np.arange(last - first), np.diff(p.indptr[first : last + 1]))
        other, edges = p.index[begin:end], np.arange(begin, end)
        if not self.keep_inter_cluster_edges:
            keep = (other >= first) & (other < last)
            key, other, edges = key[keep], other[keep] - first, edges[keep]
        row, col = (key, other) if self.sparse_format == "csr" else (other, key)
        out = copy.copy(self.data)
        nodes = np.arange(first, last)
        for names, index in ((self._columns.node, nodes), (self._columns.edge, edges)):
            for name, _, dim in names:
                out[name] = select(self.data[name], index, dim)
        if "num_nodes" in self.data:
            out["num_nodes"] = nodes.size
        out.edge_index = Tensor(np.stack([row, col]))
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_parts})"


class ClusterLoader(SamplingLoader):
    """Batches of batch_size parts of a ClusterData, with the edges between them. Further arguments: see SamplingLoader.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.loader import ClusterData, ClusterLoader
    >>> data = Data(x=Tensor.ones(4, 2), edge_index=Tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))
    >>> loader = ClusterLoader(ClusterData(data, num_parts=2, log=False), batch_size=2)
    >>> [int(batch.num_nodes) for batch in loader]
    [4]
    """

    def __init__(self, cluster_data: ClusterData, **kwargs: Any):
        self.cluster_data = cluster_data
        p = cluster_data._arrays
        key = np.repeat(np.arange(p.indptr.size - 1), np.diff(p.indptr))
        self._relations = Relations([p.indptr.size - 1])
        self._relations.add(0, 0, p.index, key)
        self._plan = Plan(np.zeros((1, 0), np.int64), induced=True)
        super().__init__(len(cluster_data), **kwargs)

    def _prepare(self) -> Any:
        return {None: self.cluster_data._columns}

    def _work(self, prepared: Any, seed: int, number: int, index: np.ndarray) -> Any:
        ptr = self.cluster_data._arrays.partptr
        nodes = np.concatenate([np.zeros(0, np.int64), *(np.arange(ptr[k], ptr[k + 1]) for k in index)])
        d = self._relations.draw(self._plan, [Seeds(0, nodes)], seed, number, self._threads)
        other, key = d.pairs[0]
        row, col = (key, other) if self.cluster_data.sparse_format == "csr" else (other, key)
        out = SamplerOutput(d.node[0], row, col, d.edge[0])
        return out, collect_sample(self.cluster_data.data, prepared, out, self._threads)

    def _make_batch(self, prepared: Any, work: Any) -> Any:
        data = self.cluster_data.data
        batch = place_sample(data, prepared, work[0], work[1], Sizes(self.static_sizes))
        for key in ("n_id", "e_id"):
            if key not in data:
                batch._store[key] = None
        return batch


__all__ = ["ClusterData", "ClusterLoader", "Partition", "metis"]
