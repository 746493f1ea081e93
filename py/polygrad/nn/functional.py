"""Tensor's methods as functions, under the names and with the arguments of torch.nn.functional.

>>> from polygrad import Tensor
>>> import polygrad.nn.functional as F
>>> F.relu(Tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

import math
from typing import Any, Callable

from .._core import C, same_graph, wrap
from .._meaning import warn_once
from ..dtypes import DTypeLike
from ..tensor import Tensor

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "cosine_similarity", "cross_entropy", "dropout", "elu", "embedding", "gelu",
    "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "mish",
    "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "relu", "relu6", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "softmax",
    "softplus", "softsign", "tanh",
]  # fmt: skip


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

# ---- activations ----


def into(input: Tensor, out: Tensor, inplace: bool) -> Tensor:
    """out; with inplace, input holds it from now on, as in PyTorch."""
    if not inplace:
        return out
    if input.requires_grad and getattr(input, "_wanted", None):
        raise RuntimeError("a parameter, which requires a gradient, cannot be changed in place")
    return input.replace(out.cast(input.dtype))


def _plain(name: str) -> Callable[[Tensor], Tensor]:
    """A method without arguments."""

    def function(input: Tensor) -> Tensor:
        return getattr(input, name)()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensor.{name} as a function."
    return function


def _plain_inplace(name: str) -> Callable[..., Tensor]:
    """A method without arguments, that can change its input."""

    def function(input: Tensor, inplace: bool = False) -> Tensor:
        return into(input, getattr(input, name)(), inplace)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Tensor.{name} as a function."
    return function


relu, relu6, silu, mish = (_plain_inplace(name) for name in ("relu", "relu6", "silu", "mish"))
hardsigmoid, hardswish = _plain_inplace("hardsigmoid"), _plain_inplace("hardswish")
sigmoid, logsigmoid, tanh, softsign = _plain("sigmoid"), _plain("logsigmoid"), _plain("tanh"), _plain("softsign")


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """scale * x where that is positive, else scale * alpha * (exp(x) - 1), with PyTorch's constants, which have more digits than tinygrad's."""
    return into(input, input.selu(SELU_ALPHA, SELU_SCALE), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where that is positive, else negative_slope * x."""
    return into(input, input.leaky_relu(negative_slope), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where that is positive, else alpha * (exp(x) - 1)."""
    return into(input, input.elu(alpha), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""
    return into(input, input.celu(alpha), inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution's share below x; approximate="tanh" is quicker."""
    return input.gelu(approximate)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x between min_val and max_val."""
    return into(input, input.hardtanh(min_val, max_val), inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x where beta x is above threshold."""
    return (input * beta > threshold).where(input, input.softplus(beta))


def implicit_dim(name: str, ndim: int, stacklevel: int = 4) -> int:
    """PyTorch's choice where nobody named an axis: the first of 1 or 3 axes, else the second."""
    warn_once(f"{name} dim", f"{name} without dim takes axis 0 of 0, 1 or 3 axes and axis 1 otherwise, as in PyTorch: give dim", stacklevel)
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x), divided by its sum along dim."""
    return input.softmax(implicit_dim("softmax", input.ndim) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """The logarithm of softmax."""
    return input.log_softmax(implicit_dim("log_softmax", input.ndim) if dim is None else dim, dtype)


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
        return into(input, input.dropout(p), inplace)
    finally:
        Tensor.training = before


# ---- losses ----


def _reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """The reduction, which PyTorch's older arguments override where they are given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Cross entropy of scores [N, classes, ...] and classes [N, ...], or probabilities."""
    reduction = _reduction(size_average, reduce, reduction)
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
    return input.nll_loss(target, weight, ignore_index, _reduction(size_average, reduce, reduction))


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """-(y log x + (1 - y) log(1 - x))."""
    return _weighted(lambda how: input.binary_crossentropy(target, how), weight, _reduction(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """binary_cross_entropy of sigmoid(x), stable."""
    return _weighted(lambda how: input.binary_crossentropy_logits(target, how, pos_weight), weight, _reduction(size_average, reduce, reduction))


def _weighted(loss: Callable[[str], Tensor], weight: Tensor | None, reduction: str) -> Tensor:
    if weight is None:
        return loss(reduction)
    each = loss("none") * weight
    return each.mean() if reduction == "mean" else each.sum() if reduction == "sum" else each


def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """The squared difference, (x - y)^2."""
    return input.mse_loss(target, _reduction(size_average, reduce, reduction))


def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """The absolute difference, |x - y|."""
    return input.l1_loss(target, _reduction(size_average, reduce, reduction))


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """(x - y)^2 / 2 where |x - y| < delta, else delta * (|x - y| - delta / 2)."""
    return input.huber_loss(target, delta, reduction)


# ---- the rest ----


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias, with a weight [out, in], or [in] for one output without an axis."""
    if input.__class__ is weight.__class__ is Tensor and (bias is None or bias.__class__ is Tensor) and weight.ndim == 2:
        same_graph(input, weight)
        return wrap(input._g, C.poly_linear(input._h, weight._h, None if bias is None else bias._h))
    if weight.ndim == 1:
        return input.matmul(weight) if bias is None else input.matmul(weight) + bias
    return input.linear(weight.transpose(-1, -2), bias)


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


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """More at the edges: pairs of how much before and after, the last axis first."""
    return input.pad(tuple(pad), mode, 0.0 if value is None else value)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(scale q k^T) v, with scale = 1 / sqrt(d). A mask of bools is True where attention is allowed. dropout_p is applied whether or
    not a model is training, as in PyTorch."""
    if scale is not None:
        query = query * (scale * math.sqrt(int(query.shape[-1])))
    before, Tensor.training = Tensor.training, True
    try:
        return query.scaled_dot_product_attention(key, value, attn_mask, dropout_p, is_causal, enable_gqa)
    finally:
        Tensor.training = before
