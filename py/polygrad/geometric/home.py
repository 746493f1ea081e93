"""The folder in which files are kept between runs."""

from __future__ import annotations

import os

_home: str | None = None


def get_home_dir() -> str:
    """The folder set by set_home_dir, else that of the environment variable POLYGRAD_HOME, else ~/.cache/polygrad.

    >>> from polygrad.geometric import get_home_dir
    >>> get_home_dir()  # doctest: +SKIP
    '/home/me/.cache/polygrad'
    """
    return os.path.expanduser(_home or os.environ.get("POLYGRAD_HOME") or os.path.join("~", ".cache", "polygrad"))


def set_home_dir(path: str) -> None:
    """Sets the folder for this process.

    >>> from polygrad.geometric import get_home_dir, set_home_dir
    >>> set_home_dir("/data")  # doctest: +SKIP
    >>> get_home_dir()  # doctest: +SKIP
    '/data'
    """
    global _home
    _home = path


__all__ = ["get_home_dir", "set_home_dir"]
