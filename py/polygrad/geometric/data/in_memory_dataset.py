"""InMemoryDataset: all graphs joined in memory, and in one safetensors file."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Sequence
from typing import Any, Callable

import numpy as np

from ...autograd import current, making
from ...tensor import Tensor
from ..edge_index import EdgeIndex, Index
from ..sparse_tensor import SparseTensor
from ._there import there
from ._values import kind_in, to_array
from .collate import Column, Indices, Matrices, Part, Pile, both_axes, separate_value, store_of
from .data import BaseData, Data, by_nodes
from .dataset import Dataset, count_classes
from .hetero_data import HeteroData, by_sizes
from .storage import NODE_KEYS, EdgeStorage, NodeStorage


class InMemoryDataset(Dataset):
    """A dataset that is kept in memory, its graphs joined into one object (`data`) with the places where each begins (`slices`).

    A subclass calls `self.save(list_of_graphs, self.processed_paths[0])` in `process`, and `self.load(self.processed_paths[0])` at the end of
    its constructor.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, InMemoryDataset
    >>> class Two(InMemoryDataset):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.data, self.slices = self.collate([Data(x=Tensor.ones(2, 1)), Data(x=Tensor.ones(3, 1))])
    >>> [data.num_nodes for data in Two()]
    [2, 3]
    """

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[..., Any] | None = None,
        pre_transform: Callable[..., Any] | None = None,
        pre_filter: Callable[..., Any] | None = None,
        log: bool = True,
        force_reload: bool = False,
    ):
        self._data: Any = self.__dict__.get("_data")  # what a subclass has set for its process() stays
        self._slices: Any = None
        self._joined: Pile | None = None
        self._data_list: list[Any] | None = None
        super().__init__(root, transform, pre_transform, pre_filter, log, force_reload)

    @property
    def data(self) -> Any:
        """All graphs joined, indices as they are in each graph; dataset._data is the same without a warning."""
        warnings.warn("'data' is the internal storage format of all graphs joined: it is not recommended to access it; use dataset[i]", stacklevel=2)
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        self._data, self._joined, self._data_list = value, None, None

    @property
    def slices(self) -> Any:
        """Where each graph begins, by attribute; None for a single graph."""
        return self._slices

    @slices.setter
    def slices(self, value: Any) -> None:
        self._slices, self._joined, self._data_list = value, None, None

    @property
    def num_classes(self) -> int:
        if self.transform is None and self._data is not None:
            return count_classes(_targets(self._data))
        return super().num_classes

    def len(self) -> int:
        if self._slices is None:
            return 0 if self._data is None else 1
        first = next(_leaves(self._slices), None)
        return 0 if first is None else len(first) - 1

    def get(self, idx: int) -> Any:
        if self._slices is None:
            return copy.copy(self._data)
        if self._data_list is None:
            self._data_list = [None] * self.len()
        found = self._data_list[idx]
        if found is None:
            found = self._data_list[idx] = self._pile().get(int(idx))
        return copy.copy(found)

    def _pile(self) -> Pile:
        """All graphs, ready to be chosen from."""
        if self._joined is None:
            self._joined = Pile.of([self._data]) if self._slices is None else pile_of(self._data, self._slices)
        return self._joined

    def __getattr__(self, key: str) -> Any:
        data = self.__dict__.get("_data")
        if not key.startswith("_") and isinstance(data, Data) and key in data:
            if self._indices is None and data._join(key, data[key]) is None:
                return data[key]
            from .batch import Batch

            return Batch._of(self._pile().take(np.asarray(self.indices(), np.int64)))[key]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}")

    @staticmethod
    def collate(data_list: Sequence[BaseData]) -> tuple[Any, Any]:
        """Graphs joined into one object, and the slices by which they are taken apart; None for the slices of a single one."""
        if len(data_list) == 1:
            return data_list[0], None
        pile = Pile.of(data_list, increment=False)
        data, slices, _ = pile.batch(pile.cls, add_batch=False, increment=False)
        return data, slices

    @classmethod
    def save(cls, data_list: Sequence[BaseData], path: Any) -> None:
        """Writes graphs to a file."""
        from .files import save_collated

        save_collated(*cls.collate(data_list), path)

    def load(self, path: Any, data_cls: type = Data) -> None:
        """Reads the graphs of a file that `save` wrote."""
        from .files import load_collated

        data, slices, _ = load_collated(path, data_cls)
        check_slices(data, slices, path)
        self._set(data, slices)

    def _set(self, data: Any, slices: Any) -> None:
        self._data, self._slices, self._joined, self._data_list = data, slices, None, None

    def copy(self, idx: Any = None) -> Any:
        """A dataset of its own, of all graphs or of those that idx chooses."""
        part = self if idx is None else self.index_select(idx)
        out = copy.copy(self)
        out._indices = None
        out._set(*self.collate([copy.deepcopy(self.get(k)) for k in part.indices()]))
        return out

    def to_on_disk_dataset(self, root: str | None = None, backend: str = "sqlite", log: bool = True) -> Any:
        """The graphs in a database under root, by default in a folder of this dataset's, from which they are read one by one."""
        from .database import OnDiskDataset

        if root is None and (self.root is None or not os.path.exists(self.root)):
            raise ValueError(f"The root directory of {type(self).__name__!r} is not there: a dataset on disk needs 'root'")
        folder = os.path.join(str(self.root), "on_disk") if root is None else root
        made: Any = type(f"OnDisk{type(self).__name__}", (OnDiskDataset,), {"__doc__": f"The graphs of {type(self).__name__} on disk."})
        with making(kind_in(self._data) or current().made):
            out = made(folder, transform=self.transform, backend=backend, log=log)
        if out.len() == 0:
            out.extend([self.get(k) for k in self.indices()])
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_joined": None, "_data_list": None}


def _targets(data: Any) -> Any:
    if isinstance(data, HeteroData):
        found = [store["y"] for store in data.node_stores if "y" in store]
        if len(found) > 1:
            raise AttributeError(f"several node types have targets 'y': {[s._key for s in data.node_stores if 'y' in s]}")
        return found[0] if found else None
    return data.get("y") if hasattr(data, "get") else data.stores[0].get("y")


def _leaves(slices: Any) -> Any:
    if isinstance(slices, dict):
        for value in slices.values():
            yield from _leaves(value)
    elif isinstance(slices, list):
        for value in slices:
            yield from _leaves(value)
    elif slices is not None:
        yield slices


def _table(data: Any, slices: Any, key: Any) -> dict[str, Any]:
    if key is not None:
        return slices.get(key, {})
    top = slices.get(None, slices)
    return {k: v for k, v in top.items() if isinstance(k, str) and k in data.stores[0]}


def check_slices(data: Any, slices: Any, path: Any) -> None:
    """An error if the slices of a file do not fit what it holds."""
    if slices is None:
        return
    leaves = list(_leaves(slices)) if isinstance(slices, dict) else []
    whole = all(isinstance(s, np.ndarray) and s.ndim == 1 and s.size for s in leaves)
    if not whole or len({len(s) for s in leaves}) != 1:
        raise ValueError(f"{path}: the slices of its graphs are damaged")
    for store in data.stores:
        for key, ptr in _table(data, slices, store._key).items():
            if not isinstance(ptr, np.ndarray) or key not in store:
                continue
            value = store[key]
            size = len(value) if isinstance(value, list) else value.shape[data.__cat_dim__(key, value, store) or 0] if value.ndim else 0
            if ptr.dtype.kind not in "iu" or ptr[0] != 0 or ptr[-1] != size or (np.diff(ptr) < 0).any():
                raise ValueError(f"{path}: the slices of {key!r} do not fit its {size} rows")


def _column(data: Any, store: Any, key: str, value: Any, ptr: Any) -> Column:
    if isinstance(value, dict):
        return Column({k: _column(data, store, k, v, ptr[k]) for k, v in value.items()})
    if isinstance(ptr, list):
        return Column([_column(data, store, key, v, p) for v, p in zip(value, ptr)])
    if isinstance(value, list) and value and isinstance(value[0], SparseTensor):
        return Matrices(value, both_axes(data.__cat_dim__(key, value[0], store)))
    if not isinstance(value, (Tensor, np.ndarray)):
        return Column(list(value))
    if isinstance(value, (EdgeIndex, Index)) and value._cat_metadata is not None:
        return Indices([separate_value(key, value, k, ptr, None, data, store) for k in range(len(ptr) - 1)], value.ndim - 1, None)
    dim = data.__cat_dim__(key, value, store)
    if there(value):
        values: Any = value
    else:
        values = value._data if isinstance(value, Tensor) and value.is_realized and value.numel() else to_array(value)
    return Column(values, np.asarray(to_array(ptr), np.int64), 0 if dim is None else dim % value.ndim, None, dim is None)


def _counts(columns: dict[str, Column], store: Any, count: int) -> np.ndarray | None:
    """Nodes of each graph, if an attribute tells."""
    given = store.__dict__.get("_num_nodes")
    if given is not None:
        return np.asarray(given, np.int64)
    names = [k for k in columns if k in NODE_KEYS] + [k for k in columns if "node" in k and "index" not in k]
    for name in names:
        ptr = columns[name].ptr
        if ptr is not None:
            return np.diff(ptr)
    return None


def pile_of(data: Any, slices: Any) -> Pile:
    """A pile from joined graphs and their slices. Increments that follow from numbers of nodes are found without making the graphs."""
    count = len(next(_leaves(slices))) - 1
    parts = []
    arrays = set()
    for store in data.stores:
        table = _table(data, slices, store._key)
        columns = {key: _column(data, store, key, store[key], ptr) for key, ptr in table.items() if key in store}
        arrays |= {(store._key, key) for key in columns if isinstance(store[key], np.ndarray)}
        known = isinstance(store, NodeStorage)
        parts.append(Part(store._key, columns, _counts(columns, store, count) if known else None, "_num_nodes" in store.__dict__))
    pile = Pile(type(data), count, parts, frozenset(arrays), kind_in(data))
    if not _simple_increments(data, parts):
        return Pile.of([pile.get(k) for k in range(count)])
    return pile


def _simple_increments(data: Any, parts: list[Part]) -> bool:
    """Sets the increments of columns by numbers of nodes; False if that does not give all of them."""
    own = type(data).__inc__
    if own not in (Data.__inc__, HeteroData.__inc__):
        return False
    counts = {part.key: part.counts for part in parts}
    for part in parts:
        store = store_of(data, part.key)
        if isinstance(store, NodeStorage) and part.counts is None and store.can_infer_num_nodes:
            return False
        for key, col in part.columns.items():
            rule = data._join(key, store[key], store)
            if col.ptr is None:
                if isinstance(col, Indices) or isinstance(col.values, dict) or (col.values and isinstance(col.values[0], Column)):
                    return False  # nested values and indices that know their sizes: rare, and their names may be declared too
                continue
            if rule is None or rule.inc is None:
                continue
            if rule.inc is by_nodes and part.counts is not None:
                col.incs = part.counts
            elif rule.inc is by_sizes:
                if not isinstance(store, EdgeStorage):
                    continue
                sources, targets = counts.get(part.key[0]), counts.get(part.key[2])
                if sources is None or targets is None:
                    return False
                col.incs = np.stack([sources, targets], axis=1)[:, :, None]
            else:
                return False
    return True


__all__ = ["InMemoryDataset"]
