"""A model for graphs of one type, used on graphs of several: a copy of each layer for every type."""

from __future__ import annotations

import copy
import inspect
import warnings
from typing import Any

from ... import nn
from ...nn.state import get_parameters
from ..utils.hetero import check_add_self_loops, get_unused_node_types
from ._typed import EDGE, GRAPH, NODE, Probe, Typed, each, gather, level_of, probed, untyped
from .aggr.base import Aggregation
from .conv.hetero_conv import group
from .conv.message_passing import MessagePassing
from .inits import reset
from .module_dict import ModuleDict
from .sequential import Sequential

AGGRS = ("sum", "mean", "min", "max", "mul")


def key2str(key: Any) -> str:
    """A type as part of a name.

    >>> from polygrad.geometric.nn.to_hetero_transformer import key2str
    >>> key2str(("author", "writes", "paper"))
    'author__writes__paper'
    """
    key = "__".join(key) if isinstance(key, tuple) else key
    return key.replace(" ", "_").replace("-", "_").replace(":", "_")


def check_metadata(metadata: Any) -> tuple[list[str], list[Any]]:
    """Types of nodes and edges; warns of what is likely to be a mistake."""
    if len(metadata) != 2 or not metadata[0] or not metadata[1]:
        raise ValueError(f"metadata is a pair of the types of nodes and of edges, both not empty, not {metadata!r}")
    nodes, edges = list(metadata[0]), [tuple(e) for e in metadata[1]]
    unused = get_unused_node_types(nodes, edges)
    if unused:
        text = f"There exist node types {sorted(unused)} whose representations do not get updated"
        warnings.warn(f"{text}: they do not occur as destination type in any edge type", stacklevel=3)
    for name in [*nodes, *[e[1] for e in edges]]:
        if not name.isidentifier():
            warnings.warn(
                f"the type {name!r} has characters other than letters, numbers and underscores, which change in names of parameters", stacklevel=3
            )
    return nodes, edges


def argument_levels(module: Any, input_map: dict[str, str] | None) -> dict[str, str]:
    """Whether each argument of a model's forward is by node or by edge type: what input_map says, else by its name."""
    names = [n for n, p in inspect.signature(module.forward).parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if isinstance(module, Sequential):
        names = module._arguments
    given = input_map or {}
    for name, level in given.items():
        if level not in (NODE, EDGE, GRAPH):
            raise ValueError(f"input_map says 'node', 'edge' or 'graph' of an argument, not {level!r} of {name!r}")
    return {n: given.get(n, EDGE if "edge" in n or "adj" in n else NODE) for n in names}


def replace_modules(module: Any, make: Any, path: str = "") -> None:
    """Puts make(child, its path) in place of the modules inside a model; lists, dicts and sequences of modules stay, their entries are replaced."""

    def changed(child: Any, where: str) -> Any:
        if isinstance(child, (nn.ModuleList, ModuleDict, Sequential)):
            replace_modules(child, make, f"{where}.")
            return child
        return make(child, where)

    if isinstance(module, nn.ModuleList):
        for k, m in enumerate(module):
            module[k] = changed(m, f"{path}{k}")
    elif isinstance(module, ModuleDict):
        for key, m in list(module.items()):
            module[key] = changed(m, f"{path}{key}")
    else:
        for name, value in list(vars(module).items()):
            if isinstance(value, nn.Module):
                module.__dict__[name] = changed(value, f"{path}{name}")
            elif isinstance(value, (list, tuple)) and any(isinstance(v, nn.Module) for v in value):
                parts = [changed(v, f"{path}{name}.{k}") if isinstance(v, nn.Module) else v for k, v in enumerate(value)]
                module.__dict__[name] = type(value)(parts)


class Held:
    """A module that is not part of the model which holds it: it is neither walked over nor among its parameters."""

    def __init__(self, module: Any):
        self.module = module


class _PerType(ModuleDict):
    """Copies of one module, by the name of the type. Before they are made it records at which level it is called."""

    stands_for = "ModuleDict"

    def __init__(self, module: Any, path: str, types: dict[str, list[Any]], aggr: str):
        super().__init__()
        self._held, self._path, self._types, self._aggr = Held(module), path, types, aggr
        self._kind = "conv" if isinstance(module, MessagePassing) else "pool" if isinstance(module, Aggregation) else "other"
        self._used: str | None = None
        if self._kind == "conv":
            check_add_self_loops(module, types[EDGE])

    def _state_items(self) -> dict[str, Any]:
        return self._module._state_items() if self._used in (None, GRAPH) else super()._state_items()

    @property
    def _module(self) -> Any:
        return self._held.module

    def __getattr__(self, name: str) -> Any:
        """What else a model wants to know of a layer, such as its sizes, is the same for all copies."""
        if name.startswith("_") or "_held" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["_held"].module, name)

    def probe(self, args: Any, kwargs: Any) -> Any:
        level = EDGE if self._kind == "conv" else probed((args, kwargs))
        self._used = level if self._used is None else self._used
        return Probe(NODE if self._kind == "conv" else GRAPH if self._kind == "pool" else level)

    def copies(self) -> None:
        """Makes the copies. The parameters of each are drawn anew if there are several."""
        if self._used in (None, GRAPH):
            return
        assert self._used is not None
        keys = self._types[self._used]
        for key in keys:
            made = self[key2str(key)] = copy.deepcopy(self._module)
            if len(keys) < 2:
                continue
            reset(made)
            if not hasattr(made, "reset_parameters") and not type(made).__module__.startswith("polygrad.") and get_parameters(made):
                warnings.warn(
                    f"{self._path!r} is copied for each type, but its parameters cannot be reset: {type(made).__name__} has no reset_parameters()."
                    " Parameters of its own that are not in layers begin the same in all copies",
                    stacklevel=5,
                )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if _has_probe((args, kwargs)):
            return self.probe(args, kwargs)
        if self._used in (None, GRAPH):
            return self._module(*args, **kwargs)
        assert self._used is not None
        if self._kind != "conv" and level_of(args, kwargs) == GRAPH:
            raise ValueError(f"{self._path!r} was made for values by {self._used} type, but is called with one value for all types")
        keys = self._types[self._used]
        found = {key: self[key2str(key)](*a, **kw) for key, (a, kw) in each(args, kwargs, keys).items()}
        if self._kind == "conv":
            by_end: dict[str, list[Any]] = {}
            for key, value in found.items():
                by_end.setdefault(key[-1], []).append(value)
            return Typed(NODE, {kind: group(values, self._aggr) for kind, values in by_end.items()})
        return group(list(found.values()), self._aggr) if self._kind == "pool" else gather(self._used, found)


def _has_probe(value: Any) -> bool:
    if isinstance(value, Probe):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(_has_probe(v) for v in parts)


class HeteroModule(nn.Module):
    """What to_hetero makes: called with dicts by type in place of the arguments of the model, gives dicts."""

    stands_for = "GraphModule"

    def __init__(self, module: Any, metadata: Any, aggr: str, input_map: dict[str, str] | None):
        if aggr not in AGGRS:
            raise ValueError(f"aggr must be one of {', '.join(AGGRS)}, not {aggr!r}")
        nodes, edges = check_metadata(metadata)
        self._metadata, self._levels = (nodes, edges), argument_levels(module, input_map)
        types = {NODE: nodes, EDGE: edges}
        self._inner = copy.deepcopy(module)
        self._parts: list[_PerType] = []

        def make(child: Any, path: str) -> _PerType:
            self._parts.append(_PerType(child, path, types, aggr))
            return self._parts[-1]

        replace_modules(self._inner, make)
        self._probe()
        for part in self._parts:
            part.copies()

    def _probe(self) -> None:
        """Runs the model on values that only know their level: with the arguments that it needs, and with all that it can have."""
        required = self._required()
        for names in (required, list(self._levels)):
            try:
                self._inner.forward(**{n: Probe(self._levels[n]) for n in names})
            except Exception:  # what a model does with its values is its own business: a layer that was not reached is by node type
                continue
        for part in self._parts:
            if part._used is None:
                part._used = EDGE if part._kind == "conv" else None

    def _required(self) -> list[str]:
        if isinstance(self._inner, Sequential):
            return list(self._levels)
        params = inspect.signature(self._inner.forward).parameters
        return [n for n in self._levels if params[n].default is inspect.Parameter.empty]

    def _state_items(self) -> dict[str, Any]:
        return self._inner._state_items()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._inner, name)

    def reset_parameters(self) -> None:
        """Draws new parameters of all copies."""
        for part in self._parts:
            for made in part.values() if len(part) else [part._module]:
                reset(made)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        names = list(self._levels)
        if len(args) > len(names):
            raise TypeError(f"the model takes {len(names)} arguments, got {len(args)}")
        given = {**dict(zip(names, args)), **kwargs}
        typed = {n: self._typed(n, value) for n, value in given.items()}
        return untyped(self._inner.forward(**typed))

    def _typed(self, name: str, value: Any) -> Any:
        level = self._levels.get(name, GRAPH)
        if not isinstance(value, dict) or level == GRAPH:
            return value
        known = self._metadata[level == EDGE]
        return Typed(level, {key: value.get(key) for key in known})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r}, {len(self._metadata[0])} node types, {len(self._metadata[1])} edge types)"


def to_hetero(module: Any, metadata: Any, aggr: str = "sum", input_map: dict[str, str] | None = None, debug: bool = False) -> HeteroModule:
    r"""A model for graphs of one type as a model for graphs of several types (Schlichtkrull et al., 2018): message passing layers are copied for each
    edge type, others for each node type, and what several edge types bring to a node is joined by aggr.

        h_t = aggr over edge types (s, r, t) of conv_(s, r, t)((h_s, h_t), edges of r)

    module: any model whose forward computes with its modules, with methods and operators of tensors, Tensor.cat and Tensor.stack, functions of
    polygrad.nn.functional, and global poolings; layers whose input sizes differ between types take -1 for them. metadata: (node types, edge
    types), see HeteroData.metadata(). aggr: 'sum', 'mean', 'min', 'max' or 'mul'. input_map: {argument: 'node', 'edge' or 'graph'} where the names
    do not tell; those with 'edge' or 'adj' in them are by edge type. debug: prints which copies were made.

    The result is called with dicts by type. Its state dict has PyG's names ('conv1.author__writes__paper.lin_l.weight'). Aggregations used as
    modules give one value for the whole graph, joined over the node types.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import SAGEConv, to_hetero
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         self.conv, self.lin = SAGEConv((-1, -1), 8), nn.Linear(8, 2)
    ...     def forward(self, x, edge_index):
    ...         return self.lin(self.conv(x, edge_index).relu())
    >>> net = to_hetero(Net(), (["user", "item"], [("user", "buys", "item"), ("item", "by", "user")]))
    >>> x = {"user": Tensor.ones(3, 4), "item": Tensor.ones(2, 5)}
    >>> edges = {("user", "buys", "item"): Tensor([[0, 1], [0, 1]]), ("item", "by", "user"): Tensor([[0, 1], [0, 1]])}
    >>> {kind: out.shape for kind, out in net(x, edges).items()}
    {'user': (3, 2), 'item': (2, 2)}
    """
    made = HeteroModule(module, metadata, aggr, input_map)
    if debug:
        for part in made._parts:
            print(f"{part._path}: {type(part._module).__name__} by {part._used or 'nothing: one for all'}, {len(part)} copies")
    return made


__all__ = ["Held", "HeteroModule", "argument_levels", "check_metadata", "key2str", "replace_modules", "to_hetero"]
