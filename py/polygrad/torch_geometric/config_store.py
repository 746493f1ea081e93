"""Settings of classes as dataclasses: what a class takes, with its types and defaults, kept under a name in one store of the process."""

# mypy: disable-error-code="misc, no-untyped-call, import-not-found, import-untyped"

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Optional, Union

from .. import torch

EXCLUDE = {"self", "args", "kwargs"}
MISSING = "???"


@dataclasses.dataclass
class ConfigNode:
    """An entry of the store: a dataclass, and the class whose settings it has."""

    name: str
    node: Any
    group: str | None = None
    orig_type: Any = None


class ConfigStore:
    """Entries by group and name."""

    _one: ConfigStore | None = None

    def __init__(self) -> None:
        self.repo: dict[str, Any] = defaultdict(dict)

    @classmethod
    def instance(cls) -> ConfigStore:
        """The store of the process."""
        if cls._one is None:
            cls._one = cls()
        return cls._one

    def store(self, name: str, node: Any, group: str | None = None, orig_type: Any = None) -> None:
        """Enters a dataclass."""
        place = self.repo if group is None else self.repo[group]
        if name in place:
            raise KeyError(f"Configuration '{name}' already registered. Please store it under a different group.")
        place[name] = ConfigNode(name, node, group, orig_type)


def get_config_store() -> ConfigStore:
    """The store of the process."""
    return ConfigStore.instance()


def clear_config_store() -> ConfigStore:
    """Empties the store."""
    store = get_config_store()
    store.repo.clear()
    return store


def get_node(cls: Any) -> ConfigNode | None:
    """The entry of a class, of a dataclass, or of a name."""
    if not isinstance(cls, str) and getattr(cls, "__module__", "") in ("builtins", "typing"):
        return None
    found = [node for part in get_config_store().repo.values() for node in (part.values() if isinstance(part, dict) else [part])]
    found = [n for n in found if (n.name == cls if isinstance(cls, str) else n.node is cls or n.orig_type is cls)]
    if len(found) > 1:
        raise ValueError(f"Found multiple entries in the configuration store for the same node '{found[0].name}'")
    return found[0] if found else None


def dataclass_from_class(cls: Any) -> Any:
    """The dataclass of a class or name; None if there is none."""
    node = get_node(cls)
    return None if node is None else node.node


def class_from_dataclass(cls: Any) -> Any:
    """The class of a dataclass or name; None if there is none."""
    node = get_node(cls)
    return None if node is None else node.orig_type


def _plain_mapping() -> dict[Any, Any]:
    return {torch.nn.Module: Any, torch.Tensor: Any}


def map_annotation(annotation: Any, mapping: dict[Any, Any] | None = None) -> Any:
    """A type with others in the place of those in the mapping, and dataclasses in the place of classes that are entered."""
    origin = getattr(annotation, "__origin__", None)
    if origin in (Union, list, dict, tuple):
        args = tuple(map_annotation(a, mapping) for a in annotation.__args__)
        if type(annotation).__name__ == "GenericAlias":
            return origin[args]
        return Union[args] if origin is Union else annotation.copy_with(args)
    try:
        if mapping is not None and annotation in mapping:
            return mapping[annotation]
    except TypeError:  # not hashable
        return annotation
    known = dataclass_from_class(annotation) if inspect.isclass(annotation) else None
    return annotation if known is None else known


def _simple(annotation: Any) -> Any:
    """A type that says no more than one of several: unions become Any."""
    if annotation is inspect.Parameter.empty:
        return Any
    origin, args = getattr(annotation, "__origin__", None), getattr(annotation, "__args__", ())
    if origin is Union or type(annotation).__name__ == "UnionType":
        if type(None) not in args:
            return Any
        return Optional[Any] if len(args) > 2 else annotation
    if origin is list and getattr(args[0], "__origin__", None) is Union:
        return list[Any]
    if origin is dict and getattr(args[1], "__origin__", None) is Union:
        return dict.__class_getitem__((args[0], Any))
    return annotation


def _parameters(cls: Any) -> dict[str, tuple[Any, Any]]:
    """(type, default) of what a class takes; of a dataclass, its fields."""
    empty = inspect.Parameter.empty
    if dataclasses.is_dataclass(cls):
        out = {}
        for f in dataclasses.fields(cls):
            made = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
            out[f.name] = (_evaluated(cls, f.type), empty if made is dataclasses.MISSING else made)
        return out
    origin = getattr(cls, "_origin", None) or cls  # the annotations of a lifted class are those of the library's
    hints = inspect.signature(cls.__init__).parameters
    return {name: (_evaluated(origin, p.annotation), p.default) for name, p in hints.items()}


def _evaluated(cls: Any, annotation: Any) -> Any:
    """The type of an annotation that may be a text."""
    if not isinstance(annotation, str):
        return annotation
    import sys

    try:
        return eval(annotation, {**vars(typing), **vars(sys.modules[cls.__module__])})
    except Exception:  # a name that only type checkers know
        return Any


def to_dataclass(
    cls: Any, base_cls: Any = None, with_target: bool | None = None, map_args: dict[str, tuple[Any, ...]] | None = None,
    exclude_args: list[Any] | None = None, strict: bool = False,
) -> Any:  # fmt: skip
    """The arguments of a class as the fields of a dataclass; with a target, its path is the last one.

    >>> from polygrad.torch_geometric.config_store import to_dataclass
    >>> from polygrad.torch_geometric.transforms import AddSelfLoops
    >>> to_dataclass(AddSelfLoops)().attr
    'edge_weight'
    """
    given = _parameters(cls)
    map_args, excluded = map_args or {}, set(exclude_args or ())
    if strict and (unknown := ({*map_args, *(e for e in excluded if isinstance(e, str))} - set(given))):
        raise ValueError(f"Expected input argument(s) {unknown} in '{cls.__name__}'")
    fields: list[Any] = []
    for k, (name, (annotation, default)) in enumerate(given.items()):
        if name in EXCLUDE or name in excluded or k in excluded or (base_cls is not None and name in base_cls.__dataclass_fields__):
            continue
        if name in map_args:
            fields.append((name, *map_args[name]))
            continue
        fields.append((name, _simple(map_annotation(annotation, _plain_mapping())), _default(default)))
    if (base_cls is not None) if with_target is None else with_target:
        fields.append(("_target_", str, dataclasses.field(default=f"{cls.__module__}.{cls.__qualname__}")))
    return dataclasses.make_dataclass(cls.__qualname__, fields, bases=() if base_cls is None else (base_cls,))


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return dataclasses.field(default=MISSING)
    if isinstance(value, (list, dict, set)):
        return dataclasses.field(default_factory=lambda: value)
    return value


def register(cls: Any = None, data_cls: Any = None, group: str | None = None, **kwargs: Any) -> Any:
    """Enters a class with its dataclass, made by to_dataclass if none is given; without a class, a decorator that does."""
    if cls is None:

        def entered(cls: Any) -> Any:
            register(cls, data_cls, group, **kwargs)
            return cls

        return entered
    if get_node(cls):
        raise ValueError(f"The class '{cls.__name__}' is already registered in the global configuration store")
    if data_cls is None:
        data_cls = to_dataclass(cls, **kwargs)
    elif get_node(data_cls):
        raise ValueError(f"The data class '{data_cls.__name__}' is already registered in the global configuration store")
    get_config_store().store(cls.__name__, data_cls, group, cls)
    return data_cls


@dataclasses.dataclass
class Transform:
    """Settings of a transform."""


@dataclasses.dataclass
class Dataset:
    """Settings of a dataset."""


@dataclasses.dataclass
class Model:
    """Settings of a model."""


@dataclasses.dataclass
class Optimizer:
    """Settings of an optimizer."""


@dataclasses.dataclass
class LRScheduler:
    """Settings of a schedule of learning rates."""


@dataclasses.dataclass
class Config:
    """Settings of a training."""

    dataset: Any = MISSING
    model: Any = MISSING
    optim: Any = MISSING
    lr_scheduler: Any = None


def fill_config_store() -> None:
    """Enters transforms, datasets, models, optimizers and schedules."""
    from . import datasets, transforms
    from .nn import models

    store = get_config_store()
    none: Callable[[], Any] = dict
    for name in sorted(set(transforms.__all__) - {"BaseTransform", "Compose", "ComposeFilters", "LinearTransformation", "AddMetaPaths"}):
        made = getattr(transforms, name)
        if inspect.isclass(made):
            store.store(name, {name: to_dataclass(made, Transform)}, "transform")
    own = {
        "transform": (dict[str, Any], dataclasses.field(default_factory=none)),
        "pre_transform": (dict[str, Any], dataclasses.field(default_factory=none)),
    }
    for name in sorted(datasets.__all__):
        made = getattr(datasets, name)
        if inspect.isclass(made):
            store.store(name, to_dataclass(made, Dataset, map_args=own, exclude_args=["pre_filter"]), "dataset")
    for name in ("GCN", "GraphSAGE", "GIN", "GAT", "PNA", "EdgeCNN"):
        store.store(name, to_dataclass(getattr(models, name), Model), "model")
    for group, module, base, without in (
        ("optimizer", torch.optim, Optimizer, "params"), ("lr_scheduler", torch.optim.lr_scheduler, LRScheduler, "optimizer"),
    ):  # fmt: skip
        for name in sorted(set(dir(module))):
            made = getattr(module, name)
            if inspect.isclass(made) and not name.startswith("_") and name not in ("Optimizer", "LRScheduler", "SequentialLR", "ChainedScheduler"):
                store.store(name, to_dataclass(made, base, exclude_args=[without]), group)
    store.store("config", Config)


__all__ = [
    "Config", "ConfigStore", "class_from_dataclass", "clear_config_store", "dataclass_from_class", "fill_config_store", "get_config_store",
    "map_annotation",
    "register", "to_dataclass",
]  # fmt: skip
