"""Losses under the names and with the arguments of torch.nn.functional. reduction is 'mean', 'sum' or 'none'."""

from __future__ import annotations

import math
from typing import Any, Callable

from .._core import reduction_code
from ..tensor import Tensor

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "pairwise_distance", "poisson_nll_loss", "smooth_l1_loss",
    "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def _reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction, which PyTorch's older arguments override where they are given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _reduced(each: Tensor, reduction: str) -> Tensor:
    reduction_code(reduction)  # which says what it may be
    return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Cross entropy of scores [N, classes, ...] and classes [N, ...], or probabilities."""
    reduction = _reduction(size_average, reduce, reduction)
    if weight is None:
        return input.cross_entropy(target, reduction, label_smoothing, ignore_index=ignore_index)
    axis = min(1, input.ndim - 1)
    log_p = input.log_softmax(axis)
    if target.ndim == input.ndim and target.is_floating_point():
        each = -(log_p * _along(weight, input.ndim, axis) * _smoothed(target, label_smoothing, axis)).sum(axis)
        count = target.numel() // int(target.shape[axis])
        return each.sum() / count if reduction == "mean" else _reduced(each, reduction)
    if not label_smoothing:
        return log_p.nll_loss(target, weight, ignore_index, reduction)
    return _smooth_weighted(log_p, target, weight, ignore_index, reduction, label_smoothing, axis)


def _along(w: Tensor, ndim: int, axis: int) -> Tensor:
    """A vector as a tensor that broadcasts along an axis."""
    return w.reshape([-1 if k == axis else 1 for k in range(ndim)])


def _smoothed(p: Tensor, smoothing: float, axis: int) -> Tensor:
    return p if not smoothing else p * (1 - smoothing) + smoothing / int(p.shape[axis])


def _smooth_weighted(log_p: Tensor, target: Tensor, weight: Tensor, ignore: int, reduction: str, smoothing: float, axis: int) -> Tensor:
    """(1 - s) of the weighted loss of the class, and s / classes of the weighted sum over all classes; both divided by the weights of the
    classes where reduction is 'mean'."""
    nll = log_p.nll_loss(target, weight, ignore, "none")
    kept = target != ignore
    every = kept.where(-(log_p * _along(weight, log_p.ndim, axis)).sum(axis), 0.0)
    each = nll * (1 - smoothing) + every * (smoothing / int(log_p.shape[axis]))
    if reduction != "mean":
        return _reduced(each, reduction)
    return each.sum() / kept.where(weight[kept.where(target, 0)], 0.0).sum()


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log probabilities [N, classes, ...] of the classes [N, ...]."""
    return input.nll_loss(target, weight, ignore_index, _reduction(size_average, reduce, reduction))


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """-(y log x + (1 - y) log(1 - x))."""
    _same_shape("binary_cross_entropy", input, target)
    return _weighted(lambda how: input.binary_crossentropy(target, how), weight, _reduction(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """binary_cross_entropy of sigmoid(x), stable."""
    _same_shape("binary_cross_entropy_with_logits", input, target)
    return _weighted(lambda how: input.binary_crossentropy_logits(target, how, pos_weight), weight, _reduction(size_average, reduce, reduction))


def _same_shape(name: str, input: Tensor, target: Tensor) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"{name}: input {input.shape} and target {target.shape} must have the same shape")


def _weighted(loss: Callable[[str], Tensor], weight: Tensor | None, reduction: str) -> Tensor:
    return loss(reduction) if weight is None else _reduced(loss("none") * weight, reduction)


def mse_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """The squared difference, (x - y)^2."""
    reduction = _reduction(size_average, reduce, reduction)
    if weight is None:
        return input.mse_loss(target, reduction)
    each = (input - target).square() * weight
    return each.sum() / weight.expand(each.shape).sum() if reduction == "mean" else _reduced(each, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Tensor | None = None
) -> Tensor:
    """The absolute difference, |x - y|."""
    reduction = _reduction(size_average, reduce, reduction)
    if weight is None:
        return input.l1_loss(target, reduction)
    each = (input - target).abs() * weight
    return each.sum() / weight.expand(each.shape).sum() if reduction == "mean" else _reduced(each, reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None) -> Tensor:
    """(x - y)^2 / 2 where |x - y| < delta, else delta * (|x - y| - delta / 2)."""
    if weight is None:
        return input.huber_loss(target, delta, reduction)
    each = input.huber_loss(target, delta, "none") * weight
    return each.sum() / weight.expand(each.shape).sum() if reduction == "mean" else _reduced(each, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """(x - y)^2 / (2 beta) where |x - y| < beta, else |x - y| - beta / 2."""
    return input.smooth_l1_loss(target, beta, _reduction(size_average, reduce, reduction))


def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """target * (log target - input): input holds logarithms; 'batchmean' divides the sum by the first size."""
    return input.kl_div(target, _reduction(size_average, reduce, reduction), log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-8, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """exp(x) - y x, or x - y log(x + eps) without log_input; full adds Stirling's approximation of log(y!)."""
    each = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        safe = (target > 1).where(target, 1.0)
        each = each + (target > 1).where(target * safe.log() - target + 0.5 * (2 * math.pi * safe).log(), 0.0)
    return _reduced(each, _reduction(size_average, reduce, reduction))


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Tensor:
    """(log var + (x - y)^2 / var) / 2, with a variance of eps at least, which the gradient of var does not see."""
    if not isinstance(var, Tensor):
        var = input.full_like(float(var))
    if tuple(var.shape) != tuple(input.shape) and tuple(var.shape) == tuple(input.shape[:-1]):
        var = var.unsqueeze(-1)
    if not var._g.tracing and (var < 0).any().item():
        raise ValueError("var has negative entry/entries")
    known = var.detach()
    var = var + (known < eps).where(eps - known, 0.0)
    each = 0.5 * (var.log() + (input - target).square() / var)
    return _reduced(each + 0.5 * math.log(2 * math.pi) if full else each, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """max(0, -y (x1 - x2) + margin)."""
    return _reduced((-target * (input1 - input2) + margin).clamp(0), _reduction(size_average, reduce, reduction))


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """x where y is 1, max(0, margin - x) where it is -1."""
    near, far = (target != -1).where(input, 0.0), (target != 1).where((margin - input).clamp(0), 0.0)
    return _reduced(near + far, _reduction(size_average, reduce, reduction))


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-y x))."""
    return _reduced((-target * input).softplus(), _reduction(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """The mean over classes of binary_cross_entropy_with_logits."""
    each = -(target * input.logsigmoid() + (1 - target) * (-input).logsigmoid())
    each = (each if weight is None else each * weight).mean(-1)
    return _reduced(each, _reduction(size_average, reduce, reduction))


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """sum over the other classes of max(0, margin - x[y] + x[i])^p, divided by the number of classes."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    x, y = (input.unsqueeze(0), target.reshape(1)) if input.ndim == 1 else (input, target)
    classes = int(x.shape[1])
    each = margin - x.gather(1, y.unsqueeze(1)) + x
    each = (each > 0).where(each, 0.0)
    each = each if p == 1 else each.square()
    each = each if weight is None else each * weight[y].unsqueeze(1)
    other = y.unsqueeze(1) != Tensor.arange(classes)
    each = other.where(each, 0.0).sum(1) / classes
    return _reduced(each.squeeze(0) if input.ndim == 1 else each, _reduction(size_average, reduce, reduction))


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """sum over labels y, up to the first -1, and classes i that are no labels of max(0, 1 - x[y] + x[i]), divided by the number of classes."""
    x, y = (input.unsqueeze(0), target.unsqueeze(0)) if input.ndim == 1 else (input, target)
    classes = int(x.shape[1])
    live = (y < 0).cast("int32").cumsum(1) == 0  # [batch, labels]
    safe = live.where(y, 0)
    hit = (safe.unsqueeze(2) == Tensor.arange(classes)) & live.unsqueeze(2)
    label = hit.any(1)  # [batch, classes]
    each = 1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1)  # [batch, labels, classes]
    each = (live.unsqueeze(2) & ~label.unsqueeze(1) & (each > 0)).where(each, 0.0).sum((1, 2)) / classes
    return _reduced(each.squeeze(0) if input.ndim == 1 else each, _reduction(size_average, reduce, reduction))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (|x1| |x2|) along dim, of the shape that both broadcast to."""
    x1, x2 = x1.expand((x1 + x2).shape), x2.expand((x1 + x2).shape)
    return (x1.normalize(2.0, dim, eps) * x2.normalize(2.0, dim, eps)).sum(dim)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """1 - cos where y is 1, max(0, cos - margin) where it is -1."""
    lengths = (input1.square().sum(-1) + 1e-12) * (input2.square().sum(-1) + 1e-12)
    cos = (input1 * input2).sum(-1) / lengths.sqrt()
    each = (target == 1).where(1 - cos, (target == -1).where((cos - margin).clamp(0), 0.0))
    return _reduced(each, _reduction(size_average, reduce, reduction))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """|x1 - x2 + eps|_p along the last axis."""
    return (x1 - x2 + eps)._norm(p, -1, keepdim)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, d(anchor, positive) - d(anchor, negative) + margin)."""
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda a, b: pairwise_distance(a, b, p, eps), margin=margin, swap=swap,
        reduction=_reduction(size_average, reduce, reduction),
    )  # fmt: skip


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """triplet_margin_loss with any distance. swap: the negative may be compared with the positive, if that is nearer to it."""
    distance = distance_function or pairwise_distance
    far = distance(anchor, negative)
    far = far.minimum(distance(positive, negative)) if swap else far
    return _reduced((distance(anchor, positive) - far + margin).clamp(0), reduction)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log of the probability of all alignments of targets with log_probs [time, batch, classes]. targets [batch, longest], or all
    targets in one vector."""
    single = log_probs.ndim == 2
    x = log_probs.unsqueeze(1) if single else log_probs
    times, batch = int(x.shape[0]), int(x.shape[1])
    frames, lengths = (_lengths(v, batch) for v in (input_lengths, target_lengths))
    longest = int(lengths.max().item())
    place = Tensor.arange(longest)
    if targets.ndim == 1 and not single:
        start = lengths.cumsum() - lengths
        where = (start.unsqueeze(1) + place).minimum(int(targets.shape[0]) - 1)
        labels = targets[where]
    else:
        labels = (targets.unsqueeze(0) if targets.ndim == 1 else targets)[:, :longest]
    labels = (place < lengths.unsqueeze(1)).where(labels, blank)
    both = Tensor.stack(labels.full_like(blank), labels, dim=2).reshape(batch, 2 * longest).pad(((0, 0), (0, 1)), value=blank)
    states = 2 * longest + 1
    state = Tensor.arange(states)
    before = both.pad(((0, 0), (2, 0)), value=-1)[:, :states]
    skip = (both != blank) & (both != before)
    low = -1e30  # stands for log 0 inside the recursion, whose sums stay finite

    def shifted(a: Tensor, by: int) -> Tensor:
        return a.pad(((0, 0), (by, 0)), value=low)[:, :states]

    def emitted(t: int) -> Tensor:
        return x[t].gather(1, both)

    alpha = (state < 2).where(emitted(0), low)
    for t in range(1, times):
        jump = skip.where(shifted(alpha, 2), low)
        after = Tensor.stack(alpha, shifted(alpha, 1), jump).logsumexp(0) + emitted(t)
        alpha = (t < frames).unsqueeze(1).where(after, alpha)
    ends = (state == (2 * lengths).unsqueeze(1)) | (state == (2 * lengths - 1).unsqueeze(1))
    loss = -ends.where(alpha, low).logsumexp(1)
    impossible = loss > -low / 2
    loss = impossible.where(0.0 if zero_infinity else math.inf, loss)
    if reduction == "mean":
        return (loss / lengths.maximum(1).cast(loss.dtype)).mean()
    return loss.sum() if reduction == "sum" else loss.squeeze(0) if single else loss


def _lengths(v: Any, batch: int) -> Tensor:
    t = v if isinstance(v, Tensor) else Tensor(list(v) if isinstance(v, (tuple, list)) else [v])
    return t.cast("int32").reshape(-1).expand(batch)
