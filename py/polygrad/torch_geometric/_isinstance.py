"""isinstance that sees through compiled models."""

from __future__ import annotations

from typing import Any


def is_torch_instance(obj: Any, cls: Any) -> bool:
    """Is it an instance of a class, or a compiled model of one?"""
    return isinstance(obj, cls) or isinstance(getattr(obj, "_orig_mod", None), cls)


__all__ = ["is_torch_instance"]
