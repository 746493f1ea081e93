"""Attention between all nodes of a graph."""

from ..._lazy import lazy

TABLE = {
    "performer": ["PerformerAttention"],
    "qformer": ["QFormer"],
    "sgformer": ["SGFormerAttention"],
    "polynormer": ["PolynormerAttention"],
}

__getattr__, __dir__, __all__ = lazy(__name__, TABLE)
