"""Experimental modes. 'disable_dynamic_shapes': sizes that would be found in values must be given, so that nothing is read while a model is built."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

_modes = {"disable_dynamic_shapes": False}


def _chosen(options: Any) -> list[str]:
    chosen = list(_modes) if options is None else [options] if isinstance(options, str) else list(options)
    unknown = [name for name in chosen if name not in _modes]
    if unknown:
        raise KeyError(f"there is no experimental mode {unknown[0]!r}, only {', '.join(_modes)}")
    return chosen


def is_experimental_mode_enabled(options: Any = None) -> bool:
    """Are these modes on? Without options: are all of them?"""
    return all(_modes[name] for name in _chosen(options))


class set_experimental_mode:
    """Turns modes on or off, as a call or for a while: `with set_experimental_mode(True, "disable_dynamic_shapes"):`."""

    def __init__(self, mode: bool, options: Any = None):
        self._before = {name: _modes[name] for name in _chosen(options)}
        _modes.update(dict.fromkeys(self._before, bool(mode)))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        _modes.update(self._before)


class experimental_mode:
    """`with experimental_mode("disable_dynamic_shapes"):` turns modes on for a while.

    >>> from polygrad.geometric.experimental import experimental_mode, is_experimental_mode_enabled
    >>> with experimental_mode():
    ...     is_experimental_mode_enabled()
    True
    """

    def __init__(self, options: Any = None):
        self._options = _chosen(options)

    def __enter__(self) -> None:
        self._mode = set_experimental_mode(True, self._options)

    def __exit__(self, *exc: Any) -> None:
        self._mode.__exit__()


def need_sizes(**sizes: Any) -> None:
    """An error if one of these sizes is not given although no size is to be found in values."""
    if _modes["disable_dynamic_shapes"]:
        for name, size in sizes.items():
            if size is None:
                raise ValueError(f"Dynamic shapes are disabled: argument {name!r} needs to be set")


def disable_dynamic_shapes(required_args: list[str]) -> Callable[..., Any]:
    """A function whose required_args must be given while dynamic shapes are disabled."""

    def decorator(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        for name in required_args:
            if name not in signature.parameters:
                raise ValueError(f"The function {function.__qualname__!r} does not have a {name!r} argument")

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if _modes["disable_dynamic_shapes"]:
                given = signature.bind(*args, **kwargs)
                given.apply_defaults()
                need_sizes(**{name: given.arguments[name] for name in required_args})
            return function(*args, **kwargs)

        return call

    return decorator


__all__ = ["disable_dynamic_shapes", "experimental_mode", "is_experimental_mode_enabled", "need_sizes", "set_experimental_mode"]
