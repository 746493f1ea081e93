"""Layers. Names and layouts of parameters are PyTorch's. Arguments are tinygrad's where tinygrad has the layer, else PyTorch's."""

from __future__ import annotations

import math
from typing import Any

from .._core import make_tuple
from .._meaning import flag, number, positional
from ..dtypes import dtypes
from ..tensor import Tensor
from .functional import linear
from .module import Module


def _uniform(bound: float, *shape: int) -> Tensor:
    return Tensor.uniform(*shape, low=-bound, high=bound, requires_grad=True)


class Linear(Module):
    """x @ weight.T + bias, weight [out, in].

    >>> from polygrad import Tensor, nn
    >>> nn.Linear(3, 4)(Tensor.ones(2, 3)).shape
    (2, 4)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = _uniform(bound, out_features, in_features)
        self.bias = _uniform(bound, out_features) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[1]}, {self.weight.shape[0]}, bias={self.bias is not None}"


class Conv2d(Module):
    """Convolution over two spatial axes, weight [out, in/groups, height, width]. padding may be 'same'.

    >>> from polygrad import Tensor, nn
    >>> nn.Conv2d(1, 3, 3)(Tensor.ones(1, 1, 5, 5)).shape
    (1, 3, 3, 3)
    """

    spatial = 2

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
        bias: bool = True,
    ):  # fmt: skip
        k = make_tuple(kernel_size, self.spatial)
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
        bound = 1 / math.sqrt(in_channels // groups * math.prod(k))
        self.weight = self._make_weight(bound, in_channels, out_channels, k)
        self.bias = _uniform(bound, out_channels) if bias else None

    def _make_weight(self, bound: float, in_channels: int, out_channels: int, k: tuple[int, ...]) -> Tensor:
        return _uniform(bound, out_channels, in_channels // self.groups, *k)

    def forward(self, x: Tensor) -> Tensor:
        return x.conv2d(self.weight, self.bias, self.groups, self.stride, self.dilation, self.padding)


class Conv1d(Conv2d):
    """Convolution over one spatial axis.

    >>> from polygrad import Tensor, nn
    >>> nn.Conv1d(1, 3, 3)(Tensor.ones(1, 1, 5)).shape
    (1, 3, 3)
    """

    spatial = 1


class ConvTranspose2d(Conv2d):
    """Transposed convolution, weight [in, out/groups, height, width].

    >>> from polygrad import Tensor, nn
    >>> nn.ConvTranspose2d(1, 3, 3)(Tensor.ones(1, 1, 5, 5)).shape
    (1, 3, 7, 7)
    """

    @positional(7, "dilation", "groups")
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True,
    ):  # fmt: skip
        number(type(self).__name__, "groups", groups, "bias")
        flag(type(self).__name__, "bias", bias, "dilation")
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        self.output_padding = output_padding

    def _make_weight(self, bound: float, in_channels: int, out_channels: int, k: tuple[int, ...]) -> Tensor:
        return _uniform(bound, in_channels, out_channels // self.groups, *k)

    def forward(self, x: Tensor) -> Tensor:
        return x.conv_transpose2d(self.weight, self.bias, self.groups, self.stride, self.dilation, self.padding, self.output_padding)


class ConvTranspose1d(ConvTranspose2d):
    """Transposed convolution over one spatial axis.

    >>> from polygrad import Tensor, nn
    >>> nn.ConvTranspose1d(1, 3, 3)(Tensor.ones(1, 1, 5)).shape
    (1, 3, 7)
    """

    spatial = 1


class BatchNorm(Module):
    """Normalises each channel over batch and space; running statistics are used when not training.

    >>> from polygrad import Tensor, nn
    >>> nn.BatchNorm(3)(Tensor.ones(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    def __init__(self, sz: int, eps: float = 1e-5, affine: bool = True, track_running_stats: bool = True, momentum: float | None = 0.1):
        flag("BatchNorm", "affine", affine, "momentum")
        flag("BatchNorm", "track_running_stats", track_running_stats, "affine")
        self.num_features, self.eps, self.track_running_stats = sz, eps, track_running_stats
        self.momentum = number("BatchNorm", "momentum", momentum, "track_running_stats")
        self.weight = Tensor.ones(sz, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(sz, requires_grad=True) if affine else None
        self.num_batches_tracked = Tensor.zeros(dtype=dtypes.int64, requires_grad=False) if track_running_stats else None
        self.running_mean = Tensor.zeros(sz, requires_grad=False) if track_running_stats else None
        self.running_var = Tensor.ones(sz, requires_grad=False) if track_running_stats else None

    def calc_stats(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each channel: of the batch when training, else the running ones."""
        if self.running_mean is not None and self.running_var is not None and not Tensor.training:
            return self.running_mean, self.running_var
        axes = tuple(k for k in range(x.ndim) if k != 1)
        return x.mean(axes), x.var(axes, correction=0)

    def forward(self, x: Tensor) -> Tensor:
        mean, var = self.calc_stats(x)
        if self.running_mean is not None and self.running_var is not None and Tensor.training:
            # with the divisor made by the core: a size that changes must not become a number of the program
            single = x.numel() == int(x.shape[1])
            self._track(mean, var if single else x.var(tuple(k for k in range(x.ndim) if k != 1)))
        return x.batchnorm(self.weight, self.bias, mean, (var + self.eps).rsqrt())

    def _track(self, mean: Tensor, var: Tensor) -> None:
        """Moves the running statistics towards those of a batch."""
        assert self.num_batches_tracked is not None and self.running_mean is not None and self.running_var is not None
        self.num_batches_tracked.assign(self.num_batches_tracked + 1)
        m: Any = self.momentum if self.momentum is not None else 1 / self.num_batches_tracked.cast(dtypes.float32)
        self.running_mean.assign((1 - m) * self.running_mean + m * mean.detach())
        self.running_var.assign((1 - m) * self.running_var + m * var.detach())


BatchNorm2d = BatchNorm3d = BatchNorm


class BatchNorm1d(BatchNorm):
    """BatchNorm with PyTorch's order of arguments, because PyTorch alone has this name.

    >>> from polygrad import Tensor, nn
    >>> nn.BatchNorm1d(3, 1e-5, 0.2).momentum
    0.2
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True):
        super().__init__(num_features, eps, affine, track_running_stats, momentum)


class LayerNorm(Module):
    """Normalises over the last axes.

    >>> from polygrad import Tensor, nn
    >>> nn.LayerNorm(4)(Tensor.ones(2, 4)).tolist()[0]
    [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True):
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight = Tensor.ones(*self.normalized_shape, requires_grad=True) if elementwise_affine else None
        self.bias = Tensor.zeros(*self.normalized_shape, requires_grad=True) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        n = len(self.normalized_shape)
        if x.shape[x.ndim - n :] != self.normalized_shape:
            raise ValueError(f"LayerNorm over {self.normalized_shape} does not fit shape {x.shape}")
        y = x.layernorm(tuple(range(-n, 0)), self.eps)
        return y if self.weight is None else y * self.weight + self.bias


class GroupNorm(Module):
    """Normalises groups of channels of [batch, channels, ...].

    >>> from polygrad import Tensor, nn
    >>> nn.GroupNorm(2, 4)(Tensor.ones(1, 4, 3)).shape
    (1, 4, 3)
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True):
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Tensor.ones(num_channels, requires_grad=True) if affine else None
        self.bias = Tensor.zeros(num_channels, requires_grad=True) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        y = x.groupnorm(self.num_groups, self.eps)
        if self.weight is None or self.bias is None:
            return y
        shape = (1, -1) + (1,) * (x.ndim - 2)
        return y * self.weight.reshape(shape) + self.bias.reshape(shape)


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

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = False, track_running_stats: bool = False):
        super().__init__(num_features, eps, affine, track_running_stats, momentum)

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
        self.eps = eps
        self.weight = Tensor.ones(dim, requires_grad=True) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        y = x.rmsnorm(self.eps)
        return y if self.weight is None else y * self.weight


class Embedding(Module):
    """Rows of a table by number. The first values are drawn as tinygrad draws them, by Glorot; PyTorch draws from the normal distribution.

    >>> from polygrad import Tensor, nn
    >>> nn.Embedding(10, 4)(Tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(self, vocab_size: int, embed_size: int):
        self.vocab_size, self.embed_size = vocab_size, embed_size
        self.weight = Tensor.glorot_uniform(vocab_size, embed_size, requires_grad=True)

    def forward(self, idx: Tensor) -> Tensor:
        return self.weight[idx]


# ---- recurrent ----


class _Cell(Module):
    gates = 1

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True):
        bound = 1 / math.sqrt(hidden_size)
        self.hidden_size = hidden_size
        self.weight_ih = _uniform(bound, self.gates * hidden_size, input_size)
        self.weight_hh = _uniform(bound, self.gates * hidden_size, hidden_size)
        self.bias_ih = _uniform(bound, self.gates * hidden_size) if bias else None
        self.bias_hh = _uniform(bound, self.gates * hidden_size) if bias else None

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        bound = 1 / math.sqrt(self.hidden_size)
        for t in (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh):
            if t is not None:
                t.assign(_uniform(bound, *t.shape).cast(t.dtype))


def _lstm_step(gates: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = gates.chunk(4, dim=1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_step(gi: Tensor, gh: Tensor, h: Tensor) -> Tensor:
    (ir, iz, in_), (hr, hz, hn) = gi.chunk(3, dim=1), gh.chunk(3, dim=1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (in_ + r * hn).tanh()
    return n + z * (h - n)


class LSTMCell(_Cell):
    """One step of an LSTM: (h, c) out of x and (h, c).

    >>> from polygrad import Tensor, nn
    >>> h, c = nn.LSTMCell(3, 5)(Tensor.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """

    gates = 4

    def forward(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = hc if hc is not None else (Tensor.zeros(x.shape[0], self.hidden_size, dtype=x.dtype),) * 2
        return _lstm_step(linear(x, self.weight_ih, self.bias_ih) + linear(h, self.weight_hh, self.bias_hh), c)


class GRUCell(_Cell):
    """One step of a GRU: h out of x and h.

    >>> from polygrad import Tensor, nn
    >>> nn.GRUCell(3, 5)(Tensor.ones(2, 3)).shape
    (2, 5)
    """

    gates = 3

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        h = Tensor.zeros(x.shape[0], self.hidden_size, dtype=x.dtype) if h is None else h
        return _gru_step(linear(x, self.weight_ih, self.bias_ih), linear(h, self.weight_hh, self.bias_hh), h)


class _Recurrent(Module):
    """Layers of cells over a sequence [time, batch, features], or [batch, time, features] if batch_first; in both directions, if
    bidirectional, with the outputs beside each other."""

    gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False,
    ):  # fmt: skip
        self.hidden_size, self.num_layers, self.has_bias, self.batch_first, self.dropout = hidden_size, num_layers, bias, batch_first, dropout
        self.bidirectional = bidirectional
        self._ways = ("", "_reverse") if bidirectional else ("",)
        bound, rows = 1 / math.sqrt(hidden_size), self.gates * hidden_size
        for k in range(num_layers):
            for way in self._ways:
                setattr(self, f"weight_ih_l{k}{way}", _uniform(bound, rows, input_size if k == 0 else hidden_size * len(self._ways)))
                setattr(self, f"weight_hh_l{k}{way}", _uniform(bound, rows, hidden_size))
                if bias:
                    setattr(self, f"bias_ih_l{k}{way}", _uniform(bound, rows))
                    setattr(self, f"bias_hh_l{k}{way}", _uniform(bound, rows))

    def reset_parameters(self) -> None:
        """Draws the parameters anew."""
        bound = 1 / math.sqrt(self.hidden_size)
        for t in self.parameters():
            t.assign(Tensor.uniform(*t.shape, low=-bound, high=bound, dtype=t.dtype))

    def _weights(self, k: int, way: str) -> tuple[Any, Any, Any, Any]:
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        return tuple(getattr(self, f"{n}_l{k}{way}", None) for n in names)  # type: ignore[return-value]

    def _layers(self, x: Tensor, step: Any, first: list[Any]) -> tuple[Tensor, list[Any]]:
        """Runs all layers; step(gates of x, state, weights) gives the next state, whose first entry is the output."""
        x = x.transpose(0, 1) if self.batch_first else x
        last: list[Any] = []
        for k in range(self.num_layers):
            ways = []
            for way in self._ways:
                w_ih, w_hh, b_ih, b_hh = self._weights(k, way)
                gates, state, out = linear(x, w_ih, b_ih), first[len(last)], []
                times = range(int(x.shape[0]))
                for t in reversed(times) if way else times:
                    state = step(gates[t], state, w_hh, b_hh)
                    out.append(state[0])
                ways.append(Tensor.stack(*(out[::-1] if way else out)))
                last.append(state)
            x = Tensor.cat(*ways, dim=-1) if len(ways) > 1 else ways[0]
            if self.dropout and k + 1 < self.num_layers:
                x = x.dropout(self.dropout)
        return (x.transpose(0, 1) if self.batch_first else x), last

    def _zeros(self, x: Tensor) -> Tensor:
        layers = self.num_layers * len(self._ways)
        return Tensor.zeros(layers, x.shape[0 if self.batch_first else 1], self.hidden_size, dtype=x.dtype)


class LSTM(_Recurrent):
    """LSTM over a sequence: output and (h, c).

    >>> from polygrad import Tensor, nn
    >>> y, (h, c) = nn.LSTM(3, 5)(Tensor.ones(4, 2, 3))
    >>> y.shape, h.shape
    ((4, 2, 5), (1, 2, 5))
    """

    gates = 4

    def forward(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        h, c = hc if hc is not None else (self._zeros(x), self._zeros(x))

        def step(gates: Tensor, state: Any, w: Tensor, b: Tensor | None) -> Any:
            return _lstm_step(gates + linear(state[0], w, b), state[1])

        y, last = self._layers(x, step, [(h[k], c[k]) for k in range(int(h.shape[0]))])
        return y, (Tensor.stack(*[s[0] for s in last]), Tensor.stack(*[s[1] for s in last]))


class GRU(_Recurrent):
    """GRU over a sequence: output and h.

    >>> from polygrad import Tensor, nn
    >>> y, h = nn.GRU(3, 5)(Tensor.ones(4, 2, 3))
    >>> y.shape, h.shape
    ((4, 2, 5), (1, 2, 5))
    """

    gates = 3

    def forward(self, x: Tensor, h: Tensor | None = None) -> tuple[Tensor, Tensor]:
        h = self._zeros(x) if h is None else h

        def step(gates: Tensor, state: Any, w: Tensor, b: Tensor | None) -> Any:
            return (_gru_step(gates, linear(state[0], w, b), state[0]),)

        y, last = self._layers(x, step, [(h[k],) for k in range(int(h.shape[0]))])
        return y, Tensor.stack(*[s[0] for s in last])
