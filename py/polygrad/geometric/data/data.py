"""Data: a graph and whatever belongs to it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Callable, ClassVar, NamedTuple

import numpy as np

from ...tensor import Tensor
from ..sparse_tensor import SparseTensor
from ._as_stores import AsStores, register
from ._values import following, is_array, positions, select, size_repr, to_array
from .storage import BaseStorage, GlobalStorage

_OWN = {f"{__package__}.{name}" for name in ("data", "hetero_data", "temporal", "batch")}  # modules whose classes declare all their joins


class Join(NamedTuple):
    """How an attribute of many graphs becomes one attribute of their batch.

    dim: the axis along which it is joined; None puts the graphs along a new first axis. inc: by how much the values of the following
    graphs are raised, a function of (data, value, storage); None for values that are not indices.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Batch, Data, Join, by_nodes
    >>> class Chosen(Data):
    ...     joins = {"chosen": Join(inc=by_nodes)}
    >>> graphs = [Chosen(x=Tensor.ones(3, 1), chosen=Tensor([1])) for _ in range(2)]
    >>> Batch.from_data_list(graphs).chosen.tolist()
    [1, 4]
    """

    dim: int | None = 0
    inc: Callable[[Any, Any, BaseStorage | None], Any] | None = None


def by_nodes(data: Any, value: Any, store: BaseStorage | None = None) -> Any:
    """Increment of node indices: the number of nodes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, by_nodes
    >>> by_nodes(Data(x=Tensor.ones(4, 1)), Tensor([0, 2]))
    4
    """
    n = data.num_nodes
    if n is None:
        raise RuntimeError("node indices of a graph whose number of nodes is not known cannot be joined: set 'num_nodes'")
    return n


def by_groups(data: Any, value: Any, store: BaseStorage | None = None) -> int:
    """Increment of a vector that numbers groups: how many there are.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data, by_groups
    >>> by_groups(Data(), Tensor([0, 2, 1]))
    3
    """
    count = getattr(value, "_count", None)
    if count is not None:
        return count
    a = to_array(value)
    return int(a.max()) + 1 if a.size else 0


NODE_INDEX = Join(-1, by_nodes)
GROUPS = Join(0, by_groups)


def named_as_there(value: Any) -> bool:
    """Is value of PyTorch's class? Then its name says how it is joined, as in PyTorch Geometric."""
    return isinstance(value, Tensor) and value._kind is not Tensor


_hinted: set[str] = set()


def _hint(key: str) -> None:
    """Says once that a name which looks like an index is not treated as one."""
    if key not in _hinted and ("index" in key or key.endswith("batch")):
        _hinted.add(key)
        warnings.warn(
            f"{key!r} is joined along the first axis, with its values as they are. If it holds indices, say so in the class:"
            f" joins = {{{key!r}: NODE_INDEX}}, or __inc__ and __cat_dim__",
            stacklevel=4,
        )


class BaseData:
    """What Data, HeteroData and TemporalData have in common: storages of attributes.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import BaseData, Data
    >>> isinstance(Data(x=Tensor.ones(2, 1)), BaseData)
    True
    """

    joins: ClassVar[dict[str, Join]] = {"batch": GROUPS}
    # A class with its own __inc__ or __cat_dim__ is written in PyTorch Geometric's manner: other names with "index" in them are indices of nodes.
    _by_names: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        merged: dict[str, Join] = {}
        for base in reversed(cls.__mro__):
            merged.update(base.__dict__.get("joins", {}))
        cls.joins = merged
        cls._by_names = any(name in base.__dict__ for base in cls.__mro__ if base.__module__ not in _OWN for name in ("__inc__", "__cat_dim__"))

    # ---- storages: each class has its own ----

    @property
    def stores(self) -> list[Any]:
        raise NotImplementedError

    @property
    def node_stores(self) -> list[Any]:
        raise NotImplementedError

    @property
    def edge_stores(self) -> list[Any]:
        raise NotImplementedError

    def stores_as(self, data: Any) -> Any:
        return self

    def _join(self, key: str, value: Any, store: Any = None) -> Join | None:
        """How an attribute is joined, as the class says, or its name where names have a meaning."""
        rule = self.joins.get(key)
        if rule is None and (self._by_names or named_as_there(value)):
            if "batch" in key and isinstance(value, Tensor):
                return GROUPS
            return NODE_INDEX if "index" in key or key == "face" else None
        return rule

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """The axis along which an attribute of several graphs is joined; None for a new one."""
        if isinstance(value, SparseTensor) and ("adj" in key or "edge_index" in key):
            return (0, 1)
        rule = self._join(key, value, args[0] if args else kwargs.get("store"))
        return 0 if rule is None else rule.dim

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """By how much an attribute of the next graph of a batch is raised."""
        store = args[0] if args else kwargs.get("store")
        rule = self._join(key, value, store)
        if rule is None:
            if not self._by_names and not named_as_there(value):
                _hint(key)
            return 0
        return 0 if rule.inc is None else rule.inc(self, value, store)

    @property
    def is_cuda(self) -> bool:
        """Is a tensor of the graph on a CUDA device?"""
        return any(str(getattr(v, "device", "")).upper().startswith("CUDA") for store in self.stores for v in store.values())

    # ---- all storages together ----

    def keys(self) -> list[str]:
        """Names of all attributes."""
        return list(dict.fromkeys(key for store in self.stores for key in store.keys()))

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, key: str) -> bool:
        return key in self.keys()

    @property
    def num_nodes(self) -> Any:
        """Number of nodes, or None if nothing tells it."""
        counts = [store.num_nodes for store in self.node_stores]
        if any(c is None for c in counts):
            return None
        return counts[0] if len(counts) == 1 else sum(counts)

    @property
    def num_edges(self) -> Any:
        """Number of edges; an undirected edge that is stored in both directions counts twice."""
        counts = [store.num_edges for store in self.edge_stores]
        return counts[0] if len(counts) == 1 else sum(counts)

    def size(self, dim: int | None = None) -> Any:
        """Numbers of rows and columns of the adjacency matrix."""
        size = (self.num_nodes, self.num_nodes)
        return size if dim is None else size[dim]

    def node_attrs(self) -> list[str]:
        """Names of the attributes with a value a node."""
        return list(dict.fromkeys(key for store in self.node_stores for key in store.node_attrs()))

    def edge_attrs(self) -> list[str]:
        """Names of the attributes with a value an edge."""
        return list(dict.fromkeys(key for store in self.edge_stores for key in store.edge_attrs()))

    @following
    def generate_ids(self) -> None:
        """Adds `n_id` and `e_id`, the numbers of nodes and edges."""
        for store in self.node_stores:
            store.n_id = Tensor(np.arange(int(store.num_nodes)))
        for store in self.edge_stores:
            store.e_id = Tensor(np.arange(int(store.num_edges)))

    def _each(self, method: str, *args: Any, **kwargs: Any) -> Any:
        for store in self.stores:
            getattr(store, method)(*args, **kwargs)
        return self

    def is_sorted(self, sort_by_row: bool = True) -> bool:
        """Are the edges in the order of their sources (or destinations)?"""
        return all(store.is_sorted(sort_by_row) for store in self.edge_stores)

    def sort(self, sort_by_row: bool = True) -> Any:
        """A copy with the edges sorted by source and destination (or the other way round)."""
        out = copy.copy(self)
        for store in out.edge_stores:
            store.sort(sort_by_row)
        return out

    def is_coalesced(self) -> bool:
        """Are the edges sorted, and none there twice?"""
        return all(store.is_coalesced() for store in self.edge_stores)

    def coalesce(self) -> Any:
        """A copy with the edges sorted and equal ones joined (their `edge_attr` added)."""
        out = copy.copy(self)
        for store in out.edge_stores:
            store.coalesce()
        return out

    def is_sorted_by_time(self) -> bool:
        return all(store.is_sorted_by_time() for store in self.stores)

    def sort_by_time(self) -> Any:
        """A copy in the order of the attribute `time`."""
        return copy.copy(self)._each("sort_by_time")

    def snapshot(self, start_time: float, end_time: float, attr: str = "time") -> Any:
        """A copy with what has an attribute `attr` between the two."""
        return copy.copy(self)._each("snapshot", start_time, end_time, attr)

    def up_to(self, end_time: float) -> Any:
        """A copy with what has a `time` not after end_time."""
        return copy.copy(self)._each("up_to", end_time)

    def has_isolated_nodes(self) -> bool:
        """Is there a node without edges?"""
        return any(store.has_isolated_nodes() for store in self.edge_stores)

    def has_self_loops(self) -> bool:
        """Is there an edge from a node to itself?"""
        return any(store.has_self_loops() for store in self.edge_stores)

    def is_undirected(self) -> bool:
        """Is the opposite of every edge there too?"""
        return all(store.is_undirected() for store in self.edge_stores)

    def is_directed(self) -> bool:
        return not self.is_undirected()

    def contains_isolated_nodes(self) -> bool:
        """Deprecated: has_isolated_nodes."""
        warnings.warn("'contains_isolated_nodes' is deprecated, use 'has_isolated_nodes' instead", stacklevel=2)
        return self.has_isolated_nodes()

    def contains_self_loops(self) -> bool:
        """Deprecated: has_self_loops."""
        warnings.warn("'contains_self_loops' is deprecated, use 'has_self_loops' instead", stacklevel=2)
        return self.has_self_loops()

    # ---- all tensors ----

    def apply(self, func: Callable[[Tensor], Any], *args: str) -> Any:
        """Replaces each tensor, or those of the named attributes, by func of it."""
        return self._each("apply", func, *args)

    def apply_(self, func: Callable[[Tensor], Any], *args: str) -> Any:
        """Calls func for each tensor."""
        return self._each("apply_", func, *args)

    def clone(self, *args: str) -> Any:
        """A copy with tensors of its own."""
        return copy.deepcopy(self)

    def to(self, device: Any, *args: str, non_blocking: bool = False) -> Any:
        """Moves the tensors, or those of the named attributes, to a device."""
        return self._each("to", device, *args)

    def cpu(self, *args: str) -> Any:
        """Moves the tensors to the CPU."""
        return self.to("CPU", *args)

    def cuda(self, device: Any = None, *args: str, non_blocking: bool = False) -> Any:
        """Moves the tensors to a GPU."""
        return self.to("CUDA" if device is None else device, *args)

    def contiguous(self, *args: str) -> Any:
        return self._each("contiguous", *args)

    def detach_(self, *args: str) -> Any:
        """Cuts the tensors off from what they were computed from, in place."""
        return self._each("detach_", *args)

    def detach(self, *args: str) -> Any:
        """Cuts the tensors off from what they were computed from."""
        return self._each("detach", *args)

    def pin_memory(self, *args: str) -> Any:
        """The same: memory of the CPU needs no pinning here."""
        return self

    def share_memory_(self, *args: str) -> Any:
        """Moves tensors of PyTorch's class into memory that processes share. Others stay: loaders work with threads, which share all memory."""
        return self.apply_(lambda x: getattr(x, "share_memory_", lambda: x)(), *args)

    def is_shared(self) -> bool:
        """Is a tensor in memory that processes share?"""
        return any(getattr(v, "is_shared", bool)() for store in self.stores for v in store.values())

    def debug(self) -> bool:
        """Raises if something is wrong with the graph; see validate."""
        return bool(self.validate(raise_on_error=True)) if hasattr(self, "validate") else True

    def requires_grad_(self, *args: str, requires_grad: bool = True) -> Any:
        """Asks for gradients of the float tensors."""
        return self._each("requires_grad_", *args, requires_grad=requires_grad)

    def concat(self, data: Any) -> Any:
        """A copy with the attributes of another object joined to these."""
        out = copy.copy(self)
        for mine, other in zip(out.stores, data.stores):
            mine.concat(other)
        return out

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # ---- files and other libraries ----

    def save(self, path: Any) -> None:
        """Writes a safetensors file that `load` reads; attributes that are not tensors or arrays must be plain values."""
        from .files import save

        save(self, path)

    @classmethod
    def load(cls, path: Any) -> Any:
        """Reads what `save` wrote."""
        from .files import load

        return load(path, cls)

    def to_pyg(self) -> Any:
        """The same as an object of PyTorch Geometric, which must be installed."""
        from .convert import to_pyg

        return to_pyg(self)

    @staticmethod
    def from_pyg(data: Any) -> Any:
        """Data, HeteroData, TemporalData or a Batch out of an object of PyTorch Geometric."""
        from .convert import from_pyg

        return from_pyg(data)

    def to_numpy(self) -> dict[Any, Any]:
        """All attributes in a dictionary, tensors as arrays; of a HeteroData by type and name."""
        from .convert import to_numpy

        return to_numpy(self)

    @staticmethod
    def from_numpy(mapping: Mapping[Any, Any]) -> Any:
        """Data, or HeteroData if the entries are dictionaries, out of arrays.

        >>> import numpy as np
        >>> from polygrad.geometric.data import Data
        >>> Data.from_numpy({"x": np.ones((2, 3)), "edge_index": np.array([[0], [1]])})
        Data(x=[2, 3], edge_index=[2, 1])
        """
        from .convert import from_numpy

        return from_numpy(mapping)


def _attribute(name: str, doc: str) -> Any:
    def read(self: Any) -> Any:
        return self._store.get(name)

    def write(self: Any, value: Any) -> None:
        self._store[name] = value

    return property(read, write, doc=doc)


class Data(AsStores, BaseData):
    """A graph: node features `x`, `edge_index` [2, E], `edge_attr`, targets `y`, positions `pos`, and any other attribute.

    An attribute is set and read by its name, as `data.name` or `data["name"]`. How attributes of several graphs are joined to a batch is
    said by the class, in `joins`; what is not named there is joined along the first axis, with its values as they are:

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> data = Data(x=Tensor.ones(3, 2), edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> data
    Data(x=[3, 2], edge_index=[2, 4])
    >>> data.num_nodes, data.num_edges, data.is_undirected()
    (3, 4, True)
    """

    joins: ClassVar[dict[str, Join]] = {
        name: NODE_INDEX
        for name in (
            "edge_index", "edge_label_index", "face", "pos_edge_index", "neg_edge_index", "pos_edge_label_index", "neg_edge_label_index",
            "train_edge_index", "val_edge_index", "test_edge_index", "train_pos_edge_index", "train_neg_edge_index", "val_pos_edge_index",
            "val_neg_edge_index", "test_pos_edge_index", "test_neg_edge_index", "hyperedge_index", "node_index",
        )
    }  # fmt: skip

    def __init__(
        self,
        x: Any = None,
        edge_index: Any = None,
        edge_attr: Any = None,
        y: Any = None,
        pos: Any = None,
        time: Any = None,
        **kwargs: Any,
    ):
        self.__dict__["_store"] = GlobalStorage(_parent=self)
        fixed = {"x": x, "edge_index": edge_index, "edge_attr": edge_attr, "y": y, "pos": pos, "time": time}
        for key, value in {**fixed, **kwargs}.items():
            if value is not None:
                setattr(self, key, value)

    x = _attribute("x", "Node features [V, F].")
    edge_index = _attribute("edge_index", "Sources and destinations of the edges, [2, E].")
    edge_attr = _attribute("edge_attr", "Edge features [E, D].")
    edge_weight = _attribute("edge_weight", "Edge weights [E].")
    y = _attribute("y", "Targets of the graph or of its nodes.")
    pos = _attribute("pos", "Positions of the nodes [V, D].")
    time = _attribute("time", "Times of the nodes or edges.")
    face = _attribute("face", "Triangles of nodes [3, N].")
    batch = _attribute("batch", "The graph that each node belongs to [V].")

    # ---- attributes ----

    def __getattr__(self, key: str) -> Any:
        store = self.__dict__.get("_store")
        if store is None:
            raise AttributeError(key)
        try:
            return getattr(store, key)
        except AttributeError:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {key!r}; it has {list(store.keys())}") from None

    def __setattr__(self, key: str, value: Any) -> None:
        found = getattr(type(self), key, None)
        if isinstance(found, property) and found.fset is not None:
            found.fset(self, value)
        elif isinstance(found, property):
            raise AttributeError(f"{key!r} of {type(self).__name__} follows from other attributes and cannot be set")
        else:
            setattr(self._store, key, value)

    def __delattr__(self, key: str) -> None:
        delattr(self._store, key)

    def __getitem__(self, key: str) -> Any:
        return self._store[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._store[key] = value

    def __delitem__(self, key: str) -> None:
        del self._store[key]

    def __contains__(self, key: str) -> bool:
        return key in self._store

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return iter(list(self._store.items()))

    def __call__(self, *args: str) -> Iterator[tuple[str, Any]]:
        """Names and values of the attributes, or of those that are named."""
        return iter(list(self._store.items(*args)))

    def items(self) -> Any:
        return self._store.items()

    def values(self) -> Any:
        return self._store.values()

    def get(self, key: str, value: Any = None) -> Any:
        return self._store.get(key, value)

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

    def __repr__(self) -> str:
        store = self._store
        nested = any(isinstance(v, Mapping) for v in store.values())
        if not nested:
            return f"{type(self).__name__}({', '.join(size_repr(k, v) for k, v in store.items())})"
        lines = ",\n".join(size_repr(k, v, 2) for k, v in store.items())
        return f"{type(self).__name__}(\n{lines}\n)"

    # ---- storages ----

    @property
    def stores(self) -> list[Any]:
        return [self._store]

    @property
    def node_stores(self) -> list[Any]:
        return [self._store]

    @property
    def edge_stores(self) -> list[Any]:
        return [self._store]

    @property
    def num_nodes(self) -> Any:
        """Number of nodes: what it was set to, or what the node features say. None if nothing tells it."""
        return self._store.num_nodes

    @num_nodes.setter
    def num_nodes(self, value: Any) -> None:
        self._store["num_nodes"] = value

    @property
    def num_node_features(self) -> int:
        return self._store.num_node_features

    @property
    def num_features(self) -> int:
        return self._store.num_node_features

    @property
    def num_edge_features(self) -> int:
        return self._store.num_edge_features

    @property
    def num_node_types(self) -> int:
        return int(to_array(self["node_type"]).max()) + 1 if "node_type" in self else 1

    @property
    def num_edge_types(self) -> int:
        return int(to_array(self["edge_type"]).max()) + 1 if "edge_type" in self else 1

    @property
    def num_faces(self) -> int | None:
        warnings.warn("'num_faces' is deprecated, use 'data.face.size(-1)' instead", stacklevel=2)
        return None if self.face is None else self.face.shape[-1]

    def is_node_attr(self, key: str) -> bool:
        """Has the attribute one value a node?"""
        return self._store.is_node_attr(key)

    def is_edge_attr(self, key: str) -> bool:
        """Has the attribute one value an edge?"""
        return self._store.is_edge_attr(key)

    def to_dict(self) -> dict[str, Any]:
        return self._store.to_dict()

    def to_namedtuple(self) -> Any:
        return self._store.to_namedtuple()

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Any:
        """An object with the entries of a dictionary as attributes."""
        return cls(**mapping)

    def update(self, data: Any) -> Any:
        """Takes over the attributes of a dictionary or another object."""
        for key, value in data.items():
            self[key] = value
        return self

    # ---- other libraries ----

    def to_networkx(self, *args: Any, **kwargs: Any) -> Any:
        """The graph as one of networkx: polygrad.geometric.utils.to_networkx."""
        from ..utils import to_networkx

        return to_networkx(self, *args, **kwargs)

    @staticmethod
    def from_networkx(graph: Any, *args: Any, **kwargs: Any) -> Any:
        """A graph of networkx: polygrad.geometric.utils.from_networkx."""
        from ..utils import from_networkx

        return from_networkx(graph, *args, **kwargs)

    def to_scipy(self, weight: str | None = None) -> Any:
        """The adjacency matrix as scipy's csr_matrix; an edge from i to j is the entry (i, j), 1 or the value of an edge attribute."""
        from .convert import to_scipy

        return to_scipy(self, weight)

    @staticmethod
    def from_scipy(matrix: Any, weight: str | None = "edge_weight") -> Any:
        """A graph with an edge for each entry of a square sparse matrix, the entries as an edge attribute."""
        from .convert import from_scipy

        return from_scipy(matrix, weight)

    # ---- checks ----

    def validate(self, raise_on_error: bool = True) -> bool:
        """Do the attributes fit each other? What does not is an error, or a warning and the answer False.

        >>> from polygrad.geometric.data import Data
        >>> Data(edge_index=Tensor([[0], [3]]), num_nodes=2).validate()
        Traceback (most recent call last):
        ValueError: edge_index of Data contains larger indices than the number of nodes: 3, but there are 2 nodes
        """
        wrong = list(self._problems())
        return report(wrong, raise_on_error)

    def _problems(self) -> Iterator[str]:
        name = type(self).__name__
        n = self.num_nodes
        if n is None:
            yield f"'num_nodes' is undefined in {name}: nothing tells it"
        yield from index_problems(self.edge_index, f"edge_index of {name}", (n, n))
        edges = self.num_edges
        for key, value in self:
            if key in ("x", "pos", "batch", "node_type", "n_id") and is_array(value) and n is not None and value.ndim and value.shape[0] != n:
                yield f"{key} of {name} has {value.shape[0]} rows, but there are {n} nodes"
            if key in ("edge_attr", "edge_weight", "edge_type", "e_id") and is_array(value) and value.ndim and value.shape[0] != edges:
                yield f"{key} of {name} has {value.shape[0]} rows, but there are {edges} edges"

    # ---- parts ----

    @following
    def subgraph(self, subset: Any) -> Any:
        """The nodes of a mask or a vector of indices, numbered anew, and the edges between them.

        >>> from polygrad.geometric.data import Data
        >>> data = Data(x=Tensor([[0.], [1.], [2.]]), edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> data.subgraph([2, 1]).edge_index.tolist()
        [[1, 0], [0, 1]]
        """
        n = int(self.num_nodes)
        nodes = positions(subset, n, "subset")
        number = np.full(n, -1, np.int64)
        number[nodes] = np.arange(nodes.size)
        edges = np.arange(int(self.num_edges))
        out = copy.copy(self)
        if self.edge_index is not None:
            pairs = number[to_array(self.edge_index)]
            edges = np.flatnonzero((pairs >= 0).all(axis=0))
            out._store["edge_index"] = _as_index(pairs[:, edges], self.edge_index)
        for key, value in self:
            if key == "edge_index":
                continue
            if key == "num_nodes":
                out._store[key] = int(nodes.size)
            elif self.is_node_attr(key):
                out._store[key] = select(value, nodes, self.__cat_dim__(key, value))
            elif self.is_edge_attr(key):
                out._store[key] = select(value, edges, self.__cat_dim__(key, value))
        return out

    @following
    def edge_subgraph(self, subset: Any) -> Any:
        """All nodes, and the edges of a mask or a vector of indices."""
        edges = positions(subset, int(self.num_edges), "subset")
        out = copy.copy(self)
        for key, value in self:
            if self.is_edge_attr(key):
                out._store[key] = select(value, edges, self.__cat_dim__(key, value))
        return out

    @following
    def connected_components(self) -> list[Any]:
        """The connected components, each as an object of its own."""
        label = components(to_array(self.edge_index), int(self.num_nodes))
        return [self.subgraph(np.flatnonzero(label == k)) for k in range(int(label.max()) + 1 if label.size else 0)]

    @following
    def to_heterogeneous(
        self,
        node_type: Any = None,
        edge_type: Any = None,
        node_type_names: list[str] | None = None,
        edge_type_names: list[tuple[str, str, str]] | None = None,
    ) -> Any:
        """A HeteroData by the type of each node and edge (`node_type`, `edge_type`, here or among the attributes)."""
        from .hetero_data import from_types

        return from_types(self, node_type, edge_type, node_type_names, edge_type_names)


def _as_index(array: np.ndarray, before: Any) -> Any:
    """New indices with the dtype and the kind of the old ones."""
    dtype = before.dtype.np if isinstance(before, Tensor) else before.dtype
    array = np.ascontiguousarray(array, dtype)
    return before._kind(array) if isinstance(before, Tensor) else array


def components(pairs: np.ndarray, n: int) -> np.ndarray:
    """The number of each node's component, ignoring directions; components are numbered by their first node. O((V + E) log V)."""
    label = np.arange(n)
    row, col = pairs
    while True:
        low = np.minimum(label[row], label[col])
        new = label.copy()
        np.minimum.at(new, label[row], low)
        np.minimum.at(new, label[col], low)
        while True:  # short cuts: every node points to the end of its chain
            jumped = new[new]
            if np.array_equal(jumped, new):
                break
            new = jumped
        if np.array_equal(new, label):
            return np.unique(label, return_inverse=True)[1].reshape(-1)
        label = new


def index_problems(edge_index: Any, what: str, size: tuple[Any, Any]) -> Iterator[str]:
    """What is wrong with the edges between size[0] and size[1] nodes."""
    if edge_index is None:
        return
    if not is_array(edge_index):
        yield f"{what} is a {type(edge_index).__name__}, not a tensor [2, E]"
        return
    shape = [int(s) for s in edge_index.shape]
    if len(shape) != 2 or shape[0] != 2:
        yield f"{what} needs to be of shape [2, num_edges], not {shape}"
        return
    a = to_array(edge_index)
    if a.dtype.kind not in "iu":
        yield f"{what} must hold whole numbers, not {a.dtype}"
        return
    if not a.size:
        return
    if a.min() < 0:
        yield f"{what} contains negative indices, such as {int(a.min())}"
    if size[0] is not None and size[0] == size[1]:
        if a.max() >= size[0]:
            yield f"{what} contains larger indices than the number of nodes: {int(a.max())}, but there are {size[0]} nodes"
        return
    for side, row, n in zip(("source", "destination"), a, size):
        if n is not None and row.max() >= n:
            yield f"{what} contains larger {side} indices than the number of nodes: {int(row.max())}, but there are {n} {side} nodes"


def report(wrong: list[str], raise_on_error: bool) -> bool:
    """Problems as an error, or as warnings; is there none?"""
    if wrong and raise_on_error:
        raise ValueError("; ".join(wrong))
    for text in wrong:
        warnings.warn(text, stacklevel=3)
    return not wrong


register(Data)

__all__ = ["NODE_INDEX", "BaseData", "Data", "Join", "by_groups", "by_nodes"]
