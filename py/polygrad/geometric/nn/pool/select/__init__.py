"""Which nodes of a graph stay, or are put together."""

from ...._lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, {"base": ["Select", "SelectOutput"], "topk": ["SelectTopK"]})
