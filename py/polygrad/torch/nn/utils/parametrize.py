"""torch.nn.utils.parametrize: a parameter of a module that is computed from another one by a module."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment, no-untyped-call"

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...autograd import no_grad
from ...tensor import Parameter, Tensor
from .. import ModuleDict, ModuleList

_kept: dict[tuple[int, str], Any] = {}  # within cached(): what was computed, by module and name
_caching = 0


class ParametrizationList(ModuleList):
    """The modules that one parameter goes through, and the parameter that they begin with: original."""

    def __init__(self, modules: Any, original: Any):
        super().__init__(modules)
        value = original
        for module in reversed(list(modules)):
            if hasattr(module, "right_inverse"):
                with no_grad():
                    value = module.right_inverse(value)
        self.original = value if isinstance(value, Parameter) else Parameter(value) if original.requires_grad else value

    def forward(self) -> Any:
        """What the parameter is."""
        value = self.original
        for module in self:
            value = module(value)
        return value


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Is a parameter of the module, or this one, computed?"""
    found = module.__dict__.get("parametrizations")
    return bool(found) and (tensor_name is None or tensor_name in found)


def _computed(name: str) -> property:
    def get(self: Any) -> Any:
        if not _caching:
            return self.parametrizations[name].forward()
        key = (id(self), name)
        if key not in _kept:
            _kept[key] = self.parametrizations[name].forward()
        return _kept[key]

    def put(self: Any, value: Any) -> None:
        parts = self.parametrizations[name]
        for module in reversed(list(parts)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"{name} is computed, and {type(module).__name__} has no right_inverse: it cannot be set")
            value = module.right_inverse(value)
        with no_grad():
            parts.original.copy_(value)

    return property(get, put)


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """From now on the parameter is parametrization(the parameter as it was), which is kept as module.parametrizations[name].original.

    >>> import polygrad.torch as torch
    >>> from polygrad.torch.nn.utils import parametrize
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(0, 1)
    >>> layer = parametrize.register_parametrization(torch.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.t()).all()), sorted(dict(layer.named_parameters()))
    (True, ['bias', 'parametrizations.weight.original'])
    """
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    original = module.__dict__.get(tensor_name)
    if not isinstance(original, Tensor):
        raise ValueError(f"module {type(module).__name__} has no parameter or buffer {tensor_name!r}")
    if not is_parametrized(module):
        kind = type(module)
        module.__class__ = type(kind)(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__, "_plain_class": kind})
        module.parametrizations = ModuleDict()
    parts = ParametrizationList([parametrization], original)
    if not unsafe and tuple(parts.forward().shape) != tuple(original.shape):
        raise ValueError(f"{type(parametrization).__name__} changes the shape of {tensor_name!r}: pass unsafe=True if this is meant")
    del module.__dict__[tensor_name]
    setattr(type(module), tensor_name, _computed(tensor_name))
    module.parametrizations[tensor_name] = parts
    return module


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """The parameter is one of its own again: what was computed, or with leave_parametrized=False what it was computed from."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{tensor_name!r} of {type(module).__name__} is not computed from another parameter")
    parts = module.parametrizations[tensor_name]
    value = parts.forward().detach() if leave_parametrized else parts.original.detach()
    wanted = parts.original.requires_grad
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        del module.__dict__["parametrizations"]
        module.__class__ = type(module)._plain_class
    setattr(module, tensor_name, Parameter(value, requires_grad=wanted))
    return module


@contextlib.contextmanager
def cached() -> Iterator[None]:
    """Parameters are computed once while it is open."""
    global _caching
    _caching += 1
    try:
        yield
    finally:
        _caching -= 1
        if not _caching:
            _kept.clear()


def type_before_parametrizations(module: Any) -> type:
    """The class that the module had."""
    return getattr(type(module), "_plain_class", type(module))


__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations", "type_before_parametrizations",
]  # fmt: skip
