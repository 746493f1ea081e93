"""Sets of graphs and of links in the raw layout of the Open Graph Benchmark."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.collate import pointers
from ..data.data import Data
from ._nested import load_torch
from ._tables import read_table
from .ogb import OGBNodeDataset, _attach, _labels, _nodes

LINKS = "https://snap.stanford.edu/ogb/data/linkproppred"
GRAPHS = "https://snap.stanford.edu/ogb/data/graphproppred"
_MOLECULES = ("bace", "bbbp", "clintox", "esol", "freesolv", "hiv", "lipo", "muv", "pcba", "sider", "tox21", "toxcast")


class OGBLinkDataset(OGBNodeDataset):
    """A graph whose links are to be predicted: ogbl-ppa, ogbl-collab, ogbl-ddi, ogbl-citation2, or any folder of that layout.

    `get_edge_split()` gives the edges of each part, as the files `split/<kind>/{train,valid,test}.pt` have them.

    >>> from polygrad.geometric.datasets import OGBLinkDataset
    >>> dataset = OGBLinkDataset("ogbl-collab", root="data")  # doctest: +SKIP
    >>> data, split = dataset[0], dataset.get_edge_split()  # doctest: +SKIP
    """

    addresses: ClassVar[dict[str, str]] = {
        "ogbl-ppa": f"{LINKS}/ppassoc.zip", "ogbl-collab": f"{LINKS}/collab.zip", "ogbl-ddi": f"{LINKS}/ddi.zip",
        "ogbl-citation2": f"{LINKS}/citation-v2.zip",
    }  # fmt: skip
    both_ways: ClassVar[set[str]] = {"ogbl-ppa", "ogbl-collab", "ogbl-ddi"}
    splits: ClassVar[dict[str, str]] = {"ogbl-ppa": "throughput", "ogbl-collab": "time", "ogbl-ddi": "target", "ogbl-citation2": "time"}

    @property
    def is_hetero(self) -> bool:
        return False

    def get_idx_split(self, split_type: str | None = None) -> dict[str, Any]:
        raise AttributeError(f"{self.name} is divided by edges: see get_edge_split")

    def get_edge_split(self, split_type: str | None = None) -> dict[str, dict[str, Any]]:
        """{"train", "valid", "test": {"edge": [N, 2], "edge_neg": ..., ...}}."""
        folder = self._split_folder(split_type)
        n = int(self._data.num_nodes)
        return {part: _links(os.path.join(folder, f"{part}.pt"), n) for part in ("train", "valid", "test")}


def _links(path: str, n: int) -> dict[str, Any]:
    table = load_torch(path)
    if not isinstance(table, dict):
        raise ValueError(f"{path}: a dict of tensors is needed")
    out = {}
    for key, value in table.items():
        if not isinstance(value, (Tensor, np.ndarray)):
            raise ValueError(f"{path}: {key!r} is a {type(value).__name__}")
        a = value.numpy() if isinstance(value, Tensor) else value
        if ("edge" in key or "node" in key) and a.dtype.kind in "iu" and a.size and (a.min() < 0 or a.max() >= n):
            raise ValueError(f"{path}: {key!r} names a node beyond the {n} that there are")
        out[str(key)] = Tensor(np.ascontiguousarray(a))
    return out


PygLinkPropPredDataset = OGBLinkDataset


class OGBGraphDataset(OGBNodeDataset):
    """A set of graphs with targets: ogbg-molhiv, ogbg-molpcba and the other molecules, ogbg-ppa, or any folder of that layout.

    `get_idx_split()` gives the graphs of each part.

    >>> from polygrad.geometric.datasets import OGBGraphDataset
    >>> dataset = OGBGraphDataset("ogbg-molhiv", root="data")  # doctest: +SKIP
    >>> data, split = dataset[0], dataset.get_idx_split()  # doctest: +SKIP
    """

    addresses: ClassVar[dict[str, str]] = {
        **{f"ogbg-mol{m}": f"{GRAPHS}/csv_mol_download/{m}.zip" for m in _MOLECULES},
        "ogbg-ppa": f"{GRAPHS}/ogbg_ppi_medium.zip",
    }
    both_ways: ClassVar[set[str]] = set(addresses)
    splits: ClassVar[dict[str, str]] = {**{f"ogbg-mol{m}": "scaffold" for m in _MOLECULES}, "ogbg-ppa": "species"}

    @property
    def is_hetero(self) -> bool:
        return False

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return (*read_graphs(self.raw_dir, self._inverse), {})

    def get_idx_split(self, split_type: str | None = None) -> dict[str, Any]:
        folder = self._split_folder(split_type)
        return {part: _nodes(os.path.join(folder, f"{part}.csv.gz"), self.len()) for part in ("train", "valid", "test")}

    @property
    def num_tasks(self) -> int:
        """How many targets a graph has."""
        return int(self._data.y.shape[1])


PygGraphPropPredDataset = OGBGraphDataset


def read_graphs(folder: str, inverse: bool = False) -> tuple[Data, dict[str, np.ndarray]]:
    """All graphs of the files in a folder `raw` joined, and their slices. inverse: with the opposite of each edge right after it."""
    counts = {k: read_table(os.path.join(folder, f"num-{k}-list.csv.gz"), np.int64, 1).reshape(-1) for k in ("node", "edge")}
    nodes, edges = counts["node"], counts["edge"]
    path = os.path.join(folder, "edge.csv.gz")
    pairs = read_table(path, np.int64, 2).T
    if nodes.size != edges.size or not nodes.size or min(nodes.min(), edges.min()) < 0 or max(nodes.max(), edges.max()) > 1 << 40:
        raise ValueError(f"{folder}: numbers of nodes of {nodes.size} graphs and of edges of {edges.size}")
    if pairs.shape[1] != edges.sum():
        raise ValueError(f"{path}: {pairs.shape[1]} edges, where {int(edges.sum())} are announced")
    limit = np.repeat(nodes, edges)
    if pairs.size and (pairs.min() < 0 or (pairs >= limit).any()):
        raise ValueError(f"{path}: an edge leads beyond the nodes of its graph")
    columns: dict[str, np.ndarray] = {}
    _attach(columns, folder, "node", int(nodes.sum()))
    _attach(columns, folder, "edge", pairs.shape[1], edges=True)
    step = 1
    if inverse:
        both = np.repeat(pairs, 2, axis=1)
        both[:, 1::2] = pairs[::-1]
        pairs, step = both, 2
        columns |= {k: np.repeat(v, 2, axis=0) for k, v in columns.items() if k.startswith("edge")}
    node_ptr, edge_ptr = pointers(nodes), pointers(edges * step)
    data = Data(edge_index=Tensor(np.ascontiguousarray(pairs)))
    slices = {"edge_index": edge_ptr}
    for name, table in columns.items():
        whole = table.dtype.kind == "f" and name in ("x", "edge_attr") and np.array_equal(table, np.rint(table))
        data[name] = Tensor(np.ascontiguousarray(table, np.int64 if whole else None))
        slices[name] = edge_ptr if name.startswith("edge") else node_ptr
    data.num_nodes, data._num_nodes = int(nodes.sum()), nodes.tolist()
    path = os.path.join(folder, "graph-label.csv.gz")
    if os.path.isfile(path):
        y = _labels(path)
        if len(y) != nodes.size:
            raise ValueError(f"{path}: {len(y)} targets of {nodes.size} graphs")
        data.y, slices["y"] = Tensor(np.ascontiguousarray(y)), np.arange(nodes.size + 1)
    return data, slices


__all__ = ["OGBGraphDataset", "OGBLinkDataset", "PygGraphPropPredDataset", "PygLinkPropPredDataset", "read_graphs"]
