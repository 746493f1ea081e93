"""Objects that can be written as settings, and made of them."""

# mypy: disable-error-code="no-untyped-call, import-untyped"

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from ._isinstance import is_torch_instance
from .config_store import class_from_dataclass, dataclass_from_class


class ConfigMixin:
    """config() gives the settings of an object of a class that is entered in the store; from_config makes the object again.

    >>> from polygrad.torch_geometric.config_mixin import ConfigMixin
    >>> from polygrad.torch_geometric.config_store import clear_config_store, register
    >>> @register()
    ... class Scale(ConfigMixin):
    ...     def __init__(self, by: int = 2):
    ...         self.by = by
    >>> Scale.from_config(Scale(3).config()).by
    3
    >>> store = clear_config_store()
    """

    def config(self) -> Any:
        """The settings, as a dataclass."""
        data_cls = _settings_of(type(self))
        return data_cls(**{f.name: _written(getattr(self, f.name)) for f in fields(data_cls) if hasattr(self, f.name)})

    @classmethod
    def from_config(cls, cfg: Any, *args: Any, **kwargs: Any) -> Any:
        """An object of these settings; arguments that are given count more."""
        target = cfg.get("_target_") if isinstance(cfg, dict) else getattr(cfg, "_target_", None)
        made: Any = _locate(target) if target else cls
        data_cls: Any = type(cfg) if is_dataclass(cfg) else _settings_of(made)
        names = {f.name for f in fields(data_cls)}
        if isinstance(cfg, dict):
            cfg = data_cls(**{k: v for k, v in cfg.items() if k in names})
        positions = [n for n in inspect.signature(made).parameters if n not in ("args", "kwargs")]
        kwargs = {**dict(zip(positions, args)), **kwargs}
        for name in names - {*kwargs, "_target_"}:
            kwargs[name] = _made(getattr(cfg, name))
        return made(**kwargs)


def _settings_of(cls: Any) -> Any:
    found = dataclass_from_class(cls)
    if found is None:
        raise ValueError(f"Could not find the configuration class that belongs to '{cls.__name__}'. Please register it in the configuration store.")
    return found


def _written(value: Any) -> Any:
    from ..torch.nn import ModuleDict, ModuleList

    if is_torch_instance(value, ConfigMixin):
        return value.config()
    if isinstance(value, (tuple, list, ModuleList)):
        return [_written(v) for v in value]
    if isinstance(value, (dict, ModuleDict)):
        return {k: _written(v) for k, v in value.items()}
    return value


def _made(value: Any) -> Any:
    cls: Any = None
    if is_dataclass(value):
        target = getattr(value, "_target_", None)
        try:
            cls = _locate(target) if target else class_from_dataclass(type(value))
        except ImportError:
            return value
    elif isinstance(value, dict) and "_target_" in value:
        cls = _locate(value["_target_"])
    if cls is not None and issubclass(cls, ConfigMixin):
        return cls.from_config(value)
    if isinstance(value, (tuple, list)):
        return [_made(v) for v in value]
    return {k: _made(v) for k, v in value.items()} if isinstance(value, dict) else value


def _locate(path: str) -> Any:
    parts = path.split(".")
    if len(parts) < 2:
        raise ValueError(f"Qualified name is missing a dot (got '{path}')")
    if not all(parts):
        raise ValueError(f"Relative imports not supported (got '{path}')")
    return getattr(import_module(".".join(parts[:-1])), parts[-1])


__all__ = ["ConfigMixin"]
