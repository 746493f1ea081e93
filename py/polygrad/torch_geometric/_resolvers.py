"""Optimizers and schedulers by name: optimizer_resolver and lr_scheduler_resolver of torch_geometric.nn.resolver."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ..geometric.nn.resolver import normalize_string


def _find(query: str, classes: list[Any], *endings: str) -> Any:
    """The class of that name, which may be written without its ending."""
    wanted = normalize_string(query)
    for c in classes:
        name = normalize_string(c.__name__)
        if wanted in (name, *(name.removesuffix(e) for e in endings)):
            return c
    raise ValueError(f"Could not resolve {query!r} among choices {sorted(c.__name__ for c in classes)}")


def _classes(module: Any) -> list[Any]:
    return [c for c in (getattr(module, n) for n in module.__all__) if isinstance(c, type)]


def optimizer_resolver(query: Any, *args: Any, **kwargs: Any) -> Any:
    """An optimizer by name, or the one that is given."""
    from ..torch import optim

    return _find(query, _classes(optim))(*args, **kwargs) if isinstance(query, str) else query


def _warmup_steps(given: Any, total: int | None) -> Any:
    """How many of the steps are for warming up, of a share of them or a number."""
    if given is None or isinstance(given, bool) or not isinstance(given, (int, float)):
        raise ValueError(f"Found invalid type of `warmup_ratio_or_steps`: a share of the steps or their number is needed, not {given!r}")
    if isinstance(given, float):
        if not 0 <= given <= 1:
            raise ValueError(f"`warmup_ratio_or_steps` needs to be between 0.0 and 1.0 as a share of the steps, got {given}")
        return round(given * total) if total is not None else 0
    if given < 0:
        raise ValueError(f"`warmup_ratio_or_steps` needs to be positive as a number of steps, got {given}")
    return given


def lr_scheduler_resolver(
    query: Any, optimizer: Any, warmup_ratio_or_steps: float | int | None = 0.1, num_training_steps: int | None = None, **kwargs: Any
) -> Any:  # fmt: skip
    """A scheduler by name, PyTorch's or one that warms up, or the one that is given. warmup_ratio_or_steps: of those that warm up, a share of
    num_training_steps or a number of steps."""
    from ..geometric.nn import lr_scheduler as warm
    from ..torch.optim import lr_scheduler

    if not isinstance(query, str):
        return query
    steps = _warmup_steps(warmup_ratio_or_steps, num_training_steps)
    warming = [getattr(warm, n) for n in warm.__all__]
    found = _find(query, [*_classes(lr_scheduler), *warming], "lr")
    wanted = signature(found.__init__).parameters if found in warming else ()
    if "num_warmup_steps" in wanted:
        kwargs["num_warmup_steps"] = steps
    if "num_training_steps" in wanted:
        kwargs["num_training_steps"] = num_training_steps
    return found(optimizer, **kwargs)


__all__ = ["lr_scheduler_resolver", "optimizer_resolver"]
