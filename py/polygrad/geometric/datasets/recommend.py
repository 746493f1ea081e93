"""Graphs of users and what they rate, read or buy: MovieLens, Amazon's books, Taobao."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.hetero_data import HeteroData
from ._arrays import number_of, numbers, one_hot, read_csv, read_lines, read_rows, tensor
from ._bases import OneGraph
from ._files import one

RATES, RATED = ("user", "rates", "movie"), ("movie", "rated_by", "user")


def dummies(texts: list[str], sep: str = "|") -> np.ndarray:
    """A column of 0 and 1 for each word, in the order of the words."""
    words = [t.split(sep) for t in texts]
    kinds = sorted({w for ws in words for w in ws if w})
    place = {w: k for k, w in enumerate(kinds)}
    if len(kinds) * len(texts) > 1 << 30:
        raise ValueError(f"{len(kinds)} different words of {len(texts)} rows are too many")
    out = np.zeros((len(texts), len(kinds)), np.float32)
    row = np.repeat(np.arange(len(texts)), [sum(1 for w in ws if w) for ws in words])
    out[row, [place[w] for ws in words for w in ws if w]] = 1
    return out


def _table(ids: list[str], path: str) -> dict[str, int]:
    table = {k: n for n, k in enumerate(ids)}
    if len(table) != len(ids):
        raise ValueError(f"{path}: a number is there twice")
    return table


def _ratings(rows: list[list[str]], users: dict[str, int], movies: dict[str, int], path: str) -> tuple[Tensor, np.ndarray, Tensor]:
    pairs = np.stack([number_of((r[0] for r in rows), users, path, "user"), number_of((r[1] for r in rows), movies, path, "movie")])
    rating = numbers((r[2] for r in rows), np.float64, path)
    if not np.isfinite(rating).all() or (np.abs(rating) > 1e6).any():
        raise ValueError(f"{path}: a rating is not a number that can be used")
    return Tensor(pairs), rating, tensor(numbers((r[3] for r in rows), np.int64, path))


class MovieLens100K(OneGraph):
    """100,000 ratings of 1,682 movies by 943 users; those of `u1.test` are `edge_label_index` and `edge_label`.

    >>> from polygrad.geometric.datasets import MovieLens100K
    >>> dataset = MovieLens100K("data/MovieLens100K")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "movielens"
    data_class = HeteroData

    @property
    def raw_file_names(self) -> list[str]:
        return ["u.item", "u.user", "u1.base", "u1.test"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://files.grouplens.org/datasets/movielens/ml-100k.zip", "ml-100k.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        item, user, base, test = self.raw_paths
        data = HeteroData()
        rows = read_rows(item, "|", 24, "latin1")
        movies = _table([r[0] for r in rows], item)
        data["movie"].x = Tensor(numbers([r[6:24] for r in rows], np.float32, item))
        rows = read_rows(user, "|", 5, "latin1")
        users = _table([r[0] for r in rows], user)
        age = numbers((r[1] for r in rows), np.float32, user)
        parts = [age[:, None] / max(float(age.max()), 1), one_hot([r[2] for r in rows]), one_hot([r[3] for r in rows])]
        data["user"].x = tensor(np.concatenate(parts, axis=1), np.float32)
        pairs, rating, time = _ratings(read_rows(base, "\t", 4), users, movies, base)
        _both(data, pairs, tensor(rating, np.int64), time)
        pairs, rating, _ = _ratings(read_rows(test, "\t", 4), users, movies, test)
        data[RATES].edge_label_index, data[RATES].edge_label = pairs, tensor(rating, np.float32)
        return one(data)


def _both(data: HeteroData, pairs: Tensor, rating: Tensor, time: Tensor) -> None:
    data[RATES].edge_index, data[RATES].rating, data[RATES].time = pairs, rating, time
    data[RATED].edge_index, data[RATED].rating, data[RATED].time = tensor(pairs.numpy()[::-1]), rating, time


class MovieLens1M(OneGraph):
    """A million ratings of 3,883 movies by 6,040 users.

    >>> from polygrad.geometric.datasets import MovieLens1M
    >>> dataset = MovieLens1M("data/MovieLens1M")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "movielens"
    data_class = HeteroData

    @property
    def raw_file_names(self) -> list[str]:
        return ["movies.dat", "users.dat", "ratings.dat"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://files.grouplens.org/datasets/movielens/ml-1m.zip", "ml-1m.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        movie, user, ratings = self.raw_paths
        data = HeteroData()
        rows = read_rows(movie, "::", 3, "latin1")
        movies = _table([r[0] for r in rows], movie)
        data["movie"].x = Tensor(dummies([r[2] for r in rows]))
        rows = read_rows(user, "::", 5, "latin1")
        users = _table([r[0] for r in rows], user)
        data["user"].x = tensor(np.concatenate([one_hot([r[k] for r in rows]) for k in (2, 1, 3)], axis=1))
        pairs, rating, time = _ratings(read_rows(ratings, "::", 4), users, movies, ratings)
        _both(data, pairs, tensor(rating, np.int64), time)
        return one(data)


def _language_model(name: str) -> Callable[[list[str]], Any]:
    try:
        from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as e:
        raise ImportError(
            f"the language model {name!r} needs the package sentence-transformers; or give a function of a list of titles as encoder"
        ) from e
    found: Callable[[list[str]], Any] = SentenceTransformer(name).encode
    return found


class MovieLens(OneGraph):
    """The small set of MovieLens: 9,742 movies, 610 users, 100,836 ratings.

    model_name: a model of the package sentence-transformers, which makes features out of the titles when the files are read. encoder: makes a table
    of features [movies, F] out of a list of titles, in its place. With neither, the features of a movie are its genres alone.

    >>> from polygrad.geometric.datasets import MovieLens
    >>> dataset = MovieLens("data/MovieLens")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "movielens"
    data_class = HeteroData

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        model_name: str | None = None,
        force_reload: bool = False,
        encoder: Callable[[list[str]], Any] | None = None,
    ):
        self.model_name, self.encoder = model_name, encoder
        super().__init__(root, transform, pre_transform, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["movies.csv", "ratings.csv"]

    @property
    def processed_file_names(self) -> str:
        return f"data_{self.model_name or ('genres' if self.encoder is None else 'encoder')}.safetensors"

    def _places(self, folder: str) -> list[str]:
        places = super()._places(folder)
        return [*places, *(os.path.join(p, "ml-latest-small") for p in places)]  # the folder of the archive

    def archives(self) -> list[tuple[str, str]]:
        return [("https://files.grouplens.org/datasets/movielens/ml-latest-small.zip", "ml-latest-small.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        movie, ratings = self.raw_paths
        data = HeteroData()
        head, rows = read_csv(movie, ("movieId", "title", "genres"))
        at = [head.index(c) for c in ("movieId", "title", "genres")]
        movies = _table([r[at[0]] for r in rows], movie)
        x = dummies([r[at[2]] for r in rows])
        encoder = self.encoder if self.encoder is not None or self.model_name is None else _language_model(self.model_name)
        if encoder is not None:
            text = np.asarray(encoder([r[at[1]] for r in rows]), np.float32)
            x = np.concatenate([text, x], axis=1)
        data["movie"].x = Tensor(x)
        head, rows = read_csv(ratings, ("userId", "movieId", "rating", "timestamp"))
        at = [head.index(c) for c in ("userId", "movieId", "rating", "timestamp")]
        rows = [[r[k] for k in at] for r in rows]
        users = {u: k for k, u in enumerate(dict.fromkeys(r[0] for r in rows))}
        data["user"].num_nodes = len(users)
        pairs, rating, time = _ratings(rows, users, movies, ratings)
        data[RATES].edge_index, data[RATES].edge_label, data[RATES].time = pairs, tensor(rating, np.int64), time
        return one(data)


class AmazonBook(OneGraph):
    """Users and books they rated ("LightGCN", 2020): 52,643 users, 91,599 books, 2,380,730 ratings for training and 603,378 for the test.

    >>> from polygrad.geometric.datasets import AmazonBook
    >>> dataset = AmazonBook("data/AmazonBook")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "amazon-book"
    data_class = HeteroData

    @property
    def raw_file_names(self) -> list[str]:
        return ["user_list.txt", "item_list.txt", "train.txt", "test.txt"]

    def urls(self) -> list[str]:
        return [f"https://raw.githubusercontent.com/gusye1234/LightGCN-PyTorch/master/data/amazon-book/{f}" for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        paths = self.raw_paths
        data = HeteroData()
        counts = [len(read_lines(p)) - 1 for p in paths[:2]]
        data["user"].num_nodes, data["book"].num_nodes = counts
        for path, name in zip(paths[2:], ("edge_index", "edge_label_index")):
            words = [line.split() for line in read_lines(path)]
            row = np.repeat(numbers((w[0] for w in words), np.int64, path), [len(w) - 1 for w in words])
            pairs = np.stack([row, numbers((v for w in words for v in w[1:]), np.int64, path)])
            if pairs.size and (pairs.min() < 0 or (pairs.max(axis=1) >= counts).any()):
                raise ValueError(f"{path}: a rating of a user or book beyond the {counts[0]} and {counts[1]} that there are")
            data["user", "rates", "book"][name] = Tensor(pairs)
            if name == "edge_index":
                data["book", "rated_by", "user"][name] = tensor(pairs[::-1])
        return one(data)


class Taobao(OneGraph):
    """What users of Taobao did with items from 25 November to 3 December 2017: 987,991 users, 4,161,138 items, 9,437 categories.

    >>> from polygrad.geometric.datasets import Taobao
    >>> dataset = Taobao("data/Taobao")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "taobao"
    data_class = HeteroData
    first, last = 1511539200, 1512316799

    @property
    def raw_file_names(self) -> list[str]:
        return ["UserBehavior.csv"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://alicloud-dev.oss-cn-hangzhou.aliyuncs.com/UserBehavior.csv.zip", "UserBehavior.csv.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        from ._tables import parse_table

        path = self.raw_paths[0]
        with open(path, "rb") as f:
            text = f.read()
        for k, word in enumerate((b"pv", b"cart", b"buy", b"fav")):
            text = text.replace(b"," + word + b",", b",%d," % k)
        table = parse_table(text, np.int64, 5, path)
        table = table[(table[:, 4] >= self.first) & (table[:, 4] <= self.last)]
        _, at = np.unique(table, axis=0, return_index=True)
        table = table[np.sort(at)]
        columns = [np.unique(table[:, k], return_inverse=True) for k in range(3)]
        (users, user), (items, item), (kinds, kind) = ((c[0], c[1].reshape(-1)) for c in columns)
        data = HeteroData()
        data["user"].num_nodes, data["item"].num_nodes, data["category"].num_nodes = users.size, items.size, kinds.size
        data["user", "to", "item"].edge_index = Tensor(np.stack([user, item]))
        data["user", "to", "item"].time, data["user", "to", "item"].behavior = tensor(table[:, 4]), tensor(table[:, 3])
        _, at = np.unique(np.stack([item, kind]), axis=1, return_index=True)
        at = np.sort(at)
        data["item", "to", "category"].edge_index = Tensor(np.stack([item[at], kind[at]]))
        return one(data)


__all__ = ["AmazonBook", "MovieLens", "MovieLens100K", "MovieLens1M", "Taobao"]
