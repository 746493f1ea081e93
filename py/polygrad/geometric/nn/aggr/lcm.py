"""Learnable commutative monoids (Ong and Velickovic, "Learnable commutative monoids for graph neural networks", 2022)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....nn import GRUCell, Linear
from ....nn.functional import linear
from ....nn.recurrent import _gru_step
from ....tensor import Tensor
from ..._rows import GraphRows, Rows
from ...data._sizes import size, sized
from ...utils import _host
from ..inits import reset
from .base import Aggregation


def _levels(count: np.ndarray, longest: int) -> tuple[list[tuple[np.ndarray, np.ndarray, np.ndarray | None]], np.ndarray]:
    """The tree of joins over rows that are filled up to `longest`, without the joins of filling with filling: these are done once, by one more row
    that has nothing but filling.

    For each level: which values of the level before are the first and the second of each pair, and which pairs have one alone, that is handed on
    (None: no pair has). Last, which value each row ends with. Items are numbered row by row; count.sum() and above are filling."""
    many = np.append(count, longest)
    start = _host.starts(many)[:-1]
    levels = []
    while longest > 1:
        half = (many + 1) // 2
        before = _host.starts(half)
        row = np.repeat(np.arange(many.size), half)
        left = 2 * (np.arange(before[-1]) - before[row])
        right = left + 1
        single = right >= longest
        beside = np.where(right < many[row], start[row] + right, start[-1] + right)
        left = start[row] + left
        levels.append((left, np.where(single, left, beside), single if longest % 2 else None))
        many, start, longest = half, before[:-1], (longest + 1) // 2
    return levels, np.where(many[:-1] > 0, start[:-1], start[-1])


class LCMAggregation(Aggregation):
    """The items of a row joined two by two by a learned operation until one is left, in as many steps as the logarithm of the longest row:

        a * b = (GRU(a, b) + GRU(b, a)) / 2

    in_channels, out_channels: features of an item and of the result. project: whether items go through relu(W x + b) first; needed where the
    two differ. Rows are filled up with zeros. Shapes: x [N, in_channels], index [N]; out [rows, out_channels].

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.nn import LCMAggregation
    >>> LCMAggregation(8, 4)(Tensor.ones(5, 8), Tensor([0, 0, 1, 1, 1])).shape
    (2, 4)
    """

    def __init__(self, in_channels: int, out_channels: int, project: bool = True):
        if in_channels != out_channels and not project:
            raise ValueError(f"items of {in_channels} features must be projected to have {out_channels} of them: use project=True")
        self.in_channels, self.out_channels, self.project = in_channels, out_channels, project
        self.lin = Linear(in_channels, out_channels) if project else None
        self.gru_cell = GRUCell(out_channels, out_channels)

    def reset_parameters(self) -> None:
        reset(self.lin)
        reset(self.gru_cell)

    def _join(self, a: Tensor, b: Tensor) -> Tensor:
        """[..., F], joined in both orders. Each goes through both maps once."""
        gru = self.gru_cell
        rows = [v.flatten(0, -2) for v in (a, b)]
        (given_a, given_b), (state_a, state_b) = ([linear(v, *w) for v in rows] for w in ((gru.weight_ih, gru.bias_ih), (gru.weight_hh, gru.bias_hh)))
        return ((_gru_step(given_a, state_b, rows[1]) + _gru_step(given_b, state_a, rows[0])) * 0.5).reshape(*a.shape)

    def forward(
        self, x: Tensor, index: Tensor | None = None, ptr: Tensor | None = None, dim_size: int | None = None, dim: int = -2,
        max_num_elements: int | None = None,
    ) -> Tensor:  # fmt: skip
        self.assert_two_dimensional_input(x, dim)
        x = x if self.lin is None else self.lin(x).relu()
        if max_num_elements is None and not _host.traced(x):
            return self._packed(x, self.rows(x, index, ptr, dim_size, dim))
        y: Any = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=max_num_elements)[0].transpose(0, 1)
        if not y.shape[0]:  # no items at all
            return Tensor.zeros(y.shape[1], y.shape[2], dtype=x.dtype)
        while y.shape[0] > 1:
            even = y.shape[0] // 2 * 2
            joined = self._join(y[0:even:2], y[1:even:2])
            y = joined if even == y.shape[0] else Tensor.cat(joined, y[even:])
        return y.squeeze(0)

    def _packed(self, x: Tensor, rows: Rows) -> Tensor:
        """The same without most of the filling: the length of every row is read."""
        count = _host.read(rows.count).astype(np.int64)
        if not count.any():
            return Tensor.zeros(rows.num_rows, x.shape[-1], dtype=x.dtype)
        n = int(x.shape[0])
        levels, last = _levels(count, int(count.max()))
        order = rows.graph.order(rows.side) if isinstance(rows, GraphRows) else rows.index.argsort(0)
        y = x
        for k, (left, right, single) in enumerate(levels):
            many = size(f"pairs{k}", left.size)
            a, b = (self._at(y, at, many, n, None if k else order) for at in (left, right))
            y = self._join(a, b)
            y = y if single is None else sized(single, 0, many).unsqueeze(-1).where(a, y)
        return self._at(y, last, rows.num_rows, n, None if levels else order)

    @staticmethod
    def _at(y: Tensor, at: np.ndarray, many: Any, n: int, order: Tensor | None) -> Tensor:
        """Values by number. With order: of the n items themselves, 0 for filling."""
        if order is None:
            return y.index_select(0, sized(at, 0, many))
        items = order.index_select(0, sized(np.minimum(at, n - 1), 0, many))
        return sized(at < n, 0, many).unsqueeze(-1).where(y.index_select(0, items), 0.0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, project={self.project})"


__all__ = ["LCMAggregation"]
