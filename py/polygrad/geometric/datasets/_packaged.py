"""Graphs that travel with the package as small npz archives: bags of words as bits, every undirected edge once, the split as one number a node.

`py/tools/pack_planetoid.py` writes such an archive; `files/README.md` names source and citation of each.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data.data import Data
from ._edge_lists import check_pairs, once
from ._pickles import load_npz

PARTS = ("train_mask", "val_mask", "test_mask")
_NAMES = ["words", "num_words", "edges", "y", "part"]


def packaged(name: str) -> str | None:
    """The path of the archive of a graph, if the package has it."""
    path = os.path.join(os.path.dirname(__file__), "files", f"{name.lower()}.npz")
    return path if os.path.isfile(path) else None


def pack(data: Any, path: str) -> None:
    """Writes a graph of 0/1 features, undirected edges without loops and disjoint masks."""
    x, pairs = data.x.numpy(), data.edge_index.numpy()
    if not np.isin(x, (0, 1)).all() or len(x) > 1 << 16 or int(data.y.max().item()) > 255:
        raise ValueError(f"{path}: features must be 0 or 1, with at most 65,536 nodes and 256 classes")
    part = sum((k + 1) * data[key].numpy().astype(np.uint8) for k, key in enumerate(PARTS))
    np.savez_compressed(
        path,
        words=np.packbits(x.astype(bool), axis=1),
        num_words=np.array(x.shape[1], np.int64),
        edges=pairs[:, pairs[0] < pairs[1]].astype(np.uint16),
        y=data.y.numpy().astype(np.uint8),
        part=part,
    )


def unpack(path: str) -> Data:
    """The graph of an archive that `pack` wrote; edges in both directions, sorted by destination."""
    f = load_npz(path, _NAMES)
    words, edges, y, part = f["words"], f["edges"], f["y"], f["part"]
    n, width = y.size, int(f["num_words"]) if f["num_words"].shape == () else -1
    if words.dtype != np.uint8 or words.shape != (n, (width + 7) // 8) or y.shape != (n,) or part.shape != (n,) or edges.ndim != 2 or len(edges) != 2:
        raise ValueError(f"{path}: words {words.shape}, {width} of them, edges {edges.shape}, y {y.shape} and part {part.shape} do not fit")
    if (part > len(PARTS)).any() or edges.dtype.kind != "u" or y.dtype.kind != "u" or part.dtype.kind != "u":
        raise ValueError(f"{path}: edges, y and part must be numbers from 0, part at most {len(PARTS)}")
    pairs = check_pairs(edges.astype(np.int64), n, path)
    masks = {key: Tensor(part == k + 1) for k, key in enumerate(PARTS)}
    x = np.unpackbits(words, axis=1, count=width).astype(np.float32)
    pairs = once(np.concatenate([pairs, pairs[::-1]], axis=1), by_row=False)
    return Data(x=Tensor(x), edge_index=Tensor(pairs), y=Tensor(y.astype(np.int64)), **masks)


__all__ = ["pack", "packaged", "unpack"]
