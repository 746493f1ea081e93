"""Graphs of "Multi-scale Attributed Node Embedding" (2021) and its relatives: an npz archive with edges, features and target."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..data.data import Data
from ._arrays import same_rows, tensor
from ._bases import NamedGraph, OneGraph
from ._edge_lists import check_pairs
from ._files import one
from ._pickles import load_npz

URL = "https://graphmining.ai/datasets/ptg"


def read_musae(path: str, features: bool = True, target: Any = np.int64) -> Data:
    """The graph of an archive with `edges` [E, 2], `target` and `features`."""
    f = load_npz(path, ["edges", "target"] + (["features"] if features else []))
    y, edges = f["target"], f["edges"]
    n = y.shape[0] if y.ndim else 0
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"{path}: edges must be whole numbers [E, 2], not {edges.dtype} {edges.shape}")
    data = Data(y=tensor(y, target), edge_index=tensor(check_pairs(edges.astype(np.int64).T, n, path)))
    if features:
        same_rows(path, n, features=f["features"])
        data.x = tensor(f["features"], np.float32)
    else:
        data.num_nodes = n
    return data


class _Musae(OneGraph):
    group: ClassVar[str] = "musae"

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}.npz"]

    def urls(self) -> list[str]:
        return [f"{URL}/{self.name}.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_musae(self.raw_paths[0]))


class FacebookPagePage(_Musae):
    """Pages of Facebook that like each other: 22,470 nodes, 342,004 edges, 128 features, 4 classes.

    >>> from polygrad.geometric.datasets import FacebookPagePage
    >>> dataset = FacebookPagePage("data/FacebookPagePage")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    name = "facebook"


class GitHub(_Musae):
    """Developers on GitHub that follow each other: 37,700 nodes, 578,006 edges, 128 features, 2 classes.

    >>> from polygrad.geometric.datasets import GitHub
    >>> dataset = GitHub("data/GitHub")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    name = "github"


class DeezerEurope(_Musae):
    """European users of Deezer who follow each other: 28,281 nodes, 185,504 edges, 128 features, 2 classes.

    >>> from polygrad.geometric.datasets import DeezerEurope
    >>> dataset = DeezerEurope("data/DeezerEurope")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    name = "deezer_europe"


class LastFMAsia(_Musae):
    """Asian users of LastFM who follow each other: 7,624 nodes, 55,612 edges, 128 features, 18 classes.

    >>> from polygrad.geometric.datasets import LastFMAsia
    >>> dataset = LastFMAsia("data/LastFMAsia")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    name = "lastfm_asia"


class Twitch(NamedGraph):
    """Gamers on Twitch who follow each other. name: "DE", "EN", "ES", "FR", "PT" or "RU". 128 features, 2 classes.

    >>> from polygrad.geometric.datasets import Twitch
    >>> dataset = Twitch("data/Twitch", name="DE")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "twitch"
    names: ClassVar[tuple[str, ...]] = ("DE", "EN", "ES", "FR", "PT", "RU")

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}.npz"]

    def urls(self) -> list[str]:
        return [f"{URL}/twitch/{self.name}.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_musae(self.raw_paths[0]))


class GemsecDeezer(NamedGraph):
    """Users of Deezer and the genres they like ("GEMSEC: Graph Embedding with Self Clustering", 2019). name: "HU", "HR" or "RO". 84 targets.

    >>> from polygrad.geometric.datasets import GemsecDeezer
    >>> dataset = GemsecDeezer("data/GemsecDeezer", name="HU")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "gemsec"
    names: ClassVar[tuple[str, ...]] = ("HU", "HR", "RO")

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}.npz"]

    def urls(self) -> list[str]:
        return [f"{URL}/gemsec/{self.name}.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_musae(self.raw_paths[0], features=False))


__all__ = ["DeezerEurope", "FacebookPagePage", "GemsecDeezer", "GitHub", "LastFMAsia", "Twitch", "read_musae"]
