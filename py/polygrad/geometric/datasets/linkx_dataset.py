"""Graphs of "Large Scale Learning on Non-Homophilous Graphs" (2021), in MATLAB's files."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import PARTS, Sparse, mask_of, one_hot, tensor
from ._bases import NamedGraph, drive
from ._edge_lists import check_pairs
from ._files import one
from ._mat import load_mat
from ._nested import load_objects, load_torch

URL = "https://github.com/CUAI/Non-Homophily-Large-Scale/raw/master/data"
FACEBOOK = {
    "penn94": "Penn94", "reed98": "Reed98", "amherst41": "Amherst41", "cornell5": "Cornell5", "johnshopkins55": "Johns%20Hopkins55",
}  # fmt: skip
WIKI = {
    "wiki_views2M.pt": "1p5DlVHrnFgYm3VsNIzahSsvCD424AyvP",
    "wiki_edges2M.pt": "14X7FlkjrlUgmnsYtPwdh-gGuFla4yb5u",
    "wiki_features2M.pt": "1ySNspxbK-snNoAZM7oxiWGvOnTRdSyEK",
}
SPLITS = "fb100-Penn94-splits.npy"


class LINKXDataset(NamedGraph):
    """Graphs whose neighbours differ. name: "penn94" (with five splits), "reed98", "amherst41", "cornell5", "johnshopkins55", "genius" or "wiki".

    >>> from polygrad.geometric.datasets import LINKXDataset
    >>> dataset = LINKXDataset("data/LINKXDataset", name="penn94")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "linkx"
    names: ClassVar[tuple[str, ...]] = (*FACEBOOK, "genius", "wiki")

    @property
    def raw_file_names(self) -> list[str]:
        if self.name == "wiki":
            return list(WIKI)
        return ["data.mat", *([SPLITS] if self.name == "penn94" else [])]

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3]

    def urls(self) -> list[str]:
        if self.name == "wiki":
            return [drive(k) for k in WIKI.values()]
        first = f"{URL}/genius.mat" if self.name == "genius" else f"{URL}/facebook100/{FACEBOOK[self.name]}.mat"
        return [first, f"{URL}/splits/{SPLITS}"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        if self.name == "wiki":
            y, edges, x = (load_torch(p) for p in self.raw_paths)
            pairs = check_pairs(edges.numpy().T, x.shape[0], self.raw_paths[1])
            return one(Data(x=x, edge_index=tensor(pairs, np.int64), y=y))
        if self.name == "genius":
            return one(read_genius(self.raw_paths[0]))
        data = read_facebook(self.raw_paths[0])
        if self.name == "penn94":
            add_splits(data, self.raw_paths[1])
        return one(data)

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}()"


def read_facebook(path: str) -> Data:
    """The friends of one university: `A` and `local_info`, whose second column is the class (gender) and whose others become one-hot features."""
    found = load_mat(path, ["A", "local_info"])
    adj, info = found["A"], found["local_info"]
    if not isinstance(adj, Sparse) or isinstance(info, Sparse) or info.ndim != 2 or info.shape[1] < 2 or adj.shape != (len(info), len(info)):
        raise ValueError(f"{path}: a sparse matrix 'A' and a table 'local_info' of as many rows are needed")
    info = info.astype(np.int64)
    order = np.lexsort((adj.col, adj.row))
    x = np.concatenate([one_hot(info[:, k]) for k in range(info.shape[1]) if k != 1], axis=1)
    return Data(x=Tensor(x), edge_index=Tensor(np.stack([adj.row[order], adj.col[order]])), y=tensor(info[:, 1] - 1))


def add_splits(data: Data, path: str) -> None:
    """Masks [V, number of splits] out of a list of {"train", "valid", "test": nodes}."""
    splits = load_objects(path)
    if not isinstance(splits, list) or not splits or not all(isinstance(s, dict) and {"train", "valid", "test"} <= set(s) for s in splits):
        raise ValueError(f"{path}: a list of splits with 'train', 'valid' and 'test' is needed")
    n = int(data.num_nodes)
    for key, name in zip(PARTS, ("train", "valid", "test")):
        data[key] = tensor(np.stack([mask_of(np.asarray(s[name]), n, path).numpy() for s in splits], axis=1))


def read_genius(path: str) -> Data:
    found = load_mat(path, ["edge_index", "node_feat", "label"])
    edges, x, y = found["edge_index"], found["node_feat"], found["label"]
    if any(isinstance(v, Sparse) for v in found.values()) or edges.shape[0] != 2 or y.size != len(x):
        raise ValueError(f"{path}: edge_index, node_feat and label do not fit")
    pairs = check_pairs(edges.astype(np.int64), len(x), path)
    return Data(x=tensor(x, np.float32), edge_index=tensor(pairs), y=tensor(y.reshape(-1), np.int64))


__all__ = ["LINKXDataset", "read_facebook"]
