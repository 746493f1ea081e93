"""A model for graphs of one type, used on graphs of several that are joined to one: each layer a few times, weighted by the edge type."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np

from ... import nn
from ...tensor import Tensor
from ..sparse_tensor import SparseTensor
from .conv.message_passing import MessagePassing
from .dense.linear import Linear
from .inits import glorot
from .module_dict import ModuleDict
from .to_hetero_transformer import Held, argument_levels, check_metadata, key2str, replace_modules


def _weigh(layer: Any, inputs: Any, messages: Tensor) -> Tensor:
    """Messages times the weight of their edge's type."""
    edge_type, edges = layer._edge_type, messages.shape[layer.node_dim]
    if edge_type.shape[0] != edges:
        raise ValueError(f"there are {edges} messages for {edge_type.shape[0]} edges: does the layer add self loops? add_self_loops=False")
    shape = [1] * messages.ndim
    shape[layer.node_dim] = -1
    return messages * layer.edge_type_weight.reshape(-1)[edge_type].reshape(*shape)


class HeteroBasisConv(nn.Module):
    """A layer num_bases times; the messages of each are weighted by the type of the edge, and the results added:

    x'_i = sum over bases b of conv_b(x, edges), whose messages along an edge of type r are multiplied with w_b[r]
    """

    def __init__(self, module: Any, num_relations: int, num_bases: int):
        self.num_relations, self.num_bases = num_relations, num_bases
        self.convs = nn.ModuleList()
        for _ in range(num_bases):
            conv = copy.deepcopy(module)
            conv.fuse = False
            conv.edge_type_weight = Tensor.zeros(1, num_relations, requires_grad=True)
            conv.register_message_forward_hook(_weigh)
            self.convs.append(conv)
        self.reset_parameters(num_bases > 1)

    def reset_parameters(self, layers: bool = True) -> None:
        """Draws new weights, and new parameters of the layers."""
        for conv in self.convs:
            if layers and hasattr(conv, "reset_parameters"):
                conv.reset_parameters()
            elif layers and conv.parameters():
                warnings.warn(f"{conv} is copied, but has no reset_parameters(): all copies begin with the same parameters", stacklevel=4)
            glorot(conv.edge_type_weight)

    def forward(self, edge_type: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        out: Any = None
        for conv in self.convs:
            conv._edge_type = edge_type
            try:
                found = conv(*args, **kwargs)
            finally:
                conv._edge_type = None
            out = found if out is None else out + found
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_relations={self.num_relations}, num_bases={self.num_bases})"


class LinearAlign(nn.Module):
    """A linear map for each type, so that all have features of one width."""

    def __init__(self, keys: list[Any], out_channels: int):
        self.out_channels = out_channels
        self.lins = ModuleDict({key2str(key): Linear(-1, out_channels, bias=False) for key in keys})

    def forward(self, x_dict: dict[Any, Tensor]) -> dict[Any, Tensor]:
        return {key: self.lins[key2str(key)](x) for key, x in x_dict.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_relations={len(self.lins)}, out_channels={self.out_channels})"


class _Layer(nn.Module):
    """A HeteroBasisConv in the place of a layer: gets the edge types from the model that it is part of."""

    def __init__(self, made: HeteroBasisConv, owner: Any, layer: Any):
        self._made, self._owner, self._layer = made, owner, Held(layer)

    def _state_items(self) -> dict[str, Any]:
        return self._made._state_items()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "_layer" not in self.__dict__:
            raise AttributeError(name)
        made = self.__dict__["_made"]
        return getattr(made, name) if name in ("convs", "num_bases", "num_relations") else getattr(self.__dict__["_layer"].module, name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._made(self._owner[0], *args, **kwargs)


class HeteroBasesModule(nn.Module):
    """What to_hetero_with_bases makes: called with dicts by type in place of the arguments of the model, gives dicts."""

    def __init__(self, module: Any, metadata: Any, num_bases: int, in_channels: dict[str, int] | None, input_map: dict[str, str] | None):
        if num_bases < 1:
            raise ValueError(f"num_bases must be positive, not {num_bases}")
        nodes, edges = check_metadata(metadata)
        self._metadata, self._levels = (nodes, edges), argument_levels(module, input_map)
        self._inner = copy.deepcopy(module)
        self._edge_type: list[Any] = [None]  # shared with the layers
        self._kept: Any = None
        self._matrices: Any = None
        self._has_layers = False

        def make(child: Any, path: str) -> Any:
            if not isinstance(child, MessagePassing):
                return child
            self._has_layers = True
            return _Layer(HeteroBasisConv(child, len(edges), num_bases), self._edge_type, child)

        replace_modules(self._inner, make)
        self._aligned = {}
        for name, channels in (in_channels or {}).items():
            if name not in self._levels:
                raise ValueError(f"in_channels names {name!r}, but the model takes {list(self._levels)}")
            self._aligned[name] = LinearAlign(self._metadata[self._levels[name] == "edge"], channels)

    def _state_items(self) -> dict[str, Any]:
        return {**self._inner._state_items(), **{f"align_lin__{name}": lin for name, lin in self._aligned.items()}}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._inner, name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(self._levels, args)), **kwargs}
        for name, lin in self._aligned.items():
            if name in given:
                given[name] = lin(given[name])
        first = next((v for n, v in given.items() if self._levels.get(n) == "node" and isinstance(v, dict)), None)
        if first is None:
            raise ValueError("the model needs features of nodes by type, to know how many nodes there are")
        sizes = [first[kind].shape[0] for kind in self._metadata[0]]
        on_edges = {n: v for n, v in given.items() if self._levels.get(n) == "edge" and isinstance(v, dict)}
        indices = {n: self._unpacked(v) for n, v in on_edges.items() if _is_index(v)}
        index: Any = None
        counts: list[int] = []
        if indices:
            index, counts = self._joined(next(iter(indices.values())), sizes)
        elif on_edges:
            counts = [next(iter(on_edges.values()))[kind].shape[0] for kind in self._metadata[1]]
        if index is None and self._has_layers:
            raise ValueError("the model needs the edges by type, each of shape [2, E]")
        joined = {n: index if n in indices else self._one(n, v) for n, v in given.items()}
        return self._split(self._inner.forward(**joined), sizes, counts)

    def _unpacked(self, values: dict[Any, Any]) -> dict[Any, Tensor]:
        """Edges by type out of transposed matrices by type; the same for the same matrices."""
        if not any(isinstance(v, SparseTensor) for v in values.values()):
            return values
        matrices = list(values.values())
        if self._matrices is None or any(a is not b for a, b in zip(self._matrices[0], matrices)):
            if any(m.has_value() for m in matrices):
                raise ValueError("matrices with values are not joined: give the edges and their values as tensors by type")
            self._matrices = (matrices, {kind: Tensor.stack(*m.coo()[1::-1]) for kind, m in values.items()})
        return self._matrices[1]

    def _joined(self, edges: dict[Any, Tensor], sizes: list[int]) -> tuple[Tensor, list[int]]:
        """The edges of all types between nodes that are numbered one type after the other. Kept while the same tensors come, so that a compiled step
        finds a graph that is known."""
        parts = [edges[kind] for kind in self._metadata[1]]
        counts = [p.shape[1] for p in parts]
        if self._kept is None or self._kept[1] != sizes or any(a is not b for a, b in zip(self._kept[0], parts)):
            first = dict(zip(self._metadata[0], np.concatenate([[0], np.cumsum(sizes)[:-1]])))
            moved = [p + Tensor(np.array([[first[k[0]]], [first[k[-1]]]]), dtype=p.dtype) for p, k in zip(parts, self._metadata[1])]
            index = moved[0].realize() if len(moved) == 1 else Tensor.cat(*moved, dim=1).realize()
            types = Tensor(np.repeat(np.arange(len(counts), dtype=np.int32), counts))
            self._kept = (parts, list(sizes), index, types)
        self._edge_type[0] = self._kept[3]
        return self._kept[2], counts

    def _one(self, name: str, value: Any) -> Any:
        level = self._levels.get(name)
        if not isinstance(value, dict) or level not in ("node", "edge"):
            return value
        parts = [value[kind] for kind in self._metadata[level == "edge"]]
        return parts[0] if len(parts) == 1 else Tensor.cat(*parts, dim=0 if parts[0].ndim == 1 else -2)

    def _split(self, out: Any, sizes: list[int], counts: list[int]) -> Any:
        if isinstance(out, (list, tuple)):
            return type(out)(self._split(v, sizes, counts) for v in out)
        if isinstance(out, dict):
            return {k: self._split(v, sizes, counts) for k, v in out.items()}
        if not isinstance(out, Tensor):
            return out
        axis = 0 if out.ndim == 1 else out.ndim - 2
        for kinds, parts in zip(self._metadata, (sizes, counts)):
            if out.shape[axis] == sum(parts):
                return dict(zip(kinds, out.split(parts, dim=axis)))
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r}, {len(self._metadata[0])} node types, {len(self._metadata[1])} edge types)"


def _is_index(values: dict[Any, Any]) -> bool:
    return all(
        isinstance(v, SparseTensor) or (isinstance(v, Tensor) and v.ndim == 2 and v.shape[0] == 2 and v.dtype.kind in "iu") for v in values.values()
    )


def to_hetero_with_bases(
    module: Any, metadata: Any, num_bases: int, in_channels: dict[str, int] | None = None, input_map: dict[str, str] | None = None,
    debug: bool = False,
) -> HeteroBasesModule:  # fmt: skip
    """A model for graphs of one type as a model for graphs of several types, by basis decomposition (Schlichtkrull et al., 2018): every message
    passing layer is there num_bases times, its messages weighted by the type of the edge. Its parameters grow with num_bases, not with the types.

    module, metadata, input_map: as for to_hetero. in_channels: {argument: width}: features of all types are brought to one width by linear maps.
    debug: prints the model. Layers must not add self loops.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import SAGEConv, to_hetero_with_bases
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.conv, self.lin = SAGEConv((16, 16), 8), nn.Linear(8, 2)
    ...     def forward(self, x, edge_index):
    ...         return self.lin(self.conv(x, edge_index).relu())
    >>> net = to_hetero_with_bases(Net(), (["user", "item"], [("user", "buys", "item"), ("item", "by", "user")]), num_bases=3,
    ...     in_channels={"x": 16})
    >>> x = {"user": Tensor.ones(3, 4), "item": Tensor.ones(2, 5)}
    >>> edges = {("user", "buys", "item"): Tensor([[0, 1], [0, 1]]), ("item", "by", "user"): Tensor([[0, 1], [0, 1]])}
    >>> {kind: out.shape for kind, out in net(x, edges).items()}
    {'user': (3, 2), 'item': (2, 2)}
    """
    made = HeteroBasesModule(module, metadata, num_bases, in_channels, input_map)
    if debug:
        print(made)
    return made


__all__ = ["HeteroBasesModule", "HeteroBasisConv", "LinearAlign", "to_hetero_with_bases"]
