"""Graphs in npz archives with compressed rows: `adj_*` are the edges, `attr_*` the node features, `labels` the classes."""

from __future__ import annotations

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._edge_lists import both_ways, check_pairs, without_loops
from ._pickles import check_rows, dense_rows, load_npz


def read_npz(path: str, to_undirected: bool = True) -> Data:
    """The graph of an archive, without loops; features are 1 where there is anything.

    >>> from polygrad.geometric.io import read_npz
    >>> data = read_npz("amazon_electronics_photo.npz")  # doctest: +SKIP
    """
    names = [f"{kind}_{part}" for kind in ("adj", "attr") for part in ("data", "indices", "indptr", "shape")]
    f = load_npz(path, [*names, "labels"])
    try:
        x = dense_rows(f["attr_data"], f["attr_indices"], f["attr_indptr"], f["attr_shape"], ones=True)
        n, other = check_rows(f["adj_data"], f["adj_indices"], f["adj_indptr"], f["adj_shape"])
    except ValueError as e:
        raise ValueError(f"{path}: {e}") from None
    labels = f["labels"]
    if n != other or x.shape[0] != n or labels.shape != (n,) or labels.dtype.kind not in "iu" or (n and labels.min() < 0):
        raise ValueError(f"{path}: {n} x {other} edges, features of {x.shape[0]} nodes and labels {labels.dtype} {labels.shape} do not fit")
    rows = np.repeat(np.arange(n), np.diff(f["adj_indptr"]))
    pairs = check_pairs(np.stack([rows, f["adj_indices"].astype(np.int64)]), n, path)
    pairs = without_loops(pairs)
    return Data(x=Tensor(x), edge_index=Tensor(both_ways(pairs) if to_undirected else np.ascontiguousarray(pairs)), y=Tensor(labels.astype(np.int64)))


__all__ = ["read_npz"]
