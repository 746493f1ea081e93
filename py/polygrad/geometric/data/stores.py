"""FeatureStore and GraphStore: what a source of features and edges must offer, wherever it keeps them; and attributes that name a part of it."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tensor import Tensor
from .._moved import like as _like
from ._values import like, select, to_array


class _FieldStatus(Enum):
    UNSET = None


UNSET = _FieldStatus.UNSET
_field_status = _FieldStatus  # a name that scripts know the class by


def _cast(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An attribute as it is, or one out of a tuple, a dictionary or arguments."""
    if len(args) == 1 and not kwargs:
        if isinstance(args[0], cls):
            return args[0]
        if isinstance(args[0], dict):
            return cls(**args[0])
        if isinstance(args[0], tuple):
            return cls(*args[0])
    return cls(*args, **kwargs)


@dataclass
class TensorAttr:
    """Names a tensor of a FeatureStore: the group (a node type), the attribute, and the rows that are meant (None for all).

    >>> from polygrad.geometric.data import TensorAttr
    >>> attr = TensorAttr("paper", "x")
    >>> attr.group_name, attr.attr_name, attr.is_set("index")
    ('paper', 'x', False)
    """

    group_name: Any = UNSET
    attr_name: Any = UNSET
    index: Any = UNSET

    def is_set(self, key: str) -> bool:
        return getattr(self, key) is not UNSET

    def is_fully_specified(self) -> bool:
        return all(self.is_set(key) for key in self.__dataclass_fields__)

    def fully_specify(self) -> TensorAttr:
        """With None for what is not set."""
        for key in self.__dataclass_fields__:
            if not self.is_set(key):
                setattr(self, key, None)
        return self

    def update(self, attr: TensorAttr) -> TensorAttr:
        """Takes what is set in attr."""
        for key in self.__dataclass_fields__:
            if attr.is_set(key):
                setattr(self, key, getattr(attr, key))
        return self


class AttrView:
    """A part of a FeatureStore that is still to be named in full: store["paper"]["x"][:10], store["paper"].x.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import MemoryFeatureStore
    >>> store = MemoryFeatureStore()
    >>> store["paper", "x", None] = Tensor([[1.0], [2.0], [3.0]])
    >>> store["paper"].x[:2].tolist()
    [[1.0], [2.0]]
    """

    def __init__(self, store: TensorMethods, attr: TensorAttr):
        self.__dict__.update({"_store": store, "_attr": attr})

    def _next(self, value: Any) -> Any:
        attr = copy.copy(self._attr)
        missing = next((key for key in attr.__dataclass_fields__ if not attr.is_set(key)), None)
        if missing is None:
            raise KeyError(f"{attr} is named in full already")
        setattr(attr, missing, None if isinstance(value, slice) and value == slice(None) else value)
        return self._store.get_tensor(attr) if attr.is_fully_specified() else AttrView(self._store, attr)

    def __getitem__(self, key: Any) -> Any:
        return self._next(key)

    def __getattr__(self, key: str) -> Any:
        if key.startswith("__"):
            raise AttributeError(key)
        if self._attr.is_fully_specified():
            raise AttributeError(f"{key!r} of {self._attr}, which is named in full already")
        return self._next(key)

    def __setattr__(self, key: str, value: Any) -> None:
        """Names a part: view.attr_name = "x"."""
        if key not in self._attr.__dataclass_fields__:
            raise ValueError(f"there is no part {key!r} of {self._attr}")
        setattr(self._attr, key, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Names a part (view["index"] = rows), or puts the tensor of the next one (view["x"] = tensor)."""
        if isinstance(key, str) and key in self._attr.__dataclass_fields__:
            return setattr(self, key, value)
        attr = copy.copy(self._attr)
        missing = next((k for k in attr.__dataclass_fields__ if not attr.is_set(k)), None)
        if missing is not None:
            setattr(attr, missing, key)
        self._store.put_tensor(value, attr.fully_specify())

    def __call__(self) -> Any:
        """The tensor, with None for what is not named."""
        return self._store.get_tensor(copy.copy(self._attr).fully_specify())

    def __eq__(self, other: object) -> bool:
        keys = self._attr.__dataclass_fields__.keys()
        if not isinstance(other, AttrView) or self._store is not other._store or keys != other._attr.__dataclass_fields__.keys():
            return False
        return all(_same(getattr(self._attr, key), getattr(other._attr, key)) for key in keys)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"AttrView(store={self._store}, attr={self._attr})"


def _same(a: Any, b: Any) -> bool:
    """Are two parts of a name equal? Rows are, if their numbers are."""
    if isinstance(a, (Tensor, np.ndarray)) or isinstance(b, (Tensor, np.ndarray)):
        return a is b or (type(a) is type(b) and np.array_equal(to_array(a), to_array(b)))
    return bool(a == b)


class TensorMethods:
    """What a source of tensors by name offers, on the five methods with a leading underscore or `get_all_tensor_attrs` of its class."""

    def __init__(self, tensor_attr_cls: Any = None):
        self.__dict__["_tensor_attr_cls"] = tensor_attr_cls or TensorAttr

    def _attr_of(self, args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool = True) -> Any:
        attr = _cast(self.__dict__.get("_tensor_attr_cls", TensorAttr), args, kwargs)
        if whole and not attr.is_fully_specified():
            raise ValueError(f"{attr} is not fully specified: it does not name a tensor")
        return attr

    if TYPE_CHECKING:

        def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool: ...

        def _get_tensor(self, attr: TensorAttr) -> Any: ...

        def _remove_tensor(self, attr: TensorAttr) -> bool: ...

        def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None: ...

        def get_all_tensor_attrs(self) -> list[TensorAttr]: ...

    def put_tensor(self, tensor: Any, *args: Any, **kwargs: Any) -> bool:
        """Stores a tensor."""
        return self._put_tensor(tensor, self._attr_of(args, kwargs))

    def get_tensor(self, *args: Any, convert_type: bool = False, **kwargs: Any) -> Any:
        """A tensor, or the rows of it that the attribute names. KeyError if there is none."""
        attr = self._attr_of(args, kwargs)
        found = self._get_tensor(attr)
        if found is None:
            raise KeyError(f"there is no tensor for {attr}")
        return found

    def multi_get_tensor(self, attrs: list[Any], convert_type: bool = False) -> list[Any]:
        return [self.get_tensor(attr) for attr in attrs]

    def remove_tensor(self, *args: Any, **kwargs: Any) -> bool:
        return self._remove_tensor(self._attr_of(args, kwargs))

    def update_tensor(self, tensor: Any, *args: Any, **kwargs: Any) -> bool:
        attr = self._attr_of(args, kwargs)
        self.remove_tensor(attr)
        return self.put_tensor(tensor, attr)

    def get_tensor_size(self, *args: Any, **kwargs: Any) -> tuple[int, ...] | None:
        attr = self._attr_of(args, kwargs, whole=False)
        if not attr.is_set("index"):
            attr.index = None
        return self._get_tensor_size(attr)

    def view(self, *args: Any, **kwargs: Any) -> AttrView:
        return AttrView(self, self._attr_of(args, kwargs, whole=False))


class FeatureStore(TensorMethods, ABC):
    """A source of tensors by name. A subclass says how one is put, got, removed and measured.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import FeatureStore, MemoryFeatureStore
    >>> store = MemoryFeatureStore()
    >>> store["paper", "x", None] = Tensor([[1.0], [2.0]])
    >>> isinstance(store, FeatureStore), store["paper", "x", None].tolist()
    (True, [[1.0], [2.0]])
    """

    @abstractmethod
    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool: ...

    @abstractmethod
    def _get_tensor(self, attr: TensorAttr) -> Any: ...

    @abstractmethod
    def _remove_tensor(self, attr: TensorAttr) -> bool: ...

    @abstractmethod
    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None: ...

    @abstractmethod
    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """The names of all tensors."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put_tensor(value, copy.copy(self._attr_of((key,), {}, whole=False)).fully_specify())

    def __getitem__(self, key: Any) -> Any:
        attr = self._attr_of((key,), {}, whole=False)
        return self.get_tensor(attr) if attr.is_fully_specified() else AttrView(self, attr)

    def __delitem__(self, key: Any) -> None:
        self.remove_tensor(copy.copy(self._attr_of((key,), {}, whole=False)).fully_specify())

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("a store is read by names: see get_all_tensor_attrs")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class EdgeLayout(Enum):
    """How edges are stored: as pairs, or as pointers and neighbours of rows or of columns.

    >>> from polygrad.geometric.data import EdgeLayout
    >>> [layout.value for layout in EdgeLayout]
    ['coo', 'csc', 'csr']
    """

    COO = "coo"
    CSC = "csc"
    CSR = "csr"


@dataclass
class EdgeAttr:
    """Names edges of a GraphStore: their type, their layout, whether they are sorted by column, and the numbers of nodes at both ends.

    >>> from polygrad.geometric.data import EdgeAttr
    >>> EdgeAttr(("paper", "cites", "paper"), layout="coo", size=(4, 4)).layout.value
    'coo'
    """

    edge_type: Any
    layout: Any
    is_sorted: bool = False
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self.layout = EdgeLayout(getattr(self.layout, "value", self.layout))
        self.is_sorted = self.is_sorted or self.layout is EdgeLayout.CSC


# Of layouts that edges are stored in, which one is converted first.
_DETOURS = (EdgeLayout.COO, EdgeLayout.CSC, EdgeLayout.CSR)


class UnknownEdgeType(KeyError, ValueError):
    """A store has no edges of a type."""


class EdgeMethods:
    """What a source of edges by type and layout offers, on the methods with a leading underscore or `get_all_edge_attrs` of its class."""

    def __init__(self, edge_attr_cls: Any = None):
        self.__dict__["_edge_attr_cls"] = edge_attr_cls or EdgeAttr

    def _edges_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _cast(self.__dict__.get("_edge_attr_cls", EdgeAttr), args, kwargs)

    if TYPE_CHECKING:

        def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool: ...

        def _get_edge_index(self, edge_attr: EdgeAttr) -> Any: ...

        def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool: ...

        def get_all_edge_attrs(self) -> list[EdgeAttr]: ...

    def put_edge_index(self, edge_index: Any, *args: Any, **kwargs: Any) -> bool:
        """Stores edges: (row, col), (row, colptr) or (rowptr, col), by the layout."""
        return self._put_edge_index(edge_index, self._edges_of(args, kwargs))

    def get_edge_index(self, *args: Any, **kwargs: Any) -> Any:
        """Edges in the layout in which they were put. KeyError if there are none."""
        attr = self._edges_of(args, kwargs)
        found = self._get_edge_index(attr)
        if found is None:
            raise KeyError(f"edges not found for {attr}")
        return found

    def remove_edge_index(self, *args: Any, **kwargs: Any) -> bool:
        return self._remove_edge_index(self._edges_of(args, kwargs))

    # ---- layouts ----

    def _all(self, layout: EdgeLayout, edge_types: list[Any] | None, store: bool) -> Any:
        """The edges of each type in a layout; those of a store without types alone."""
        by_type: dict[Any, list[EdgeAttr]] = defaultdict(list)
        for attr in self.get_all_edge_attrs():
            by_type[attr.edge_type].append(attr)
        first, second, perm = {}, {}, {}
        for kind in by_type if edge_types is None else edge_types:
            if kind not in by_type:
                raise UnknownEdgeType(f"the edges of type {kind!r} were not found in the graph store, which has {list(by_type)}")
            attr = min(by_type[kind], key=lambda a: _DETOURS.index(a.layout) if a.layout is not layout else -1)
            first[kind], second[kind], perm[kind] = found = _to_layout(self.get_edge_index(attr), attr, layout)
            if store and attr.layout is not layout:
                self.put_edge_index(found[:2], replace(attr, layout=layout, is_sorted=attr.is_sorted and perm[kind] is None))
        if list(first) == [None]:
            return first[None], second[None], perm[None]
        return first, second, perm

    def coo(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """(row, col, perm), by type where edges have types. store: what had to be converted is put in this layout, too."""
        return self._all(EdgeLayout.COO, edge_types, store)

    def csr(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """(rowptr, col, perm), by type where edges have types; perm is the order of the stored edges, None where they lie so."""
        return self._all(EdgeLayout.CSR, edge_types, store)

    def csc(self, edge_types: list[Any] | None = None, store: bool = False) -> Any:
        """(row, colptr, perm), by type where edges have types."""
        return self._all(EdgeLayout.CSC, edge_types, store)


class GraphStore(EdgeMethods, ABC):
    """A source of edges by type and layout. A subclass says how they are put, got and removed.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import GraphStore, MemoryGraphStore
    >>> store = MemoryGraphStore()
    >>> store[("a", "to", "b"), "coo", False, (2, 3)] = Tensor([[0, 1], [2, 0]])
    >>> isinstance(store, GraphStore), [attr.size for attr in store.get_all_edge_attrs()]
    (True, [(2, 3)])
    """

    @abstractmethod
    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool: ...

    @abstractmethod
    def _get_edge_index(self, edge_attr: EdgeAttr) -> Any: ...

    @abstractmethod
    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool: ...

    @abstractmethod
    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """The types and layouts of all edges."""

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put_edge_index(value, self._edges_of((key,), {}))

    def __getitem__(self, key: Any) -> Any:
        return self.get_edge_index(self._edges_of((key,), {}))

    def __delitem__(self, key: Any) -> None:
        self.remove_edge_index(self._edges_of((key,), {}))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _spread(ptr: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(ptr.size - 1), np.diff(ptr))


def _to_layout(edges: Any, attr: EdgeAttr, layout: EdgeLayout) -> tuple[Tensor, Tensor, Tensor | None]:
    """Stored edges in another layout, in tensors of the class that they are stored in."""
    if attr.layout is layout:
        return edges[0], edges[1], None
    a, b = (to_array(v) for v in edges)
    row, col = (_spread(a), b) if attr.layout is EdgeLayout.CSR else (a, _spread(b)) if attr.layout is EdgeLayout.CSC else (a, b)
    if layout is EdgeLayout.COO:
        return _like(row, *edges), _like(col, *edges), None
    major = row if layout is EdgeLayout.CSR else col
    known = attr.size[0 if layout is EdgeLayout.CSR else 1] if attr.size is not None else None
    n = int(major.max(initial=-1)) + 1 if known is None else int(known)
    order = None if layout is EdgeLayout.CSC and attr.is_sorted else np.argsort(major, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(np.bincount(major, minlength=n))]).astype(np.int64)
    row, col = (row, col) if order is None else (row[order], col[order])
    pair = (ptr, col) if layout is EdgeLayout.CSR else (row, ptr)
    return _like(pair[0], *edges), _like(pair[1], *edges), None if order is None else _like(order, *edges)


class MemoryFeatureStore(FeatureStore):
    """Tensors in a dictionary.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import MemoryFeatureStore
    >>> store = MemoryFeatureStore()
    >>> store["paper", "x", None] = Tensor([[1.0], [2.0], [3.0]])
    >>> store["paper", "x", Tensor([2, 0])].tolist(), store.get_tensor_size(group_name="paper", attr_name="x")
    ([[3.0], [1.0]], (3, 1))
    """

    _tensors: dict[tuple[Any, Any], Any]

    def __init__(self, tensor_attr_cls: Any = None):
        super().__init__(tensor_attr_cls)
        self.__dict__["_tensors"] = {}

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        key = (attr.group_name, attr.attr_name)
        if attr.index is None:
            self._tensors[key] = tensor
            return True
        values = to_array(tensor)
        if key not in self._tensors and isinstance(attr.index, slice):
            return False
        at: Any = attr.index if isinstance(attr.index, slice) else to_array(attr.index)
        # Rows of a tensor that is not there yet make one, with zeros in the other rows.
        whole = (
            to_array(self._tensors[key]).copy() if key in self._tensors else np.zeros((int(at.max(initial=-1)) + 1, *values.shape[1:]), values.dtype)
        )
        whole[at] = values
        self._tensors[key] = like(whole, tensor if isinstance(tensor, Tensor) else self._tensors.get(key, tensor))
        return True

    def _get_tensor(self, attr: TensorAttr) -> Any:
        found = self._tensors.get((attr.group_name, attr.attr_name))
        if found is None or attr.index is None:
            return found
        if isinstance(attr.index, slice):
            return found[attr.index]
        return select(found, np.atleast_1d(to_array(attr.index)))

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        return self._tensors.pop((attr.group_name, attr.attr_name), None) is not None

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None:
        found = self._get_tensor(attr)
        return None if found is None else tuple(int(s) for s in found.shape)

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        return [TensorAttr(group, name) for group, name in self._tensors]


class MemoryGraphStore(GraphStore):
    """Edges in a dictionary.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import MemoryGraphStore
    >>> store = MemoryGraphStore()
    >>> _ = store.put_edge_index(Tensor([[0, 1], [2, 0]]), edge_type=("a", "to", "b"), layout="coo", size=(2, 3))
    >>> [t.tolist() for t in store.get_edge_index(edge_type=("a", "to", "b"), layout="coo")]
    [[0, 1], [2, 0]]
    """

    _edges: dict[tuple[Any, EdgeLayout], tuple[Any, EdgeAttr]]

    def __init__(self, edge_attr_cls: Any = None):
        super().__init__(edge_attr_cls)
        self.__dict__["_edges"] = {}

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        self._edges[edge_attr.edge_type, edge_attr.layout] = (edge_index, edge_attr)
        return True

    def _get_edge_index(self, edge_attr: EdgeAttr) -> Any:
        found = self._edges.get((edge_attr.edge_type, edge_attr.layout))
        return None if found is None else found[0]

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        return self._edges.pop((edge_attr.edge_type, edge_attr.layout), None) is not None

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        return [attr for _, attr in self._edges.values()]


__all__ = [
    "AttrView", "EdgeAttr", "EdgeLayout", "FeatureStore", "GraphStore", "MemoryFeatureStore", "MemoryGraphStore", "TensorAttr",
]  # fmt: skip
