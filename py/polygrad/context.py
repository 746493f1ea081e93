"""Switches: Context(TRAINING=1, DEBUG=2), Tensor.train(), Tensor.no_grad()."""

from __future__ import annotations

import contextlib
from typing import Any

from ._ffi import C
from .autograd import AutogradGraph, current

_debug_level: dict[int, int] = {}


def _set_debug(g: AutogradGraph, level: int) -> None:
    _debug_level[id(g)] = level
    C.poly_set_debug(g.ptr, level)


# name: (read, write)
_SWITCHES: dict[str, tuple[Any, Any]] = {
    "TRAINING": (lambda g: g.training, lambda g, v: setattr(g, "training", bool(v))),
    "NO_GRAD": (lambda g: g.no_grad, lambda g, v: setattr(g, "no_grad", bool(v))),
    "DEBUG": (lambda g: _debug_level.get(id(g), 0), _set_debug),
    "THREADS": (lambda g: C.poly_threads(g.ptr), lambda g, v: C.poly_set_threads(g.ptr, int(v))),
    "DEVICE": (lambda g: g.device, lambda g, v: setattr(g, "device", v)),
    "DEV": (lambda g: g.device, lambda g, v: setattr(g, "device", v)),
}


class Context(contextlib.ContextDecorator):
    """Sets switches of the current graph for a while: TRAINING, NO_GRAD, DEBUG, THREADS, DEVICE. Also a decorator.

    >>> from polygrad import Context, Tensor
    >>> with Context(TRAINING=1):
    ...     Tensor.training
    True
    >>> Tensor.training
    False
    """

    def __init__(self, **switches: Any):
        for name in switches:
            if name not in _SWITCHES:
                raise KeyError(f"{name} is not a switch: {', '.join(_SWITCHES)} are")
        self._switches = switches
        self._stack: list[tuple[AutogradGraph, dict[str, Any]]] = []

    def __enter__(self) -> Context:
        g = current()
        old = {}
        for name, value in self._switches.items():
            old[name] = _SWITCHES[name][0](g)
            _SWITCHES[name][1](g, value)
        self._stack.append((g, old))
        return self

    def __exit__(self, *exc: Any) -> None:
        g, old = self._stack.pop()
        for name, value in old.items():
            _SWITCHES[name][1](g, value)


class NoGrad(contextlib.ContextDecorator):
    """What Tensor.no_grad is: true while on; `with Tensor.no_grad():` turns it on for a while. Also a decorator."""

    def __init__(self) -> None:
        self._stack: list[tuple[AutogradGraph, bool]] = []

    def __call__(self, function: Any = None) -> Any:
        return self.__class__() if function is None else super().__call__(function)

    def __bool__(self) -> bool:
        return current().no_grad

    def __repr__(self) -> str:
        return repr(bool(self))

    def __enter__(self) -> NoGrad:
        g = current()
        self._stack.append((g, g.no_grad))
        g.no_grad = True
        return self

    def __exit__(self, *exc: Any) -> None:
        g, old = self._stack.pop()
        g.no_grad = old
