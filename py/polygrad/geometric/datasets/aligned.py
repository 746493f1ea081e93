"""Knowledge graphs with features of texts: DBP15K, whose entities are to be matched, and Wikidata5M."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.extract import read_gz
from ._arrays import PARTS, number_of, numbers, read_lines, read_rows, tensor
from ._bases import Archived, drive, one_of
from ._files import one
from ._nested import load_torch
from ._tables import read_table

UNKNOWN = "**UNK**"


class DBP15K(Archived):
    """Two graphs of entities of DBpedia in two languages, whose equal entities are to be found ("Cross-lingual Entity Alignment via Joint
    Attribute-Preserving Embedding", 2017).

    pair: "en_zh", "en_fr", "en_ja", "zh_en", "fr_en" or "ja_en". x1 and x2 [N, words, 300] have a vector for each word of an entity's name, with
    zeros behind the last; train_y and test_y [2, P] are pairs of equal entities.

    >>> from polygrad.geometric.datasets import DBP15K
    >>> dataset = DBP15K("data/DBP15K", pair="zh_en")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "dbp15k"
    name = "DBP15K"
    pairs: ClassVar[tuple[str, ...]] = ("en_zh", "en_fr", "en_ja", "zh_en", "fr_en", "ja_en")

    def __init__(
        self,
        root: str | None = None,
        pair: str = "",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.pair = one_of("pair", pair, self.pairs)
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["sub.glove.300d", *self.pairs]

    @property
    def processed_file_names(self) -> str:
        return f"{self.pair}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [(drive("1ggYlYf2_kTyi7oF9g07oTNn3VDhjl7so"), "data.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        vectors = self.raw_paths[0]
        words, table = self._words(vectors)
        folder = os.path.join(self.raw_dir, self.pair)
        out: dict[str, Any] = {}
        places = []
        for k in (1, 2):
            place, out[f"x{k}"] = self._features(os.path.join(folder, f"id_features_{k}"), words, table)
            path = os.path.join(folder, f"triples_{k}")
            triples = read_table(path, np.int64, 3)
            head, tail = (_numbered(triples[:, c], place, path) for c in (0, 2))
            order = np.lexsort((tail, head))
            out[f"edge_index{k}"], out[f"rel{k}"] = Tensor(np.stack([head, tail])[:, order]), tensor(triples[order, 1])
            places.append(place)
        for key, file in (("train_y", "train.examples.20"), ("test_y", "test.examples.1000")):
            path = os.path.join(folder, file)
            rows = read_table(path, np.int64, 3)
            rows = rows[rows[:, 2] != 0]
            out[key] = Tensor(np.stack([_numbered(rows[:, k], places[k], path) for k in (0, 1)]))
        return one(Data(**out))

    @staticmethod
    def _words(path: str) -> tuple[dict[str, int], np.ndarray]:
        """The row of each word, and the vectors. A line without a word is the vector of unknown ones."""
        rows = [line.split(" ") for line in read_lines(path)]
        width = min((len(r) for r in rows), default=0)
        if not rows or any(len(r) not in (width, width + 1) for r in rows) or all(len(r) == len(rows[0]) for r in rows):
            raise ValueError(f"{path}: a word and its vector on each line are needed, and one vector without a word")
        names = {r[0] if len(r) > width else UNKNOWN: k for k, r in enumerate(rows)}
        return names, numbers([r[len(r) - width :] for r in rows], np.float32, path)

    @staticmethod
    def _features(path: str, words: dict[str, int], table: np.ndarray) -> tuple[dict[int, int], Tensor]:
        rows = [(r + [UNKNOWN])[:2] for r in read_rows(path, "\t", 1)]
        place = {int(i): k for k, i in enumerate(numbers((r[0] for r in rows), np.int64, path))}
        if len(place) != len(rows):
            raise ValueError(f"{path}: an entity is there twice")
        texts = [[words.get(w, words[UNKNOWN]) for w in r[1].lower().split()] for r in rows]
        count = np.array([len(t) for t in texts], np.int64)
        longest = int(count.max(initial=0))
        if len(rows) * longest * table.shape[1] > 1 << 31:
            raise ValueError(f"{path}: a name of {longest} words is too long for {len(rows)} entities")
        x = np.zeros((len(rows), longest, table.shape[1]), np.float32)
        row = np.repeat(np.arange(len(rows)), count)
        x[row, np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)] = table[[w for t in texts for w in t]]
        return place, Tensor(x)

    def __repr__(self) -> str:
        return f"DBP15K({self.pair})"


def _numbered(ids: np.ndarray, place: dict[int, int], path: str) -> np.ndarray:
    unknown = next((i for i in ids.tolist() if i not in place), None)
    if unknown is not None:
        raise ValueError(f"{path}: the entity {unknown} is not known")
    return np.fromiter((place[i] for i in ids.tolist()), np.int64, ids.size)


class Wikidata5M(Archived):
    """4,594,485 entities of Wikidata, 822 relations and 20 million triples, with features of the entities' texts ("KEPLER: A Unified Model for
    Knowledge
    Embedding and Pre-trained Language Representation", 2021). setting: "transductive" or "inductive".

    >>> from polygrad.geometric.datasets import Wikidata5M
    >>> dataset = Wikidata5M("data/Wikidata5M", setting="inductive")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "wikidata5m"
    name = "Wikidata5M"

    def __init__(
        self,
        root: str | None = None,
        setting: str = "transductive",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.setting = one_of("setting", setting, ("transductive", "inductive"))
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["wikidata5m_text.txt.gz", "download", *(f"wikidata5m_{self.setting}_{p}.txt" for p in ("train", "valid", "test"))]

    @property
    def processed_file_names(self) -> str:
        return f"{self.setting}_data.safetensors"

    def download(self) -> None:
        from ..data.download import download_url
        from ..data.extract import extract_tar

        folder = self._download_dir()
        download_url("https://www.dropbox.com/s/7jp4ib8zo3i6m10/wikidata5m_text.txt.gz?dl=1", folder, filename="wikidata5m_text.txt.gz")
        download_url("https://uni-bielefeld.sciebo.de/s/yuBKzBxsEc9j3hy/download", folder, filename="download")
        key = "6sbhm0rwo4l73jq" if self.setting == "transductive" else "csed3cgal3m7rzo"
        name = f"wikidata5m_{self.setting}.tar.gz"
        path = download_url(f"https://www.dropbox.com/s/{key}/{name}?dl=1", folder, filename=name)
        extract_tar(path, folder)
        os.remove(path)

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        texts, features, *parts = self.raw_paths
        lines = read_gz(texts).decode("utf-8", "replace").splitlines()
        entities = {line.split("\t", 1)[0]: k for k, line in enumerate(lines)}
        x = load_torch(features)
        if not isinstance(x, Tensor) or x.ndim != 2 or x.shape[0] != len(lines):
            raise ValueError(f"{features}: features of {len(lines)} entities are needed")
        relations: dict[str, int] = {}
        tables = []
        for path in parts:
            rows = read_rows(path, "\t", 3)
            for r in rows:
                relations.setdefault(r[1], len(relations))
            pairs = [number_of((r[k] for r in rows), entities, path, "entity") for k in (0, 2)]
            tables.append(np.stack([*pairs, number_of((r[1] for r in rows), relations, path, "relation")]))
        table = np.concatenate(tables, axis=1)
        part = np.repeat(np.arange(3), [t.shape[1] for t in tables])
        masks = {key: Tensor(part == k) for k, key in enumerate(PARTS)}
        return one(Data(x=x, edge_index=tensor(table[:2]), edge_type=tensor(table[2]), **masks))


__all__ = ["DBP15K", "Wikidata5M"]
