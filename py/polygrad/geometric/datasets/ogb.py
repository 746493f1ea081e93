"""Graphs in the raw layout of the Open Graph Benchmark's node property prediction."""

from __future__ import annotations

import os
import shutil
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.download import download_url
from ..data.extract import extract_zip
from ..data.hetero_data import HeteroData
from ._arrays import float32
from ._edge_lists import check_pairs
from ._files import FileDataset, one
from ._tables import read_table

URLS = {
    "ogbn-arxiv": "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip",
    "ogbn-products": "https://snap.stanford.edu/ogb/data/nodeproppred/products.zip",
    "ogbn-proteins": "https://snap.stanford.edu/ogb/data/nodeproppred/proteins.zip",
    "ogbn-mag": "https://snap.stanford.edu/ogb/data/nodeproppred/mag.zip",
}
EDGE_COLUMNS = ("edge_attr", "edge_reltype", "edge_weight", "edge_year")
BOTH_WAYS = {"ogbn-products", "ogbn-proteins"}  # their files hold every edge once
SPLITS = {"ogbn-arxiv": "time", "ogbn-products": "sales_ranking", "ogbn-proteins": "species", "ogbn-mag": "time"}


class OGBNodeDataset(FileDataset):
    """A graph of `raw/edge.csv.gz`, `raw/node-feat.csv.gz`, `raw/node-label.csv.gz`, ... with its splits in `split/<kind>/{train,valid,test}.csv.gz`.

    name: such as "ogbn-arxiv". The folder `<name>` with a hyphen or an underscore (`ogbn_arxiv`) is looked for in root and in the
    other places; any folder of this layout will do. `get_idx_split()` gives the nodes of each part.
    add_inverse_edge: adds the opposite of each edge after it; by default for the sets whose files hold every edge once.

    >>> from polygrad.geometric.datasets import OGBNodeDataset
    >>> dataset = OGBNodeDataset("ogbn-arxiv", root="data")  # doctest: +SKIP
    >>> data, split = dataset[0], dataset.get_idx_split()  # doctest: +SKIP
    """

    group: ClassVar[str] = "ogb"
    addresses: ClassVar[dict[str, str]] = URLS
    both_ways: ClassVar[set[str]] = BOTH_WAYS
    splits: ClassVar[dict[str, str]] = SPLITS

    def __init__(
        self,
        name: str,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        meta_dict: dict[str, Any] | None = None,
        add_inverse_edge: bool | None = None,
        force_reload: bool = False,
    ):
        self.name = name
        self._inverse = name in self.both_ways if add_inverse_edge is None else add_inverse_edge
        super().__init__(root, transform, pre_transform, force_reload=force_reload, data_cls=HeteroData if self.is_hetero else Data)

    @property
    def is_hetero(self) -> bool:
        return self.name == "ogbn-mag"

    @property
    def raw_file_names(self) -> list[str]:
        return ["triplet-type-list.csv.gz"] if self.is_hetero else ["edge.csv.gz", "num-node-list.csv.gz"]

    def _folders(self, folder: str) -> list[str]:
        names = dict.fromkeys([self.name.replace("-", "_"), self.name, self.name.partition("-")[2] or self.name])
        return [os.path.join(folder, *inner) for n in names for inner in ((n,), (self.group, n))] + [folder]

    def _places(self, folder: str) -> list[str]:
        return [os.path.join(f, "raw") for f in self._folders(folder)]

    def _download_dir(self) -> str:
        return os.path.join(self.root or os.path.dirname(super()._download_dir()), self.name.replace("-", "_"), "raw")

    @property
    def processed_dir(self) -> str:
        return os.path.join(self._folder(self.name.replace("-", "_")), "processed")

    @property
    def processed_file_names(self) -> str:
        return f"data{'_inverse' if self._inverse else ''}.safetensors"

    def download(self) -> None:
        if self.name not in self.addresses:
            raise ValueError(f"there is no address for {self.name!r}, only for {', '.join(self.addresses)}")
        folder = os.path.dirname(self._download_dir())
        path = download_url(self.addresses[self.name], os.path.dirname(folder))
        extract_zip(path, os.path.dirname(folder))
        inner = os.path.join(os.path.dirname(folder), os.path.basename(path)[:-4])
        if os.path.isdir(inner) and inner != folder:
            shutil.move(inner, folder)
        os.remove(path)

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_hetero(self.raw_dir) if self.is_hetero else read_graph(self.raw_dir, self._inverse))

    def _split_folder(self, split_type: str | None) -> str:
        base = os.path.join(os.path.dirname(self.raw_dir), "split")
        kind = split_type or self.splits.get(self.name)
        if kind is None:
            found = sorted(os.listdir(base)) if os.path.isdir(base) else []
            if len(found) != 1:
                raise FileNotFoundError(f"{base} must have one folder of a split, or split_type must be given; it has {found}")
            kind = found[0]
        return os.path.join(base, kind)

    def get_idx_split(self, split_type: str | None = None) -> dict[str, Any]:
        """The nodes for training, validation and test: {"train": ..., "valid": ..., "test": ...}, by node type for a graph of many."""
        folder = self._split_folder(split_type)
        if not self.is_hetero:
            n = int(self._data.num_nodes)
            return {part: _nodes(os.path.join(folder, f"{part}.csv.gz"), n) for part in ("train", "valid", "test")}
        types = [t for t in self._data.node_types if os.path.isdir(os.path.join(folder, t))]
        return {
            part: {t: _nodes(os.path.join(folder, t, f"{part}.csv.gz"), int(self._data[t].num_nodes)) for t in types}
            for part in ("train", "valid", "test")
        }

    @property
    def num_classes(self) -> int:
        stores = [s for s in self._data.node_stores if "y" in s]
        y = stores[0]["y"].numpy()
        return int(np.nanmax(y)) + 1 if y.ndim < 2 or y.shape[1] == 1 else int(y.shape[1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


PygNodePropPredDataset = OGBNodeDataset


def _nodes(path: str, n: int) -> Tensor:
    index = read_table(path, np.int64, 1).reshape(-1)
    if index.size and (index.min() < 0 or index.max() >= n):
        raise ValueError(f"{path}: it names node {int(index.max() if index.max() >= n else index.min())}, but there are {n}")
    return Tensor(np.ascontiguousarray(index))


def _count(path: str) -> int:
    table = read_table(path, np.int64)
    if table.size != 1 or table[0, 0] < 0:
        raise ValueError(f"{path}: one number is needed; files of many graphs are not read")
    return int(table[0, 0])


def _labels(path: str) -> np.ndarray:
    """Whole numbers as int64; labels that are missing (nan) make them float32."""
    try:
        return read_table(path, np.int64)
    except ValueError:
        values = read_table(path, np.float64)
        whole = np.array_equal(values, np.rint(values)) and bool((np.abs(values) < 2.0**63).all())
        return values.astype(np.int64) if whole else float32(values)


def _attach(store: Any, folder: str, prefix: str, rows: int, edges: bool = False) -> None:
    """Features, labels and further columns of nodes or edges, where there are files of them."""
    kind = "edge" if edges else "node"
    found = {"edge_attr" if edges else "x": f"{kind}-feat"} | ({} if edges else {"y": "node-label", "node_year": "node_year"})
    found |= {k: k for k in ("edge_reltype", "edge_weight", "edge_year")} if edges else {"node_species": "node_species"}
    for name, stem in found.items():
        path = os.path.join(folder, f"{stem}.csv.gz")
        if not os.path.isfile(path):
            continue
        table = _labels(path) if name not in ("x", "edge_attr") else float32(read_table(path, np.float64))
        if table.shape[0] != rows:
            raise ValueError(f"{path}: {table.shape[0]} rows for {rows} {kind}s")
        store[name] = table


def _pairs(path: str, size: tuple[int, int], count: int | None) -> np.ndarray:
    pairs = np.ascontiguousarray(read_table(path, np.int64, 2).T)
    if size[0] == size[1]:
        check_pairs(pairs, size[0], path)
    elif pairs.size and (pairs.min() < 0 or (pairs.max(axis=1) >= size).any()):
        raise ValueError(f"{path}: an edge leads beyond the {size[0]} and {size[1]} nodes that there are")
    if count is not None and pairs.shape[1] != count:
        raise ValueError(f"{path}: {pairs.shape[1]} edges, where {count} are announced")
    return pairs


def _announced(folder: str) -> int | None:
    path = os.path.join(folder, "num-edge-list.csv.gz")
    return _count(path) if os.path.isfile(path) else None


def read_graph(folder: str, inverse: bool = False) -> Data:
    """The graph of the files in a folder `raw`. inverse: with the opposite of each edge right after it."""
    n = _count(os.path.join(folder, "num-node-list.csv.gz"))
    pairs = _pairs(os.path.join(folder, "edge.csv.gz"), (n, n), _announced(folder))
    columns: dict[str, np.ndarray] = {}
    _attach(columns, folder, "node", n)
    _attach(columns, folder, "edge", pairs.shape[1], edges=True)
    if inverse:
        both = np.repeat(pairs, 2, axis=1)
        both[:, 1::2] = pairs[::-1]
        pairs = both
        for name in EDGE_COLUMNS:
            if name in columns:
                columns[name] = np.repeat(columns[name], 2, axis=0)
    data = Data(num_nodes=n, edge_index=Tensor(pairs))
    for name, table in columns.items():
        data[name] = Tensor(np.ascontiguousarray(table))
    return data


def read_hetero(folder: str) -> HeteroData:
    """The graph of many types in a folder `raw`: `nodetype-has-feat`, `triplet-type-list` and a folder for each relation."""
    from ..data.extract import read_gz

    triples = [tuple(line.split(",")) for line in read_gz(os.path.join(folder, "triplet-type-list.csv.gz")).decode().split() if line]
    if not all(len(t) == 3 and all(part and os.sep not in part and part != ".." for part in t) for t in triples):
        raise ValueError(f"{folder}: the list of relations is damaged")
    counts = _type_counts(os.path.join(folder, "num-node-dict.csv.gz"))
    data = HeteroData()
    for kind, n in counts.items():
        columns: dict[str, np.ndarray] = {}
        for inner in ("node-feat", "node-label", "node_year"):
            place = os.path.join(folder, inner, kind) if inner != "node_year" else os.path.join(folder, "node-feat", kind)
            _attach(columns, place, "node", n)
        data[kind].num_nodes = n
        for name, table in columns.items():
            data[kind][name] = Tensor(np.ascontiguousarray(table))
    for src, name, dst in triples:
        if src not in counts or dst not in counts:
            raise ValueError(f"{folder}: the relation {src}, {name}, {dst} has a type that is not known")
        place = os.path.join(folder, "relations", f"{src}___{name}___{dst}")
        pairs = _pairs(os.path.join(place, "edge.csv.gz"), (counts[src], counts[dst]), _announced(place))
        columns = {}
        _attach(columns, place, "edge", pairs.shape[1], edges=True)
        data[src, name, dst].edge_index = Tensor(pairs)
        for key, table in columns.items():
            data[src, name, dst][key] = Tensor(np.ascontiguousarray(table))
    return data


def _type_counts(path: str) -> dict[str, int]:
    from ..data.extract import read_gz

    lines = read_gz(path).decode("utf-8", "replace").split()
    if len(lines) != 2 or not all(c.isdigit() for c in lines[1].split(",")):
        raise ValueError(f"{path}: a line of names and a line of numbers are needed")
    return dict(zip(lines[0].split(","), (int(c) for c in lines[1].split(","))))


__all__ = ["OGBNodeDataset", "PygNodePropPredDataset", "read_graph", "read_hetero"]
