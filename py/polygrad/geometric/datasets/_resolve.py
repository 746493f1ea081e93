"""Generators by name."""

from __future__ import annotations

from typing import Any


def resolve(query: Any, classes: tuple[type, ...], suffix: str, *args: Any, **kwargs: Any) -> Any:
    """An object of the class that query names, with or without the suffix; anything but a string is given back."""
    if not isinstance(query, str):
        return query
    wanted = query.lower().replace("_", "").replace("-", "")
    for cls in classes:
        if wanted in (cls.__name__.lower(), cls.__name__.lower().replace(suffix.lower(), "")):
            return cls(*args, **kwargs)
    raise ValueError(f"Could not resolve {query!r} among {', '.join(cls.__name__ for cls in classes)}")


__all__ = ["resolve"]
