"""WLConv: colour refinement."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....graphs import Graph
from ....nn import Module
from ....tensor import Tensor


def _mixed(x: np.ndarray, salt: int) -> np.ndarray:
    """Whole numbers to 64 bits that look random (SplitMix64)."""
    z = x.astype(np.uint64) + np.uint64(salt)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


class WLConv(Module):
    """One round of the Weisfeiler-Lehman test: nodes with the same colour and equally coloured neighbours get the same new colour.

        c'_i = hash(c_i, {c_j})

    Colours are numbered in the order in which they first occur, also over several calls, so that graphs can be compared.

    Shapes: x [V] of colours or [V, C] one-hot, edge_index [2, E]; out [V].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import WLConv
    >>> WLConv()(Tensor([0, 0, 0]), Tensor([[0, 1, 1, 2], [1, 0, 2, 1]])).tolist()
    [0, 1, 0]
    """

    def __init__(self) -> None:
        self.hashmap: dict[Any, int] = {}

    def reset_parameters(self) -> None:
        self.hashmap = {}

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        """x: colours [V], or [V, colours] with one 1 in each row."""
        if x.ndim > 1:
            if not bool((x.sum(-1) == 1).all().item()):
                raise ValueError("colours with several columns must have one 1 in each row")
            x = x.argmax(-1)
        elif x.dtype.kind not in "iu":
            raise ValueError(f"colours are whole numbers, not {x.dtype}")
        graph = edge_index if isinstance(edge_index, Graph) else Graph(edge_index, x.shape[0])
        colours = x.numpy()
        # A sum of 2 x 64 random bits for each colour says which neighbours there are, whatever their order.
        bits = np.stack([_mixed(colours, 0x9E3779B97F4A7C15), _mixed(colours, 0xD1B54A32D192ED03)], 1)
        around = graph.sum(graph.src(Tensor(bits))).numpy()
        keys = np.stack([colours.astype(np.uint64), graph.in_degree.numpy().astype(np.uint64), around[:, 0], around[:, 1]], 1)
        return Tensor(self._numbers(keys))

    def _numbers(self, keys: np.ndarray) -> np.ndarray:
        """Colours of rows: known ones as before, new ones in the order in which they come."""
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        found = np.empty(first.size, np.int64)
        for k in order:  # over distinct colours, not over nodes
            found[k] = self.hashmap.setdefault(keys[first[k]].tobytes(), len(self.hashmap))
        return found[which.reshape(-1)]

    def histogram(self, x: Tensor, batch: Tensor | None = None, norm: bool = False) -> Tensor:
        """How often each colour occurs, [graphs, colours]; norm: rows of length 1."""
        colours = x.numpy().astype(np.int64)
        graphs = np.zeros_like(colours) if batch is None else batch.numpy().astype(np.int64)
        count, width = int(graphs.max(initial=-1)) + 1, len(self.hashmap)
        out = np.bincount(graphs * width + colours, minlength=count * width).reshape(count, width)
        if norm:
            out = (out / np.linalg.norm(out, axis=-1, keepdims=True)).astype(np.float32)
        return Tensor(out)
