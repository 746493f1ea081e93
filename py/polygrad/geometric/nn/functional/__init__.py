"""Functions of node features that losses are made of."""

from ..._lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, {"_bro": ["bro"], "_gini": ["gini"]})
