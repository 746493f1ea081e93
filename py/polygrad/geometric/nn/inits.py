"""First values of parameters. Each function writes into a tensor, or into all tensors of a module."""

from __future__ import annotations

import math
from typing import Any, Callable

from ...nn import Embedding, is_lazy
from ...nn.state import get_parameters
from ...tensor import Tensor


def _each(value: Any, new: Callable[[Tensor], Tensor]) -> None:
    """Assigns new(t) to every floating point tensor t of value."""
    if value is None:
        return
    for t in [value] if isinstance(value, Tensor) else get_parameters(value):
        if t.is_floating_point() and not is_lazy(t):
            t.assign(new(t).cast(t.dtype))


def _uniform(t: Tensor, bound: float) -> Tensor:
    return Tensor.uniform(*t.shape, low=-bound, high=bound)


def uniform(size: int, value: Any) -> None:
    """Between -1/sqrt(size) and 1/sqrt(size)."""
    bound = 1.0 / math.sqrt(size)
    _each(value, lambda t: _uniform(t, bound))


def kaiming_uniform(value: Any, fan: int, a: float) -> None:
    """Between -b and b, b = sqrt(6 / ((1 + a²) * fan))."""
    bound = math.sqrt(6 / ((1 + a**2) * fan))
    _each(value, lambda t: _uniform(t, bound))


def glorot(value: Any) -> None:
    """Between -b and b, b = sqrt(6 / (rows + columns))."""
    _each(value, lambda t: _uniform(t, math.sqrt(6.0 / (t.shape[-2] + t.shape[-1]))))


def glorot_orthogonal(tensor: Tensor | None, scale: float) -> None:
    """An orthogonal matrix, scaled so that its variance is scale / (rows + columns)."""
    if tensor is None:
        return
    import numpy as np

    rows, columns = (int(s) for s in tensor.shape)
    q, r = np.linalg.qr(Tensor.randn(max(rows, columns), min(rows, columns)).numpy())
    q = q * np.sign(np.diag(r))
    q = q if rows >= columns else q.T
    q = q * math.sqrt(scale / ((rows + columns) * q.var(ddof=1)))
    tensor.assign(Tensor(np.ascontiguousarray(q)).cast(tensor.dtype))


def constant(value: Any, fill_value: float) -> None:
    """fill_value everywhere."""
    _each(value, lambda t: Tensor.full(t.shape, float(fill_value)))


def zeros(value: Any) -> None:
    """0 everywhere."""
    constant(value, 0.0)


def ones(tensor: Any) -> None:
    """1 everywhere."""
    constant(tensor, 1.0)


def normal(value: Any, mean: float, std: float) -> None:
    """Normally distributed."""
    _each(value, lambda t: Tensor.normal(*t.shape, mean=mean, std=std))


def reset(value: Any) -> None:
    """Calls reset_parameters of a module, or of all modules in it; layers of polygrad.nn, which have none, get new default values."""
    if value is None or isinstance(value, Tensor):
        return
    weight, bias = getattr(value, "weight", None), getattr(value, "bias", None)
    if isinstance(value, Embedding):  # as PyTorch draws it
        normal(weight, 0.0, 1.0)
        return
    if hasattr(value, "reset_parameters"):
        value.reset_parameters()
        return
    if isinstance(weight, Tensor):
        if weight.ndim >= 2:
            fan = math.prod(int(s) for s in weight.shape[1:])
            if fan:
                uniform(fan, weight)
                uniform(fan, bias)
        else:  # a normalisation
            ones(weight)
            zeros(bias)
        return
    items = value._state_items() if hasattr(value, "_state_items") else vars(value) if hasattr(value, "__dict__") else {}
    for child in items.values():
        reset(child)


__all__ = ["constant", "glorot", "glorot_orthogonal", "kaiming_uniform", "normal", "ones", "reset", "uniform", "zeros"]
