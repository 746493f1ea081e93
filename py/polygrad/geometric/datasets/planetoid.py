"""Cora, CiteSeer and PubMed in the files of the Planetoid paper."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._edge_lists import check_pairs, once, without_loops
from ._files import FileDataset, one
from ._packaged import packaged, unpack
from ._pickles import load_npz, load_pickle
from ._tables import read_table

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
SPLITS_URL = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/splits"

CHECKSUMS = {
    "ind.cora.x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
    "ind.cora.y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
    "ind.cora.tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
    "ind.cora.ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
    "ind.cora.allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
    "ind.cora.ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
    "ind.cora.graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
    "ind.cora.test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    "ind.citeseer.x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
    "ind.citeseer.y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    "ind.citeseer.tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
    "ind.citeseer.ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
    "ind.citeseer.allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
    "ind.citeseer.ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
    "ind.citeseer.graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
    "ind.citeseer.test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
}


class Planetoid(FileDataset):
    """Citation networks ("Revisiting Semi-Supervised Learning with Graph Embeddings", 2016): papers with words, cited papers, subjects.

    name: "Cora", "CiteSeer" or "PubMed". split: "public", the fixed split of the paper; "full", all other nodes are for training; "geom-gcn", ten
    splits (masks [V, 10]); "random", num_train_per_class nodes a class for training, num_val and num_test others.

    Cora is part of the package: where its files are not found, nothing is downloaded, except for the splits "geom-gcn".

    | | nodes | edges | features | classes |
    |---|---|---|---|---|
    | Cora | 2,708 | 10,556 | 1,433 | 7 |
    | CiteSeer | 3,327 | 9,104 | 3,703 | 6 |
    | PubMed | 19,717 | 88,648 | 500 | 3 |

    >>> from polygrad.geometric.datasets import Planetoid
    >>> data = Planetoid(name="Cora")[0]  # travels with the package
    >>> data.num_nodes, data.num_features, int(data.train_mask.sum().item())
    (2708, 1433, 140)
    """

    group: ClassVar[str] = "planetoid"
    checksums: ClassVar[dict[str, str]] = CHECKSUMS

    def __init__(
        self,
        root: str | None = None,
        name: str = "Cora",
        split: str = "public",
        num_train_per_class: int = 20,
        num_val: int = 500,
        num_test: int = 1000,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if name.lower() not in ("cora", "citeseer", "pubmed"):
            raise ValueError(f"name must be 'Cora', 'CiteSeer' or 'PubMed', not {name!r}")
        if split.lower() not in ("public", "full", "geom-gcn", "random"):
            raise ValueError(f"split must be 'public', 'full', 'geom-gcn' or 'random', not {split!r}")
        self.name, self.split = name, split.lower()
        super().__init__(root, transform, pre_transform, force_reload=force_reload)
        if self.split in ("full", "random"):
            data = self.get(0)
            masks = full_split(data) if self.split == "full" else random_split(data, num_train_per_class, num_val, num_test)
            for key, mask in zip(("train_mask", "val_mask", "test_mask"), masks):
                data[key] = Tensor(mask)
            self._set(data, None)

    @property
    def raw_file_names(self) -> list[str]:
        names = [f"ind.{self.name.lower()}.{part}" for part in PARTS]
        return names + [self._split_name(k) for k in range(10)] if self.split == "geom-gcn" else names

    def _split_name(self, k: int) -> str:
        return f"{self.name.lower()}_split_0.6_0.2_{k}.npz"

    def urls(self) -> list[str]:
        return [f"{SPLITS_URL if n.endswith('.npz') else URL}/{n}" for n in self.raw_file_names]

    @property
    def processed_file_names(self) -> str:
        return "geom-gcn.safetensors" if self.split == "geom-gcn" else "data.safetensors"

    def _packaged(self) -> str | None:
        return None if self.split == "geom-gcn" else packaged(self.name)

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self._packaged()
        if path is not None and self._find() is None:
            return one(unpack(path))
        data = read_planetoid(self.raw_dir, self.name)
        if self.split == "geom-gcn":
            keys = ["train_mask", "val_mask", "test_mask"]
            splits = [load_npz(os.path.join(self.raw_dir, self._split_name(k)), keys) for k in range(10)]
            for key in keys:
                masks = [s[key] for s in splits]
                if any(m.shape != (data.num_nodes,) for m in masks):
                    raise ValueError(f"{self._split_name(0)}: {key} must have {data.num_nodes} entries")
                data[key] = Tensor(np.stack(masks, axis=1).astype(bool))
        return one(data)

    def __repr__(self) -> str:
        return f"{self.name}()"


def full_split(data: Any) -> list[np.ndarray]:
    val, test = data.val_mask.numpy(), data.test_mask.numpy()
    return [~(val | test), val, test]


def random_split(data: Any, per_class: int, num_val: int, num_test: int) -> list[np.ndarray]:
    """Masks of a random split; follows Tensor.manual_seed."""
    y = data.y.numpy()
    order = Tensor.randperm(y.size).numpy()
    train = np.zeros(y.size, bool)
    for c in range(int(y.max()) + 1):
        train[order[y[order] == c][:per_class]] = True
    rest = order[~train[order]]
    val, test = np.zeros(y.size, bool), np.zeros(y.size, bool)
    val[rest[:num_val]] = True
    test[rest[num_val : num_val + num_test]] = True
    return [train, val, test]


def _part(folder: str, name: str, part: str, ndim: int = 2) -> np.ndarray:
    path = os.path.join(folder, f"ind.{name.lower()}.{part}")
    a = load_pickle(path)
    if not isinstance(a, np.ndarray) or a.ndim != ndim:
        raise ValueError(f"{path}: a matrix is needed")
    return a.astype(np.float32, copy=False)


def read_planetoid(folder: str, name: str) -> Data:
    """The graph of the `ind.<name>.*` files in a folder."""
    tx, allx, ty, ally = (_part(folder, name, p) for p in ("tx", "allx", "ty", "ally"))
    train = _part(folder, name, "y").shape[0]
    graph_path = os.path.join(folder, f"ind.{name.lower()}.graph")
    graph = load_pickle(graph_path)
    if not isinstance(graph, dict):
        raise ValueError(f"{graph_path}: a dict of lists of nodes is needed")
    index_path = os.path.join(folder, f"ind.{name.lower()}.test.index")
    test = read_table(index_path, np.int64).reshape(-1)
    first = allx.shape[0]
    fit = tx.shape[0] == ty.shape[0] == test.size and allx.shape[0] == ally.shape[0]
    if not fit or tx.shape[1] != allx.shape[1] or ty.shape[1] != ally.shape[1]:
        raise ValueError(f"{folder}: the sizes of the files of {name} do not fit: tx {tx.shape}, ty {ty.shape}, allx {allx.shape}, ally {ally.shape}")
    relations = name.lower() == "nell.0.001"  # nodes of the graph that are in no other file
    # Some nodes of CiteSeer are in no file: they lie among the test nodes, without features and without a label.
    low, high = (int(test.min()), int(test.max())) if test.size else (first, first - 1)
    end = len(graph) if relations else first + 10 * max(test.size, 1)
    if low < first or high >= end or np.unique(test).size != test.size:
        raise ValueError(f"{index_path}: test nodes must be different, and begin at {first}, the number of the others; they go from {low} to {high}")
    n = len(graph) if relations else max(first + test.size, high + 1)
    alone = np.setdiff1d(np.arange(first, n), test) if relations else np.zeros(0, np.int64)
    words = allx.shape[1]
    x, y = np.zeros((n, words + alone.size), np.float32), np.zeros((n, ally.shape[1]), np.float32)
    x[:first, :words], y[:first] = allx, ally
    x[test, :words], y[test] = tx, ty
    x[alone, words + np.arange(alone.size)] = 1  # a feature of its own for each relation
    if train + 500 > n:
        raise ValueError(f"{folder}: {train} training nodes and 500 for validation are more than {n}")
    sources = np.repeat(np.fromiter(graph, np.int64, len(graph)), [len(v) for v in graph.values()])
    targets = np.fromiter((t for v in graph.values() for t in v), np.int64, sources.size)
    pairs = check_pairs(np.stack([sources, targets]), n, graph_path)
    masks = np.zeros((3, n), bool)
    masks[0, :train], masks[1, train : train + 500], masks[2, test] = True, True, True
    return Data(
        x=Tensor(x),
        edge_index=Tensor(once(without_loops(pairs), by_row=False)),
        y=Tensor(y.argmax(axis=1)),
        train_mask=Tensor(masks[0].copy()),
        val_mask=Tensor(masks[1].copy()),
        test_mask=Tensor(masks[2].copy()),
    )


__all__ = ["Planetoid", "read_planetoid"]
