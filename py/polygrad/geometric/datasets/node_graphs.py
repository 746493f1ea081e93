"""Single graphs with classes of nodes, each in files of its own kind: npz archives, JSON, lists of edges, pickles of Planetoid's manner."""

from __future__ import annotations

from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import PARTS, load_json, load_npy, load_sparse, mask_of, numbers, read_lines, same_rows, tensor
from ._bases import NamedGraph, OneGraph, drive
from ._edge_lists import both_ways, check_pairs, once
from ._files import FileDataset, one
from ._pickles import load_npz, load_pickle
from ._tables import read_table
from .planetoid import read_planetoid


def index_pairs(edges: np.ndarray, n: int, path: str) -> np.ndarray:
    """edges [E, 2] or [2, E] of whole numbers as [2, E], checked."""
    if edges.ndim != 2 or 2 not in edges.shape or edges.dtype.kind not in "iu":
        raise ValueError(f"{path}: edges must be whole numbers [E, 2], not {edges.dtype} {edges.shape}")
    edges = edges.astype(np.int64)
    return check_pairs(np.ascontiguousarray(edges.T if edges.shape[1] == 2 else edges), n, path)


class HeterophilousGraphDataset(NamedGraph):
    """Graphs whose neighbours differ ("A Critical Look at the Evaluation of GNNs under Heterophily", 2023), with ten splits.

    name: "Roman-empire", "Amazon-ratings", "Minesweeper", "Tolokers" or "Questions".

    >>> from polygrad.geometric.datasets import HeterophilousGraphDataset
    >>> dataset = HeterophilousGraphDataset("data/HeterophilousGraphDataset", name="Roman-empire")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "heterophilous"
    names: ClassVar[tuple[str, ...]] = ("roman_empire", "amazon_ratings", "minesweeper", "tolokers", "questions")

    def _known(self, name: str) -> str:
        return super()._known(name.replace("-", "_"))

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}.npz"]

    def urls(self) -> list[str]:
        return [f"https://github.com/yandex-research/heterophilous-graphs/raw/main/data/{self.name}.npz"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        f = load_npz(path, ["node_features", "node_labels", "edges", "train_masks", "val_masks", "test_masks"])
        n = f["node_labels"].shape[0] if f["node_labels"].ndim else 0
        same_rows(path, n, node_features=f["node_features"])
        pairs = index_pairs(f["edges"], n, path)
        data = Data(x=tensor(f["node_features"]), y=tensor(f["node_labels"], np.int64), edge_index=Tensor(both_ways(pairs)))
        for key in PARTS:
            masks = np.atleast_2d(f[f"{key}s"]).T
            same_rows(path, n, **{key: masks})
            data[key] = tensor(masks, bool)
        return one(data)


class WikiCS(FileDataset):
    """Articles of Wikipedia about computer science ("Wiki-CS", 2020): 11,701 nodes, 297,110 edges, 300 features, 10 classes, 20 splits.

    >>> from polygrad.geometric.datasets import WikiCS
    >>> dataset = WikiCS("data/WikiCS", is_undirected=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "wikics"
    name = "WikiCS"

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        is_undirected: bool | None = None,
        force_reload: bool = False,
    ):
        self.is_undirected = is_undirected is not False
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["data.json"]

    @property
    def processed_file_names(self) -> str:
        return "data_undirected.safetensors" if self.is_undirected else "data.safetensors"

    def urls(self) -> list[str]:
        return ["https://github.com/pmernyei/wiki-cs-dataset/raw/master/dataset/data.json"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        f = load_json(path, "features", "labels", "links", "train_masks", "val_masks", "test_mask", "stopping_masks")
        x, y = numbers(f["features"], np.float32, path), numbers(f["labels"], np.int64, path)
        n = y.size
        if not isinstance(f["links"], list) or not all(isinstance(v, list) for v in f["links"]):
            raise ValueError(f"{path}: 'links' must be lists of nodes")
        if x.ndim != 2 or len(x) != n or len(f["links"]) != n:
            raise ValueError(f"{path}: features {x.shape}, {n} labels and links of {len(f['links'])} nodes do not fit")
        row = np.repeat(np.arange(n), [len(v) for v in f["links"]])
        pairs = check_pairs(np.stack([row, numbers([v for vs in f["links"] for v in vs], np.int64, path)]), n, path)
        data = Data(x=Tensor(x), y=Tensor(y), edge_index=Tensor(both_ways(pairs) if self.is_undirected else pairs))
        for key, name in (("train_mask", "train_masks"), ("val_mask", "val_masks"), ("test_mask", "test_mask"), ("stopping_mask", "stopping_masks")):
            mask = numbers(f[name], bool, path).T
            same_rows(path, n, **{name: mask})
            data[key] = tensor(mask)
        return one(data)

    def __repr__(self) -> str:
        return "WikiCS()"


class Airports(NamedGraph):
    """Airports and flights between them ("struc2vec", 2017). name: "USA", "Brazil" or "Europe". Features are one-hot; 4 classes by activity.

    >>> from polygrad.geometric.datasets import Airports
    >>> dataset = Airports("data/Airports", name="USA")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "airports"
    names: ClassVar[tuple[str, ...]] = ("usa", "brazil", "europe")

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}-airports.edgelist", f"labels-{self.name}-airports.txt"]

    def urls(self) -> list[str]:
        return [f"https://github.com/leoribeiro/struc2vec/raw/master/graph/{f}" for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        edge_path, label_path = self.raw_paths
        rows = [r.split() for r in read_lines(label_path)[1:]]
        table = numbers(rows, np.int64, label_path).reshape(-1, 2)
        ids, y = table[:, 0], table[:, 1]
        order = np.argsort(ids)
        if (np.diff(ids[order]) == 0).any():
            raise ValueError(f"{label_path}: an airport has two classes")
        edges = read_table(edge_path, np.int64, 2)
        place = np.searchsorted(ids[order], edges)
        if ids.size == 0 or (place >= ids.size).any() or (ids[order][np.minimum(place, ids.size - 1)] != edges).any():
            raise ValueError(f"{edge_path}: an edge has an airport without a class")
        pairs = once(np.ascontiguousarray(order[place].T))
        return one(Data(x=Tensor(np.eye(y.size, dtype=np.float32)), edge_index=Tensor(pairs), y=tensor(y)))

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}Airports()"


class PolBlogs(OneGraph):
    """Weblogs on politics in 2004 and their links ("The Political Blogosphere", 2005): 1,490 nodes, 19,025 edges, 2 classes.

    >>> from polygrad.geometric.datasets import PolBlogs
    >>> dataset = PolBlogs("data/PolBlogs")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "polblogs"

    @property
    def raw_file_names(self) -> list[str]:
        return ["adjacency.tsv", "labels.tsv"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://netset.telecom-paris.fr/datasets/polblogs.tar.gz", "polblogs.tar.gz")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        y = read_table(self.raw_paths[1], np.int64, 1).reshape(-1)
        table = read_table(self.raw_paths[0], np.int64)
        if table.shape[1] < 2:
            raise ValueError(f"{self.raw_paths[0]}: two columns are needed")
        return one(Data(edge_index=tensor(check_pairs(table[:, :2].T, y.size, self.raw_paths[0])), y=Tensor(y), num_nodes=y.size))


class EmailEUCore(OneGraph):
    """E-mail between members of an institution ("Local Higher-order Graph Clustering", 2017): 1,005 nodes, 25,571 edges, 42 departments.

    >>> from polygrad.geometric.datasets import EmailEUCore
    >>> dataset = EmailEUCore("data/EmailEUCore")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "email-eu-core"

    @property
    def raw_file_names(self) -> list[str]:
        return ["email-Eu-core.txt", "email-Eu-core-department-labels.txt"]

    def archives(self) -> list[tuple[str, str]]:
        return [(f"https://snap.stanford.edu/data/{f}.gz", f"{f}.gz") for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        y = read_table(self.raw_paths[1], np.int64, 2)[:, 1]
        pairs = check_pairs(read_table(self.raw_paths[0], np.int64, 2).T, y.size, self.raw_paths[0])
        return one(Data(edge_index=tensor(pairs), y=tensor(y), num_nodes=y.size))


class NELL(OneGraph):
    """A knowledge graph of entities ("Revisiting Semi-Supervised Learning with Graph Embeddings", 2016): 65,755 nodes, 251,550 edges, 61,278
    features, 186 classes. Each relation is a node with a feature of its own. Features are dense here: the graph needs 16 GB.

    >>> from polygrad.geometric.datasets import NELL
    >>> dataset = NELL("data/NELL")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "nell"
    name = "nell.0.001"

    @property
    def raw_file_names(self) -> list[str]:
        return [f"ind.{self.name}.{part}" for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://www.cs.cmu.edu/~zhiliny/data/nell_data.tar.gz", "nell_data.tar.gz")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return one(read_planetoid(self.raw_dir, self.name))


class MixHopSyntheticDataset(FileDataset):
    """Synthetic graphs of 5,000 nodes and 10 classes ("MixHop", 2019). homophily: 0.0, 0.1, ... 0.9, how often neighbours have the same class.

    >>> from polygrad.geometric.datasets import MixHopSyntheticDataset
    >>> dataset = MixHopSyntheticDataset("data/MixHopSyntheticDataset", homophily=0.7)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "mixhop"

    def __init__(
        self,
        root: str | None = None,
        homophily: float = 0.5,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if not any(abs(homophily - k / 10) < 1e-9 for k in range(10)):
            raise ValueError(f"homophily must be one of 0.0, 0.1, ... 0.9, not {homophily}")
        self.homophily = homophily
        self.name = f"{homophily:0.1f}"[::2]
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"ind.n5000-h{self.homophily:0.1f}-c10.{part}" for part in ("allx", "ally", "graph")]

    def urls(self) -> list[str]:
        return [f"https://raw.githubusercontent.com/samihaija/mixhop/master/data/synthetic/{f}" for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        paths = self.raw_paths
        x, y = load_npy(paths[0], 2), load_npy(paths[1], 2)
        if np.abs(x).max(initial=0) > 1e30:
            raise ValueError(f"{paths[0]}: a feature is too large")
        same_rows(paths[1], len(x), ally=y)
        graph = load_pickle(paths[2])
        if not isinstance(graph, dict):
            raise ValueError(f"{paths[2]}: a dict of lists of nodes is needed")
        row = np.repeat(np.fromiter(graph, np.int64, len(graph)), [len(v) for v in graph.values()])
        col = np.fromiter((t for v in graph.values() for t in v), np.int64, row.size)
        data = Data(x=tensor(x, np.float32), y=tensor(y.argmax(axis=1)), edge_index=Tensor(check_pairs(np.stack([row, col]), len(x), paths[2])))
        third = len(x) // 3
        place = np.minimum(np.arange(len(x)) // max(third, 1), 2)
        for k, key in enumerate(PARTS):
            data[key] = tensor(place == k)
        return one(data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(homophily={self.homophily:.1f})"


class AttributedGraphDataset(NamedGraph):
    """Graphs with attributes ("Scaling Attributed Network Embedding to Massive Graphs", 2020). Targets of several labels are a table of 0 and 1.

    >>> from polygrad.geometric.datasets import AttributedGraphDataset
    >>> dataset = AttributedGraphDataset("data/AttributedGraphDataset", name="BlogCatalog")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    ids: ClassVar[dict[str, str]] = {
        "wiki": "1EPhlbziZTQv19OsTrKrAJwsElbVPEbiV", "cora": "1FyVnpdsTT-lhkVPotUW8OVeuCi1vi3Ey",
        "citeseer": "1d3uQIpHiemWJPgLgTafi70RFYye7hoCp", "pubmed": "1DOK3FfslyJoGXUSCSrK5lzdyLfIwOz6k",
        "blogcatalog": "178PqGqh67RUYMMP6-SoRHDoIBh8ku5FS", "ppi": "1dvwRpPT4gGtOcNP_Q-G1TKl9NezYhtez",
        "flickr": "1tZp3EB20fAC27SYWwa-x66_8uGsuU62X", "facebook": "12aJWAGCM4IvdGI2fiydDNyWzViEOLZH8",
        "twitter": "1fUYggzZlDrt9JsLsSdRUHiEzQRW1kSA4", "tweibo": "1-2xHDPFCsuBuFdQN_7GLleWa8R_t50qU",
        "mag": "1ggraUMrQgdUyA3DjSRzzqMv0jFkU65V5",
    }  # fmt: skip
    group: ClassVar[str] = "attributed"
    names: ClassVar[tuple[str, ...]] = tuple(ids)

    @property
    def raw_file_names(self) -> list[str]:
        return ["attrs.npz", "edgelist.txt", "labels.txt"]

    def archives(self) -> list[tuple[str, str]]:
        return [(drive(self.ids[self.name]), "data.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        attrs, edges, labels = self.raw_paths
        x = load_sparse(attrs).dense(attrs)
        pairs = check_pairs(read_table(edges, np.int64, 2).T, len(x), edges)
        words = [row.split()[1:] for row in read_lines(labels)]
        y = numbers((w for ws in words for w in ws), np.int64, labels) - 1
        owner = np.repeat(np.arange(len(words)), [len(w) for w in words])
        if len(words) != len(x) or (y.size and (y.min() < 0 or int(y.max()) >= 1 << 20)):
            raise ValueError(f"{labels}: classes of {len(words)} nodes, counted from 1, where there are {len(x)} nodes")
        if max((len(w) for w in words), default=0) <= 1 and y.size == len(x):
            target = y
        else:
            target = np.zeros((len(x), int(y.max()) + 1 if y.size else 0), np.float32)
            target[owner, y] = 1
        return one(Data(x=Tensor(x), edge_index=tensor(pairs), y=Tensor(target)))

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}()"


class DGraphFin(OneGraph):
    """Users of a financial service ("DGraph", 2022): 3,700,550 nodes, 4,300,999 edges, 17 features. `DGraphFin.zip` must be fetched by hand.

    >>> from polygrad.geometric.datasets import DGraphFin
    >>> dataset = DGraphFin("data/DGraphFin")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "dgraph"
    by_hand = ("DGraphFin.zip",)

    @property
    def raw_file_names(self) -> list[str]:
        return ["dgraphfin.npz"]

    def archives(self) -> list[tuple[str, str]]:
        raise ValueError("https://dgraph.xinye.com asks for a registration before DGraphFin.zip can be fetched; dgraphfin.npz is in it")

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        f = load_npz(path, ["x", "y", "edge_index", "edge_type", "edge_timestamp", "train_mask", "valid_mask", "test_mask"])
        n = f["y"].size
        pairs = index_pairs(f["edge_index"], n, path)
        same_rows(path, n, x=f["x"])
        same_rows(path, pairs.shape[1], edge_type=f["edge_type"], edge_timestamp=f["edge_timestamp"])
        data = Data(x=tensor(f["x"], np.float32), edge_index=Tensor(pairs), y=tensor(f["y"].reshape(-1), np.int64))
        data.edge_type, data.edge_time = tensor(f["edge_type"], np.int64), tensor(f["edge_timestamp"], np.int64)
        for key, name in zip(PARTS, ("train_mask", "valid_mask", "test_mask")):
            data[key] = mask_of(f[name], n, path)
        return one(data)

    @property
    def num_classes(self) -> int:
        return 2


__all__ = [
    "AttributedGraphDataset", "Airports", "DGraphFin", "EmailEUCore", "HeterophilousGraphDataset", "MixHopSyntheticDataset", "NELL", "PolBlogs",
    "WikiCS",
]  # fmt: skip
