"""Events in time: interactions of users and items (JODIE, Myket), political events (ICEWS18, GDELT), transactions (Elliptic, Bitcoin OTC)."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.dataset import text_of
from ..data.temporal import TemporalData
from ._arrays import load_npy, number_of, numbers, read_rows, tensor
from ._bases import Graphs, NamedGraph, OneGraph, SplitGraphs, many
from ._files import one
from ._tables import parse_table, read_table


def _below_the_head(path: str, dtype: Any) -> np.ndarray:
    with open(path, "rb") as f:
        f.readline()
        return parse_table(f.read(), dtype, None, path)


def _nodes(column: np.ndarray, path: str) -> np.ndarray:
    if not np.array_equal(column, np.rint(column)) or (column.size and (column.min() < 0 or column.max() >= 1 << 40)):
        raise ValueError(f"{path}: nodes and times must be whole numbers from 0")
    return column.astype(np.int64)


class JODIEDataset(NamedGraph):
    """Interactions of users and items ("Predicting Dynamic Embedding Trajectory in Temporal Interaction Networks", 2019), as TemporalData.

    name: "Reddit", "Wikipedia", "MOOC" or "LastFM". Items are numbered after the users.

    >>> from polygrad.geometric.datasets import JODIEDataset
    >>> dataset = JODIEDataset("data/JODIEDataset", name="Wikipedia")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "jodie"
    names: ClassVar[tuple[str, ...]] = ("reddit", "wikipedia", "mooc", "lastfm")
    data_class = TemporalData

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}.csv"]

    def urls(self) -> list[str]:
        return [f"https://snap.stanford.edu/jodie/{self.name}.csv"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_jodie(self.raw_paths[0]))

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}()"


def read_jodie(path: str) -> TemporalData:
    """Events of a table: user, item, time, label, and features behind them; the first line names the columns, and may name fewer."""
    table = _below_the_head(path, np.float64)
    if table.shape[1] < 4:
        raise ValueError(f"{path}: a user, an item, a time and a label are needed, there are {table.shape[1]} columns")
    src, dst, y = (_nodes(table[:, k], path) for k in (0, 1, 3))
    time = table[:, 2]
    if not np.isfinite(table[:, :4]).all() or (np.abs(time) > 2.0**62).any():
        raise ValueError(f"{path}: a time is not a number that can be used")
    dst = dst + (int(src.max()) + 1 if src.size else 0)
    return TemporalData(src=Tensor(src), dst=Tensor(dst), t=tensor(time.astype(np.int64)), msg=tensor(table[:, 4:], np.float32), y=Tensor(y))


class MyketDataset(OneGraph):
    """Installations of Android applications ("Effect of Choosing Loss Function when Using T-batching", 2023): 10,000 users, 7,988 applications,
    694,121 events, as TemporalData; the message of an event are the features of its application.

    >>> from polygrad.geometric.datasets import MyketDataset
    >>> dataset = MyketDataset("data/MyketDataset")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "myket"
    data_class = TemporalData

    @property
    def raw_file_names(self) -> list[str]:
        return ["myket.csv", "app_info_sample.npy"]

    def urls(self) -> list[str]:
        base = "https://raw.githubusercontent.com/erfanloghmani/myket-android-application-market-dataset/main/data_int_index"
        return [f"{base}/{f}" for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path, features = self.raw_paths
        table, x = _below_the_head(path, np.float64), load_npy(features, 2)
        if table.shape[1] < 3:
            raise ValueError(f"{path}: a user, an application and a time are needed")
        src, dst, time = (_nodes(table[:, k], path) for k in range(3))
        if dst.size and dst.max() >= len(x):
            raise ValueError(f"{path}: application {int(dst.max())} has no features, there are {len(x)}")
        first = int(src.max()) + 1 if src.size else 0
        return one(TemporalData(src=Tensor(src), dst=Tensor(dst + first), t=Tensor(time), msg=tensor(x[dst], np.float32)))


class _Events(SplitGraphs):
    """Events (subject, relation, object, time) as one small Data each: `sub`, `rel`, `obj`, `t`."""

    sizes: ClassVar[tuple[int, int]]
    step: ClassVar[int]
    url: ClassVar[str]

    @property
    def num_nodes(self) -> int:
        return self.sizes[0]

    @property
    def num_rels(self) -> int:
        return self.sizes[1]

    @property
    def raw_file_names(self) -> list[str]:
        return ["train.txt", "valid.txt", "test.txt"]

    def urls(self) -> list[str]:
        return [f"{self.url}/{f}" for f in self.raw_file_names]

    def _process(self) -> None:
        """The parts follow each other in time, and a transform may remember what it saw (RENet's history): it gets the events of all parts in
        their order. The parts that it made are kept, and a dataset without a transform takes them as they are."""
        if self.pre_transform is None:
            return super()._process()
        mine, forced = self.split, self.force_reload
        keep = {"pre_transform": text_of(self.pre_transform), "pre_filter": text_of(self.pre_filter)}
        paths = [os.path.join(self.processed_dir, f"{part}.safetensors") for part in self.parts] if self.root else []
        if paths and not forced and all(map(os.path.isfile, paths)) and self._reload(self.processed_paths[0], keep):
            return None
        found = None
        try:
            self.force_reload = True
            for part in self.parts if self.root else self.parts[: self.parts.index(mine) + 1]:
                self.split = part
                try:
                    super()._process()
                except ValueError:
                    if part == mine:
                        raise
                    continue  # a part without events
                if part == mine:
                    found = (self._data, self._slices)
        finally:
            self.split, self.force_reload = mine, forced
        assert found is not None
        self._set(*found)
        return None

    def _reload(self, path: str, keep: dict[str, str]) -> bool:
        return super()._reload(path, keep if self.pre_transform is not None else {"pre_filter": keep["pre_filter"]})

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        tables = [read_table(p, np.int64) for p in self.raw_paths]
        for path, table in zip(self.raw_paths, tables):
            if table.shape[1] < 4:
                raise ValueError(f"{path}: four numbers a row are needed, there are {table.shape[1]}")
        tables = [t[:, :4] for t in tables]
        low = np.concatenate(tables).min(axis=0) if sum(map(len, tables)) else np.zeros(4, np.int64)
        low[3] //= self.step
        table = tables[self.parts.index(self.split)]
        if not len(table):
            raise ValueError(f"{self.raw_paths[self.parts.index(self.split)]}: there is no event in the file")
        events = np.stack([table[:, 0], table[:, 1], table[:, 2], table[:, 3] // self.step], axis=1) - low
        data = Data(**{key: tensor(events[:, k]) for k, key in enumerate(("sub", "rel", "obj", "t"))})
        data.num_nodes, data._num_nodes = 0, [0] * len(events)
        return data, dict.fromkeys(("sub", "rel", "obj", "t"), np.arange(len(events) + 1)), {}


class ICEWS18(_Events):
    """Political events of 2018 ("Recurrent Event Network for Reasoning over Temporal Knowledge Graphs", 2019): 23,033 nodes, 256 relations.

    >>> from polygrad.geometric.datasets import ICEWS18
    >>> dataset = ICEWS18("data/ICEWS18", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "icews18"
    sizes, step = (23033, 256), 24
    url = "https://github.com/INK-USC/RE-Net/raw/master/data/ICEWS18"


class GDELT(_Events):
    """Events in the news ("Recurrent Event Network for Reasoning over Temporal Knowledge Graphs", 2019): 7,691 nodes, 240 relations.

    >>> from polygrad.geometric.datasets import GDELT
    >>> dataset = GDELT("data/GDELT", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "gdelt"
    sizes, step = (7691, 240), 15
    url = "https://github.com/INK-USC/RE-Net/raw/master/data/GDELT"


class EllipticBitcoinDataset(OneGraph):
    """Transactions of Bitcoin ("Anti-Money Laundering in Bitcoin", 2019): 203,769 nodes, 234,355 edges, 165 features; class 1 is illicit, 0 licit, 2
    not known. Trained on the first 34 of 49 time steps.

    >>> from polygrad.geometric.datasets import EllipticBitcoinDataset
    >>> dataset = EllipticBitcoinDataset("data/EllipticBitcoinDataset")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "elliptic"

    @property
    def raw_file_names(self) -> list[str]:
        return ["elliptic_txs_features.csv", "elliptic_txs_edgelist.csv", "elliptic_txs_classes.csv"]

    def archives(self) -> list[tuple[str, str]]:
        return [(f"https://data.pyg.org/datasets/elliptic/{f}.zip", f"{f}.zip") for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_elliptic(self.raw_paths))

    @property
    def num_classes(self) -> int:
        return 2


class EllipticBitcoinTemporalDataset(EllipticBitcoinDataset):
    """The transactions of one time step t, 1 to 49.

    >>> from polygrad.geometric.datasets import EllipticBitcoinTemporalDataset
    >>> dataset = EllipticBitcoinTemporalDataset("data/EllipticBitcoinTemporalDataset", t=7)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    def __init__(
        self,
        root: str | None = None,
        t: int = 1,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if not 1 <= t <= 49:
            raise ValueError(f"t must be between 1 and 49, not {t}")
        self.t, self.name = t, "EllipticBitcoinDataset"
        super().__init__(root, transform, pre_transform, force_reload)

    @property
    def processed_file_names(self) -> str:
        return f"data_t_{self.t}.safetensors"

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_elliptic(self.raw_paths, self.t))


def read_elliptic(paths: list[str], step: int | None = None) -> Data:
    """The graph of the tables of features, edges and classes, or the part of it that belongs to one time step."""
    features, edges, classes = paths
    rows = read_rows(features, ",", 3)
    if not rows:
        raise ValueError(f"{features}: no transactions")
    table = numbers(rows, np.float64, features)
    time = table[:, 1]
    known = {"unknown": 2, "1": 1, "2": 0}
    kind = {r[0]: known.get(r[1], -1) for r in read_rows(classes, ",", 2, skip=1)}
    if -1 in kind.values():
        raise ValueError(f"{classes}: a class is none of {', '.join(known)}")
    keep = np.ones(len(rows), bool) if step is None else time == step
    ids = [r[0] for r, k in zip(rows, keep) if k]
    place = {t: k for k, t in enumerate(ids)}
    if len(place) != len(ids):
        raise ValueError(f"{features}: a transaction is there twice")
    y = number_of(ids, kind, classes, "transaction")
    pairs = read_rows(edges, ",", 2, skip=1)
    if step is not None:
        pairs = [p for p in pairs if p[0] in place]
    index = np.stack([number_of((p[k] for p in pairs), place, edges, "transaction") for k in (0, 1)])
    time = time[keep]
    data = Data(x=tensor(table[keep, 2:], np.float32), edge_index=Tensor(index), y=Tensor(y))
    data.train_mask, data.test_mask = tensor((time < 35) & (y != 2)), tensor((time >= 35) & (y != 2))
    return data


class BitcoinOTC(Graphs):
    """Who trusts whom among traders of Bitcoin ("EvolveGCN", 2020): 138 graphs, one for 13.8 days each.

    edge_window_size: how many of these spans a graph holds.

    >>> from polygrad.geometric.datasets import BitcoinOTC
    >>> dataset = BitcoinOTC("data/BitcoinOTC", edge_window_size=10)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "bitcoin-otc"

    def __init__(
        self,
        root: str | None = None,
        edge_window_size: int = 10,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.edge_window_size = edge_window_size
        super().__init__(root, transform, pre_transform, None, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["soc-sign-bitcoinotc.csv"]

    @property
    def processed_file_names(self) -> str:
        return f"data_{self.edge_window_size}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [("https://snap.stanford.edu/data/soc-sign-bitcoinotc.csv.gz", "soc-sign-bitcoinotc.csv.gz")]

    @property
    def num_nodes(self) -> int:
        return int(self._data.edge_index.max().item()) + 1

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        table = read_table(path, np.float64, 4)
        pairs = _nodes(table[:, :2], path).T
        time = np.floor(table[:, 3])
        if not time.size or not np.isfinite(time).all() or (np.diff(time) < 0).any() or np.ptp(time) > 100 * 366 * 86400:
            raise ValueError(f"{path}: times must rise, over less than a century")
        pairs = pairs - pairs.min()
        n = int(pairs.max()) + 1
        window = _windows(time, 13.8 * 86400)
        if not (np.abs(table[:, 2]) < 2**53).all():
            raise ValueError(f"{path}: ratings must be whole numbers")
        value = table[:, 2].astype(np.int64)
        graphs = []
        for k in range(int(window.max()) + 1):
            some = (window > k - self.edge_window_size) & (window <= k)
            graphs.append(Data(edge_index=tensor(pairs[:, some]), edge_attr=tensor(value[some]), num_nodes=n))
        return many(graphs, self)


def _windows(time: np.ndarray, length: float) -> np.ndarray:
    """The window of each event; an event enters at most one new window, so a pause delays those behind it."""
    ideal = np.floor((time - time[0]) / length).astype(np.int64)
    # w[k] = min(ideal[k], w[k-1] + 1) where ideal rises: k - w[k] is the running maximum of k - ideal[k].
    at = np.arange(ideal.size)
    return at - np.maximum.accumulate(at - ideal)


__all__ = [
    "BitcoinOTC", "EllipticBitcoinDataset", "EllipticBitcoinTemporalDataset", "GDELT", "ICEWS18", "JODIEDataset", "MyketDataset", "read_elliptic",
    "read_jodie",
]  # fmt: skip
