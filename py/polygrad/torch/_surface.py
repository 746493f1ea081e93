"""How the library's own classes and functions become those of `polygrad.torch` and `polygrad.torch_geometric`.

Nothing is implemented twice. A class of this namespace is a subclass of the library's, with the same name; a function is the library's,
called. What differs is the class of the tensors that they make out of nothing (parameters, batches, values read from files): while one of them
runs, that is PyTorch's. What is computed from tensors has their class anyway. A name of the library that was not lifted, such as a layer inside
a model, is an instance of the lifted class too, so that isinstance agrees with both names.
"""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .. import tensor as _plain
from ..autograd import current
from ..nn.module import Module, in_mode
from .tensor import Tensor

# What the library calls while it runs, and looks at: they stay as they are.
_HOOKS = frozenset(
    "forward message aggregate update edge_update message_and_aggregate edge_updater extra_repr explain_message"
    " download process get len read urls".split()
)
_SPECIAL = frozenset({"__call__", "__getitem__", "__iter__", "__next__"})


def made_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """function, during which new tensors are of PyTorch's class. Results that are iterators are made so at each step."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        g = current()
        outer = g.made
        if outer is Tensor:
            return function(*args, **kwargs)
        g.made = Tensor
        try:
            out = function(*args, **kwargs)
        finally:
            g.made = outer
        return _each(out) if isinstance(out, types.GeneratorType) else out

    return call


def _by_type(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is called for each type if its first argument is a value by type, inside a model that to_hetero has made."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        each = getattr(args[0], "for_each", None) if args else None
        return function(*args, **kwargs) if each is None else each(function, *args, **kwargs)

    return call


def _in_its_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a module, during which Tensor.training is the module's own mode."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        mode = self.__dict__.get("_mode")
        if mode is None or mode == _plain.Tensor.training:
            return function(self, *args, **kwargs)
        with in_mode(self):
            return function(self, *args, **kwargs)

    return call


def _each(steps: Iterator[Any]) -> Iterator[Any]:
    following = made_here(next)
    end = object()
    try:
        while (value := following(steps, end)) is not end:
            yield value
    finally:
        steps.close()  # type: ignore[attr-defined]


class Lifted(type):
    """The class of the classes here: an object is made with PyTorch's tensors, by a subclass that a script writes as well."""

    _origin: type | None

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        g = current()
        outer = g.made
        g.made = Tensor
        try:
            made = super().__call__(*args, **kwargs)
        finally:
            g.made = outer
        if isinstance(made, Module) and "_mode" not in made.__dict__:
            for m in made.modules():  # with those of the library inside it
                m.__dict__.setdefault("_mode", True)
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """What a class is called with is what its constructor takes; inspect would find the call above."""
        init = cls.__init__
        if not inspect.isfunction(init):
            return inspect.Signature()
        signature = inspect.signature(init)
        return signature.replace(parameters=list(signature.parameters.values())[1:], return_annotation=inspect.Signature.empty)

    def __instancecheck__(cls, x: Any) -> bool:
        origin = cls.__dict__.get("_origin")
        return isinstance(x, origin) if origin is not None else super().__instancecheck__(x)

    def __subclasscheck__(cls, c: type) -> bool:
        origin = cls.__dict__.get("_origin")
        # By its bases alone: an abstract class asks its subclasses, of which this is one.
        return type.__subclasscheck__(origin, c) if origin is not None else super().__subclasscheck__(c)


_METAS: dict[type, type] = {type: Lifted}


def _meta(base: type) -> type:
    if base not in _METAS:
        _METAS[base] = Lifted if issubclass(Lifted, base) else type(f"Lifted{base.__name__}", (Lifted, base), {})
    return _METAS[base]


def _methods(origin: type) -> dict[str, Any]:
    """The methods that a script may call, with new tensors of PyTorch's class."""
    out: dict[str, Any] = {}
    hooked = any(base.__name__ in ("Module", "Dataset") for base in origin.__mro__)
    for cls in reversed(origin.__mro__):
        if not cls.__module__.startswith("polygrad."):
            continue
        for name, value in cls.__dict__.items():
            if (name.startswith("_") and name not in _SPECIAL) or (hooked and name in _HOOKS):
                continue
            if isinstance(value, types.FunctionType):
                moded = issubclass(origin, Module) and name not in ("__call__", "train", "eval")
                out[name] = made_here(_in_its_mode(value) if moded else value)
            elif isinstance(value, (staticmethod, classmethod)):
                out[name] = type(value)(made_here(value.__func__))
            else:
                out.pop(name, None)
    return out


class _Listed(list):
    """What parameters() gives: a list that next() takes from as well, because PyTorch's is an iterator."""

    def __next__(self) -> Any:
        if not self:
            raise StopIteration
        return self.pop(0)


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _Listed(function(self, *args, **kwargs))

    return call


def lift_class(origin: type, module: str, **members: Any) -> Any:
    """The class of this namespace for one of the library's."""
    methods = _methods(origin)
    for name in ("parameters", "named_parameters"):
        if issubclass(origin, Module) and name in methods:
            methods[name] = _listed(methods[name])
    members = {
        **methods, "__module__": module, "__qualname__": origin.__qualname__, "__doc__": origin.__doc__, "_origin": origin, **members,
    }  # fmt: skip
    if origin.__name__ in ("Module", "MessagePassing"):
        members["_every_tensor"] = members["_shows_count"] = False  # of the classes that a script derives from these
    if not hasattr(origin, "__dict__") or "__slots__" in origin.__dict__:
        members["__slots__"] = ()
    return _meta(type(origin))(origin.__name__, (origin,), members)


_lifted: dict[Any, Any] = {_plain.Tensor: Tensor}


def as_it_is(*values: Any) -> None:
    """These are the same in this namespace: they hold tensors and make none out of nothing."""
    for value in values:
        _lifted[value] = value


def lift_as(origin: type, lifted: Any) -> None:
    """The class of this namespace for one of the library's is `lifted`, unless it has one already."""
    _lifted.setdefault(origin, lifted)


_OWN: dict[str, str] = {}


def own(origin: str, module: str) -> None:
    """The classes of the library's module `origin` that `module` has as well are taken from there."""
    _OWN[origin] = module


def lift(value: Any, module: str) -> Any:
    """What a name of the library is called with in this namespace."""
    if not (inspect.isclass(value) or isinstance(value, types.FunctionType)) or not value.__module__.startswith("polygrad."):
        return value
    if value.__module__.startswith(("polygrad.torch.", "polygrad.torch_geometric")) or value.__module__ in ("polygrad.torch", "polygrad.dtypes"):
        return value
    if value not in _lifted:
        here = importlib.import_module(_OWN[value.__module__]) if value.__module__ in _OWN else None
        if here is not None and hasattr(here, value.__name__):
            _lifted[value] = getattr(here, value.__name__)
        elif isinstance(value, types.FunctionType):
            _lifted[value] = _by_type(made_here(value))
        elif issubclass(value, (BaseException, tuple)) or type(value).__name__ == "EnumType" or type(value).__name__ == "EnumMeta":
            _lifted[value] = value
        else:
            _lifted[value] = lift_class(value, module)
    return _lifted[value]


def lifted_names(module: str, origin: types.ModuleType) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are those of `origin`, lifted when they are first asked for."""

    def get(name: str) -> Any:
        if name.startswith("_") or not hasattr(origin, name):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = lift(getattr(origin, name), module)
        setattr(sys.modules[module], name, value)
        return value

    return get


def mirror(name: str, origin: str, also: dict[str, str]) -> types.ModuleType:
    """A module whose names are those of the library's module `origin`, lifted when they are first asked for. also: names that another module has."""
    from importlib import import_module

    source = import_module(origin)
    module = types.ModuleType(name, source.__doc__)

    def load(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        try:
            home = import_module(also[attribute]) if attribute in also else source
            old = attribute in also and home.__name__.endswith("._deprecated")  # which is no part of `import *`
            value = home.take(name.rpartition(".")[2], attribute) if old else getattr(home, attribute)
        except AttributeError:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}") from None
        if isinstance(value, types.ModuleType) and value.__name__.startswith("polygrad.geometric"):
            value = import_module(name + value.__name__[len(origin) :]) if value.__name__.startswith(origin + ".") else value
        else:
            value = lift(value, name)
        setattr(module, attribute, value)
        return value

    module.__getattr__ = load  # type: ignore[method-assign]
    module.__dir__ = lambda: sorted({*dir(source), *also})  # type: ignore[method-assign]
    names = getattr(source, "__all__", [n for n in dir(source) if not n.startswith("_")])
    more = (n for n in also if not n.startswith("_") and n not in names and not also[n].endswith("._deprecated"))
    module.__all__ = [*names, *more]  # type: ignore[attr-defined]
    return module


__all__ = ["Lifted", "Module", "as_it_is", "lift", "lift_as", "lift_class", "made_here", "mirror", "own"]
