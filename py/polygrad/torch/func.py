"""torch.func: derivatives of functions, and modules called with other parameters."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..loops import scan
from ..tensor import Tensor as Plain
from .autograd import functional
from .autograd import grad as _grad


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives (the gradient of func, which gives one number, and its value)."""

    def both(*args: Any, **kwargs: Any) -> Any:
        at = [argnums] if isinstance(argnums, int) else list(argnums)
        pairs: list[tuple[Any, Any]] = []
        form = _pairs([args[k] for k in at], 0, pairs)  # an argument may be a tree: the parameters of a module by their names
        own = [x for x, _ in pairs]
        ins = [x if x.requires_grad else x.detach().requires_grad_() for x in own]
        given = list(args)
        for k, x in zip(at, _filled(form, ins)):
            given[k] = x
        out = func(*given, **kwargs)
        value = out[0] if has_aux else out
        outer = any(x is y for x, y in zip(ins, own))  # inside another derivative
        found = _grad(value, ins, create_graph=outer, materialize_grads=True)
        found = _filled(form, list(found))
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
    return (value, lambda v: _grad(value, ins, v, materialize_grads=True), *([out[1]] if has_aux else []))


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


def _pairs(tree: Any, dims: Any, out: list[tuple[Any, Any]]) -> Any:
    """The leaves of a tree, each with its entry of dims, which is one for all or a tree of the same form; gives the form."""
    if isinstance(tree, (tuple, list, dict)):
        keys = list(tree) if isinstance(tree, dict) else range(len(tree))
        if isinstance(dims, (tuple, list, dict)) and len(dims) != len(tree):
            raise ValueError(f"vmap: in_dims {dims} does not have the form of the inputs")
        parts = [_pairs(tree[k], dims[k] if isinstance(dims, (tuple, list, dict)) else dims, out) for k in keys]
        if isinstance(tree, dict):
            return dict(zip(keys, parts))
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    out.append((tree, dims))
    return len(out) - 1


def _filled(form: Any, leaves: list[Any]) -> Any:
    """A tree of that form with these leaves."""
    if isinstance(form, dict):
        return {k: _filled(v, leaves) for k, v in form.items()}
    if isinstance(form, (tuple, list)):
        parts = [_filled(v, leaves) for v in form]
        return type(form)(*parts) if hasattr(form, "_fields") else type(form)(parts)
    return leaves[form]


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: Any = None) -> Callable[..., Any]:
    """A function that applies func to each slice of its arguments along the axes in_dims (None: the whole argument), and stacks what it gives along
    out_dims. func is called once, for one slice; what it computes is compiled for all slices at once. It must not draw random numbers or read values.

    >>> import polygrad.torch as torch
    >>> torch.vmap(torch.dot)(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 1.0], [2.0, 2.0]])).tolist()
    [3.0, 14.0]
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    def mapped(*args: Any, **kwargs: Any) -> Any:
        pairs: list[tuple[Any, Any]] = []
        if isinstance(in_dims, (tuple, list)) and len(in_dims) != len(args):
            raise ValueError(f"vmap({getattr(func, '__name__', func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the inputs")
        form = _pairs(args, in_dims, pairs)
        keywords = _pairs(kwargs, 0, pairs)
        at = [k for k, (x, d) in enumerate(pairs) if isinstance(x, Plain) and d is not None]
        if not at:
            raise ValueError("vmap: no input is mapped: at least one in_dims must not be None")
        rows = [pairs[k][0].movedim(pairs[k][1], 0) for k in at]
        sizes = {int(r.shape[0]) for r in rows}
        if len(sizes) > 1:
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {[int(r.shape[0]) for r in rows]}")

        def one(_: Any, slices: Any) -> Any:
            leaves = [x for x, _ in pairs]
            for k, s in zip(at, slices):
                leaves[k] = s
            return (), func(*_filled(form, leaves), **_filled(keywords, leaves))

        stacked = scan(one, (), rows)[1]
        outputs: list[tuple[Any, Any]] = []
        shape = _pairs(stacked, out_dims, outputs)
        return _filled(shape, [x if not d else x.movedim(0, d) for x, d in outputs])

    return mapped


__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
