"""Knowledge graphs as N-Triples: AIFB, MUTAG, BGS and AM."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.download import download_url
from ..data.extract import extract_tar, read_gz
from ..data.hetero_data import HeteroData
from ._files import FileDataset, one

URL = "https://data.dgl.ai/dataset"
COLUMNS = {
    "aifb": ("person", "label_affiliation"),
    "mutag": ("bond", "label_mutagenic"),
    "bgs": ("rock", "label_lithogenesis"),
    "am": ("proxy", "label_cateogory"),
}


class Entities(FileDataset):
    """Relational entity graphs ("Modeling Relational Data with Graph Convolutional Networks", 2018).

    Every subject and object of a triple is a node; a relation gives two edge types, 2 r there and 2 r + 1 back, the most frequent relation first.
    `train_idx`, `train_y`, `test_idx` and `test_y` are the nodes to be classified. Nodes are numbered as they first occur in the
    file, classes in the order of their names. hetero: as HeteroData with the node type "v".

    | | nodes | edges | relations | classes |
    |---|---|---|---|---|
    | AIFB | 8,285 | 58,086 | 90 | 4 |
    | MUTAG | 23,644 | 148,454 | 46 | 2 |
    | BGS | 333,845 | 1,832,398 | 206 | 2 |
    | AM | 1,666,764 | 11,976,642 | 266 | 11 |

    >>> from polygrad.geometric.datasets import Entities
    >>> dataset = Entities("data/Entities", name="AIFB")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "rdf"

    def __init__(
        self,
        root: str | None = None,
        name: str = "AIFB",
        hetero: bool = False,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name, self.hetero = name.lower(), hetero
        if self.name not in COLUMNS:
            raise ValueError(f"name must be one of {', '.join(n.upper() for n in COLUMNS)}, not {name!r}")
        super().__init__(root, transform, pre_transform, force_reload=force_reload, data_cls=HeteroData if hetero else Data)

    @property
    def num_relations(self) -> int:
        """Number of edge types."""
        return len(self._data.edge_types) if self.hetero else self._data.num_edge_types

    @property
    def num_classes(self) -> int:
        return int(self._data["train_y"].max().item()) + 1

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}_stripped.nt.gz", "completeDataset.tsv", "trainingSet.tsv", "testSet.tsv"]

    @property
    def processed_file_names(self) -> str:
        return "hetero.safetensors" if self.hetero else "data.safetensors"

    def download(self) -> None:
        folder = self._download_dir()
        path = download_url(f"{URL}/{self.name}.tgz", folder)
        extract_tar(path, folder)
        os.remove(path)
        for place, _, names in list(os.walk(folder)):
            for name in names:
                if place != folder and name in self.raw_file_names:
                    shutil.move(os.path.join(place, name), os.path.join(folder, name))

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        data = read_entities(self.raw_paths, *COLUMNS[self.name])
        return one(data.to_heterogeneous(node_type_names=["v"]) if self.hetero else data)

    def __repr__(self) -> str:
        return f"{self.name.upper()}Entities()"


_TRIPLE = re.compile(
    rb"""^[ \t]*(<[^<>"{}|^`\\\x00-\x20]*>|_:[^\s<>"]+)[ \t]*"""
    rb"""(<[^<>"{}|^`\\\x00-\x20]*>)[ \t]*"""
    rb"""(<[^<>"{}|^`\x00-\x20]*>|_:[^\s<>"]+|"(?:[^"\\\n\r]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>\s]*>)?)[ \t]*\.[ \t]*(?:\#.*)?\r?$""",
    re.M,
)
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.S)


def _unescape(found: re.Match[str]) -> str:
    short, long, letter = found.groups()
    code = int(short or long, 16) if short or long else -1
    if letter is not None:
        return _ESCAPES.get(letter, letter)
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def _name(term: bytes) -> str:
    """A term without its quotes, brackets, language and type."""
    text = term.decode("utf-8", "replace")
    text = text[1:-1] if text.startswith("<") else text[1 : text.rindex('"')] if text.startswith('"') else text[2:]
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def parse_triples(text: bytes, path: str) -> tuple[np.ndarray, list[bytes], list[bytes]]:
    """Different triples [T, 3] of (node, relation, node), the nodes in the order in which they occur, and the relations."""
    nodes: dict[bytes, int] = {}
    relations: dict[bytes, int] = {}
    lines = sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith(b"#"))
    found = _TRIPLE.findall(text)
    if len(found) != lines:
        raise ValueError(f"{path}: {lines - len(found)} of {lines} lines are not N-Triples")
    out = np.empty((len(found), 3), np.int64)
    for k, (s, p, o) in enumerate(found):
        out[k] = nodes.setdefault(s, len(nodes)), relations.setdefault(p, len(relations)), nodes.setdefault(o, len(nodes))
    _, first = np.unique(out, axis=0, return_index=True)
    return out[np.sort(first)], list(nodes), list(relations)


def read_tsv(path: str, columns: tuple[str, ...]) -> list[list[str]]:
    """Some columns, by the names in the first line, of a file with tabs."""
    with open(path, encoding="utf-8", errors="replace", newline="") as f:
        rows = [line.rstrip("\r\n").split("\t") for line in f if line.strip()]
    head = rows[0] if rows else []
    missing = [c for c in columns if c not in head]
    if missing:
        raise ValueError(f"{path}: there is no column {missing[0]!r} among {head[:10]}")
    places = [head.index(c) for c in columns]
    for k, row in enumerate(rows):
        if len(row) <= max(places):
            raise ValueError(f"{path}: line {k + 1} has {len(row)} columns")
    return [[row[p].strip('"') for p in places] for row in rows[1:]]


def read_entities(paths: list[str], node_column: str, label_column: str) -> Data:
    """The graph of the triples in paths[0], with the labels of the three tables after it."""
    triples, nodes, relations = parse_triples(read_gz(paths[0]), paths[0])
    number: dict[str, int] = {}
    places = np.empty(len(nodes), np.int64)  # terms that differ only in language or type are one node to the edges
    for k, term in enumerate(nodes):
        places[k] = number.setdefault(_name(term), k)
    frequency = np.bincount(triples[:, 1], minlength=len(relations))
    rank = np.empty(len(relations), np.int64)
    rank[np.array(sorted(range(len(relations)), key=lambda r: (-frequency[r], relations[r])), np.int64)] = np.arange(len(relations))
    source, relation, target = places[triples[:, 0]], rank[triples[:, 1]], places[triples[:, 2]]
    edges = np.concatenate([np.stack([source, target, 2 * relation]), np.stack([target, source, 2 * relation + 1])], axis=1)
    edges = np.ascontiguousarray(edges[:, np.lexsort((edges[2], edges[1], edges[0]))])
    labels = {name: k for k, name in enumerate(sorted({row[0] for row in read_tsv(paths[1], (label_column,))}))}
    data = Data(edge_index=Tensor(edges[:2].copy()), edge_type=Tensor(edges[2].copy()))
    for kind, path in (("train", paths[2]), ("test", paths[3])):
        rows = read_tsv(path, (node_column, label_column))
        for name, label in rows:
            if name not in number or label not in labels:
                raise ValueError(
                    f"{path}: {name!r} is not a node of the graph" if name not in number else f"{path}: the class {label!r} is not known"
                )
        data[f"{kind}_idx"] = Tensor(np.array([number[name] for name, _ in rows], np.int64))
        data[f"{kind}_y"] = Tensor(np.array([labels[label] for _, label in rows], np.int64))
    data.num_nodes = len(nodes)
    return data


__all__ = ["Entities", "parse_triples", "read_entities"]
