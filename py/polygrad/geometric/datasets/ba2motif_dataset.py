"""BA-2motifs: small graphs that hold a house or a cycle."""

from __future__ import annotations

from typing import Any, Callable, ClassVar

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._files import FileDataset
from ._pickles import load_pickle
from .explainer_dataset import attach
from .fake import random_source
from .graph_generator import BAGraph
from .motif_generator import CycleMotif, HouseMotif

URL = "https://github.com/flyingdoog/PGExplainer/raw/master/dataset"
GRAPHS, NODES, WIDTH = 1000, 20, 10


class BA2MotifDataset(FileDataset):
    """BA-2motifs ("Parameterized Explainer for Graph Neural Network", 2020): 1000 Barabasi-Albert graphs of 20 nodes, half of them with a cycle of
    five nodes (class 0) and half with a house (class 1); all 10 features are 0.1.

    With a root, the file of the authors is read from there, or downloaded. Without, num_graphs graphs are generated in the same manner, and also
    have the true `edge_mask` [E].

    >>> from polygrad.geometric.datasets import BA2MotifDataset
    >>> data = BA2MotifDataset(num_graphs=4)
    >>> [int(graph.y.item()) for graph in data], data[0].num_nodes
    ([0, 1, 0, 1], 25)
    """

    group: ClassVar[str] = "ba2motif"
    name = "BA-2motif"

    def __init__(
        self, root: str | None = None, transform: Callable[..., Any] | None = None, pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False, num_graphs: int = GRAPHS,
    ):  # fmt: skip
        self.num_graphs = num_graphs
        super().__init__(root, transform, pre_transform, force_reload=force_reload)

    @property
    def raw_file_names(self) -> list[str]:
        return ["BA-2motif.pkl"]

    def urls(self) -> list[str]:
        return [f"{URL}/BA-2motif.pkl"]

    def _fetch(self) -> None:
        if self.root is not None:
            super()._fetch()

    def read(self) -> tuple[Any, Any, dict[str, Any]]:
        graphs = self._from_file() if self.root is not None else self._generated()
        return (*self.collate(graphs), {})

    def _from_file(self) -> list[Data]:
        path = self.raw_paths[0]
        arrays = load_pickle(path)
        if not isinstance(arrays, tuple) or len(arrays) != 3:
            raise ValueError(f"{path}: three arrays are needed: adjacency matrices, features and classes")
        adj, x, y = arrays
        shapes = adj.ndim == 3 and x.ndim == 3 and y.ndim == 2 and adj.shape[1] == adj.shape[2] == x.shape[1]
        if not shapes or not len(adj) == len(x) == len(y) or not y.shape[1]:
            raise ValueError(f"{path}: arrays of shapes {adj.shape}, {x.shape} and {y.shape} are not adjacency matrices, features and classes")
        return [
            Data(x=Tensor(f.astype(np.float32)), edge_index=Tensor(np.stack(np.nonzero(a)).astype(np.int64)), y=Tensor([int(np.argmax(c))]))
            for a, f, c in zip(adj, x, y)
        ]  # fmt: skip

    def _generated(self) -> list[Data]:
        rng, base, motifs = random_source(), BAGraph(NODES, 1), (CycleMotif(5), HouseMotif())
        graphs = []
        for k in range(self.num_graphs):
            made = attach(base(), [motifs[k % 2]()], rng)
            x = np.full((made["y"].size, WIDTH), 0.1, np.float32)
            graphs.append(Data(x=Tensor(x), edge_index=Tensor(made["edge_index"]), y=Tensor(np.array([k % 2])), edge_mask=Tensor(made["edge_mask"])))
        return graphs


__all__ = ["BA2MotifDataset"]
