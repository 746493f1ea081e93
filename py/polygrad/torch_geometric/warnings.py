"""Warnings of the library, and those that come once."""

from __future__ import annotations

import warnings as _warnings
from typing import Any


def warn(message: str, stacklevel: int = 5) -> None:
    """Warns."""
    _warnings.warn(message, stacklevel=stacklevel)


def filterwarnings(action: Any, message: str) -> None:
    """What is done about warnings of a text."""
    _warnings.filterwarnings(action, message)


class WarningCache(set[str]):
    """Texts that were warned of; each of them once."""

    def warn(self, message: str, stacklevel: int = 5) -> None:
        """Warns if it has not."""
        if message not in self:
            self.add(message)
            warn(message, stacklevel)


__all__ = ["WarningCache", "filterwarnings", "warn"]
