"""torchmetrics.functional: confusion matrices, and the overlap of predicted and true classes.

>>> import polygrad.torch as torch
>>> from polygrad.companions.torchmetrics.functional import jaccard_index
>>> round(float(jaccard_index(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]), task="multiclass", num_classes=2)), 3)
0.5
"""

from __future__ import annotations

from typing import Any

from ... import torch


def confusion_matrix(
    preds: Any, target: Any, task: str = "multiclass", threshold: float = 0.5, num_classes: int | None = None, normalize: str | None = None,
    ignore_index: int | None = None,
) -> Any:  # fmt: skip
    """How often each true class (row) was predicted as each class (column).

    preds: classes, or scores with the classes in axis 1; with task="binary" probabilities or logits. normalize: "true" (by row), "pred" or "all".

    >>> import polygrad.torch as torch
    >>> from polygrad.companions.torchmetrics.functional import confusion_matrix
    >>> confusion_matrix(torch.tensor([0, 1, 1]), torch.tensor([0, 1, 0]), num_classes=2).tolist()
    [[1, 1], [0, 1]]
    """
    if task not in ("binary", "multiclass"):
        raise ValueError(f"task must be 'binary' or 'multiclass', not {task!r}")
    if task == "binary":
        num_classes = 2
        if preds.is_floating_point():
            probability = preds.sigmoid() if preds.numel() and bool(((preds < 0) | (preds > 1)).any()) else preds
            preds = (probability > threshold).long()
    elif num_classes is None:
        raise ValueError("num_classes is needed")
    elif preds.dim() == target.dim() + 1:
        preds = preds.argmax(dim=1)
    preds, target = preds.reshape(-1), target.reshape(-1)
    if ignore_index is not None:
        preds, target = preds[target != ignore_index], target[target != ignore_index]
    n = int(num_classes)
    counts = torch.bincount(target.long() * n + preds.long(), minlength=n * n).reshape(n, n)
    if normalize in (None, "none"):
        return counts
    counts = counts.to(torch.float)
    total = {"true": lambda: counts.sum(dim=1, keepdim=True), "pred": lambda: counts.sum(dim=0, keepdim=True), "all": counts.sum}
    if normalize not in total:
        raise ValueError(f"normalize must be one of true, pred, all and none, not {normalize!r}")
    return torch.nan_to_num(counts / total[normalize]())


def jaccard_index(
    preds: Any, target: Any, task: str = "multiclass", threshold: float = 0.5, num_classes: int | None = None, num_labels: int | None = None,
    average: str | None = "macro", ignore_index: int | None = None, validate_args: bool = True, zero_division: float = 0.0,
    absent_score: float | None = None,
) -> Any:  # fmt: skip
    """Intersection over union of predicted and true members of each class, averaged over the classes that occur.

    average: "macro", "micro", "weighted" (by the number of true members) or "none". zero_division: the value of a class that does not occur, in
    "none". absent_score: a value that such classes have in the average too.
    """
    counts = confusion_matrix(preds, target, task, threshold, num_classes, None, ignore_index).to(torch.float)
    both, union = counts.diagonal(), counts.sum(dim=0) + counts.sum(dim=1) - counts.diagonal()
    if task == "binary":
        both, union = both[1], union[1]
        return torch.where(union > 0, both / union.clamp(min=1), torch.full_like(both, zero_division))
    if average == "micro":
        return both.sum() / union.sum().clamp(min=1)
    there = union > 0
    score = torch.where(there, both / union.clamp(min=1), torch.full_like(both, zero_division if absent_score is None else absent_score))
    if average in (None, "none"):
        return score
    if average not in ("macro", "weighted"):
        raise ValueError(f"average must be one of macro, micro, weighted and none, not {average!r}")
    weight = counts.sum(dim=1) if average == "weighted" else torch.ones_like(score) if absent_score is not None else there.to(torch.float)
    return (weight * score).sum() / weight.sum()


__all__ = ["confusion_matrix", "jaccard_index"]
