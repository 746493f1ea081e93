"""Layers. Names and layouts of parameters are PyTorch's. Arguments are tinygrad's where tinygrad has the layer, else PyTorch's; what PyTorch has
beyond tinygrad's goes by name."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from .._core import C, like, make_tuple
from .._ffi import KindError, ShapeError
from .._meaning import flag, number, positional
from ..dtypes import dtypes
from ..tensor import Tensor
from . import functional as F
from .functional import linear
from .module import Module


def uniform_parameter(bound: float, *shape: int, dtype: Any = None) -> Tensor:
    """A parameter that is drawn between -bound and bound."""
    return Tensor.uniform(*shape, low=-bound, high=bound, dtype=dtype, requires_grad=True)


def redraw(bound: float, *parameters: Tensor | None) -> None:
    """Draws parameters anew between -bound and bound."""
    for t in parameters:
        if t is not None:
            t.assign(Tensor.uniform(*t.shape, low=-bound, high=bound, dtype=t.dtype))


def _reset_affine(weight: Tensor | None, bias: Tensor | None) -> None:
    if weight is not None:
        weight.assign(weight.ones_like())
    if bias is not None:
        bias.assign(bias.zeros_like())


class Linear(Module):
    """x @ weight.T + bias, weight [out, in].

    >>> from polygrad import Tensor, nn
    >>> nn.Linear(3, 4)(Tensor.ones(2, 3)).shape
    (2, 4)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = uniform_parameter(bound, out_features, in_features, dtype=dtype)
        self.bias = uniform_parameter(bound, out_features, dtype=dtype) if bias else None

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        redraw(1 / math.sqrt(self.in_features) if self.in_features else 0.0, self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.weight.shape[1]}, out_features={self.weight.shape[0]}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1^T W_k x2 + b_k for each output k.

    >>> from polygrad import Tensor, nn
    >>> nn.Bilinear(2, 3, 4)(Tensor.ones(5, 2), Tensor.ones(5, 3)).shape
    (5, 4)
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None):
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        bound = 1 / math.sqrt(in1_features)
        self.weight = uniform_parameter(bound, out_features, in1_features, in2_features, dtype=dtype)
        self.bias = uniform_parameter(bound, out_features, dtype=dtype) if bias else None

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        redraw(1 / math.sqrt(self.in1_features), self.weight, self.bias)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Conv2d(Module):
    """Convolution over two spatial axes, weight [out, in/groups, height, width]. padding may be 'same'; padding_mode may be 'zeros', 'reflect',
    'replicate' or 'circular'.

    >>> from polygrad import Tensor, nn
    >>> nn.Conv2d(1, 3, 3)(Tensor.ones(1, 1, 5, 5)).shape
    (1, 3, 3, 3)
    """

    spatial = 2

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"padding_mode must be one of zeros, reflect, replicate, circular, but got padding_mode='{padding_mode}'")
        if groups <= 0 or in_channels % groups or out_channels % groups:
            raise ValueError(f"{in_channels} input and {out_channels} output channels must be divisible by {groups} groups")
        k = make_tuple(kernel_size, self.spatial)
        self.in_channels, self.out_channels, self.padding_mode = in_channels, out_channels, padding_mode
        self.kernel_size, self.stride, self.dilation, self.groups = k, stride, dilation, groups
        if isinstance(padding, str):
            if padding == "valid":
                padding = 0
            elif padding != "same":
                raise ValueError(f"padding must be a number, 'same' or 'valid', not {padding!r}")
            elif any(s != 1 for s in make_tuple(stride, self.spatial)):
                raise ValueError("padding='same' needs a stride of 1")
            else:
                total = [d * (n - 1) for d, n in zip(make_tuple(dilation, self.spatial), k)]
                padding = [v for t in reversed(total) for v in (t // 2, t - t // 2)]
        self.padding = padding
        bound = self._bound(in_channels, out_channels)
        self.weight = uniform_parameter(bound, *self._shape(in_channels, out_channels, k), dtype=dtype)
        self.bias = uniform_parameter(bound, out_channels, dtype=dtype) if bias else None

    def _shape(self, in_channels: int, out_channels: int, k: tuple[int, ...]) -> tuple[int, ...]:
        return (out_channels, in_channels // self.groups, *k)

    def _bound(self, in_channels: int, out_channels: int) -> float:
        fan = in_channels // self.groups * math.prod(self.kernel_size)
        return 1 / math.sqrt(fan) if fan else 0.0

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        redraw(self._bound(self.in_channels, self.out_channels), self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        alone = x.ndim == self.spatial + 1
        x = x.unsqueeze(0) if alone else x
        padding = self.padding
        if self.padding_mode != "zeros":
            flat = padding if isinstance(padding, list) else [v for p in reversed(make_tuple(padding, self.spatial)) for v in (p, p)]
            x, padding = x.pad(tuple(flat), mode=self.padding_mode), 0
        y = x.conv2d(self.weight, self.bias, self.groups, self.stride, self.dilation, padding)
        return y.squeeze(0) if alone else y

    def extra_repr(self) -> str:
        n = self.spatial
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={make_tuple(self.stride, n)}"
        if isinstance(self.padding, list) or any(make_tuple(self.padding, n)):
            text += f", padding={self.padding if isinstance(self.padding, list) else make_tuple(self.padding, n)}"
        if any(d != 1 for d in make_tuple(self.dilation, n)):
            text += f", dilation={make_tuple(self.dilation, n)}"
        more = getattr(self, "output_padding", 0)
        if any(make_tuple(more, n)):
            text += f", output_padding={make_tuple(more, n)}"
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += ", bias=False" if self.bias is None else ""
        return text + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class Conv1d(Conv2d):
    """Convolution over one spatial axis.

    >>> from polygrad import Tensor, nn
    >>> nn.Conv1d(1, 3, 3)(Tensor.ones(1, 1, 5)).shape
    (1, 3, 3)
    """

    spatial = 1


class Conv3d(Conv2d):
    """Convolution over three spatial axes.

    >>> from polygrad import Tensor, nn
    >>> nn.Conv3d(1, 3, 3)(Tensor.ones(1, 1, 5, 5, 5)).shape
    (1, 3, 3, 3, 3)
    """

    spatial = 3


class ConvTranspose2d(Conv2d):
    """Transposed convolution, weight [in, out/groups, height, width].

    >>> from polygrad import Tensor, nn
    >>> nn.ConvTranspose2d(1, 3, 3)(Tensor.ones(1, 1, 5, 5)).shape
    (1, 3, 7, 7)
    """

    @positional(7, "dilation", "groups")
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        number(type(self).__name__, "groups", groups, "bias")
        flag(type(self).__name__, "bias", bias, "dilation")
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype=dtype)
        self.output_padding = output_padding

    def _shape(self, in_channels: int, out_channels: int, k: tuple[int, ...]) -> tuple[int, ...]:
        return (in_channels, out_channels // self.groups, *k)

    def forward(self, x: Tensor, output_size: Any = None) -> Tensor:
        alone = x.ndim == self.spatial + 1
        x = x.unsqueeze(0) if alone else x
        more = self.output_padding if output_size is None else self._more(x, output_size)
        y = x.conv_transpose2d(self.weight, self.bias, self.groups, self.stride, self.dilation, self.padding, more)
        return y.squeeze(0) if alone else y

    def _more(self, x: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output_padding that gives output_size."""
        n = self.spatial
        s, d, p = (make_tuple(v, n) for v in (self.stride, self.dilation, self.padding))
        least = [(int(x.shape[2 + k]) - 1) * s[k] - 2 * p[k] + d[k] * (self.kernel_size[k] - 1) + 1 for k in range(n)]
        wanted = [int(v) for v in tuple(output_size)[-n:]]
        if any(not a <= w < a + max(s[k], d[k]) for k, (a, w) in enumerate(zip(least, wanted))):
            raise ValueError(f"requested an output size of {wanted}, but valid sizes range from {least} for an input of {list(x.shape[2:])}")
        return tuple(w - a for a, w in zip(least, wanted))


class ConvTranspose1d(ConvTranspose2d):
    """Transposed convolution over one spatial axis.

    >>> from polygrad import Tensor, nn
    >>> nn.ConvTranspose1d(1, 3, 3)(Tensor.ones(1, 1, 5)).shape
    (1, 3, 7)
    """

    spatial = 1


class ConvTranspose3d(ConvTranspose2d):
    """Transposed convolution over three spatial axes, with PyTorch's order of arguments, because PyTorch alone has this name."""

    spatial = 3

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation=dilation, groups=groups, bias=bias,
            padding_mode=padding_mode, dtype=dtype,
        )  # fmt: skip


class BatchNorm(Module):
    """Normalises each channel over batch and space; running statistics are used when not training.

    >>> from polygrad import Tensor, nn
    >>> nn.BatchNorm(3)(Tensor.ones(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    def __init__(
        self, sz: int, eps: float = 1e-5, affine: bool = True, track_running_stats: bool = True, momentum: float | None = 0.1,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        flag("BatchNorm", "affine", affine, "momentum")
        flag("BatchNorm", "track_running_stats", track_running_stats, "affine")
        self.num_features, self.eps, self.track_running_stats, self.affine = sz, eps, track_running_stats, affine
        self.momentum = number("BatchNorm", "momentum", momentum, "track_running_stats")
        self.weight = Tensor.ones(sz, dtype=dtype, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(sz, dtype=dtype, requires_grad=True) if affine else None
        self.running_mean = Tensor.zeros(sz, dtype=dtype, requires_grad=False) if track_running_stats else None
        self.running_var = Tensor.ones(sz, dtype=dtype, requires_grad=False) if track_running_stats else None
        self.num_batches_tracked = Tensor.zeros(dtype=dtypes.int64, requires_grad=False) if track_running_stats else None

    def reset_running_stats(self) -> None:
        """The running statistics of a new layer."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.running_mean.assign(self.running_mean.zeros_like())
            self.running_var.assign(self.running_var.ones_like())
            self.num_batches_tracked.assign(self.num_batches_tracked.zeros_like())

    def reset_parameters(self) -> None:
        """The parameters and running statistics of a new layer."""
        self.reset_running_stats()
        _reset_affine(self.weight, self.bias)

    def calc_stats(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each channel: of the batch when training, else the running ones."""
        if self.running_mean is not None and self.running_var is not None and not Tensor.training:
            return self.running_mean, self.running_var
        axes = tuple(k for k in range(x.ndim) if k != 1)
        return x.mean(axes), x.var(axes, correction=0)

    def forward(self, x: Tensor) -> Tensor:
        weight, bias, mean, var, count = self.weight, self.bias, self.running_mean, self.running_var, self.num_batches_tracked
        training = Tensor.training
        if mean is not None and var is not None and not training:
            return x.batchnorm(weight, bias, mean, (var + self.eps).rsqrt())
        handles = [None if t is None else t._h for t in (weight, bias, mean, var, count)]
        if not training:
            handles[2:] = None, None, None
        momentum = math.nan if self.momentum is None else self.momentum
        return like(x, C.poly_batchnorm_train(x._h, *handles, momentum, self.eps, 1), weight, bias)

    def _track(self, mean: Tensor, var: Tensor) -> None:
        """Moves the running statistics towards those of a batch."""
        assert self.num_batches_tracked is not None and self.running_mean is not None and self.running_var is not None
        self.num_batches_tracked.assign(self.num_batches_tracked + 1)
        m: Any = self.momentum if self.momentum is not None else 1 / self.num_batches_tracked.cast(dtypes.float32)
        self.running_mean.assign((1 - m) * self.running_mean + m * mean.detach())
        self.running_var.assign((1 - m) * self.running_var + m * var.detach())

    def extra_repr(self) -> str:
        text = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, bias={self.bias is not None}"
        return f"{text}, track_running_stats={self.track_running_stats}"


class BatchNorm2d(BatchNorm):
    """BatchNorm under PyTorch's name for images; the order of arguments is tinygrad's."""


class BatchNorm3d(BatchNorm):
    """BatchNorm under PyTorch's name for volumes; the order of arguments is tinygrad's."""


class BatchNorm1d(BatchNorm):
    """BatchNorm with PyTorch's order of arguments, because PyTorch alone has this name.

    >>> from polygrad import Tensor, nn
    >>> nn.BatchNorm1d(3, 1e-5, 0.2).momentum
    0.2
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(num_features, eps, affine, track_running_stats, momentum, device, dtype)


class SyncBatchNorm(BatchNorm1d):
    """BatchNorm1d: with one process its statistics are those of all."""


class LayerNorm(Module):
    """Normalises over the last axes.

    >>> from polygrad import Tensor, nn
    >>> nn.LayerNorm(4)(Tensor.ones(2, 4)).tolist()[0]
    [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True, device: Any = None, dtype: Any = None
    ):
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, Integral) else tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Tensor.ones(*self.normalized_shape, dtype=dtype, requires_grad=True) if elementwise_affine else None
        self.bias = Tensor.zeros(*self.normalized_shape, dtype=dtype, requires_grad=True) if elementwise_affine and bias else None

    @property
    def axis(self) -> tuple[int, ...]:
        """The axes that are normalized, counted from the end."""
        return tuple(-1 - k for k in range(len(self.normalized_shape)))

    def reset_parameters(self) -> None:
        """Ones and zeros."""
        _reset_affine(self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        n = len(self.normalized_shape)
        if x.shape[x.ndim - n :] != self.normalized_shape:
            raise ShapeError(f"LayerNorm over {self.normalized_shape} does not fit shape {x.shape}")
        y = x.layernorm(self.axis, self.eps)
        y = y if self.weight is None else y * self.weight
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"


class LayerNorm2d(LayerNorm):
    """LayerNorm over the channels of images [batch, channels, height, width].

    >>> from polygrad import Tensor, nn
    >>> nn.LayerNorm2d(3)(Tensor.ones(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class GroupNorm(Module):
    """Normalises groups of channels of [batch, channels, ...].

    >>> from polygrad import Tensor, nn
    >>> nn.GroupNorm(2, 4)(Tensor.ones(1, 4, 3)).shape
    (1, 4, 3)
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None, dtype: Any = None):
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = Tensor.ones(num_channels, dtype=dtype, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(num_channels, dtype=dtype, requires_grad=True) if affine else None

    def reset_parameters(self) -> None:
        """Ones and zeros."""
        _reset_affine(self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class InstanceNorm(GroupNorm):
    """Normalises each channel of each sample.

    >>> from polygrad import Tensor, nn
    >>> nn.InstanceNorm(3)(Tensor.ones(2, 3, 4)).shape
    (2, 3, 4)
    """

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = True):
        super().__init__(num_features, num_features, eps, flag("InstanceNorm", "affine", affine, "momentum"))


class InstanceNorm1d(BatchNorm):
    """Normalises each channel of each sample, with PyTorch's arguments and defaults, because PyTorch alone has this name. Running statistics
    are the means of those of the samples; they are used when not training.

    >>> from polygrad import Tensor, nn
    >>> nn.InstanceNorm1d(3)(Tensor.ones(2, 3, 4)).shape, nn.InstanceNorm1d(3).weight
    ((2, 3, 4), None)
    """

    spatial = 1

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False, track_running_stats: bool = False,
        device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(num_features, eps, affine, track_running_stats, momentum, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (self.spatial + 1, self.spatial + 2):
            raise ValueError(f"{type(self).__name__} takes {self.spatial + 1} or {self.spatial + 2} axes, not the shape {x.shape}")
        if x.ndim == self.spatial + 1:
            return self.forward(x.unsqueeze(0)).squeeze(0)
        axes = tuple(range(2, x.ndim))
        mean, var = x.mean(axes, keepdim=True), x.var(axes, keepdim=True, correction=0)
        shape = (1, -1) + (1,) * self.spatial
        if self.running_mean is not None and self.running_var is not None:
            if Tensor.training:
                self._track(x.mean(axes).mean(0), x.var(axes).mean(0))
            else:
                mean, var = self.running_mean.reshape(shape), self.running_var.reshape(shape)
        y = (x - mean) * (var + self.eps).rsqrt()
        return y if self.weight is None or self.bias is None else y * self.weight.reshape(shape) + self.bias.reshape(shape)


class InstanceNorm2d(InstanceNorm1d):
    """InstanceNorm1d over two spatial axes."""

    spatial = 2


class InstanceNorm3d(InstanceNorm1d):
    """InstanceNorm1d over three spatial axes."""

    spatial = 3


class RMSNorm(Module):
    """x / rms(x) * weight over the last axis.

    >>> from polygrad import Tensor, nn
    >>> nn.RMSNorm(2, eps=0.0)(Tensor([3.0, 3.0])).tolist()
    [1.0, 1.0]
    """

    def __init__(self, dim: int, eps: float = 1e-6, elementwise_affine: bool = True):
        if isinstance(dim, (tuple, list)):
            raise TypeError(f"RMSNorm is over the last axis, as in tinygrad: dim is its size, not the shape {dim!r}")
        if eps is None:
            raise TypeError("RMSNorm: eps must be a number; PyTorch's None is the smallest step of the dtype")
        self.dim, self.eps = dim, eps
        self.weight = Tensor.ones(dim, requires_grad=True) if elementwise_affine else None

    def reset_parameters(self) -> None:
        """Ones."""
        _reset_affine(self.weight, None)

    def forward(self, x: Tensor) -> Tensor:
        y = x.rmsnorm(self.eps)
        return y if self.weight is None else y * self.weight

    def extra_repr(self) -> str:
        return f"({self.dim},), eps={self.eps}, elementwise_affine={self.weight is not None}"


class LocalResponseNorm(Module):
    """functional.local_response_norm as a module."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        return F.local_response_norm(x, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class Embedding(Module):
    """Rows of a table by number. The first values are drawn as tinygrad draws them, by Glorot; PyTorch draws from the normal distribution.
    PyTorch's names num_embeddings and embedding_dim, and its other arguments, go by name; the row padding_idx begins as zeros and stays so.

    >>> from polygrad import Tensor, nn
    >>> nn.Embedding(10, 4)(Tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self, vocab_size: int | None = None, embed_size: int | None = None, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False,
        device: Any = None, dtype: Any = None, *, num_embeddings: int | None = None, embedding_dim: int | None = None,
    ):  # fmt: skip
        rows, columns = vocab_size if vocab_size is not None else num_embeddings, embed_size if embed_size is not None else embedding_dim
        if rows is None or columns is None:
            raise TypeError("Embedding needs the number of rows and their size")
        if padding_idx is not None:
            if not -rows <= padding_idx < rows:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= rows
        self.vocab_size = self.num_embeddings = rows
        self.embed_size = self.embedding_dim = columns
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = Tensor.glorot_uniform(rows, columns, dtype=dtype, requires_grad=not _freeze)
            if padding_idx is not None:
                self._clear_padding()
        else:
            if tuple(_weight.shape) != (rows, columns):
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = _weight.detach().clone().realize()
            self.weight.requires_grad = not _freeze
        self.weight._param = True

    def _clear_padding(self) -> None:
        rows = Tensor.arange(self.num_embeddings).unsqueeze(1)
        self.weight.assign((rows == self.padding_idx).where(0.0, self.weight.detach()))

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Any:  # fmt: skip
        """A table with given rows."""
        rows, columns = (int(v) for v in embeddings.shape)
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def reset_parameters(self) -> None:
        """Draws the table anew."""
        self.weight.assign(Tensor.glorot_uniform(*self.weight.shape, dtype=self.weight.dtype))
        if self.padding_idx is not None:
            self._clear_padding()

    def forward(self, idx: Tensor) -> Tensor:
        if isinstance(idx, Tensor) and not dtypes.is_int(idx.dtype):
            raise KindError(f"rows of a table go by whole numbers, not by {idx.dtype.name}")
        if self.padding_idx is None and self.max_norm is None and not self.scale_grad_by_freq:
            return self.weight[idx]
        return F.embedding(idx, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")


class EmbeddingBag(Module):
    """Sums, means or maxima of bags of rows of a table.

    >>> from polygrad import Tensor, nn
    >>> nn.EmbeddingBag(10, 4)(Tensor([1, 2, 3, 4]), Tensor([0, 3])).shape
    (2, 4)
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None, include_last_offset: bool = False,
        padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type = num_embeddings, embedding_dim, max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.include_last_offset = scale_grad_by_freq, mode, include_last_offset
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        if _weight is None:
            self.weight = Tensor.randn(num_embeddings, embedding_dim, dtype=dtype, requires_grad=True)
        else:
            self.weight = _weight.detach().clone().realize().requires_grad_()

    def reset_parameters(self) -> None:
        """Draws the table anew."""
        self.weight.assign(self.weight.detach().randn_like())

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, False, per_sample_weights,
            self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
