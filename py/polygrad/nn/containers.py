"""Containers of modules and of parameters: lists, dicts and sequences, with PyTorch's methods."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..tensor import Tensor
from .module import Module, Parameter, _indented


class _Entries(Module):
    """Holds entries by name; the names of a list are its numbers."""

    _entries: dict[str, Any]

    def _state_items(self) -> dict[str, Any]:
        return {**self._entries, **super()._state_items()}  # a subclass, or register_buffer, may have put more beside the entries

    def add_module(self, name: str, module: Any) -> None:
        self._entries[name] = module

    register_module = add_module

    def __getattr__(self, name: str) -> Any:
        entries = self.__dict__.get("_entries", {})
        if name in entries:
            return entries[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """setattr(model, "0", layer) puts a layer in the place of the one that has this name."""
        entries = self.__dict__.get("_entries", {})
        if name in entries:
            entries[name] = value
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        entries = self.__dict__.get("_entries", {})
        if name in entries:
            del entries[name]
        else:
            super().__delattr__(name)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, x: Any) -> bool:
        return x in self._entries


class ModuleList(_Entries):
    """A list of modules.

    >>> from polygrad import nn
    >>> len(nn.ModuleList([nn.ReLU(), nn.ReLU()]))
    2
    """

    def _lines(self) -> list[str]:
        """Equal modules one after another are printed once."""
        out: list[str] = []
        texts = [_indented(repr(m)) for m in self]
        for text, run in itertools.groupby(enumerate(texts), key=lambda item: item[1]):
            places = [k for k, _ in run]
            out.append(f"({places[0]}): {text}" if len(places) == 1 else f"({places[0]}-{places[-1]}): {len(places)} x {text}")
        return out

    def __init__(self, modules: Iterable[Any] | None = None):
        self._entries = {}
        self.extend(modules or ())

    def _fill(self, values: Iterable[Any]) -> None:
        self._entries = {str(k): m for k, m in enumerate(values)}

    def _name(self, k: Any) -> str:
        n, names = len(self._entries), list(self._entries)
        k = k.__index__()
        if not -n <= k < n:
            raise IndexError(f"index {k} is out of range")
        return names[k]

    def append(self, module: Any) -> Any:
        """Puts a module behind the others."""
        self._entries[str(len(self._entries))] = module
        return self

    def extend(self, modules: Iterable[Any]) -> Any:
        """Puts several modules behind the others."""
        if isinstance(modules, str) or not isinstance(modules, Iterable):
            raise TypeError(f"{type(self).__name__}.extend should be called with an iterable, but got {type(modules).__name__}")
        for m in modules:
            self.append(m)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Puts a module before the one at index."""
        values = list(self._entries.values())
        values.insert(index, module)
        self._fill(values)
        return self

    def pop(self, key: int = -1) -> Any:
        """Takes one module out."""
        m = self[key]
        del self[key]
        return m

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return type(self)(list(self._entries.values())[k])
        return self._entries[self._name(k)]

    def __setitem__(self, k: Any, module: Any) -> None:
        self._entries[self._name(k)] = module

    def __delitem__(self, k: Any) -> None:
        values = list(self._entries.values())
        del values[k]
        self._fill(values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries.values())

    def __contains__(self, x: Any) -> bool:
        return any(x is m for m in self._entries.values())

    def __iadd__(self, modules: Iterable[Any]) -> Any:
        return self.extend(modules)

    def __add__(self, modules: Iterable[Any]) -> Any:
        return type(self)([*self, *modules])


class Sequential(ModuleList):
    """Applies modules one after the other: given one by one, as a list, or by name in a dict.

    >>> from polygrad import Tensor, nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())(Tensor.ones(1, 2)).shape
    (1, 3)
    """

    def _lines(self) -> list[str]:
        return Module._lines(self)  # each by its name

    def __init__(self, *modules: Any):
        if len(modules) == 1 and isinstance(modules[0], Mapping) and not isinstance(modules[0], Module):
            self._entries = dict(modules[0])
        else:
            super().__init__(modules[0] if len(modules) == 1 and isinstance(modules[0], (list, tuple)) else modules)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return type(self)(dict(list(self._entries.items())[k]))
        return self._entries[k] if isinstance(k, str) else super().__getitem__(k)

    def forward(self, x: Any) -> Any:
        for m in self._entries.values():
            x = m(x)
        return x


class ModuleDict(_Entries):
    """Modules by name.

    >>> from polygrad import Tensor, nn
    >>> layers = nn.ModuleDict({"a": nn.Linear(2, 3)})
    >>> sorted(layers.state_dict()), "a" in layers
    (['a.bias', 'a.weight'], True)
    """

    def __init__(self, modules: Any = None):
        self._entries = {}
        if modules is not None:
            self.update(modules)

    def update(self, modules: Any) -> None:
        """Adds the modules of a dict, or of pairs."""
        self._entries.update(dict(modules.items() if hasattr(modules, "items") else modules))

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self._entries[key] = module

    def __delitem__(self, key: str) -> None:
        del self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def clear(self) -> None:
        """Takes everything out."""
        self._entries.clear()

    def pop(self, key: str) -> Any:
        """Takes one module out."""
        return self._entries.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._entries.keys()

    def items(self) -> Any:
        """Names and modules."""
        return self._entries.items()

    def values(self) -> Any:
        """The modules."""
        return self._entries.values()


def _parameter(x: Any) -> Any:
    return Parameter(x) if isinstance(x, Tensor) and not isinstance(x, Parameter) else x


class ParameterList(ModuleList):
    """A list of parameters; tensors become parameters.

    >>> from polygrad import Tensor, nn
    >>> [n for n, _ in nn.ParameterList([Tensor.ones(2), Tensor.ones(3)]).named_parameters()]
    ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None):
        super().__init__(values)

    def append(self, module: Any) -> Any:
        """Puts a parameter behind the others."""
        return super().append(_parameter(module))

    def __setitem__(self, k: Any, value: Any) -> None:
        super().__setitem__(k, _parameter(value))

    def _lines(self) -> list[str]:
        return _parameter_lines(self._entries)


class ParameterDict(ModuleDict):
    """Parameters by name; tensors become parameters.

    >>> from polygrad import Tensor, nn
    >>> list(nn.ParameterDict({"w": Tensor.ones(2)}))
    ['w']
    """

    def __init__(self, parameters: Any = None):
        super().__init__(parameters)

    def update(self, modules: Any) -> None:
        """Adds the parameters of a dict, or of pairs. As in PyTorch those of a plain dict come in the order of their names."""
        named = hasattr(modules, "items")
        pairs = list(modules.items() if named else modules)
        if named and not isinstance(modules, (OrderedDict, ParameterDict)):
            pairs.sort(key=lambda pair: pair[0])
        super().update([(k, _parameter(v)) for k, v in pairs])

    def __setitem__(self, key: str, module: Any) -> None:
        super().__setitem__(key, _parameter(module))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter under a name, which is put there if there is none."""
        if key not in self._entries:
            self[key] = default
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter under a name, or default."""
        return self._entries.get(key, default)

    def copy(self) -> ParameterDict:
        """A dict with the same parameters."""
        return ParameterDict(OrderedDict(self._entries))

    def _lines(self) -> list[str]:
        return _parameter_lines(self._entries)


def _parameter_lines(entries: dict[str, Any]) -> list[str]:
    def text(v: Any) -> str:
        return f"Parameter containing: [{v.dtype} of size {'x'.join(map(str, v.shape))}]" if isinstance(v, Tensor) else repr(v)

    return [f"({name}): {_indented(text(v))}" for name, v in entries.items()]


__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
