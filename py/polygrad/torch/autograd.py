"""torch.autograd and the switches of gradients: no_grad, enable_grad, set_grad_enabled, inference_mode."""

# mypy: disable-error-code="misc, override, attr-defined, return-value, arg-type, name-defined, valid-type, call-arg, assignment"

from __future__ import annotations

import contextlib
import sys
import types
from typing import Any

from .._ffi import C
from ..autograd import current
from ..context import Context, NoGrad
from ..custom import Function as _Function
from ..custom import FunctionContext as _FunctionContext
from ..tensor import Tensor as Plain
from ._modules import same as _same


class no_grad(NoGrad):
    """Nothing inside is recorded for gradients. A context and a decorator, with and without parentheses.

    >>> import polygrad.torch as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        if function is None:
            return made
        NoGrad.__init__(made)
        return contextlib.ContextDecorator.__call__(made, function)

    def __call__(self, function: Any = None) -> Any:
        return contextlib.ContextDecorator.__call__(self, function)


class set_grad_enabled(Context):
    """Turns recording on or off, at once; as a context, for a while."""

    def __init__(self, mode: bool = True):
        super().__init__(NO_GRAD=not mode)
        self._before = current().no_grad
        current().no_grad = not mode

    def __enter__(self) -> Any:
        super().__enter__()
        g, old = self._stack[-1]
        old["NO_GRAD"] = self._before
        return self


class enable_grad(Context):
    """Everything inside is recorded for gradients, also within no_grad."""

    def __init__(self, function: Any = None):
        super().__init__(NO_GRAD=False)


class inference_mode(Context):
    """no_grad under its other name; mode=False records."""

    def __init__(self, mode: bool = True):
        super().__init__(NO_GRAD=bool(mode))


def is_grad_enabled() -> bool:
    """Is what is computed recorded for gradients?"""
    return not current().no_grad


def _several(x: Any) -> list[Any]:
    return [x] if x is None or isinstance(x, Plain) else list(x)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: Any = None, create_graph: bool = False, only_inputs: bool = True,
    allow_unused: Any = None, is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """d(outputs)/d(input) for each input, as a tuple. An input that the outputs are not computed from is an error; with allow_unused its gradient is
    None, with materialize_grads zeros.

    >>> import polygrad.torch as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> [g.tolist() for g in torch.autograd.grad((x * x).sum(), x)]
    [[2.0, 4.0]]
    """
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched is not supported: use torch.vmap over torch.autograd.grad")
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads=True gives unused inputs zeros: allow_unused cannot be False")
    outs, ins = _several(outputs), _several(inputs)
    seeds = _several(grad_outputs) if grad_outputs is not None else [None] * len(outs)
    if not all(t.requires_grad for t in ins):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    used = [any(C.poly_depends_on(out._h, t._h) for out in outs) for t in ins]
    if not all(used) and not (allow_unused or materialize_grads):
        k = used.index(False)
        raise RuntimeError(
            f"The differentiated Tensor at index {k} (shape {tuple(ins[k].shape)}) appears to not have been used in the graph. "
            "Set allow_unused=True if this is the desired behavior."
        )
    total: list[Any] = [None] * len(ins)
    for out, seed in zip(outs, seeds):
        for k, g in enumerate(out.gradient(*ins, gradient=seed, materialize_grads=True)):
            total[k] = g if total[k] is None else total[k] + g
    gradients = (g if create_graph else g.detach() for g in total)
    return tuple(g if known or materialize_grads else None for g, known in zip(gradients, used))


def backward(tensors: Any, grad_tensors: Any = None, **others: Any) -> None:
    """backward of several tensors."""
    ts = _several(tensors)
    for t, seed in zip(ts, _several(grad_tensors) if grad_tensors is not None else [None] * len(ts)):
        t.backward(seed)


@contextlib.contextmanager
def set_detect_anomaly(mode: bool = True, check_nan: bool = True) -> Any:
    """Accepted; the library reports what fails where it is built."""
    yield


detect_anomaly = set_detect_anomaly


class Function(_Function):
    """An operation with a gradient of its own: static methods forward(ctx, *args) and backward(ctx, *gradients), called by apply.

    >>> import polygrad.torch as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient * 10
    >>> x = torch.ones(1, requires_grad=True); Double.apply(x).sum().backward(); x.grad.tolist()
    [10.0]
    """


def _jacobian(func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, **others: Any) -> Any:
    """d(func)/d(input), of the shape of the result and then that of the input; for a tuple of inputs, a tuple."""
    several = isinstance(inputs, (tuple, list))
    ins = [x if create_graph else x.detach().requires_grad_() for x in (inputs if several else [inputs])]
    out = func(*ins)
    rows: list[list[Any]] = [[] for _ in ins]
    for element in out.reshape(-1):
        for k, g in enumerate(grad(element, ins, create_graph=create_graph, allow_unused=True)):
            rows[k].append(g)
    found = tuple(type(r[0]).stack(r).reshape(*out.shape, *x.shape) for r, x in zip(rows, ins))
    return found if several else found[0]


def _hessian(func: Any, inputs: Any, create_graph: bool = False, **others: Any) -> Any:
    """Second derivatives of a function that gives one number."""
    x = inputs if create_graph else inputs.detach().requires_grad_()
    (first,) = grad(func(x), x, create_graph=True)
    rows = [grad(element, x, create_graph=create_graph, allow_unused=True)[0] for element in first.reshape(-1)]
    return type(rows[0]).stack(rows).reshape(*x.shape, *x.shape)


def _vjp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, **others: Any) -> tuple[Any, Any]:
    """The value of func, and v times its derivative."""
    several = isinstance(inputs, (tuple, list))
    ins = [x.detach().requires_grad_() for x in (inputs if several else [inputs])]
    out = func(*ins)
    found = grad(out, ins, v, create_graph=create_graph, allow_unused=True)
    return out.detach(), found if several else found[0]


def _hvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, **others: Any) -> tuple[Any, Any]:
    """The value of func, one number, and its second derivative times v."""
    x = inputs if create_graph else inputs.detach().requires_grad_()
    out = func(x)
    (first,) = grad(out, x, create_graph=True)
    v = x.detach().ones_like() if v is None else v
    return out.detach(), grad(first, x, v, create_graph=create_graph, allow_unused=True)[0]


def _jvp(func: Any, inputs: Any, v: Any = None, create_graph: bool = False, **others: Any) -> tuple[Any, Any]:
    """The value of func, and its derivative times v: the gradient of v's product with the derivative in the other direction."""
    x = inputs if create_graph else inputs.detach().requires_grad_()
    out = func(x)
    weight = out.detach().ones_like().requires_grad_()
    (back,) = grad(out, x, weight, create_graph=True)
    v = x.detach().ones_like() if v is None else v
    return out.detach(), grad(back, weight, v, create_graph=create_graph, allow_unused=True)[0]


functional = types.ModuleType(f"{__name__}.functional", "torch.autograd.functional: jacobian, hessian, vjp, jvp, hvp, vhp.")
functional.jacobian, functional.hessian, functional.vjp = _jacobian, _hessian, _vjp
functional.hvp, functional.vhp, functional.jvp = _hvp, _hvp, _jvp
sys.modules[functional.__name__] = functional


def gradcheck(func: Any, inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True, **others: Any) -> bool:
    """Do the gradients of func agree with differences of its values? The inputs are float64."""
    ins = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    for k, x in enumerate(ins):
        if not (hasattr(x, "requires_grad") and x.requires_grad):
            continue
        along = x.detach().randn_like()
        out = func(*ins)
        weight = out.detach().randn_like()
        found = float((grad((out * weight).sum(), x)[0] * along).sum())
        sides = [float((func(*(y if j != k else y.detach() + s * eps * along for j, y in enumerate(ins))).detach() * weight).sum()) for s in (1, -1)]
        wanted = (sides[0] - sides[1]) / (2 * eps)
        if abs(found - wanted) > atol + rtol * abs(wanted):
            if raise_exception:
                raise RuntimeError(f"the gradient of input {k} along a direction is {found}, differences of values give {wanted}")
            return False
    return True


def Variable(data: Any, requires_grad: bool = False, volatile: Any = None) -> Any:
    """A tensor: the old name of one that may require a gradient."""
    return data.requires_grad_(True) if requires_grad else data


def gradgradcheck(func: Any, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """Do the second derivatives of func agree with differences of its gradients?"""
    ins = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    at = [k for k, x in enumerate(ins) if getattr(x, "requires_grad", False)]

    def slope(*xs: Any) -> Any:
        args = [x if not getattr(x, "is_floating_point", bool)() or x.requires_grad else x.detach().requires_grad_() for x in xs]
        return sum((g.sin().sum() for g in grad(func(*args).sin().sum(), [args[k] for k in at], create_graph=True)), 0.0)

    return gradcheck(slope, ins, **options)


function = grad_mode = variable = anomaly_mode = graph = _same(__name__, "function", "grad_mode", "variable", "anomaly_mode", "graph")
FunctionCtx = _FunctionContext


def once_differentiable(fn: Any) -> Any:
    """The backward function itself: its gradient is right too where it computes with tensors."""
    return fn


__all__ = [
    "Function",
    "FunctionCtx",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]
