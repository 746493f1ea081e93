"""Products of rows with the matrix of their type: y_n = x_n W_t, t being the type of row n.

Rows are sorted by type and cut into tiles of rows of one type, the last tile of a type being filled up. The product of a tile is dense, so that the
work is that of one matrix whatever the number of types is; a matrix is read once for each tile. How many tiles there are follows from the number of
rows and of types alone, N / TILE + types, so nothing is read on the way and sizes may be symbolic.
"""

from __future__ import annotations

from typing import Any

from .... import dtypes
from ....tensor import Tensor
from ..._rows import rows_of

TILE = 64


def worth_sorting(n: Any, num_types: int) -> bool:
    """Whether n rows are sorted by type, rather than multiplied with all matrices. Measured with 40,000 rows of 64 features: a product with three
    matrices takes as long as sorting and one product. With few rows of a type most of the tiles is filling."""
    return num_types > 3 and int(n) >= TILE // 4 * num_types


class Types:
    """Rows by type: where each row lies among the tiles, and which rows a tile has. kind [N]: types in [0, num_types)."""

    def __init__(self, kind: Tensor, num_types: int):
        self.num_types = num_types
        n = kind.shape[0]
        order = kind.argsort()
        count = rows_of(kind, num_types).count.cast(dtypes.int64)
        tiles = (count + (TILE - 1)) // TILE
        start, first = count.cumsum(0) - count, tiles.cumsum(0) - tiles
        tile = Tensor.arange((n + (TILE - 1)) // TILE + num_types, dtype=dtypes.int64)
        # The tile belongs to the last type that begins there or before, and has rows.
        self.kind = (tile.unsqueeze(1) >= tiles.cumsum(0)).sum(1).minimum(num_types - 1)
        inside = (tile - first.index_select(0, self.kind)).unsqueeze(1) * TILE + Tensor.arange(TILE, dtype=dtypes.int64)
        self.filled = inside < count.index_select(0, self.kind).unsqueeze(1)
        place = start.index_select(0, self.kind).unsqueeze(1) + inside
        self.row = order.index_select(0, self.filled.where(place, 0).reshape(-1)).reshape(-1, TILE)
        among = order.argsort() - start.index_select(0, kind)  # which of the rows of its type a row is
        self.place = first.index_select(0, kind) * TILE + among

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """x [N, F] times weight [num_types, F, O]: [N, O]."""
        if int(x.shape[0]) == 0:
            return x @ weight[0]
        rows = x.index_select(0, self.row.reshape(-1)).reshape(*self.row.shape, x.shape[1])
        rows = self.filled.unsqueeze(-1).where(rows, 0.0)
        return (rows @ weight.index_select(0, self.kind)).flatten(0, 1).index_select(0, self.place)


__all__ = ["TILE", "Types", "worth_sorting"]
