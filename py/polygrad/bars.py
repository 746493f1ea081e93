"""Progress bars, as tqdm prints them and tinygrad does: `for x in tqdm(things)`, on stderr."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from typing import Any

_EIGHTHS = " ▏▎▍▌▋▊▉"


def clock(seconds: float) -> str:
    """
    >>> clock(75), clock(3675)
    ('01:15', '1:01:15')
    """
    hours, rest = divmod(int(seconds), 3600)
    text = f"{rest // 60:02d}:{rest % 60:02d}"
    return f"{hours}:{text}" if hours else text


def short(x: float) -> str:
    """A number of three digits with the letter of its thousands.

    >>> short(7), short(12345), short(2.5e6)
    ('7.00', '12.3k', '2.50M')
    """
    for letter in ("", *"kMGTPEZ"):
        if x < 999.5:
            return f"{x:.{2 if x < 9.995 else 1 if x < 99.95 else 0}f}{letter}"
        x /= 1000
    return f"{x:.1f}Y"


class tqdm:
    """The things that it is given, one after another, with a bar of how many there were. rate: how often a second it is printed at most.

    >>> list(tqdm([1, 2], disable=True))
    [1, 2]
    """

    def __init__(
        self, iterable: Any = None, desc: str = "", disable: bool | None = False, unit: str = "it", unit_scale: bool = False,
        total: int | None = None, rate: int = 100, **others: Any,
    ):  # fmt: skip
        self.iterable, self.unit, self.unit_scale, self.rate = iterable, unit, unit_scale, rate
        self.disable = not sys.stderr.isatty() if disable is None else disable
        self.n, self.t = 0, (len(iterable) if hasattr(iterable, "__len__") else 0) if total is None else total
        self.st = time.perf_counter()
        self._next = 0.0  # when it is printed again
        self.set_description(desc)
        self.update(0)

    def __iter__(self) -> Iterator[Any]:
        try:
            for x in self.iterable:
                yield x
                self.update(1)
        finally:
            self.update(close=True)

    def __enter__(self) -> tqdm:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.update(close=True)

    def set_description(self, desc: str) -> None:
        """What is being done, in front of the bar."""
        self.desc = f"{desc}: " if desc else ""

    def update(self, n: int = 0, close: bool = False) -> None:
        """n more are done."""
        self.n += n
        now = time.perf_counter()
        if self.disable or not (close or now >= self._next):
            return
        self._next = now + 1 / self.rate
        columns = shutil.get_terminal_size().columns
        print("\r" + self._line(now - self.st, columns)[:columns], end="\n" if close else "", flush=True, file=sys.stderr)

    def _line(self, elapsed: float, columns: int) -> str:
        number = short if self.unit_scale else str
        speed = self.n / elapsed if elapsed else 0.0
        each = "?" if not self.n else short(speed) if self.unit_scale else f"{speed:5.2f}"
        if not self.t:
            return f"{self.desc}{number(self.n)}{self.unit} [{clock(elapsed)}, {each}{self.unit}/s]"
        part = self.n / self.t
        left = clock(elapsed / part - elapsed) if self.n else "?"
        tail = f"{number(self.n)}/{number(self.t)} [{clock(elapsed)}<{left}, {each}{self.unit}/s]"
        head = f"{self.desc}{100 * part:3.0f}%|"
        wide = max(columns - len(head) - len(tail) - 2, 1)
        full, eighths = divmod(int(8 * wide * min(part, 1.0)), 8)
        return f"{head}{('█' * full + _EIGHTHS[eighths].strip()).ljust(wide)}| {tail}"

    @classmethod
    def write(cls, s: str) -> None:
        """A line of text in the bar's place."""
        print(f"\r\033[K{s}", flush=True, file=sys.stderr)


class trange(tqdm):
    """tqdm(range(n))."""

    def __init__(self, n: int, **kwargs: Any):
        super().__init__(range(n), **kwargs)


__all__ = ["tqdm", "trange"]
