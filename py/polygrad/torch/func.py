"""torch.func: derivatives of functions, and modules called with other parameters."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .autograd import functional
from .autograd import grad as _grad


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives (the gradient of func, which gives one number, and its value)."""

    def both(*args: Any, **kwargs: Any) -> Any:
        at = [argnums] if isinstance(argnums, int) else list(argnums)
        ins = [x if x.requires_grad else x.detach().requires_grad_() for x in (args[k] for k in at)]
        given = list(args)
        for k, x in zip(at, ins):
            given[k] = x
        out = func(*given, **kwargs)
        value = out[0] if has_aux else out
        outer = any(x is args[k] for k, x in zip(at, ins))  # inside another derivative
        found = _grad(value, ins, create_graph=outer, allow_unused=True)
        slopes = found[0] if isinstance(argnums, int) else tuple(found)
        return slopes, (out if outer else (value.detach(), out[1]) if has_aux else out.detach())

    return both


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of func, which gives one number.

    >>> import polygrad.torch as torch
    >>> torch.func.grad(lambda x: (x * x).sum())(torch.tensor([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    both = grad_and_value(func, argnums, has_aux)

    def slopes(*args: Any, **kwargs: Any) -> Any:
        found, out = both(*args, **kwargs)
        return (found, out[1]) if has_aux else found

    return slopes


def jacrev(func: Callable[..., Any], argnums: int = 0, **others: Any) -> Callable[..., Any]:
    """A function that gives the derivative of every result by every input."""

    def derivative(*args: Any) -> Any:
        return functional.jacobian(lambda x: func(*args[:argnums], x, *args[argnums + 1 :]), args[argnums], create_graph=args[argnums].requires_grad)

    return derivative


jacfwd = jacrev


def hessian(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of func, which gives one number."""

    def derivative(*args: Any) -> Any:
        return functional.hessian(lambda x: func(*args[:argnums], x, *args[argnums + 1 :]), args[argnums])

    return derivative


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of func, and a function that multiplies a tensor with its derivative."""
    ins = [x if x.requires_grad else x.detach().requires_grad_() for x in primals]
    out = func(*ins)
    value = out[0] if has_aux else out
    return (value, lambda v: tuple(_grad(value, ins, v, retain_graph=True, allow_unused=True)), *([out[1]] if has_aux else []))


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, **others: Any) -> Any:
    """The value of func, and its derivative times the tangents."""
    parts = []
    for k, (x, t) in enumerate(zip(primals, tangents)):
        value, part = functional.jvp(lambda y, k=k: func(*primals[:k], y, *primals[k + 1 :]), x, t)
        parts.append(part)
    return value, sum(parts[1:], parts[0])


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None, **others: Any) -> Any:
    """module(*args), with these tensors, by name, in place of its own."""
    given = parameter_and_buffer_dicts
    if isinstance(given, (tuple, list)):
        given = {name: t for part in given for name, t in part.items()}
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    held: list[tuple[Any, str, Any]] = []
    try:
        for name, t in given.items():
            owner, _, last = name.rpartition(".")
            at = module.get_submodule(owner)
            held.append((at, last, getattr(at, last)))
            setattr(at, last, t)
        return module(*args, **(kwargs or {}))
    finally:
        for at, last, t in reversed(held):
            setattr(at, last, t)


__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp"]
