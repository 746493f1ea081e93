"""tinygrad's helpers that scripts import: environment variables, counters, downloads, timings."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import time
from collections.abc import Iterable
from typing import Any, TypeVar

from .autograd import current
from .context import Context

T = TypeVar("T")
CI, OSX, WIN = bool(os.getenv("CI")), os.uname().sysname == "Darwin" if hasattr(os, "uname") else False, os.name == "nt"


@functools.cache
def getenv(key: str, default: Any = 0) -> Any:
    """An environment variable, in the type of the default.

    >>> from polygrad.helpers import getenv
    >>> getenv("NOT_SET_ANYWHERE", 3)
    3
    """
    return type(default)(os.getenv(key, default))


def prod(x: Iterable[Any]) -> Any:
    """The product of numbers."""
    return math.prod(x)


def dedup(x: Iterable[T]) -> list[T]:
    """Each once, in the order of first appearance."""
    return list(dict.fromkeys(x))


def flatten(x: Iterable[Iterable[T]]) -> list[T]:
    """One list out of several."""
    return [v for inner in x for v in inner]


def argsort(x: Any) -> Any:
    """The places that sort a sequence."""
    return type(x)(sorted(range(len(x)), key=x.__getitem__))


def all_same(items: Any) -> bool:
    """Are all equal?"""
    return all(v == items[0] for v in items)


def round_up(num: int, amt: int) -> int:
    """The next multiple of amt."""
    return (num + amt - 1) // amt * amt


def ceildiv(num: int, amt: int) -> int:
    """The quotient rounded up."""
    return -(num // -amt)


def make_tuple(x: Any, cnt: int) -> tuple[Any, ...]:
    """x as often as needed, or the sequence as a tuple."""
    return (x,) * cnt if isinstance(x, int) else tuple(x)


def colored(st: str, color: str | None, background: bool = False) -> str:
    """The text in a colour of the terminal."""
    names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"]
    if color is None:
        return st
    return f"\u001b[{10 * background + 60 * (color.upper() == color) + 30 + names.index(color.lower())}m{st}\u001b[0m"


class Timing(contextlib.ContextDecorator):
    """Prints how long a block took."""

    def __init__(self, prefix: str = "", on_exit: Any = None, enabled: bool = True):
        self.prefix, self.on_exit, self.enabled = prefix, on_exit, enabled

    def __enter__(self) -> None:
        self.st = time.perf_counter_ns()

    def __exit__(self, *exc: Any) -> None:
        self.et = time.perf_counter_ns() - self.st
        if self.enabled:
            print(f"{self.prefix}{self.et * 1e-6:6.2f} ms" + (self.on_exit(self.et) if self.on_exit else ""))


def fetch(url: str, name: str | None = None, subdir: str | None = None, gunzip: bool = False, allow_caching: bool = True) -> Any:
    """The path of a local copy of a file, which is kept."""
    from ._fetch import fetch as local_copy

    return local_copy(url, name, gunzip)


class _Counters:
    """`GlobalCounters.mem_used`: bytes in use. Kernels and operations are counted by polygrad.Profile."""

    @property
    def mem_used(self) -> int:
        """Bytes in use."""
        return int(current().live_bytes)

    def reset(self) -> None:
        """Nothing is counted here that could be reset."""


GlobalCounters = _Counters()

__all__ = [
    "CI", "Context", "GlobalCounters", "OSX", "Timing", "WIN", "all_same", "argsort", "ceildiv", "colored", "dedup", "fetch", "flatten", "getenv",
    "make_tuple", "prod", "round_up",
]  # fmt: skip
