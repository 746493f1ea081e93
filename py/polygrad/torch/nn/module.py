"""torch.nn.Module and its containers: those of polygrad.nn, whose parameters are PyTorch's tensors."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ... import nn as _nn
from .._surface import lift

Module = lift(_nn.Module, "polygrad.torch.nn")
ModuleList = lift(_nn.ModuleList, "polygrad.torch.nn")
Sequential = lift(_nn.Sequential, "polygrad.torch.nn")


def _own(name: str) -> Any:
    """polygrad.nn's class, where it has one."""
    return lift(getattr(_nn, name), "polygrad.torch.nn") if hasattr(_nn, name) else None


class _Dict(Module):  # type: ignore[valid-type, misc]
    """Modules or tensors by name."""

    def __init__(self, entries: Any = None):
        super().__init__()
        self._entries: dict[str, Any] = {}
        self.update(entries or {})

    def update(self, entries: Any) -> None:
        for key, value in entries.items() if hasattr(entries, "items") else entries:
            self[key] = value

    def _state_items(self) -> dict[str, Any]:
        return dict(self._entries)

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._entries[key] = value

    def __delitem__(self, key: str) -> None:
        del self._entries[key]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def keys(self) -> Any:
        return self._entries.keys()

    def values(self) -> Any:
        return self._entries.values()

    def items(self) -> Any:
        return self._entries.items()

    def pop(self, key: str) -> Any:
        return self._entries.pop(key)

    def __getattr__(self, name: str) -> Any:
        entries = self.__dict__.get("_entries", {})
        if name in entries:
            return entries[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class _List(ModuleList):  # type: ignore[valid-type, misc]
    """Parameters by number."""


ModuleDict = _own("ModuleDict") or type("ModuleDict", (_Dict,), {"__module__": "polygrad.torch.nn", "__doc__": "Modules by name."})
ParameterDict = _own("ParameterDict") or type("ParameterDict", (_Dict,), {"__module__": "polygrad.torch.nn", "__doc__": "Parameters by name."})
ParameterList = _own("ParameterList") or type("ParameterList", (_List,), {"__module__": "polygrad.torch.nn", "__doc__": "Parameters by number."})

__all__ = ["Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
