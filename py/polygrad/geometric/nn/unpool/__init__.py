"""Values for more points out of values for fewer."""

from ..._lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, {"_knn_interpolate": ["knn_interpolate"]})
