"""Names of a package that are loaded when they are first used: importing the library must not cost what is not needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy(package: str, table: Mapping[str, Sequence[str]]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` for a package: {module relative to it: names that it gives}.

    A module whose list of names is empty is offered itself.
    """
    where = {name: module for module, names in table.items() for name in names}
    where |= {module: module for module, names in table.items() if not names}

    def load(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{where[name]}", package)
        value = module if where[name] == name and not table[name] else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    names = sorted(where)
    return load, lambda: names, names


__all__ = ["lazy"]
