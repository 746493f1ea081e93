"""Data and HeteroData as sources of tensors and edges: the methods of FeatureStore and GraphStore on the attributes that they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..sparse_tensor import SparseTensor
from ._values import like, select, to_array
from .storage import NODE_KEYS
from .stores import UNSET, EdgeAttr, EdgeLayout, EdgeMethods, FeatureStore, GraphStore, TensorAttr, TensorMethods, _cast

_EDGE_KEYS = {EdgeLayout.COO: "edge_index", EdgeLayout.CSR: "adj", EdgeLayout.CSC: "adj_t"}


@dataclass
class DataTensorAttr(TensorAttr):
    """Names a tensor of a Data object, which has one group."""

    def __init__(self, attr_name: Any = UNSET, index: Any = None):
        super().__init__(None, attr_name, index)


@dataclass
class DataEdgeAttr(EdgeAttr):
    """Names edges of a Data object, which has one type of them."""

    def __init__(self, layout: Any = None, is_sorted: bool = False, size: tuple[int, int] | None = None, edge_type: Any = None):
        super().__init__(edge_type, layout, is_sorted, size)


class AsStores(TensorMethods, EdgeMethods):
    """Mixed into Data and HeteroData."""

    # ---- tensors ----

    def _attr_of(self, args: tuple[Any, ...], kwargs: dict[str, Any], whole: bool = True) -> Any:
        attr = _cast(self._tensor_attr, args, kwargs)
        if whole and not attr.is_fully_specified():
            raise ValueError(f"{attr} does not name a tensor in full")
        return attr

    @property
    def _tensor_attr(self) -> Any:
        return DataTensorAttr if hasattr(self, "_store") else TensorAttr

    def _part(self, name: Any) -> Any:
        return self._store if hasattr(self, "_store") else self._node_store_dict.get(name)  # type: ignore[attr-defined]

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        store = self._part(attr.group_name)
        if attr.index is None:
            store = self[attr.group_name] if store is None else store  # type: ignore[index]
            store[attr.attr_name] = tensor
            return True
        if store is None or attr.attr_name not in store:
            return False
        whole = to_array(store[attr.attr_name]).copy()
        whole[attr.index if isinstance(attr.index, slice) else to_array(attr.index)] = to_array(tensor)
        store[attr.attr_name] = like(whole, store[attr.attr_name])
        return True

    def _get_tensor(self, attr: TensorAttr) -> Any:
        store = self._part(attr.group_name)
        found = None if store is None else store.get(attr.attr_name)
        if found is None or attr.index is None:
            return found
        if isinstance(attr.index, (slice, int, np.integer)):
            return found[attr.index]
        return select(found, np.atleast_1d(to_array(attr.index)))

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        store = self._part(attr.group_name)
        if store is None or attr.attr_name not in store:
            return False
        del store[attr.attr_name]
        return True

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None:
        found = self._get_tensor(attr)
        return None if found is None else tuple(int(s) for s in found.shape)

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """The names of all attributes of nodes."""
        if hasattr(self, "_store"):
            return [DataTensorAttr(name) for name in self._store.keys() if self._store.is_node_attr(name)]
        nodes = self._node_store_dict.items()  # type: ignore[attr-defined]
        return [TensorAttr(kind, name) for kind, store in nodes for name in store.keys() if store.is_node_attr(name)]

    # ---- edges ----

    def _edges_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _cast(DataEdgeAttr if hasattr(self, "_store") else EdgeAttr, args, kwargs)

    def _edge_part(self, edge_type: Any) -> Any:
        return self._store if hasattr(self, "_store") else self._edge_store_dict.get(edge_type)  # type: ignore[attr-defined]

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        store = self._store if hasattr(self, "_store") else self[edge_attr.edge_type]  # type: ignore[index]
        first, second = edge_index
        size = edge_attr.size
        if edge_attr.layout is EdgeLayout.COO:
            store["edge_index"] = edge_index if isinstance(edge_index, Tensor) else Tensor.stack(first, second)
        elif edge_attr.layout is EdgeLayout.CSR:
            store["adj"] = SparseTensor(rowptr=first, col=second, sparse_sizes=size)
        else:
            store["adj_t"] = SparseTensor(rowptr=second, col=first, sparse_sizes=None if size is None else size[::-1])
        self._note_size(edge_attr)
        return True

    def _note_size(self, edge_attr: EdgeAttr) -> None:
        """What the size of edges says of the numbers of nodes is kept where nothing else does."""
        size = edge_attr.size
        if size is None:
            return
        if hasattr(self, "_store"):
            parts = [(self._store, size[0])] if size[0] == size[1] else []
        else:
            parts = [(self[kind], n) for kind, n in zip((edge_attr.edge_type[0], edge_attr.edge_type[-1]), size)]  # type: ignore[index]
        for store, count in parts:
            if count is not None and not any(key in store for key in ("num_nodes", *NODE_KEYS)):
                store.num_nodes = count

    def _get_edge_index(self, edge_attr: EdgeAttr) -> Any:
        store = self._edge_part(edge_attr.edge_type)
        found = None if store is None else store.get(_EDGE_KEYS[edge_attr.layout])
        if found is None:
            return None
        if edge_attr.layout is EdgeLayout.COO:
            return found[0], found[1]
        ptr, other, _ = found.csr()
        return (ptr, other) if edge_attr.layout is EdgeLayout.CSR else (other, ptr)

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        store, key = self._edge_part(edge_attr.edge_type), _EDGE_KEYS[edge_attr.layout]
        if store is None or key not in store:
            return False
        del store[key]
        return True

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """The types and layouts of all edges."""
        parts = [(None, self._store)] if hasattr(self, "_store") else list(self._edge_store_dict.items())  # type: ignore[attr-defined]
        out: list[EdgeAttr] = []
        for kind, store in parts:
            size = store.size() if hasattr(store, "size") else None
            size = None if size is None or None in size else size
            for layout, key in _EDGE_KEYS.items():
                if key in store:
                    out.append(DataEdgeAttr(layout, False, size) if kind is None else EdgeAttr(kind, layout, False, size))
        return out


def register(*classes: type) -> None:
    """isinstance(data, FeatureStore) and isinstance(data, GraphStore) hold."""
    for cls in classes:
        FeatureStore.register(cls)
        GraphStore.register(cls)


__all__ = ["AsStores", "DataEdgeAttr", "DataTensorAttr", "register"]
