"""The edges between clusters."""

from ...._lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, {"base": ["Connect", "ConnectOutput"], "filter_edges": ["FilterEdges"]})
