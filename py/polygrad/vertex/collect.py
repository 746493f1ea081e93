"""Reductions of lists inside a vertex program: sum, mean, max, min, prod, var, std, logsumexp, softmax, len, any, all.

A comprehension over a neighbourhood gives a list of one entry that stands for all neighbours. Here a list becomes groups: each entry that
stands for a loop is one, and is reduced over the loop's edges; any other entry stands for itself. So `[n.h for n in v.innbs] + [v.h]`
is a neighbourhood with the vertex in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ..tensor import Tensor
from .bytecode import encloses, stored_name
from .originals import all, any, len, sum
from .places import STATE, Edge, Loop, Neighbourhood, Pass, Place, Vertex
from .value import Value, at_loop, call, loop_of

PLAIN = object()  # the answer of `grouped` for what has nothing to do with a trace


class Group:
    """Part of a list: the values of one loop, or one value (loop None)."""

    __slots__ = ("value", "loop", "pass_")

    def __init__(self, value: Any, loop: Loop | None, pass_: Pass | None):
        self.value, self.loop, self.pass_ = value, loop, pass_

    def tensor(self) -> Tensor:
        """The values on the loop's edges."""
        assert self.loop is not None
        v = self.value
        if not isinstance(v, Value):  # the same for every neighbour
            v = everywhere(v, self.loop.center, None)
        return at_loop(v, self.loop)

    def reduce(self, op: str) -> Any:
        """One value of the centre; a single entry is that already."""
        if self.loop is None:
            return self.value
        return self._at_center(self.loop.graph.reduce(self.tensor(), op, self.loop.side))

    def degree(self) -> Any:
        return 1 if self.loop is None else self._at_center(self.loop.graph.degree(self.loop.side))

    def _at_center(self, t: Tensor) -> Value:
        assert self.loop is not None
        return Value(t, self.loop.center, None if self.pass_ is None else self.pass_.outer)


def everywhere(x: Any, place: Place | Loop, pass_: Pass | None) -> Value:
    """A number or tensor that is the same for all, as a value of a place."""
    t = x if isinstance(x, Tensor) else Tensor(x)
    shape = t.shape
    return Value(t.reshape((1, *shape)).expand((place.count(), *shape)), place, pass_)


# ---- lists to groups ----


def grouped(items: Any, frame: Any = None) -> Any:
    """The groups of a list or iterator; PLAIN (or the items of an iterator, as a list) if it has nothing to do with a trace."""
    trace = STATE.traces[-1]
    if isinstance(items, Neighbourhood):
        p = items._new_pass()
        return [Group(items._entry(p), p.loop, p)]
    opened = None
    if not isinstance(items, (list, tuple)):
        if isinstance(items, (Value, Tensor, str, bytes, dict, set, frozenset, range)) or not isinstance(items, Iterable):
            return PLAIN
        before = trace.serial
        items = list(items)
        opened = next((p for p in trace.ended if p.serial > before), None)
        if opened is None and not any(_traced(x) for x in items):
            return items
    elif not any(_traced(x) for x in items):
        opened = _origin(trace, frame, items) if len(items) == 1 and _constant(items[0]) else None
        if opened is None:
            return PLAIN
    return [_group(trace, x, items, opened, frame) for x in items]


def _traced(x: Any) -> bool:
    return isinstance(x, (Value, Vertex, Edge))


def _constant(x: Any) -> bool:
    return isinstance(x, (int, float, Tensor))


def _group(trace: Any, x: Any, items: Any, opened: Pass | None, frame: Any) -> Group:
    single = len(items) == 1
    if isinstance(x, (Vertex, Edge)):
        p = x._pass
        return Group(x, None, None) if p is None or p.is_open else Group(x, p.loop, p)
    if not isinstance(x, Value):
        return Group(x, opened.loop, opened) if single and opened is not None else Group(x, None, None)
    loop = loop_of(x._at)
    if loop is not None and x._pass is not None and not x._pass.is_open:
        _check_made(x, loop)
        return Group(x, loop, x._pass)
    if loop is None or x._pass is None:  # a value of the centre: of each neighbour if it was made in a loop that has ended
        made = x._made if x._made is not None and not x._made.is_open else opened if single else None
        if made is None and single:
            made = _origin(trace, frame, items)
            if made is None:
                _check_unambiguous(trace, x)
        if made is not None and made.loop.center is x._at:
            return Group(x, made.loop, made)
    return Group(x, None, None)


def _check_made(x: Value, loop: Loop) -> None:
    made = x._made
    if made is None or made.loop is loop or x._pass is None or made.group() is x._pass.group():
        return
    place: Any = loop.center  # a loop over the neighbours of a neighbour is inside the loop that made that one
    while place is not None and place.loop is not None:
        if place.loop is made.loop:
            return
        place = place.loop.center
    raise RuntimeError(f"a value of {loop} was made inside a loop over {made.loop}: reduce each neighbourhood on its own")


def _check_unambiguous(trace: Any, x: Value) -> None:
    if any(p.serial > x._serial and p.loop.center is x._at for p in trace.ended):
        raise RuntimeError(
            "this list has one entry, a value of the vertex that was made before a loop over neighbours: it could stand for every neighbour "
            "or for itself; write len(v.innbs) * x for the first, x for the second"
        )


def _origin(trace: Any, frame: Any, items: Any) -> Pass | None:
    """The pass of the comprehension that made a list: one inside the call which frame is making, sum([1 for n in v.innbs]), or one whose
    list has a name there."""
    if frame is None:
        return None
    here = [p for p in reversed(trace.ended) if p.where is not None and p.where[0] is frame.f_code]
    if here and encloses(frame.f_code, here[0].where[1], frame.f_lasti):
        return here[0]
    for p in here:
        name = stored_name(frame.f_code, p.where[1])
        if name is not None and frame.f_locals.get(name, frame.f_globals.get(name)) is items:
            return p
    return None


# ---- groups to values ----


def _no_vertices(groups: list[Group], what: str) -> None:
    if any(isinstance(g.value, (Vertex, Edge)) for g in groups):
        raise TypeError(f"{what} needs values, not vertices or edges: say which, as in {what}([n.h for n in v.innbs])")


def reduce_groups(groups: list[Group], op: str) -> Any:
    _no_vertices(groups, op)
    if len(groups) == 1 and groups[0].loop is not None:
        return groups[0].reduce(op)
    return _SEVERAL[op](groups)


def _fold(groups: list[Group], op: str, join: Any) -> Any:
    parts = [g.reduce(op) for g in groups]
    total = parts[0]
    for p in parts[1:]:
        total = join(total, p)
    return total


def _mean(groups: list[Group]) -> Any:
    total, count = reduce_groups(groups, "sum"), degree(groups)
    return total / (count.maximum(1) if isinstance(count, Value) else count)


def _var(groups: list[Group]) -> Any:
    mean = _mean(groups)
    return _mean(_mapped(groups, lambda x: (x - mean) * (x - mean)))


def _extreme(groups: list[Group], op: str) -> Any:
    """Empty loops are passed over; where all are empty, 0."""
    value, some = groups[0].reduce(op), _some(groups[0])
    for g in groups[1:]:
        other, there = g.reduce(op), _some(g)
        both = call("maximum" if op == "max" else "minimum", _ordered(value, other), {})
        if some is not None:
            both = _fit(some, both).where(both, other)
        if there is not None:
            both = _fit(there, both).where(both, value)
        value, some = both, None if some is None or there is None else some | there
    return value


def _ordered(a: Any, b: Any) -> tuple[Any, Any]:
    return (a, b) if isinstance(a, (Value, Tensor)) else (b, a)


def _some(g: Group) -> Any:
    return None if g.loop is None else g.degree() > 0


def _fit(mask: Value, like: Any) -> Value:
    """A mask of one bool a vertex, for values with more axes."""
    return mask.reshape((1,) * like.ndim) if like.ndim else mask


def _logsumexp(groups: list[Group]) -> Any:
    top = _extreme(groups, "max")
    return reduce_groups(_mapped(groups, lambda x: (x - top).exp()), "sum").log() + top


def _mapped(groups: list[Group], f: Any) -> list[Group]:
    out = []
    for g in groups:
        v = g.value if isinstance(g.value, Value) or g.loop is None else everywhere(g.value, g.loop.center, None)
        y = f(v)
        if g.loop is not None and isinstance(y, Value) and y._at is g.loop.center:
            y = Value(at_loop(y, g.loop), g.loop, g.pass_)
        out.append(Group(y, g.loop, g.pass_))
    return out


_SEVERAL: dict[str, Any] = {
    "sum": lambda gs: _fold(gs, "sum", lambda a, b: a + b),
    "prod": lambda gs: _fold(gs, "prod", lambda a, b: a * b),
    "max": lambda gs: _extreme(gs, "max"),
    "min": lambda gs: _extreme(gs, "min"),
    "mean": _mean,
    "var": _var,
    "std": lambda gs: _var(gs).sqrt(),
    "logsumexp": _logsumexp,
}


def degree(groups: list[Group]) -> Any:
    return sum((g.degree() for g in groups[1:]), groups[0].degree())


def softmax_groups(groups: list[Group]) -> TracedList:
    _no_vertices(groups, "softmax")
    if len(groups) == 1 and groups[0].loop is not None:
        g = groups[0]
        assert g.loop is not None
        return TracedList([Value(g.loop.graph.softmax(g.tensor(), g.loop.side), g.loop, g.pass_)])
    top = _extreme(groups, "max").detach()
    powers = _mapped(groups, lambda x: (x - top).exp())
    total = reduce_groups(powers, "sum")
    return TracedList([g.value for g in _mapped(powers, lambda x: x / total)])


# ---- functions of a program ----


def _list(values: Any, what: str, depth: int = 2) -> list[Group]:
    if not STATE.traces:
        raise RuntimeError(f"{what} of neighbour values works inside a `with zoomIn` block")
    groups = grouped(values, sys._getframe(depth))
    if groups is PLAIN or not isinstance(groups, list) or not all(isinstance(g, Group) for g in groups):
        items = values if groups is PLAIN else groups
        if not isinstance(items, (list, tuple)) or not items:
            raise TypeError(f"{what} needs a list of values, as in {what}([n.h for n in v.innbs])")
        groups = [Group(x, None, None) for x in items]
    return groups


def _reduction(op: str, text: str) -> Any:
    def function(values: Any) -> Any:
        return reduce_groups(_list(values, op), op)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = text
    return function


mean = _reduction("mean", "Mean over a list of neighbour values; 0 where there are none.")
prod = _reduction("prod", "Product over a list of neighbour values; 1 where there are none.")
var = _reduction("var", "Variance over a list of neighbour values, divided by their count.")
std = _reduction("std", "Standard deviation over a list of neighbour values, divided by their count.")
logsumexp = _reduction("logsumexp", "log(sum(exp(x))) over a list of neighbour values, without overflow.")


def softmax(values: Any) -> TracedList:
    """exp(x) / sum(exp(x)) over a list of neighbour values, without overflow: a list to be zipped with the neighbours."""
    return softmax_groups(_list(values, "softmax"))


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b: the `if` of a vertex program."""
    if not isinstance(condition, (Value, Tensor)):
        return a if condition else b
    return condition.where(a, b)


class TracedList(list):
    """A list of neighbour values with the reductions as methods: softmax(...) and v.innbs.h are such."""

    def sum(self) -> Any:
        return reduce_groups(_list(self, "sum"), "sum")

    def mean(self) -> Any:
        return reduce_groups(_list(self, "mean"), "mean")

    def max(self) -> Any:
        return reduce_groups(_list(self, "max"), "max")

    def min(self) -> Any:
        return reduce_groups(_list(self, "min"), "min")

    def prod(self) -> Any:
        return reduce_groups(_list(self, "prod"), "prod")

    def var(self) -> Any:
        return reduce_groups(_list(self, "var"), "var")

    def std(self) -> Any:
        return reduce_groups(_list(self, "std"), "std")

    def logsumexp(self) -> Any:
        return reduce_groups(_list(self, "logsumexp"), "logsumexp")

    def softmax(self) -> TracedList:
        return softmax_groups(_list(self, "softmax"))
