"""TemporalData: a stream of events between nodes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ._values import is_array, positions, select, size_repr, to_array
from .data import BaseData, Join, _attribute, by_nodes
from .storage import GlobalStorage


class TemporalData(BaseData):
    """Events in the order of time: source `src`, destination `dst`, time `t` and message `msg`, one row an event, and other attributes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import TemporalData
    >>> events = TemporalData(src=Tensor([0, 1, 2]), dst=Tensor([3, 3, 4]), t=Tensor([5, 6, 8]), msg=Tensor.ones(3, 2))
    >>> events
    TemporalData(src=[3], dst=[3], t=[3], msg=[3, 2])
    >>> events[1:].t.tolist(), events.num_nodes, len(events)
    ([6, 8], 5, 3)
    """

    joins: ClassVar[dict[str, Join]] = {"src": Join(0, by_nodes), "dst": Join(0, by_nodes)}

    def __init__(self, src: Any = None, dst: Any = None, t: Any = None, msg: Any = None, **kwargs: Any):
        self.__dict__["_store"] = GlobalStorage(_parent=self)
        for key, value in {"src": src, "dst": dst, "t": t, "msg": msg, **kwargs}.items():
            if value is not None:
                setattr(self, key, value)

    src = _attribute("src", "Sources of the events.")
    dst = _attribute("dst", "Destinations of the events.")
    t = _attribute("t", "Times of the events.")
    msg = _attribute("msg", "Messages of the events.")

    @classmethod
    def from_dict(cls, mapping: Any) -> Any:
        return cls(**mapping)

    def __getattr__(self, key: str) -> Any:
        store = self.__dict__.get("_store")
        if store is None:
            raise AttributeError(key)
        return getattr(store, key)

    def __setattr__(self, key: str, value: Any) -> None:
        found = getattr(type(self), key, None)
        if isinstance(found, property) and found.fset is not None:
            found.fset(self, value)
        else:
            setattr(self._store, key, value)

    def __delattr__(self, key: str) -> None:
        delattr(self._store, key)

    def __getitem__(self, idx: Any) -> Any:
        """An attribute by name; the events of a number, a slice, a mask or a list."""
        return self._store[idx] if isinstance(idx, str) else self.index_select(idx)

    def __setitem__(self, key: str, value: Any) -> None:
        self._store[key] = value

    def __delitem__(self, key: str) -> None:
        del self._store[key]

    def index_select(self, idx: Any) -> Any:
        """Some of the events."""
        n = self.num_events
        if isinstance(idx, float):
            raise IndexError(
                f"Only strings, whole numbers, slices, lists, tuples and tensors of whole numbers or of bool are valid indices (got {idx!r})"
            )
        chosen = positions([idx] if isinstance(idx, (int, np.integer)) else idx, n, "index")
        out = copy.copy(self)
        for key, value in self._store.items():
            if (is_array(value) and value.ndim and value.shape[0] == n) or (isinstance(value, (list, tuple)) and len(value) == n):
                out._store[key] = select(value, chosen)
        return out

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.num_events))

    def __len__(self) -> int:
        return self.num_events

    def __call__(self, *args: str) -> Iterator[tuple[str, Any]]:
        return iter(list(self._store.items(*args)))

    def __copy__(self) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        out.__dict__["_store"] = copy.copy(self._store)
        out._store._parent = out
        return out

    def __deepcopy__(self, memo: Any) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update({key: copy.deepcopy(value, memo) for key, value in self.__dict__.items()})
        out._store._parent = out
        return out

    @property
    def stores(self) -> list[Any]:
        return [self._store]

    @property
    def node_stores(self) -> list[Any]:
        return [self._store]

    @property
    def edge_stores(self) -> list[Any]:
        return [self._store]

    def to_dict(self) -> dict[str, Any]:
        return self._store.to_dict()

    def to_namedtuple(self) -> Any:
        return self._store.to_namedtuple()

    @property
    def num_nodes(self) -> int:
        """The largest node + 1."""
        if "num_nodes" in self._store:
            return self._store["num_nodes"]
        return 1 + max((int(to_array(v).max()) for v in (self.src, self.dst) if v is not None and v.shape[0]), default=-1)

    @num_nodes.setter
    def num_nodes(self, value: int) -> None:
        self._store["num_nodes"] = value

    @property
    def num_events(self) -> int:
        return 0 if self.src is None else int(self.src.shape[0])

    @property
    def num_edges(self) -> int:
        return self.num_events

    @property
    def edge_index(self) -> Any:
        """Sources and destinations, [2, number of events]."""
        if "edge_index" in self._store:
            return self._store["edge_index"]
        if self.src is None or self.dst is None:
            raise ValueError("the graph does not contain 'edge_index': events without 'src' or 'dst' have none")
        return Tensor.stack(self.src, self.dst) if isinstance(self.src, Tensor) else np.stack([self.src, self.dst])

    def size(self, dim: int | None = None) -> Any:
        size = (int(to_array(self.src).max()), int(to_array(self.dst).max()))
        return size if dim is None else size[dim]

    def train_val_test_split(self, val_ratio: float = 0.15, test_ratio: float = 0.15) -> tuple[Any, Any, Any]:
        """The events divided by time: the last ones for the test, those before them for validation."""
        t = to_array(self.t)
        val_time, test_time = np.quantile(t, [1.0 - val_ratio - test_ratio, 1.0 - test_ratio])
        a, b = int((t <= val_time).sum()), int((t <= test_time).sum())
        return self[:a], self[a:b], self[b:]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(size_repr(k, v) for k, v in self._store.items())})"

    def _no(self) -> Any:
        raise NotImplementedError("not supported for events: make a Data of their edge_index")

    def coalesce(self) -> Any:
        return self._no()

    def has_isolated_nodes(self) -> bool:
        return self._no()

    def has_self_loops(self) -> bool:
        return self._no()

    def is_undirected(self) -> bool:
        return self._no()

    def is_directed(self) -> bool:
        return self._no()


__all__ = ["TemporalData"]
