"""Names from before things moved to other modules: each is what stands there now, and warns where it is used."""

# mypy: disable-error-code="attr-defined, no-untyped-call, override"

from __future__ import annotations

from typing import Any

from . import loader, transforms
from .deprecation import deprecated
from .nn.aggr import AttentionalAggregation, SortAggregation

_LOADERS = (
    "ClusterData", "ClusterLoader", "DataListLoader", "DataLoader", "DenseDataLoader", "GraphSAINTEdgeSampler", "GraphSAINTNodeSampler",
    "GraphSAINTRandomWalkSampler", "GraphSAINTSampler", "NeighborSampler", "RandomNodeSampler", "ShaDowKHopSampler",
)  # fmt: skip
_NOW = {"RandomNodeSampler": "RandomNodeLoader"}


def __getattr__(name: str) -> Any:
    if name not in _LOADERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    now = _NOW.get(name, name)
    globals()[name] = deprecated(f"use 'loader.{now}' instead", f"data.{name}")(getattr(loader, now))
    return globals()[name]


RandomTranslate = deprecated("use 'transforms.RandomJitter' instead", "transforms.RandomTranslate")(transforms.RandomJitter)


class _Attention(AttentionalAggregation):  # type: ignore[misc]
    def __call__(self, x: Any, batch: Any = None, size: Any = None, **kwargs: Any) -> Any:
        return super().__call__(x, **{"index": batch, "dim_size": size, **kwargs})


_Attention.__name__ = _Attention.__qualname__ = "GlobalAttention"
GlobalAttention = deprecated("use 'nn.aggr.AttentionalAggregation' instead", "nn.glob.GlobalAttention")(_Attention)


@deprecated("use 'nn.aggr.SortAggregation' instead", "nn.glob.global_sort_pool")
def global_sort_pool(x: Any, index: Any, k: int) -> Any:
    """The k largest rows of each group by their last column, beside each other."""
    return SortAggregation(k=k)(x, index=index)


__all__ = [*_LOADERS, "GlobalAttention", "RandomTranslate", "global_sort_pool"]
