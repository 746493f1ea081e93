"""Batch: several graphs as one big graph without edges between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ...tensor import Tensor
from ._sizes import size
from ._values import positions
from .collate import Pile, separate
from .data import Data

_PLAIN: dict[type, type] = {}


class Batch:
    """Graphs joined to one: `batch` tells the graph of every node, `ptr` where the nodes of each graph begin.

    A Batch is also a Data or a HeteroData, whatever it was made from. Node indices are raised by the nodes of the graphs before, other
    attributes are joined as they are; the class of the graphs says which are which (`Data.joins`, or `__inc__` and `__cat_dim__`).

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Batch, Data
    >>> a = Data(x=Tensor.ones(2, 1), edge_index=Tensor([[0, 1], [1, 0]]))
    >>> b = Data(x=Tensor.ones(3, 1), edge_index=Tensor([[0, 2], [1, 1]]))
    >>> batch = Batch.from_data_list([a, b])
    >>> batch
    DataBatch(x=[5, 1], edge_index=[2, 4], batch=[5], ptr=[3])
    >>> batch.edge_index.tolist(), batch.batch.tolist(), batch.num_graphs
    ([[0, 1, 2, 4], [1, 0, 3, 3]], [0, 0, 1, 1, 1], 2)
    >>> batch[1].edge_index.tolist()
    [[0, 2], [1, 1]]
    """

    _num_graphs: int
    _slice_dict: dict[Any, Any]
    _inc_dict: dict[Any, Any]

    def __new__(cls, *args: Any, _base_cls: type | None = None, **kwargs: Any) -> Any:
        return object.__new__(batch_class(_base_cls or Data) if cls is Batch else cls)

    @classmethod
    def from_data_list(cls, data_list: Sequence[Any], follow_batch: Sequence[str] | None = None, exclude_keys: Sequence[str] | None = None) -> Any:
        """Joins graphs. follow_batch: attributes that get vectors `<name>_batch` and `<name>_ptr` of their own."""
        pile = Pile.of(data_list, exclude=exclude_keys)
        return cls._of(pile, follow_batch, add_batch=not isinstance(data_list[0], Batch))

    @classmethod
    def _of(
        cls,
        pile: Pile,
        follow_batch: Sequence[str] | None = None,
        exclude_keys: Sequence[str] | None = None,
        add_batch: bool = True,
        symbolic: bool = False,
    ) -> Any:
        """The batch of a pile of graphs. symbolic: its sizes are variables."""
        made, slices, befores = pile.batch(batch_class(pile.cls), follow_batch or (), exclude_keys or (), add_batch, symbolic)
        count = size("graphs", pile.count, min(pile.count, 1)) if symbolic else pile.count  # the size that the pooled values of a batch have
        made._num_graphs, made._slice_dict, made._inc_dict = count, slices, befores
        return made

    def get_example(self, idx: int) -> Any:
        """Graph number idx, with the values that the batch has now."""
        hidden = self._hidden()
        if "_slice_dict" not in hidden:
            raise RuntimeError("this batch was not created via 'Batch.from_data_list', so it cannot be taken apart")
        n = self.num_graphs
        if not -n <= idx < n:
            raise IndexError(f"graph {idx} of a batch of {n}")
        return separate(self, int(idx) % n, hidden["_slice_dict"], hidden["_inc_dict"], base_class(type(self)))

    def index_select(self, idx: Any) -> list[Any]:
        """The graphs of a slice, a mask or a list of numbers."""
        return [self.get_example(int(k)) for k in positions(idx, self.num_graphs, "index", short=True)]

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, (int, np.integer)) or (isinstance(idx, (Tensor, np.ndarray)) and idx.ndim == 0):
            return self.get_example(int(idx))
        if isinstance(idx, str) or (isinstance(idx, tuple) and idx and isinstance(idx[0], str)):
            return super().__getitem__(idx)  # type: ignore[misc]
        return self.index_select(idx)

    def to_data_list(self) -> list[Any]:
        """The graphs again, as a list."""
        return [self.get_example(k) for k in range(self.num_graphs)]

    def _hidden(self) -> dict[str, Any]:
        return self.stores[0].__dict__  # type: ignore[attr-defined]

    @property
    def num_graphs(self) -> int:
        """Number of graphs."""
        count = self._hidden().get("_num_graphs")
        if count is not None:
            return count
        store = self.stores[0]  # type: ignore[attr-defined]
        if "ptr" in store:
            return int(store["ptr"].shape[0]) - 1
        if "batch" in store:
            return int(store["batch"].max().item()) + 1
        raise ValueError("neither 'ptr' nor 'batch' is there to tell the number of graphs")

    @property
    def batch_size(self) -> int:
        return self.num_graphs

    def __len__(self) -> int:
        return self.num_graphs

    def __reduce__(self) -> Any:
        return _rebuild, (base_class(type(self)),), self.__dict__


@cache
def batch_class(base: type) -> type:
    """The class of batches of graphs of class `base`."""
    if issubclass(base, Batch):
        return base
    made = type(f"{base.__name__}Batch", (Batch, base), {"__doc__": f"A batch of {base.__name__}.", "__module__": __name__})
    made.__init__ = _maker(base)  # type: ignore[misc]
    _PLAIN[made] = base
    return made


def _maker(base: Any) -> Any:
    """The constructor of batches of `base`: without arguments they are made empty, even if graphs of that class want some."""
    here = __name__.rpartition(".")[0] + "."
    plain: Any = next((known for known in base.__mro__ if known.__module__.startswith(here)), base)

    def init(self: Any, *args: Any, _base_cls: type | None = None, **kwargs: Any) -> None:
        (base if args or kwargs else plain).__init__(self, *args, **kwargs)

    return init


def base_class(cls: type) -> type:
    """The class of the graphs of a class of batches."""
    return _PLAIN.get(cls, Data)


def _rebuild(base: type) -> Any:
    return object.__new__(batch_class(base))


__all__ = ["Batch", "batch_class"]
