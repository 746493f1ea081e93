"""Tensor's methods as functions, under the names and with the arguments of torch.nn.functional.

>>> from polygrad import Tensor
>>> import polygrad.nn.functional as F
>>> F.relu(Tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

from typing import Any, Callable

from ..dtypes import DTypeLike
from ..tensor import Tensor

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "cosine_similarity", "cross_entropy", "dropout", "elu", "embedding", "gelu",
    "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "mish",
    "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "relu", "relu6", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "softmax",
    "softplus", "softsign", "tanh",
]  # fmt: skip


# ---- activations ----


def _plain(name: str) -> Callable[..., Tensor]:
    """A method without arguments. inplace changes nothing here: values are never overwritten."""

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        return getattr(input, name)()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensor.{name} as a function."
    return function


relu, relu6, silu, mish, selu = _plain("relu"), _plain("relu6"), _plain("silu"), _plain("mish"), _plain("selu")
sigmoid, logsigmoid, tanh, softsign = _plain("sigmoid"), _plain("logsigmoid"), _plain("tanh"), _plain("softsign")
hardsigmoid, hardswish = _plain("hardsigmoid"), _plain("hardswish")


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where that is positive, else negative_slope * x."""
    return input.leaky_relu(negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where that is positive, else alpha * (exp(x) - 1)."""
    return input.elu(alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    return input.celu(alpha)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution's share below x; approximate="tanh" is quicker."""
    return input.gelu(approximate)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x between min_val and max_val."""
    return input.hardtanh(min_val, max_val)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta. It is stable everywhere and needs no threshold."""
    return input.softplus(beta)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x), divided by its sum along dim (by default the last axis)."""
    return input.softmax(-1 if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """The logarithm of softmax."""
    return input.log_softmax(-1 if dim is None else dim, dtype)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes with probability p and scales the rest; nothing if not training. Modules know `self.training`.

    >>> from polygrad import Tensor
    >>> import polygrad.nn.functional as F
    >>> F.dropout(Tensor.ones(3), 0.5, training=False).tolist()
    [1.0, 1.0, 1.0]
    >>> sorted(set(F.dropout(Tensor.ones(100), 0.5).tolist()))
    [0.0, 2.0]
    """
    if not training:
        return input
    before, Tensor.training = Tensor.training, True
    try:
        return input.dropout(p)
    finally:
        Tensor.training = before


# ---- losses ----


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Cross entropy of scores [N, classes, ...] and classes [N, ...], or probabilities."""
    if weight is None:
        return input.cross_entropy(target, reduction, label_smoothing, ignore_index=ignore_index)
    if label_smoothing or target.ndim == input.ndim:
        raise NotImplementedError("cross_entropy with weights takes classes as target, and no label_smoothing")
    return input.log_softmax(min(1, input.ndim - 1)).nll_loss(target, weight, ignore_index, reduction)


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log probabilities [N, classes, ...] of the classes [N, ...]."""
    return input.nll_loss(target, weight, ignore_index, reduction)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """-(y log x + (1 - y) log(1 - x))."""
    return _weighted(lambda how: input.binary_crossentropy(target, how), weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """binary_cross_entropy of sigmoid(x), stable."""
    return _weighted(lambda how: input.binary_crossentropy_logits(target, how, pos_weight), weight, reduction)


def _weighted(loss: Callable[[str], Tensor], weight: Tensor | None, reduction: str) -> Tensor:
    if weight is None:
        return loss(reduction)
    each = loss("none") * weight
    return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """The squared difference, (x - y)^2."""
    return input.mse_loss(target, reduction)


def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """The absolute difference, |x - y|."""
    return input.l1_loss(target, reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """(x - y)^2 / 2 where |x - y| < delta, else delta * (|x - y| - delta / 2)."""
    return input.huber_loss(target, delta, reduction)


# ---- the rest ----


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias, with a weight [out, in]."""
    return input.linear(weight, bias)


def embedding(input: Tensor, weight: Tensor) -> Tensor:
    """The rows of weight that input names."""
    return weight[input]


def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) over the last axes, times weight, plus bias."""
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    out = input.layernorm(tuple(range(-count, 0)), eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x, divided by its norm along dim."""
    return input.normalize(p, dim, eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (|x1| |x2|) along dim."""
    return (x1.normalize(2.0, dim, eps) * x2.normalize(2.0, dim, eps)).sum(dim)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the class, else 0."""
    return tensor.one_hot(num_classes)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float = 0.0) -> Tensor:
    """More at the edges: pairs of how much before and after, the last axis first."""
    return input.pad(tuple(pad), mode, value)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False
) -> Tensor:
    """softmax(q k^T / sqrt(d)) v."""
    return query.scaled_dot_product_attention(key, value, attn_mask, dropout_p, is_causal)
