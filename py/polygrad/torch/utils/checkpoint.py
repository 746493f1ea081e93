"""torch.utils.checkpoint: functions as they are; the compiler decides what is stored."""

from __future__ import annotations

from typing import Any


def checkpoint(function: Any, *args: Any, use_reentrant: Any = None, preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """function(*args)."""
    for name in ("context_fn", "determinism_check", "debug", "early_stop"):
        kwargs.pop(name, None)
    return function(*args, **kwargs)


def checkpoint_sequential(functions: Any, segments: int, input: Any, **kwargs: Any) -> Any:  # noqa: A002
    """The functions one after another."""
    for function in functions:
        input = function(input)
    return input


__all__ = ["checkpoint", "checkpoint_sequential"]
