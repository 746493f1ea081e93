"""What the methods of a class take: their parameters with types and defaults, and those of calls in its text."""

# mypy: disable-error-code="misc, no-untyped-call"

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
import typing
from typing import Any, NamedTuple

from ..torch.tensor import Tensor


class Parameter(NamedTuple):
    """A parameter of a method."""

    name: str
    type: Any
    type_repr: str
    default: Any


class Signature(NamedTuple):
    """The parameters of a method, and the type of what it gives."""

    param_dict: dict[str, Parameter]
    return_type: Any
    return_type_repr: str


def _common() -> dict[str, Any]:
    """Names that the annotations of layers are written with."""
    from . import typing as types

    names = "Adj NoneType OptPairTensor OptTensor PairOptTensor PairTensor Size SparseTensor".split()
    plain = {"Tensor": Tensor, "List": typing.List, "Optional": typing.Optional, "Tuple": typing.Tuple, "Union": typing.Union}  # noqa: UP006
    return {**{n: getattr(types, n) for n in names}, **plain}


class Inspector:
    """Reads the methods of a class.

    >>> from polygrad.torch_geometric.inspector import Inspector
    >>> class Layer:
    ...     def message(self, x_j, scale: float = 1.0):
    ...         return x_j * scale
    >>> layer = Inspector(Layer)
    >>> out = layer.inspect_signature("message")
    >>> layer.get_param_names("message"), out.param_dict["x_j"].type_repr
    (['x_j', 'scale'], 'Tensor')
    """

    def __init__(self, cls: Any):
        self._cls = cls
        self._signature_dict: dict[str, Signature] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._cls.__name__})"

    @property
    def _globals(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for cls in reversed(self._cls.__mro__):
            if not cls.__module__.startswith("polygrad.") and cls.__module__ in sys.modules:
                out.update(vars(sys.modules[cls.__module__]))
        return {**out, **_common()}

    def eval_type(self, value: Any) -> Any:
        """The type that a text stands for."""
        return eval_type(value, self._globals)

    def type_repr(self, obj: Any) -> str:
        """The text of a type."""
        return type_repr(obj, self._globals)

    def implements(self, func_name: str) -> bool:
        """Does the class have the method itself, and not only the base class of all layers?"""
        from ..geometric.nn import MessagePassing

        func = getattr(self._cls, func_name, None)
        if not callable(func) or getattr(func, "__isabstractmethod__", False):
            return False
        return func_name != "message_and_aggregate" or any(
            func_name in cls.__dict__ and cls is not MessagePassing and cls.__name__ != "MessagePassing" for cls in self._cls.__mro__
        )

    def _func(self, func: Any) -> Any:
        return getattr(self._cls, func) if isinstance(func, str) else func

    def inspect_signature(self, func: Any, exclude: list[Any] | None = None) -> Signature:
        """Reads a method; parameters without a type are tensors. exclude: names or places of parameters that are left."""
        func = self._func(func)
        if func.__name__ in self._signature_dict:
            return self._signature_dict[func.__name__]
        signature = inspect.signature(func)
        params: dict[str, Parameter] = {}
        for k, p in enumerate(p for p in signature.parameters.values() if p.name != "self"):
            if exclude is None or (k not in exclude and p.name not in exclude):
                kind = Tensor if p.annotation is inspect.Parameter.empty else p.annotation
                params[p.name] = Parameter(p.name, self.eval_type(kind), self.type_repr(kind), p.default)
        back = Tensor if signature.return_annotation is inspect.Signature.empty else signature.return_annotation
        out = self._signature_dict[func.__name__] = Signature(params, self.eval_type(back), self.type_repr(back))
        return out

    def get_signature(self, func: Any, exclude: list[str] | None = None) -> Signature:
        """What was read of a method."""
        name = func if isinstance(func, str) else func.__name__
        if name not in self._signature_dict:
            raise IndexError(f"Could not access signature for function '{name}'. Did you forget to inspect it?")
        found = self._signature_dict[name]
        return found if exclude is None else found._replace(param_dict={n: p for n, p in found.param_dict.items() if n not in exclude})

    def remove_signature(self, func: Any) -> Signature | None:
        """Forgets a method."""
        return self._signature_dict.pop(func if isinstance(func, str) else func.__name__, None)

    def get_param_dict(self, func: Any, exclude: list[str] | None = None) -> dict[str, Parameter]:
        """The parameters of a method by name."""
        return self.get_signature(func, exclude).param_dict

    def get_params(self, func: Any, exclude: list[str] | None = None) -> list[Parameter]:
        """The parameters of a method."""
        return list(self.get_param_dict(func, exclude).values())

    def get_param_names(self, func: Any, exclude: list[str] | None = None) -> list[str]:
        """The names of a method's parameters."""
        return list(self.get_param_dict(func, exclude))

    def get_flat_param_dict(self, funcs: list[Any], exclude: list[str] | None = None) -> dict[str, Parameter]:
        """The parameters of several methods by name; those of one name must agree."""
        out: dict[str, Parameter] = {}
        for func in funcs:
            for p in self.get_params(func, exclude):
                other = out.get(p.name, p)
                if p.type != other.type:
                    raise ValueError(f"Found inconsistent types for argument '{p.name}'. Expected type '{other.type}' but found type '{p.type}'.")
                if p.default != other.default and inspect.Parameter.empty not in (p.default, other.default):
                    raise ValueError(f"Found inconsistent defaults for argument '{p.name}'. Expected '{other.default}'  but found '{p.default}'.")
                out[p.name] = p if other.default is inspect.Parameter.empty else other
        return out

    def get_flat_params(self, funcs: list[Any], exclude: list[str] | None = None) -> list[Parameter]:
        """The parameters of several methods."""
        return list(self.get_flat_param_dict(funcs, exclude).values())

    def get_flat_param_names(self, funcs: list[Any], exclude: list[str] | None = None) -> list[str]:
        """The names of the parameters of several methods."""
        return list(self.get_flat_param_dict(funcs, exclude))

    def collect_param_data(self, func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The values that a method takes, out of many."""
        out = {}
        for p in self.get_params(func):
            if p.name not in kwargs and p.default is inspect.Parameter.empty:
                raise TypeError(f"Parameter '{p.name}' is required")
            out[p.name] = kwargs.get(p.name, p.default)
        return out

    def get_source(self, cls: Any = None) -> str:
        """The text of a class; nothing for one that has none."""
        try:
            return textwrap.dedent(inspect.getsource(self._cls if cls is None else cls))
        except (OSError, TypeError):
            return ""

    def get_params_from_method_call(self, func: Any, exclude: list[Any] | None = None) -> dict[str, Parameter]:
        """What a method is called with, by an attribute `{func}_type`, by a comment `# {func}_type: (x: Tensor)`, or by the first call."""
        name = func if isinstance(func, str) else func.__name__
        given = getattr(self._cls, f"{name}_type", None)
        if given is not None and not isinstance(given, dict):
            raise ValueError(f"'{name}_type' is expected to be a dictionary (got '{type(given)}')")
        if given is not None:
            return {n: self._argument(n, t) for n, t in given.items()}
        sources = [s for cls in self._cls.__mro__ if cls.__name__ not in ("object", "Module", "MessagePassing") and (s := self.get_source(cls))]
        for source in sources:
            noted = re.search(rf"#\s*{name}_type:\s*\(", source)
            if noted is not None:
                return {n: self._argument(n, t) for n, t in _noted(source[noted.end() - 1 :])}
        for source in sources:
            called = _call(source, name)
            if called is not None:
                left = [k.arg for k in called.keywords if k.arg and not (exclude and k.arg in exclude)]
                return {n: self._argument(n, Tensor) for n in left}
        return {}

    def _argument(self, name: str, kind: Any) -> Parameter:
        return Parameter(name, self.eval_type(kind), self.type_repr(kind), inspect.Parameter.empty)


def _noted(text: str) -> list[tuple[str, str]]:
    """The names and types inside the parentheses that a text begins with."""
    depth, parts, at = 0, [""], 0
    for at, char in enumerate(text):  # noqa: B007
        depth += (char in "([") - (char in ")]")
        if depth == 0:
            break
        if char == "," and depth == 1:
            parts.append("")
        elif at:
            parts[-1] += char
    pairs = [re.sub(r"[\s#]+", " ", p).strip().partition(":") for p in parts if p.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise ValueError(f"Could not parse '{text[: at + 1]}'")
    return [(n.strip(), t.strip()) for n, _, t in pairs]


def _call(source: str, name: str) -> ast.Call | None:
    """The first call of self.name in a text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            return node
    return None


def eval_type(value: Any, _globals: dict[str, Any]) -> Any:
    """The type that a text stands for."""
    if isinstance(value, str):
        try:
            return eval(value, dict(_globals))
        except (NameError, SyntaxError, TypeError):
            return value
    return value


def type_repr(obj: Any, _globals: dict[str, Any]) -> str:
    """The text of a type, by names that are known where it is used."""
    if isinstance(obj, str):
        return obj
    if obj is type(None):
        return "None"
    if obj is ...:
        return "..."

    def named(name: str, module: str) -> str:
        return name if name in _globals else f"{module}.{name}"

    if obj.__module__ != "typing":
        return str(obj.__qualname__) if obj.__module__ == "builtins" else named(obj.__qualname__, obj.__module__)
    name = getattr(obj, "_name", None) or str(getattr(obj, "__origin__", obj)).split(".")[-1]
    args = getattr(obj, "__args__", None)
    if not args or all(isinstance(a, typing.TypeVar) for a in args):
        return named(name, "typing")
    if name == "Optional" or (name == "Union" and len(args) == 2 and type(None) in args):
        name, args = "Optional", tuple(a for a in args if a is not type(None))
    return f"{named(name, 'typing')}[{', '.join(type_repr(a, _globals) for a in args)}]"


__all__ = ["Inspector", "Parameter", "Signature", "eval_type", "type_repr"]
