"""Aggregations: what a node makes of its neighbours' messages, or a graph of its nodes."""

from ..._lazy import lazy

TABLE = {
    "base": ["Aggregation"],
    "multi": ["MultiAggregation"],
    "basic": [
        "SumAggregation", "MeanAggregation", "MaxAggregation", "MinAggregation", "MulAggregation", "VarAggregation", "StdAggregation",
        "SoftmaxAggregation", "PowerMeanAggregation",
    ],
    "quantile": ["MedianAggregation", "QuantileAggregation"],
    "lstm": ["LSTMAggregation"],
    "gru": ["GRUAggregation"],
    "set2set": ["Set2Set"],
    "scaler": ["DegreeScalerAggregation"],
    "sort": ["SortAggregation"],
    "attention": ["AttentionalAggregation"],
    "mlp": ["MLPAggregation"],
    "deep_sets": ["DeepSetsAggregation"],
    "set_transformer": ["SetTransformerAggregation"],
    "gmt": ["GraphMultisetTransformer"],
    "equilibrium": ["EquilibriumAggregation"],
    "lcm": ["LCMAggregation"],
    "patch_transformer": ["PatchTransformerAggregation"],
    "variance_preserving": ["VariancePreservingAggregation"],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy(__name__, TABLE)
