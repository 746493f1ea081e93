"""Value: what a vertex program computes with. It looks like a Tensor of one vertex or edge; behind it is a tensor with one more axis
in front, that of all vertices or edges. `bring_together` brings values of several places to one; methods.py says how each method of Tensor works
without the axis in front."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from ..tensor import Tensor
from .originals import all, any
from .places import STATE, Loop, Pass, Place

_CONTROL = (
    "the value differs from vertex to vertex, so Python cannot branch on it: use `condition.where(a, b)` (or polygrad.vertex.where) "
    "instead of `if`, `while`, `and`, `or`, `not` or a comparison chain"
)


RULES: dict[str, Any] = {}  # how each method of Tensor works here, and why the others do not: filled by methods.py
REFUSED: dict[str, str] = {}


class Value:
    """A tensor of one vertex or edge. Shapes and axes are those of one vertex."""

    __slots__ = ("_t", "_at", "_pass", "_made", "_serial", "__weakref__")
    __array_ufunc__ = None  # numpy_array * value comes to __rmul__
    __array_priority__ = 2000

    def __init__(self, t: Tensor, at: Place | Loop, pass_: Pass | None):
        self._t, self._at, self._pass = t, at, pass_
        trace = at.trace
        self._made = trace.open[-1] if trace.open else None
        self._serial = trace.tick()

    # ---- what it is ----

    @property
    def shape(self) -> tuple[Any, ...]:
        return self._t.shape[1:]

    @property
    def max_shape(self) -> tuple[int, ...]:
        return self._t.max_shape[1:]

    @property
    def ndim(self) -> int:
        return self._t.ndim - 1

    @property
    def dtype(self) -> Any:
        return self._t.dtype

    @property
    def device(self) -> str:
        return self._t.device

    @property
    def requires_grad(self) -> bool:
        return bool(self._t.requires_grad)

    @property
    def T(self) -> Value:
        return call("transpose", (self,), {})

    def __repr__(self) -> str:
        return f"<a value {self.shape} {self.dtype} of {self._at if isinstance(self._at, Place) else f'the edges of {self._at}'}>"

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a value without axes")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Value]:
        if not self.ndim:
            raise TypeError("a value without axes cannot be iterated")
        return (RULES["__getitem__"](self, k) for k in range(int(self.shape[0])))

    # ---- what it cannot do ----

    def __bool__(self) -> bool:
        raise TypeError(_CONTROL)

    def __float__(self) -> float:
        raise TypeError("a value of a vertex program has no number yet: it is computed for all vertices after zoomOut")

    __int__ = __complex__ = __float__  # type: ignore[assignment]

    def __index__(self) -> int:
        raise TypeError(
            "a value of a vertex program has no number yet, so it cannot be a length or an index of Python's: run through neighbours with "
            "a comprehension, choose with `where` or `gather`"
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a value of a vertex program has no numbers yet: give it to zoomOut first")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("values of a vertex program cannot be changed in place: build a new one, with `where` if need be")

    # ---- what Tensor does ----

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        rule = RULES.get(name)
        if rule is not None:
            return functools.partial(rule, self)
        if name in REFUSED:
            raise TypeError(f"Tensor.{name} cannot be used inside a vertex program: {REFUSED[name]}")
        raise AttributeError(f"a value of a vertex program has no attribute {name!r}")


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Tensor's method of that name, on arguments with a Value among them."""
    if name in REFUSED:
        raise TypeError(f"Tensor.{name} cannot be used inside a vertex program: {REFUSED[name]}")
    return RULES[name](*args, **kwargs)


def _operator(name: str) -> Any:
    def method(self: Any, *others: Any) -> Any:
        for x in others:
            if isinstance(x, (list, tuple)) and contains_value(x):
                return NotImplemented  # [c for ...] / s: a list of neighbour values is no value
        return RULES[name](self, *others)

    method.__name__ = name
    return method


OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
for _name in (
    *[f"__{n}__" for n in OPERATORS], *[f"__r{n}__" for n in OPERATORS], "__matmul__", "__rmatmul__", "__lt__", "__le__", "__gt__",
    "__ge__", "__eq__", "__ne__", "__neg__", "__pos__", "__invert__", "__abs__", "__getitem__",
):  # fmt: skip
    setattr(Value, _name, _operator(_name))


def contains_value(x: Any) -> bool:
    """Is there a Value in x, a list or tuple of them, or deeper?"""
    if x.__class__ is Value:
        return True
    if isinstance(x, (list, tuple)):
        return any(contains_value(v) for v in x)
    if isinstance(x, dict):
        return any(contains_value(v) for v in x.values())
    return isinstance(x, slice) and any(v.__class__ is Value for v in (x.start, x.stop, x.step))


def tracing() -> bool:
    return bool(STATE.traces)


# ---- places ----


def loop_of(at: Place | Loop) -> Loop | None:
    return at if isinstance(at, Loop) else at.loop


def bring_together(values: list[Value]) -> tuple[Place | Loop, Pass | None, list[Tensor]]:
    """The place at which all these values can be combined, and their tensors there."""
    first = values[0]
    for v in values:
        if v._at is not first._at:
            break
        _check_aligned(first, v)
    else:
        return first._at, first._pass, [v._t for v in values]
    loop = _common_loop(values)
    inside = [v for v in values if v._at is not loop.center]
    for v in inside[1:]:
        _check_aligned(inside[0], v)
    return loop, inside[0]._pass, [at_loop(v, loop) for v in values]


def at_loop(v: Value, loop: Loop) -> Tensor:
    """The tensor of v, seen from the edges of a loop."""
    return v._t if v._at is loop else loop.lift(v._t, v._at)  # type: ignore[arg-type]


def _common_loop(values: list[Value]) -> Loop:
    if any(v._at.trace is not values[0]._at.trace for v in values):
        raise RuntimeError("values of two vertex programs cannot be combined: give them to zoomOut first")
    loops = {loop_of(v._at): None for v in values}
    for loop in loops:
        if loop is not None and all(v._at in (loop, loop.center, loop.far) for v in values):
            return loop
    names = ", ".join(str(loop) for loop in loops if loop is not None)
    raise RuntimeError(
        f"values of different neighbourhoods ({names}) are combined: there is no edge that joins them; reduce each first, with sum, max or mean"
    )


def _check_aligned(a: Value, b: Value) -> None:
    p, q = a._pass, b._pass
    if p is q or p is None or q is None or p.group() is q.group() or p.loop is not q.loop:
        return
    raise RuntimeError(
        f"values of two runs through {p.loop} are combined: to go through lists of neighbour values side by side, use zip, as in "
        "[a * n.h for a, n in zip(alpha, v.innbs)]"
    )


def result(out: Any, at: Place | Loop, pass_: Pass | None) -> Any:
    """What a method of Tensor gave, at a place; also lists and tuples of it."""
    if isinstance(out, Tensor):
        return Value(out, at, pass_)
    if isinstance(out, (list, tuple)):
        parts = [result(x, at, pass_) for x in out]
        return type(out)._make(parts) if hasattr(out, "_make") else type(out)(parts)
    return out
