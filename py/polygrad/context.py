"""Switches: Context(TRAINING=1, DEBUG=2), Tensor.train(), Tensor.no_grad()."""

from __future__ import annotations

import contextlib
import os
from typing import Any, ClassVar

from ._ffi import C
from .autograd import AutogradGraph, current
from .dtypes import dtypes

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
    "DEFAULT_FLOAT": (lambda g: dtypes.default_float.name, lambda g, v: setattr(dtypes, "default_float", v)),
    "DEFAULT_INT": (lambda g: dtypes.default_int.name, lambda g, v: setattr(dtypes, "default_int", v)),
}


class ContextVar:
    """A switch by its name, which Context sets for a while: its value is that of the environment variable, or a default of the same type.

    DEBUG, TRAINING and the others that Context lists are the current graph's; any other is a value that a script keeps here.

    >>> from polygrad import Context
    >>> from polygrad.context import ContextVar
    >>> level = ContextVar("MY_LEVEL", 2)
    >>> with Context(MY_LEVEL=5):
    ...     level.value, level > 4
    (5, True)
    >>> level == 2
    True
    """

    known: ClassVar[dict[str, ContextVar]] = {}

    def __init__(self, key: str, default_value: Any):
        if key in ContextVar.known:
            raise RuntimeError(f"there is a switch {key} already: import it")
        ContextVar.known[key] = self
        self.key, self._value = key, type(default_value)(os.getenv(key, default_value))

    @property
    def value(self) -> Any:
        return _SWITCHES[self.key][0](current()) if self.key in _SWITCHES else self._value

    @value.setter
    def value(self, value: Any) -> None:
        if self.key in _SWITCHES:
            _SWITCHES[self.key][1](current(), value)
        else:
            self._value = value

    def tolist(self, of: Any = None) -> list[Any]:
        """The names of a text with commas between them, or the attributes of an object with these names."""
        names = [v for v in str(self.value).split(",") if v]
        return names if of is None else [getattr(of, n) for n in names]

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, x: Any) -> bool:
        return bool(self.value == x)

    __hash__ = object.__hash__

    def __ge__(self, x: Any) -> bool:
        return bool(self.value >= x)

    def __gt__(self, x: Any) -> bool:
        return bool(self.value > x)

    def __le__(self, x: Any) -> bool:
        return bool(self.value <= x)

    def __lt__(self, x: Any) -> bool:
        return bool(self.value < x)

    def __repr__(self) -> str:
        return f"ContextVar({self.key}={self.value!r})"


# tinygrad's switches that are about its own compiler and devices. They can be set and read, and have no effect.
_WITHOUT_EFFECT = (
    "ALL2ALL ALLOW_DEVICE_USAGE ALLOW_TF32 ALLREDUCE_CAST AMD_LLVM AMX BEAM CACHELEVEL CAPTURE_PROCESS_REPLAY CAPTURING CCACHE CHECK_OOB "
    "CORRECT_DIVMOD_FOLDING DEBUG_RANGEIFY DEVECTORIZE DISABLE_COMPILER_CACHE DISABLE_FAST_IDIV DONT_GROUP_REDUCES DONT_REALIZE_EXPAND FLOAT16 "
    "FUSE_ARANGE FUSE_CONV_BW FUSE_OPTIM IGNORE_BEAM_CACHE IGNORE_OOB IMAGE JIT_BATCH_SIZE LRU MAX_BUFFER_SIZE MAX_KERNEL_BUFFERS NOLOCALS NOOPT "
    "NO_COLOR NO_MEMORY_PLANNER PARALLEL PCONTIG PICKLE_BUFFERS PROFILE QUANTIZE RING SCACHE SPEC SPLIT_REDUCEOP TC TC_OPT TC_SEARCH_OVER_SHAPE "
    "TC_SELECT TRACEMETA TRACK_MATCH_STATS TRANSCENDENTAL TUPLE_ORDER USE_ATOMICS USE_TC VALIDATE_WITH_CPU VIZ WINO CPU_COUNT CPU_LLVM CPU_LVP "
    "DISALLOW_BROADCAST NULL_ALLOW_COPYOUT NUM_CPU_THREADS OPENPILOT_HACKS"
).split()
VARIABLES = {name: ContextVar(name, 0) for name in ("DEBUG", "TRAINING", *_WITHOUT_EFFECT)}
VARIABLES |= {"JIT": ContextVar("JIT", 1)} | {
    name: ContextVar(name, "") for name in ("EMULATED_DTYPES", "EMULATE", "DEV", "DEFAULT_FLOAT", "DEFAULT_INT")
}


class Context(contextlib.ContextDecorator):
    """Sets switches for a while: TRAINING, NO_GRAD, DEBUG, THREADS, DEVICE of the current graph, DEFAULT_FLOAT and DEFAULT_INT of all
    graphs, JIT (0 runs what TinyJit holds as it is), and any ContextVar. Also a decorator.

    >>> from polygrad import Context, Tensor
    >>> with Context(TRAINING=1):
    ...     Tensor.training
    True
    >>> Tensor.training
    False
    """

    def __init__(self, **switches: Any):
        for name in switches:
            if name not in _SWITCHES and name not in ContextVar.known:
                raise KeyError(f"{name} is not a switch: {', '.join(dict.fromkeys([*_SWITCHES, *ContextVar.known]))} are")
        self._switches = switches
        self._stack: list[tuple[AutogradGraph, dict[str, Any]]] = []

    def __enter__(self) -> Context:
        g = current()
        old = {}
        for name, value in self._switches.items():
            read, write = _access(name)
            old[name] = read(g)
            write(g, value)
        self._stack.append((g, old))
        return self

    def __exit__(self, *exc: Any) -> None:
        g, old = self._stack.pop()
        for name, value in old.items():
            _access(name)[1](g, value)


def _access(name: str) -> tuple[Any, Any]:
    """How a switch is read and written."""
    if name in _SWITCHES:
        return _SWITCHES[name]
    variable = ContextVar.known[name]
    return lambda g: variable.value, lambda g, value: setattr(variable, "value", value)


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
