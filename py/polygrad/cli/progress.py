"""What is seen while something takes its time: one line that changes on a terminal, now and then a line of its own elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any, TextIO


class Progress:
    """show(text) as often as one likes; what is shown is at most ten times a second, or on no terminal every `every` seconds."""

    def __init__(self, stream: TextIO | None = None, every: float = 2.0, quiet: bool = False):
        self.stream = sys.stdout if stream is None else stream
        self.live = self.stream.isatty()
        self.every, self.quiet = (0.1 if self.live else every), quiet
        self._last, self._wide = time.monotonic() - (self.every if self.live else 0), 0

    def show(self, text: str, now: bool = False) -> None:
        """now: whenever the last time was."""
        if self.quiet or not (now or time.monotonic() - self._last >= self.every):
            return
        self._last = time.monotonic()
        if not self.live:
            print(text, file=self.stream, flush=True)
            return
        text = text[: shutil.get_terminal_size().columns - 1]
        print(f"\r{text.ljust(self._wide)}", end="", file=self.stream, flush=True)
        self._wide = len(text)

    def say(self, text: str = "") -> None:
        """A line that stays."""
        if self.quiet:
            return
        self.clear()
        print(text, file=self.stream, flush=True)

    def clear(self) -> None:
        """Takes the changing line away."""
        if self.live and self._wide:
            print(f"\r{' ' * self._wide}\r", end="", file=self.stream, flush=True)
        self._wide = 0


def bar(done: int, total: int, wide: int = 20) -> str:
    """
    >>> from polygrad.cli.progress import bar
    >>> bar(1, 2, 6)
    '[###   ]'
    """
    filled = wide * done // max(1, total)
    return f"[{'#' * filled}{' ' * (wide - filled)}]"


def duration(seconds: float) -> str:
    """
    >>> from polygrad.cli.progress import duration
    >>> duration(3.21), duration(75)
    ('3.2 s', '1:15 min')
    """
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"


def size(count: float) -> str:
    """
    >>> from polygrad.cli.progress import size
    >>> size(1536), size(3e6)
    ('1.5 KiB', '2.9 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def table(head: list[str], rows: list[list[Any]], left: int = 1) -> str:
    """Columns as wide as they must be; the first `left` to the left, the others to the right.

    >>> from polygrad.cli.progress import table
    >>> print(table(["name", "n"], [["a", 1], ["bcdef", 20]]))
    name    n
    a       1
    bcdef  20
    """
    lines = [head, *[[str(c) for c in row] for row in rows]]
    wide = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join("  ".join(c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(line, wide))).rstrip() for line in lines)


__all__ = ["Progress", "bar", "duration", "size", "table"]
