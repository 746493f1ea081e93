"""torch_geometric.deprecation: a decorator of what is to go."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def deprecated(details: str | None = None, func_name: str | None = None) -> Callable[..., Any]:
    """A function or class that warns when it is used.

    >>> from polygrad.torch_geometric.deprecation import deprecated
    >>> @deprecated("use 'new' instead")
    ... def old():
    ...     return 1
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     old(), str(seen[0].message)
    (1, "'old' is deprecated, use 'new' instead")
    """

    def decorator(thing: Any) -> Any:
        name = func_name or thing.__name__
        if isinstance(thing, type):
            start = deprecated(details, name)(thing.__init__)  # type: ignore[misc]
            return type(thing)(thing.__name__, (thing,), {"__init__": start, "__doc__": thing.__doc__})

        @functools.wraps(thing)
        def call(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(f"{name!r} is deprecated" + ("" if details is None else f", {details}"), stacklevel=2)
            return thing(*args, **kwargs)

        return call

    return decorator


__all__ = ["deprecated"]
