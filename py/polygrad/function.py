"""tinygrad's place of its decorator: polygrad.function.function, which is polygrad.function too."""

from __future__ import annotations

import functools
from typing import Any


def function(
    fxn: Any = None, *, precompile: bool = False, precompile_backward: bool = False, allow_implicit: bool = False, grad_fxn: Any = None
) -> Any:
    """tinygrad's decorator: marks a function of tensors as one operation. Everything is compiled as a whole here, so it is called as it is; with
    grad_fxn(gradient, *args) its gradient is what that gives.

    >>> from polygrad import Tensor, function
    >>> @function
    ... def double(x):
    ...     return x * 2
    >>> double(Tensor([1.0])).tolist()
    [2.0]
    """
    if fxn is None:
        return lambda f: function(f, grad_fxn=grad_fxn)
    if grad_fxn is None:
        return fxn

    from .custom import Function

    class Marked(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:  # type: ignore[override]
            ctx.save_for_backward(*args)
            return fxn(*args)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return grad_fxn(*gradients, *ctx.saved_tensors)

    return functools.wraps(fxn)(lambda *args: Marked.apply(*args))


__all__ = ["function"]
