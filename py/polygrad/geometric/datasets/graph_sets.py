"""Sets of many graphs: flows of air around wings, genes, malware, brains, news and their readers, distances of edits."""

from __future__ import annotations

import os
from typing import Any, Callable, ClassVar
from xml.etree import ElementTree

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import load_json, load_npy, load_sparse, numbers, read_csv, read_lines, tensor
from ._bases import Archived, Graphs, drive, many, one_of
from ._edge_lists import both_ways, check_pairs, once
from ._nested import arrays, load_nested, load_torch
from ._tables import parse_table, read_table
from .torch_graphs import graph_of


def integers(array: np.ndarray, path: str, ndim: int = 1) -> np.ndarray:
    """As int64; an error for what is not a vector, or a table, of whole numbers."""
    if array.ndim != ndim or array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and not (array == np.floor(array)).all()):
        raise ValueError(f"{path}: an array of {array.dtype} {array.shape}, where whole numbers on {ndim} axes are needed")
    return array.astype(np.int64)


class AirfRANS(Archived):
    """1,000 simulations of air around wings ("AirfRANS: High Fidelity Computational Fluid Dynamics Dataset", 2022): clouds of points with the
    velocity of the stream, the distance to the wing and normals as features, and velocity, pressure and viscosity as targets.

    task: "full", "scarce", "reynolds" or "aoa". train: which part of it.

    >>> from polygrad.geometric.datasets import AirfRANS
    >>> dataset = AirfRANS("data/AirfRANS", task="scarce", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "airfrans"
    name = "AirfRANS"
    tasks: ClassVar[tuple[str, ...]] = ("full", "scarce", "reynolds", "aoa")

    def __init__(
        self,
        root: str | None = None,
        task: str = "full",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        task = one_of("task", task, self.tasks)
        self.task, self.split = "full" if task == "scarce" and not train else task, "train" if train else "test"
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["AirfRANS.pt", "manifest.json"]

    @property
    def processed_file_names(self) -> str:
        return f"{self.task}_{self.split}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [("https://data.isir.upmc.fr/extrality/pytorch_geometric/AirfRANS.zip", "AirfRANS.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path, listing = self.raw_paths
        wanted = f"{self.task}_{self.split}"
        manifest = load_json(listing, "full_train", "full_test", wanted)
        if not all(isinstance(manifest[k], list) and all(isinstance(n, str) for n in manifest[k]) for k in ("full_train", "full_test", wanted)):
            raise ValueError(f"{listing}: lists of names are needed")
        names, some = manifest["full_train"] + manifest["full_test"], set(manifest[wanted])
        found = load_torch(path)
        if not isinstance(found, (list, tuple)) or len(found) != len(names) or not all(isinstance(d, dict) for d in found):
            raise ValueError(f"{path}: a list of {len(names)} dicts of attributes is needed")
        return many([graph_of(d, path) for name, d in zip(names, found) if name in some], self)

    def __repr__(self) -> str:
        return f"AirfRANS({len(self) if self._data is not None else ''}, task={self.task}, split={self.split})"


class BrcaTcga(Graphs):
    """1,082 patients with breast cancer, each a graph of 9,288 genes with their expression; y is the time of survival ("The Cancer Genome Atlas").

    >>> from polygrad.geometric.datasets import BrcaTcga
    >>> dataset = BrcaTcga("data/BrcaTcga")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "brca-tcga"

    @property
    def raw_file_names(self) -> list[str]:
        return ["graph_idx.csv", "graph_labels.csv", "edge_index.pt"]

    def archives(self) -> list[tuple[str, str]]:
        return [("https://zenodo.org/record/8251328/files/brca_tcga.zip?download=1", "brca_tcga.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        features, labels, edges = self.raw_paths
        _, rows = read_csv(features)
        x = numbers([r[1:] for r in rows], np.float32, features)  # the first column numbers the rows
        y = read_table(labels, np.float64)
        pairs = load_torch(edges)
        pairs = integers(pairs.numpy() if isinstance(pairs, Tensor) else np.asarray(pairs), edges, 2)
        if x.ndim != 2 or len(y) != len(x) or pairs.shape[0] != 2:
            raise ValueError(f"{features}: features {x.shape}, {len(y)} labels and edges {pairs.shape} do not fit")
        index = Tensor(check_pairs(pairs, x.shape[1], edges))
        return many([Data(x=tensor(f[:, None]), edge_index=index, y=tensor(t.reshape(-1), np.float32)) for f, t in zip(x, y)], self)


class MalNetTiny(Archived):
    """5,000 graphs of calls inside programs, of four kinds of malware and harmless ones ("A Large-Scale Database for Graph Representation Learning",
    2021). split: "train", "val", "trainval", "test", or None for all.

    >>> from polygrad.geometric.datasets import MalNetTiny
    >>> dataset = MalNetTiny("data/MalNetTiny", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "malnet"
    name = "MalNetTiny"

    def __init__(
        self,
        root: str | None = None,
        split: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        if split not in ("train", "val", "trainval", "test", None):
            raise ValueError(f"split must be 'train', 'val', 'trainval', 'test' or None, not {split!r}")
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)
        if split is not None:
            ends = self._ends
            first, last = {"train": (0, 1), "val": (1, 2), "trainval": (0, 2), "test": (2, 3)}[split]
            self._indices = range(ends[first], ends[last])

    @property
    def raw_file_names(self) -> list[str]:
        return ["malnet-graphs-tiny", *(os.path.join("split_info_tiny", "type", f"{p}.txt") for p in ("train", "val", "test"))]

    def archives(self) -> list[tuple[str, str]]:
        host = "http://malnet.cc.gatech.edu"
        graphs, parts = f"{host}/graph-data/malnet-graphs-tiny.tar.gz", f"{host}/split-info/split_info_tiny.zip"
        return [(graphs, "malnet-graphs-tiny.tar.gz"), (parts, "split_info_tiny.zip")]

    def _notes(self, notes: dict[str, Any]) -> None:
        self._ends = notes["ends"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        folder, *parts = self.raw_paths
        kinds: dict[str, int] = {}
        graphs, ends = [], [0]
        for part in parts:
            for name in read_lines(part):
                if name.startswith("/") or ".." in name:
                    raise ValueError(f"{part}: {name[:60]!r} is not a file of this set")
                path = os.path.join(folder, f"{name}.edgelist")
                with open(path, "rb") as f:
                    body = f.read().split(b"\n", 5)  # five lines of comments
                pairs = parse_table(body[5] if len(body) == 6 else b"", np.int64, 2, path).T
                if not pairs.size or pairs.min() < 0 or pairs.max() > 1000 * pairs.shape[1]:
                    raise ValueError(f"{path}: edges between nodes from 0 on are needed")
                y = kinds.setdefault(name.split("/")[0], len(kinds))
                graphs.append(Data(edge_index=tensor(pairs), y=Tensor(np.array([y])), num_nodes=int(pairs.max()) + 1))
            ends.append(len(graphs))
        data, slices, _ = many(graphs, self)
        return data, slices, {"ends": ends}


class NeuroGraphDataset(Archived):
    """Graphs of brains at work and at rest ("NeuroGraph: Benchmarks for Graph Machine Learning in Brain Connectomics", 2023).

    name: "HCPTask", "HCPGender", "HCPAge", "HCPFI" or "HCPWM".

    >>> from polygrad.geometric.datasets import NeuroGraphDataset
    >>> dataset = NeuroGraphDataset("data/NeuroGraphDataset", name="HCPGender")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "neurograph"
    filenames: ClassVar[dict[str, str]] = {
        "HCPGender": "r6hlz2arm7yiy6v6981cv2nzq3b0meax.zip", "HCPTask": "8wzz4y17wpxg2stip7iybtmymnybwvma.zip",
        "HCPAge": "lzzks4472czy9f9vc8aikp7pdbknmtfe.zip", "HCPWM": "xtmpa6712fidi94x6kevpsddf9skuoxy.zip",
        "HCPFI": "g2md9h9snh7jh6eeay02k1kr9m4ido9f.zip",
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
        self.name = one_of("name", name, list(self.filenames))
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}.pt"]

    def archives(self) -> list[tuple[str, str]]:
        return [(f"https://vanderbilt.box.com/shared/static/{self.filenames[self.name]}", f"{self.name}.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        found = arrays(load_torch(path))
        if not isinstance(found, tuple) or len(found) != 2 or not all(isinstance(d, dict) for d in found):
            raise ValueError(f"{path}: the joined graphs and their slices are needed")
        data, slices = found
        parts = [data.get(k) for k in ("x", "edge_index", "y")] + [slices.get(k) for k in ("x", "edge_index")]
        if not all(isinstance(p, np.ndarray) for p in parts):
            raise ValueError(f"{path}: x, edge_index and y with their slices are needed")
        x, pairs, y, nodes, edges = parts
        nodes, edges = integers(nodes, path), integers(edges, path)
        ends = x.ndim == 2 and pairs.ndim == 2 and nodes[-1:] == len(x) and edges[-1:] == pairs.shape[1]
        if not ends or nodes.size != edges.size or len(y) != nodes.size - 1 or (np.diff(nodes) < 0).any() or (np.diff(edges) < 0).any():
            raise ValueError(f"{path}: the slices do not fit the graphs")
        graphs = []
        for k in range(len(y)):
            own = {"x": x[nodes[k] : nodes[k + 1]], "edge_index": pairs[:, edges[k] : edges[k + 1]], "y": y[k].reshape(-1)}
            graphs.append(graph_of(own, path))
        return many(graphs, self)


class UPFD(Archived):
    """News and those who spread them, true or false ("User Preference-aware Fake News Detection", 2021): trees of retweets.

    name: "politifact" or "gossipcop". feature: "profile", "spacy", "bert" or "content". split: "train", "val" or "test".

    >>> from polygrad.geometric.datasets import UPFD
    >>> dataset = UPFD("data/UPFD", name="politifact", feature="bert", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "upfd"
    file_ids: ClassVar[dict[str, str]] = {"politifact": "1toou2GO0agoY_OS54LaCWEECQfe93nuq", "gossipcop": "1DkMAzC7XUUciAxsSujRJt3sq1MqaVI3g"}

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        feature: str = "",
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name, self.split = one_of("name", name, list(self.file_ids)), one_of("split", split, ("train", "val", "test"))
        self.feature = one_of("feature", feature, ("profile", "spacy", "bert", "content"))
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        index = [f"{p}_idx.npy" for p in ("train", "val", "test")]
        return ["node_graph_id.npy", "graph_labels.npy", "A.txt", *index, f"new_{self.feature}_feature.npz"]

    @property
    def processed_file_names(self) -> str:
        return f"{self.feature}_{self.split}.safetensors"

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3]

    def archives(self) -> list[tuple[str, str]]:
        return [(drive(self.file_ids[self.name]), "data.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        batch_path, label_path, edge_path, *index_paths, feature_path = self.raw_paths
        x = load_sparse(feature_path).dense(feature_path)
        batch, y = integers(load_npy(batch_path), batch_path), integers(load_npy(label_path), label_path)
        pairs = once(check_pairs(read_table(edge_path, np.int64, 2).T, len(x), edge_path))
        if batch.size != len(x) or (np.diff(batch) < 0).any() or (batch.size and (batch[0] < 0 or batch[-1] >= y.size)):
            raise ValueError(f"{batch_path}: the graph of each of the {len(x)} nodes is needed, in order, below {y.size}")
        if (batch[pairs[0]] != batch[pairs[1]]).any():
            raise ValueError(f"{edge_path}: an edge joins nodes of two graphs")
        _, y = np.unique(y, return_inverse=True)
        nodes, edges = (np.searchsorted(b, np.arange(y.size + 1)) for b in (batch, batch[pairs[0]]))
        some = integers(load_npy(index_paths[("train", "val", "test").index(self.split)]), edge_path)
        if some.size and (some.min() < 0 or some.max() >= y.size):
            raise ValueError(f"{index_paths[0]}: it names a graph beyond the {y.size} that there are")
        graphs = [
            Data(
                x=tensor(x[nodes[k] : nodes[k + 1]]), edge_index=tensor(pairs[:, edges[k] : edges[k + 1]] - nodes[k]), y=Tensor(np.array([y[k]]))
            )
            for k in some
        ]  # fmt: skip
        return many(graphs, self)

    def __repr__(self) -> str:
        return f"UPFD({len(self) if self._data is not None else ''}, name={self.name}, feature={self.feature})"


def read_gexf(path: str) -> tuple[dict[str, dict[str, str]], np.ndarray]:
    """Nodes of a GEXF file with their attributes by name, and edges [2, E] by the places of the nodes. Entities of XML are not expanded."""
    try:
        with open(path, "rb") as f:
            content = f.read()
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise ValueError("it declares entities")
        tree = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, RecursionError) as e:
        raise ValueError(f"{path}: not a GEXF file: {e}") from None
    names, nodes, pairs = {}, {}, []
    for element in tree.iter():
        tag = element.tag.rpartition("}")[2]
        if tag == "attribute":
            names[element.get("id", "")] = element.get("title", "")
        elif tag == "node":
            values = [v for v in element.iter() if v.tag.rpartition("}")[2] == "attvalue"]
            nodes[element.get("id", "")] = {names.get(v.get("for", v.get("id", "")), ""): v.get("value", "") for v in values}
        elif tag == "edge":
            pairs.append((element.get("source", ""), element.get("target", "")))
    place = {name: k for k, name in enumerate(nodes)}
    unknown = next((n for p in pairs for n in p if n not in place), None)
    if unknown is not None:
        raise ValueError(f"{path}: an edge to the node {unknown[:40]!r}, which is not there")
    return nodes, np.array([[place[a], place[b]] for a, b in pairs], np.int64).reshape(-1, 2).T


class GEDDataset(Archived):
    """Small graphs and the numbers of edits from one to the other ("Graph Edit Distance Computation via Graph Neural Networks", 2018).

    name: "AIDS700nef", "LINUX", "ALKANE" or "IMDBMulti". train: which part. `ged` [G, G] and `norm_ged`, divided by the mean number of nodes, are
    for all graphs of both parts, by the number `i` of a graph; between two graphs of the test they are infinite.

    >>> from polygrad.geometric.datasets import GEDDataset
    >>> dataset = GEDDataset("data/GEDDataset", name="AIDS700nef", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "ged"
    datasets: ClassVar[dict[str, tuple[str, str, str]]] = {
        "AIDS700nef": ("10czBPJDEzEDI2tq7Z7mkBjLhj55F-a2z", "data.zip", "1OpV4bCHjBkdpqI6H5Mg0-BqlA2ee2eBW"),
        "LINUX": ("1nw0RRVgyLpit4V4XFQyDy0pI6wUEXSOI", "data.tar.gz", "14FDm3NSnrBvB7eNpLeGy5Bz6FjuCSF5v"),
        "ALKANE": ("1-LmxaWW3KulLh00YqscVEflbqr0g4cXt", "data.tar.gz", "15BpvMuHx77-yUGYgM27_sQett02HQNYu"),
        "IMDBMulti": ("12QxZ7EhYA7pJiF4cO-HuE8szhSOWcfST", "data.zip", "1wy9VbZvZodkixxVIOuRllC-Lp-0zdoYZ"),
    }
    types: ClassVar[tuple[str, ...]] = (
        "O", "S", "C", "N", "Cl", "Br", "B", "Si", "Hg", "I", "Bi", "P", "F", "Cu", "Ho", "Pd", "Ru", "Pt", "Sn", "Li", "Ga", "Tb", "As", "Co", "Pb",
        "Sb", "Se", "Ni", "Te",
    )  # fmt: skip

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name, self.train = one_of("name", name, list(self.datasets)), train
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [os.path.join(self.name, "train"), os.path.join(self.name, "test"), os.path.join(self.name, "ged.pickle")]

    @property
    def processed_file_names(self) -> str:
        return f"{self.name}_{'training' if self.train else 'test'}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        graphs, archive, distances = self.datasets[self.name]
        return [(drive(graphs), archive), (drive(distances), os.path.join(self.name, "ged.pickle"))]

    def _notes(self, notes: dict[str, Any]) -> None:
        self.ged, self.norm_ged = notes["ged"], notes["norm_ged"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        *folders, distances = self.raw_paths
        place: dict[int, int] = {}
        sizes: list[int] = []
        graphs: list[list[Data]] = [[], []]
        for part, folder in enumerate(folders):
            for number in sorted(int(n[:-5]) for n in os.listdir(folder) if n.endswith(".gexf") and n[:-5].isdigit()):
                place[number] = len(sizes)
                data = self._graph(os.path.join(folder, f"{number}.gexf"), len(sizes))
                sizes.append(data.num_nodes or 0)
                graphs[part].append(data)
        ged = self._distances(distances, place)
        n = np.array(sizes, np.float32)
        data, slices, _ = many(graphs[0 if self.train else 1], self)
        return data, slices, {"ged": Tensor(ged), "norm_ged": Tensor(ged / (0.5 * (n[:, None] + n[None])))}

    def _graph(self, path: str, number: int) -> Data:
        nodes, pairs = read_gexf(path)
        data = Data(edge_index=Tensor(both_ways(pairs)), i=number, num_nodes=len(nodes))
        if self.name == "AIDS700nef":
            kinds = [values.get("type", "") for values in nodes.values()]
            unknown = next((k for k in kinds if k not in self.types), None)
            if unknown is not None:
                raise ValueError(f"{path}: an atom {unknown[:20]!r} is not known")
            x = np.zeros((len(kinds), len(self.types)), np.float32)
            x[np.arange(len(kinds)), [self.types.index(k) for k in kinds]] = 1
            data.x = Tensor(x)
        return data

    @staticmethod
    def _distances(path: str, place: dict[int, int]) -> np.ndarray:
        found = load_nested(path)
        ged = np.full((len(place), len(place)), np.inf, np.float32)
        if not isinstance(found, dict):
            raise ValueError(f"{path}: a dict of distances is needed")
        for pair, distance in found.items():
            if (
                not isinstance(pair, tuple)
                or len(pair) != 2
                or any(k not in place for k in pair)
                or not isinstance(distance, (int, float, np.number))
            ):
                raise ValueError(f"{path}: {str(pair)[:60]} is not a pair of graphs of this set, with a distance")
            a, b = place[pair[0]], place[pair[1]]
            ged[a, b] = ged[b, a] = distance
        return ged

    def __repr__(self) -> str:
        return f"{self.name}({len(self) if self._data is not None else ''})"


__all__ = ["AirfRANS", "BrcaTcga", "GEDDataset", "MalNetTiny", "NeuroGraphDataset", "UPFD", "integers", "read_gexf"]
