"""MovieLens: which users rated which movies."""

from __future__ import annotations

import csv
import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.download import download_url
from ..data.extract import extract_zip
from ..data.hetero_data import HeteroData
from ..utils._host import library
from ._files import FileDataset, one

URL = "https://files.grouplens.org/datasets/movielens/ml-latest-small.zip"


class MovieLens(FileDataset):
    """The small MovieLens set: 610 users rated 9,742 movies 100,836 times, with `time` and `edge_label` on the edges ("user", "rates", "movie").

    Movies have their genres as features, after an embedding of their title by the sentence transformer `model_name`, which needs the package
    sentence_transformers; model_name=None leaves that out.
    """

    group: ClassVar[str] = "movielens"

    def __init__(
        self, root: str | None = None, transform: Callable[..., Any] | None = None, pre_transform: Callable[..., Any] | None = None,
        model_name: str | None = "all-MiniLM-L6-v2", force_reload: bool = False,
    ):  # fmt: skip
        self.model_name = model_name
        super().__init__(root, transform, pre_transform, force_reload=force_reload, data_cls=HeteroData)

    @property
    def raw_file_names(self) -> list[str]:
        return [os.path.join("ml-latest-small", name) for name in ("movies.csv", "ratings.csv")]

    @property
    def processed_file_names(self) -> str:
        return f"data_{self.model_name}.safetensors"

    def download(self) -> None:
        path = download_url(URL, self._download_dir())
        extract_zip(path, self._download_dir())
        os.remove(path)

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_movie_lens(self.raw_paths[0], self.raw_paths[1], self.model_name))

    def __repr__(self) -> str:
        return "MovieLens()"


def _table(path: str, columns: tuple[str, ...]) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    if rows and not set(columns) <= set(rows[0]):
        raise ValueError(f"{path}: the columns {', '.join(columns)} are needed, there are {', '.join(rows[0])}")
    return [[row[c] for c in columns] for row in rows]


def _titles(titles: list[str], model_name: str) -> np.ndarray:
    model = library("sentence_transformers", "the embedding of titles").SentenceTransformer(model_name)
    return np.asarray(model.encode(titles), np.float32)


def read_movie_lens(movies: str, ratings: str, model_name: str | None) -> HeteroData:
    """The graph of the two tables. Users are numbered as they occur in the ratings, movies as in their table."""
    known = _table(movies, ("movieId", "title", "genres"))
    number = {movie: k for k, (movie, _, _) in enumerate(known)}
    genres = sorted({g for *_, text in known for g in text.split("|")})
    place = {g: k for k, g in enumerate(genres)}
    x = np.zeros((len(known), len(genres)), np.float32)
    for k, (*_, text) in enumerate(known):
        x[k, [place[g] for g in text.split("|")]] = 1
    if model_name is not None:
        x = np.concatenate([_titles([title for _, title, _ in known], model_name), x], axis=1)
    rows = _table(ratings, ("userId", "movieId", "rating", "timestamp"))
    users: dict[str, int] = {}
    for user, *_ in rows:
        users.setdefault(user, len(users))
    missing = next((movie for _, movie, *_ in rows if movie not in number), None)
    if missing is not None:
        raise ValueError(f"{ratings}: the movie {missing} is not in {movies}")
    data = HeteroData()
    data["movie"].x = Tensor(x)
    data["user"].num_nodes = len(users)
    edges = data["user", "rates", "movie"]
    edges.edge_index = Tensor(np.array([[users[u] for u, *_ in rows], [number[m] for _, m, *_ in rows]], np.int64).reshape(2, -1))
    edges.edge_label = Tensor(np.array([float(r) for *_, r, _ in rows]).astype(np.int64))
    edges.time = Tensor(np.array([int(t) for *_, t in rows], np.int64))
    return data


__all__ = ["MovieLens", "read_movie_lens"]
