"""Functions with a gradient of the user's own, with PyTorch's methods: a class with static forward and backward."""

from __future__ import annotations

import ctypes
from typing import Any

from ._core import C, like, operand, wrap
from ._ffi import Release, handle_array
from .autograd import AutogradGraph, raised
from .tensor import Tensor

_Backward: Any = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
)


class _PolyFunction(ctypes.Structure):
    _fields_ = [("backward", _Backward), ("release", Release), ("user", ctypes.c_void_p)]


class FunctionContext:
    """What forward leaves for backward: tensors by save_for_backward, and any attributes."""

    def __init__(self, needs: tuple[bool, ...]):
        self.needs_input_grad = needs
        self.saved_tensors: tuple[Any, ...] = ()
        self._differentiable: set[int] = set()
        self.materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keeps tensors for backward, which finds them in saved_tensors. Under handles of their own: a leaf would keep its gradient, and that
        the function, and that the leaf."""
        self.saved_tensors = tuple(_handle(t) if isinstance(t, Tensor) else t for t in tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Outputs that have no gradient."""
        self._differentiable |= {id(t) for t in tensors}

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, rather than None, for outputs that nothing depends on."""
        self.materialize_grads = value

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Inputs that forward changed. Assignment has the semantics of values here, so nothing needs to be done."""


def _handle(t: Tensor) -> Tensor:
    """Another handle on the same node, which is no leaf itself."""
    own = like(t, C.poly_retain_copy(t._h))
    t._g.check(C.poly_set_requires_grad(own._h, False))
    return own


class _Call:
    """One application: what the C core calls when it builds gradients. Kept in _calls until the core releases it."""

    def __init__(self, function: type[Function], ctx: FunctionContext, value: Tensor, places: list[int], n: int, shapes: Any, which: int):
        self.function, self.ctx, self.places, self.n, self.outputs, self.which = function, ctx, places, n, shapes, which
        self.g: AutogradGraph = value._g
        self.kind = value._kind  # the class of the gradients that backward is given
        self.error: BaseException | None = None

    def backward(self, gradient: Tensor) -> list[Tensor | None]:
        """The gradients of the tensors among the inputs, out of that of one output; the others count as zero, because backward is linear."""
        empty = None if not self.ctx.materialize_grads else 0
        grads = [gradient if k == self.which else empty if empty is None else Tensor.zeros(*s, dtype=d) for k, (s, d) in enumerate(self.outputs)]
        result = self.function.backward(self.ctx, *grads)
        result = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        if len(result) < self.n or any(r is not None for r in result[self.n :]):
            raise RuntimeError(
                f"function {self.function.__name__}Backward returned an incorrect number of gradients (expected {self.n}, got {len(result)})"
            )
        return [result[k] for k in self.places]


_calls: dict[int, _Call] = {}
_next = 0


@_Backward
def _backward(user: int, inputs: Any, n: int, value: int, gradient: int, grads: Any) -> int:
    call = _calls[user]
    outer, call.g.made = call.g.made, call.kind
    try:
        given = wrap(call.g, C.poly_retain_copy(gradient))
        for k, t in enumerate(call.backward(given)):
            if t is not None:
                other = wrap(call.g, C.poly_retain_copy(inputs[k]))
                t = operand(other, t)
                if tuple(t.shape) != tuple(other.shape):
                    raise RuntimeError(
                        f"Function {call.function.__name__}Backward returned an invalid gradient at index {call.places[k]} - got {tuple(t.shape)} "
                        f"but expected shape compatible with {tuple(other.shape)}"
                    )
                grads[k] = C.poly_retain_copy(t._h)
        return 0
    except BaseException as error:  # comes out of the call that built the gradients
        raised.append(error)
        return 5
    finally:
        call.g.made = outer


@Release
def _release(user: Any, pop: Any = _calls.pop) -> None:
    pop(user, None)


for _callback in (_backward, _release):  # never freed: tensors that outlive this module still call them
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_callback))


class Function:
    """An operation with a gradient of its own: a subclass has the static methods forward(ctx, *args), which computes with tensors, and
    backward(ctx, *gradients), which gives the gradient of each argument, None for what has none. Call it by apply.

    >>> from polygrad import Function, Tensor
    >>> class Clip(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x.clamp(-1, 1)
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient
    >>> x = Tensor([-3.0, 0.5], requires_grad=True)
    >>> _ = Clip.apply(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """PyTorch's other form: forward has no ctx, and this fills it."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with backward.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Computes forward; gradients of the result are those of backward."""
        places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        ctx = FunctionContext(tuple(isinstance(a, Tensor) and a.is_floating_point() and a.is_param for a in args))
        if cls.setup_context is not Function.setup_context:
            out = cls.forward(*args, **kwargs)
            cls.setup_context(ctx, args, out)
        else:
            out = cls.forward(ctx, *args, **kwargs)
        outputs = list(out) if isinstance(out, (tuple, list)) else [out]
        tensors = [t for t in outputs if isinstance(t, Tensor)]
        shapes = [(tuple(t.shape), t.dtype) for t in tensors]
        results, at = [], 0
        for t in outputs:
            if not isinstance(t, Tensor):
                results.append(t)
                continue
            passes = bool(places) and t.is_floating_point() and id(t) not in ctx._differentiable
            results.append(_linked(_Call(cls, ctx, t, places, len(args), shapes, at), t, [args[k] for k in places]) if passes else t.detach())
            at += 1
        return (
            type(out)(results)
            if isinstance(out, (tuple, list)) and not hasattr(out, "_fields")
            else tuple(results)
            if len(outputs) > 1
            else results[0]
        )


def _linked(call: _Call, value: Tensor, inputs: list[Tensor]) -> Tensor:
    """value, whose gradient goes to the inputs by way of call."""
    global _next
    _next += 1
    _calls[_next] = call
    h = C.poly_function(value._h, handle_array([t._h for t in inputs]), len(inputs), ctypes.byref(_PolyFunction(_backward, _release, _next)))
    if h is None:
        _calls.pop(_next, None)
    return like(value, h)


class StoredGradient(Function):
    """x itself; its gradient is stored before it is handed on."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return x

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        return gradient.contiguous()


__all__ = ["Function", "FunctionContext", "StoredGradient"]
