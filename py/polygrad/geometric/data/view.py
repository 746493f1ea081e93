"""Views of a mapping that may be restricted to some keys: `KeysView(mapping, "x", "y")` has those of these that the mapping has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class MappingView:
    """Some keys of a mapping, or all."""

    def __init__(self, mapping: Any, *args: Any):
        self._mapping, self._args = mapping, args

    def _keys(self) -> Iterable[Any]:
        keys = self._mapping.keys()
        return [key for key in self._args if key in keys] if self._args else keys

    def __len__(self) -> int:
        return len(list(self._keys()))

    def __repr__(self) -> str:
        keys = {key: self._mapping[key] for key in self._keys()}
        return f"{type(self).__name__}({keys})"


class KeysView(MappingView):
    """The keys.

    >>> from polygrad.geometric.data.view import KeysView
    >>> list(KeysView({"x": 1, "y": 2}, "y", "z"))
    ['y']
    """

    def __iter__(self) -> Iterator[Any]:
        yield from self._keys()


class ValuesView(MappingView):
    """The values."""

    def __iter__(self) -> Iterator[Any]:
        for key in self._keys():
            yield self._mapping[key]


class ItemsView(MappingView):
    """Pairs of keys and values."""

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for key in self._keys():
            yield key, self._mapping[key]


__all__ = ["ItemsView", "KeysView", "MappingView", "ValuesView"]
