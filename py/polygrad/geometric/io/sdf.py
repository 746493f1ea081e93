"""Molecules of hydrogen, carbon, nitrogen, oxygen and fluorine in SDF files."""

from __future__ import annotations

import numpy as np

from ...tensor import Tensor
from ..data.data import Data

ELEMENTS = {"H": 0, "C": 1, "N": 2, "O": 3, "F": 4}


def parse_sdf(src: str, path: str = "text") -> Data:
    """The first molecule of a text: one-hot elements `x`, positions `pos`, bonds in both directions with their kind (0 for single) in `edge_attr`.

    >>> from polygrad.geometric.io import parse_sdf
    >>> text = (
    ...     "water\\n\\n\\n  2  1  0  0  0  0  0  0  0  0999 V2000\\n"
    ...     "    0.0000    0.0000    0.0000 O   0  0\\n    0.9600    0.0000    0.0000 H   0  0\\n  1  2  1  0\\nM  END\\n"
    ... )
    >>> data = parse_sdf(text)
    >>> data.x.shape[0], data.edge_index.tolist()
    (2, [[0, 1], [1, 0]])
    """
    lines = src.split("\n")[3:]
    try:
        atoms, bonds = (int(w) for w in lines[0].split()[:2])
        block, links = [line.split() for line in lines[1 : atoms + 1]], [line.split() for line in lines[1 + atoms : 1 + atoms + bonds]]
        if min(atoms, bonds) < 0 or len(block) != atoms or len(links) != bonds:
            raise ValueError(f"{atoms} atoms and {bonds} bonds are announced")
        kinds = [ELEMENTS[row[3]] for row in block]
        pos = np.array([row[:3] for row in block], np.float32).reshape(-1, 3)
        table = np.array([row[:3] for row in links], np.int64).reshape(-1, 3)
    except (ValueError, IndexError, KeyError) as e:
        raise ValueError(f"{path}: not an SDF file that can be read: {e}") from None
    pairs = table[:, :2].T - 1
    if pairs.size and (pairs.min() < 0 or pairs.max() >= atoms):
        raise ValueError(f"{path}: a bond of an atom that is not there")
    pairs, kind = np.concatenate([pairs, pairs[::-1]], axis=1), np.concatenate([table[:, 2], table[:, 2]]) - 1
    order = np.lexsort((pairs[1], pairs[0]))
    x = np.eye(len(ELEMENTS), dtype=np.float32)[kinds].reshape(-1, len(ELEMENTS))
    edge_attr = Tensor(np.ascontiguousarray(kind[order], np.float32))
    return Data(x=Tensor(x), edge_index=Tensor(np.ascontiguousarray(pairs[:, order])), edge_attr=edge_attr, pos=Tensor(pos))


def read_sdf(path: str) -> Data:
    """The first molecule of a file.

    >>> from polygrad.geometric.io import read_sdf
    >>> data = read_sdf("water.sdf")  # doctest: +SKIP
    """
    with open(path, encoding="utf-8", errors="replace") as f:
        return parse_sdf(f.read(), path)


__all__ = ["parse_sdf", "read_sdf"]
