"""A flag for more checks: `with debug():`. Indices and shapes are always checked here; the flag is for the code of users that asks for it."""

from __future__ import annotations

from typing import Any

_on = False


def is_debug_enabled() -> bool:
    """Is the flag set?

    >>> from polygrad.geometric import is_debug_enabled
    >>> is_debug_enabled()
    False
    """
    return _on


class set_debug:
    """Sets the flag, as a call or for a while: `with set_debug(True):`.

    >>> from polygrad.geometric import is_debug_enabled, set_debug
    >>> with set_debug(True):
    ...     print(is_debug_enabled())
    True
    """

    def __init__(self, mode: bool):
        global _on
        self._before, _on = _on, bool(mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: Any) -> None:
        global _on
        _on = self._before


class debug:
    """`with debug():` turns the flag on for a while.

    >>> from polygrad.geometric import debug, is_debug_enabled
    >>> with debug():
    ...     print(is_debug_enabled())
    True
    """

    def __enter__(self) -> None:
        global _on
        self._before, _on = _on, True

    def __exit__(self, *args: Any) -> None:
        global _on
        _on = self._before


__all__ = ["debug", "is_debug_enabled", "set_debug"]
