"""Optimizers and schedulers by name: optimizer_resolver and lr_scheduler_resolver of torch_geometric.nn.resolver."""

from __future__ import annotations

from typing import Any

from ..geometric.nn.resolver import normalize_string


def _find(module: Any, query: Any, what: str) -> Any:
    if not isinstance(query, str):
        return query
    known = {normalize_string(n): n for n in module.__all__}
    name = known.get(normalize_string(query))
    if name is None:
        raise ValueError(f"Could not resolve {query!r} among the {what} {sorted(known.values())}")
    return getattr(module, name)


def optimizer_resolver(query: Any, *args: Any, **kwargs: Any) -> Any:
    """An optimizer by name, or the one that is given."""
    from ..torch import optim

    found = _find(optim, query, "optimizers")
    return found(*args, **kwargs) if callable(found) else found


def lr_scheduler_resolver(
    query: Any, optimizer: Any, warmup_ratio_or_steps: float | None = 0.1, num_training_steps: int | None = None, **kwargs: Any
) -> Any:  # fmt: skip
    """A scheduler of PyTorch's by name, or the one that is given."""
    from ..torch.optim import lr_scheduler

    found = _find(lr_scheduler, query, "schedulers")
    return found(optimizer, **kwargs) if callable(found) else found


__all__ = ["lr_scheduler_resolver", "optimizer_resolver"]
