"""Making folders."""

from __future__ import annotations

import os


def makedirs(path: str) -> None:
    """Makes a folder and those above it, where they are not there."""
    os.makedirs(os.path.expanduser(os.path.normpath(path)), exist_ok=True)


__all__ = ["makedirs"]
