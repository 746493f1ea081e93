"""Names of pools from before they were aggregations: each is the aggregation, with the arguments that the pool had, and warns where it is used."""

# mypy: disable-error-code="attr-defined, no-untyped-call, override"

from __future__ import annotations

from typing import Any

from .deprecation import deprecated
from .nn.aggr import AttentionalAggregation, SortAggregation


class _Attention(AttentionalAggregation):  # type: ignore[misc]
    def __call__(self, x: Any, batch: Any = None, size: Any = None, **kwargs: Any) -> Any:
        return super().__call__(x, **{"index": batch, "dim_size": size, **kwargs})


_Attention.__name__ = _Attention.__qualname__ = "GlobalAttention"
GlobalAttention = deprecated("use 'nn.aggr.AttentionalAggregation' instead", "nn.glob.GlobalAttention")(_Attention)


@deprecated("use 'nn.aggr.SortAggregation' instead", "nn.glob.global_sort_pool")
def global_sort_pool(x: Any, index: Any, k: int) -> Any:
    """The k largest rows of each group by their last column, beside each other."""
    return SortAggregation(k=k)(x, index=index)


__all__ = ["GlobalAttention", "global_sort_pool"]
