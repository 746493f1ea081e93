"""The formats of the usual datasets, by PyTorch Geometric's names."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.data import Data
from ..datasets._npz import read_npz
from ..datasets.planetoid import read_planetoid
from ..datasets.tu_dataset import read_tu


def parse_npz(f: Mapping[str, Any], to_undirected: bool = True) -> Data:
    """The graph of arrays `adj_*`, `attr_*` and `labels`, such as `numpy.load` gives.

    >>> import numpy as np
    >>> from polygrad.geometric.io import parse_npz
    >>> arrays = {
    ...     "adj_data": np.ones(2), "adj_indices": np.array([1, 0]), "adj_indptr": np.array([0, 1, 2]), "adj_shape": np.array([2, 2]),
    ...     "attr_data": np.ones(2), "attr_indices": np.array([0, 1]), "attr_indptr": np.array([0, 1, 2]), "attr_shape": np.array([2, 2]),
    ...     "labels": np.array([0, 1]),
    ... }
    >>> parse_npz(arrays).edge_index.tolist()
    [[0, 1], [1, 0]]
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.npz")
        arrays: dict[str, Any] = {k: np.asarray(f[k]) for k in f}
        np.savez(path, **arrays)
        return read_npz(path, to_undirected)


def read_planetoid_data(folder: str, prefix: str) -> Data:
    """The graph of the files `ind.<prefix>.*`.

    >>> from polygrad.geometric.io import read_planetoid_data
    >>> data = read_planetoid_data("Cora/raw", "cora")  # doctest: +SKIP
    """
    return read_planetoid(folder, prefix)


def read_tu_data(folder: str, prefix: str) -> tuple[Data, dict[str, Any], dict[str, int]]:
    """All graphs of the files `<prefix>_*.txt` joined, their slices, and the widths of attributes and labels.

    >>> from polygrad.geometric.io import read_tu_data
    >>> data, slices, sizes = read_tu_data("MUTAG/raw", "MUTAG")  # doctest: +SKIP
    """
    return read_tu(folder, prefix)


__all__ = ["parse_npz", "read_npz", "read_planetoid_data", "read_tu_data"]
