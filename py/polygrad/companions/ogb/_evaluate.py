"""What the evaluators of the Open Graph Benchmark measure."""

from __future__ import annotations

from typing import Any

import numpy as np


def array(value: Any) -> np.ndarray:
    """The numbers of a tensor or an array."""
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value)


def pair(given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """y_true and y_pred, a column for each task."""
    for key in ("y_true", "y_pred"):
        if key not in given:
            raise RuntimeError(f"Missing key of {key}")
    true, pred = array(given["y_true"]), array(given["y_pred"])
    if true.shape != pred.shape:
        raise RuntimeError(f"Shape of y_true and y_pred must be the same, they are {true.shape} and {pred.shape}")
    if true.ndim != 2:
        raise RuntimeError(f"y_true and y_pred must have 2 dimensions, {true.ndim} given")
    return true, pred


def _columns(true: np.ndarray, pred: np.ndarray, both: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """The labelled rows of each task. both: only of tasks with positive and negative labels."""
    out = []
    for y, p in zip(true.T, pred.T):
        known = y == y
        if not both or ((y[known] == 1).any() and (y[known] == 0).any()):
            out.append((y[known], p[known]))
    if not out:
        raise RuntimeError("No positively labeled data available. Cannot compute the measure.")
    return out


def accuracy(true: np.ndarray, pred: np.ndarray) -> float:
    """Mean over tasks of the share of labelled rows that are right."""
    return float(np.mean([(y == p).mean() for y, p in _columns(true, pred, False)]))


def rocauc(true: np.ndarray, pred: np.ndarray) -> float:
    """Mean over tasks of the area under the ROC curve (with scikit-learn)."""
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return float(np.mean([roc_auc_score(y, p) for y, p in _columns(true, pred, True)]))


def precision(true: np.ndarray, pred: np.ndarray) -> float:
    """Mean over tasks of the average precision (with scikit-learn)."""
    from sklearn.metrics import average_precision_score  # type: ignore[import-untyped, import-not-found, unused-ignore]

    return float(np.mean([average_precision_score(y, p) for y, p in _columns(true, pred, True)]))


def rmse(true: np.ndarray, pred: np.ndarray) -> float:
    """Mean over tasks of the root of the mean squared error."""
    return float(np.mean([np.sqrt(((y - p) ** 2).mean()) for y, p in _columns(true, pred, False)]))


def hits(positive: np.ndarray, negative: np.ndarray, k: int) -> float:
    """Share of positive scores above the k-th best negative one."""
    if len(negative) < k:
        return 1.0
    return float((positive > np.partition(negative, -k)[-k]).mean())


def ranks(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """The rank of each positive score among the negative ones of its row: the mean of the best and the worst one where scores are equal."""
    scores = positive.reshape(-1, 1)
    return 0.5 * ((negative > scores).sum(1) + (negative >= scores).sum(1)) + 1.0


MEASURES = {"acc": accuracy, "rocauc": rocauc, "ap": precision, "rmse": rmse}


class Evaluator:
    """Measures predictions as a dataset of the benchmark asks for."""

    metrics: dict[str, str] = {}

    def __init__(self, name: str):
        if name not in self.metrics:
            raise ValueError(f"Invalid dataset name {name}. Available datasets are {', '.join(self.metrics)}.")
        self.name, self.eval_metric = name, self.metrics[name]

    def eval(self, input_dict: dict[str, Any]) -> dict[str, Any]:
        """{"y_true": [N, T], "y_pred": [N, T]} to {measure: value}; labels that are NaN do not count."""
        return {self.eval_metric: MEASURES[self.eval_metric](*pair(input_dict))}

    @property
    def expected_input_format(self) -> str:
        """What eval takes."""
        return '{"y_true": [N, T], "y_pred": [N, T]}'

    @property
    def expected_output_format(self) -> str:
        """What eval gives."""
        return f'{{"{self.eval_metric}": float}}'
