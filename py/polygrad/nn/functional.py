"""Tensor's methods as functions, under the names and with the arguments of torch.nn.functional.

>>> from polygrad import Tensor
>>> import polygrad.nn.functional as F
>>> F.relu(Tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Callable

from .._core import C, like, same_graph
from .._meaning import warn_once
from ..dtypes import DTypeLike
from ..tensor import Tensor
from . import f_images, f_losses
from .f_images import *  # noqa: F403
from .f_losses import *  # noqa: F403

__all__ = [
    *f_images.__all__, *f_losses.__all__,
    "alpha_dropout", "batch_norm", "bilinear", "cdist", "celu", "celu_", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "embedding",
    "embedding_bag", "feature_alpha_dropout", "gelu", "glu", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "instance_norm", "layer_norm", "leaky_relu", "leaky_relu_", "linear", "local_response_norm", "log_softmax", "logsigmoid", "mish",
    "normalize", "one_hot", "pad", "pdist", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu", "scaled_dot_product_attention", "selu", "selu_",
    "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
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


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along dim, times the sigmoid of the second."""
    if int(input.shape[dim]) % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, else weight * x; weight has one value, or one for each entry of axis 1."""
    if weight.numel() > 1 and (input.ndim < 2 or int(input.shape[1]) != weight.numel()):
        channels = int(input.shape[1]) if input.ndim > 1 else 1
        raise RuntimeError(f"prelu: weight has {weight.numel()} values for {channels} channels of an input of shape {input.shape}")
    w = weight.reshape([-1] + [1] * (input.ndim - 2)) if weight.numel() > 1 else weight.reshape([1] * input.ndim)
    return (input > 0).where(input, w * input)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """A leaky ReLU whose slope is drawn for each element while training, and the mean of lower and upper otherwise."""
    slope: Any = input.rand_like() * (upper - lower) + lower if training else (lower + upper) / 2
    return into(input, (input > 0).where(input, input * slope), inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x where |x| > lambd, else 0."""
    return ((input <= lambd) & (input >= -lambd)).where(0.0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved by lambd towards 0, and 0 within lambd of it."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    near = (input >= -lambd) & (input <= lambd)
    return (input > lambd).where(input - lambd, near.where(0.0, input + lambd))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above threshold, else value."""
    return into(input, (input <= threshold).where(value, input), inplace)


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


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """softmax(-x)."""
    return softmax(-input, dim, _stacklevel, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax((x + noise) / tau) with Gumbel's noise; hard: 1 at the largest, else 0, with the gradient of the soft values."""
    noise = -(-logits.rand_like().maximum(1e-20).log()).maximum(1e-20).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    places = Tensor.arange(int(logits.shape[dim])).reshape([-1 if k == dim % logits.ndim else 1 for k in range(logits.ndim)])
    choice = (places == soft.argmax(dim, keepdim=True)).cast(soft.dtype)
    return choice + soft - soft.detach()


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
    before = Tensor.training
    if before:
        return into(input, input.dropout(p), inplace)
    Tensor.training = True
    try:
        return into(input, input.dropout(p), inplace)
    finally:
        Tensor.training = before


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """PyTorch's `relu_` and its like: the input holds the result."""

    def changed(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    changed.__name__ = changed.__qualname__ = function.__name__ + "_"
    changed.__doc__ = f"{function.__name__} with inplace=True."
    return changed


relu_, elu_, celu_, selu_ = (_in_place(f) for f in (relu, elu, celu, selu))
leaky_relu_, hardtanh_, threshold_ = (_in_place(f) for f in (leaky_relu, hardtanh, threshold))


def _check_p(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropout_channels(input: Tensor, p: float, training: bool, inplace: bool, spatial: int) -> Tensor:
    """Zeroes whole channels: the axes after them share what was drawn."""
    _check_p(p)
    if not training or p == 0:
        return input
    kept = dropout(Tensor.ones(*input.shape[: input.ndim - spatial], *[1] * spatial, dtype=input.dtype), p, True)
    return into(input, input * kept, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of [batch, channels, length] or [channels, length] with probability p."""
    return _dropout_channels(input, p, training, inplace, 1)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of [batch, channels, height, width] with probability p; with three axes, rows of the second as in PyTorch."""
    return _dropout_channels(input, p, training, inplace, 2 if input.ndim == 4 else 1)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zeroes whole channels of [batch, channels, depth, height, width] or [channels, depth, height, width] with probability p."""
    return _dropout_channels(input, p, training, inplace, 3)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for SELU: what is dropped becomes -alpha * scale, and mean and variance are kept."""
    return into(input, _alpha_dropout(input, p, training, input.rand_like), inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels."""
    shape = (*input.shape[:2], *[1] * (input.ndim - 2))
    return into(input, _alpha_dropout(input, p, training, lambda: Tensor.rand(*shape, dtype=input.dtype)), inplace)


def _alpha_dropout(input: Tensor, p: float, training: bool, draw: Callable[[], Tensor]) -> Tensor:
    _check_p(p)
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0.0
    low = -SELU_ALPHA * SELU_SCALE
    a = ((1 - p) * (1 + p * low**2)) ** -0.5
    return (draw() < p).where(low, input) * a - a * p * low


# ---- the rest ----


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias, with a weight [out, in], or [in] for one output without an axis."""
    if isinstance(input, Tensor) and isinstance(weight, Tensor) and (bias is None or isinstance(bias, Tensor)) and C.poly_ndim(weight._h) == 2:
        if input._g is not weight._g:
            same_graph(input, weight)
        return like(input, C.poly_linear(input._h, weight._h, None if bias is None else bias._h), weight, bias)
    if weight.ndim == 1:
        return input.matmul(weight) if bias is None else input.matmul(weight) + bias
    return input.linear(weight.transpose(-1, -2), bias)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1^T W_k x2 + b_k for each output k, with a weight [out, in1, in2]."""
    y = Tensor.einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of weight that input names. The row padding_idx gets no gradient; rows longer than max_norm are shortened, in weight itself;
    scale_grad_by_freq divides gradients by how often a row is named."""
    rows = int(weight.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    if scale_grad_by_freq:
        count = Tensor.zeros(rows, dtype=weight.dtype).index_add(0, input.reshape(-1), Tensor.ones(input.numel(), dtype=weight.dtype))
        share = 1 / count[input].unsqueeze(-1)
        out = weight[input]
        return _unpadded(out.detach() + (out - out.detach()) * share, input, padding_idx, rows)
    return _unpadded(weight[input], input, padding_idx, rows)


def _unpadded(out: Tensor, index: Tensor, padding: int | None, rows: int) -> Tensor:
    """out, whose gradient does not reach the rows of the padding."""
    if padding is None:
        return out
    if not -rows <= padding < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings: {padding} of {rows}")
    return (index == padding % rows).unsqueeze(-1).where(out.detach(), out)


def _renormalize(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Shortens the rows that index names to max_norm."""
    old = weight.detach()
    size = old._norm(norm_type, -1, True)
    named = Tensor.zeros(int(weight.shape[0])).index_add(0, index.reshape(-1), Tensor.ones(index.numel())) > 0
    weight.assign((named.unsqueeze(-1) & (size > max_norm)).where(old * (max_norm / (size + 1e-7)), old))


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima of bags of rows: each row of input [bags, length], or the pieces of a vector that begin at offsets."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"mode has to be one of sum or mean or max, not {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights needs mode='sum', not {mode!r}")
    flat = input.reshape(-1)
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences")
        bags = int(input.shape[0])
        bag = Tensor.arange(bags).unsqueeze(1).expand(input.shape).reshape(-1)
    else:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        starts = offsets[:-1] if include_last_offset else offsets
        bags = int(starts.shape[0])
        bag = (Tensor.arange(flat.numel()).unsqueeze(1) >= starts).cast("int32").sum(1) - 1
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    live = None if padding_idx is None else (flat != padding_idx % int(weight.shape[0])).unsqueeze(1)
    index = bag.unsqueeze(1).expand(rows.shape)
    zero = Tensor.zeros(bags, int(weight.shape[1]), dtype=weight.dtype)
    if mode == "max":
        if live is not None:
            rows = live.where(rows, -math.inf)
        out = (zero - math.inf).scatter_reduce(0, index, rows, "amax")
        return (out == -math.inf).where(0.0, out)
    out = zero.scatter_reduce(0, index, rows if live is None else live.where(rows, 0.0), "sum")
    if mode == "sum":
        return out
    ones = Tensor.ones(flat.numel(), 1, dtype=weight.dtype) if live is None else live.cast(weight.dtype)
    count = Tensor.zeros(bags, 1, dtype=weight.dtype).scatter_reduce(0, bag.unsqueeze(1), ones, "sum")
    return out / count.maximum(1.0)


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None, bias: Tensor | None = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel by its mean and variance: of the batch when training, which also moves the running ones; else the running ones."""
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("Expected running_mean and running_var to be defined when training=False")
        return input.batchnorm(weight, bias, running_mean, (running_var + eps).rsqrt())
    axes = tuple(k for k in range(input.ndim) if k != 1)
    mean, var = input.mean(axes), input.var(axes, correction=0)
    if running_mean is not None:
        running_mean.assign((1 - momentum) * running_mean + momentum * mean.detach())
    if running_var is not None:
        running_var.assign((1 - momentum) * running_var + momentum * input.var(axes).detach())
    return input.batchnorm(weight, bias, mean, (var + eps).rsqrt())


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Each channel of each sample by its mean and variance, or by the running ones."""
    axes, shape = tuple(range(2, input.ndim)), [1, -1] + [1] * (input.ndim - 2)
    if use_input_stats:
        mean, var = input.mean(axes, keepdim=True), input.var(axes, keepdim=True, correction=0)
        if running_mean is not None and running_var is not None:
            running_mean.assign((1 - momentum) * running_mean + momentum * input.mean(axes).mean(0).detach())
            running_var.assign((1 - momentum) * running_var + momentum * input.var(axes).mean(0).detach())
    elif running_mean is None or running_var is None:
        raise ValueError("Expected running_mean and running_var to be defined when use_input_stats=False")
    else:
        mean, var = running_mean.reshape(shape), running_var.reshape(shape)
    return _affine((input - mean) * (var + eps).rsqrt(), weight, bias, shape)


def _affine(y: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Any) -> Tensor:
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Groups of channels by their mean and variance."""
    return _affine(input.groupnorm(num_groups, eps), weight, bias, [1, -1] + [1] * (input.ndim - 2))


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) over the last axes, times weight; eps is the smallest step of the dtype by default."""
    count = 1 if isinstance(normalized_shape, Integral) else len(normalized_shape)
    if eps is None:
        eps = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[input.dtype.name]
    y = input * (input.square().mean(tuple(range(-count, 0)), keepdim=True) + eps).rsqrt()
    return y if weight is None else y * weight


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta."""
    pads = [(0, 0)] * input.ndim
    pads[1] = (size // 2, (size - 1) // 2)
    near = input.square().pad(tuple(pads)).unfold(1, size, 1).mean(-1)
    return input / (near * alpha + k).pow(beta)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """The distance of each row of x1 to each row of x2."""
    return x1.cdist(x2, p)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The distances of all pairs of rows: of (0, 1), (0, 2) ... (n-2, n-1)."""
    n = int(input.shape[0])
    pairs = Tensor.ones(n, n).triu(1).nonzero()
    return (input[pairs[:, 0]] - input[pairs[:, 1]])._norm(p, -1, False)


def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) over the last axes, times weight, plus bias."""
    count = 1 if isinstance(normalized_shape, Integral) else len(normalized_shape)
    out = input.layernorm(tuple(range(-count, 0)), eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x, divided by its norm along dim."""
    return input.normalize(p, dim, eps)


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
