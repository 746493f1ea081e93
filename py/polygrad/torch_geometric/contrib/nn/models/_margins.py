"""How strong an attack is: losses of predictions that grow as they get worse."""

# mypy: disable-error-code="no-untyped-call, attr-defined"

from __future__ import annotations

from typing import Any

from ..... import torch

F: Any = torch.nn.functional


def margins(score: Any, labels: Any, chosen: Any = None, reduce: str | None = None) -> Any:
    """Largest score of another class minus that of the right one. reduce: a method of tensors, such as 'mean'."""
    if chosen is not None:
        score, labels = score[chosen], labels[chosen]
    right = F.one_hot(labels, score.size(-1)).bool()
    out = score.masked_fill(right, float("-inf")).amax(dim=-1) - score.masked_fill(~right, 0.0).sum(dim=-1)
    return out if reduce is None else getattr(out, reduce)()


def margin(prediction: Any, labels: Any, chosen: Any = None) -> Any:
    """Mean margin of what the model gives."""
    return margins(prediction, labels, chosen).mean()


def prob_margin(prediction: Any, labels: Any, chosen: Any = None) -> Any:
    """Mean margin of the probabilities."""
    return margins(prediction.softmax(dim=-1), labels, chosen).mean()


def tanh_margin(prediction: Any, labels: Any, chosen: Any = None) -> Any:
    """Mean of tanh of the margins of the log-probabilities: predictions near the border count most."""
    return margins(prediction.log_softmax(dim=-1), labels, chosen).tanh().mean()


def masked(prediction: Any, labels: Any, chosen: Any = None) -> Any:
    """Cross entropy of the log-probabilities of what is still predicted right, if anything is."""
    if chosen is not None:
        prediction, labels = prediction[chosen], labels[chosen]
    right = prediction.argmax(dim=-1) == labels
    if bool(right.any()):
        prediction, labels = prediction[right], labels[right]
    return F.nll_loss(prediction, labels)


LOSSES = {"margin": margin, "masked": masked, "prob_margin": prob_margin, "tanh_margin": tanh_margin}

__all__ = ["LOSSES", "margins"]
