"""What stands in for functions of Python, Tensor and nn while a vertex program is traced.

Each stand-in looks first whether the calling thread is tracing and whether a traced value is among its arguments; if not, it calls
what it stands for. So other threads, and library code that runs inside a program, see no difference. Python's builtins are replaced while
a trace runs: the first one puts the stand-ins in, the last one takes them out, in whatever order threads come and go. Methods of
Tensor and the call of a layer are replaced when a program is first traced, and stay: Python's caches suffer if a class changes often.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading
from typing import Any

from ..nn.misc import Flatten
from ..nn.module import Module
from ..tensor import Tensor
from . import originals as py
from .collect import PLAIN, Group, degree, grouped, mean, reduce_groups
from .methods import METHODS, RULES
from .places import STATE, Edge, Neighbourhood, Vertex
from .value import Value, bring_together, call, contains_value, result

_NOTHING = object()

# ---- builtins ----


def _groups(items: Any, frame: Any) -> tuple[Any, Any]:
    """The groups of a list, or None and what to give to Python's own function instead."""
    found = grouped(items, frame)
    if found is PLAIN:
        return None, items
    if found and isinstance(found[0], Group):
        return found, None
    return None, found


@functools.wraps(py.sum)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    if not STATE.traces:
        return py.sum(iterable, start)
    groups, rest = _groups(iterable, sys._getframe(1))
    if groups is None:
        return py.sum(rest, start)
    if isinstance(start, list):
        raise TypeError("sum of lists: join lists of neighbour values with +")
    total = reduce_groups(groups, "sum")
    return total if start.__class__ is int and start == 0 else start + total


def _extreme(name: str) -> Any:
    original = getattr(py, name)

    @functools.wraps(original)
    def stand_in(*args: Any, key: Any = None, default: Any = _NOTHING) -> Any:
        extra = {} if default is _NOTHING else {"default": default}
        if not STATE.traces:
            return original(*args, key=key, **extra)
        if py.len(args) == 1:
            groups, rest = _groups(args[0], sys._getframe(1))
            args = args if rest is None else (rest,)
        else:
            groups = [Group(a, None, None) for a in args] if py.any(a.__class__ is Value for a in args) else None
        if groups is None:
            return original(*args, key=key, **extra)
        if key is not None:
            raise TypeError(f"{name} of neighbour values takes no key: the order differs from vertex to vertex")
        if default is not _NOTHING:
            value, count = reduce_groups(groups, name), degree(groups)
            some: Any = count > 0
            return some.reshape((1,) * value.ndim).where(value, default) if isinstance(some, Value) else value
        return reduce_groups(groups, name)

    return stand_in


@functools.wraps(py.len)
def len_(x: Any, /) -> Any:
    if STATE.traces and isinstance(x, (list, tuple, Neighbourhood)):
        groups = grouped(x, sys._getframe(1))
        if groups is not PLAIN and py.any(g.loop is not None for g in groups):
            return degree(groups)
    return py.len(x)


def _quantifier(name: str) -> Any:
    original = getattr(py, name)

    @functools.wraps(original)
    def stand_in(iterable: Any, /) -> Any:
        if not STATE.traces or isinstance(iterable, Value):
            return original(iterable)
        items = []
        if not isinstance(iterable, (list, tuple, Neighbourhood)):
            for x in iterable:  # one by one, as the original stops early
                if not isinstance(x, Value):
                    if bool(x) == (name == "any"):
                        return name == "any"
                    continue
                items.append(x)
            iterable = items
        groups, rest = _groups(iterable, sys._getframe(1))
        if groups is None:
            return original(rest)
        hits = [_truth(g, name == "any") for g in groups]
        found = reduce_groups(hits, "max") > 0
        return found if name == "any" else ~found

    return stand_in


def _truth(g: Group, wanted: bool) -> Group:
    """1 where an entry is true (or false), as a group."""
    v: Any = g.value
    true: Any = v != 0 if wanted else v == 0
    hit = true.int() if isinstance(v, (Value, Tensor)) else int(bool(v) == wanted)
    return Group(hit, g.loop, g.pass_)


class _KindOf(type):
    """isinstance(x, zip) means the same inside a program as outside."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls.original)  # type: ignore[attr-defined]

    def __subclasscheck__(cls, c: type) -> bool:
        return issubclass(c, cls.original)  # type: ignore[attr-defined]


def _side_by_side(iterables: tuple[Any, ...], **kwargs: Any) -> Any:
    """zip, which notes that what comes out together belongs to the same neighbour."""
    rows = py.zip(*iterables, **kwargs)
    while True:
        trace = STATE.traces[-1] if STATE.traces else None
        if trace is not None:
            trace.zipping += 1
        try:
            row = next(rows)
        except StopIteration:
            return
        finally:
            if trace is not None:
                trace.zipping -= 1
        passes = [x._pass for x in row if isinstance(x, (Value, Vertex, Edge)) and x._pass is not None]
        for p in passes[1:]:
            if p.loop is passes[0].loop:
                passes[0].join(p)
        if trace is None or not passes or passes[0].is_open:
            yield row
            continue
        trace.enter(passes[0])
        try:
            yield row
        finally:
            trace.leave(passes[0])


def _traced_sources(iterables: tuple[Any, ...]) -> bool:
    """Could neighbour values come out of these?"""
    for x in iterables:
        if isinstance(x, (list, tuple)):
            if py.any(isinstance(v, (Value, Vertex, Edge)) for v in x):
                return True
        elif not isinstance(x, (range, str, bytes, dict, set)):
            return True
    return False


class zip_(metaclass=_KindOf):
    original = py.zip

    def __new__(cls, *iterables: Any, **kwargs: Any) -> Any:
        if not STATE.traces or not _traced_sources(iterables):
            return py.zip(*iterables, **kwargs)
        return _side_by_side(iterables, **kwargs)


class map_(metaclass=_KindOf):
    original = py.map

    def __new__(cls, function: Any, *iterables: Any) -> Any:
        if not STATE.traces or py.len(iterables) < 2 or not _traced_sources(iterables):
            return py.map(function, *iterables)
        return (function(*row) for row in _side_by_side(iterables))


def _ordered(name: str) -> Any:
    """sorted, enumerate and reversed: neighbours have no order."""
    original = getattr(builtins, name)

    def check(iterable: Any) -> None:
        if not STATE.traces:
            return
        entries = [x for x in iterable if isinstance(x, (Value, Vertex, Edge))] if isinstance(iterable, (list, tuple)) else []
        if isinstance(iterable, Neighbourhood) or py.any(x._pass is not None and not x._pass.is_open for x in entries):
            raise TypeError(f"{name}: the neighbours of a vertex have no order and no numbers; use zip to go through lists side by side")

    if name == "sorted":

        @functools.wraps(original)
        def stand_in(iterable: Any, /, **kwargs: Any) -> Any:
            check(iterable)
            return original(iterable, **kwargs)

        return stand_in

    def new(cls: type, iterable: Any, *args: Any, **kwargs: Any) -> Any:
        check(iterable)
        return original(iterable, *args, **kwargs)

    return _KindOf(f"{name}_", (), {"original": original, "__new__": new})


BUILTINS: dict[str, Any] = {
    "sum": sum_, "max": _extreme("max"), "min": _extreme("min"), "len": len_, "any": _quantifier("any"), "all": _quantifier("all"),
    "zip": zip_, "map": map_, "sorted": _ordered("sorted"), "enumerate": _ordered("enumerate"), "reversed": _ordered("reversed"),
    "mean": mean,  # Python has none: there while a program is traced, so that it reads like sum
}  # fmt: skip
_ORIGINALS = {name: getattr(builtins, name, None) for name in BUILTINS}


# ---- Tensor and layers ----


def _method(name: str, original: Any) -> Any:
    @functools.wraps(original)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        if _users and STATE.traces and (contains_value(args) or (kwargs and contains_value(kwargs))):
            return call(name, args, kwargs)
        return original(*args, **kwargs)

    return stand_in


_module_call = Module.__call__
_BATCHED_HOME = "polygrad.nn.layers"


@functools.wraps(_module_call)
def _layer(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Layers of the library see the vertices as their batch; modules of a program's own are traced."""
    if not _users or not STATE.traces or not contains_value((args, kwargs)):
        return _module_call(self, *args, **kwargs)
    if type(self).__module__ != _BATCHED_HOME and not isinstance(self, Flatten):
        return _module_call(self, *args, **kwargs)
    if getattr(self, "batch_first", True) is False:
        raise ValueError(f"{type(self).__name__} needs batch_first=True inside a vertex program, where the vertices are the batch")
    values: list[Value] = []
    _find(args, values)
    _find(kwargs, values)
    at, pass_, tensors = bring_together(values)
    ready = iter(tensors)
    return result(_module_call(self, *_filled(args, ready), **_filled(kwargs, ready)), at, pass_)


def _find(x: Any, out: list[Value]) -> None:
    if x.__class__ is Value:
        out.append(x)
    elif isinstance(x, (list, tuple)):
        for v in x:
            _find(v, out)
    elif isinstance(x, dict):
        for v in x.values():
            _find(v, out)


def _filled(x: Any, ready: Any) -> Any:
    if x.__class__ is Value:
        return next(ready)
    if isinstance(x, (list, tuple)):
        return type(x)(_filled(v, ready) for v in x)
    return {k: _filled(v, ready) for k, v in x.items()} if isinstance(x, dict) else x


def _home(name: str) -> type:
    """The class of Tensor's that defines a method."""
    return next(c for c in Tensor.__mro__ if name in vars(c))


def _tensor_stand_ins() -> list[tuple[type, str, Any, Any]]:
    rows = []
    for name in RULES:  # of the operators, Python itself asks the Value for all but these
        if name in METHODS and (not name.startswith("__") or name in ("__matmul__", "__getitem__")):
            home = _home(name)
            original = vars(home)[name]
            stand_in = _method(name, METHODS[name])
            rows.append((home, name, original, staticmethod(stand_in) if isinstance(original, staticmethod) else stand_in))
    return rows


_lock = threading.RLock()
_users = 0  # traces that run now, of all threads
_lasting: list[tuple[type, str, Any, Any]] = []  # class, name, what belongs there, what stands in for it


def put_in() -> None:
    """One more trace is running."""
    global _users
    with _lock:
        if not _lasting:
            _lasting.extend([*_tensor_stand_ins(), (Module, "__call__", _module_call, _layer)])
            for owner, name, _, stand_in in _lasting:
                setattr(owner, name, stand_in)
        _users += 1
        if _users == 1:
            for name, stand_in in BUILTINS.items():
                setattr(builtins, name, stand_in)


def take_out() -> None:
    """One trace less."""
    global _users
    with _lock:
        _users -= 1
        if _users == 0:
            for name, original in _ORIGINALS.items():
                if original is None:
                    delattr(builtins, name)
                else:
                    setattr(builtins, name, original)
