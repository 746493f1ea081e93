"""Why a graph network gives what it gives: explainers, explanations, and measures of how good these are."""

from .._lazy import lazy

_TABLE = {
    "config": [
        "ExplainerConfig", "ModelConfig", "ThresholdConfig", "ExplanationType", "MaskType", "ModelMode", "ModelTaskLevel", "ModelReturnType",
        "ThresholdType",
    ],
    "explanation": ["Explanation", "HeteroExplanation"],
    "explainer": ["Explainer"],
    "algorithm.base": ["ExplainerAlgorithm"],
    "algorithm.dummy_explainer": ["DummyExplainer"],
    "algorithm.gnn_explainer": ["GNNExplainer"],
    "algorithm.captum_explainer": ["CaptumExplainer"],
    "algorithm.pg_explainer": ["PGExplainer"],
    "algorithm.attention_explainer": ["AttentionExplainer"],
    "algorithm.graphmask_explainer": ["GraphMaskExplainer"],
    "algorithm.masks": ["set_masks", "set_hetero_masks", "clear_masks"],
    "metric": ["groundtruth_metrics", "fidelity", "characterization_score", "fidelity_curve_auc", "unfaithfulness"],
    "page": ["write_page"],
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy(__name__, _TABLE)
