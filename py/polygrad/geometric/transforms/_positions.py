"""What transforms of the places of nodes share: edges seen from both ends, and scaling into an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..utils._host import as_tensor
from ._attributes import beside, edges_of, needed, to_array


def ends(data: Any, transform: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources, destinations, and the positions of the nodes."""
    pos = to_array(needed(data, "pos", transform))
    row, col = edges_of(data, transform)
    return row, col, pos


def end_tensors(data: Any, transform: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The same as tensors, for transforms that are programs of all edges."""
    pos = as_tensor(needed(data, "pos", transform))
    edges_of(data, transform)
    edge_index = as_tensor(data.edge_index)
    return edge_index[0], edge_index[1], pos


def set_edge_attr(data: Any, value: Any, cat: bool) -> Any:
    """New columns of edge_attr, after the old ones with cat."""
    data.edge_attr = beside(data.edge_attr if cat else None, value)
    return data


def length_of(v: np.ndarray) -> np.ndarray:
    return np.sqrt((v * v).sum(-1))


__all__ = ["end_tensors", "ends", "length_of", "set_edge_attr"]
