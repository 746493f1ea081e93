"""What can be trained on: names, sizes, where the files are, and how they become a task."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

from . import UserError


@dataclass(frozen=True)
class Source:
    """A data set by name. sizes: nodes, edges, features, classes; of a set of graphs in place of nodes and edges how many graphs."""

    name: str
    task: str  # "nodes" or "graphs"
    kind: str  # the class in polygrad.geometric.datasets
    sizes: tuple[int, int, int, int]
    given: dict[str, Any] = field(default_factory=dict)  # arguments of the class
    labels: tuple[str, ...] = ()
    embedded: bool = False

    def open(self, root: str | None) -> Any:
        """The dataset; FileNotFoundError says which files are missing."""
        from ..geometric import datasets

        given = dict(self.given) if self.embedded else {"root": root, **self.given}
        return getattr(datasets, self.kind)(**given)

    def where(self, root: str | None) -> str | None:
        """The folder of its files, or its file in the package, if they are here."""
        from ..geometric import datasets

        cls = getattr(datasets, self.kind)
        probe = cls.__new__(cls)  # only to ask for places: nothing is read
        probe.root, probe.split, probe.cleaned, probe.hetero = root, "public", False, False
        probe.name = self.given["name"].lower() if self.kind == "Entities" else self.given["name"]
        return probe._find() or probe._packaged()

    def bytes(self, folder: str) -> int:
        """Size of its files in that folder, or of that file."""
        if os.path.isfile(folder):
            return os.path.getsize(folder)
        from ..geometric import datasets

        cls = getattr(datasets, self.kind)
        probe = cls.__new__(cls)
        probe.name, probe.split, probe.hetero = self.given["name"], "public", False
        names = [probe.raw_file_names] if isinstance(probe.raw_file_names, str) else list(probe.raw_file_names)
        if self.kind == "TUDataset":
            names = [n for n in os.listdir(folder) if n.startswith(f"{self.given['name']}_")]
        if self.kind == "Entities":
            names = os.listdir(folder)
        paths = [os.path.join(folder, n) for n in names]
        return sum(os.path.getsize(p) for p in paths if os.path.isfile(p))


_CORA = ("theory", "reinforcement learning", "genetic algorithms", "neural networks", "probabilistic methods", "case based", "rule learning")
_CITESEER = ("artificial intelligence", "machine learning", "information retrieval", "databases", "agents", "human-computer interaction")

SOURCES = {
    s.name.lower(): s
    for s in (
        Source("KarateClub", "nodes", "KarateClub", (34, 156, 34, 4), embedded=True),
        Source("BAShapes", "nodes", "BAShapes", (700, 3958, 10, 4), embedded=True, labels=("base", "middle", "bottom", "top")),
        Source("Cora", "nodes", "Planetoid", (2708, 10556, 1433, 7), {"name": "Cora"}, _CORA),
        Source("CiteSeer", "nodes", "Planetoid", (3327, 9104, 3703, 6), {"name": "CiteSeer"}, _CITESEER),
        Source("PubMed", "nodes", "Planetoid", (19717, 88648, 500, 3), {"name": "PubMed"}),
        Source("Photo", "nodes", "Amazon", (7650, 238162, 745, 8), {"name": "Photo"}),
        Source("Computers", "nodes", "Amazon", (13752, 491722, 767, 10), {"name": "Computers"}),
        Source("CS", "nodes", "Coauthor", (18333, 163788, 6805, 15), {"name": "CS"}),
        Source("Physics", "nodes", "Coauthor", (34493, 495924, 8415, 5), {"name": "Physics"}),
        Source("DBLP", "nodes", "CitationFull", (17716, 105734, 1639, 4), {"name": "DBLP"}),
        Source("CoraFull", "nodes", "CitationFull", (19793, 126842, 8710, 70), {"name": "Cora"}),
        Source("ogbn-arxiv", "nodes", "OGBNodeDataset", (169343, 1166243, 128, 40), {"name": "ogbn-arxiv"}),
        Source("MUTAG", "graphs", "TUDataset", (188, 188, 7, 2), {"name": "MUTAG"}, ("not mutagenic", "mutagenic")),
        Source("PROTEINS", "graphs", "TUDataset", (1113, 1113, 3, 2), {"name": "PROTEINS"}, ("enzyme", "no enzyme")),
        Source("ENZYMES", "graphs", "TUDataset", (600, 600, 3, 6), {"name": "ENZYMES"}),
        Source("NCI1", "graphs", "TUDataset", (4110, 4110, 37, 2), {"name": "NCI1"}),
        Source("DD", "graphs", "TUDataset", (1178, 1178, 89, 2), {"name": "DD"}),
    )
}


def source_of(name: str) -> Source:
    """By name, in any case; TU:NAME for any set of TU's graph collection. An error lists what there is."""
    if name.lower().startswith("tu:"):
        return Source(name[3:], "graphs", "TUDataset", (0, 0, 0, 0), {"name": name[3:]})
    found = SOURCES.get(name.lower().replace("_", "-")) or SOURCES.get(name.lower())
    if found is None:
        raise UserError(no_such("dataset", name, [s.name for s in SOURCES.values()]) + "\nand TU:NAME, any set of TU's collection of graphs")
    return found


def no_such(what: str, name: str, known: list[str]) -> str:
    """The text of an error: what there is, and what was perhaps meant."""
    near = difflib.get_close_matches(name.lower(), [k.lower() for k in known], 1)
    meant = f" (did you mean {next(k for k in known if k.lower() == near[0])}?)" if near else ""
    return f"there is no {what} {name!r}{meant}. There are: {', '.join(known)}"


@dataclass
class NodeTask:
    """Nodes of one graph have classes; some are known."""

    source: Source
    x: Any
    edge_index: Any
    y: np.ndarray
    split: Callable[[int], list[np.ndarray]]  # by seed: nodes for training, validation and test
    classes: int

    kind = "nodes"

    @property
    def features(self) -> int:
        return self.x.shape[1]

    def describe(self) -> str:
        train, val, test = self.split(0)
        return (
            f"{self.x.shape[0]:,} nodes, {self.edge_index.shape[1]:,} edges, {self.features:,} features, {self.classes} classes; "
            f"{len(train):,} nodes for training, {len(val):,} for validation, {len(test):,} for the test"
        )


@dataclass
class GraphTask:
    """Whole graphs have classes."""

    source: Source
    dataset: Any
    y: np.ndarray
    features: int
    classes: int

    kind = "graphs"

    def folds(self, count: int = 10) -> list[np.ndarray]:
        """Ten parts in which the classes are as frequent as in all; always the same ones."""
        rng = np.random.default_rng(0)
        place, start = np.empty(self.y.size, np.int64), 0
        for c in np.unique(self.y):
            members = rng.permutation(np.flatnonzero(self.y == c))
            place[members] = (np.arange(members.size) + start) % count
            start += members.size
        return [np.flatnonzero(place == k) for k in range(count)]

    def pick(self, some: np.ndarray) -> Any:
        """Graphs by number."""
        return [self.dataset[int(k)] for k in some] if isinstance(self.dataset, list) else self.dataset[some]

    def describe(self) -> str:
        return f"{self.y.size:,} graphs, {self.features} features a node, {self.classes} classes; run k is tested on the k-th of ten parts"


def load(source: Source, root: str | None) -> NodeTask | GraphTask:
    """Reads a data set. OSError: its files are not here and could not be fetched."""
    dataset = source.open(root)
    return _graphs(source, dataset) if source.task == "graphs" else _nodes(source, dataset)


def _nodes(source: Source, dataset: Any) -> NodeTask:
    from ..geometric.transforms import NormalizeFeatures

    data = dataset[0] if source.name == "ogbn-arxiv" else NormalizeFeatures()(dataset[0])
    y = data.y.numpy().reshape(-1)
    classes = int(y.max()) + 1
    if source.kind == "OGBNodeDataset":
        from ..geometric.utils import to_undirected

        parts = dataset.get_idx_split()
        fixed = [np.asarray(parts[k].numpy(), np.int64) for k in ("train", "valid", "test")]
        return NodeTask(source, data.x, to_undirected(data.edge_index, num_nodes=y.size), y, lambda seed: fixed, classes)
    if "val_mask" in data:
        fixed = [np.flatnonzero(data[k].numpy()) for k in ("train_mask", "val_mask", "test_mask")]
        return NodeTask(source, data.x, data.edge_index, y, lambda seed: fixed, classes)
    if "train_mask" in data:  # the rest is divided evenly
        train = np.flatnonzero(data.train_mask.numpy())
        rest = np.setdiff1d(np.arange(y.size), train)
        return NodeTask(source, data.x, data.edge_index, y, lambda seed: [train, rest[::2], rest[1::2]], classes)
    return NodeTask(source, data.x, data.edge_index, y, lambda seed: random_split(y, seed), classes)


def random_split(y: np.ndarray, seed: int, train: int = 20, val: int = 30) -> list[np.ndarray]:
    """So many nodes a class for training and validation (of small classes a quarter each), the others for the test."""
    rng = np.random.default_rng(seed)
    parts: list[list[np.ndarray]] = [[], [], []]
    for c in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == c))
        a = max(1, min(train, members.size // 4))
        b = a + min(val, members.size // 4)
        for part, some in zip(parts, (members[:a], members[a:b], members[b:])):
            part.append(some)
    return [np.sort(np.concatenate(p)) for p in parts]


def _graphs(source: Source, dataset: Any) -> GraphTask:
    if dataset.num_features == 0:  # then a node is only its number of neighbours
        from ..geometric.transforms import OneHotDegree

        most = max(int(np.bincount(g.edge_index.numpy()[0], minlength=1).max()) for g in dataset)
        dataset.transform = OneHotDegree(most)
        dataset = [dataset[k] for k in range(len(dataset))]
        y = np.array([int(g.y.item()) for g in dataset])
        return GraphTask(source, dataset, y, dataset[0].x.shape[1], int(y.max()) + 1)
    y = dataset.data.y.numpy().reshape(-1)
    return GraphTask(source, dataset, y, dataset.num_features, int(y.max()) + 1)


__all__ = ["SOURCES", "GraphTask", "NodeTask", "Source", "load", "no_such", "random_split", "source_of"]
