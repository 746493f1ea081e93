"""Algorithms that find what a prediction depends on."""

from ..._lazy import lazy

_TABLE = {
    "base": ["ExplainerAlgorithm"],
    "dummy_explainer": ["DummyExplainer"],
    "gnn_explainer": ["GNNExplainer"],
    "captum_explainer": ["CaptumExplainer"],
    "pg_explainer": ["PGExplainer"],
    "attention_explainer": ["AttentionExplainer"],
    "graphmask_explainer": ["GraphMaskExplainer"],
}

__getattr__, __dir__, __all__ = lazy(__name__, _TABLE)
