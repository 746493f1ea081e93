"""Graphs in the text files of "Geom-GCN: Geometric Graph Convolutional Networks" (2020), with ten splits: web pages, Wikipedia, actors."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import PARTS, numbers, read_rows, tensor
from ._bases import NamedGraph, OneGraph, one_of
from ._edge_lists import check_pairs, once
from ._files import one
from ._pickles import load_npz
from ._tables import parse_table
from .musae import read_musae

URL = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
FILES = ["out1_node_feature_label.txt", "out1_graph_edges.txt"]
MOST_FEATURES = 1 << 26  # of all nodes together: the matrix of a damaged file would take all memory


def split_names(name: str) -> list[str]:
    return [f"{name}_split_0.6_0.2_{k}.npz" for k in range(10)]


def addresses(name: str) -> list[str]:
    return [f"{URL}/new_data/{name}/{f}" for f in FILES] + [f"{URL}/splits/{f}" for f in split_names(name)]


def read_geom_gcn(folder: str, splits: list[str], sparse: bool = False) -> Data:
    """The graph of a table of nodes (number, features, class) and a table of edges. sparse: features are the numbers of the columns that hold 1."""
    path = os.path.join(folder, FILES[0])
    rows = read_rows(path, "\t", 3, skip=1)
    n = len(rows)
    node = numbers((r[0] for r in rows), np.int64, path)
    if not np.array_equal(np.sort(node), np.arange(n)):
        raise ValueError(f"{path}: nodes must be numbered from 0 to {n - 1}")
    order = np.argsort(node)
    y = numbers((r[2] for r in rows), np.int64, path)[order]
    x = _columns(rows, node, path) if sparse else numbers([r[1].split(",") for r in rows], np.float32, path)[order]
    edge_path = os.path.join(folder, FILES[1])
    with open(edge_path, "rb") as f:
        f.readline()
        body = f.read()
    pairs = check_pairs(np.ascontiguousarray(parse_table(body, np.int64, 2, edge_path).T), n, edge_path)
    data = Data(x=Tensor(x), edge_index=Tensor(once(pairs)), y=Tensor(np.ascontiguousarray(y)))
    attach_splits(data, folder, splits, n)
    return data


def _columns(rows: list[list[str]], node: np.ndarray, path: str) -> np.ndarray:
    words = [r[1].split(",") for r in rows]
    col = numbers((w for ws in words for w in ws), np.int64, path)
    row = np.repeat(node, [len(w) for w in words])
    if not col.size or col.min() < 0 or (int(col.max()) + 1) * len(rows) > MOST_FEATURES:
        largest, most = int(col.max()) if col.size else None, MOST_FEATURES // max(len(rows), 1)
        raise ValueError(f"{path}: {len(rows)} nodes have features numbered from 0 on, at most {most}; the largest number is {largest}")
    x = np.zeros((len(rows), int(col.max()) + 1), np.float32)
    x[row, col] = 1
    return x


def attach_splits(data: Data, folder: str, names: list[str], n: int) -> None:
    """Masks [V, number of splits] out of one archive a split."""
    splits = [load_npz(os.path.join(folder, name), list(PARTS)) for name in names]
    for key in PARTS:
        masks = [s[key] for s in splits]
        if any(m.shape != (n,) for m in masks):
            raise ValueError(f"{os.path.join(folder, names[0])}: {key} must have {n} entries")
        data[key] = tensor(np.stack(masks, axis=1), bool)


class WebKB(NamedGraph):
    """Web pages of three universities and their links ("Geom-GCN", 2020). name: "Cornell", "Texas" or "Wisconsin".

    | | nodes | edges | features | classes |
    |---|---|---|---|---|
    | Cornell | 183 | 298 | 1,703 | 5 |
    | Texas | 183 | 325 | 1,703 | 5 |
    | Wisconsin | 251 | 515 | 1,703 | 5 |

    >>> from polygrad.geometric.datasets import WebKB
    >>> dataset = WebKB("data/WebKB", name="Cornell")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "geom-gcn"
    names: ClassVar[tuple[str, ...]] = ("cornell", "texas", "wisconsin")

    @property
    def raw_file_names(self) -> list[str]:
        return FILES + split_names(self.name)

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3] + [os.path.join(folder, "new_data", self.name)]

    def urls(self) -> list[str]:
        return addresses(self.name)

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_geom_gcn(self.raw_dir, split_names(self.name)))

    def __repr__(self) -> str:
        return f"{self.name}()"


class Actor(OneGraph):
    """Actors that occur on the same pages of Wikipedia ("Geom-GCN", 2020): 7,600 nodes, 30,019 edges, 932 features, 5 classes.

    >>> from polygrad.geometric.datasets import Actor
    >>> dataset = Actor("data/Actor")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "geom-gcn"
    name = "film"

    @property
    def raw_file_names(self) -> list[str]:
        return FILES + split_names("film")

    def urls(self) -> list[str]:
        return addresses("film")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_geom_gcn(self.raw_dir, split_names("film"), sparse=True))


class WikipediaNetwork(NamedGraph):
    """Pages of Wikipedia about animals and their links ("Multi-scale Attributed Node Embedding", 2021).

    name: "chameleon", "squirrel" or "crocodile". geom_gcn_preprocess: with the classes and splits of Geom-GCN (not for "crocodile"); without it the
    target is the average number of visits.

    >>> from polygrad.geometric.datasets import WikipediaNetwork
    >>> dataset = WikipediaNetwork("data/WikipediaNetwork", name="chameleon")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "wikipedia"
    names: ClassVar[tuple[str, ...]] = ("chameleon", "crocodile", "squirrel")

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        geom_gcn_preprocess: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.geom_gcn_preprocess = geom_gcn_preprocess
        if geom_gcn_preprocess and one_of("name", name, self.names) == "crocodile":
            raise AttributeError("'crocodile' is there only with geom_gcn_preprocess=False")
        super().__init__(root, name, transform, pre_transform, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return FILES + split_names(self.name) if self.geom_gcn_preprocess else [f"{self.name}.npz"]

    def _places(self, folder: str) -> list[str]:
        inner = os.path.join(folder, self.name, "geom_gcn", "raw")
        return [inner, *super()._places(folder)[:3]] if self.geom_gcn_preprocess else super()._places(folder)

    def _download_dir(self) -> str:
        usual = super()._download_dir()
        return os.path.join(os.path.dirname(usual), "geom_gcn", "raw") if self.geom_gcn_preprocess and self.root else usual

    @property
    def processed_file_names(self) -> str:
        return "geom_gcn.safetensors" if self.geom_gcn_preprocess else "data.safetensors"

    def urls(self) -> list[str]:
        return addresses(self.name) if self.geom_gcn_preprocess else [f"https://graphmining.ai/datasets/ptg/wiki/{self.name}.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        if self.geom_gcn_preprocess:
            return one(read_geom_gcn(self.raw_dir, split_names(self.name)))
        data = read_musae(self.raw_paths[0], target=np.float32)
        data.edge_index = Tensor(once(data.edge_index.numpy()))
        return one(data)


__all__ = ["Actor", "WebKB", "WikipediaNetwork", "read_geom_gcn"]
