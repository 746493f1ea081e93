"""Values by type: what a model for one type of nodes computes on, once it is used on several.

Every operation on such a value is done for each type on its own. Values of nodes are by node type, values of edges by edge type; where both come
together, those of nodes are seen from the edges, as the pair of their ends.
"""

from __future__ import annotations

from typing import Any, Callable

NODE, EDGE, GRAPH = "node", "edge", "graph"


class Typed:
    """A value for each type. level: NODE or EDGE."""

    def __init__(self, level: str, values: dict[Any, Any]):
        self.__dict__["_level"], self.__dict__["_values"] = level, {k: v for k, v in values.items() if v is not None}

    def for_each(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """function(*args, **kwargs) for each type, with the values of that type in place of those by type."""
        return for_each(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = {k: getattr(v, name) for k, v in self._values.items()}
        if found and all(callable(v) for v in found.values()):
            return lambda *args, **kwargs: for_each(lambda own, *a, **kw: getattr(own, name)(*a, **kw), (self, *args), kwargs)
        return Typed(self._level, found)

    def __bool__(self) -> bool:
        raise TypeError("a value by type has no truth of its own: a model for several types must not decide by values")

    def __repr__(self) -> str:
        return f"Typed({self._level}, {self._values!r})"


def _operator(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return for_each(lambda own, *a: getattr(own, name)(*a), (self, *args), {})

    return method


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul neg abs invert and or xor lt le gt ge eq ne "
    "getitem"
).split()
for _name in _OPERATORS:
    setattr(Typed, f"__{_name}__", _operator(f"__{_name}__"))
Typed.__hash__ = object.__hash__  # type: ignore[method-assign,assignment]


def typed_in(value: Any) -> list[Typed]:
    """All values by type in nested lists, tuples and dicts."""
    if isinstance(value, Typed):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for part in parts for t in typed_in(part)]


def level_of(*values: Any) -> str:
    """EDGE if one of the values is by edge type, else NODE if one is by node type, else GRAPH."""
    levels = {t._level for t in typed_in(values)}
    return EDGE if EDGE in levels else NODE if NODE in levels else GRAPH


class Missing(Exception):
    """There is no value for a type."""


def pick(value: Any, key: Any) -> Any:
    """The value of one type; of node values for an edge type the pair of its ends, or one where both ends are of one type."""
    if isinstance(value, Typed):
        if key in value._values:
            return value._values[key]
        if isinstance(key, tuple) and value._level == NODE:
            ends = (value._values.get(key[0]), value._values.get(key[-1]))
            if ends[0] is None:
                raise Missing
            return ends[0] if key[0] == key[-1] else ends
        raise Missing
    if isinstance(value, dict):
        return {k: pick(v, key) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [pick(v, key) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def each(args: tuple[Any, ...], kwargs: dict[str, Any], keys: Any = None) -> dict[Any, tuple[Any, Any]]:
    """The arguments by type, for all types that have them."""
    level = level_of(args, kwargs)
    if keys is None:
        keys = dict.fromkeys(k for t in typed_in((args, kwargs)) if t._level == level for k in t._values)
    out = {}
    for key in keys:
        try:
            out[key] = (pick(args, key), pick(kwargs, key))
        except Missing:
            continue
    return out


def for_each(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """function(*args, **kwargs) for each type; a function that gives a tuple gives a tuple of values by type."""
    level = level_of(args, kwargs)
    if level == GRAPH:
        return function(*args, **kwargs)
    return gather(level, {key: function(*a, **kw) for key, (a, kw) in each(args, kwargs).items()})


def gather(level: str, found: dict[Any, Any]) -> Any:
    """Results by type as one value by type, or as a tuple of such."""
    first = next(iter(found.values()), None)
    if isinstance(first, (tuple, list)) and not hasattr(first, "_fields") and any(hasattr(v, "ndim") for v in first):
        return type(first)(Typed(level, {k: v[n] for k, v in found.items()}) for n in range(len(first)))
    return Typed(level, found)


def untyped(value: Any) -> Any:
    """Values by type as dicts, in nested lists, tuples and dicts."""
    if isinstance(value, Typed):
        return dict(value._values)
    if isinstance(value, dict):
        return {k: untyped(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(untyped(v) for v in value)
    return value


class Probe:
    """Stands for a value whose level alone is known: what is done with it tells the level of each module of a model before there is any data."""

    def __init__(self, level: str):
        self.__dict__["_level"] = level

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Probe(self._level)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Probe(probed((self, args, kwargs)))

    def for_each(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        return Probe(probed((self, args, kwargs)))

    def __iter__(self) -> Any:
        return iter([Probe(self._level), Probe(self._level)])


def _probe_operator(self: Any, *args: Any) -> Any:
    return Probe(probed((self, args)))


for _name in _OPERATORS:
    setattr(Probe, f"__{_name}__", _probe_operator)
Probe.__hash__ = object.__hash__  # type: ignore[method-assign,assignment]


def probed(value: Any) -> str:
    """The level of a result of these values: EDGE before NODE before GRAPH."""
    levels = _probe_levels(value)
    return EDGE if EDGE in levels else NODE if NODE in levels else GRAPH


def _probe_levels(value: Any) -> set[str]:
    if isinstance(value, Probe):
        return {value._level}
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return {level for part in parts for level in _probe_levels(part)}


__all__ = ["EDGE", "GRAPH", "NODE", "Probe", "Typed", "each", "for_each", "gather", "level_of", "pick", "probed", "typed_in", "untyped"]
