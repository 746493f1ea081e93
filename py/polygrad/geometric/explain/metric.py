"""How good explanations are: against a known truth, and by what the model makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensor import Tensor
from ..data._values import to_array
from .config import ExplanationType, MaskType, ModelMode, ModelReturnType

METRICS = ("accuracy", "recall", "precision", "f1_score", "auroc")


def groundtruth_metrics(
    pred_mask: Tensor, target_mask: Tensor, metrics: str | Sequence[str] | None = None, threshold: float = 0.5
) -> float | tuple[float, ...]:
    """A mask against the true one: 'accuracy', 'recall', 'precision', 'f1_score' and 'auroc', or those of them that are asked for.

    Entries of the mask above the threshold count as found, those of the truth from the threshold on as true. Values outside of [0, 1] are taken
    through a sigmoid first.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import groundtruth_metrics
    >>> groundtruth_metrics(Tensor([0.9, 0.6, 0.2, 0.1]), Tensor([1.0, 0.0, 1.0, 0.0]))
    (0.5, 0.5, 0.5, 0.5, 0.75)
    """
    names = list(METRICS) if metrics is None else [metrics] if isinstance(metrics, str) else metrics
    if not isinstance(names, (list, tuple)):
        raise ValueError(f"metrics are names, not a {type(metrics).__name__}")
    for name in names:
        if name not in METRICS:
            raise ValueError(f"metrics are {', '.join(METRICS)}, not {name!r}")
    score, truth = to_array(pred_mask).reshape(-1).astype(np.float64), to_array(target_mask).reshape(-1) >= threshold
    if score.shape != truth.shape:
        raise ValueError(f"a mask of {score.size} entries cannot be compared with one of {truth.size}")
    if score.size and (score.min() < 0 or score.max() > 1):
        score = 1 / (1 + np.exp(-score))
    found = score > threshold
    hits = float((found & truth).sum())
    recall, precision = _ratio(hits, float(truth.sum())), _ratio(hits, float(found.sum()))
    values = {
        "accuracy": _ratio(float((found == truth).sum()), truth.size),
        "recall": recall,
        "precision": precision,
        "f1_score": _ratio(2 * hits, float(truth.sum() + found.sum())),
    }
    if "auroc" in names:
        values["auroc"] = _auroc(score, truth)
    out = tuple(values[name] for name in names)
    return out if len(out) > 1 else out[0]


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def _auroc(score: np.ndarray, truth: np.ndarray) -> float:
    """The chance that a true entry has a larger score than one that is not, equal ones count half; 0 if there are none of either."""
    yes, no = int(truth.sum()), int((~truth).sum())
    if not yes or not no:
        return 0.0
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2  # mean rank of equal scores, from 1
    return float((rank[place.reshape(-1)][truth].sum() - yes * (yes + 1) / 2) / (yes * no))


def _given(explanation: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Masks, what the model was given, and its further arguments."""
    names = explanation._model_args
    if hasattr(explanation, "node_types"):
        kwargs = {k: explanation[k] if k in explanation._global_store else explanation.collect(k.removesuffix("_dict")) for k in names}
        return (
            explanation.collect("node_mask", True) or None, explanation.collect("edge_mask", True) or None, explanation.x_dict,
            explanation.edge_index_dict, kwargs,
        )  # fmt: skip
    kwargs = {k: explanation[k] for k in names}
    return explanation.get("node_mask"), explanation.get("edge_mask"), explanation.x, explanation.edge_index, kwargs


def _complement(mask: Any) -> Any:
    return None if mask is None else {k: 1.0 - m for k, m in mask.items()} if isinstance(mask, dict) else 1.0 - mask


def fidelity(explainer: Any, explanation: Any) -> tuple[float, float]:
    r"""(fid+, fid-) of an explanation ("GraphFramEx", 2022): how often the prediction changes when what explains it is taken away, which should be
    often, and when nothing else is left, which should be seldom.

        model:       fid+ = 1 - mean [y^(G \ S) = y],   fid- = 1 - mean [y^(S) = y]
        phenomenon:  fid+ = mean |[y^ = y] - [y^(G \ S) = y]|,   fid- = mean |[y^ = y] - [y^(S) = y]|

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import DummyExplainer, Explainer, fidelity
    >>> from polygrad.geometric.nn import GCN
    >>> explainer = Explainer(
    ...     GCN(4, 8, num_layers=2, out_channels=3), DummyExplainer(), explanation_type="model", node_mask_type="attributes", edge_mask_type="object",
    ...     model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    ... )
    >>> explanation = explainer(Tensor.ones(3, 4), Tensor([[0, 1, 2], [1, 2, 0]]))
    >>> plus, minus = fidelity(explainer, explanation)
    >>> 0 <= plus <= 1, 0 <= minus <= 1
    (True, True)
    """
    if explainer.model_config.mode == ModelMode.regression:
        raise ValueError("fidelity is not defined for models for regression")
    node_mask, edge_mask, x, edge_index, kwargs = _given(explanation)
    pick = _picker(_attribute(explanation, "index"))
    y = pick(explanation.target)

    def right(nodes: Any, edges: Any) -> Tensor:
        out = explainer.get_masked_prediction(x, edge_index, nodes, edges, **kwargs)
        return (pick(explainer.get_target(out)) == y).cast("float32")

    kept, rest = right(node_mask, edge_mask), right(_complement(node_mask), _complement(edge_mask))
    if explainer.explanation_type == ExplanationType.model:
        return float(1.0 - rest.mean().item()), float(1.0 - kept.mean().item())
    whole = (pick(explainer.get_target(explainer.get_prediction(x, edge_index, **kwargs))) == y).cast("float32")
    return float((whole - rest).abs().mean().item()), float((whole - kept).abs().mean().item())


def _attribute(explanation: Any, name: str) -> Any:
    return getattr(explanation, name, None)


def _picker(index: Any) -> Any:
    from .algorithm.base import index_of

    at = index_of(index)
    return (lambda t: t) if at is None else (lambda t: t[at])


def characterization_score(pos_fidelity: Any, neg_fidelity: Any, pos_weight: float = 0.5, neg_weight: float = 0.5) -> Any:
    r"""The weighted harmonic mean of fid+ and 1 - fid-, element by element:

        (w+ + w-) / (w+ / fid+  +  w- / (1 - fid-))

    >>> from polygrad.geometric.explain import characterization_score
    >>> round(characterization_score(0.5, 0.25), 3)
    0.6
    """
    if pos_weight + neg_weight != 1.0:
        raise ValueError(f"the weights need to sum up to 1, not {pos_weight} + {neg_weight}")
    return 1.0 / (pos_weight / pos_fidelity + neg_weight / (1.0 - neg_fidelity))


def fidelity_curve_auc(pos_fidelity: Tensor, neg_fidelity: Tensor, x: Tensor) -> Tensor:
    """The area under fid+ / (1 - fid-) over x, which is in ascending order, by trapezoids.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import fidelity_curve_auc
    >>> fidelity_curve_auc(Tensor([1.0, 0.5]), Tensor([0.5, 0.5]), Tensor([0.0, 1.0])).item()
    1.5
    """
    if bool((neg_fidelity == 1).any().item()):
        raise ValueError("negative fidelity values containing 1 lead to a division by zero")
    step = x[1:] - x[:-1]
    if bool((step < 0).any().item()):
        raise ValueError("'x' must be given in ascending order")
    y = pos_fidelity / (1.0 - neg_fidelity)
    return ((y[1:] + y[:-1]) * step).sum() / 2


def unfaithfulness(explainer: Any, explanation: Any, top_k: int | None = None) -> float:
    r"""1 - exp(-KL(y || y^)), where y is what the model gives for the whole graph and y^ for the masked one, as probabilities ("Evaluating
    Explainability for Graph Neural Networks", 2022). 0 is best.

    top_k: only the features with the largest sums of the node mask are kept, as they are.

    >>> from polygrad import Tensor
    >>> from polygrad.geometric.explain import DummyExplainer, Explainer, unfaithfulness
    >>> from polygrad.geometric.nn import GCN
    >>> explainer = Explainer(
    ...     GCN(4, 8, num_layers=2, out_channels=3), DummyExplainer(), explanation_type="model", node_mask_type="attributes", edge_mask_type="object",
    ...     model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    ... )
    >>> explanation = explainer(Tensor.ones(3, 4), Tensor([[0, 1, 2], [1, 2, 0]]))
    >>> 0 <= unfaithfulness(explainer, explanation) <= 1
    True
    """
    if explainer.model_config.mode == ModelMode.regression:
        raise ValueError("unfaithfulness is not defined for models for regression")
    if top_k is not None and explainer.node_mask_type == MaskType.object:
        raise ValueError("a node mask of type 'object' says nothing about single features: top_k must be None")
    node_mask, edge_mask, x, edge_index, kwargs = _given(explanation)
    y = _attribute(explanation, "prediction")
    if y is None:
        y = explainer.get_prediction(x, edge_index, **kwargs)
    if node_mask is not None and top_k is not None:
        node_mask = {k: _top(m, top_k) for k, m in node_mask.items()} if isinstance(node_mask, dict) else _top(node_mask, top_k)
    y_hat = explainer.get_masked_prediction(x, edge_index, node_mask, edge_mask, **kwargs)
    pick = _picker(_attribute(explanation, "index"))
    y, y_hat = pick(y), pick(y_hat)
    if explainer.model_config.return_type == ModelReturnType.raw:
        y, y_hat = y.softmax(-1), y_hat.softmax(-1)
    elif explainer.model_config.return_type == ModelReturnType.log_probs:
        y, y_hat = y.exp(), y_hat.exp()
    some = y_hat > 0
    terms = some.where(y_hat * (some.where(y_hat, 1.0).log() - y.log()), 0.0)
    return 1.0 - float((-(terms.sum() / y.shape[0])).exp().item())


def _top(mask: Tensor, k: int) -> Tensor:
    """1 for the k features with the largest sums."""
    _, index = mask.sum(0).topk(k)
    chosen = np.zeros(mask.shape[1], np.float32)
    chosen[index.numpy()] = 1
    return Tensor(chosen).reshape(1, -1).expand(*mask.shape)


__all__ = ["characterization_score", "fidelity", "fidelity_curve_auc", "groundtruth_metrics", "unfaithfulness"]
