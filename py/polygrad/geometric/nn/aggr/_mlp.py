"""Networks inside aggregations: an MLP of this library also takes the row of each item, for its normalisations."""

from __future__ import annotations

from typing import Any

from ....tensor import Tensor


def is_mlp(module: Any) -> bool:
    """Is it polygrad.geometric.nn.MLP? Without loading that file for what cannot be one."""
    return any(c.__name__ == "MLP" and c.__module__.endswith("geometric.nn.models.mlp") for c in type(module).__mro__)


def sort_out(module: Any) -> tuple[Any, Any]:
    """(module, None) if it is an MLP, else (None, module): they have different names in a state dict."""
    return (module, None) if is_mlp(module) else (None, module)


def apply(mlp: Any, nn: Any, x: Tensor, index: Tensor | None, dim_size: int | None) -> Tensor:
    """The one of the two that there is, or x."""
    if mlp is not None:
        return mlp(x, batch=index, batch_size=dim_size)
    return x if nn is None else nn(x)
