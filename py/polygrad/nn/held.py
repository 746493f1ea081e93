"""What a module holds, as the dicts `_parameters`, `_buffers` and `_modules` that PyTorch has in a module: they read and write its attributes."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any


class Held(MutableMapping[str, Any]):
    """The parameters, buffers or modules of one module by name, without those of the modules inside."""

    def __init__(self, module: Any, kind: str):
        self._module, self._kind = module, kind

    def _now(self) -> dict[str, Any]:
        m = self._module
        return dict(m.named_children() if self._kind == "modules" else m._own(self._kind == "parameters"))

    def __getitem__(self, name: str) -> Any:
        found = self._now()
        if name not in found and name in self._module.__dict__.get("_registered", ()) and getattr(self._module, name) is None:
            return None
        return found[name]

    def __setitem__(self, name: str, value: Any) -> None:
        """A tensor of a computation may take the place of a parameter: it is used, and has no state of its own."""
        self._module.__dict__.setdefault("_registered", set()).add(name)
        setattr(self._module, name, value)

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self._module, name)
        for names in ("_registered", "_buffer_names", "_unsaved"):
            self._module.__dict__.get(names, set()).discard(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __repr__(self) -> str:
        return repr(self._now())


class held:  # noqa: N801
    """The attribute of Module that gives them; one of the user's own by that name takes its place."""

    def __init__(self, kind: str):
        self._kind = kind

    def __get__(self, module: Any, owner: Any = None) -> Any:
        return self if module is None else Held(module, self._kind)


__all__ = ["Held", "held"]
