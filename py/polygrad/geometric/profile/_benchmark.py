"""Functions side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Callable

from ...cli.progress import table
from ...tensor import Tensor


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for part in parts for t in _tensors(part)]


def _fresh(value: Any, gradient: bool) -> Any:
    """The arguments with tensors of their own, which ask for gradients or do not."""
    if isinstance(value, Tensor):
        return value.detach().requires_grad_(gradient) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(_fresh(v, gradient) for v in value)
    return {k: _fresh(v, gradient) for k, v in value.items()} if isinstance(value, dict) else value


def benchmark(
    funcs: Sequence[Callable[..., Any]], args: Any, num_steps: int, func_names: Sequence[str] | None = None, num_warmups: int = 10,
    backward: bool = False, per_step: bool = False, progress_bar: bool = False,
) -> None:  # fmt: skip
    """Prints how long functions take with the same arguments; what they give is realized.

    args: a tuple, a function that makes one, or a list of either for each function. num_steps: calls that count, after num_warmups that do
    not. backward: also the gradients of the floating-point arguments, of the sum of the results. per_step: seconds of one call instead of all.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.profile import benchmark
    >>> benchmark([Tensor.exp, Tensor.sin], (Tensor.rand(1000),), num_steps=10, func_names=["exp", "sin"])  # doctest: +SKIP
    """
    if num_steps <= 0 or num_warmups <= 0:
        raise ValueError(f"'num_steps' and 'num_warmups' must be positive, not {num_steps} and {num_warmups}")
    names = [getattr(f, "__name__", type(f).__name__) for f in funcs] if func_names is None else list(func_names)
    if len(names) != len(funcs):
        raise ValueError(f"there are {len(names)} names for {len(funcs)} functions")
    each = args if isinstance(args, list) else [args] * len(funcs)
    rows = []
    for function, given, name in zip(funcs, each, names):
        forward, back = _measure(function, given, num_steps, num_warmups, backward)
        times = [forward, back, forward + back] if backward else [forward]
        rows.append([name, *[f"{t / num_steps:.6f}s" if per_step else f"{t:.4f}s" for t in times]])
        if progress_bar:
            print(f"{name}: done", flush=True)
    print(table(["Name", "Forward", *(["Backward", "Total"] if backward else [])], rows))


def _measure(function: Callable[..., Any], given: Any, steps: int, warmups: int, backward: bool) -> tuple[float, float]:
    forward = back = 0.0
    for k in range(warmups + steps):
        inputs = _fresh(given() if callable(given) else given, backward)
        start = time.perf_counter()
        out = _tensors(function(*inputs))
        if out:
            out[0].realize(*out[1:])
        middle = time.perf_counter()
        if backward and out:
            total = out[0].sum()
            for t in out[1:]:
                total = total + t.sum()
            slopes = total.gradient(*[t for t in _tensors(inputs) if t.requires_grad], materialize_grads=True)
            slopes[0].realize(*slopes[1:])
        if k >= warmups:
            forward, back = forward + middle - start, back + time.perf_counter() - middle
    return forward, back


__all__ = ["benchmark"]
