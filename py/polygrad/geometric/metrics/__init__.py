"""Measures of recommendations and predicted links."""

from .._lazy import lazy

_TABLE = {
    "link_pred": [
        "LinkPredMetric", "LinkPredMetricCollection", "LinkPredPrecision", "LinkPredRecall", "LinkPredF1", "LinkPredMAP", "LinkPredNDCG",
        "LinkPredMRR", "LinkPredHitRatio", "LinkPredCoverage", "LinkPredDiversity", "LinkPredPersonalization", "LinkPredAveragePopularity",
        "LinkPredMetricData",
    ],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy(__name__, _TABLE)
