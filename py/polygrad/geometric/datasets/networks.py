"""Large graphs of collections: SNAP's networks, SuiteSparse's matrices, roads of cities, events of GDELT, hypergraphs in time."""

from __future__ import annotations

import ast
import os
from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.hypergraph_data import HyperGraphData
from ._arrays import Sparse, numbers, read_csv, read_lines, read_rows, tensor
from ._bases import Archived, NamedGraph, OneGraph, many, one_of
from ._edge_lists import check_pairs, once
from ._files import data_folders, one
from ._mat import load_mat
from ._nested import load_torch
from ._tables import parse_table


class EgoData(Data):
    """The graph around one node: `circle` has the members of its circles, `circle_batch` the circle of each."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        if key == "circle":
            return self.num_nodes
        if key == "circle_batch":
            return int(value.max().item()) + 1 if value.numel() > 0 else 0
        return super().__inc__(key, value, *args, **kwargs)


class SNAPDataset(Archived):
    """Networks of the Stanford Network Analysis Project (https://snap.stanford.edu/data).

    name: "ego-facebook", "ego-gplus" or "ego-twitter" (graphs around single people, with circles of friends), "soc-ca-astroph", "soc-ca-grqc",
    "soc-epinions1", "soc-livejournal1", "soc-pokec", "soc-slashdot0811", "soc-slashdot0922" or "wiki-vote".

    >>> from polygrad.geometric.datasets import SNAPDataset
    >>> dataset = SNAPDataset("data/SNAPDataset", name="ego-facebook")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "snap"
    available_datasets: ClassVar[dict[str, str]] = {
        "ego-facebook": "facebook.tar.gz", "ego-gplus": "gplus.tar.gz", "ego-twitter": "twitter.tar.gz", "soc-ca-astroph": "ca-AstroPh.txt.gz",
        "soc-ca-grqc": "ca-GrQc.txt.gz", "soc-epinions1": "soc-Epinions1.txt.gz", "soc-livejournal1": "soc-LiveJournal1.txt.gz",
        "soc-pokec": "soc-pokec-relationships.txt.gz", "soc-slashdot0811": "soc-Slashdot0811.txt.gz", "soc-slashdot0922": "soc-Slashdot0902.txt.gz",
        "wiki-vote": "wiki-Vote.txt.gz",
    }  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name = one_of("name", name, list(self.available_datasets))
        data_cls = EgoData if self.name.startswith("ego-") else Data
        super().__init__(root, transform, pre_transform, pre_filter, force_reload, data_cls=data_cls)

    @property
    def raw_file_names(self) -> list[str]:
        file = self.available_datasets[self.name]
        return [file[: -len(".tar.gz")] if self.name.startswith("ego-") else file[: -len(".gz")]]

    def archives(self) -> list[tuple[str, str]]:
        file = self.available_datasets[self.name]
        return [(f"https://snap.stanford.edu/data/{file}", file)]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        if self.name.startswith("ego-"):
            return many(read_ego(path, self.name[4:]), self)
        with open(path, "rb") as f:
            text = b"".join(line for line in f if not line.startswith(b"#"))
        pairs = parse_table(text.replace(b"\r", b""), np.int64, 2, path).T
        if pairs.size and pairs.min() < 0:
            raise ValueError(f"{path}: nodes are numbered from 0 on")
        if self.name.startswith("wiki-"):
            nodes, place = np.unique(pairs, return_inverse=True)
            pairs, n = place.reshape(pairs.shape), nodes.size
        else:
            n = int(pairs.max(initial=-1)) + 1
        if n > 100 * pairs.shape[1] + 1000:
            raise ValueError(f"{path}: node {n - 1} is too large a number for {pairs.shape[1]} edges")
        return one(Data(edge_index=Tensor(once(pairs)), num_nodes=n))

    def __repr__(self) -> str:
        return f"SNAP-{self.name}({len(self) if self._data is not None else ''})"


def read_ego(folder: str, name: str) -> list[EgoData]:
    """A graph for each person, whose files are <number>.circles, .edges, .egofeat, .feat and .featnames; without edges there is none."""
    people = sorted({n.split(".")[0] for n in os.listdir(folder) if n.endswith(".feat")})
    features = {p: [" ".join(line.split(" ")[1:]) for line in read_lines(os.path.join(folder, f"{p}.featnames"))] for p in people}
    columns = {f: k for k, f in enumerate(sorted({f for fs in features.values() for f in fs}))}
    out = []
    for p in people:
        data = _ego(os.path.join(folder, p), features[p], columns, name)
        if data is not None:
            out.append(data)
    return out


def _ego(base: str, features: list[str], columns: dict[str, int], name: str) -> EgoData | None:
    rows = read_rows(f"{base}.feat", " ", 1)
    place = {r[0]: k for k, r in enumerate(rows)}

    def numbered(words: list[str], path: str) -> np.ndarray:
        unknown = next((w for w in words if w not in place), None)
        if unknown is not None:
            raise ValueError(f"{path}: the node {unknown[:40]!r} is not known")
        return np.fromiter((place[w] for w in words), np.int64, len(words))

    x = None
    if name != "gplus":  # its features are too wide to be of use
        if len(rows) * len(columns) > 1 << 30:
            raise ValueError(f"{base}.feat: {len(columns)} features of {len(rows)} nodes are too many")
        values = numbers([r[1:] for r in rows], np.float32, f"{base}.feat")
        if values.ndim != 2 or values.shape[1] != len(features):
            raise ValueError(f"{base}.feat: {len(features)} features of each node are needed")
        x = np.zeros((len(rows), len(columns)), np.float32)
        x[:, [columns[f] for f in features]] = values
    circles = [line.split()[1:] for line in read_lines(f"{base}.circles")]
    circle = numbered([w for c in circles for w in c], f"{base}.circles")
    edges = read_rows(f"{base}.edges", " ", 2)
    if not edges:
        return None
    pairs = np.stack([numbered([r[k] for r in edges], f"{base}.edges") for k in (0, 1)])
    n = len(rows) if x is not None else int(pairs.max()) + 2
    ego = np.stack([np.full(n - 1, n - 1), np.arange(n - 1)])  # the person itself, the last node, knows everybody
    pairs = once(np.concatenate([pairs, ego, ego[::-1]], axis=1))
    batch = np.repeat(np.arange(len(circles)), [len(c) for c in circles])
    return EgoData(x=None if x is None else Tensor(x), edge_index=Tensor(pairs), circle=Tensor(circle), circle_batch=tensor(batch, np.int64))


class SuiteSparseMatrixCollection(Archived):
    """A matrix of the SuiteSparse collection (https://sparse.tamu.edu) as a graph: an edge for each entry, with its value unless all are 1.

    group, name: as in the collection, such as "DIMACS10" and "citationCiteseer".

    >>> from polygrad.geometric.datasets import SuiteSparseMatrixCollection
    >>> dataset = SuiteSparseMatrixCollection("data/SuiteSparseMatrixCollection", group="DIMACS10", name="citationCiteseer")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    def __init__(
        self,
        root: str | None = None,
        group: str = "",
        name: str = "",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if not group or not name or any(c in f"{group}{name}" for c in "/\\"):
            raise ValueError(f"a group and a name of the collection are needed, not {group!r} and {name!r}")
        self.group, self.name = group, name  # type: ignore[misc]
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}.mat"]

    def _places(self, folder: str) -> list[str]:
        return [os.path.join(folder, self.group, self.name, "raw"), *super()._places(folder)]

    @property
    def processed_dir(self) -> str:
        return os.path.join(self.root, self.group, self.name, "processed") if self.root else super().processed_dir

    def urls(self) -> list[str]:
        return [f"https://sparse.tamu.edu/mat/{self.group}/{self.name}.mat"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        problem = load_mat(path, ["Problem"])["Problem"]
        matrix = problem[0].get("A") if isinstance(problem, list) and len(problem) == 1 and isinstance(problem[0], dict) else None
        if not isinstance(matrix, Sparse):
            raise ValueError(f"{path}: a structure Problem with a sparse matrix A is needed")
        order = np.lexsort((matrix.col, matrix.row))
        value = matrix.value[order]
        data = Data(edge_index=Tensor(np.stack([matrix.row[order], matrix.col[order]])), num_nodes=matrix.shape[0])
        if not (value == 1).all():
            data.edge_attr = tensor(value, np.float32)
        if matrix.shape[0] != matrix.shape[1]:
            data["size"] = matrix.shape
        return one(data)

    def __repr__(self) -> str:
        return f"SuiteSparseMatrixCollection(group={self.group}, name={self.name})"


class CityNetwork(NamedGraph):
    """Roads of a city, whose junctions are to be told by their distance from others ("Towards Quantifying Long-Range Interactions in Graph Machine
    Learning", 2025). name: "paris", "shanghai", "la" or "london". augmented: with features of neighbouring roads.

    >>> from polygrad.geometric.datasets import CityNetwork
    >>> dataset = CityNetwork("data/CityNetwork", name="paris")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "city-networks"
    names = ("paris", "shanghai", "la", "london")

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        augmented: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
        delete_raw: bool = False,
    ):
        self.augmented = augmented
        super().__init__(root, name, transform, pre_transform, force_reload)
        if delete_raw and root is not None:
            for path in self.raw_paths:
                if os.path.isfile(path):
                    os.remove(path)

    @property
    def raw_file_names(self) -> list[str]:
        features = f"node_features{'_augmented' if self.augmented else ''}.pt"
        return [features, "edge_indices.pt", "10-chunk_16-hop_node_labels.pt", "train_mask.pt", "valid_mask.pt", "test_mask.pt"]

    @property
    def processed_file_names(self) -> str:
        return f"data{'' if self.augmented else '_plain'}.safetensors"

    def _places(self, folder: str) -> list[str]:
        usual = super()._places(folder)[:3]
        return [os.path.join(usual[0], self.name), *usual]  # the archive has a folder of the city's name

    def archives(self) -> list[tuple[str, str]]:
        return [(f"https://github.com/LeonResearch/City-Networks/raw/refs/heads/main/data/{self.name}.tar.gz", f"{self.name}.tar.gz")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        found = [load_torch(p) for p in self.raw_paths]
        if not all(isinstance(t, Tensor) for t in found):
            raise ValueError(f"{self.raw_dir}: tensors are needed in all files")
        x, edge_index, y, *masks = found
        n = x.shape[0]
        pairs = edge_index.numpy()
        if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.dtype.kind not in "iu" or any(t.shape != (n,) for t in (y, *masks)):
            raise ValueError(f"{self.raw_dir}: edges {pairs.shape}, labels and masks do not fit {n} nodes")
        check_pairs(pairs, n, self.raw_paths[1])
        return one(Data(x=x, edge_index=tensor(pairs, np.int64), y=y, train_mask=masks[0], val_mask=masks[1], test_mask=masks[2]))

    def __repr__(self) -> str:
        return f"CityNetwork(root={self.root!r}, name={self.name!r}, augmented={self.augmented})"


class GDELTLite(OneGraph):
    """A part of the Global Database of Events, Language and Tone ("Do We Really Need Complicated Model Architectures For Temporal Networks?", 2023):
    8,831 nodes with 413 features, 1,912,909 events with 186, and their times.

    >>> from polygrad.geometric.datasets import GDELTLite
    >>> dataset = GDELTLite("data/GDELTLite")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "gdelt-lite"

    @property
    def raw_file_names(self) -> list[str]:
        return ["node_features.pt", "edges.csv", "edge_features.pt"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://data.pyg.org/datasets/gdelt_lite.zip", "gdelt_lite.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        x, edge_attr = (load_torch(self.raw_paths[k]) for k in (0, 2))
        path = self.raw_paths[1]
        head, rows = read_csv(path, ("src", "dst", "time"))
        table = numbers([[float(r[head.index(c)]) for c in ("src", "dst", "time")] for r in rows], np.float64, path).astype(np.int64).reshape(-1, 3)
        if not isinstance(x, Tensor) or not isinstance(edge_attr, Tensor) or edge_attr.shape[0] != len(table):
            raise ValueError(f"{path}: {len(table)} edges need as many features, and nodes need theirs")
        check_pairs(table[:, :2].T, x.shape[0], path)
        return one(Data(x=x, edge_index=tensor(table[:, :2].T), edge_attr=edge_attr, time=tensor(table[:, 2])))


class CornellTemporalHyperGraphDataset(Archived):
    """Hypergraphs in time ("Simplicial Closure and higher-order link prediction", 2018): each graph is one hyperedge, with the time as `x`.

    name: such as "email-Eu" or "NDC-classes". split: "train", "val" or "test". setting: "transductive" or "inductive".

    >>> from polygrad.geometric.datasets import CornellTemporalHyperGraphDataset
    >>> dataset = CornellTemporalHyperGraphDataset("data/CornellTemporalHyperGraphDataset", name="email-Eu", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "cornell-hypergraphs"
    names: ClassVar[tuple[str, ...]] = (
        "email-Eu", "email-Enron", "NDC-classes", "tags-math-sx", "email-Eu-25", "NDC-substances", "congress-bills", "tags-ask-ubuntu",
        "email-Enron-25",
        "NDC-classes-25", "threads-ask-ubuntu", "contact-high-school", "NDC-substances-25", "congress-bills-25", "contact-primary-school",
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        split: str = "train",
        setting: str = "transductive",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name, self.split = one_of("name", name, self.names), one_of("split", split, ("train", "val", "test"))
        self.setting = one_of("setting", setting, ("transductive", "inductive"))
        super().__init__(root, transform, pre_transform, pre_filter, force_reload, data_cls=HyperGraphData)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{p}_df.csv" for p in ("train", "val", "test")]

    @property
    def processed_file_names(self) -> str:
        return f"{self.setting}_{self.split}.safetensors"

    def _places(self, folder: str) -> list[str]:
        inner = [
            os.path.join(self.name, self.setting, "raw"),
            os.path.join(self.group, self.name, self.setting),
            os.path.join(self.name, self.setting),
        ]
        return [os.path.join(folder, i) for i in inner]

    def _download_dir(self) -> str:
        home = self.root or os.environ.get("POLYGRAD_DATA") or data_folders(None)[-1]
        return self._places(home)[0 if self.root else 1]

    def urls(self) -> list[str]:
        return [f"https://huggingface.co/datasets/SauravMaheshkar/{self.name}/raw/main/processed/{self.setting}/{f}" for f in self.raw_file_names]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[("train", "val", "test").index(self.split)]
        head, rows = read_csv(path, ("nodes", "timestamp"))
        time = numbers((r[head.index("timestamp")] for r in rows), np.float32, path)
        graphs = []
        for k, row in enumerate(rows):
            try:
                nodes = ast.literal_eval(row[head.index("nodes")])
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                nodes = None
            if not isinstance(nodes, (list, tuple, set)) or not all(type(v) is int and v >= 0 for v in nodes):
                raise ValueError(f"{path}: row {k + 1} has no list of nodes")
            pairs = np.stack([np.array(list(nodes), np.int64), np.full(len(nodes), k)])
            graphs.append(HyperGraphData(x=tensor(time[k : k + 1, None]), edge_index=Tensor(pairs)))
        return many(graphs, self)


__all__ = ["CityNetwork", "CornellTemporalHyperGraphDataset", "EgoData", "GDELTLite", "SNAPDataset", "SuiteSparseMatrixCollection", "read_ego"]
