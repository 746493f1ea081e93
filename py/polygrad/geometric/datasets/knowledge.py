"""Knowledge graphs as lists of triples (head, relation, tail) for training, validation and test."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import PARTS, number_of, numbers, read_rows, tensor
from ._bases import NamedGraph, OneGraph, SplitGraphs
from ._edge_lists import check_pairs
from ._files import one
from ._tables import parse_table

FILES = ["train.txt", "valid.txt", "test.txt"]
URL = "https://raw.githubusercontent.com/villmow/datasets_knowledge_embedding/master"
RELATIONS = (
    "_also_see", "_derivationally_related_form", "_has_part", "_hypernym", "_instance_hypernym", "_member_meronym", "_member_of_domain_region",
    "_member_of_domain_usage", "_similar_to", "_synset_domain_topic_of", "_verb_group",
)  # fmt: skip


def number_names(columns: list[list[str]], table: dict[str, int]) -> None:
    """Gives names that are new their numbers, in the order of the columns, one after the other."""
    for column in columns:
        for name in column:
            table.setdefault(name, len(table))


def joined(parts: list[np.ndarray], n: int, path: str) -> Data:
    """One graph of triples [T, 3] (head, tail, relation) of the three parts, sorted by head and tail, with a mask for each part."""
    table = np.concatenate(parts)
    check_pairs(table[:, :2].T, n, path)
    part = np.repeat(np.arange(3), [len(p) for p in parts])
    order = np.lexsort((table[:, 1], table[:, 0]))
    masks = {key: tensor(part[order] == k) for k, key in enumerate(PARTS)}
    return Data(edge_index=tensor(table[order, :2].T), edge_type=tensor(table[order, 2]), num_nodes=n, **masks)


class _WordNet(OneGraph):
    group: ClassVar[str] = "knowledge"
    folder: ClassVar[str]

    @property
    def raw_file_names(self) -> list[str]:
        return FILES

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3] + [os.path.join(folder, self.name)]  # the names are the same for all: never in a common folder

    def urls(self) -> list[str]:
        return [f"{URL}/{self.folder}/original/{f}" for f in FILES]


class WordNet18(_WordNet):
    """Relations of words ("Translating Embeddings for Modeling Multi-Relational Data", 2013): 40,943 nodes, 151,442 edges, 18 relations.

    >>> from polygrad.geometric.datasets import WordNet18
    >>> dataset = WordNet18("data/WordNet18")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    folder = "WN18"

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        parts = []
        for path in self.raw_paths:
            with open(path, "rb") as f:
                f.readline()  # how many there are
                parts.append(parse_table(f.read(), np.int64, 3, path))
        n = max((int(p[:, :2].max()) + 1 for p in parts if p.size), default=0)
        if n > 10 * sum(len(p) for p in parts) + 1000:
            raise ValueError(f"{self.raw_paths[0]}: node {n - 1} is too large a number for {sum(len(p) for p in parts)} triples")
        return one(joined(parts, n, self.raw_paths[0]))


class WordNet18RR(_WordNet):
    """WordNet18 without relations that follow from others ("Convolutional 2D Knowledge Graph Embeddings", 2018): 40,943 nodes, 93,003 edges, 11
    relations.

    >>> from polygrad.geometric.datasets import WordNet18RR
    >>> dataset = WordNet18RR("data/WordNet18RR")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    folder = "WN18RR"

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        nodes: dict[str, int] = {}
        relations = {r: k for k, r in enumerate(RELATIONS)}
        parts = []
        for path in self.raw_paths:
            rows = read_rows(path, "\t", 3)
            heads, tails = [r[0] for r in rows], [r[2] for r in rows]
            number_names([heads, tails], nodes)
            columns = [number_of(heads, nodes, path), number_of(tails, nodes, path), number_of((r[1] for r in rows), relations, path, "relation")]
            parts.append(np.stack(columns, axis=1))
        return one(joined(parts, len(nodes), self.raw_paths[0]))


class FB15k_237(SplitGraphs):
    """A part of Freebase ("Translating Embeddings for Modeling Multi-Relational Data", 2013): 14,541 nodes, 237 relations; 272,115 triples for
    training, 17,535 for validation, 20,466 for the test.

    >>> from polygrad.geometric.datasets import FB15k_237
    >>> dataset = FB15k_237("data/FB15k_237", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "knowledge"

    @property
    def raw_file_names(self) -> list[str]:
        return FILES

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3] + [os.path.join(folder, self.name)]

    def urls(self) -> list[str]:
        return [f"{URL}/FB15k-237/{f}" for f in FILES]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        nodes: dict[str, int] = {}
        relations: dict[str, int] = {}
        tables = []
        for path in self.raw_paths:
            rows = read_rows(path, "\t", 3)
            for head, relation, tail in (r[:3] for r in rows):
                nodes.setdefault(head, len(nodes))
                nodes.setdefault(tail, len(nodes))
                relations.setdefault(relation, len(relations))
            pairs = np.stack([number_of((r[k] for r in rows), nodes, path) for k in (0, 2)])
            tables.append((pairs, number_of((r[1] for r in rows), relations, path, "relation")))
        pairs, kind = tables[self.parts.index(self.split)]
        return one(Data(edge_index=Tensor(pairs), edge_type=Tensor(kind), num_nodes=len(nodes)))

    def __repr__(self) -> str:
        return "FB15k_237()"


class RelLinkPredDataset(NamedGraph):
    """FB15k-237 as one graph for the prediction of links ("Modeling Relational Data with Graph Convolutional Networks", 2018); edges for training are
    there in both directions, with relations of their own for the opposite one.

    >>> from polygrad.geometric.datasets import RelLinkPredDataset
    >>> dataset = RelLinkPredDataset("data/RelLinkPredDataset", name="FB15k-237")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "knowledge"
    names: ClassVar[tuple[str, ...]] = ("FB15k-237",)

    @property
    def num_relations(self) -> int:
        return int(self._data.edge_type.max().item()) + 1

    @property
    def raw_file_names(self) -> list[str]:
        return ["entities.dict", "relations.dict", *FILES]

    def urls(self) -> list[str]:
        return [f"https://raw.githubusercontent.com/MichSchli/RelationPrediction/master/data/FB-Toutanova/{f}" for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        tables = []
        for path in self.raw_paths[:2]:
            rows = read_rows(path, "\t", 2)
            at = numbers((r[0] for r in rows), np.int64, path)
            if not np.array_equal(np.sort(at), np.arange(len(rows))):
                raise ValueError(f"{path}: numbers from 0 to {len(rows) - 1} are needed")
            tables.append({r[1]: int(k) for r, k in zip(rows, at)})
        nodes, relations = tables
        data = Data(num_nodes=len(nodes))
        for part, path in zip(("train", "valid", "test"), self.raw_paths[2:]):
            rows = read_rows(path, "\t", 3)
            data[f"{part}_edge_index"] = Tensor(np.stack([number_of((r[k] for r in rows), nodes, path) for k in (0, 2)]))
            data[f"{part}_edge_type"] = Tensor(number_of((r[1] for r in rows), relations, path, "relation"))
        pairs, kind = data.train_edge_index.numpy(), data.train_edge_type.numpy()
        data.edge_index = tensor(np.concatenate([pairs, pairs[::-1]], axis=1))
        data.edge_type = Tensor(np.concatenate([kind, kind + len(relations)]))
        return one(data)

    def __repr__(self) -> str:
        return f"{self.name}()"


__all__ = ["FB15k_237", "RelLinkPredDataset", "WordNet18", "WordNet18RR"]
