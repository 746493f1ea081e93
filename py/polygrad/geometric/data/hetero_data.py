"""HeteroData: a graph with several types of nodes and edges."""

from __future__ import annotations

import copy
import warnings
from collections import namedtuple
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from ...tensor import Tensor
from ._as_stores import AsStores, register
from ._values import following, is_array, like, positions, select, size_repr, to_array
from .data import GROUPS, BaseData, Data, Join, _as_index, _hint, components, index_problems, named_as_there, report
from .storage import BaseStorage, EdgeStorage, NodeStorage

NodeType = str
EdgeType = tuple  # (source type, name, destination type)


def by_sizes(data: Any, value: Any, store: Any = None) -> np.ndarray:
    """Increment of pairs of node indices: numbers of source and destination nodes, [2, 1]."""
    size = store.size()
    if None in size:
        raise RuntimeError(f"edges {store._key} cannot be joined: the number of their nodes is not known, set 'num_nodes'")
    return np.array(size, np.int64).reshape(2, 1)


EDGE_PAIRS = Join(-1, by_sizes)


def _once(values: np.ndarray) -> np.ndarray:
    """Each value once, in the order in which they first come."""
    found, first = np.unique(values, return_index=True)
    return found[np.argsort(first)]


_warned: set[str] = set()


def _check_type_name(name: str) -> None:
    """Warns once of a type whose name cannot be told from a joined name of an edge type."""
    if "__" in name and not _warned:
        _warned.add(name)
        warnings.warn(f"the type name {name!r} has double underscores '__', which join the parts of edge types: use single underscores", stacklevel=4)


class HeteroData(AsStores, BaseData):
    """Several types of nodes and edges, each with a storage of its own.

    `data["paper"]` is the storage of a node type, `data["author", "writes", "paper"]` that of an edge type; a relation's name, or the two
    types of its ends, is enough where only one fits. `data.x_dict` collects an attribute over all types. Other attributes
    belong to the graph as a whole.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import HeteroData
    >>> data = HeteroData()
    >>> data["paper"].x = Tensor.ones(3, 4)
    >>> data["author"].x = Tensor.ones(2, 5)
    >>> data["author", "writes", "paper"].edge_index = Tensor([[0, 1, 1], [0, 1, 2]])
    >>> data
    HeteroData(
      paper={ x=[3, 4] },
      author={ x=[2, 5] },
      (author, writes, paper)={ edge_index=[2, 3] }
    )
    >>> data["writes"].num_edges, data.num_nodes, list(data.x_dict)
    (3, 5, ['paper', 'author'])
    """

    joins: ClassVar[dict[str, Join]] = {  # indices of edge storages; node storages have none
        name: EDGE_PAIRS for name in ("edge_index", "edge_label_index", "pos_edge_label_index", "neg_edge_label_index", "neg_edge_index")
    }

    def __init__(self, _mapping: Mapping[Any, Any] | None = None, **kwargs: Any):
        self.__dict__["_global_store"] = BaseStorage(_parent=self)
        self.__dict__["_node_store_dict"] = {}
        self.__dict__["_edge_store_dict"] = {}
        for key, value in {**(_mapping or {}), **kwargs}.items():
            if isinstance(value, Mapping):
                name = tuple(key.split("__")) if isinstance(key, str) and "__" in key else key
                self[name].update(value)
            else:
                setattr(self, key, value)

    @classmethod
    def from_dict(cls, mapping: Mapping[Any, Any]) -> Any:
        """The opposite of to_dict."""
        out = cls()
        for key, value in mapping.items():
            store = out._global_store if key == "_global_store" else out.get_node_store(key) if isinstance(key, str) else out.get_edge_store(*key)
            for name, entry in value.items():
                setattr(store, name, entry)
        return out

    # ---- attributes ----

    def __getattr__(self, key: str) -> Any:
        if "_global_store" not in self.__dict__:
            raise AttributeError(key)
        if key in self._global_store or key in self._global_store.__dict__:
            return getattr(self._global_store, key)
        if key.endswith("_dict") and not key.startswith("_"):
            return self.collect(key[:-5])
        raise AttributeError(f"{type(self).__name__!r} has no attribute {key!r}")

    def __setattr__(self, key: str, value: Any) -> None:
        if key in self._node_store_dict:
            raise AttributeError(f"{key!r} is a node type")
        if key.endswith("_dict") and not key.startswith("_"):
            raise AttributeError(f"{key!r} is collected from the storages: use set_value_dict({key[:-5]!r}, ...)")
        setattr(self._global_store, key, value)

    def __delattr__(self, key: str) -> None:
        delattr(self._global_store, key)

    def _to_canonical(self, *args: Any) -> Any:
        """The full type of a relation's name or of two ends, where one fits."""
        key = args[0] if len(args) == 1 else args
        if isinstance(key, str):
            if key in self._node_store_dict:
                return key
            found = [t for t in self._edge_store_dict if t[1] == key]
            return found[0] if len(found) == 1 else key
        if isinstance(key, tuple) and len(key) == 2:
            found = [t for t in self._edge_store_dict if t[0] == key[0] and t[-1] == key[1]]
            if len(found) > 1:
                raise TypeError(f"missing 1 required name: several edge types join {key[0]!r} to {key[1]!r}: {found}")
            return found[0] if found else (key[0], "to", key[1])
        return key

    def __getitem__(self, *args: Any) -> Any:
        key = self._to_canonical(*args)
        if isinstance(key, str) and key in self._global_store:
            return self._global_store[key]
        return self.get_edge_store(*key) if isinstance(key, tuple) else self.get_node_store(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key in self._node_store_dict or key in self._edge_store_dict:
            raise AttributeError(f"{key!r} is already a type of nodes or edges")
        self._global_store[key] = value

    def __delitem__(self, *args: Any) -> None:
        key = self._to_canonical(*args)
        for table in (self._edge_store_dict, self._node_store_dict, self._global_store):
            if key in table:
                del table[key]
                return

    def __copy__(self) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        out.__dict__["_global_store"] = copy.copy(self._global_store)
        for table in ("_node_store_dict", "_edge_store_dict"):
            out.__dict__[table] = {key: copy.copy(store) for key, store in self.__dict__[table].items()}
        return out._adopt()

    def __deepcopy__(self, memo: Any) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update({key: copy.deepcopy(value, memo) for key, value in self.__dict__.items()})
        return out._adopt()

    def _adopt(self) -> Any:
        for store in self.stores:
            store._parent = self
        return self

    def __repr__(self) -> str:
        tables = (self._global_store, self._node_store_dict, self._edge_store_dict)
        lines = ",\n".join(size_repr(k, v, 2) for table in tables for k, v in table.items())
        return f"{type(self).__name__}({f'{chr(10)}{lines}{chr(10)}' if lines else ''})"

    # ---- storages ----

    @property
    def stores(self) -> list[Any]:
        return [self._global_store, *self.node_stores, *self.edge_stores]

    @property
    def node_types(self) -> list[str]:
        return list(self._node_store_dict)

    @property
    def edge_types(self) -> list[tuple[str, str, str]]:
        return list(self._edge_store_dict)

    @property
    def node_stores(self) -> list[Any]:
        return list(self._node_store_dict.values())

    @property
    def edge_stores(self) -> list[Any]:
        return list(self._edge_store_dict.values())

    def node_items(self) -> list[tuple[str, NodeStorage]]:
        return list(self._node_store_dict.items())

    def edge_items(self) -> list[tuple[tuple[str, str, str], EdgeStorage]]:
        return list(self._edge_store_dict.items())

    def get_node_store(self, key: str) -> NodeStorage:
        """The storage of a node type, which is made if there is none."""
        if not isinstance(key, str):
            raise TypeError(f"a node type is a text, an edge type a tuple of three: got {key!r}")
        if key not in self._node_store_dict:
            _check_type_name(key)
            self._node_store_dict[key] = NodeStorage(_parent=self, _key=key)
        return self._node_store_dict[key]

    def get_edge_store(self, *key: str) -> EdgeStorage:
        """The storage of an edge type (source type, name, destination type), which is made if there is none."""
        if len(key) != 3 or not all(isinstance(part, str) for part in key):
            raise TypeError(f"an edge type is (source type, name, destination type), not {key!r}")
        if key not in self._edge_store_dict:
            _check_type_name(key[1])
            self._edge_store_dict[key] = EdgeStorage(_parent=self, _key=key)
        return self._edge_store_dict[key]

    def stores_as(self, data: HeteroData) -> Any:
        for node_type in data.node_types:
            self.get_node_store(node_type)
        for edge_type in data.edge_types:
            self.get_edge_store(*edge_type)
        return self

    def metadata(self) -> tuple[list[str], list[tuple[str, str, str]]]:
        """Types of nodes and of edges."""
        return self.node_types, self.edge_types

    def collect(self, key: str, allow_empty: bool = False) -> dict[Any, Any]:
        """An attribute of all types that have it."""
        out = {}
        for kind, store in [*self.node_items(), *self.edge_items()]:
            if key in store:
                out[kind] = store[key]
            elif isinstance(getattr(type(store), key, None), property):
                out[kind] = getattr(store, key)
        if not out and not allow_empty:
            raise KeyError(f"Tried to collect {key!r}, but did not find any occurrences of it: no type of nodes or edges has it")
        return out

    def set_value_dict(self, key: str, value_dict: Mapping[Any, Any]) -> Any:
        """Sets an attribute of several types."""
        for kind, value in value_dict.items():
            self[kind][key] = value
        return self

    @property
    def input_type(self) -> Any:
        """The type of the seeds of a sampled graph."""
        return next((kind for kind, store in [*self.node_items(), *self.edge_items()] if "input_id" in store), None)

    def rename(self, name: str, new_name: str) -> Any:
        """Renames a node type."""

        def new(kind: str) -> str:
            return new_name if kind == name else kind

        for table in ("_node_store_dict", "_edge_store_dict"):
            stores = list(self.__dict__[table].values())
            for store in stores:
                key = store._key
                store._key = new(key) if isinstance(key, str) else (new(key[0]), key[1], new(key[2]))
            ordered = {store._key: store for store in stores}
            if new_name in ordered:  # the type comes last, as one that was added does
                ordered[new_name] = ordered.pop(new_name)
            self.__dict__[table] = ordered
        return self

    def to_dict(self) -> dict[Any, Any]:
        out: dict[Any, Any] = {"_global_store": self._global_store.to_dict()}
        return out | {key: store.to_dict() for key, store in [*self.node_items(), *self.edge_items()]}

    def to_namedtuple(self) -> Any:
        parts = dict(self._global_store.items())
        parts |= {key if isinstance(key, str) else "__".join(key): store.to_namedtuple() for key, store in [*self.node_items(), *self.edge_items()]}
        return namedtuple("DataTuple", list(parts))(*parts.values())  # type: ignore[misc]

    def update(self, data: Any) -> Any:
        """Takes over the attributes of another HeteroData."""
        for store in data.stores:
            mine = self._global_store if store._key is None else self[store._key]
            mine.update(store)
        return self

    def _join(self, key: str, value: Any, store: Any = None) -> Join | None:
        edges = isinstance(store, EdgeStorage)
        rule = self.joins.get(key)
        if rule is None and (self._by_names or named_as_there(value)):
            if "batch" in key and isinstance(value, Tensor):
                return GROUPS
            return EDGE_PAIRS if edges and "index" in key else None
        return None if rule is EDGE_PAIRS and not edges else rule

    def __inc__(self, key: str, value: Any, store: Any = None, *args: Any, **kwargs: Any) -> Any:
        rule = self._join(key, value, store)
        if rule is None:
            if isinstance(store, EdgeStorage) and not self._by_names and not named_as_there(value):
                _hint(key)
            return 0
        return 0 if rule.inc is None else rule.inc(self, value, store)

    @property
    def num_node_features(self) -> dict[str, int]:
        return {key: store.num_node_features for key, store in self.node_items()}

    @property
    def num_features(self) -> dict[str, int]:
        return self.num_node_features

    @property
    def num_edge_features(self) -> dict[Any, int]:
        return {key: store.num_edge_features for key, store in self.edge_items()}

    def has_isolated_nodes(self) -> bool:
        """Is there a node that no edge of any type touches?"""
        start = self._starts()
        label = np.zeros(start[None], bool)
        for (src, _, dst), store in self.edge_items():
            row, col = store._pairs()
            proper = (row != col) | (src != dst)
            label[row[proper] + start[src]] = True
            label[col[proper] + start[dst]] = True
        return not label.all()

    def is_undirected(self) -> bool:
        """Is the graph of all types undirected?"""
        return self.to_homogeneous(node_attrs=[], edge_attrs=[], add_node_type=False, add_edge_type=False).is_undirected()

    def validate(self, raise_on_error: bool = True) -> bool:
        """Do the attributes fit each other? What does not is an error, or a warning and the answer False."""
        return report(list(self._problems()), raise_on_error)

    def _problems(self) -> Iterator[str]:
        ends = {kind for src, _, dst in self.edge_types for kind in (src, dst)}
        if missing := sorted(ends - set(self.node_types)):
            yield f"edges lead to or from nodes of types that do not exist as node types: {missing}"
        if alone := set(self.node_types) - ends:
            warnings.warn(f"nodes of types {alone} are isolated: no edges lead to or from them", stacklevel=4)
        for kind, store in self.node_items():
            if kind in ends and store.num_nodes is None:
                yield f"nodes of type {kind!r} have no 'num_nodes', and nothing tells it"
        for relation, edges in self.edge_items():
            size = [self._node_store_dict[end].num_nodes if end in self._node_store_dict else None for end in (relation[0], relation[2])]
            yield from index_problems(edges.get("edge_index"), f"edge_index of {relation}", (size[0], size[1]))

    # ---- parts ----

    @following
    def subgraph(self, subset_dict: Mapping[str, Any]) -> Any:
        """The nodes of masks or vectors of indices by type, numbered anew, and the edges between them. Other types stay whole."""
        out = copy.copy(self)
        number, kept = {}, {}
        for kind in subset_dict:
            n = int(self._node_store_dict[kind].num_nodes)
            nodes = positions(subset_dict[kind], n, f"subset of {kind!r}")
            number[kind] = np.full(n, -1, np.int64)
            number[kind][nodes] = np.arange(nodes.size)
            kept[kind] = nodes
        for kind in subset_dict:
            store, mine = self._node_store_dict[kind], out._node_store_dict[kind]
            mine._choose([key for key in store.keys() if store.is_node_attr(key)], kept[kind])
            if "num_nodes" in store:
                mine["num_nodes"] = int(kept[kind].size)
        for relation, links in self.edge_items():
            if "edge_index" not in links:
                continue
            row, col = links._pairs()
            pairs = np.stack([number[end][old] if end in number else old for end, old in ((relation[0], row), (relation[2], col))])
            edges = np.flatnonzero((pairs >= 0).all(axis=0))
            mine = out._edge_store_dict[relation]
            mine._choose([key for key in links.keys() if key != "edge_index" and links.is_edge_attr(key)], edges)
            mine["edge_index"] = _as_index(pairs[:, edges], links["edge_index"])
        return out

    @following
    def edge_subgraph(self, subset_dict: Mapping[Any, Any]) -> Any:
        """All nodes, and of the named edge types only the edges of a mask or a vector of indices."""
        out = copy.copy(self)
        for kind, subset in subset_dict.items():
            store = self[kind]
            out[kind]._choose(store.edge_attrs(), positions(subset, int(store.num_edges), f"subset of {kind}"))
        return out

    def node_type_subgraph(self, node_types: list[str]) -> Any:
        """Only some node types, and the edges between them."""
        out = copy.copy(self)
        out.__dict__["_node_store_dict"] = {k: s for k, s in out._node_store_dict.items() if k in node_types}
        out.__dict__["_edge_store_dict"] = {k: s for k, s in out._edge_store_dict.items() if k[0] in node_types and k[2] in node_types}
        return out

    def edge_type_subgraph(self, edge_types: list[Any]) -> Any:
        """Only some edge types, and the nodes that they join."""
        kept = [self._to_canonical(t) for t in edge_types]
        ends = {end for t in kept for end in (t[0], t[2])}
        out = copy.copy(self)
        out.__dict__["_node_store_dict"] = {k: s for k, s in out._node_store_dict.items() if k in ends}
        out.__dict__["_edge_store_dict"] = {k: s for k, s in out._edge_store_dict.items() if k in kept}
        return out

    @following
    def connected_components(self) -> list[Any]:
        """The connected components over all types, each as an object of its own: in the order in which edges, and then nodes, name them, and with
        their nodes in that order."""
        start = self._starts()
        pairs = [store._pairs() + np.array([[start[kind[0]]], [start[kind[2]]]]) for kind, store in self.edge_items()]
        joined = np.concatenate([np.zeros((2, 0), np.int64), *pairs], axis=1)
        label = components(joined, start[None])
        nodes = _once(np.concatenate([joined.T.reshape(-1), np.arange(start[None])]))
        own = {kind: nodes[(nodes >= start[kind]) & (nodes < start[kind] + int(store.num_nodes))] for kind, store in self.node_items()}
        return [self.subgraph({kind: part[label[part] == k] - start[kind] for kind, part in own.items()}) for k in _once(label[nodes])]

    def _starts(self) -> dict[Any, int]:
        """Number of nodes before each type; all of them under None."""
        out: dict[Any, int] = {}
        total = 0
        for kind, store in self.node_items():
            if store.num_nodes is None:
                raise ValueError(f"the number of nodes of type {kind!r} is not known: set 'num_nodes'")
            out[kind] = total
            total += int(store.num_nodes)
        out[None] = total
        return out

    # ---- one type out of many ----

    @following
    def to_homogeneous(
        self,
        node_attrs: list[str] | None = None,
        edge_attrs: list[str] | None = None,
        add_node_type: bool = True,
        add_edge_type: bool = True,
        dummy_values: bool = True,
    ) -> Data:
        """One graph of all nodes and edges, types after one another; `node_type` and `edge_type` say what each was.

        Attributes that all types have in the same size are joined (node features of several widths with zeros behind); those that
        only some have are filled with NaN, False or -1 where they are missing, if dummy_values is set.
        """
        start = self._starts()
        out = Data(**self._global_store.to_dict())
        pairs = [store for store in self.edge_stores if "edge_index" in store]
        if pairs:
            offsets = [np.array([[start[s._key[0]]], [start[s._key[2]]]]) for s in pairs]
            joined = np.concatenate([s._pairs() + o for s, o in zip(pairs, offsets)], axis=1)
            out.edge_index = _as_index(joined, pairs[0]["edge_index"])
        for stores, names, edges in ((self.node_stores, node_attrs, False), (self.edge_stores, edge_attrs, True)):
            for key, values in _common(self, stores, names, dummy_values).items():
                out._store[key] = values
            if not edges and not out._store.can_infer_num_nodes:
                out.num_nodes = start[None]
        labels = [s for s in self.edge_stores if "edge_label_index" in s]
        if labels:
            parts = [to_array(s["edge_label_index"]) + np.array([[start[s._key[0]]], [start[s._key[2]]]]) for s in labels]
            out.edge_label_index = _as_index(np.concatenate(parts, axis=1), labels[0]["edge_label_index"])
        if add_node_type:
            counts = [int(s.num_nodes) for s in self.node_stores]
            out.node_type = Tensor(np.repeat(np.arange(len(counts)), counts))
        if add_edge_type and pairs:
            counts = [int(s.num_edges) for s in self.edge_stores]
            out.edge_type = Tensor(np.repeat(np.arange(len(counts)), counts))
        out._node_type_names, out._edge_type_names = self.node_types, self.edge_types
        return out


_INDICES = ("edge_index", "edge_label_index", "adj", "adj_t", "ptr")


def _common(data: HeteroData, stores: list[Any], names: list[str] | None, dummy_values: bool) -> dict[str, Any]:
    """Attributes of all storages joined; what a storage lacks is filled, if that is wanted and the others agree on its size."""
    found: dict[str, list[Any]] = {}
    for store in stores:
        for key, value in store.items():
            if key not in _INDICES and is_array(value) and value.ndim:
                found.setdefault(key, []).append((store, value))
    out = {}
    for key, have in found.items():
        if names is not None and key not in names:
            continue
        shapes = {tuple(int(s) for s in v.shape[1:]) for _, v in have}
        if len({v.ndim for _, v in have}) != 1:
            continue
        if len(have) < len(stores) and not (dummy_values and len(shapes) == 1):
            if names is not None:
                raise KeyError(f"{key!r} is not an attribute of all types")
            continue
        if len(shapes) != 1 and have[0][1].ndim != 2:
            continue
        parts = {id(store): to_array(value) for store, value in have}
        first = parts[id(have[0][0])]
        width = max((a.shape[1] for a in parts.values()), default=0) if first.ndim == 2 else 0
        rows = []
        for store in stores:
            a = parts.get(id(store))
            if a is None:
                fill: Any = np.nan if first.dtype.kind == "f" else False if first.dtype.kind == "b" else -1
                count = store.num_nodes if isinstance(store, NodeStorage) else store.num_edges
                a = np.full((int(count), *first.shape[1:]), fill, first.dtype)
            elif a.ndim == 2 and a.shape[1] < width:
                a = np.pad(a, ((0, 0), (0, width - a.shape[1])))
            rows.append(a)
        out[key] = like(np.concatenate(rows), have[0][1])
    return out


def from_types(data: Data, node_type: Any, edge_type: Any, node_names: list[str] | None, edge_names: list[Any] | None) -> HeteroData:
    """A graph divided by the types of its nodes and edges: the opposite of to_homogeneous."""
    hidden = data._store.__dict__
    kinds = to_array(node_type if node_type is not None else data.get("node_type", np.zeros(int(data.num_nodes), np.int64)))
    relations = to_array(edge_type if edge_type is not None else data.get("edge_type", np.zeros(int(data.num_edges), np.int64)))
    pairs = to_array(data.edge_index)
    node_names = node_names or hidden.get("_node_type_names") or [str(k) for k in np.unique(kinds)]
    edge_names = edge_names or hidden.get("_edge_type_names")
    if edge_names is None:
        edge_names = []
        for r in np.unique(relations):
            ends = [np.unique(kinds[side[relations == r]]) for side in pairs]
            if ends[0].size != 1 or ends[1].size != 1:
                raise ValueError(f"single edge types span over multiple node types: edges of type {r} join {ends[0].tolist()} to {ends[1].tolist()}")
            edge_names.append((node_names[int(ends[0][0])], str(r), node_names[int(ends[1][0])]))
    out = HeteroData()
    local = np.zeros(kinds.size, np.int64)
    skip = {"node_type", "edge_type", "ptr", "num_nodes", "num_edges"}
    for k, name in enumerate(node_names):
        nodes = np.flatnonzero(kinds == k)
        local[nodes] = np.arange(nodes.size)
        store = out.get_node_store(name)
        for key, value in data:
            if key not in skip and is_array(value) and data.is_node_attr(key):
                store[key] = select(value, nodes, data.__cat_dim__(key, value))
        if not len(store):
            store["num_nodes"] = int(nodes.size)
    for k, kind in enumerate(edge_names):
        edges = np.flatnonzero(relations == k)
        edge_store = out.get_edge_store(*kind)
        for key, value in data:
            if key == "edge_index":
                edge_store[key] = _as_index(local[pairs[:, edges]], value)
            elif key not in skip and is_array(value) and data.is_edge_attr(key):
                edge_store[key] = select(value, edges, data.__cat_dim__(key, value))
    taken = set(out.keys()) | skip | {"edge_index"}
    for key, value in data:
        if key not in taken:
            out[key] = value
    return out


register(HeteroData)

__all__ = ["EDGE_PAIRS", "HeteroData", "by_sizes"]
