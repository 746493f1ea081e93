"""Sets of graphs in files of torch.save or in pickles of tensors: superpixels, "Benchmarking Graph Neural Networks", long ranges."""

from __future__ import annotations

from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._arrays import Sparse, tensor
from ._bases import Archived, Graphs, many, one_of
from ._edge_lists import without_loops
from ._nested import load_nested, load_torch

KEYS = ("x", "edge_attr", "edge_index", "y")


def graph_of(values: dict[str, Any], path: str) -> Data:
    """A graph of attributes; edges are checked, and numbers become tensors of one."""
    out: dict[str, Any] = {}
    for key, value in values.items():
        if value is None:
            continue
        if isinstance(value, np.ndarray):
            value = tensor(value)
        if not isinstance(key, str) or not isinstance(value, (Tensor, int, float, str)):
            raise ValueError(f"{path}: an attribute {str(key)[:40]!r} is a {type(value).__name__}")
        out[key] = value
    index = out.get("edge_index")
    if isinstance(index, Tensor):
        a = index.numpy()
        n = out["x"].shape[0] if isinstance(out.get("x"), Tensor) and out["x"].ndim else None
        if a.ndim != 2 or a.shape[0] != 2 or a.dtype.kind not in "iu" or (a.size and (a.min() < 0 or (n is not None and a.max() >= n))):
            raise ValueError(f"{path}: edges {a.dtype} {a.shape} do not fit {n} nodes")
        out["edge_index"] = tensor(a, np.int64)
    return Data(**out)


def graphs_of_dicts(path: str, part: int | None = None) -> list[Data]:
    """The graphs of a torch.save file: a list of dicts of attributes, or one such list for each part."""
    found = load_torch(path)
    if part is not None:
        if not isinstance(found, (list, tuple)) or part >= len(found):
            raise ValueError(f"{path}: a list for each part is needed")
        found = found[part]
    if not isinstance(found, (list, tuple)) or not all(isinstance(d, dict) for d in found):
        raise ValueError(f"{path}: a list of dicts of attributes is needed")
    return [graph_of(d, path) for d in found]


def graphs_of_tuples(found: Any, path: str, keys: tuple[str, ...] = KEYS) -> list[Data]:
    """Graphs out of tuples of their attributes."""
    if not isinstance(found, (list, tuple)) or not all(isinstance(g, (list, tuple)) and len(g) == len(keys) for g in found):
        raise ValueError(f"{path}: a list of ({', '.join(keys)}) is needed")
    return [graph_of({k: np.asarray(v) if isinstance(v, list) else v for k, v in zip(keys, g)}, path) for g in found]


class MNISTSuperpixels(Archived):
    """MNIST as graphs of 75 superpixels ("Geometric Deep Learning on Graphs and Manifolds Using Mixture Model CNNs", 2017): 60,000 for
    training, 10,000 for the test.

    >>> from polygrad.geometric.datasets import MNISTSuperpixels
    >>> dataset = MNISTSuperpixels("data/MNISTSuperpixels", train=True)  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "mnist-superpixels"
    name = "MNISTSuperpixels"

    def __init__(
        self,
        root: str | None = None,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.train = train
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["MNISTSuperpixels.pt"]

    @property
    def processed_file_names(self) -> str:
        return "train.safetensors" if self.train else "test.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        return [("https://data.pyg.org/datasets/MNISTSuperpixels.zip", "MNISTSuperpixels.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        return many(graphs_of_dicts(self.raw_paths[0], 0 if self.train else 1), self)


class GNNBenchmarkDataset(Archived):
    """Sets of "Benchmarking Graph Neural Networks" (2020). name: "PATTERN", "CLUSTER", "MNIST", "CIFAR10", "TSP" or "CSL", which is not divided.

    >>> from polygrad.geometric.datasets import GNNBenchmarkDataset
    >>> dataset = GNNBenchmarkDataset("data/GNNBenchmarkDataset", name="PATTERN", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "gnn-benchmark"
    names: ClassVar[tuple[str, ...]] = ("PATTERN", "CLUSTER", "MNIST", "CIFAR10", "TSP", "CSL")
    parts: ClassVar[tuple[str, ...]] = ("train", "val", "test")

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name = one_of("name", name, self.names)
        self.split = "train" if self.name == "CSL" else one_of("split", split, self.parts)
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        if self.name == "CSL":
            return ["graphs_Kary_Deterministic_Graphs.pkl", "y_Kary_Deterministic_Graphs.pt"]
        return [f"{self.name}_v2.pt"]

    @property
    def processed_file_names(self) -> str:
        return f"{self.split}.safetensors"

    def archives(self) -> list[tuple[str, str]]:
        if self.name == "CSL":
            return [("https://www.dropbox.com/s/rnbkp5ubgk82ocu/CSL.zip?dl=1", "CSL.zip")]
        return [(f"https://data.pyg.org/datasets/benchmarking-gnns/{self.name}_v2.zip", f"{self.name}_v2.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        if self.name != "CSL":
            return many(graphs_of_dicts(self.raw_paths[0], self.parts.index(self.split)), self)
        path, targets = self.raw_paths
        matrices, y = load_nested(path), load_torch(targets)
        classes = y.numpy().reshape(-1) if isinstance(y, Tensor) else np.asarray(y).reshape(-1)
        if not isinstance(matrices, list) or not all(isinstance(m, Sparse) for m in matrices) or len(matrices) != classes.size:
            raise ValueError(f"{path}: a list of {classes.size} sparse matrices is needed")
        graphs = []
        for m, c in zip(matrices, classes):
            pairs = without_loops(np.stack([m.row, m.col]))
            graphs.append(Data(edge_index=tensor(pairs), y=Tensor(np.array([int(c)])), num_nodes=m.shape[0]))
        return many(graphs, self)

    def __repr__(self) -> str:
        return f"{self.name}({len(self) if self._data is not None else ''})"


_COCO = np.array([k for k in range(91) if k not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)])


class LRGBDataset(Archived):
    """Sets of the "Long Range Graph Benchmark" (2022). name: "PascalVOC-SP", "COCO-SP", "PCQM-Contact", "Peptides-func" or "Peptides-struct".

    >>> from polygrad.geometric.datasets import LRGBDataset
    >>> dataset = LRGBDataset("data/LRGBDataset", name="Peptides-func", split="train")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "lrgb"
    files: ClassVar[dict[str, str]] = {
        "pascalvoc-sp": "8x722ai272wqwl4/pascalvocsp.zip", "coco-sp": "r6ihg1f4pmyjjy0/cocosp.zip",
        "pcqm-contact": "qdag867u6h6i60y/pcqmcontact.zip", "peptides-func": "ycsq37q8sxs1ou8/peptidesfunc.zip",
        "peptides-struct": "zgv4z8fcpmknhs8/peptidesstruct.zip",
    }  # fmt: skip
    parts: ClassVar[tuple[str, ...]] = ("train", "val", "test")

    def __init__(
        self,
        root: str | None = None,
        name: str = "",
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        force_reload: bool = False,
    ):
        self.name, self.split = one_of("name", name, list(self.files)), one_of("split", split, self.parts)
        super().__init__(root, transform, pre_transform, pre_filter, force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{p}.{'pickle' if self.name.endswith('-sp') else 'pt'}" for p in self.parts]

    @property
    def processed_file_names(self) -> str:
        return f"{self.split}.safetensors"

    def _places(self, folder: str) -> list[str]:
        return super()._places(folder)[:3]

    def archives(self) -> list[tuple[str, str]]:
        return [(f"https://www.dropbox.com/s/{self.files[self.name]}?dl=1", "lrgb.zip")]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[self.parts.index(self.split)]
        if self.name == "pcqm-contact":
            keys = ("x", "edge_attr", "edge_index", "edge_label_index", "edge_label")
            return many(graphs_of_tuples(load_torch(path), path, keys), self)
        if not self.name.endswith("-sp"):
            return many(graphs_of_tuples(load_torch(path), path), self)
        graphs = graphs_of_tuples(load_nested(path), path)
        for data in graphs:
            y = data.y.numpy().astype(np.int64)
            if self.name == "coco-sp":
                place = np.searchsorted(_COCO, y)
                if (place >= _COCO.size).any() or (_COCO[np.minimum(place, _COCO.size - 1)] != y).any():
                    raise ValueError(f"{path}: a label is none of COCO's")
                y = place
            data.x, data.edge_attr, data.y = data.x.float(), data.edge_attr.float(), Tensor(y)
        return many(graphs, self)

    def __repr__(self) -> str:
        return f"{self.name}({len(self) if self._data is not None else ''})"


class BAMultiShapesDataset(Graphs):
    """1,000 Barabasi-Albert graphs with houses, wheels and grids; the class says whether exactly two kinds are there ("Global Explainability of GNNs
    via Logic Combination of Learned Concepts", 2023).

    >>> from polygrad.geometric.datasets import BAMultiShapesDataset
    >>> dataset = BAMultiShapesDataset("data/BAMultiShapesDataset")  # doctest: +SKIP
    >>> data = dataset[0]  # doctest: +SKIP
    """

    group: ClassVar[str] = "ba-multi-shapes"

    @property
    def raw_file_names(self) -> list[str]:
        return ["BAMultiShapes.pkl"]

    def urls(self) -> list[str]:
        return ["https://github.com/steveazzolin/gnn_logic_global_expl/raw/master/datasets/BAMultiShapes/BAMultiShapes.pkl"]

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        path = self.raw_paths[0]
        found = load_nested(path)
        lists = isinstance(found, (list, tuple)) and len(found) == 3 and all(hasattr(v, "__len__") for v in found)
        if not lists or len({len(v) for v in found}) != 1:
            raise ValueError(f"{path}: lists of matrices, features and classes of one length are needed")
        graphs = []
        for adj, x, y in zip(*found):
            try:
                with np.errstate(over="ignore", invalid="ignore"):  # what float32 does not hold is infinite
                    a, f, c = np.asarray(adj), np.asarray(x, np.float32), int(np.asarray(y).reshape(-1)[0])
            except (ValueError, TypeError, IndexError, OverflowError) as e:
                raise ValueError(f"{path}: a graph is damaged: {e}") from None
            if a.ndim != 2 or a.shape[0] != a.shape[1] or f.ndim != 2 or len(f) != len(a) or a.dtype.kind not in "biuf":
                raise ValueError(f"{path}: a matrix {a.shape} and features {f.shape} do not fit")
            graphs.append(Data(x=Tensor(f), edge_index=Tensor(np.stack(np.nonzero(a)).astype(np.int64)), y=Tensor(np.array([c]))))
        return many(graphs, self)


__all__ = ["BAMultiShapesDataset", "GNNBenchmarkDataset", "LRGBDataset", "MNISTSuperpixels", "graph_of", "graphs_of_dicts", "graphs_of_tuples"]
