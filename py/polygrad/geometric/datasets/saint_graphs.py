"""Large graphs with classes of nodes: in the files of GraphSAINT (a matrix, features, classes and roles), Reddit, and PPI."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import PARTS, load_json, load_npy, load_sparse, mask_of, numbers, same_rows, tensor
from ._bases import OneGraph, SplitGraphs, drive, many
from ._edge_lists import check_pairs, once, without_loops
from ._files import one
from ._pickles import load_npz

FILES = ["adj_full.npz", "feats.npy", "class_map.json", "role.json"]


def read_saint(folder: str) -> Data:
    """The graph of the four files of GraphSAINT; nodes without a class have -1."""
    paths = [os.path.join(folder, f) for f in FILES]
    adj, x = load_sparse(paths[0]), load_npy(paths[1], 2)
    n = len(x)
    if adj.shape != (n, n):
        raise ValueError(f"{paths[0]}: a matrix of {adj.shape} for {n} nodes")
    return Data(x=tensor(x, np.float32), edge_index=Tensor(np.stack([adj.row, adj.col])), y=_classes(paths[2], n), **_roles(paths[3], n))


def _classes(path: str, n: int) -> Tensor:
    table = load_json(path)
    if not isinstance(table, dict) or not table:
        raise ValueError(f"{path}: an object of nodes and their classes is needed")
    node, values = numbers(table, np.int64, path), numbers(table.values(), np.float64, path)
    if node.min() < 0 or node.max() >= n or values.ndim > 2 or not np.array_equal(values, np.rint(values)) or np.abs(values).max(initial=0) > 1 << 31:
        raise ValueError(f"{path}: whole numbers for nodes from 0 to {n - 1} are needed")
    y = np.full((n, *values.shape[1:]), -1, np.int64)
    y[node] = values.astype(np.int64)
    return Tensor(y)


def _roles(path: str, n: int) -> dict[str, Tensor]:
    roles = load_json(path, "tr", "va", "te")
    return {key: mask_of(roles[name], n, path) for key, name in zip(PARTS, ("tr", "va", "te"))}


class _Saint(OneGraph):
    """Four files on Google Drive."""

    ids: ClassVar[tuple[str, str, str, str]]

    @property
    def raw_file_names(self) -> list[str]:
        return FILES

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3] + [os.path.join(folder, self.name)]  # the names are the same for all: never in a common folder

    def urls(self) -> list[str]:
        return [drive(k) for k in self.ids]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_saint(self.raw_dir))


class Flickr(_Saint):
    """Images and what they have in common ("GraphSAINT", 2020): 89,250 nodes, 899,756 edges, 500 features, 7 classes.

    >>> from polygrad.geometric.datasets import Flickr
    >>> dataset = Flickr("data/Flickr")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "saint"
    ids = (
        "1crmsTbd1-2sEXsGwa2IKnIB7Zd3TmUsy", "1join-XdvX3anJU_MLVtick7MgeAQiWIZ", "1uxIkbtg5drHTsKt-PAsZZ4_yJmgFmle9",
        "1htXCtuktuCW8TR8KiKfrFDAxUgekQoV7",
    )  # fmt: skip


class Yelp(_Saint):
    """Users of Yelp and their friends ("GraphSAINT", 2020): 716,847 nodes, 13,954,819 edges, 300 features, 100 labels.

    >>> from polygrad.geometric.datasets import Yelp
    >>> dataset = Yelp("data/Yelp")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "saint"
    ids = (
        "1Juwx8HtDwSzmVIJ31ooVa1WljI4U5JnA", "1Zy6BZH_zLEjKlEFSduKE5tV9qqA_8VtM", "1VUcBGr0T0-klqerjAjxRmAqFuld_SMWU",
        "1NI5pa5Chpd-52eSmLW60OnB3WS5ikxq_",
    )  # fmt: skip


class AmazonProducts(_Saint):
    """Products that were bought together ("GraphSAINT", 2020): 1,569,960 nodes, 264,339,468 edges, 200 features, 107 labels.

    >>> from polygrad.geometric.datasets import AmazonProducts
    >>> dataset = AmazonProducts("data/AmazonProducts")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "saint"
    ids = (
        "17qhNA8H1IpbkkR-T2BmPQm8QNW5do-aa", "10SW8lCvAj-kb6ckkfTOC5y0l8XXdtMxj", "1LIl4kimLfftj4-7NmValuWyCQE8AaE7P",
        "1npK9xlmbnjNkV80hK2Q68wTEVOFjnt4K",
    )  # fmt: skip


class Reddit2(_Saint):
    """Posts on Reddit, a sparser graph ("GraphSAINT", 2020): 232,965 nodes, 23,213,838 edges, 602 features, 41 classes.

    >>> from polygrad.geometric.datasets import Reddit2
    >>> dataset = Reddit2("data/Reddit2")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "saint"
    ids = (
        "1sncK996BM5lpuDf75lDFqCiDZyErc1c2", "1ZsHaJ0ussP1W722krmEIp_8pwKAoi5b3", "1JF3Pjv9OboMNYs2aXRQGbJbc4t_nDd5u",
        "1nJIKd77lcAGU4j-kVNx_AIGEkveIKz3A",
    )  # fmt: skip


class Reddit(OneGraph):
    """Posts on Reddit and the users who commented on both ("Inductive Representation Learning on Large Graphs", 2017): 232,965 nodes,
    114,615,892 edges, 602 features, 41 classes.

    >>> from polygrad.geometric.datasets import Reddit
    >>> dataset = Reddit("data/Reddit")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "reddit"

    @property
    def raw_file_names(self) -> list[str]:
        return ["reddit_data.npz", "reddit_graph.npz"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://data.dgl.ai/dataset/reddit.zip", "reddit.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path, graph_path = self.raw_paths
        f = load_npz(path, ["feature", "label", "node_types"])
        n = f["label"].size
        same_rows(path, n, feature=f["feature"], node_types=f["node_types"])
        adj = load_sparse(graph_path)
        if adj.shape != (n, n):
            raise ValueError(f"{graph_path}: a matrix of {adj.shape} for {n} nodes")
        masks = {key: tensor(f["node_types"] == k + 1) for k, key in enumerate(PARTS)}
        pairs = once(np.stack([adj.row, adj.col]))
        return one(Data(x=tensor(f["feature"], np.float32), edge_index=Tensor(pairs), y=tensor(f["label"].reshape(-1), np.int64), **masks))


class PPI(SplitGraphs):
    """Interactions of proteins in 24 tissues ("Predicting Multicellular Function through Multi-layer Tissue Networks", 2017): 50 features, 121
    labels. split: "train" (20 graphs), "val" (2) or "test" (2).

    >>> from polygrad.geometric.datasets import PPI
    >>> dataset = PPI("data/PPI", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "ppi"

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{split}_{f}" for split in ("train", "valid", "test") for f in ("feats.npy", "graph_id.npy", "graph.json", "labels.npy")]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://data.dgl.ai/dataset/ppi.zip", "ppi.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return many(read_ppi(self.raw_dir, {"val": "valid"}.get(self.split, self.split)), self)


def read_ppi(folder: str, split: str) -> list[Data]:
    """The graphs of one part, whose nodes lie one after the other in the files."""
    feats, ids, graph, labels = (os.path.join(folder, f"{split}_{f}") for f in ("feats.npy", "graph_id.npy", "graph.json", "labels.npy"))
    x, y, owner = load_npy(feats, 2), load_npy(labels, 2), load_npy(ids, 1, "iu").astype(np.int64)
    n = len(x)
    same_rows(labels, n, labels=y)
    same_rows(ids, n, graph_id=owner)
    if n and (np.diff(owner) < 0).any():
        raise ValueError(f"{ids}: the nodes of a graph must lie one after the other")
    f = load_json(graph, "links")
    try:
        pairs = np.array([[link["source"], link["target"]] for link in f["links"]], np.int64).reshape(-1, 2).T
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ValueError(f"{graph}: links need numbers 'source' and 'target'") from None
    check_pairs(pairs, n, graph)
    if not f.get("directed", False):
        pairs = np.concatenate([pairs, pairs[::-1]], axis=1)
    pairs = once(without_loops(pairs))
    if (owner[pairs[0]] != owner[pairs[1]]).any():
        raise ValueError(f"{graph}: a link joins nodes of two graphs")
    out = []
    for k in np.unique(owner):
        start, end = np.searchsorted(owner, [k, k + 1])
        a, b = np.searchsorted(pairs[0], [start, end])
        out.append(Data(x=tensor(x[start:end], np.float32), edge_index=tensor(pairs[:, a:b] - start), y=tensor(y[start:end], np.float32)))
    return out


__all__ = ["AmazonProducts", "Flickr", "PPI", "Reddit", "Reddit2", "Yelp", "read_ppi", "read_saint"]
