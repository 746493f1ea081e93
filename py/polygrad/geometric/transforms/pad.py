"""Graphs of one size."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data import HeteroData
from ..utils import _host
from ._attributes import append, to_array
from .base_transform import BaseTransform


class Padding(ABC):
    """What attributes are filled up with."""

    @abstractmethod
    def get_value(self, store_type: Any = None, attr_name: str | None = None) -> Any:
        """The value for an attribute of a type of nodes or edges."""


@dataclass(init=False)
class UniformPadding(Padding):
    """One value everywhere.

    >>> from polygrad.geometric.transforms.pad import UniformPadding
    >>> UniformPadding(3.0).get_value("paper", "x")
    3.0
    """

    value: int | float = 0.0

    def __init__(self, value: int | float = 0.0):
        if not isinstance(value, (int, float)):
            raise ValueError(f"Expected 'value' to be an integer or float, not {type(value).__name__}")
        self.value = value

    def get_value(self, store_type: Any = None, attr_name: str | None = None) -> Any:
        return self.value


@dataclass(init=False)
class MappingPadding(Padding):
    """A padding for each key of a dictionary, a number or a Padding, and a default."""

    values: dict[Any, Padding]
    default: UniformPadding

    def __init__(self, values: dict[Any, Any], default: int | float = 0.0):
        if not isinstance(values, dict):
            raise ValueError(f"Expected 'values' to be a dictionary, not {type(values).__name__}")
        self.values = {key: UniformPadding(v) if isinstance(v, (int, float)) else v for key, v in values.items()}
        self.default = UniformPadding(default)
        for key, value in self.values.items():
            self.validate_key_value(key, value)

    def validate_key_value(self, key: Any, value: Any) -> None:
        """An error if the key or the value is of the wrong kind."""


class AttrNamePadding(MappingPadding):
    """A value for each attribute, by its name.

    >>> from polygrad.geometric.transforms.pad import AttrNamePadding
    >>> AttrNamePadding({"x": 1.0}, default=2.0).get_value(attr_name="y")
    2.0
    """

    def validate_key_value(self, key: Any, value: Any) -> None:
        if not isinstance(key, str):
            raise ValueError(f"Expected the attribute name {key!r} to be a string")
        if not isinstance(value, UniformPadding):
            raise ValueError(f"Expected the value of {key!r} to be of type 'UniformPadding' or a number, not {type(value).__name__}")

    def get_value(self, store_type: Any = None, attr_name: str | None = None) -> Any:
        return self.values.get(attr_name, self.default).get_value()


class _TypePadding(MappingPadding):
    def get_value(self, store_type: Any = None, attr_name: str | None = None) -> Any:
        return self.values.get(store_type, self.default).get_value(attr_name=attr_name)

    def _check_value(self, key: Any, value: Any) -> None:
        if not isinstance(value, (UniformPadding, AttrNamePadding)):
            kinds = "'UniformPadding' or 'AttrNamePadding'"
            raise ValueError(f"Expected the value of {key!r} to be of type {kinds} or a number, not {type(value).__name__}")


class NodeTypePadding(_TypePadding):
    """A value, or an AttrNamePadding, for each type of nodes."""

    def validate_key_value(self, key: Any, value: Any) -> None:
        if not isinstance(key, str):
            raise ValueError(f"Expected the node type {key!r} to be a string")
        self._check_value(key, value)


class EdgeTypePadding(_TypePadding):
    """A value, or an AttrNamePadding, for each type of edges."""

    def validate_key_value(self, key: Any, value: Any) -> None:
        if not isinstance(key, tuple):
            raise ValueError(f"Expected the edge type {key!r} to be a tuple")
        if len(key) != 3:
            raise ValueError(f"Expected the edge type {key!r} to hold exactly three elements")
        self._check_value(key, value)


class Pad(BaseTransform):
    """Fills a graph up to max_num_nodes nodes and max_num_edges edges, so that all graphs have one size, and one compiled program.

    max_num_nodes, max_num_edges: numbers, or dicts by type; max_num_edges is the square of max_num_nodes if it is not given. New edges join the
    first new node with itself. node_pad_value, edge_pad_value: a number, or a UniformPadding, AttrNamePadding, NodeTypePadding or
    EdgeTypePadding. mask_pad_value: of train_mask, val_mask and test_mask. add_pad_mask: adds pad_node_mask and pad_edge_mask, true for what was
    there. exclude_keys: attributes that are dropped.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.data import Data
    >>> from polygrad.geometric.transforms import Pad
    >>> data = Pad(3, 4)(Data(x=Tensor([[1.0], [2.0]]), edge_index=Tensor([[0, 1], [1, 0]])))
    >>> data.x.tolist(), data.edge_index.tolist()
    ([[1.0], [2.0], [0.0]], [[0, 1, 2, 2], [1, 0, 2, 2]])
    """

    def __init__(
        self,
        max_num_nodes: int | dict[str, int],
        max_num_edges: int | dict[Any, int] | None = None,
        node_pad_value: Any = 0.0,
        edge_pad_value: Any = 0.0,
        mask_pad_value: bool = False,
        add_pad_mask: bool = False,
        exclude_keys: list[str] | None = None,
    ):
        self.max_num_nodes = max_num_nodes
        if max_num_edges is None:
            max_num_edges = max_num_nodes * max_num_nodes if isinstance(max_num_nodes, int) else {}
        self.max_num_edges = max_num_edges
        self.node_pad = node_pad_value if isinstance(node_pad_value, Padding) else UniformPadding(node_pad_value)
        self.edge_pad = edge_pad_value if isinstance(edge_pad_value, Padding) else UniformPadding(edge_pad_value)
        self.mask_pad_value, self.add_pad_mask = mask_pad_value, add_pad_mask
        self.exclude_keys = set(exclude_keys or ())

    def _nodes(self, kind: Any) -> int:
        return self.max_num_nodes if isinstance(self.max_num_nodes, int) else self.max_num_nodes[kind]

    def _edges(self, kind: Any) -> int:
        if isinstance(self.max_num_edges, int):
            return self.max_num_edges
        return self.max_num_edges[kind] if kind in self.max_num_edges else self._nodes(kind[0]) * self._nodes(kind[-1])

    def forward(self, data: Any) -> Any:
        hetero = isinstance(data, HeteroData)
        allowed: tuple[Any, ...] = (UniformPadding, AttrNamePadding)
        for pad, more in ((self.node_pad, NodeTypePadding), (self.edge_pad, EdgeTypePadding)):
            if not isinstance(pad, (*allowed, more) if hetero else allowed):
                raise ValueError(f"a {type(pad).__name__} does not fit a {type(data).__name__}")
        for store in data.stores:
            for key in self.exclude_keys & set(store.keys()):
                del store[key]
        counts = {store._key: int(store.num_nodes) for store in data.node_stores}
        for store in data.edge_stores:
            kind = store._key
            self._pad_edges(data, store, (counts[kind[0]], counts[kind[-1]]) if hetero else (counts[None], counts[None]), kind)
        for store in data.node_stores:
            self._pad_nodes(data, store, store._key, counts[store._key])
            store.num_nodes = self._nodes(store._key)
        return data

    def _pad_nodes(self, data: Any, store: Any, kind: Any, n: int) -> None:
        keys = [key for key in store.keys() if store.is_node_attr(key) and isinstance(store[key], Tensor)]
        if not keys:
            return
        wanted = self._nodes(kind)
        if wanted < n:
            of = "" if kind is None else f" of the type {kind!r}"
            raise AssertionError(f"The number of nodes after padding ({wanted}) cannot be lower than the number of nodes{of}, {n}")
        for key in keys:
            fill = self.mask_pad_value if key in ("train_mask", "val_mask", "test_mask") else self.node_pad.get_value(kind, key)
            store[key] = append(store[key], wanted - n, data.__cat_dim__(key, store[key]), fill)
        if self.add_pad_mask:
            store.pad_node_mask = _host.tensor(np.arange(wanted) < n)

    def _pad_edges(self, data: Any, store: Any, num_nodes: tuple[int, int], kind: Any) -> None:
        keys = [key for key in store.keys() if store.is_edge_attr(key) and isinstance(store[key], Tensor)]
        if not keys:
            return
        wanted, m = self._edges(kind), int(store.num_edges)
        if wanted < m:
            of = "" if kind is None else f" of the type {kind}"
            raise AssertionError(f"The number of edges after padding ({wanted}) cannot be lower than the number of edges{of}, {m}")
        for key in keys:
            if key == "edge_index":
                e = to_array(store[key])
                new = np.repeat(np.array(num_nodes, e.dtype).reshape(2, 1), wanted - m, axis=1)
                store[key] = _host.tensor(np.concatenate([e, new], axis=1))
            else:
                store[key] = append(store[key], wanted - m, data.__cat_dim__(key, store[key]), self.edge_pad.get_value(kind, key))
        if self.add_pad_mask:
            store.pad_edge_mask = _host.tensor(np.arange(wanted) < m)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(max_num_nodes={self.max_num_nodes}, max_num_edges={self.max_num_edges}, "
            f"node_pad_value={self.node_pad}, edge_pad_value={self.edge_pad})"
        )


__all__ = ["AttrNamePadding", "EdgeTypePadding", "MappingPadding", "NodeTypePadding", "Pad", "Padding", "UniformPadding"]
