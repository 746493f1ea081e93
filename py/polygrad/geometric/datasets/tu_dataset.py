"""Sets of small graphs in the text files of the TU collection."""

from __future__ import annotations

import os
import shutil
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.collate import pointers
from ..data.data import Data
from ..data.download import download_url
from ..data.extract import extract_zip
from ._edge_lists import check_pairs
from ._files import FileDataset
from ._tables import read_table

URL = "https://www.chrsmrrs.com/graphkerneldatasets"
CLEANED_URL = "https://raw.githubusercontent.com/nd7141/graph_datasets/master/datasets"
SIZES = ("num_node_attributes", "num_node_labels", "num_edge_attributes", "num_edge_labels")


class TUDataset(FileDataset):
    """Graph classification sets ("TUDataset: A collection of benchmark datasets for learning with graphs", 2020), such as MUTAG or PROTEINS.

    Node and edge labels become one-hot features. use_node_attr, use_edge_attr: with the continuous attributes before them. cleaned: without
    isomorphic graphs.

    >>> from polygrad.geometric.datasets import TUDataset
    >>> dataset = TUDataset("data/TUDataset", name="MUTAG")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "tu"
    sizes: dict[str, int]

    def __init__(
        self,
        root: str | None = None,
        name: str = "MUTAG",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
        use_node_attr: bool = False,
        use_edge_attr: bool = False,
        cleaned: bool = False,
    ):
        self.name, self.cleaned = name, cleaned
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)
        data = self._data
        for key, keep, count in (("x", use_node_attr, self.num_node_attributes), ("edge_attr", use_edge_attr, self.num_edge_attributes)):
            if data.get(key) is not None and not keep and count:
                data[key] = Tensor(np.ascontiguousarray(data[key].numpy()[:, count:]))
        self._set(data, self._slices)

    def _places(self, folder: str) -> list[str]:
        if not self.cleaned:
            return super()._places(folder)
        return [os.path.join(folder, *p) for p in ((self.name, "raw_cleaned"), ("raw_cleaned",), (self.group, f"{self.name}_cleaned"))]

    def _download_dir(self) -> str:
        usual = super()._download_dir()
        return usual + "_cleaned" if self.cleaned else usual

    @property
    def processed_dir(self) -> str:
        return super().processed_dir + ("_cleaned" if self.cleaned else "")

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}_A.txt", f"{self.name}_graph_indicator.txt"]

    def download(self) -> None:
        folder = self._download_dir()
        path = download_url(f"{CLEANED_URL if self.cleaned else URL}/{self.name}.zip", folder)
        extract_zip(path, folder)
        os.remove(path)
        inner = os.path.join(folder, self.name)
        if os.path.isdir(inner):
            for entry in os.listdir(inner):
                shutil.move(os.path.join(inner, entry), os.path.join(folder, entry))
            os.rmdir(inner)

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        data, slices, sizes = read_tu(self.raw_dir, self.name)
        return data, slices, {k: str(v) for k, v in sizes.items()}

    def _notes(self, notes: dict[str, Any]) -> None:
        self.sizes = {k: int(notes[k]) for k in SIZES}

    @property
    def num_node_labels(self) -> int:
        return self.sizes["num_node_labels"]

    @property
    def num_node_attributes(self) -> int:
        return self.sizes["num_node_attributes"]

    @property
    def num_edge_labels(self) -> int:
        return self.sizes["num_edge_labels"]

    @property
    def num_edge_attributes(self) -> int:
        return self.sizes["num_edge_attributes"]

    def __repr__(self) -> str:
        return f"{self.name}({len(self) if self._data is not None else ''})"


def _one_hot(labels: np.ndarray, path: str) -> np.ndarray:
    """Labels [N, K] as float32, a block of columns for each of them."""
    low, high = (labels.min(axis=0).tolist(), labels.max(axis=0).tolist()) if labels.size else ([0] * labels.shape[1], [-1] * labels.shape[1])
    widths = [b - a + 1 for a, b in zip(low, high)]  # Python's integers: labels may be as far apart as int64 allows
    if max(widths, default=0) > 100_000 or sum(widths) * labels.shape[0] > 1 << 30:
        raise ValueError(f"{path}: labels as far apart as {max(widths)} cannot be made one-hot")
    out = np.zeros((labels.shape[0], sum(widths)), np.float32)
    starts = pointers(np.array(widths, np.int64))[:-1]
    out[np.arange(labels.shape[0])[:, None], labels - np.array(low, labels.dtype) + starts] = 1
    return out


def _features(folder: str, prefix: str, kind: str, count: int) -> tuple[np.ndarray | None, int, int]:
    """Attributes and one-hot labels of nodes or edges side by side, and how wide each is."""
    parts = []
    widths = [0, 0]
    for k, (name, dtype) in enumerate(((f"{kind}_attributes", np.float64), (f"{kind}_labels", np.int64))):
        path = os.path.join(folder, f"{prefix}_{name}.txt")
        if not os.path.isfile(path):
            continue
        table = read_table(path, dtype)
        if table.shape[0] != count:
            raise ValueError(f"{path}: {table.shape[0]} rows for {count} {kind}s")
        parts.append(table.astype(np.float32) if k == 0 else _one_hot(table, path))
        widths[k] = parts[-1].shape[1]
    return (np.concatenate(parts, axis=1) if parts else None), widths[0], widths[1]


def read_tu(folder: str, prefix: str) -> tuple[Data, dict[str, np.ndarray], dict[str, int]]:
    """All graphs of the `<prefix>_*.txt` files joined, their slices, and the widths of attributes and labels. O(E log E)."""
    path = os.path.join(folder, f"{prefix}_A.txt")
    pairs = read_table(path, np.int64, 2).T - 1
    owner_path = os.path.join(folder, f"{prefix}_graph_indicator.txt")
    owner = read_table(owner_path, np.int64, 1).reshape(-1) - 1
    n = owner.size
    if n and (owner.min() < 0 or owner.max() >= n or (np.diff(owner) < 0).any()):
        raise ValueError(f"{owner_path}: graphs must be numbered from 1, and their nodes one after the other")
    check_pairs(pairs, n, path)
    if (owner[pairs[0]] != owner[pairs[1]]).any():
        k = int(np.flatnonzero(owner[pairs[0]] != owner[pairs[1]])[0])
        raise ValueError(f"{path}: row {k + 1} joins nodes of two graphs, {int(owner[pairs[0, k]]) + 1} and {int(owner[pairs[1, k]]) + 1}")
    x, node_attributes, node_labels = _features(folder, prefix, "node", n)
    edge_attr, edge_attributes, edge_labels = _features(folder, prefix, "edge", pairs.shape[1])
    pairs, edge_attr = _coalesced(pairs, edge_attr)
    graphs = int(owner.max()) + 1 if n else 0
    sizes = np.bincount(owner, minlength=graphs)
    node_ptr, edge_ptr = pointers(sizes), pointers(np.bincount(owner[pairs[0]], minlength=graphs))
    pairs = pairs - node_ptr[owner[pairs[0]]]
    data = Data(edge_index=Tensor(np.ascontiguousarray(pairs)))
    slices = {"edge_index": edge_ptr}
    if x is not None:
        data.x = Tensor(x)
        slices["x"] = node_ptr
    else:
        data._num_nodes = sizes.tolist()
        data.num_nodes = n
    if edge_attr is not None:
        data.edge_attr = Tensor(edge_attr)
        slices["edge_attr"] = edge_ptr
    y = _targets(folder, prefix)
    if y is not None:
        if y.shape[0] not in (graphs, n):
            raise ValueError(f"{folder}: {y.shape[0]} targets for {graphs} graphs")
        data.y = Tensor(y)
        slices["y"] = node_ptr if y.shape[0] == n else np.arange(graphs + 1)
    return data, slices, dict(zip(SIZES, (node_attributes, node_labels, edge_attributes, edge_labels)))


def _coalesced(pairs: np.ndarray, values: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Edges without loops, sorted, each once; the values of equal ones are added."""
    order = np.lexsort((pairs[1], pairs[0]))
    order = order[pairs[0, order] != pairs[1, order]]
    pairs = pairs[:, order]
    first = np.ones(pairs.shape[1], bool)
    first[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    starts = np.flatnonzero(first)
    if values is not None:
        values = values[order]
        values = values if starts.size == first.size else np.add.reduceat(values, starts, axis=0)
    return pairs[:, first], values


def _targets(folder: str, prefix: str) -> np.ndarray | None:
    path = os.path.join(folder, f"{prefix}_graph_attributes.txt")
    if os.path.isfile(path):
        table = read_table(path).astype(np.float32)
        return table.reshape(-1) if table.shape[1] == 1 else table
    path = os.path.join(folder, f"{prefix}_graph_labels.txt")
    if not os.path.isfile(path):
        return None
    labels = read_table(path, np.int64)
    classes = np.unique(labels, return_inverse=True)[1]
    return classes.reshape(-1) if labels.shape[1] == 1 else classes.reshape(labels.shape)


__all__ = ["TUDataset", "read_tu"]
