"""Modules one after the other, with names for what goes in and out of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ... import nn
from .inits import reset


class Child(NamedTuple):
    """One step: which values the module gets, and what its results are called."""

    name: str
    param_names: list[str]
    return_names: list[str]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _arguments(text: str) -> list[str]:
    """The names in 'x: Tensor, sizes: Dict[str, int] -> Tensor', whose types are ignored."""
    if text.count("->") > 1:
        raise ValueError(f"Failed to parse arguments (got '{text}')")
    names, depth, word = [], 0, ""
    for ch in text.split("->")[0] + ",":
        depth += (ch in "[(") - (ch in "])")
        if ch == "," and depth == 0:
            names.append(word.split(":")[0].strip())
            word = ""
        else:
            word += ch
    return names


class Sequential(nn.Module):
    """Modules one after the other. Each comes with a text like 'x, edge_index -> x', or alone: then it gets and gives what the one before gave.

    input_args: the names of the arguments, 'x, edge_index'. modules: a list, or a dict from names to them; they are called module_0,
    module_1 ... otherwise.

    >>> from polygrad import Tensor, nn
    >>> from polygrad.geometric.nn import GCNConv, Sequential
    >>> model = Sequential("x, edge_index", [(GCNConv(4, 8), "x, edge_index -> x"), nn.ReLU(), (nn.Linear(8, 2), "x -> x")])
    >>> model(Tensor.ones(3, 4), Tensor([[0, 1], [1, 2]])).shape
    (3, 2)
    """

    def __init__(self, input_args: str, modules: Any):
        self._arguments = _arguments(input_args)
        named = dict(modules) if isinstance(modules, Mapping) else {f"module_{k}": m for k, m in enumerate(modules)}
        if not named:
            raise ValueError("'Sequential' expects a non-empty list of modules")
        self._children: list[Child] = []
        for name, entry in named.items():
            module, text = entry, None
            if isinstance(entry, (tuple, list)):
                if len(entry) not in (1, 2):
                    raise ValueError(f"Expected tuple of length 2 (got {entry})")
                module, text = entry[0], entry[1] if len(entry) == 2 else None
            if not self._children and text is None:
                raise ValueError("Signature for first module required")
            if not callable(module):
                raise ValueError(f"Expected callable module (got {module})")
            self._children.append(self._child(name, text))
            setattr(self, name, module)

    def _child(self, name: str, text: Any) -> Child:
        if text is None:
            last = self._children[-1].return_names
            return Child(name, last, last)
        if not isinstance(text, str):
            raise ValueError(f"Expected type hint representation (got {text})")
        parts = text.split("->")
        if len(parts) != 2:
            raise ValueError(f"Failed to parse arguments (got '{text}')")
        return Child(name, _names(parts[0]), _names(parts[1]))

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        for child in self._children:
            module = getattr(self, child.name)
            if hasattr(module, "reset_parameters"):
                reset(module)

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, idx: int) -> Any:
        return getattr(self, self._children[idx].name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(self._arguments):
            raise TypeError(f"'Sequential' takes {len(self._arguments)} arguments, got {len(args)}")
        values = dict(zip(self._arguments, args))
        for name, value in kwargs.items():
            if name in values:
                raise TypeError(f"'Sequential' got multiple values for argument '{name}'")
            values[name] = value
        out: Any = None
        for child in self._children:
            missing = [name for name in child.param_names if name not in values]
            if missing:
                raise TypeError(f"{child.name} of 'Sequential' needs {', '.join(missing)}; there are {', '.join(values)}")
            out = getattr(self, child.name)(*[values[name] for name in child.param_names])
            if len(child.return_names) == 1:
                values[child.return_names[0]] = out
            else:
                values.update(zip(child.return_names, out))
        return out

    def __repr__(self) -> str:
        lines = [f"  ({k}) - {self[k]}: {', '.join(c.param_names)} -> {', '.join(c.return_names)}" for k, c in enumerate(self._children)]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"])


__all__ = ["Sequential"]
