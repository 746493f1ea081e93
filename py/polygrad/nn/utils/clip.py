"""Norms and limits of all gradients of a model; parameters as one vector."""

from __future__ import annotations

import math
from typing import Any

from ...tensor import Tensor


def _list(x: Any) -> list[Any]:
    return [x] if isinstance(x, Tensor) else list(x)


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:
    """The norm of all elements of some tensors.

    >>> from polygrad import Tensor
    >>> from polygrad.nn.utils import get_total_norm
    >>> get_total_norm([Tensor([3.0]), Tensor([4.0])]).item()
    5.0
    """
    parts, p = _list(tensors), float(norm_type)
    if not parts:
        return Tensor(0.0)
    if math.isinf(p):
        total = Tensor.stack(*[g.abs().max() for g in parts]).max()
    else:
        total = Tensor.stack(*[g.abs().pow(p).sum() for g in parts]).sum().pow(1 / p)
    if error_if_nonfinite and not bool(total.isfinite().item()):
        raise RuntimeError(f"The total norm of order {p} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable this "
                           "error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")  # fmt: skip
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scales all gradients by max_norm / total_norm, if that is below 1."""
    scale = (float(max_norm) / (total_norm + 1e-6)).minimum(1.0)
    for p in _list(parameters):
        if p.grad is not None:
            p.grad = p.grad * scale.cast(p.grad.dtype)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """Scales all gradients so that their common norm is at most max_norm; gives the norm before."""
    params = _list(parameters)
    total = get_total_norm([g for p in params if (g := p.grad) is not None], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(params, max_norm, total)
    return total


clip_grad_norm = clip_grad_norm_


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Limits every gradient element to [-clip_value, clip_value]."""
    for p in _list(parameters):
        if p.grad is not None:
            p.grad = p.grad.clamp(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Any) -> Tensor:
    """All parameters as one vector.

    >>> from polygrad import Tensor
    >>> from polygrad.nn.utils import parameters_to_vector
    >>> parameters_to_vector([Tensor([[1.0, 2.0]]), Tensor([3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    return Tensor.cat(*[p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Any) -> None:
    """Writes the pieces of a vector into parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        n = p.numel()
        p.assign(vec.detach()[at : at + n].reshape(p.shape).cast(p.dtype))
        at += n


__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "vector_to_parameters",
]  # fmt: skip
