"""Parameters whose shape is known when a module first sees its input.

An optimizer is usually made before that, so the parameter is an object from the start: an empty tensor, which the optimizer holds like any other
and which later takes its shape and values in place.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import DTypeLike, dtypes
from ..tensor import Tensor


class _LaterType(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return is_lazy(x)


class UninitializedParameter(metaclass=_LaterType):
    """A parameter that has no shape yet; materialize gives it one.

    >>> from polygrad.nn import UninitializedParameter, materialize
    >>> w = UninitializedParameter()
    >>> isinstance(w, UninitializedParameter), materialize(w, (3, 2)).shape, isinstance(w, UninitializedParameter)
    (True, (3, 2), False)
    """

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: DTypeLike | None = None) -> Any:
        t = Tensor.zeros(0, dtype=dtypes.default_float if dtype is None else dtype, requires_grad=requires_grad)
        t._param = t._later = True
        return t


def is_lazy(x: Any) -> bool:
    """Is it a parameter without a shape?

    >>> from polygrad import Tensor
    >>> is_lazy(Tensor([1.0]))
    False
    """
    return isinstance(x, Tensor) and getattr(x, "_later", False)


def materialize(t: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Gives a parameter without a shape its shape, filled with zeros. Optimizers that hold it go on with it.

    >>> materialize(UninitializedParameter(), (2,)).tolist()
    [0.0, 0.0]
    """
    if t._g.tracing:
        raise RuntimeError("a layer of unknown width takes it from its first input, which must not come inside a compiled step: call it once before")
    wanted = getattr(t, "_wanted", True)
    t.replace(Tensor.zeros(*shape, dtype=t.dtype).contiguous())
    t._later = False
    t.requires_grad = wanted
    return t


def zeros_or_later(*shape: int) -> Tensor:
    """A parameter of that shape filled with zeros, or one that waits for its shape where a size is not positive: not known yet."""
    return UninitializedParameter() if min(shape) <= 0 else Tensor.zeros(*shape, requires_grad=True)


__all__ = ["UninitializedParameter", "is_lazy", "materialize"]
