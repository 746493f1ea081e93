"""Storages: the attributes of a graph, of one type of nodes, or of one type of edges.

A storage is a dictionary whose entries are also attributes, and knows the object that it belongs to, whose class says how attributes are
joined. Names with a leading underscore are not entries.
"""

from __future__ import annotations

import copy
import warnings
import weakref
from collections import namedtuple
from collections.abc import Iterator, MutableMapping
from enum import Enum
from typing import Any, Callable

import numpy as np

from ...tensor import Tensor
from ._values import apply, counted, is_array, like, select, to_array

NODE_KEYS = ("x", "feat", "pos", "batch", "node_type", "n_id")  # entries that say how many nodes there are
EDGE_KEYS = ("edge_index", "edge_weight", "edge_attr", "edge_type", "e_id")
COUNTING_KEYS = {"num_nodes", "x", "pos", "batch", "adj", "adj_t", "edge_index", "face"}


class AttrType(Enum):
    """What an attribute has a value for."""

    NODE = "NODE"
    EDGE = "EDGE"
    OTHER = "OTHER"


class BaseStorage(MutableMapping):
    """A dictionary of attributes.

    >>> from polygrad.geometric.data.storage import BaseStorage
    >>> s = BaseStorage(a=1)
    >>> s.b = 2
    >>> s["a"], s.b, list(s)
    (1, 2, ['a', 'b'])
    """

    _mapping: dict[str, Any]

    def __init__(self, _mapping: dict[str, Any] | None = None, **kwargs: Any):
        self.__dict__["_mapping"] = {}
        for key, value in {**(_mapping or {}), **kwargs}.items():
            setattr(self, key, value)

    @property
    def _key(self) -> Any:
        return None

    @property
    def _owner(self) -> Any:
        parent = self.__dict__.get("_parent")
        owner = parent() if parent is not None else None
        if owner is None:
            raise RuntimeError("the graph that this storage belonged to is gone: keep the Data or HeteroData object itself")
        return owner

    def __len__(self) -> int:
        return len(self._mapping)

    def __getattr__(self, key: str) -> Any:
        if key in self.__dict__.get("_mapping", ()):
            return self._mapping[key]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}")

    def __setattr__(self, key: str, value: Any) -> None:
        setter = getattr(getattr(type(self), key, None), "fset", None)  # of a property of the user's own class
        if setter is not None:
            setter(self, value)
        elif key == "_parent":
            self.__dict__[key] = weakref.ref(value)
        elif key.startswith("_"):
            self.__dict__[key] = value
        else:
            self[key] = value

    def __delattr__(self, key: str) -> None:
        if key.startswith("_"):
            del self.__dict__[key]
        else:
            del self[key]

    def __getitem__(self, key: str) -> Any:
        return self._mapping[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if value is None:
            self._mapping.pop(key, None)
        else:
            self._mapping[key] = value

    def __delitem__(self, key: str) -> None:
        self._mapping.pop(key, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def __contains__(self, key: object) -> bool:
        return key in self._mapping

    def __copy__(self) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        out.__dict__["_mapping"] = dict(self._mapping)
        return out

    def __deepcopy__(self, memo: Any) -> Any:
        out = copy.copy(self)
        out.__dict__["_mapping"] = {key: counted(copy.deepcopy(value, memo), value) for key, value in self._mapping.items()}
        return out

    def __getstate__(self) -> dict[str, Any]:
        parent = self.__dict__.get("_parent")
        return {**self.__dict__, "_parent": parent() if parent is not None else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parent = state.pop("_parent", None)
        self.__dict__.update(state)
        if parent is not None:
            self._parent = parent

    def __repr__(self) -> str:
        return repr(self._mapping)

    # ---- some or all of the entries ----

    def keys(self, *args: str) -> Any:
        """Names of all entries, or those of the given names that there are."""
        return [k for k in args if k in self._mapping] if args else self._mapping.keys()

    def values(self, *args: str) -> Any:
        return [self._mapping[k] for k in self.keys(*args)] if args else self._mapping.values()

    def items(self, *args: str) -> Any:
        return [(k, self._mapping[k]) for k in self.keys(*args)] if args else self._mapping.items()

    def get(self, key: str, value: Any = None) -> Any:
        return self._mapping.get(key, value)

    def apply(self, func: Callable[[Tensor], Any], *args: str) -> Any:
        """Replaces every tensor, or those of the named entries, by func of it."""
        for key, value in list(self.items(*args)):
            self[key] = apply(value, func)
        return self

    def apply_(self, func: Callable[[Tensor], Any], *args: str) -> Any:
        """Calls func for every tensor; what it returns is dropped."""
        for value in self.values(*args):
            apply(value, func)
        return self

    def to_dict(self) -> dict[str, Any]:
        out = dict(self._mapping)
        if "_num_nodes" in self.__dict__:
            out["_num_nodes"] = self.__dict__["_num_nodes"]
        return out

    def to_namedtuple(self) -> Any:
        return namedtuple(f"{type(self).__name__}Tuple", list(self.keys()))(*self.values())  # type: ignore[misc]

    def clone(self, *args: str) -> Any:
        return copy.deepcopy(self)

    def to(self, device: Any, *args: str, non_blocking: bool = False) -> Any:
        return self.apply(lambda t: t.to(device), *args)

    def cpu(self, *args: str) -> Any:
        return self.to("CPU", *args)

    def cuda(self, device: Any = None, *args: str, non_blocking: bool = False) -> Any:
        return self.to("CUDA" if device is None else device, *args)

    def pin_memory(self, *args: str) -> Any:
        return self  # memory of the host is memory of the library

    def share_memory_(self, *args: str) -> Any:
        """Moves the tensors into memory that processes share, where their class can."""
        return self.apply(lambda t: getattr(t, "share_memory_", lambda: t)(), *args)

    def contiguous(self, *args: str) -> Any:
        return self.apply(lambda t: t.contiguous(), *args)

    def detach_(self, *args: str) -> Any:
        return self.apply(lambda t: t.detach_() if hasattr(t, "detach_") else t.detach(), *args)

    def detach(self, *args: str) -> Any:
        return self.apply(lambda t: t.detach(), *args)

    def requires_grad_(self, *args: str, requires_grad: bool = True) -> Any:
        return self.apply(lambda t: t.requires_grad_(requires_grad) if t.is_floating_point() else t, *args)

    # ---- how entries are joined and divided ----

    def _cat_dim(self, key: str, value: Any) -> Any:
        return self._owner.__cat_dim__(key, value, self)

    def _length(self, key: str, value: Any) -> Any:
        """Size along the axis on which the entry is joined."""
        return value.shape[self._cat_dim(key, value) or 0]

    def _choose(self, keys: list[str], index: np.ndarray) -> Any:
        for key in keys:
            self[key] = select(self[key], index, self._cat_dim(key, self[key]))
        return self

    def concat(self, other: BaseStorage) -> Any:
        """Joins the entries of another storage to these."""
        if set(self.keys()) != set(other.keys()):
            raise AttributeError(f"storages with the entries {sorted(self.keys())} and {sorted(other.keys())} cannot be joined")
        for key in list(self.keys()):
            a, b = self[key], other[key]
            if key in ("num_nodes", "num_edges") or isinstance(a, list):
                self[key] = a + b
            elif isinstance(a, Tensor):
                self[key] = a.cat(b, dim=self._cat_dim(key, a))
            elif isinstance(a, np.ndarray):
                self[key] = np.concatenate([a, b], axis=self._cat_dim(key, a))
            else:
                raise NotImplementedError(f"{key!r} is a {type(a).__name__}, which cannot be joined")
        return self

    # ---- time ----

    def is_sorted_by_time(self) -> bool:
        if "time" not in self:
            return True
        t = to_array(self["time"])
        return bool((t[:-1] <= t[1:]).all())

    def _attributes_beside(self, key: str) -> list[str]:
        return self.node_attrs() if self.is_node_attr(key) else self.edge_attrs() if self.is_edge_attr(key) else []

    def sort_by_time(self) -> Any:
        if not self.is_sorted_by_time():
            order = np.argsort(to_array(self["time"]), kind="stable")
            self._choose(self._attributes_beside("time"), order)
        return self

    def snapshot(self, start_time: float, end_time: float, attr: str = "time") -> Any:
        """Keeps what happened from start_time to end_time."""
        if attr in self:
            time = to_array(self[attr])
            keep = np.flatnonzero((time >= start_time) & (time <= end_time))
            of_nodes = self.is_node_attr(attr)
            self._choose(self._attributes_beside(attr), keep)
            if of_nodes and "num_nodes" in self:
                self["num_nodes"] = int(keep.size)
        return self

    def up_to(self, time: float) -> Any:
        return self.snapshot(to_array(self["time"]).min(), time) if "time" in self else self

    # ---- kinds of entries: a storage of graph-wide values has neither ----

    def is_node_attr(self, key: str) -> bool:
        return False

    def is_edge_attr(self, key: str) -> bool:
        return False

    @property
    def _cached_attr(self) -> dict[AttrType, set[str]]:
        """The names of attributes by what they have a value for."""
        out: dict[AttrType, set[str]] = {kind: set() for kind in AttrType}
        for key in self.keys():
            out[AttrType.NODE if self.is_node_attr(key) else AttrType.EDGE if self.is_edge_attr(key) else AttrType.OTHER].add(key)
        return out

    def node_attrs(self) -> list[str]:
        return [key for key in self.keys() if self.is_node_attr(key)]

    def edge_attrs(self) -> list[str]:
        return [key for key in self.keys() if self.is_edge_attr(key)]


class _Typed(BaseStorage):
    """A storage of one type."""

    @property
    def _key(self) -> Any:
        return self.__dict__["_type"]

    def __setattr__(self, key: str, value: Any) -> None:
        if key == "_key":
            key = "_type"
        super().__setattr__(key, value)

    def _has_length(self, key: str, count: Any) -> bool:
        """Is the entry one value for each of `count` things?"""
        value = self[key]
        if isinstance(value, (list, tuple)):
            return len(value) == count
        if not is_array(value) or value.ndim == 0:
            return False
        dim = self._cat_dim(key, value)
        return isinstance(dim, int) and value.shape[dim] == count


class NodeStorage(_Typed):
    """The attributes of one type of nodes."""

    @property
    def can_infer_num_nodes(self) -> bool:
        """Is there an entry that tells the number of nodes?"""
        return any(key in COUNTING_KEYS or "node" in key for key in self.keys())

    @property
    def num_nodes(self) -> Any:
        """Number of nodes: `num_nodes` if it is set, else the length of the node features, else the largest index + 1, with a warning."""
        if "num_nodes" in self._mapping:
            return self._mapping["num_nodes"]
        for key, value in self._mapping.items():
            if key in NODE_KEYS and is_array(value):
                return self._length(key, value)
        for key, value in self._mapping.items():
            if "node" in key and is_array(value) and value.ndim:
                return self._length(key, value)
        for key, dim in (("adj_t", 1), ("adj", 0)):
            if hasattr(self._mapping.get(key), "sparse_size"):
                return self._mapping[key].sparse_size(dim)
        if hasattr(self._mapping.get("edge_index"), "sparse_size"):  # indices that know of how many nodes they are
            told = next((n for n in map(self._mapping["edge_index"].sparse_size, (0, 1)) if n is not None), None)
            if told is not None:
                return told
        known = [self._mapping[key] for key in ("edge_index", "face") if is_array(self._mapping.get(key))]
        warnings.warn(
            f"Unable to accurately infer 'num_nodes': none of {list(self._mapping)} tells it. Set it as an attribute."
            + (" The largest index + 1 is taken." if known else ""),
            stacklevel=2,
        )
        for index in known:
            return int(to_array(index).max()) + 1 if to_array(index).size else 0
        return None

    @property
    def num_node_features(self) -> int:
        x = self.get("x")
        if isinstance(x, (list, tuple)):
            return 0
        return 0 if x is None else 1 if x.ndim == 1 else x.shape[-1]

    @property
    def num_features(self) -> int:
        return self.num_node_features

    def is_node_attr(self, key: str) -> bool:
        return key != "num_nodes" and self._has_length(key, self.num_nodes)


class EdgeStorage(_Typed):
    """The attributes of one type of edges, `edge_index` first of all."""

    @property
    def num_edges(self) -> Any:
        if "num_edges" in self._mapping:
            return self._mapping["num_edges"]
        for key, value in self._mapping.items():
            if key in EDGE_KEYS and is_array(value):
                return self._length(key, value)
        for key, value in self._mapping.items():
            if "edge" in key and is_array(value) and value.ndim:
                return self._length(key, value)
        for key in ("adj", "adj_t"):
            if hasattr(self._mapping.get(key), "nnz"):
                return self._mapping[key].nnz()
        return 0

    @property
    def num_edge_features(self) -> int:
        a = self.get("edge_attr")
        return 0 if a is None else 1 if a.ndim == 1 else a.shape[-1]

    @property
    def num_features(self) -> int:
        return self.num_edge_features

    def size(self, dim: int | None = None) -> Any:
        """Numbers of source and of destination nodes."""
        owner = self._owner
        size = (owner[self._key[0]].num_nodes, owner[self._key[-1]].num_nodes)
        return size if dim is None else size[dim]

    def is_edge_attr(self, key: str) -> bool:
        return key != "num_edges" and self._has_length(key, self.num_edges)

    # ---- host-side questions about the edges ----

    def _pairs(self) -> np.ndarray:
        return to_array(self["edge_index"]).astype(np.int64, copy=False)

    def _counts(self) -> tuple[int, int]:
        pairs = self._pairs()
        top = int(pairs.max()) + 1 if pairs.size else 0
        size = [top if s is None else int(s) for s in self.size()]
        return size[0], size[1]

    def _order(self, sort_by_row: bool) -> np.ndarray:
        row, col = self._pairs()
        return np.lexsort((col, row) if sort_by_row else (row, col))

    def is_sorted(self, sort_by_row: bool = True) -> bool:
        """Are the edges in the order of their sources (or destinations)?"""
        if "edge_index" not in self:
            return True
        key = self._pairs()[0 if sort_by_row else 1]
        return bool((key[:-1] <= key[1:]).all())

    def sort(self, sort_by_row: bool = True) -> Any:
        """Sorts the edges by source and destination (or the other way round), and what belongs to them."""
        if "edge_index" in self:
            self._choose(self.edge_attrs(), self._order(sort_by_row))
        return self

    def is_coalesced(self) -> bool:
        """Are the edges sorted, and none there twice?"""
        if "edge_index" not in self:
            return True
        row, col = self._pairs()
        return bool(((row[:-1] < row[1:]) | ((row[:-1] == row[1:]) & (col[:-1] < col[1:]))).all())

    def coalesce(self, reduce: str = "sum") -> Any:
        """Sorts the edges and joins equal ones; their `edge_attr` are reduced, other edge attributes keep the first one's."""
        if "edge_index" not in self:
            return self
        order = self._order(True)
        row, col = self._pairs()[:, order]
        first = np.ones(row.size, bool)
        first[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
        starts = np.flatnonzero(first)
        if starts.size == row.size:
            return self._choose(self.edge_attrs(), order)
        attribute = self.get("edge_attr")
        others = [key for key in self.edge_attrs() if key != "edge_attr"]
        self._choose(others, order[starts])
        if attribute is not None:
            kinds = {"sum": np.add, "add": np.add, "mean": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply}
            if reduce not in kinds:
                raise ValueError(f"reduce must be one of {', '.join(kinds)}, not {reduce!r}")
            values = kinds[reduce].reduceat(to_array(attribute)[order], starts, axis=0)
            if reduce == "mean":
                counts = np.diff(np.append(starts, row.size)).reshape(-1, *[1] * (values.ndim - 1))
                values = (values / counts).astype(values.dtype)
            self["edge_attr"] = like(values, attribute)
        return self

    def has_isolated_nodes(self) -> bool:
        """Is there a node without edges (but those to itself)?"""
        row, col = self._pairs()
        if self.is_bipartite():
            return bool(np.unique(col).size < self._counts()[1])
        proper = row != col
        return bool(np.unique(np.concatenate([row[proper], col[proper]])).size < self._counts()[0])

    def has_self_loops(self) -> bool:
        if self.is_bipartite() or "edge_index" not in self:
            return False
        row, col = self._pairs()
        return bool((row == col).any())

    def is_undirected(self) -> bool:
        """Is the opposite of every edge there too, with the same `edge_attr`?"""
        if self.is_bipartite():
            return False
        if "edge_index" not in self:
            return True
        row, col = self._pairs()
        there, back = np.lexsort((col, row)), np.lexsort((row, col))
        if not (np.array_equal(row[there], col[back]) and np.array_equal(col[there], row[back])):
            return False
        if "edge_attr" not in self:
            return True
        values = to_array(self["edge_attr"])
        return bool(np.array_equal(values[there], values[back], equal_nan=values.dtype.kind == "f"))

    def is_directed(self) -> bool:
        return not self.is_undirected()

    def is_bipartite(self) -> bool:
        return self._key is not None and self._key[0] != self._key[-1]


class GlobalStorage(NodeStorage, EdgeStorage):
    """The attributes of a graph with one type of nodes and edges."""

    @property
    def _key(self) -> Any:
        return None

    @property
    def num_features(self) -> int:
        return self.num_node_features

    def size(self, dim: int | None = None) -> Any:
        size = (self.num_nodes, self.num_nodes)
        return size if dim is None else size[dim]

    def _of_edges(self, key: str) -> bool:
        """Where there are as many nodes as edges: does the entry belong to the edges?"""
        return "edge" in key or key == "e_id"

    def is_node_attr(self, key: str) -> bool:
        if key in ("num_nodes", "num_edges", "edge_index") or not self._has_length(key, self.num_nodes):
            return False
        return self.num_nodes != self.num_edges or not self._of_edges(key)

    def is_edge_attr(self, key: str) -> bool:
        if key in ("num_nodes", "num_edges") or not self._has_length(key, self.num_edges):
            return False
        return self.num_nodes != self.num_edges or self._of_edges(key)


__all__ = ["AttrType", "BaseStorage", "EdgeStorage", "GlobalStorage", "NodeStorage"]
