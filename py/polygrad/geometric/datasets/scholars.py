"""Graphs of several node types about papers and things: AMiner, ogbn-mag by itself, and the sets of "Are we really making much progress?" (2021)."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.hetero_data import HeteroData
from ._arrays import PARTS, load_json, mask_of, number_of, numbers, read_lines, read_rows, tensor
from ._bases import Archived, NamedGraph, OneGraph, drive, one_of
from ._edge_lists import once
from ._files import one
from ._tables import read_table


class AMiner(OneGraph):
    """Papers, authors and venues ("metapath2vec", 2017): 3,194,405 papers, 1,693,531 authors, 3,883 venues; those in `y_index` have classes.

    >>> from polygrad.geometric.datasets import AMiner
    >>> dataset = AMiner("data/AMiner")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "aminer"
    data_class = HeteroData

    @property
    def raw_file_names(self) -> list[str]:
        labels = [os.path.join("label", f"googlescholar.8area.{k}.label.txt") for k in ("author", "venue")]
        return ["id_author.txt", "id_conf.txt", "paper_author.txt", "paper_conf.txt", *labels]

    def archives(self) -> list[tuple[str, str]]:
        base = "https://www.dropbox.com/s"
        return [(f"{base}/1bnz8r7mofx0osf/net_aminer.zip?dl=1", "net_aminer.zip"), (f"{base}/nkocx16rpl4ydde/label.zip?dl=1", "label.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        data = HeteroData()
        author, venue, written, published, author_y, venue_y = self.raw_paths
        for kind, names, labels in (("author", author, author_y), ("venue", venue, venue_y)):
            rows = read_rows(names, "\t", 2, "latin1")
            ids = numbers((r[0] for r in rows), np.int64, names)
            number = {r[1].strip(): int(k) for r, k in zip(rows, ids)}
            known = [line.rsplit(" ", 1) for line in read_lines(labels, "latin1")]
            if any(len(k) != 2 for k in known):
                raise ValueError(f"{labels}: a name and a class are needed in each line")
            data[kind].y = Tensor(numbers((k[1] for k in known), np.int64, labels) - 1)
            data[kind].y_index = Tensor(number_of((k[0].strip() for k in known), number, labels, kind))
        for path, there, back, kind in ((written, "written_by", "writes", "author"), (published, "published_in", "publishes", "venue")):
            table = read_table(path, np.int64, 2)
            if not table.size or table.min() < 0:
                raise ValueError(f"{path}: pairs of numbers from 0 are needed")
            pairs = once(np.ascontiguousarray(table.T))
            if kind == "author":
                data["paper"].num_nodes = int(pairs[0].max()) + 1
            data[kind].num_nodes = int(pairs[1].max()) + 1
            data["paper", there, kind].edge_index = Tensor(pairs)
            data[kind, back, "paper"].edge_index = tensor(pairs[::-1])
        return one(data)


class OGB_MAG(Archived):
    """ogbn-mag ("Open Graph Benchmark", 2020): 736,389 papers with 128 features and 349 classes, authors, institutions and fields of study.

    preprocess: "metapath2vec" or "transe", features for the types that have none, of PyTorch Geometric; None for none.

    >>> from polygrad.geometric.datasets import OGB_MAG
    >>> dataset = OGB_MAG("data/OGB_MAG")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "ogb"
    name = "mag"
    relations: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("author", "affiliated_with", "institution"), ("author", "writes", "paper"), ("paper", "cites", "paper"),
        ("paper", "has_topic", "field_of_study"),
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        preprocess: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.preprocess = None if preprocess is None else one_of("preprocess", preprocess, ("metapath2vec", "transe"))
        super().__init__(root, transform, pre_transform, force_reload=force_reload, data_cls=HeteroData)

    @property
    def raw_file_names(self) -> list[str]:
        names = [os.path.join("node-feat", "paper", f) for f in ("node-feat.csv.gz", "node_year.csv.gz")]
        names += [os.path.join("node-label", "paper", "node-label.csv.gz"), "num-node-dict.csv.gz"]
        names += [os.path.join("relations", "___".join(r), "edge.csv.gz") for r in self.relations]
        names += [os.path.join("split", "time", "paper", f"{p}.csv.gz") for p in ("train", "valid", "test")]
        return names + ([f"mag_{self.preprocess}_emb.pt"] if self.preprocess else [])

    @property
    def processed_file_names(self) -> str:
        return f"data_{self.preprocess}.safetensors" if self.preprocess else "data.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        more = [(f"https://data.pyg.org/datasets/mag_{self.preprocess}_emb.zip", "emb.zip")] if self.preprocess else []
        return [("https://snap.stanford.edu/ogb/data/nodeproppred/mag.zip", "mag.zip"), *more]

    @property
    def num_classes(self) -> int:
        return int(self._data["paper"].y.max().item()) + 1

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        from ._nested import load_torch
        from .ogb import _pairs, _type_counts

        paths = dict(zip(self.raw_file_names, self.raw_paths))
        names = list(paths)
        counts = _type_counts(paths["num-node-dict.csv.gz"])
        missing = {t for r in self.relations for t in (r[0], r[2])} - set(counts)
        if missing:
            raise ValueError(f"{paths['num-node-dict.csv.gz']}: there is no number of {sorted(missing)[0]!r}")
        data = HeteroData()
        n = counts["paper"]
        columns = [read_table(paths[names[0]]).astype(np.float32), *(read_table(paths[k], np.int64, 1).reshape(-1) for k in names[1:3])]
        for key, name, column in zip(("x", "year", "y"), names, columns):
            if len(column) != n:
                raise ValueError(f"{paths[name]}: {len(column)} rows for {n} papers")
            data["paper"][key] = tensor(column)
        for kind, count in counts.items():
            if kind != "paper" and self.preprocess is None:
                data[kind].num_nodes = count
        if self.preprocess:
            table = load_torch(paths[names[-1]])
            for kind in sorted(set(counts) - {"paper"}):
                data[kind].x = table[kind]
        for relation in self.relations:
            path = paths[os.path.join("relations", "___".join(relation), "edge.csv.gz")]
            data[relation].edge_index = Tensor(_pairs(path, (counts[relation[0]], counts[relation[2]]), None))
        for key, part in zip(PARTS, ("train", "valid", "test")):
            path = paths[os.path.join("split", "time", "paper", f"{part}.csv.gz")]
            data["paper"][key] = mask_of(read_table(path, np.int64, 1), n, path)
        return one(data)

    def __repr__(self) -> str:
        return "ogbn-mag()"


class HGBDataset(NamedGraph):
    """Graphs of several types ("Are we really making much progress?", 2021). name: "ACM", "DBLP", "Freebase" or "IMDB".

    >>> from polygrad.geometric.datasets import HGBDataset
    >>> dataset = HGBDataset("data/HGBDataset", name="ACM")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "hgb"
    names: ClassVar[tuple[str, ...]] = ("acm", "dblp", "freebase", "imdb")
    data_class = HeteroData
    ids: ClassVar[dict[str, str]] = {
        "acm": "1xbJ4QE9pcDJOcALv7dYhHDCPITX2Iddz", "dblp": "1fLLoy559V7jJaQ_9mQEsC06VKd6Qd3SC",
        "freebase": "1vw-uqbroJZfFsWpriC1CWbtHCJMGdWJ7", "imdb": "18qXmmwKJBrEJxVQaYwKTL3Ny3fPqJeJ2",
    }  # fmt: skip

    @property
    def raw_file_names(self) -> list[str]:
        return ["info.dat", "node.dat", "link.dat", "label.dat", "label.dat.test"]

    def _places(self, folder: str) -> list[str]:
        title = {"acm": "ACM", "dblp": "DBLP", "freebase": "Freebase", "imdb": "IMDB"}[self.name]
        return [*super()._places(folder)[:3], os.path.join(folder, self.name, "raw", title)]

    def archives(self) -> list[tuple[str, str]]:
        return [(drive(self.ids[self.name]), "data.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_hgb(self.raw_paths, self.name))

    def __repr__(self) -> str:
        return f"{self.name.upper() if self.name != 'freebase' else 'Freebase'}()"


def _hgb_types(path: str, name: str) -> tuple[dict[int, str], dict[int, tuple[str, str, str]], int]:
    """Node types, edge types and the number of classes."""
    try:
        if name != "freebase":
            info = load_json(path, "node.dat", "link.dat", "label.dat")
            nodes = {int(k): str(v) for k, v in info["node.dat"]["node type"].items()}
            edges = {}
            for k, v in info["link.dat"]["link type"].items():
                src, dst, rel = v.values()
                src, dst, rel = nodes[int(src)], nodes[int(dst)], rel.split("-")[1]
                edges[int(k)] = (src, "to" if dst in (rel, rel[1:]) else rel, dst)
            return nodes, edges, len(info["label.dat"]["node type"]["0"])
        with open(path, encoding="utf-8", errors="replace") as f:
            lines = f.read().split("\n")
        start = lines.index("TYPE\tMEANING") + 1
        rows = [v.split() for v in lines[start : start + lines[start:].index("")]]
        nodes = {int(r[0]): r[1].lower() for r in rows}
        start = lines.index("LINK\tSTART\tEND\tMEANING") + 1
        rows = [v.split() for v in lines[start : start + lines[start:].index("")]]
        return nodes, {k: (nodes[int(r[1])], r[3].split("-")[1], nodes[int(r[2])]) for k, r in enumerate(rows)}, 0
    except (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError) as e:
        raise ValueError(f"{path}: the types cannot be read: {e}") from None


def read_hgb(paths: list[str], name: str) -> HeteroData:
    """The graph of the files info, node, link, label and label for the test; nodes are numbered anew within each type."""
    kinds, relations, classes = _hgb_types(paths[0], name)
    data = HeteroData()
    rows = read_rows(paths[1], "\t", 3)
    ids, types = (numbers((r[k] for r in rows), np.int64, paths[1]) for k in (0, 2))
    if not np.isin(types, list(kinds)).all() or np.unique(ids).size != ids.size or (ids.size and (ids.min() < 0 or ids.max() > 10 * ids.size + 1000)):
        raise ValueError(f"{paths[1]}: a node of an unknown type, or a number that is there twice or far too large")
    place = np.full(int(ids.max(initial=-1)) + 1, -1, np.int64)
    for t, kind in kinds.items():
        some = np.flatnonzero(types == t)
        place[ids[some]] = np.arange(some.size)
        features = [rows[k][3].split(",") for k in some if len(rows[k]) > 3]
        data[kind].num_nodes = int(some.size)
        if features:
            if len(features) != some.size:
                raise ValueError(f"{paths[1]}: only {len(features)} of {some.size} nodes of the type {kind!r} have features")
            data[kind].x = Tensor(numbers(features, np.float32, paths[1]))
            del data[kind]["num_nodes"]
    owner = np.full(place.size, -1, np.int64)
    owner[ids] = types
    _hgb_links(data, paths[2], relations, place, owner, {v: k for k, v in kinds.items()})
    for path, mask in ((paths[3], "train_mask"), (paths[4], "test_mask")):
        _hgb_labels(data, path, mask, kinds, place, owner, classes if name == "imdb" else 0)
    return data


def _hgb_links(data: HeteroData, path: str, relations: dict[int, tuple[str, str, str]], place: Any, owner: Any, number: dict[str, int]) -> None:
    table = read_table(path, np.float64, 4)
    ends = table[:, :3].astype(np.int64) if np.isfinite(table).all() and (np.abs(table) < 1 << 52).all() else None
    if ends is None or (ends.size and (ends[:, :2].min() < 0 or ends[:, :2].max() >= place.size)):
        raise ValueError(f"{path}: a link of a node that is not there")
    for k, (src, rel, dst) in relations.items():
        some = ends[:, 2] == k
        row, col = ends[some, 0], ends[some, 1]
        if (owner[row] != number[src]).any() or (owner[col] != number[dst]).any():
            raise ValueError(f"{path}: a link {src}, {rel}, {dst} has an end of another type")
        data[src, rel, dst].edge_index = Tensor(np.stack([place[row], place[col]]))
        if not np.allclose(table[some, 3], 1):
            data[src, rel, dst].edge_weight = tensor(table[some, 3], np.float32)


def _hgb_labels(data: HeteroData, path: str, mask: str, kinds: dict[int, str], place: Any, owner: Any, classes: int) -> None:
    rows = read_rows(path, "\t", 4)
    ids, types = (numbers((r[k] for r in rows), np.int64, path) for k in (0, 2))
    if ids.size and (ids.min() < 0 or ids.max() >= place.size or (owner[ids] != types).any() or not np.isin(types, list(kinds)).all()):
        raise ValueError(f"{path}: a class of a node that is not there")
    for t in np.unique(types):
        store = data[kinds[int(t)]]
        n = int(store.num_nodes)
        some = np.flatnonzero(types == t)
        at, words = place[ids[some]], [rows[k][3].split(",") for k in some]
        label = numbers((w for ws in words for w in ws), np.int64, path)
        if classes:
            y = store["y"].numpy().copy() if "y" in store else np.zeros((n, classes), np.float32)
            if label.size and (label.min() < 0 or label.max() >= classes):
                raise ValueError(f"{path}: classes must be from 0 to {classes - 1}")
            y[np.repeat(at, [len(w) for w in words]), label] = 1
        else:
            y = store["y"].numpy().copy() if "y" in store else np.full(n, -1, np.int64)
            if label.size != at.size:
                raise ValueError(f"{path}: one class for each node is needed")
            y[at] = label
        store["y"] = Tensor(y)
        store[mask] = mask_of(at, n, path)
        for other in ("train_mask", "test_mask"):
            if other not in store:
                store[other] = Tensor(np.zeros(n, bool))


__all__ = ["AMiner", "HGBDataset", "OGB_MAG", "read_hgb"]
