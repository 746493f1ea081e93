"""Joining graphs and taking one out again, as torch_geometric.data.collate and torch_geometric.data.separate are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..geometric.data.collate import Pile
from ..geometric.data.collate import separate as _separate
from ..torch._surface import made_here


@made_here
def collate(
    cls: type, data_list: Sequence[Any], increment: bool = True, add_batch: bool = True, follow_batch: Iterable[str] | None = None,
    exclude_keys: Iterable[str] | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Graphs as one object of class cls, where each of its values is cut to give them again, and by what indices were raised.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.data import Data
    >>> from polygrad.torch_geometric.data.collate import collate
    >>> data, slices, _ = collate(Data, [Data(x=torch.ones(2)), Data(x=torch.zeros(1))], add_batch=False)
    >>> data.x.tolist(), slices["x"].tolist()
    ([1.0, 1.0, 0.0], [0, 2, 3])
    """
    pile = Pile.of(data_list, increment=increment, exclude=list(exclude_keys or ()))
    return pile.batch(cls, list(follow_batch or ()), (), add_batch, increment=increment)


@made_here
def separate(cls: type, batch: Any, idx: int, slice_dict: Any, inc_dict: Any = None, decrement: bool = True) -> Any:
    """Graph idx of what collate has joined. decrement: its indices are lowered by what they were raised by.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch_geometric.data import Data
    >>> from polygrad.torch_geometric.data.collate import collate
    >>> from polygrad.torch_geometric.data.separate import separate
    >>> data, slices, incs = collate(Data, [Data(x=torch.ones(2)), Data(x=torch.zeros(1))], add_batch=False)
    >>> separate(Data, data, 1, slices, incs).x.tolist()
    [0.0]
    """
    return _separate(batch, int(idx), slice_dict, (inc_dict or {}) if decrement else {}, cls)


__all__ = ["collate", "separate"]
