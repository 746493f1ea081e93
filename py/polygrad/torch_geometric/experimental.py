"""torch_geometric.experimental: switches that are accepted and have no effect."""

from __future__ import annotations

from typing import Any


def is_experimental_mode_enabled(options: Any = None) -> bool:
    """No."""
    return False


class experimental_mode:
    """Accepted, as a context."""

    def __init__(self, options: Any = None):
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


class set_experimental_mode(experimental_mode):
    """Accepted, as a call and as a context."""

    def __init__(self, mode: bool, options: Any = None):
        super().__init__(options)


__all__ = ["experimental_mode", "is_experimental_mode_enabled", "set_experimental_mode"]
