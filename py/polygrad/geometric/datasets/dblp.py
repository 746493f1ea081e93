"""The DBLP citation network with authors, papers, terms and conferences."""

from __future__ import annotations

import os
from itertools import product
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.download import download_url
from ..data.extract import extract_zip
from ..data.hetero_data import HeteroData
from ._edge_lists import check_pairs
from ._files import FileDataset, one
from ._pickles import check_rows, dense_rows, load_npz

URL = "https://www.dropbox.com/s/yh4grpeks87ugr2/DBLP_processed.zip?dl=1"
TYPES = ("author", "paper", "term", "conference")
_ROWS = ["data", "indices", "indptr", "shape"]


class DBLP(FileDataset):
    """A part of DBLP ("MAGNN", 2020): 4,057 authors in four classes, 14,328 papers, 7,723 terms and 20 conferences, which have no features."""

    group: ClassVar[str] = "dblp"

    def __init__(
        self, root: str | None = None, transform: Callable[..., Any] | None = None, pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):  # fmt: skip
        super().__init__(root, transform, pre_transform, force_reload=force_reload, data_cls=HeteroData)

    @property
    def raw_file_names(self) -> list[str]:
        return ["adjM.npz", "features_0.npz", "features_1.npz", "features_2.npy", "labels.npy", "node_types.npy", "train_val_test_idx.npz"]

    def download(self) -> None:
        path = download_url(URL, self._download_dir(), filename="DBLP_processed.zip")
        extract_zip(path, self._download_dir())
        os.remove(path)

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_dblp(self.raw_dir))

    def __repr__(self) -> str:
        return "DBLP()"


def _sparse(path: str) -> dict[str, np.ndarray]:
    return load_npz(path, _ROWS)


def read_dblp(folder: str) -> HeteroData:
    """The graph of the raw files: one square matrix of edges among all nodes, which lie type after type."""

    def at(name: str) -> str:
        return os.path.join(folder, name)

    kinds = np.load(at("node_types.npy"), allow_pickle=False)
    counts = np.bincount(kinds.astype(np.int64), minlength=len(TYPES))
    start = np.concatenate([[0], np.cumsum(counts)])
    data = HeteroData()
    for k, name in enumerate(TYPES[:2]):
        f = _sparse(at(f"features_{k}.npz"))
        data[name].x = Tensor(dense_rows(f["data"], f["indices"], f["indptr"], f["shape"]).astype(np.float32))
    data["term"].x = Tensor(np.load(at("features_2.npy"), allow_pickle=False).astype(np.float32))
    data["conference"].num_nodes = int(counts[3])
    for name, count in zip(TYPES[:3], counts):
        if data[name].num_nodes != count:
            raise ValueError(f"{folder}: features of {data[name].num_nodes} nodes of type {name!r}, of which there are {count}")
    data["author"].y = Tensor(np.load(at("labels.npy"), allow_pickle=False).astype(np.int64))
    split = load_npz(at("train_val_test_idx.npz"), ["train_idx", "val_idx", "test_idx"])
    for part in ("train", "val", "test"):
        mask = np.zeros(int(counts[0]), np.bool_)
        mask[split[f"{part}_idx"].astype(np.int64)] = True
        data["author"][f"{part}_mask"] = Tensor(mask)
    f = _sparse(at("adjM.npz"))
    n, _ = check_rows(f["data"], f["indices"], f["indptr"], f["shape"])
    rows = np.repeat(np.arange(n), np.diff(f["indptr"]))
    pairs = check_pairs(np.stack([rows, f["indices"].astype(np.int64)]), n, at("adjM.npz"))
    ends = np.searchsorted(start, pairs, side="right") - 1
    for a, b in product(range(len(TYPES)), repeat=2):
        own = pairs[:, (ends[0] == a) & (ends[1] == b)]
        if own.size:
            data[TYPES[a], "to", TYPES[b]].edge_index = Tensor(np.ascontiguousarray(own - start[[a, b], None]))
    return data


__all__ = ["DBLP", "read_dblp"]
