"""Graphs of several node types in the files of "MAGNN" (2020): one adjacency matrix over all nodes, in which the types lie one after the other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.hetero_data import HeteroData
from ._arrays import PARTS, load_npy, load_sparse, mask_of, tensor
from ._bases import OneGraph
from ._files import one
from ._pickles import load_npz


def read_blocks(path: str, counts: dict[str, int], data: HeteroData) -> None:
    """Gives data the edges of the matrix in path, between nodes whose numbers begin anew for each type. O(E * number of types)."""
    adj = load_sparse(path)
    total = sum(counts.values())
    if adj.shape != (total, total):
        raise ValueError(f"{path}: a matrix of {adj.shape} for {total} nodes, {counts}")
    keep = adj.value != 0
    order = np.lexsort((adj.col[keep], adj.row[keep]))
    row, col = adj.row[keep][order], adj.col[keep][order]
    start = np.concatenate([[0], np.cumsum(list(counts.values()))])
    of_row, of_col = (np.searchsorted(start, v, side="right") - 1 for v in (row, col))
    for a, src in enumerate(counts):
        for b, dst in enumerate(counts):
            here = (of_row == a) & (of_col == b)
            if here.any():
                data[src, "to", dst].edge_index = Tensor(np.stack([row[here] - start[a], col[here] - start[b]]))


class _Magnn(OneGraph):
    data_class = HeteroData
    types: ClassVar[tuple[str, ...]]
    url: ClassVar[str]

    def archives(self) -> list[tuple[str, str]]:
        return [(self.url, "processed.zip")]

    def _labels(self, data: HeteroData, kind: str, label_path: str, split_path: str) -> None:
        y = load_npy(label_path, 1)
        n = int(data[kind].num_nodes)
        if y.size != n:
            raise ValueError(f"{label_path}: {y.size} classes of {n} nodes of the type {kind!r}")
        data[kind].y = tensor(y, np.int64)
        split = load_npz(split_path, ["train_idx", "val_idx", "test_idx"])
        for key, name in zip(PARTS, ("train_idx", "val_idx", "test_idx")):
            data[kind][key] = mask_of(split[name], n, split_path)

    def _path(self, name: str) -> str:
        return self.raw_paths[self.raw_file_names.index(name)]


class IMDB(_Magnn):
    """Movies, directors and actors ("MAGNN", 2020): 4,278 movies, 2,081 directors, 5,257 actors, 3,066 features, 3 classes of movies.

    >>> from polygrad.geometric.datasets import IMDB
    >>> dataset = IMDB("data/IMDB")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "imdb"
    types = ("movie", "director", "actor")
    url = "https://www.dropbox.com/s/g0btk9ctr1es39x/IMDB_processed.zip?dl=1"

    @property
    def raw_file_names(self) -> list[str]:
        return ["adjM.npz", "features_0.npz", "features_1.npz", "features_2.npz", "labels.npy", "train_val_test_idx.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        data = HeteroData()
        for k, kind in enumerate(self.types):
            path = self._path(f"features_{k}.npz")
            data[kind].x = Tensor(load_sparse(path).dense(path))
        self._labels(data, "movie", self._path("labels.npy"), self._path("train_val_test_idx.npz"))
        read_blocks(self._path("adjM.npz"), {t: int(data[t].num_nodes) for t in self.types}, data)
        return one(data)


class DBLP(_Magnn):
    """Authors, papers, terms and conferences ("MAGNN", 2020): 4,057 authors, 14,328 papers, 7,723 terms, 20 conferences, 4 classes of authors.

    >>> from polygrad.geometric.datasets import DBLP
    >>> dataset = DBLP("data/DBLP")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "dblp"
    types = ("author", "paper", "term", "conference")
    url = "https://www.dropbox.com/s/yh4grpeks87ugr2/DBLP_processed.zip?dl=1"

    @property
    def raw_file_names(self) -> list[str]:
        return ["adjM.npz", "features_0.npz", "features_1.npz", "features_2.npy", "labels.npy", "node_types.npy", "train_val_test_idx.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        data = HeteroData()
        for k, kind in enumerate(self.types[:2]):
            path = self._path(f"features_{k}.npz")
            data[kind].x = Tensor(load_sparse(path).dense(path))
        data["term"].x = tensor(load_npy(self._path("features_2.npy"), 2), np.float32)
        data["conference"].num_nodes = int((load_npy(self._path("node_types.npy"), 1) == 3).sum())
        self._labels(data, "author", self._path("labels.npy"), self._path("train_val_test_idx.npz"))
        read_blocks(self._path("adjM.npz"), {t: int(data[t].num_nodes) for t in self.types}, data)
        return one(data)


class LastFM(_Magnn):
    """Users, artists and tags ("MAGNN", 2020): 1,892 users, 17,632 artists, 1,088 tags, with edges between users and artists to be predicted.

    >>> from polygrad.geometric.datasets import LastFM
    >>> dataset = LastFM("data/LastFM")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "lastfm"
    types = ("user", "artist", "tag")
    url = "https://www.dropbox.com/s/jvlbs09pz6zwcka/LastFM_processed.zip?dl=1"

    @property
    def raw_file_names(self) -> list[str]:
        return ["adjM.npz", "node_types.npy", "train_val_test_neg_user_artist.npz", "train_val_test_pos_user_artist.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        data = HeteroData()
        kinds = load_npy(self._path("node_types.npy"), 1)
        counts = {t: int((kinds == k).sum()) for k, t in enumerate(self.types)}
        for kind, n in counts.items():
            data[kind].num_nodes = n
        for sign in ("pos", "neg"):
            path = self._path(f"train_val_test_{sign}_user_artist.npz")
            parts = [p for p in ("train", "val", "test") if sign == "neg" or p != "train"]
            found = load_npz(path, [f"{p}_{sign}_user_artist" for p in parts])
            for part, pairs in zip(parts, found.values()):
                if (
                    pairs.ndim != 2
                    or pairs.shape[1] != 2
                    or (pairs.size and (pairs.min() < 0 or (pairs.max(0) >= [counts["user"], counts["artist"]]).any()))
                ):
                    raise ValueError(f"{path}: {part} must be pairs of a user and an artist")
                data["user", "to", "artist"][f"{part}_{sign}_edge_index"] = tensor(pairs.T, np.int64)
        read_blocks(self._path("adjM.npz"), counts, data)
        return one(data)


__all__ = ["DBLP", "IMDB", "LastFM", "read_blocks"]
