"""Random graphs with features and labels, for tests."""

from __future__ import annotations

from itertools import product
from typing import Any, Callable

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ..data.hetero_data import HeteroData
from ..data.in_memory_dataset import InMemoryDataset
from ._edge_lists import both_ways, once, without_loops


def random_source(seed: int | None = None) -> np.random.Generator:
    """numpy's generator, by a seed of its own or else following Tensor.manual_seed."""
    return np.random.default_rng(int(Tensor.randint(1, low=0, high=2**31 - 1).item()) if seed is None else seed)


def _nodes(rng: np.random.Generator, mean: int, degree: float) -> int:
    return int(rng.integers(max(3 * mean // 4, int(degree)), 5 * mean // 4 + 1))


def _edges(rng: np.random.Generator, num_src: int, num_dst: int, degree: float, undirected: bool = False, loops: bool = True) -> np.ndarray:
    count = int(num_src * degree)
    pairs = np.stack([rng.integers(0, num_src, count), rng.integers(0, num_dst, count)])
    if not loops:
        pairs = without_loops(pairs)
    return both_ways(pairs) if undirected else once(pairs)


def _task(task: str, num_graphs: int) -> str:
    if task not in ("node", "graph", "auto"):
        raise ValueError(f"task must be 'node', 'graph' or 'auto', not {task!r}")
    return ("graph" if num_graphs > 1 else "node") if task == "auto" else task


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


class FakeDataset(InMemoryDataset):
    """Random graphs whose features tell the labels. Further keywords are names and shapes of attributes of the graphs.

    >>> from polygrad.geometric.datasets import FakeDataset
    >>> data = FakeDataset(num_graphs=3, avg_num_nodes=20, avg_degree=4, num_channels=5)
    >>> len(data), data.num_features, data.num_classes <= 10, data[0].is_undirected()
    (3, 5, True, True)
    """

    def __init__(
        self,
        num_graphs: int = 1,
        avg_num_nodes: int = 1000,
        avg_degree: float = 10.0,
        num_channels: int = 64,
        edge_dim: int = 0,
        num_classes: int = 10,
        task: str = "auto",
        is_undirected: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(None, transform, pre_transform)
        self.task = _task(task, num_graphs)
        self.avg_num_nodes, self.avg_degree = max(avg_num_nodes, int(avg_degree)), max(avg_degree, 1)
        self.num_channels, self.edge_dim, self._num_classes = num_channels, edge_dim, num_classes
        self.is_undirected, self.kwargs = is_undirected, kwargs
        self._rng = random_source(seed)
        graphs = [self.generate_data() for _ in range(max(num_graphs, 1))]
        self._set(*self.collate([g if pre_transform is None else pre_transform(g) for g in graphs]))

    def generate_data(self) -> Data:
        """A new graph."""
        rng = self._rng
        n = _nodes(rng, self.avg_num_nodes, self.avg_degree)
        data = Data()
        y: Any = 0
        if self._num_classes > 0:
            y = rng.integers(0, self._num_classes, n if self.task == "node" else 1)
            data.y = Tensor(y)
        pairs = _edges(rng, n, n, self.avg_degree, self.is_undirected, loops=False)
        data.edge_index = Tensor(pairs)
        if self.num_channels > 0:
            shift = np.asarray(y, np.float32)
            data.x = Tensor(_normal(rng, n, self.num_channels) + (shift[:, None] if shift.ndim else shift))
        else:
            data.num_nodes = n
        _edge_features(rng, data, pairs.shape[1], self.edge_dim)
        for name, shape in self.kwargs.items():
            setattr(data, name, Tensor(_normal(rng, *((shape,) if isinstance(shape, int) else shape))))
        return data


def _edge_features(rng: np.random.Generator, store: Any, count: int, width: int) -> None:
    if width > 1:
        store.edge_attr = Tensor(rng.random((count, width), np.float32))
    elif width == 1:
        store.edge_weight = Tensor(rng.random(count, np.float32))


class FakeHeteroDataset(InMemoryDataset):
    """Random graphs with several types of nodes and edges.

    >>> from polygrad.geometric.datasets import FakeHeteroDataset
    >>> data = FakeHeteroDataset(avg_num_nodes=20, avg_degree=4)[0]
    >>> data.node_types, len(data.edge_types), data.validate()
    (['v0', 'v1', 'v2'], 6, True)
    """

    def __init__(
        self,
        num_graphs: int = 1,
        num_node_types: int = 3,
        num_edge_types: int = 6,
        avg_num_nodes: int = 1000,
        avg_degree: float = 10.0,
        avg_num_channels: int = 64,
        edge_dim: int = 0,
        num_classes: int = 10,
        task: str = "auto",
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(None, transform, pre_transform)
        self._rng = rng = random_source(seed)
        self.task = _task(task, num_graphs)
        self.node_types = [f"v{k}" for k in range(max(num_node_types, 1))]
        ends = list(product(self.node_types, self.node_types))
        wanted = max(num_edge_types, 1)
        many = ends * (-(-wanted // len(ends)))
        self.edge_types: list[tuple[str, str, str]] = []
        for k in rng.permutation(len(many))[:wanted]:
            src, dst = many[k]
            self.edge_types.append((src, f"e{sum((s, d) == (src, dst) for s, _, d in self.edge_types)}", dst))
        self.avg_num_nodes, self.avg_degree = max(avg_num_nodes, int(avg_degree)), max(avg_degree, 1)
        self.num_channels = [int(rng.integers(3 * avg_num_channels // 4, 5 * avg_num_channels // 4 + 1)) for _ in self.node_types]
        self.edge_dim, self._num_classes, self.kwargs = edge_dim, num_classes, kwargs
        graphs = [self.generate_data() for _ in range(max(num_graphs, 1))]
        self._set(*self.collate([g if pre_transform is None else pre_transform(g) for g in graphs]))

    @property
    def num_classes(self) -> int:
        return self._num_classes

    def generate_data(self) -> HeteroData:
        """A new graph."""
        rng = self._rng
        data = HeteroData()
        for k, (kind, width) in enumerate(zip(self.node_types, self.num_channels)):
            n = _nodes(rng, self.avg_num_nodes, self.avg_degree)
            store = data[kind]
            if width > 0:
                store.x = Tensor(_normal(rng, n, width))
            else:
                store.num_nodes = n
            if self._num_classes > 0 and self.task == "node" and k == 0:
                store.y = Tensor(rng.integers(0, self._num_classes, n))
        for src, name, dst in self.edge_types:
            pairs = _edges(rng, data[src].num_nodes, data[dst].num_nodes, self.avg_degree)
            data[src, name, dst].edge_index = Tensor(pairs)
            _edge_features(rng, data[src, name, dst], pairs.shape[1], self.edge_dim)
        if self._num_classes > 0 and self.task == "graph":
            data.y = Tensor(rng.integers(0, self._num_classes, 1))
        for name, shape in self.kwargs.items():
            setattr(data, name, Tensor(_normal(rng, *((shape,) if isinstance(shape, int) else shape))))
        return data


__all__ = ["FakeDataset", "FakeHeteroDataset"]
