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
    """The graph of arrays `adj_*`, `attr_*` and `labels`, such as `numpy.load` gives."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.npz")
        arrays: dict[str, Any] = {k: np.asarray(f[k]) for k in f}
        np.savez(path, **arrays)
        return read_npz(path, to_undirected)


def read_planetoid_data(folder: str, prefix: str) -> Data:
    """The graph of the files `ind.<prefix>.*`."""
    return read_planetoid(folder, prefix)


def read_tu_data(folder: str, prefix: str) -> tuple[Data, dict[str, Any], dict[str, int]]:
    """All graphs of the files `<prefix>_*.txt` joined, their slices, and the widths of attributes and labels."""
    return read_tu(folder, prefix)


__all__ = ["parse_npz", "read_npz", "read_planetoid_data", "read_tu_data"]
