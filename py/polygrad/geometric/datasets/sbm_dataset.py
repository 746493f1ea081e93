"""Graphs of blocks: how likely an edge is depends on the blocks of its ends."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np

from ...tensor import Tensor
from ..data._values import to_array
from ..data.data import Data
from ..data.in_memory_dataset import InMemoryDataset
from .fake import random_source


class StochasticBlockModelDataset(InMemoryDataset):
    """Graphs of the stochastic block model; a node's class is its block, and its features lie around a corner of a hypercube of its class.

    block_sizes: nodes of each block. edge_probs: how likely an edge is between each two of them, symmetric if is_undirected. num_channels: width
    of the features; None for none. class_sep: half the side of the hypercube. root: where the graphs are kept; None makes new ones.

    >>> from polygrad.geometric.datasets import StochasticBlockModelDataset
    >>> StochasticBlockModelDataset(None, [10, 20], [[0.5, 0.0], [0.0, 0.5]], num_channels=4)[0].num_features
    4
    """

    def __init__(
        self,
        root: str | None,
        block_sizes: Any,
        edge_probs: Any,
        num_graphs: int = 1,
        num_channels: int | None = None,
        is_undirected: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        force_reload: bool = False,
        class_sep: float = 1.0,
        **kwargs: Any,
    ):
        known = {"n_informative", "n_redundant", "flip_y", "shuffle", "n_clusters_per_class", "random_state"}
        if set(kwargs) - known:
            raise TypeError(f"{type(self).__name__} has no argument {sorted(set(kwargs) - known)[0]!r}")
        if num_graphs < 1:
            raise ValueError(f"num_graphs must be at least 1, got {num_graphs}")
        self.block_sizes, self.edge_probs = np.asarray(to_array(block_sizes), np.int64), np.asarray(to_array(edge_probs), np.float64)
        blocks = self.block_sizes.size
        if self.block_sizes.ndim != 1 or self.edge_probs.shape != (blocks, blocks):
            raise ValueError(f"edge_probs must be {blocks} x {blocks} for {blocks} blocks, not {self.edge_probs.shape}")
        self.num_graphs, self.num_channels, self.is_undirected, self.class_sep = num_graphs, num_channels, is_undirected, class_sep
        self._seed = kwargs.get("random_state")
        super().__init__(root, transform, pre_transform, force_reload=force_reload)
        if root is not None:
            self.load(self.processed_paths[0])

    @property
    def processed_dir(self) -> str:
        return os.path.join(self._folder(type(self).__name__), "processed")

    @property
    def processed_file_names(self) -> str:
        sizes = "-".join(str(s) for s in self.block_sizes.tolist())
        probs = "-".join(f"{p:.4g}" for p in self.edge_probs.reshape(-1).tolist())
        return f"data_{self.num_channels}_{sizes}_{probs}_{self.num_graphs}_{self.is_undirected}.safetensors"

    def _process(self) -> None:
        if self.root is None:
            self._set(*self.collate(self._graphs()))
        else:
            super()._process()

    def process(self) -> None:
        self.save(self._graphs(), self.processed_paths[0])

    def _graphs(self) -> list[Any]:
        from ..utils import stochastic_blockmodel_graph

        edge_index = stochastic_blockmodel_graph(self.block_sizes.tolist(), self.edge_probs.tolist(), directed=not self.is_undirected)
        rng = random_source(self._seed)
        y = np.repeat(np.arange(self.block_sizes.size), self.block_sizes)
        out = []
        for _ in range(self.num_graphs):
            data = Data(edge_index=edge_index, y=Tensor(y.copy()))
            if self.num_channels is not None:
                data = Data(x=Tensor(corner_features(rng, y, self.num_channels, self.class_sep)), edge_index=edge_index, y=data.y)
            else:
                data.num_nodes = int(y.size)
            out.append(data if self.pre_transform is None else self.pre_transform(data))
        return out


def corner_features(rng: np.random.Generator, y: np.ndarray, width: int, separation: float) -> np.ndarray:
    """Features [N, width]: normal noise, mixed by a random matrix of each class, around a corner of a hypercube of its own."""
    classes = int(y.max()) + 1 if y.size else 0
    if width < 63 and classes > 1 << width:
        raise ValueError(f"{classes} classes need more than {width} features to have a corner each")
    corners: dict[bytes, np.ndarray] = {}
    while len(corners) < classes:
        corner = rng.integers(0, 2, width)
        corners.setdefault(corner.tobytes(), (2.0 * corner - 1.0) * separation)
    x = rng.standard_normal((y.size, width))
    for c, corner in enumerate(corners.values()):
        x[y == c] = x[y == c] @ rng.uniform(-1, 1, (width, width)) + corner
    return x.astype(np.float32)


class RandomPartitionGraphDataset(StochasticBlockModelDataset):
    """Communities of one size, with a given share of edges inside them ("How to Find Your Friendly Neighborhood", 2021).

    >>> import tempfile
    >>> from polygrad.geometric.datasets import RandomPartitionGraphDataset
    >>> with tempfile.TemporaryDirectory() as root:
    ...     data = RandomPartitionGraphDataset(root, num_classes=2, num_nodes_per_class=20, node_homophily_ratio=0.7, average_degree=5)[0]
    ...     print(data.num_nodes, sorted(set(data.y.tolist())))
    40 [0, 1]
    """

    def __init__(
        self,
        root: str | None,
        num_classes: int,
        num_nodes_per_class: int,
        node_homophily_ratio: float,
        average_degree: float,
        num_graphs: int = 1,
        num_channels: int | None = None,
        is_undirected: bool = True,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        **kwargs: Any,
    ):
        density = average_degree / num_nodes_per_class
        inside = node_homophily_ratio * density
        probs = np.full((num_classes, num_classes), (density - inside) / max(num_classes - 1, 1))
        np.fill_diagonal(probs, inside)
        sizes = [num_nodes_per_class] * num_classes
        super().__init__(root, sizes, probs, num_graphs, num_channels, is_undirected, transform, pre_transform, **kwargs)


__all__ = ["RandomPartitionGraphDataset", "StochasticBlockModelDataset"]
